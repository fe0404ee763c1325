import CPlatform
import Synchronization

/// The tokens of every kind but handles and resolvers, and the objects that they name.
///
/// A slot's state holds the kind and generation that its token must have, and a count of the calls that use the object
/// just now. Withdrawing the token changes the generation, so that no further call gets in; the object is let go when
/// the last call that was in has left.
struct TokenSlot: ~Copyable {
  /// The next free slot, while this one is free.
  /// Stands first because ThreadSanitizer takes a change of any field for one of the first bytes, which therefore must
  /// not be among those that other threads read without a lock.
  var nextFree: Int
  /// kind and generation as in a token; the low bits, which in a token are the index, count the calls inside.
  let state: Atomic<UInt>
  let object: Atomic<UnsafeMutableRawPointer?>
}

package enum TokenTable {
  private nonisolated(unsafe) static let slots = SlotDirectory<TokenSlot>()
  private nonisolated(unsafe) static let lock = Lock()
  /// Guarded by `lock`. Slot 0 is never used, so that 0 ends the list of free slots.
  private nonisolated(unsafe) static var firstFree = 0
  private nonisolated(unsafe) static var used = 1

  /// A token for `object`, which the table keeps until ``withdraw(_:_:)``.
  package static func add<Object: AnyObject>(_ kind: Token.Kind, _ object: Object) -> Token {
    let index = takeSlot()
    let slot = slots.element(index)!
    let reference = Unmanaged.passRetained(object).toOpaque()
    slot.pointee.object.store(reference, ordering: .relaxed)
    let generation = slot.pointee.state.load(ordering: .relaxed) >> UInt(Token.indexBits) & Token.lastGeneration
    let token = Token(kind: kind, generation: generation, index: UInt(bitPattern: index))
    slot.pointee.state.store(token.word & ~Token.indexMask, ordering: .releasing)
    return token
  }

  /// Calls `body` with the object, which lives until the call returns even when another thread withdraws the token.
  /// Nil, without a call, for a token that is not of this kind or no longer valid.
  @inline(__always)
  package static func with<Object: AnyObject, Result>(
    _ token: Token, _ kind: Token.Kind, _ type: Object.Type, _ body: (Object) -> Result
  ) -> Result? {
    guard let slot = enter(token, kind) else { return nil }
    defer { leave(slot, token.index) }
    let reference = slot.pointee.object.load(ordering: .relaxed)!
    return Unmanaged<Object>.fromOpaque(reference)._withUnsafeGuaranteedRef { body($0) }
  }

  /// The object itself, kept by the caller.
  package static func object<Object: AnyObject>(_ token: Token, _ kind: Token.Kind, _ type: Object.Type) -> Object? {
    with(token, kind, type) { $0 }
  }

  /// Whether the token is valid just now.
  @inline(__always)
  static func isValid(_ token: Token, _ kind: Token.Kind) -> Bool {
    guard token.isKind(kind), let slot = slots.element(token.index) else { return false }
    return slot.pointee.state.load(ordering: .relaxed) & ~Token.indexMask == token.word & ~Token.indexMask
  }

  /// The object, inside a ``ReadSection`` and without counting the call in, which would be a write to memory that all
  /// threads share. For objects that are freed only after ``ReadSection/waitForOthers()``.
  @inline(__always)
  static func peek<Object: AnyObject>(_ token: Token, _ kind: Token.Kind, _ type: Object.Type) -> Unmanaged<Object>? {
    // Looked at before the object and after it: a slot that was taken again in between has another generation, and its
    // object is perhaps of another class.
    guard token.isKind(kind), let slot = slots.element(token.index),
      slot.pointee.state.load(ordering: .acquiring) & ~Token.indexMask == token.word & ~Token.indexMask,
      let reference = slot.pointee.object.load(ordering: .acquiring),
      slot.pointee.state.load(ordering: .acquiring) & ~Token.indexMask == token.word & ~Token.indexMask
    else { return nil }
    return Unmanaged.fromOpaque(reference)
  }

  /// Ends the token. True for the one caller that did it; then no later call gets in.
  package static func withdraw(_ token: Token, _ kind: Token.Kind) -> Bool {
    guard let slot = end(token, kind) else { return false }
    leave(slot, token.index)
    return true
  }

  /// Ends the token, and gives the object to the one caller that did it, to be kept as long as it wants.
  package static func take<Object: AnyObject>(_ token: Token, _ kind: Token.Kind, _ type: Object.Type) -> Object? {
    guard let slot = end(token, kind) else { return nil }
    let object = slot.pointee.object.load(ordering: .relaxed).map {
      Unmanaged<Object>.fromOpaque($0).takeUnretainedValue()
    }
    leave(slot, token.index)
    return object
  }

  /// Ends the token and counts the caller in.
  private static func end(_ token: Token, _ kind: Token.Kind) -> UnsafeMutablePointer<TokenSlot>? {
    guard token.isKind(kind), let slot = slots.element(token.index) else { return nil }
    var state = slot.pointee.state.load(ordering: .relaxed)
    while true {
      guard state & ~Token.indexMask == token.word & ~Token.indexMask else { return nil }
      // Kind 0 is no token's. The added call is our own, so that exactly one of us, the last to leave, lets go.
      let generation = (token.word >> UInt(Token.indexBits) &+ 1) & Token.lastGeneration
      let withdrawn = generation << UInt(Token.indexBits) | (state & Token.indexMask) &+ 1
      let (exchanged, now) = slot.pointee.state.compareExchange(
        expected: state, desired: withdrawn, ordering: .sequentiallyConsistent)
      if exchanged { return slot }
      state = now
    }
  }

  /// Calls `body` without counting itself in: for a signal handler, which must not be the one that lets go.
  /// Whoever frees what `body` uses waits for ``signalHandlers`` to be 0 first.
  static func withFromSignalHandler<Object: AnyObject>(
    _ token: Token, _ kind: Token.Kind, _ type: Object.Type, _ body: (Object) -> Void
  ) -> Bool {
    signalHandlers.wrappingAdd(1, ordering: .sequentiallyConsistent)
    defer { signalHandlers.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
    guard token.isKind(kind), let slot = slots.element(token.index),
      slot.pointee.state.load(ordering: .sequentiallyConsistent) & ~Token.indexMask == token.word & ~Token.indexMask,
      let reference = slot.pointee.object.load(ordering: .sequentiallyConsistent)
    else { return false }
    Unmanaged<Object>.fromOpaque(reference)._withUnsafeGuaranteedRef { body($0) }
    return true
  }

  private static let signalHandlers = Atomic<Int>(0)

  @inline(__always)
  private static func enter(_ token: Token, _ kind: Token.Kind) -> UnsafeMutablePointer<TokenSlot>? {
    guard token.isKind(kind), let slot = slots.element(token.index) else { return nil }
    var state = slot.pointee.state.load(ordering: .relaxed)
    while state & ~Token.indexMask == token.word & ~Token.indexMask {
      let (exchanged, now) = slot.pointee.state.compareExchange(
        expected: state, desired: state &+ 1, ordering: .acquiring)
      if exchanged { return slot }
      state = now
    }
    return nil
  }

  @inline(__always)
  private static func leave(_ slot: UnsafeMutablePointer<TokenSlot>, _ index: Int) {
    let now = slot.pointee.state.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
    if now & Token.indexMask == 0, Token(word: now).kindBits == 0 { letGo(slot, index) }
  }

  @inline(never)
  private static func letGo(_ slot: UnsafeMutablePointer<TokenSlot>, _ index: Int) {
    let reference = slot.pointee.object.exchange(nil, ordering: .sequentiallyConsistent)!
    while signalHandlers.load(ordering: .sequentiallyConsistent) != 0 { yieldProcessor() }
    lock.withLock {
      // Generation 0 comes again only after all the others: such a slot stays out of service.
      guard slot.pointee.state.load(ordering: .relaxed) != 0 else { return }
      slot.pointee.nextFree = firstFree
      firstFree = index
    }
    Unmanaged<AnyObject>.fromOpaque(reference).release()
  }

  private static func takeSlot() -> Int {
    lock.withLock {
      if firstFree != 0 {
        let index = firstFree
        firstFree = slots.element(index)!.pointee.nextFree
        return index
      }
      let index = used
      slots.grow(toHold: index)
      used += 1
      return index
    }
  }
}
