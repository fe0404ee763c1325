import CServiceKit

/// What a thread has in progress: the factories that it is inside of, one within the other, and the instances of the
/// graph scope that belong to its outermost resolve.
struct Resolution {
  /// Resolves that this thread is inside of, those of ready instances not counted.
  var depth = 0
  private(set) var innermost: UnsafeMutablePointer<Frame>?
  var graph: [GraphEntry] = []
  var notes = TraceNotes()
  /// So that no resolver token comes twice on this thread.
  private var generation: UInt = 0

  /// A factory that is running.
  struct Frame {
    let outer: UnsafeMutablePointer<Frame>?
    let token: Token
    /// The container whose registrations its requirements are looked up in.
    let container: Container
    let cell: UnsafeMutablePointer<Cell>
    let parameter: Parameter?
    let build: Build?
    /// What its resolve has begun; see ``Interruption``.
    let work: Work
    /// Leases on what was required so far.
    var dependencies: [Token] = []
  }

  /// What a resolve has begun and will end: work in these containers.
  struct Work {
    let asked: Container
    let owner: Container
    /// The singletons' container, if that is where the instance will be.
    let store: Container?

    func end() {
      Closing.end(asked)
      if owner !== asked { Closing.end(owner) }
      if let store { Closing.end(store) }
    }

    /// Even of one that was closed meanwhile: its memory is there as long as this is.
    func beginAgain() {
      asked.activity.begin()
      if owner !== asked { owner.activity.begin() }
      store?.activity.begin()
    }
  }

  /// An instance of the graph scope, kept until the outermost resolve ends.
  struct GraphEntry {
    let instance: UnsafeMutablePointer<Instance>
    let container: UnsafeRawPointer
    let lease: Token
  }

  /// A token for the factory that is about to run: valid on this thread only, until the factory returns. Made of the
  /// thread's number and a count, so that no token is that of another factory.
  mutating func nextToken(threadNumber: UInt) -> Token {
    generation &+= 1
    let countBits = UInt(Token.kindShift) * 2 / 3
    let word = threadNumber << countBits | generation & ((1 << countBits) - 1)
    return Token(word: UInt(Token.Kind.resolver.rawValue) << UInt(Token.kindShift) | word & Resolution.wordMask)
  }

  private static var wordMask: UInt { (1 << UInt(Token.kindShift)) - 1 }

  mutating func push(_ frame: UnsafeMutablePointer<Frame>) { innermost = frame }
  mutating func pop(_ frame: UnsafeMutablePointer<Frame>) { innermost = frame.pointee.outer }

  /// See ``Interruption``.
  mutating func enter(_ frame: UnsafeMutablePointer<Frame>?, depth: Int) {
    innermost = frame
    self.depth = depth
  }

  /// The running factory that has this token. An outer one may be meant, too.
  func frame(_ token: Token) -> UnsafeMutablePointer<Frame>? {
    var frame = innermost
    while let current = frame {
      if current.pointee.token == token { return current }
      frame = current.pointee.outer
    }
    return nil
  }

  /// The path from a factory that is running for the same key, container and parameter down to here; nil if none is.
  func path(
    to cell: UnsafeMutablePointer<Cell>, _ container: Container, _ parameter: Parameter?
  ) -> CyclePath? {
    var frame = innermost
    var unclear = 0
    while let current = frame {
      if current.pointee.cell == cell, current.pointee.container === container,
        isRecursion(current.pointee.parameter, parameter, &unclear)
      {
        var path = CyclePath()
        path.add(keys { $0 == current })
        path.close()
        return path
      }
      frame = current.pointee.outer
    }
    return nil
  }

  /// Parameters that cannot be compared may each be another one, but not without end.
  private func isRecursion(_ outer: Parameter?, _ inner: Parameter?, _ unclear: inout Int) -> Bool {
    if Parameter.areEqual(outer, inner) { return true }
    guard let inner, !inner.isComparable else { return false }
    unclear += 1
    return unclear >= Resolution.deepestRecursion
  }

  /// How many calls of one factory, each inside the one before, are believed to come to an end.
  private static var deepestRecursion: Int { 256 }

  /// The names of what this thread is inside of, from `work` to the innermost factory.
  func names(from work: Awaited) -> [ByteView] {
    let keys = keys(below: work.outer) { $0.pointee.build === work }
    return keys.isEmpty ? work.name.map { [$0.view] } ?? [] : keys
  }

  private func keys(
    below outermost: UnsafeMutablePointer<Frame>? = nil, _ isFirst: (UnsafeMutablePointer<Frame>) -> Bool
  ) -> [ByteView] {
    var found: [ByteView] = []
    var frame = innermost
    while let current = frame, current != outermost {
      found.append(current.pointee.cell.key)
      if isFirst(current) { break }
      frame = current.pointee.outer
    }
    return found.reversed()
  }
}
