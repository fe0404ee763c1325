-- The scenario in Lua: LuaJIT's ffi, with poll as the event loop. One thread: Lua has no more.
local ffi = require("ffi")
jit.off() -- C that calls back must not be called from compiled code

ffi.cdef [[
typedef int32_t (*svk_create_fn)(void *resolver, void **instance, void *user_data);
typedef void (*svk_destroy_fn)(void *instance, void *user_data);
typedef void (*svk_free_fn)(void *user_data);
typedef struct { uint64_t version; const void *data; size_t size; uint64_t dropped; } svk_state;
typedef void (*svk_state_fn)(const svk_state *state, void *user_data);
typedef struct {
  uint32_t size, flags; svk_create_fn create; svk_destroy_fn destroy; void *user_data; svk_free_fn user_data_free;
  int32_t scope; void *custom_scope; uint64_t time_to_live_ns; const char *type; const char *const *required_keys;
} svk_factory_options;
typedef struct {
  uint32_t size, flags; const void *api, *initial; size_t initial_size; void *stream; int32_t delivery;
  void *dispatcher; svk_state_fn on_state; svk_free_fn on_finish; void *user_data; svk_free_fn user_data_free;
} svk_service_options;
typedef struct {
  uint32_t size, flags; int32_t delivery; void *dispatcher; int32_t buffering; size_t capacity;
  svk_state_fn on_state; svk_free_fn on_finish; void *user_data; svk_free_fn user_data_free;
} svk_observer_options;
uint32_t svk_version(void);
const char *svk_version_string(void);
int32_t svk_constant(const char *name, int64_t *value);
const char *svk_status_name(int32_t status);
const char *svk_last_error(void);
int32_t svk_container_create(void **container);
int32_t svk_container_destroy(void *container);
int32_t svk_container_set_contexts(void *container, const char *contexts);
int32_t svk_register(void *container, const char *key, const svk_factory_options *options);
int32_t svk_register_for(void *container, const char *key, const char *context, const svk_factory_options *options);
int32_t svk_resolve(void *container, const char *key, void **handle);
int32_t svk_require(void *resolver, const char *key, void **instance);
void *svk_instance(void *handle);
int32_t svk_release(void *handle);
int32_t svk_stream_create(const void *options, void **stream);
int32_t svk_stream_send(void *stream, const void *data, size_t size);
int32_t svk_stream_finish(void *stream);
int32_t svk_stream_destroy(void *stream);
int32_t svk_service_create(const svk_service_options *options, void **service);
int32_t svk_service_close(void *service);
int32_t svk_service_read(void *service, void *buffer, size_t capacity, size_t *size, uint64_t *version);
int32_t svk_service_observe(void *service, const svk_observer_options *options, void **subscription);
int32_t svk_subscription_cancel(void *subscription);
int32_t svk_subscription_next_copy(void *subscription, int64_t timeout_ns, void *buffer, size_t capacity, size_t *size,
                                   uint64_t *version, uint64_t *dropped);
int32_t svk_subscription_dropped(void *subscription, uint64_t *total);
int32_t svk_dispatcher_create(void **dispatcher);
int32_t svk_dispatcher_destroy(void *dispatcher);
int32_t svk_dispatcher_fd(void *dispatcher);
int32_t svk_dispatcher_dispatch(void *dispatcher, size_t max, int64_t timeout_ns, size_t *count);
struct pollfd { int fd; short events, revents; };
int poll(struct pollfd *fds, unsigned long count, int timeout_ms);
]]
local svk = ffi.load(arg[1])

local points = 0
local function point(ok, name)
  points = points + 1
  print((ok and "ok " or "not ok ") .. points .. " - " .. name)
end
local function constant(name)
  local value = ffi.new("int64_t[1]")
  return svk.svk_constant("SVK_" .. name, value) == 0 and tonumber(value[0]) or nil
end
local function number(address) return tonumber(ffi.cast("const int64_t *", address)[0]) end
local function has_error(words) return ffi.string(svk.svk_last_error()):find(words, 1, true) ~= nil end
local NULL = ffi.cast("void *", nil)
-- A key for a Lua table.
local function address(pointer) return tostring(ffi.cast("uintptr_t", pointer)) end

print("1..24")
local version = svk.svk_version()
point(math.floor(version / 65536) == 1 and ffi.string(svk.svk_version_string()) ==
  ("%d.%d.%d"):format(version / 65536, version / 256 % 256, version % 256), "version")
