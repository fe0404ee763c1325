import CPlatform
import Synchronization

/// A key that the program will use again and again: its hash is computed and its name checked once. Never freed.
struct InternedKey {
  let name: OwnedBytes
  let hash: UInt64
  let index: UInt
  /// The next one in the same bucket of the table. Guarded by the table's lock.
  var next: UnsafeMutablePointer<InternedKey>?
}

/// All interned keys of the process.
package enum InternedKeys {
  private nonisolated(unsafe) static let lock = Lock()
  private nonisolated(unsafe) static let keys = SlotDirectory<Atomic<UnsafeMutablePointer<InternedKey>?>>()
  /// Guarded by `lock`, as all below.
  private nonisolated(unsafe) static var buckets: [UnsafeMutablePointer<InternedKey>?] = []
  private nonisolated(unsafe) static var count = 0
  /// A generation of its own for every process would make no sense here: keys never end.
  private static var generation: UInt { 1 }

  /// The token of `name`, the same one each time.
  package static func intern(_ name: ByteView) throws(Failure) -> Token {
    try KeyRules.check(name, "key")
    let hash = name.hash
    let index = lock.withLock {
      if let known = find(name, hash) { return known.pointee.index }
      if count >= buckets.count { grow() }
      let index = UInt(bitPattern: count + 1)
      keys.grow(toHold: count + 1)
      let bucket = Int(truncatingIfNeeded: hash & UInt64(buckets.count - 1))
      let key = UnsafeMutablePointer<InternedKey>.allocate(capacity: 1)
      key.initialize(to: InternedKey(name: OwnedBytes(name), hash: hash, index: index, next: buckets[bucket]))
      buckets[bucket] = key
      count += 1
      keys.element(count)!.pointee.store(key, ordering: .releasing)
      return index
    }
    return Token(kind: .key, generation: generation, index: index)
  }

  /// The key behind a token, nil for any other word.
  @inline(__always)
  package static func key(_ token: Token) -> KeyView? {
    guard token.word & ~Token.indexMask == Token(kind: .key, generation: generation, index: 0).word,
      let key = keys.element(token.index)?.pointee.load(ordering: .acquiring)
    else { return nil }
    return KeyView(key)
  }

  private static func find(_ name: ByteView, _ hash: UInt64) -> UnsafeMutablePointer<InternedKey>? {
    guard !buckets.isEmpty else { return nil }
    var each = buckets[Int(truncatingIfNeeded: hash & UInt64(buckets.count - 1))]
    while let key = each {
      if key.pointee.hash == hash, key.pointee.name.view == name { return key }
      each = key.pointee.next
    }
    return nil
  }

  private static func grow() {
    let old = buckets
    buckets = Array(repeating: nil, count: max(16, old.count * 2))
    for first in old {
      var each = first
      while let key = each {
        each = key.pointee.next
        let bucket = Int(truncatingIfNeeded: key.pointee.hash & UInt64(buckets.count - 1))
        key.pointee.next = buckets[bucket]
        buckets[bucket] = key
      }
    }
  }
}
