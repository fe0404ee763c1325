/// What every `svk_x *` is: kind, generation and index packed in a word, never an address.
///
/// A token names a slot of a table that lives as long as the process, so looking one up touches no freed memory,
/// whatever the word holds. Each use of a slot has a generation of its own; a slot whose generations are used up is
/// taken out of service rather than started over, so that no stale token ever becomes valid again.
package struct Token: Equatable {
  package let word: UInt

  package init(word: UInt) { self.word = word }

  /// Of what C gave, which may be anything.
  @inline(__always)
  package init(_ pointer: OpaquePointer?) { self.init(word: UInt(bitPattern: pointer)) }

  /// The token as C has it.
  @inline(__always)
  package var pointer: OpaquePointer? { OpaquePointer(bitPattern: word) }

  init(kind: Kind, generation: UInt, index: UInt) {
    word = UInt(kind.rawValue) << Token.kindShift | generation << Token.indexBits | index
  }

  package enum Kind: UInt8 {
    case container = 1
    case resolver, handle, key, scope, stream, service, snapshot, subscription, dispatcher
  }

  static let indexBits = UInt.bitWidth == 64 ? 26 : 14
  static let kindShift = UInt.bitWidth - 4
  static var indexMask: UInt { (1 << UInt(indexBits)) - 1 }
  static var lastGeneration: UInt { (1 << UInt(kindShift - indexBits)) - 1 }

  var index: Int { Int(bitPattern: word & Token.indexMask) }
  var kindBits: UInt { word >> UInt(Token.kindShift) }
  func isKind(_ kind: Kind) -> Bool { kindBits == UInt(kind.rawValue) }
}
