// The scenario in Swift, by dlopen alone: neither the header nor the ServiceKit module is imported. poll is the event
// loop.
import Glibc

typealias Token = UnsafeMutableRawPointer
typealias Create = @convention(c) (Token?, UnsafeMutablePointer<Token?>, Token?) -> Int32
typealias Destroy = @convention(c) (Token?, Token?) -> Void
typealias Free = @convention(c) (Token?) -> Void
typealias OnState = @convention(c) (UnsafeRawPointer, Token?) -> Void

// The options structs, by their offsets in abi.json.
struct Options {
  let bytes: UnsafeMutableRawPointer
  init(size: Int) {
    bytes = .allocate(byteCount: size, alignment: 8)
    bytes.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    self[0] = UInt32(size)
  }
  subscript<Value>(offset: Int) -> Value {
    get { bytes.load(fromByteOffset: offset, as: Value.self) }
    nonmutating set { bytes.storeBytes(of: newValue, toByteOffset: offset, as: Value.self) }
  }
}

nonisolated(unsafe) let library = dlopen(CommandLine.arguments[1], RTLD_NOW)
func function<Function>(_ name: String, _ type: Function.Type) -> Function {
  guard let symbol = dlsym(library, name) else { fatalError("no \(name)") }
  return unsafeBitCast(symbol, to: type)
}
typealias Out = UnsafeMutablePointer<Token?>
let version = function("svk_version", (@convention(c) () -> UInt32).self)
let versionString = function("svk_version_string", (@convention(c) () -> UnsafePointer<CChar>).self)
let constantOf = function(
  "svk_constant", (@convention(c) (UnsafePointer<CChar>, UnsafeMutablePointer<Int64>) -> Int32).self)
let statusName = function("svk_status_name", (@convention(c) (Int32) -> UnsafePointer<CChar>).self)
let lastError = function("svk_last_error", (@convention(c) () -> UnsafePointer<CChar>).self)
let containerCreate = function("svk_container_create", (@convention(c) (Out) -> Int32).self)
let setContexts = function(
  "svk_container_set_contexts", (@convention(c) (Token?, UnsafePointer<CChar>) -> Int32).self)
let register = function(
  "svk_register", (@convention(c) (Token?, UnsafePointer<CChar>, UnsafeRawPointer) -> Int32).self)
let registerFor = function(
  "svk_register_for",
  (@convention(c) (Token?, UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer) -> Int32).self)
let resolveIn = function("svk_resolve", (@convention(c) (Token?, UnsafePointer<CChar>, Out) -> Int32).self)
let requireIn = function("svk_require", (@convention(c) (Token?, UnsafePointer<CChar>, Out) -> Int32).self)
let instance = function("svk_instance", (@convention(c) (Token?) -> Token?).self)
let streamCreate = function("svk_stream_create", (@convention(c) (UnsafeRawPointer?, Out) -> Int32).self)
let streamSend = function("svk_stream_send", (@convention(c) (Token?, UnsafeRawPointer, Int) -> Int32).self)
let serviceCreate = function("svk_service_create", (@convention(c) (UnsafeRawPointer, Out) -> Int32).self)
let serviceRead = function(
  "svk_service_read",
  (@convention(c) (Token?, UnsafeMutableRawPointer, Int, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<UInt64>)
    -> Int32).self)
let observe = function("svk_service_observe", (@convention(c) (Token?, UnsafeRawPointer, Out) -> Int32).self)
let nextCopy = function(
  "svk_subscription_next_copy",
  (@convention(c) (
    Token?, Int64, UnsafeMutableRawPointer, Int, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<UInt64>?,
    UnsafeMutablePointer<UInt64>
  ) -> Int32).self)
let droppedBy = function(
  "svk_subscription_dropped", (@convention(c) (Token?, UnsafeMutablePointer<UInt64>) -> Int32).self)
let dispatcherCreate = function("svk_dispatcher_create", (@convention(c) (Out) -> Int32).self)
let dispatcherFd = function("svk_dispatcher_fd", (@convention(c) (Token?) -> Int32).self)
let dispatch = function(
  "svk_dispatcher_dispatch", (@convention(c) (Token?, Int, Int64, UnsafeMutablePointer<Int>?) -> Int32).self)
// What ends something takes the token alone.
typealias End = @convention(c) (Token?) -> Int32
let release = function("svk_release", End.self)
let closeService = function("svk_service_close", End.self)
let cancel = function("svk_subscription_cancel", End.self)
let finish = function("svk_stream_finish", End.self)
let destroyContainer = function("svk_container_destroy", End.self)
let destroyStream = function("svk_stream_destroy", End.self)
let destroyDispatcher = function("svk_dispatcher_destroy", End.self)

nonisolated(unsafe) var points = 0
func point(_ ok: Bool, _ name: String) {
  points += 1
  print(ok ? "ok" : "not ok", points, "-", name)
}
func constant(_ name: String) -> Int32 {
  var value: Int64 = -1
  return constantOf("SVK_" + name, &value) == 0 ? Int32(value) : -1
}

