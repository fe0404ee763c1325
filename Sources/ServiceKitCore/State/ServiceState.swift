/// What a service knows besides its stream. Guarded by the stream's lock.
struct ServiceState: ~Copyable {
  /// Held once. Only whoever has the delivering role replaces it.
  var current: State
  /// The end was reached: no newer state comes.
  var isFinished = false
  var isClosed = false
  var observers = ObserverList()
  /// Cancelled, but a callback of theirs may still be running.
  var leaving: [Subscription] = []
  /// Who wait until all that was sent has been delivered.
  var settlings: [Settling] = []
  /// How many of the states that the stream's buffer lost were told of.
  var lostSeen: UInt64 = 0
  /// A walk that stopped in the middle, because the dispatch was to run no more callbacks.
  var isSuspended = false
  var suspended = DeliveryWalk()

  init(current: State) { self.current = current }
}

/// One state, or the end, on its way to the service's own callback and then to the observers, in order.
struct DeliveryWalk {
  /// Nil: the end. The service's current state, so it needs no hold of its own.
  var state: State?
  /// The state before, to be released as soon as the lock is left.
  var replaced: State?
  var observers = ObserverList.Walk()
  /// What the stream's buffer lost since the state before, and in all.
  var lost: UInt64 = 0
  var lostInAll: UInt64 = 0
  /// Whose turn it is: the service's own callback, or this observer.
  var index = own

  static var own: Int { -1 }
}

extension ServiceState {
  /// A cancelled observer is quiet now.
  mutating func stopWaiting(for subscription: Subscription) {
    for index in 0..<leaving.count where leaving[index] === subscription {
      // The caller holds it, so nothing is released here.
      leaving.remove(at: index)
      return
    }
  }
}
