import Synchronization

/// What a face with typed keys may change about them. As with C's keys, each change is decided under the container's
/// lock, and what it displaced ends after it. A container that is being destroyed takes no changes, silently: nobody
/// can resolve from it either.
extension Container {
  /// Registers a factory. A plain one retires the cached instance, unless `keepsInstance`; one for a context never does.
  package func register(_ key: KeyView, _ registration: Registration, keepsInstance: Bool) {
    changeCell(key) { cell, leftovers in
      if registration.context != nil {
        leftovers.keep(cell.pointee.state.setContextual(registration))
      } else {
        leftovers.keep(cell.pointee.state.plain)
        cell.pointee.state.plain = registration
        if !keepsInstance { leftovers.retireInstances(of: cell) }
      }
    }
  }

  /// Where the instance of a key is kept, if that is with singletons. `scope`: what the definition says.
  package func singletons(_ key: KeyView, scope: ScopeChoice?) -> SingletonStore? {
    lock.withLock {
      let chosen = scope ?? table.pointee.find(key)?.pointee.state.options.scope ?? settings.defaultScope
      return chosen.kind == .singleton ? chosen.store ?? .ofProcess : nil
    }
  }

  /// The plain registration of a key, if there is one.
  package func registration(_ key: KeyView) -> Registration? {
    lock.withLock { table.pointee.find(key)?.pointee.state.plain }
  }

  /// Whether nothing that was set for this container, rather than for its keys, decides what they give.
  package var hasNoSettings: Bool { isTransparent.load(ordering: .acquiring) }

  /// Says something about a key. Another scope than the one before retires the cached instance.
  package func setOptions(_ key: KeyView, _ set: (inout KeyOptions) -> Void) {
    changeCell(key) { cell, leftovers in
      let before = cell.pointee.state.options.scope
      set(&cell.pointee.state.options)
      guard let now = cell.pointee.state.options.scope else { return }
      if before.map({ !$0.isSame(as: now) }) ?? true { leftovers.retireInstances(of: cell, outside: now) }
    }
  }

  package func decorate(_ key: KeyView, _ decorator: Decorator?) {
    changeCell(key) { cell, leftovers in
      self.setDecorator(of: cell, decorator, &leftovers)
      self.settingsChanged()
    }
  }

  package func setTypedDecorator(_ decorator: Decorator?) {
    changeAll { leftovers in
      leftovers.keep(self.settings.typedDecorator)
      self.settings.typedDecorator = decorator
      self.settingsChanged()
    }
  }

  package func setDefaultScope(_ scope: ScopeChoice) {
    changeAll { _ in
      self.settings.defaultScope = scope
      self.settingsChanged()
    }
  }

  package struct TypedReset {
    package var registrations = false
    package var contexts = false
    package var instances = false
    /// What was said about keys, and decorators.
    package var options = false

    package init() {}
  }

  package func reset(_ key: KeyView, _ what: TypedReset) {
    changeAll { leftovers in
      guard let cell = self.table.pointee.find(key) else { return }
      self.clear(cell, what, &leftovers)
      self.settingsChanged()
    }
  }

  /// Resets all keys, C's too, since the container is one.
  package func reset(_ what: TypedReset) {
    changeAll { leftovers in
      self.table.pointee.forEach { self.clear($0, what, &leftovers) }
      if what.options {
        leftovers.keep(self.settings.typedDecorator)
        self.settings.typedDecorator = nil
        self.settings.defaultScope = ScopeChoice(.unique)
      }
      self.settingsChanged()
    }
  }

  /// Retires the cached instances of one scope.
  package func reset(scope: ScopeChoice) {
    changeAll { leftovers in
      self.table.pointee.forEach { cell in
        let instances = cell.pointee.state.instances.filter { $0.pointee.scope.isSame(as: scope) }
        // What is being built may be of that scope, too.
        guard !instances.isEmpty || cell.pointee.builds != nil else { return }
        self.willChange(cell)
        cell.pointee.changes &+= 1
        leftovers.detachBuilds(of: cell)
        for each in instances {
          cell.pointee.state.uncache(each)
          leftovers.retire(each)
        }
      }
    }
  }

  /// A container with the same registrations, contexts and settings, and no instances yet.
  package func copy() -> Container {
    let copy = Container.create(parent: parent)
    // The copy is in nobody else's hands, so its lock cannot be waited for.
    lock.withLock {
      copy.lock.withLock {
        copy.settings = settings
        copy.decoratedKeys = decoratedKeys
        table.pointee.forEach { cell in
          guard !cell.pointee.isEmpty else { return }
          let twin = copy.cell(KeyView(cell.key, space: cell.pointee.space))
          twin.pointee.state.plain = cell.pointee.state.plain
          twin.pointee.state.contextual = cell.pointee.state.contextual
          twin.pointee.state.decorator = cell.pointee.state.decorator
          twin.pointee.state.options = cell.pointee.state.options
        }
        copy.settingsChanged()
      }
    }
    return copy
  }

  private func changeAll(_ body: (inout Leftovers) -> Void) {
    var leftovers = Leftovers()
    lock.withLock {
      guard !isClosed else { return }
      body(&leftovers)
    }
    leftovers.letGo()
  }

  private func changeCell(_ key: KeyView, _ body: (UnsafeMutablePointer<Cell>, inout Leftovers) -> Void) {
    changeAll { leftovers in
      let cell = self.cell(key)
      self.willChange(cell)
      cell.pointee.changes &+= 1
      body(cell, &leftovers)
    }
  }

  private func clear(_ cell: UnsafeMutablePointer<Cell>, _ what: TypedReset, _ leftovers: inout Leftovers) {
    willChange(cell)
    cell.pointee.changes &+= 1
    if what.registrations {
      leftovers.keep(cell.pointee.state.plain)
      cell.pointee.state.plain = nil
    }
    if what.contexts {
      for each in cell.pointee.state.contextual { leftovers.keep(each) }
      cell.pointee.state.contextual = []
    }
    if what.options {
      setDecorator(of: cell, nil, &leftovers)
      cell.pointee.state.options = KeyOptions()
    }
    if what.instances { leftovers.retireInstances(of: cell) }
  }
}

extension Leftovers {
  /// Takes the instances out of a cell, but for those of the scope `outside`.
  fileprivate mutating func retireInstances(of cell: UnsafeMutablePointer<Cell>, outside scope: ScopeChoice? = nil) {
    detachBuilds(of: cell)
    for instance in cell.pointee.state.instances {
      if let scope, instance.pointee.scope.isSame(as: scope) { continue }
      cell.pointee.state.uncache(instance)
      retire(instance)
    }
  }
}
