import Synchronization
import XCTest

@testable import ServiceKitCore

final class TokenTableTests: XCTestCase {
  /// Says when it ends.
  private final class Thing: @unchecked Sendable {
    let isAlive = Atomic<Bool>(true)
    let ended: Tally
    init(_ ended: Tally = Tally()) { self.ended = ended }
    deinit {
      isAlive.store(false, ordering: .sequentiallyConsistent)
      ended.add()
    }
  }

  private func exists(_ token: Token, _ kind: Token.Kind = .scope) -> Bool {
    TokenTable.object(token, kind, Thing.self) != nil
  }

  func testAnObjectIsKeptUntilItsTokenIsWithdrawn() {
    let ended = Tally()
    let token = TokenTable.add(.scope, Thing(ended))
    XCTAssertTrue(exists(token))
    XCTAssertEqual(ended.value, 0)
    XCTAssertTrue(TokenTable.withdraw(token, .scope))
    XCTAssertEqual(ended.value, 1)
    XCTAssertFalse(exists(token))
  }

  func testATokenIsWithdrawnOnce() {
    let token = TokenTable.add(.scope, Thing())
    XCTAssertTrue(TokenTable.withdraw(token, .scope))
    for _ in 0..<3 { XCTAssertFalse(TokenTable.withdraw(token, .scope)) }
  }

  func testATokenOfAnotherKindIsNone() {
    let token = TokenTable.add(.scope, Thing())
    for kind in [Token.Kind.container, .handle, .key, .stream, .service, .snapshot, .subscription, .dispatcher] {
      XCTAssertFalse(exists(token, kind))
      XCTAssertFalse(TokenTable.withdraw(token, kind))
      XCTAssertNil(TokenTable.peek(token, kind, Thing.self))
      XCTAssertFalse(TokenTable.withFromSignalHandler(token, kind, Thing.self) { _ in XCTFail("called") })
      // With the kind that is asked for, but this one's place.
      let forged = token.with(kind: UInt(kind.rawValue))
      XCTAssertFalse(exists(forged, kind))
      XCTAssertFalse(TokenTable.withdraw(forged, kind))
    }
    XCTAssertTrue(TokenTable.withdraw(token, .scope))
  }

  func testAForgedTokenIsNone() {
    let token = TokenTable.add(.scope, Thing())
    let one = UInt(1) << UInt(Token.indexBits)
    for word in [
      0, 1, UInt.max, token.word &+ one, token.word &- one, token.word + 1, token.word | Token.indexMask,
      token.word & ~Token.indexMask, UInt(Token.Kind.scope.rawValue) << UInt(Token.kindShift),
    ] where word != token.word {
      let forged = Token(word: word)
      XCTAssertFalse(exists(forged), "\(word)")
      XCTAssertFalse(TokenTable.withdraw(forged, .scope))
      XCTAssertNil(TokenTable.peek(forged, .scope, Thing.self))
      XCTAssertFalse(TokenTable.withFromSignalHandler(forged, .scope, Thing.self) { _ in XCTFail("called") })
    }
    XCTAssertTrue(exists(token))
    XCTAssertTrue(TokenTable.withdraw(token, .scope))
  }

  /// No storage grows with what is created and destroyed, and no token comes twice.
  func testAPlaceIsUsedAgainUnderAnotherToken() {
    var seen = Set<UInt>()
    var places = Set<Int>()
    for _ in 0..<10_000 {
      let token = TokenTable.add(.scope, Thing())
      XCTAssertTrue(seen.insert(token.word).inserted)
      places.insert(token.index)
      XCTAssertTrue(TokenTable.withdraw(token, .scope))
    }
    XCTAssertEqual(places.count, 1)
    XCTAssertTrue(seen.allSatisfy { !exists(Token(word: $0)) })
  }

  func testPlacesOfManyAreUsedAgain() {
    let first = (0..<300).map { _ in TokenTable.add(.scope, Thing()) }
    for token in first { XCTAssertTrue(TokenTable.withdraw(token, .scope)) }
    let second = (0..<300).map { _ in TokenTable.add(.stream, Thing()) }
    XCTAssertEqual(Set(first.map { $0.index }), Set(second.map { $0.index }))
    for token in first { XCTAssertFalse(exists(token)) }
    for token in second { XCTAssertTrue(TokenTable.withdraw(token, .stream)) }
  }

  func testACallKeepsItsObjectThoughTheTokenIsWithdrawnInIt() {
    let ended = Tally()
    let token = TokenTable.add(.scope, Thing(ended))
    let result: Int? = TokenTable.with(token, .scope, Thing.self) { thing in
      XCTAssertTrue(TokenTable.withdraw(token, .scope))
      XCTAssertFalse(exists(token))
      XCTAssertFalse(TokenTable.withdraw(token, .scope))
      XCTAssertTrue(thing.isAlive.load(ordering: .sequentiallyConsistent))
      return ended.value
    }
    XCTAssertEqual(result, 0)
    XCTAssertEqual(ended.value, 1)
  }

