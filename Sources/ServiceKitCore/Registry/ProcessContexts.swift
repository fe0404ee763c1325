import Synchronization

/// The active contexts that a face with typed keys has for the whole process, in the order in which they are asked.
package enum ProcessContexts {
  private nonisolated(unsafe) static let lock = Lock()
  private nonisolated(unsafe) static var list = ContextList([])

  package static var current: ContextList {
    get { lock.withLock { list } }
    set {
      lock.lock()
      let old = list
      list = newValue
      lock.unlock()
      withExtendedLifetime(old) { Answers.change() }
    }
  }
}

/// Whether that face wants to be told of each resolve, so that no instance may be held ready.
package enum ProcessTrace {
  private static let state = Atomic<Bool>(false)

  package static var isOn: Bool {
    get { state.load(ordering: .acquiring) }
    set {
      state.store(newValue, ordering: .releasing)
      Answers.change()
    }
  }
}
