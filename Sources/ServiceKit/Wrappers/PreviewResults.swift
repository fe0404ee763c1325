#if canImport(SwiftUI)
  public import SwiftUI

  // What changes a container or a factory and is an empty view, so that it can stand in a `#Preview`:
  //
  //   #Preview {
  //     Container.mock { $0.users.register { MockUsers() } }
  //     ContentView()
  //   }

  extension SharedContainer {
    /// Sets several things of the shared container.
    @discardableResult
    public static func mock(_ transform: (Self) -> Void) -> EmptyView {
      transform(shared)
      return EmptyView()
    }

    @available(*, deprecated, renamed: "mock(_:)")
    @discardableResult
    public static func preview(_ transform: (Self) -> Void) -> EmptyView { mock(transform) }

    @available(*, deprecated, message: "Use the type's mock(_:)")
    @discardableResult
    public func preview(_ transform: (Self) -> Void) -> EmptyView {
      transform(self)
      return EmptyView()
    }
  }

  extension Factory {
    /// Registers a factory: `Container.shared.users.mock { MockUsers() }`.
    @discardableResult
    public func mock(factory: @escaping () -> T) -> EmptyView {
      register(factory: factory)
      return EmptyView()
    }

    @available(*, deprecated, renamed: "mock(factory:)")
    @discardableResult
    public func preview(factory: @escaping () -> T) -> EmptyView { mock(factory: factory) }
  }

  extension ParameterFactory {
    /// Registers a factory: `Container.shared.user.mock { MockUser($0) }`.
    @discardableResult
    public func mock(factory: @escaping (P) -> T) -> EmptyView {
      register(factory: factory)
      return EmptyView()
    }

    @available(*, deprecated, renamed: "mock(factory:)")
    @discardableResult
    public func preview(factory: @escaping (P) -> T) -> EmptyView { mock(factory: factory) }
  }
#endif
