import CServiceKit

/// A factory and what was said about it. Immutable; kept by its key and by every instance that it built, so that what
/// belongs to it ends after the last of them.
///
/// The subclasses say how an instance is made and ended: ``CRegistration`` calls the C program's functions.
open class Registration {
  package let scope: ScopeChoice
  /// In nanoseconds; 0 for none.
  package let timeToLive: UInt64
  package let cachesByParameter: Bool
  package let type: OwnedBytes?
  package let requiredKeys: [OwnedBytes]
  /// The context it is for, nil for a plain registration.
  package let context: OwnedBytes?
  /// Whether it was not registered, but brought along by who asked.
  package let isDefinition: Bool

  public init(
    scope: ScopeChoice, timeToLive: UInt64 = 0, cachesByParameter: Bool = false, type: OwnedBytes? = nil,
    requiredKeys: [OwnedBytes] = [], context: OwnedBytes? = nil, isDefinition: Bool = false
  ) {
    self.scope = scope
    self.timeToLive = timeToLive
    self.cachesByParameter = cachesByParameter
    self.type = type
    self.requiredKeys = requiredKeys
    self.context = context
    self.isDefinition = isDefinition
  }

  /// A call of the factory: what it is told, and what it may say beside its instance.
  public struct Call {
    /// Names the running factory, for what it requires.
    package let resolver: Token
    package let parameter: Parameter?
    package let scope: ScopeChoice
    /// The container in which the registration was found.
    package let owner: Container
    /// Set by the factory: the instance goes to whoever asked, and is not kept for later.
    package var isNotToBeKept = false
  }

  /// Calls the program's factory, with no lock held. A status, and the instance if that is `SVK_OK`.
  open func make(_ call: inout Call) -> (status: Int32, instance: UnsafeMutableRawPointer?) { (SVK_OK, nil) }

  /// Ends an instance that ``make(_:)`` gave, with no lock held.
  open func end(_ instance: UnsafeMutableRawPointer) {}

  /// Another hold on an instance of a typed registration, for ``end(_:)`` to end. Called with locks held.
  open func copy(_ instance: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer { instance }

  /// From now on what the registration was given is the engine's to free.
  package func keep() {}

  /// Whether both give the same: each resolve brings its definition along anew.
  func isSame(as other: Registration) -> Bool {
    if self === other { return true }
    guard isDefinition, other.isDefinition else { return false }
    guard let context, let theirs = other.context else { return context == nil && other.context == nil }
    return context.view == theirs.view
  }

  var isForTest: Bool {
    guard let context else { return false }
    return context.view == ByteView("test")
  }
}

/// A factory of a C program.
package final class CRegistration: Registration {
  private let create: svk_create_fn
  private let destroy: svk_destroy_fn?
  package let userData: UserData

  package init(
    create: @escaping svk_create_fn, destroy: svk_destroy_fn?, userData: UserData, scope: ScopeKind,
    customScope: CustomScope?, timeToLive: UInt64,
    cachesByParameter: Bool, type: OwnedBytes?, requiredKeys: [OwnedBytes], context: OwnedBytes?
  ) {
    self.create = create
    self.destroy = destroy
    self.userData = userData
    super.init(
      scope: ScopeChoice(scope, custom: customScope), timeToLive: timeToLive, cachesByParameter: cachesByParameter,
      type: type, requiredKeys: requiredKeys, context: context)
  }

  package override func keep() { userData.keep() }

  public override func make(_ call: inout Call) -> (status: Int32, instance: UnsafeMutableRawPointer?) {
    var value: UnsafeMutableRawPointer?
    let resolver = call.resolver
    let status = create(OpaquePointer(bitPattern: resolver.word), &value, userData.pointer)
    return (status, value)
  }

  public override func end(_ instance: UnsafeMutableRawPointer) {
    destroy?(instance, userData.pointer)
  }
}
