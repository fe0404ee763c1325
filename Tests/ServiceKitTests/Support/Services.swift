/// A service that counts how many of it were made and live.
final class Counted: Sendable {
  let number: Int
  private let living: Tally

  init(_ made: Tally, living: Tally = Tally()) {
    number = made.add()
    self.living = living
    living.add()
  }

  deinit { living.add(-1) }
}

protocol Voice: AnyObject, Sendable {
  var text: String { get }
}

final class Speaker: Voice {
  let text: String
  init(_ text: String = "hello") { self.text = text }
}
