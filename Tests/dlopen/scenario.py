"""The scenario in Python: ctypes, and asyncio for the event loop."""
import asyncio
import ctypes
import sys
import threading
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

svk = ctypes.CDLL(sys.argv[1])
svk.svk_version.restype = c_uint32
svk.svk_instance.restype = c_void_p
for text in (svk.svk_version_string, svk.svk_status_name, svk.svk_last_error):
    text.restype = c_char_p

Create = CFUNCTYPE(c_int32, c_void_p, POINTER(c_void_p), c_void_p)
Destroy = CFUNCTYPE(None, c_void_p, c_void_p)
Free = CFUNCTYPE(None, c_void_p)


class State(Structure):
    _fields_ = [("version", c_uint64), ("data", c_void_p), ("size", c_size_t), ("dropped", c_uint64)]


OnState = CFUNCTYPE(None, POINTER(State), c_void_p)


class Options(Structure):
    def __init__(self, **values):
        super().__init__(size=ctypes.sizeof(self), **values)


class FactoryOptions(Options):
    _fields_ = [("size", c_uint32), ("flags", c_uint32), ("create", Create), ("destroy", Destroy),
                ("user_data", c_void_p), ("user_data_free", Free), ("scope", c_int32), ("custom_scope", c_void_p),
                ("time_to_live_ns", c_uint64), ("type", c_char_p), ("required_keys", c_void_p)]


class ServiceOptions(Options):
    _fields_ = [("size", c_uint32), ("flags", c_uint32), ("api", c_void_p), ("initial", c_void_p),
                ("initial_size", c_size_t), ("stream", c_void_p), ("delivery", c_int32), ("dispatcher", c_void_p),
                ("on_state", c_void_p), ("on_finish", c_void_p), ("user_data", c_void_p), ("user_data_free", c_void_p)]


class ObserverOptions(Options):
    _fields_ = [("size", c_uint32), ("flags", c_uint32), ("delivery", c_int32), ("dispatcher", c_void_p),
                ("buffering", c_int32), ("capacity", c_size_t), ("on_state", OnState), ("on_finish", c_void_p),
                ("user_data", c_void_p), ("user_data_free", Free)]


points = 0


def point(ok, name):
    global points
    points += 1
    print("ok" if ok else "not ok", points, "-", name, flush=True)


def constant(name):
    value = c_int64()
    found = svk.svk_constant(b"SVK_" + name, byref(value)) == 0
    return value.value if found else None


def resolve(container, key):
    handle = c_void_p()
    return svk.svk_resolve(container, key, byref(handle)), handle


def value_at(address):
    return c_int64.from_address(address).value


print("1..24")
version = svk.svk_version()
point(version >> 16 == 1 and svk.svk_version_string() == b"%d.%d.%d" % (version >> 16, version >> 8 & 255, version & 255),
      "version")
names = [b"OK", b"INVALID_HANDLE", b"NOT_FOUND", b"CYCLE", b"CLOSED", b"TIMEOUT", b"FACTORY_ERROR_BASE",
         b"SCOPE_UNIQUE", b"SCOPE_CACHED", b"DELIVER_DISPATCHER", b"DELIVER_PULL", b"BUFFER_NEWEST"]
values = [constant(name) for name in names]
(OK, INVALID_HANDLE, NOT_FOUND, CYCLE, CLOSED, TIMEOUT, FACTORY_ERROR_BASE, UNIQUE, CACHED, DELIVER_DISPATCHER,
 DELIVER_PULL, BUFFER_NEWEST) = values
point(None not in values and CACHED == 2, "constants")
point(svk.svk_constant(b"SVK_NO_SUCH", byref(c_int64())) == NOT_FOUND, "unknown constant")
point(svk.svk_status_name(CYCLE) == b"SVK_CYCLE", "status name")

# ---- factories ----

alive, ended, made, required, thrown, freed = {}, [], 0, [], [], []
kept = []  # what the library may still call


def factory(build, name=None, **options):
    """The options of a factory: `build` gets the resolver, and returns a status or the address of an instance."""

    @Create
    def create(resolver, instance, _):
        try:
            status, instance[0] = build(resolver)
            return status
        except Exception as error:
            thrown.append(str(error))
            return FACTORY_ERROR_BASE + 8

    @Destroy
    def destroy(instance, _):
        ended.append(name)
        del alive[instance]

    options = FactoryOptions(create=create, destroy=options.pop("destroy", destroy), **options)
    kept.append(options)
    return options


def instance_of(value):
    global made
    made += 1
    block = c_int64(value)
    alive[ctypes.addressof(block)] = block
    return OK, ctypes.addressof(block)


def require(resolver, key):
    instance = c_void_p()
    return svk.svk_require(c_void_p(resolver), key, byref(instance)), instance.value


def build_worker(resolver):
    status, logger = require(resolver, b"logger")
    required.append(logger)
    return instance_of(2) if status == OK else (status, None)


def build_throws(_):
    raise RuntimeError("disk full")


def build_counter(_):
    global made
    made += 1
    service, initial = c_void_p(), c_int64(0)
    options = ServiceOptions(initial=ctypes.addressof(initial), initial_size=8, stream=stream.value)
    return svk.svk_service_create(byref(options), byref(service)), service.value


@Destroy
def close_counter(service, _):
    ended.append("counter")
    svk.svk_service_close(c_void_p(service))


