import CPlatform
import ServiceKitCore

/// What a factory is known by in its container: its type, compared by identity, and its name, compared by content.
@usableFromInline
struct FactoryKey: Sendable {
  @usableFromInline let name: StaticString
  /// The address of the type's metadata, which is unique in the process.
  @usableFromInline let space: UInt
  /// The function or property that the definition stands in: a modifier called from there is part of the definition.
  @usableFromInline let definedIn: StaticString

  @inlinable
  init(_ name: StaticString, space: ObjectIdentifier, definedIn: StaticString) {
    self.name = name
    self.space = UInt(bitPattern: space)
    self.definedIn = definedIn
  }

  var view: KeyView {
    @inline(__always) get { KeyView(ByteView(name), space: space) }
  }

  @usableFromInline
  func isDefined(in function: StaticString) -> Bool {
    if function.utf8Start == definedIn.utf8Start { return true }
    let count = function.utf8CodeUnitCount
    return count == definedIn.utf8CodeUnitCount && memcmp(function.utf8Start, definedIn.utf8Start, count) == 0
  }
}
