/// A factory that the caller of a resolve brings along, with what it says about itself: it is asked where nothing is
/// registered for its key. Nothing of it is written into the container.
package final class Definition {
  package let registration: Registration
  /// For contexts; the last for one of them counts.
  package let contextual: [Registration]
  package let options: KeyOptions
  /// What was registered or said outside goes before what it says itself; else it is the other way round.
  package let yields: Bool
  /// Stands for `options` and `yields`: a ready instance is given only to who asks in the same way.
  package let asked: UInt

  package init(
    registration: Registration, contextual: [Registration], options: KeyOptions, yields: Bool, asked: UInt
  ) {
    self.registration = registration
    self.contextual = contextual
    self.options = options
    self.yields = yields
    self.asked = asked
  }

  /// The registration that wins over this definition and what a container has for its key, nil if the definition's own
  /// is next after the container's ancestors.
  func winner(over cell: UnsafeMutablePointer<Cell>, _ contexts: ContextList) -> Registration? {
    if !contextual.isEmpty || !cell.pointee.state.contextual.isEmpty {
      for name in contexts.names {
        let inside = contextual.last { $0.context!.view == name.view }
        let outside = cell.pointee.state.registration(for: name.view)
        if let found = yields ? outside ?? inside : inside ?? outside { return found }
      }
    }
    return cell.pointee.state.plain
  }

  func scope(outside: ScopeChoice?) -> ScopeChoice? { yields ? outside ?? options.scope : options.scope ?? outside }

  func timeToLive(outside: UInt64?) -> UInt64 {
    (yields ? outside ?? options.timeToLive : options.timeToLive ?? outside) ?? 0
  }

  var hasTest: Bool { contextual.contains { $0.isForTest } }
}
