import CPlatform
import ServiceKitCore

/// What a factory is known by in its container: its type, compared by identity, and its name, compared by content.
struct FactoryKey: Sendable {
  let name: StaticString
  private let space: UInt
  /// The function or property that the definition stands in: a modifier called from there is part of the definition.
  private let definedIn: StaticString

  init<P, T>(_ name: StaticString, takes: P.Type, gives: T.Type, definedIn: StaticString) {
    self.name = name
    self.definedIn = definedIn
    // A type's metadata is unique in the process, and stands at an address that nothing else has.
    space = UInt(bitPattern: ObjectIdentifier(TypedRegistration<P, T>.self))
  }

  var view: KeyView {
    @inline(__always) get { KeyView(ByteView(name), space: space) }
  }

  func isDefined(in function: StaticString) -> Bool {
    if function.utf8Start == definedIn.utf8Start { return true }
    let count = function.utf8CodeUnitCount
    return count == definedIn.utf8CodeUnitCount && memcmp(function.utf8Start, definedIn.utf8Start, count) == 0
  }
}
