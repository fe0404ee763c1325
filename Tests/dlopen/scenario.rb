# The scenario in Ruby: Fiddle, with IO.select as the event loop.
require "fiddle"
$stdout.sync = true

LIBRARY = Fiddle.dlopen(ARGV[0])
P, I, L, V, S = Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_LONG_LONG, Fiddle::TYPE_VOID, Fiddle::TYPE_SIZE_T

# svk.resolve(…) calls svk_resolve. Threads may run while a call waits.
module Svk
  def self.attach(name, arguments, result = I)
    function = Fiddle::Function.new(LIBRARY["svk_#{name}"], arguments, result)
    define_singleton_method(name) { |*values| function.call(*values) }
  end
  attach :version, []
  attach :version_string, [], P
  attach :constant, [P, P]
  attach :status_name, [I], P
  attach :last_error, [], P
  attach :container_create, [P]
  attach :container_set_contexts, [P, P]
  attach :register, [P, P, P]
  attach :register_for, [P, P, P, P]
  attach :resolve, [P, P, P]
  attach :require, [P, P, P]
  attach :instance, [P], P
  attach :stream_create, [P, P]
  attach :stream_send, [P, P, S]
  attach :service_create, [P, P]
  attach :service_read, [P, P, S, P, P]
  attach :service_observe, [P, P, P]
  attach :subscription_next_copy, [P, L, P, S, P, P, P]
  attach :subscription_dropped, [P, P]
  attach :dispatcher_create, [P]
  attach :dispatcher_fd, [P]
  attach :dispatcher_dispatch, [P, S, L, P]
  %i[release service_close subscription_cancel stream_finish container_destroy stream_destroy
     dispatcher_destroy].each { |name| attach name, [P] }
end

# A cell for an out-parameter.
def cell(value = 0) = Fiddle::Pointer.malloc(8, Fiddle::RUBY_FREE).tap { |memory| memory[0, 8] = [value].pack("q") }
def number(memory) = memory[0, 8].unpack1("q")
# The structs of servicekit.h: Ruby's pack, with the padding written out.
def factory_options(create, destroy, free, scope) = [80, 0, create, destroy, 0, free, scope, 0, 0, 0, 0].pack("LLQQQQlx4QQQQ")
def service_options(initial, stream) = [88, 0, 0, initial, 8, stream, 0, 0, 0, 0, 0, 0].pack("LLQQQQlx4QQQQQ")
def observer_options(delivery, dispatcher, buffering, capacity, on_state, free)
  [72, 0, delivery, dispatcher, buffering, capacity, on_state, 0, 0, free].pack("LLlx4Qlx4QQQQQ")
end

$points = 0
def point(ok, name) = puts("#{ok ? "ok" : "not ok"} #{$points += 1} - #{name}")

def constant(name)
  Svk.constant("SVK_#{name}", value = cell) == 0 ? number(value) : nil
end

NAMES = %w[INVALID_HANDLE NOT_FOUND CYCLE CLOSED TIMEOUT FACTORY_ERROR_BASE SCOPE_UNIQUE SCOPE_CACHED DELIVER_DISPATCHER
           DELIVER_PULL BUFFER_NEWEST]
NAMES.each { |name| Object.const_set(name, constant(name)) }

puts "1..24"
version = Svk.version
text = [version >> 16, version >> 8 & 255, version & 255].join(".")
point(version >> 16 == 1 && Svk.version_string.to_s == text, "version")
point(NAMES.all? { |name| Object.const_get(name) } && SCOPE_CACHED == 2, "constants")
point(Svk.constant("SVK_NO_SUCH", cell) == NOT_FOUND, "unknown constant")
point(Svk.status_name(CYCLE).to_s == "SVK_CYCLE", "status name")

# ---- factories ----

$made, $ended, $required, $thrown, $freed, $alive, $kept = 0, [], [], [], 0, {}, []

def callback(result, arguments, &block)
  Fiddle::Closure::BlockCaller.new(result, arguments, &block).tap { |closure| $kept << closure }.to_i
end

# The block gets the resolver, and gives the address of an instance, or throws a status.
def factory(name, scope, free: 0, destroy: nil, &build)
  create = callback(I, [P, P, P]) do |resolver, instance, _|
    status = catch(:status) do
      instance[0, 8] = [build.call(resolver).to_i].pack("Q")
      0
    end
    status
  rescue StandardError => error
    $thrown << error.message
    FACTORY_ERROR_BASE + 8
  end
  destroy ||= ->(instance) { $alive.delete(instance.to_i) }
  destroyer = callback(V, [P, P]) do |instance, _|
    $ended << name
    destroy.call(instance)
  end
  factory_options(create, destroyer, free, scope)
end

def instance(value)
  $made += 1
  block = cell(value)
  $alive[block.to_i] = block
end

def require_instance(resolver, key)
  status = Svk.require(resolver, key, found = cell)
  throw :status, status unless status == 0
  number(found)
end