let (invalidHandle, notFound, cycle) = (constant("INVALID_HANDLE"), constant("NOT_FOUND"), constant("CYCLE"))
let (closed, timeout, errorBase) = (constant("CLOSED"), constant("TIMEOUT"), constant("FACTORY_ERROR_BASE"))
let (unique, cached, newest) = (constant("SCOPE_UNIQUE"), constant("SCOPE_CACHED"), constant("BUFFER_NEWEST"))
let (byDispatcher, byPull) = (constant("DELIVER_DISPATCHER"), constant("DELIVER_PULL"))

enum Failure: Error {
  case status(Int32)
  case words(String)
}

nonisolated(unsafe) var made = 0
nonisolated(unsafe) var freed = 0
nonisolated(unsafe) var observerFreed = 0
nonisolated(unsafe) var ended: [String] = []
nonisolated(unsafe) var thrown: [String] = []
nonisolated(unsafe) var required: [Token?] = []
nonisolated(unsafe) var seen: [Int64] = []
nonisolated(unsafe) var stream: Token?

// A factory is what `user_data` keeps alive.
final class Factory {
  let name: String
  let build: (Token?) throws -> Token?
  init(_ name: String, _ build: @escaping (Token?) throws -> Token?) { (self.name, self.build) = (name, build) }
  static func at(_ userData: Token?) -> Factory { Unmanaged<Factory>.fromOpaque(userData!).takeUnretainedValue() }
}

func make(_ value: Int64) -> Token {
  made += 1
  let block = UnsafeMutablePointer<Int64>.allocate(capacity: 1)
  block.initialize(to: value)
  return Token(block)
}
func require(_ resolver: Token?, _ key: String) throws -> Token? {
  var found: Token?
  let status = requireIn(resolver, key, &found)
  if status != 0 { throw Failure.status(status) }
  return found
}
func value(_ instance: Token?) -> Int64 { instance?.load(as: Int64.self) ?? -1 }

nonisolated(unsafe) let create: Create = { resolver, instance, userData in
  do {
    instance.pointee = try Factory.at(userData).build(resolver)
    return 0
  } catch Failure.status(let status) {
    return status
  } catch Failure.words(let words) {
    thrown.append(words)
  } catch {}
  return errorBase + 8
}
nonisolated(unsafe) let destroy: Destroy = { instance, userData in
  let name = Factory.at(userData).name
  ended.append(name)
  if name == "counter" { _ = closeService(instance) } else { instance?.deallocate() }
}
nonisolated(unsafe) let freeFactory: Free = { userData in
  if Factory.at(userData).name == "logger" { freed += 1 }
  Unmanaged<Factory>.fromOpaque(userData!).release()
}
func factory(_ name: String, _ scope: Int32, _ build: @escaping (Token?) throws -> Token?) -> UnsafeRawPointer {
  let options = Options(size: 80)
  options[8] = create
  options[16] = destroy
  options[24] = Unmanaged.passRetained(Factory(name, build)).toOpaque()
  options[32] = freeFactory
  options[40] = scope
  return UnsafeRawPointer(options.bytes)
}

print("1..24")
let number = version()
point(
  number >> 16 == 1 && String(cString: versionString()) == "\(number >> 16).\(number >> 8 & 255).\(number & 255)",
  "version")
let all = [invalidHandle, notFound, cycle, closed, timeout, errorBase, unique, newest, byDispatcher, byPull]
point(all.allSatisfy { $0 > 0 } && cached == 2, "constants")
var unknown: Int64 = 0
point(constantOf("SVK_NO_SUCH", &unknown) == notFound, "unknown constant")
point(String(cString: statusName(cycle)) == "SVK_CYCLE", "status name")

nonisolated(unsafe) var container: Token?
_ = containerCreate(&container)
_ = streamCreate(nil, &stream)
func add(_ key: String, _ scope: Int32 = 0, _ build: @escaping (Token?) throws -> Token?) {
  _ = register(container, key, factory(key, scope, build))
}
add("logger", cached) { _ in make(1) }
add("worker", unique) { resolver in
  required.append(try require(resolver, "logger"))
  return make(2)
}
add("a") { try require($0, "b") }
add("b") { try require($0, "a") }
add("place", unique) { _ in make(10) }
for (context, value) in [("preview", Int64(20)), ("test", 30)] {
  _ = registerFor(container, "place", context, factory("place", unique) { _ in make(value) })
}
add("broken") { _ in throw Failure.status(errorBase + 7) }
add("throws") { _ in throw Failure.words("disk full") }
add("counter", cached) { _ in
  made += 1
  var (initial, service) = (Int64(0), Token?.none)
  return try withUnsafePointer(to: &initial) { initial in
    let options = Options(size: 88)
    options[16] = initial
    options[24] = 8
    options[32] = stream
    let status = serviceCreate(options.bytes, &service)
    if status != 0 { throw Failure.status(status) }
    return service
  }
}