local names = { "INVALID_HANDLE", "NOT_FOUND", "CYCLE", "CLOSED", "TIMEOUT", "FACTORY_ERROR_BASE", "SCOPE_UNIQUE",
  "SCOPE_CACHED", "DELIVER_DISPATCHER", "DELIVER_PULL", "BUFFER_NEWEST" }
local is, found = {}, 0
for _, name in ipairs(names) do
  is[name] = constant(name)
  found = found + (is[name] and 1 or 0)
end
point(found == #names and is.SCOPE_CACHED == 2, "constants")
point(svk.svk_constant("SVK_NO_SUCH", ffi.new("int64_t[1]")) == is.NOT_FOUND, "unknown constant")
point(ffi.string(svk.svk_status_name(is.CYCLE)) == "SVK_CYCLE", "status name")

-- Factories.

local made, ended, required, thrown, freed, alive, callbacks = 0, {}, {}, {}, 0, {}, {}
local function callback(type, body)
  local made_callback = ffi.cast(type, body)
  callbacks[#callbacks + 1] = made_callback
  return made_callback
end

-- `build` gets the resolver, and gives the address of an instance, or nil and a status.
local function factory(name, scope, build, more)
  local options = ffi.new("svk_factory_options", more or {})
  options.size = ffi.sizeof(options)
  options.scope = scope
  options.create = callback("svk_create_fn", function(resolver, instance)
    local ok, built, status = pcall(build, resolver)
    if not ok then
      thrown[#thrown + 1] = built
      return is.FACTORY_ERROR_BASE + 8
    elseif built == nil then
      return status
    end
    instance[0] = built
    return 0
  end)
  if options.destroy == nil then
    options.destroy = callback("svk_destroy_fn", function(instance)
      ended[#ended + 1] = name
      alive[address(instance)] = nil
    end)
  end
  return options
end
local function instance(value)
  made = made + 1
  local block = ffi.new("int64_t[1]", value)
  local pointer = ffi.cast("void *", block)
  alive[address(pointer)] = block
  return pointer
end
local function require_instance(resolver, key)
  local out = ffi.new("void *[1]")
  local status = svk.svk_require(resolver, key, out)
  if status ~= 0 then return nil, status end
  return out[0]
end

local out = ffi.new("void *[1]")
svk.svk_container_create(out)
local container = out[0]
svk.svk_stream_create(nil, out)
local stream = out[0]
local count_free = callback("svk_free_fn", function() freed = freed + 1 end)
local factories = {
  logger = factory("logger", is.SCOPE_CACHED, function() return instance(1) end, { user_data_free = count_free }),
  worker = factory("worker", is.SCOPE_UNIQUE, function(resolver)
    local logger, status = require_instance(resolver, "logger")
    if logger == nil then return nil, status end
    required[#required + 1] = logger
    return instance(2)
  end),
  a = factory("a", 0, function(resolver) return require_instance(resolver, "b") end),
  b = factory("b", 0, function(resolver) return require_instance(resolver, "a") end),
  place = factory("place", is.SCOPE_UNIQUE, function() return instance(10) end),
  broken = factory("broken", 0, function() return nil, is.FACTORY_ERROR_BASE + 7 end),
  throws = factory("throws", 0, function() error("disk full", 0) end),
  counter = factory("counter", is.SCOPE_CACHED, function()
    made = made + 1
    local initial = ffi.new("int64_t[1]", 0)
    local options = ffi.new("svk_service_options", { initial = initial, initial_size = 8, stream = stream })
    options.size = ffi.sizeof(options)
    local service = ffi.new("void *[1]")
    local status = svk.svk_service_create(options, service)
    if status ~= 0 then return nil, status end
    return service[0]
  end, { destroy = callback("svk_destroy_fn", function(service)
    ended[#ended + 1] = "counter"
    svk.svk_service_close(service)
  end) }),
}
for key, options in pairs(factories) do svk.svk_register(container, key, options) end
for context, value in pairs({ preview = 20, test = 30 }) do
  svk.svk_register_for(container, "place", context, factory("place", is.SCOPE_UNIQUE, function()
    return instance(value)
  end))
end

local function resolve(key)
  local handle = ffi.new("void *[1]")
  return svk.svk_resolve(container, key, handle), handle[0]
end
local _, logger = resolve("logger")
local _, again = resolve("logger")
local shared = svk.svk_instance(logger)
point(shared ~= NULL and shared == svk.svk_instance(again) and number(shared) == 1, "cached")
local _, worker = resolve("worker")
local _, other = resolve("worker")
point(svk.svk_instance(worker) ~= NULL and svk.svk_instance(worker) ~= svk.svk_instance(other), "unique")
point(#required == 2 and required[1] == shared and required[2] == shared, "require")
point(resolve("a") == is.CYCLE and has_error("a → b → a"), "cycle")
point(resolve("nobody") == is.NOT_FOUND and has_error("nobody"), "missing")
for index, context in ipairs({ "live", "preview", "test" }) do
  svk.svk_container_set_contexts(container, context)
  local status, place = resolve("place")
  point(status == 0 and number(svk.svk_instance(place)) == 10 * index, context)
  svk.svk_release(place)
end
point(resolve("broken") == is.FACTORY_ERROR_BASE + 7, "own status")
point(resolve("throws") == is.FACTORY_ERROR_BASE + 8 and #thrown == 1 and thrown[1] == "disk full", "exception")
point(svk.svk_release(worker) == 0 and svk.svk_release(worker) == is.INVALID_HANDLE and
  svk.svk_instance(worker) == NULL, "stale handle")

-- States.

local function send(value) return svk.svk_stream_send(stream, ffi.new("int64_t[1]", value), 8) end
local _, counter = resolve("counter")
local service = svk.svk_instance(counter)
local function read(value, at)
  local got, got_at = ffi.new("int64_t[1]", -1), ffi.new("uint64_t[1]", 99)
  svk.svk_service_read(service, got, 8, nil, got_at)
  return got[0] == value and got_at[0] == at
end
point(read(0, 0), "service")
local function observe(values)
  local options = ffi.new("svk_observer_options", values)
  options.size = ffi.sizeof(options)
  svk.svk_service_observe(service, options, out)
  return out[0]
end
local pull = observe({ delivery = is.DELIVER_PULL, buffering = is.BUFFER_NEWEST, capacity = 2 })
local function pulled(value, drops)
  local got, dropped = ffi.new("int64_t[1]"), ffi.new("uint64_t[1]")
  local status = svk.svk_subscription_next_copy(pull, 0, got, 8, nil, nil, dropped)
  return status == 0 and got[0] == value and dropped[0] == drops, status
end
for value = 1, 5 do send(value) end
point(pulled(4, 3) and pulled(5, 0) and select(2, pulled()) == is.TIMEOUT, "pull")
point(read(5, 5), "read")

local seen, observer_freed = {}, 0
svk.svk_dispatcher_create(out)
local dispatcher = out[0]
local subscription = observe({
  delivery = is.DELIVER_DISPATCHER,
  dispatcher = dispatcher,
  on_state = callback("svk_state_fn", function(state) seen[#seen + 1] = number(state.data) end),
  user_data_free = callback("svk_free_fn", function() observer_freed = observer_freed + 1 end),
})
for value = 6, 8 do send(value) end
local early = #seen
local watched = ffi.new("struct pollfd[1]", { { svk.svk_dispatcher_fd(dispatcher), 1, 0 } })
while #seen < 3 and ffi.C.poll(watched, 1, 30000) == 1 do svk.svk_dispatcher_dispatch(dispatcher, 0, 0, nil) end
point(early == 0 and table.concat(seen, " ") == "6 7 8", "event loop")
point(svk.svk_subscription_cancel(subscription) == 0 and observer_freed == 1 and send(9) == 0 and
  svk.svk_dispatcher_dispatch(dispatcher, 0, 0, nil) == is.TIMEOUT and #seen == 3, "cancel")
svk.svk_stream_finish(stream)
point(pulled(8, 2) and pulled(9, 0) and select(2, pulled()) == is.CLOSED, "end")
local total = ffi.new("uint64_t[1]")
point(svk.svk_subscription_dropped(pull, total) == 0 and total[0] == 5, "drops")
local failures = svk.svk_subscription_cancel(pull)
for _, handle in ipairs({ counter, other, logger, again }) do failures = failures + svk.svk_release(handle) end
failures = failures + svk.svk_container_destroy(container) + svk.svk_stream_destroy(stream) +
  svk.svk_dispatcher_destroy(dispatcher)
point(failures == 0 and resolve("logger") == is.INVALID_HANDLE, "destroy")
local last = {}
for index, name in ipairs(ended) do last[name] = index end
point(made == 7 and #ended == 7 and next(alive) == nil and last.worker < last.logger and freed == 1, "nothing leaked")