container, stream, dispatcher = c_void_p(), c_void_p(), c_void_p()
svk.svk_container_create(byref(container))
svk.svk_stream_create(None, byref(stream))
for key, options in [
        (b"logger", factory(lambda _: instance_of(1), "logger", scope=CACHED, user_data_free=Free(freed.append))),
        (b"worker", factory(build_worker, "worker", scope=UNIQUE)),
        (b"a", factory(lambda resolver: require(resolver, b"b"))),
        (b"b", factory(lambda resolver: require(resolver, b"a"))),
        (b"place", factory(lambda _: instance_of(10), "place", scope=UNIQUE)),
        (b"broken", factory(lambda _: (FACTORY_ERROR_BASE + 7, None))),
        (b"throws", factory(build_throws)),
        (b"counter", factory(build_counter, scope=CACHED, destroy=close_counter))]:
    svk.svk_register(container, key, byref(options))
for context, value in ((b"preview", 20), (b"test", 30)):
    svk.svk_register_for(container, b"place", context,
                         byref(factory(lambda _, value=value: instance_of(value), "place", scope=UNIQUE)))

_, logger = resolve(container, b"logger")
_, again = resolve(container, b"logger")
shared = svk.svk_instance(logger)
point(shared and shared == svk.svk_instance(again) and value_at(shared) == 1, "cached")
_, worker = resolve(container, b"worker")
_, other = resolve(container, b"worker")
point(None not in (svk.svk_instance(worker), svk.svk_instance(other)) and
      svk.svk_instance(worker) != svk.svk_instance(other), "unique")
point(required == [shared, shared], "require")
point(resolve(container, b"a")[0] == CYCLE and "a → b → a" in svk.svk_last_error().decode(), "cycle")
point(resolve(container, b"nobody")[0] == NOT_FOUND and b"nobody" in svk.svk_last_error(), "missing")
for context, value in ((b"live", 10), (b"preview", 20), (b"test", 30)):
    svk.svk_container_set_contexts(container, context)
    status, place = resolve(container, b"place")
    point(status == OK and value_at(svk.svk_instance(place)) == value, context.decode())
    svk.svk_release(place)
point(resolve(container, b"broken")[0] == FACTORY_ERROR_BASE + 7, "own status")
point(resolve(container, b"throws")[0] == FACTORY_ERROR_BASE + 8 and thrown == ["disk full"], "exception")
point(svk.svk_release(worker) == OK and svk.svk_release(worker) == INVALID_HANDLE and
      svk.svk_instance(worker) is None, "stale handle")

# ---- states ----


def send(value):
    return svk.svk_stream_send(stream, byref(c_int64(value)), c_size_t(8))


def read():
    value, version = c_int64(-1), c_uint64(99)
    svk.svk_service_read(service, byref(value), c_size_t(8), None, byref(version))
    return value.value, version.value


def pulled():
    value, dropped = c_int64(), c_uint64()
    status = svk.svk_subscription_next_copy(pull, c_int64(0), byref(value), c_size_t(8), None, None, byref(dropped))
    return (value.value, dropped.value) if status == OK else status


_, counter = resolve(container, b"counter")
service = c_void_p(svk.svk_instance(counter))
point(read() == (0, 0), "service")
pull = c_void_p()
svk.svk_service_observe(service, byref(ObserverOptions(delivery=DELIVER_PULL, buffering=BUFFER_NEWEST, capacity=2)),
                        byref(pull))
for number in range(1, 6):
    send(number)
point([pulled(), pulled(), pulled()] == [(4, 3), (5, 0), TIMEOUT], "pull")
point(read() == (5, 5), "read")

seen, observer_freed, subscription = [], [], c_void_p()
svk.svk_dispatcher_create(byref(dispatcher))
on_state = OnState(lambda state, _: seen.append((value_at(state.contents.data), threading.get_ident())))
observer = ObserverOptions(delivery=DELIVER_DISPATCHER, dispatcher=dispatcher.value, on_state=on_state,
                           user_data_free=Free(observer_freed.append))
svk.svk_service_observe(service, byref(observer), byref(subscription))


async def loop():
    done = asyncio.Event()

    def ready():
        svk.svk_dispatcher_dispatch(dispatcher, c_size_t(0), c_int64(0), None)
        if len(seen) >= 3:
            done.set()

    running, fd = asyncio.get_running_loop(), svk.svk_dispatcher_fd(dispatcher)
    running.add_reader(fd, ready)
    sender = threading.Thread(target=lambda: [send(number) for number in (6, 7, 8)])
    sender.start()
    await asyncio.wait_for(done.wait(), 30)
    running.remove_reader(fd)
    sender.join()


asyncio.run(loop())
here = threading.get_ident()
point(seen == [(6, here), (7, here), (8, here)], "event loop")
point(svk.svk_subscription_cancel(subscription) == OK and len(observer_freed) == 1 and send(9) == OK and
      svk.svk_dispatcher_dispatch(dispatcher, c_size_t(0), c_int64(0), None) == TIMEOUT and len(seen) == 3, "cancel")
svk.svk_stream_finish(stream)
point([pulled(), pulled(), pulled()] == [(8, 2), (9, 0), CLOSED], "end")
total = c_uint64()
point(svk.svk_subscription_dropped(pull, byref(total)) == OK and total.value == 5, "drops")
ends = [svk.svk_subscription_cancel(pull)] + [svk.svk_release(handle) for handle in (counter, other, logger, again)]
ends += [svk.svk_container_destroy(container), svk.svk_stream_destroy(stream), svk.svk_dispatcher_destroy(dispatcher)]
point(ends == [OK] * 8 and resolve(container, b"logger")[0] == INVALID_HANDLE, "destroy")
point(made == 7 and len(ended) == 7 and not alive and len(freed) == 1 and
      ended.index("logger") > max(i for i, name in enumerate(ended) if name == "worker"), "nothing leaked")
