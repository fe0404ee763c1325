/// Values in the order in which they came. Grows as needed, and gives the memory of a single large burst back.
struct StateRing<Value> {
  private var places: [Value?] = []
  private var first = 0
  private(set) var count = 0

  /// What an emptied ring keeps of its memory, at most.
  private static var keptSize: Int { 4096 }

  mutating func append(_ value: Value) {
    if count == places.count { grow() }
    places[(first &+ count) & (places.count &- 1)] = value
    count += 1
  }

  mutating func popFirst() -> Value? {
    guard count > 0 else { return nil }
    let value = places[first].take()
    first = (first &+ 1) & (places.count &- 1)
    count -= 1
    if count == 0, places.count > StateRing.keptSize { self = StateRing() }
    return value
  }

  /// Moves all out.
  mutating func takeAll() -> StateRing {
    let all = self
    self = StateRing()
    return all
  }

  private mutating func grow() {
    var larger: [Value?] = []
    let size = max(8, places.count * 2)
    larger.reserveCapacity(size)
    for index in 0..<count { larger.append(places[(first &+ index) & (places.count &- 1)]) }
    for _ in count..<size { larger.append(nil) }
    places = larger
    first = 0
  }
}
