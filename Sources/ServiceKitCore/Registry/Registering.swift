import CServiceKit

/// Registering and taking back. Each change is decided under the container's lock; what it displaced ends after it.
extension Container {
  /// Registers a plain factory, or one for its context. A plain one replaces what is there: the cached instance
  /// retires. One for a context clears no cache.
  package func register(_ key: ByteView, _ registration: Registration) throws(Failure) {
    try KeyRules.check(key, "key")
    var leftovers = Leftovers()
    try change { () throws(Failure) in
      registration.keep()
      let cell = self.cell(KeyView(key))
      self.willChange(cell)
      cell.pointee.changes &+= 1
      if registration.context != nil {
        leftovers.keep(cell.pointee.state.setContextual(registration))
      } else {
        leftovers.keep(cell.pointee.state.plain)
        cell.pointee.state.plain = registration
        leftovers.detachBuilds(of: cell)
        leftovers.retire(cell.pointee.state.takeInstances())
      }
    }
    leftovers.letGo()
  }

  /// Takes back everything registered for a key here, and retires its cached instance.
  package func unregister(_ key: ByteView) throws(Failure) {
    try reset(key, registrations: true, contexts: true, scopes: true)
  }

  package func reset(_ key: ByteView, registrations: Bool, contexts: Bool, scopes: Bool) throws(Failure) {
    try KeyRules.check(key, "key")
    var leftovers = Leftovers()
    try change { () throws(Failure) in
      guard let cell = self.table.pointee.find(KeyView(key)), cell.pointee.state.hasRegistration else {
        throw Failure(SVK_NOT_FOUND) { text in
          text.append("\"")
          text.append(key)
          text.append("\" is not registered in this container (its parents are not changed through it)")
        }
      }
      self.clear(cell, registrations: registrations, contexts: contexts, scopes: scopes, &leftovers)
    }
    leftovers.letGo()
  }

  package func reset(registrations: Bool, contexts: Bool, scopes: Bool) throws(Failure) {
    var leftovers = Leftovers()
    try change { () throws(Failure) in
      self.table.pointee.forEach { cell in
        self.clear(cell, registrations: registrations, contexts: contexts, scopes: scopes, &leftovers)
      }
      if contexts, self.settings.contexts != nil {
        self.settings.contexts = nil
        self.settingsChanged()
      }
    }
    leftovers.letGo()
  }

  /// Sets a decorator for a key, or for the container where `key` is nil; a nil one takes it away.
  package func decorate(_ key: ByteView?, _ decorator: Decorator?) throws(Failure) {
    if let key { try KeyRules.check(key, "key") }
    var leftovers = Leftovers()
    try change { () throws(Failure) in
      decorator?.keep()
      if let key {
        let cell = self.cell(KeyView(key))
        self.willChange(cell)
        self.setDecorator(of: cell, decorator, &leftovers)
      } else {
        leftovers.keep(self.settings.decorator)
        self.settings.decorator = decorator
      }
      self.settingsChanged()
    }
    leftovers.letGo()
  }

  /// Sets the active contexts from a comma-separated list.
  package func setContexts(_ list: ByteView) throws(Failure) {
    let contexts = try ContextList.parse(list)
    var leftovers = Leftovers()
    try change { () throws(Failure) in
      leftovers.keep(self.settings.contexts)
      self.settings.contexts = contexts
      self.settingsChanged()
    }
    leftovers.letGo()
  }

  package func setStrict(_ isStrict: Bool) throws(Failure) {
    try change { () throws(Failure) in
      self.settings.isStrict = isStrict
      self.settingsChanged()
    }
  }

  package func setDefaultScope(_ scope: ScopeKind) throws(Failure) {
    try change { () throws(Failure) in
      self.settings.defaultScope = ScopeChoice(scope == .default ? .unique : scope)
      self.settingsChanged()
    }
  }

  package func setTrace(_ trace: Trace?) throws(Failure) {
    var leftovers = Leftovers()
    try change { () throws(Failure) in
      trace?.userData.keep()
      leftovers.keep(self.trace)
      self.trace = trace
      self.settingsChanged()
    }
    leftovers.letGo()
  }

  /// Runs `body` with the lock held, unless the container is being destroyed.
  func change(_ body: () throws(Failure) -> Void) throws(Failure) {
    try lock.withLock { () throws(Failure) in
      guard !isClosed else {
        throw Failure(SVK_INVALID_HANDLE) {
          $0.append("the container is being destroyed; nothing can be changed in it any more")
        }
      }
      try body()
    }
  }

  /// With the lock held.
  func setDecorator(of cell: UnsafeMutablePointer<Cell>, _ decorator: Decorator?, _ leftovers: inout Leftovers) {
    leftovers.keep(cell.pointee.state.decorator)
    if cell.pointee.state.decorator != nil { decoratedKeys -= 1 }
    if decorator != nil { decoratedKeys += 1 }
    cell.pointee.state.decorator = decorator
  }

  private func clear(
    _ cell: UnsafeMutablePointer<Cell>, registrations: Bool, contexts: Bool, scopes: Bool, _ leftovers: inout Leftovers
  ) {
    willChange(cell)
    cell.pointee.changes &+= 1
    if registrations {
      leftovers.keep(cell.pointee.state.plain)
      cell.pointee.state.plain = nil
    }
    if contexts {
      for each in cell.pointee.state.contextual { leftovers.keep(each) }
      cell.pointee.state.contextual = []
    }
    if registrations || scopes {
      leftovers.detachBuilds(of: cell)
      leftovers.retire(cell.pointee.state.takeInstances())
    }
  }
}
