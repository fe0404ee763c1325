import CServiceKit

#if canImport(ServiceKitCore)
  import ServiceKitCore
#endif

/// What the exports of streams, services, subscriptions and dispatchers share.

/// Runs the engine's part of a call with the object of a token, which lives until it returns.
@inline(__always)
func with<Object: AnyObject>(
  _ pointer: OpaquePointer?, _ kind: Token.Kind, _ type: Object.Type, _ body: (Object) throws(Failure) -> Void
) -> svk_status {
  TokenTable.with(Token(pointer), kind, type) { object in
    answer { () throws(Failure) in try body(object) }
  } ?? Failure.noSuch(kind).status
}

/// Ends a token, and gives the object to the one caller that ended it.
func withdraw<Object: AnyObject>(
  _ pointer: OpaquePointer?, _ kind: Token.Kind, _ type: Object.Type
) throws(Failure) -> Object {
  guard let object = TokenTable.take(Token(pointer), kind, type) else { throw Failure.noSuch(kind) }
  return object
}

extension Failure {
  static func noSuch(_ kind: Token.Kind) -> Failure {
    Failure(SVK_INVALID_HANDLE) { text in
      text.append("no such ")
      switch kind {
      case .stream: text.append("stream: it is NULL, was destroyed, or is")
      case .service: text.append("service: it is NULL, was closed, or is")
      case .snapshot: text.append("snapshot: it is NULL, was released, or is")
      case .subscription: text.append("subscription: it is NULL, was cancelled or ended with its service, or is")
      case .dispatcher: text.append("dispatcher: it is NULL, was destroyed, or is")
      default: text.append("thing: it is NULL, has ended, or is")
      }
      text.append(" a token of another kind")
    }
  }

  static func unknown(_ what: StaticString, _ value: Int64) -> Failure {
    Failure(SVK_INVALID_ARGUMENT) { text in
      text.append(what)
      text.append(" is ")
      text.append(value)
      text.append(", which is none that servicekit.h names")
    }
  }
}

extension ByteView {
  /// The bytes of a state as C has them.
  @inline(__always)
  init(state data: UnsafeRawPointer?, size: Int) throws(Failure) {
    // A size_t beyond half of the memory is negative here.
    guard size >= 0, size <= State.largestSize else {
      throw Failure(SVK_INVALID_ARGUMENT) { $0.append("the size of the state is larger than any memory") }
    }
    try self.init(data: data, size: size)
  }
}

/// A buffer to write to, and its size: a `size_t` beyond half of the memory is negative here, and is no limit at all.
func checkBuffer(_ buffer: UnsafeMutableRawPointer?, _ capacity: Int) throws(Failure) -> Int {
  guard buffer != nil || capacity == 0 else {
    throw Failure(SVK_INVALID_ARGUMENT) { $0.append("the buffer is NULL, but its capacity is not 0") }
  }
  return capacity < 0 ? Int.max : capacity
}

/// Where callbacks are to run.
func readDelivery(
  _ delivery: Int32, _ dispatcher: OpaquePointer?, allowsPull: Bool
) throws(Failure) -> Service.Delivery {
  switch delivery {
  case SVK_DELIVER_INLINE: return .onSenders
  case SVK_DELIVER_BACKGROUND: return .background
  case SVK_DELIVER_PULL where allowsPull: return .pull
  case SVK_DELIVER_DISPATCHER:
    guard let dispatcher = TokenTable.object(Token(dispatcher), .dispatcher, Dispatcher.self) else {
      throw Failure.noSuch(.dispatcher)
    }
    return .dispatcher(dispatcher)
  default: throw Failure.unknown("`delivery`", Int64(delivery))
  }
}
