import Observation
import Synchronization

/// What `Observation` tracks of a service. Not the service itself: the engine calls this while states come, and must
/// keep no service alive.
///
/// It is not generic, so that its key paths are made once in the process and not with each service.
final class StateObservation: Observable, Sendable {
  private let registrar = ObservationRegistrar()
  /// Whether anybody has ever asked for the state: before that, nobody tracks it.
  private let isRead = Atomic<Bool>(false)

  /// Stand for the service's properties. The values are never asked for.
  private var state: Void { () }
  private var isFinished: Void { () }

  /// To be called before the state is read under the engine's lock. A state that is stored after that is told of:
  /// who stores it has had the lock since, and sees the mark.
  func stateIsRead() {
    if !isRead.load(ordering: .relaxed) { isRead.store(true, ordering: .relaxed) }
    registrar.access(self, keyPath: \.state)
  }

  func endIsRead() { registrar.access(self, keyPath: \.isFinished) }

  /// Tells whoever tracks the state that it has changed. Calls the program: never under a lock.
  ///
  /// The change has happened already. Told before, whoever looks at once, on another thread, would find the old state,
  /// and would not be told of the new one.
  func stateHasChanged() {
    guard isRead.load(ordering: .relaxed) else { return }
    registrar.withMutation(of: self, keyPath: \.state) {}
  }

  func endHasCome() { registrar.withMutation(of: self, keyPath: \.isFinished) {} }
}
