/// A hash table from addresses to values, in the order in which they came: for a look through all leases, which asks
/// for each of them.
struct AddressMap<Pointee: ~Copyable, Value> {
  private(set) var keys: [UnsafeMutablePointer<Pointee>] = []
  private(set) var values: [Value] = []
  /// Positions plus one, 0 for none: open addressing, at most half full.
  private var table: [Int] = Array(repeating: 0, count: 16)

  func position(_ key: UnsafeMutablePointer<Pointee>) -> Int? {
    let entry = table[slot(key)]
    return entry == 0 ? nil : entry - 1
  }

  subscript(_ key: UnsafeMutablePointer<Pointee>) -> Value? { position(key).map { values[$0] } }

  /// Changes the value of `key`, which begins as `first`.
  mutating func update(_ key: UnsafeMutablePointer<Pointee>, first: Value, _ change: (inout Value) -> Void) {
    if let position = position(key) {
      change(&values[position])
      return
    }
    if (keys.count + 1) * 2 > table.count { grow() }
    table[slot(key)] = keys.count + 1
    keys.append(key)
    values.append(first)
    change(&values[values.count - 1])
  }

  private func slot(_ key: UnsafeMutablePointer<Pointee>) -> Int {
    let address = UInt(bitPattern: key) >> 4
    var index = Int(bitPattern: (address ^ address >> 12) & UInt(table.count - 1))
    while table[index] != 0, keys[table[index] - 1] != key { index = (index + 1) & (table.count - 1) }
    return index
  }

  private mutating func grow() {
    table = Array(repeating: 0, count: table.count * 2)
    for position in keys.indices { table[slot(keys[position])] = position + 1 }
  }
}
