/// Where a wrapper finds its factory: a key path, and the type whose shared container it is followed from.
///
/// Not a closure, so that a wrapper allocates nothing of its own, and erased, so that its type does not name the
/// container's.
@frozen @usableFromInline
struct FactorySource<T>: @unchecked Sendable {
  @usableFromInline let path: AnyKeyPath
  @usableFromInline let container: any SharedContainer.Type

  @inlinable
  init<C: SharedContainer>(_ path: KeyPath<C, Factory<T>>) {
    self.path = path
    container = C.self
  }

  /// The factory in the container that is the shared one now, for this task.
  @inlinable
  var factory: Factory<T> { factory(in: container) }

  @inlinable
  func factory<C: SharedContainer>(in container: C.Type) -> Factory<T> {
    // The initializer saw to it that they belong together.
    C.shared[keyPath: unsafeDowncast(path, to: KeyPath<C, Factory<T>>.self)]
  }
}
