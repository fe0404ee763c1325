import CServiceKit
import XCTest

/// A token as the C functions take it.
typealias Word = OpaquePointer

extension svk_factory_options {
  /// As SVK_FACTORY_OPTIONS_INIT, which Swift does not import.
  static var defaults: svk_factory_options {
    var options = svk_factory_options()
    options.size = UInt32(MemoryLayout<svk_factory_options>.size)
    return options
  }
}

extension svk_stream_options {
  static var defaults: svk_stream_options {
    var options = svk_stream_options()
    options.size = UInt32(MemoryLayout<svk_stream_options>.size)
    return options
  }
}

extension svk_service_options {
  static var defaults: svk_service_options {
    var options = svk_service_options()
    options.size = UInt32(MemoryLayout<svk_service_options>.size)
    return options
  }
}

extension svk_observer_options {
  static var defaults: svk_observer_options {
    var options = svk_observer_options()
    options.size = UInt32(MemoryLayout<svk_observer_options>.size)
    return options
  }
}

var lastError: String { svk_last_error().map { String(cString: $0) } ?? "NULL" }

/// Calls a function with an out-parameter for a token or a pointer. Gives its status and what it wrote.
func out<Value>(_ body: (UnsafeMutablePointer<Value?>) -> svk_status) -> (status: svk_status, value: Value?) {
  var value: Value?
  let status = body(&value)
  return (status, value)
}

/// The same where it must succeed.
func made<Value>(
  file: StaticString = #filePath, line: UInt = #line, _ body: (UnsafeMutablePointer<Value?>) -> svk_status
) throws -> Value {
  let (status, value) = out(body)
  XCTAssertEqual(status, SVK_OK, lastError, file: file, line: line)
  return try XCTUnwrap(value, file: file, line: line)
}

func ok(_ status: svk_status, file: StaticString = #filePath, line: UInt = #line) {
  XCTAssertEqual(status, SVK_OK, lastError, file: file, line: line)
}

/// A Swift object as `user_data`: kept until the library frees it.
class UserData {
  let frees = Tally()

  var pointer: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

  static let free: svk_free_fn = { pointer in
    let data = Unmanaged<UserData>.fromOpaque(pointer!).takeRetainedValue()
    data.frees.add()
  }

  static func of<Data: UserData>(_ pointer: UnsafeMutableRawPointer?, _ type: Data.Type) -> Data {
    Unmanaged<Data>.fromOpaque(pointer!).takeUnretainedValue()
  }
}

/// A factory whose work is a closure: it gives the instance, or a status of its own.
final class Factory: UserData {
  let destroyed = Shared<[UnsafeMutableRawPointer]>([])
  let create: (Word?) -> (svk_status, UnsafeMutableRawPointer?)

  init(_ create: @escaping (Word?) -> (svk_status, UnsafeMutableRawPointer?)) { self.create = create }

  /// One that gives an address, which nobody looks behind.
  convenience init(_ instance: Int) { self.init { _ in (SVK_OK, UnsafeMutableRawPointer(bitPattern: instance)) } }

  func options(_ scope: Int32 = SVK_SCOPE_DEFAULT) -> svk_factory_options {
    var options = svk_factory_options.defaults
    options.create = { resolver, instance, factory in
      let (status, made) = UserData.of(factory, Factory.self).create(resolver)
      instance?.pointee = made
      return status
    }
    options.destroy = { instance, factory in
      UserData.of(factory, Factory.self).destroyed.change { $0.append(instance!) }
    }
    options.user_data = pointer
    options.user_data_free = UserData.free
    options.scope = scope
    return options
  }
}

/// An observer that writes down what it is told.
final class Listener: UserData {
  let states = Shared<[String]>([])
  let finishes = Tally()

  func observer(_ delivery: Int32 = SVK_DELIVER_INLINE, dispatcher: Word? = nil) -> svk_observer_options {
    var options = svk_observer_options.defaults
    options.delivery = delivery
    options.dispatcher = dispatcher
    options.on_state = Listener.onState
    options.on_finish = Listener.onFinish
    options.user_data = pointer
    options.user_data_free = UserData.free
    return options
  }

  static let onState: svk_state_fn = { state, listener in
    let line = "\(state!.pointee.version):\(state!.pointee.text)"
    UserData.of(listener, Listener.self).states.change { $0.append(line) }
  }

  static let onFinish: svk_finish_fn = { UserData.of($0, Listener.self).finishes.add() }
}

extension svk_state {
  var text: String {
    String(decoding: UnsafeRawBufferPointer(start: data, count: size), as: UTF8.self)
  }
}

/// A stream with its service, at first in the state "0".
func makeSource(
  _ change: (inout svk_service_options) -> Void = { _ in }
) throws -> (stream: Word, service: Word) {
  let stream: Word = try made { svk_stream_create(nil, $0) }
  let service: Word = try "0".withCString { initial in
    var options = svk_service_options.defaults
    options.initial = UnsafeRawPointer(initial)
    options.initial_size = 1
    options.stream = stream
    change(&options)
    return try made { svk_service_create(&options, $0) }
  }
  return (stream, service)
}

func send(_ stream: Word?, _ text: String) -> svk_status {
  text.withCString { svk_stream_send(stream, $0, strlen($0)) }
}