Svk.container_create(out = cell)
container = number(out)
Svk.stream_create(nil, out)
$stream = number(out)
{ "logger" => factory("logger", SCOPE_CACHED, free: callback(V, [P]) { $freed += 1 }) { instance(1) },
  "worker" => factory("worker", SCOPE_UNIQUE) { |resolver|
    $required << require_instance(resolver, "logger")
    instance(2)
  },
  "a" => factory("a", 0) { |resolver| require_instance(resolver, "b") },
  "b" => factory("b", 0) { |resolver| require_instance(resolver, "a") },
  "place" => factory("place", SCOPE_UNIQUE) { instance(10) },
  "broken" => factory("broken", 0) { throw :status, FACTORY_ERROR_BASE + 7 },
  "throws" => factory("throws", 0) { raise "disk full" },
  "counter" => factory("counter", SCOPE_CACHED, destroy: ->(service) { Svk.service_close(service) }) {
    $made += 1
    status = Svk.service_create(service_options((initial = cell(0)).to_i, $stream), service = cell)
    throw :status, status unless status == 0
    number(service)
  } }.each { |key, options| Svk.register(container, key, options) }
{ "preview" => 20, "test" => 30 }.each do |context, value|
  Svk.register_for(container, "place", context, factory("place", SCOPE_UNIQUE) { instance(value) })
end

resolve = lambda do |key|
  handle = cell
  [Svk.resolve(container, key, handle), number(handle)]
end
value_of = ->(handle) { number(Svk.instance(handle)) }
last_error = -> { Svk.last_error.to_s.force_encoding("UTF-8") }

logger, again = resolve["logger"][1], resolve["logger"][1]
shared = Svk.instance(logger)
point(!shared.null? && shared == Svk.instance(again) && value_of[logger] == 1, "cached")
worker, other = resolve["worker"][1], resolve["worker"][1]
point(!Svk.instance(worker).null? && Svk.instance(worker) != Svk.instance(other), "unique")
point($required == [shared.to_i, shared.to_i], "require")
point(resolve["a"][0] == CYCLE && last_error[].include?("a → b → a"), "cycle")
point(resolve["nobody"][0] == NOT_FOUND && last_error[].include?("nobody"), "missing")
{ "live" => 10, "preview" => 20, "test" => 30 }.each do |context, value|
  Svk.container_set_contexts(container, context)
  status, place = resolve["place"]
  point(status == 0 && value_of[place] == value, context)
  Svk.release(place)
end
point(resolve["broken"][0] == FACTORY_ERROR_BASE + 7, "own status")
point(resolve["throws"][0] == FACTORY_ERROR_BASE + 8 && $thrown == ["disk full"], "exception")
point(Svk.release(worker) == 0 && Svk.release(worker) == INVALID_HANDLE && Svk.instance(worker).null?, "stale handle")

# ---- states ----

send_state = ->(value) { Svk.stream_send($stream, [value].pack("q"), 8) }
counter = resolve["counter"][1]
service = Svk.instance(counter)
read = lambda do
  value, at = cell(-1), cell(99)
  Svk.service_read(service, value, 8, nil, at)
  [number(value), number(at)]
end
point(read[] == [0, 0], "service")
Svk.service_observe(service, observer_options(DELIVER_PULL, 0, BUFFER_NEWEST, 2, 0, 0), out)
pull = number(out)
pulled = lambda do
  status = Svk.subscription_next_copy(pull, 0, value = cell, 8, nil, nil, dropped = cell)
  status == 0 ? [number(value), number(dropped)] : status
end
(1..5).each(&send_state)
point([pulled[], pulled[], pulled[]] == [[4, 3], [5, 0], TIMEOUT], "pull")
point(read[] == [5, 5], "read")

seen, observer_freed = [], 0
Svk.dispatcher_create(out)
dispatcher = number(out)
on_state = callback(V, [P, P]) do |state, _|
  seen << [number(Fiddle::Pointer.new(state[8, 8].unpack1("Q"))), Thread.current]
end
free = callback(V, [P]) { observer_freed += 1 }
Svk.service_observe(service, observer_options(DELIVER_DISPATCHER, dispatcher, 0, 0, on_state, free), out)
subscription = number(out)
sender = Thread.new { (6..8).each(&send_state) }
watched = IO.for_fd(Svk.dispatcher_fd(dispatcher), autoclose: false)
while seen.size < 3 && IO.select([watched], nil, nil, 30)
  Svk.dispatcher_dispatch(dispatcher, 0, 0, nil)
end
sender.join
point(seen == [6, 7, 8].map { |value| [value, Thread.current] }, "event loop")
point(Svk.subscription_cancel(subscription) == 0 && observer_freed == 1 && send_state[9] == 0 &&
      Svk.dispatcher_dispatch(dispatcher, 0, 0, nil) == TIMEOUT && seen.size == 3, "cancel")
Svk.stream_finish($stream)
point([pulled[], pulled[], pulled[]] == [[8, 2], [9, 0], CLOSED], "end")
point(Svk.subscription_dropped(pull, total = cell) == 0 && number(total) == 5, "drops")
ends = [Svk.subscription_cancel(pull)] + [counter, other, logger, again].map { |handle| Svk.release(handle) } +
       [Svk.container_destroy(container), Svk.stream_destroy($stream), Svk.dispatcher_destroy(dispatcher)]
point(ends == [0] * 8 && resolve["logger"][0] == INVALID_HANDLE, "destroy")
point($made == 7 && $ended.size == 7 && $alive.empty? && $ended.rindex("worker") < $ended.index("logger") &&
      $freed == 1, "nothing leaked")