func resolve(_ key: String) -> (status: Int32, handle: Token?) {
  var handle: Token?
  let status = resolveIn(container, key, &handle)
  return (status, handle)
}
func lastErrorContains(_ words: String) -> Bool { strstr(lastError(), words) != nil }
let (logger, again) = (resolve("logger").handle, resolve("logger").handle)
let shared = instance(logger)
point(shared != nil && shared == instance(again) && value(shared) == 1, "cached")
let (worker, other) = (resolve("worker").handle, resolve("worker").handle)
point(instance(worker) != nil && instance(worker) != instance(other), "unique")
point(required == [shared, shared], "require")
point(resolve("a").status == cycle && lastErrorContains("a → b → a"), "cycle")
point(resolve("nobody").status == notFound && lastErrorContains("nobody"), "missing")
for (context, expected) in [("live", Int64(10)), ("preview", 20), ("test", 30)] {
  _ = setContexts(container, context)
  let place = resolve("place")
  point(place.status == 0 && value(instance(place.handle)) == expected, context)
  _ = release(place.handle)
}
point(resolve("broken").status == errorBase + 7, "own status")
point(resolve("throws").status == errorBase + 8 && thrown == ["disk full"], "exception")
point(release(worker) == 0 && release(worker) == invalidHandle && instance(worker) == nil, "stale handle")

let counter = resolve("counter").handle
nonisolated(unsafe) let service = instance(counter)
func read(_ expected: Int64, _ expectedVersion: UInt64) -> Bool {
  var (value, version) = (Int64(-1), UInt64(99))
  return serviceRead(service, &value, 8, nil, &version) == 0 && value == expected && version == expectedVersion
}
point(read(0, 0), "service")
nonisolated(unsafe) var pull: Token?
let pulling = Options(size: 72)
pulling[8] = byPull
pulling[24] = newest
pulling[32] = 2
_ = observe(service, pulling.bytes, &pull)
func send(_ value: Int64) -> Int32 { withUnsafePointer(to: value) { streamSend(stream, $0, 8) } }
func pulled(_ expected: Int64, _ expectedDrops: UInt64) -> Bool {
  var (value, dropped) = (Int64(-1), UInt64(99))
  return nextCopy(pull, 0, &value, 8, nil, nil, &dropped) == 0 && value == expected && dropped == expectedDrops
}
func pullStatus() -> Int32 {
  var (value, dropped) = (Int64(-1), UInt64(99))
  return nextCopy(pull, 0, &value, 8, nil, nil, &dropped)
}
for value in Int64(1)...5 { _ = send(value) }
point(pulled(4, 3) && pulled(5, 0) && pullStatus() == timeout, "pull")
point(read(5, 5), "read")

let here = pthread_self()
let onState: OnState = { state, _ in
  let value = state.load(fromByteOffset: 8, as: UnsafePointer<Int64>.self).pointee
  seen.append(pthread_equal(here, pthread_self()) != 0 ? value : -1)
}
let freeObserver: Free = { _ in observerFreed += 1 }
nonisolated(unsafe) var (dispatcher, subscription) = (Token?.none, Token?.none)
_ = dispatcherCreate(&dispatcher)
let observing = Options(size: 72)
observing[8] = byDispatcher
observing[16] = dispatcher
observing[40] = onState
observing[64] = freeObserver
_ = observe(service, observing.bytes, &subscription)
var sender = pthread_t()
pthread_create(
  &sender, nil,
  { @Sendable _ in
    for value in Int64(6)...8 { _ = send(value) }
    return nil
  }, nil)
var watched = pollfd(fd: dispatcherFd(dispatcher), events: Int16(POLLIN), revents: 0)
while seen.count < 3 && poll(&watched, 1, 30000) == 1 { _ = dispatch(dispatcher, 0, 0, nil) }
pthread_join(sender, nil)
point(seen == [6, 7, 8], "event loop")
point(
  cancel(subscription) == 0 && observerFreed == 1 && send(9) == 0 && dispatch(dispatcher, 0, 0, nil) == timeout
    && seen.count == 3, "cancel")
_ = finish(stream)
point(pulled(8, 2) && pulled(9, 0) && pullStatus() == closed, "end")
var total: UInt64 = 0
point(droppedBy(pull, &total) == 0 && total == 5, "drops")
let ends =
  [cancel(pull)] + [counter, other, logger, again].map { release($0) } + [
    destroyContainer(container), destroyStream(stream), destroyDispatcher(dispatcher),
  ]
point(ends == Array(repeating: 0, count: 8) && resolve("logger").status == invalidHandle, "destroy")
point(
  made == 7 && ended.count == 7 && ended.lastIndex(of: "worker")! < ended.lastIndex(of: "logger")! && freed == 1,
  "nothing leaked")