  func testCallsNest() {
    let ended = Tally()
    let token = TokenTable.add(.scope, Thing(ended))
    TokenTable.with(token, .scope, Thing.self) { _ in
      TokenTable.with(token, .scope, Thing.self) { _ in XCTAssertTrue(TokenTable.withdraw(token, .scope)) }
      XCTAssertEqual(ended.value, 0)
    }
    XCTAssertEqual(ended.value, 1)
  }

  func testAPeekAndASignalHandlerSeeTheObject() {
    let thing = Thing()
    let token = TokenTable.add(.scope, thing)
    XCTAssertTrue(TokenTable.peek(token, .scope, Thing.self)?.takeUnretainedValue() === thing)
    var seen = false
    XCTAssertTrue(TokenTable.withFromSignalHandler(token, .scope, Thing.self) { seen = $0 === thing })
    XCTAssertTrue(seen)
    XCTAssertTrue(TokenTable.withdraw(token, .scope))
    XCTAssertNil(TokenTable.peek(token, .scope, Thing.self))
    XCTAssertFalse(TokenTable.withFromSignalHandler(token, .scope, Thing.self) { _ in XCTFail("called") })
  }

  // MARK: - Races

  func testOneOfManyWithdraws() {
    let rounds = 500
    let tokens = Shared<[Token]>([])
    let (won, ended) = (Tally(), Tally())
    tokens.change { all in
      for _ in 0..<rounds { all.append(TokenTable.add(.scope, Thing(ended))) }
    }
    let all = tokens.value
    storm(4, rounds: rounds) { _, round in
      if TokenTable.withdraw(all[round], .scope) { won.add() }
    }
    XCTAssertEqual(won.value, rounds)
    XCTAssertEqual(ended.value, rounds)
  }

  func testNoCallMeetsAnEndedObject() {
    let (ended, dead, strangers) = (Tally(), Tally(), Tally())
    let current = Atomic<UInt>(0)
    let (barrier, made) = (Barrier(4), Tally())
    runThreads(4) { thread in
      barrier.wait()
      guard thread == 0 else {
        while true {
          let word = current.load(ordering: .acquiring)
          if word == 1 { return }
          TokenTable.with(Token(word: word), .scope, Thing.self) { thing in
            yieldProcessor()
            if !thing.isAlive.load(ordering: .sequentiallyConsistent) { dead.add() }
            if thing.ended !== ended { strangers.add() }
          }
        }
      }
      for _ in rounds(1_500) {
        made.add()
        let token = TokenTable.add(.scope, Thing(ended))
        current.store(token.word, ordering: .releasing)
        if !TokenTable.withdraw(token, .scope) { dead.add() }
      }
      current.store(1, ordering: .releasing)
    }
    XCTAssertEqual(dead.value, 0)
    XCTAssertEqual(strangers.value, 0)
    XCTAssertEqual(ended.value, made.value)
  }

  func testAnObjectIsNotLetGoWhileASignalHandlerIsAtIt() {
    let ended = Tally()
    let token = TokenTable.add(.scope, Thing(ended))
    let inside = Event()
    let hasLeft = Atomic<Bool>(false)
    let tooEarly = Tally()
    runThreads(2) { thread in
      if thread == 0 {
        let isFound = TokenTable.withFromSignalHandler(token, .scope, Thing.self) { _ in
          inside.signal()
          for _ in 0..<1_000 { yieldProcessor() }
          if ended.value > 0 { tooEarly.add() }
          hasLeft.store(true, ordering: .sequentiallyConsistent)
        }
        if !isFound { tooEarly.add() }
      } else {
        inside.wait()
        _ = TokenTable.withdraw(token, .scope)
        if !hasLeft.load(ordering: .sequentiallyConsistent) { tooEarly.add() }
      }
    }
    XCTAssertEqual(tooEarly.value, 0)
    XCTAssertEqual(ended.value, 1)
  }

  func testNoSignalHandlerMeetsAnEndedObject() {
    let (ended, dead) = (Tally(), Tally())
    let current = Atomic<UInt>(0)
    let (barrier, made) = (Barrier(2), Tally())
    runThreads(2) { thread in
      barrier.wait()
      guard thread == 0 else {
        while true {
          let word = current.load(ordering: .acquiring)
          if word == 1 { return }
          _ = TokenTable.withFromSignalHandler(Token(word: word), .scope, Thing.self) { thing in
            yieldProcessor()
            if !thing.isAlive.load(ordering: .sequentiallyConsistent) { dead.add() }
          }
        }
      }
      for _ in rounds(1_500) {
        made.add()
        let token = TokenTable.add(.scope, Thing(ended))
        current.store(token.word, ordering: .releasing)
        if !TokenTable.withdraw(token, .scope) { dead.add() }
      }
      current.store(1, ordering: .releasing)
    }
    XCTAssertEqual(dead.value, 0)
    XCTAssertEqual(ended.value, made.value)
  }
}
