// The scenario in Java: JNA, with poll as the event loop.
import com.sun.jna.Callback;
import com.sun.jna.Library;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class Scenario {
  public interface Create extends Callback {
    int call(Pointer resolver, Pointer instance, Pointer userData);
  }

  public interface Destroy extends Callback {
    void call(Pointer instance, Pointer userData);
  }

  public interface Free extends Callback {
    void call(Pointer userData);
  }

  public interface OnState extends Callback {
    void call(Pointer state, Pointer userData);
  }

  @Structure.FieldOrder({"size", "flags", "create", "destroy", "userData", "userDataFree", "scope", "customScope",
      "timeToLive", "type", "requiredKeys"})
  public static class FactoryOptions extends Structure {
    public int size = size(), flags;
    public Create create;
    public Destroy destroy;
    public Pointer userData;
    public Free userDataFree;
    public int scope;
    public Pointer customScope;
    public long timeToLive;
    public Pointer type, requiredKeys;
  }

  @Structure.FieldOrder({"size", "flags", "api", "initial", "initialSize", "stream", "delivery", "dispatcher", "onState",
      "onFinish", "userData", "userDataFree"})
  public static class ServiceOptions extends Structure {
    public int size = size(), flags;
    public Pointer api, initial;
    public long initialSize;
    public Pointer stream;
    public int delivery;
    public Pointer dispatcher, onState, onFinish, userData, userDataFree;
  }

  @Structure.FieldOrder({"size", "flags", "delivery", "dispatcher", "buffering", "capacity", "onState", "onFinish",
      "userData", "userDataFree"})
  public static class ObserverOptions extends Structure {
    public int size = size(), flags, delivery;
    public Pointer dispatcher;
    public int buffering;
    public long capacity;
    public OnState onState;
    public Pointer onFinish, userData;
    public Free userDataFree;
  }

  @Structure.FieldOrder({"fd", "events", "revents"})
  public static class PollFd extends Structure {
    public int fd;
    public short events, revents;
  }

  public interface LibC extends Library {
    int poll(PollFd fds, long count, int timeout);
  }

  public interface ServiceKit extends Library {
    int svk_version();
    String svk_version_string();
    int svk_constant(String name, LongByReference value);
    String svk_status_name(int status);
    String svk_last_error();
    int svk_container_create(PointerByReference container);
    int svk_container_destroy(Pointer container);
    int svk_container_set_contexts(Pointer container, String contexts);
    int svk_register(Pointer container, String key, FactoryOptions options);
    int svk_register_for(Pointer container, String key, String context, FactoryOptions options);
    int svk_resolve(Pointer container, String key, PointerByReference handle);
    int svk_require(Pointer resolver, String key, PointerByReference instance);
    Pointer svk_instance(Pointer handle);
    int svk_release(Pointer handle);
    int svk_stream_create(Pointer options, PointerByReference stream);
    int svk_stream_send(Pointer stream, LongByReference data, long size);
    int svk_stream_finish(Pointer stream);
    int svk_stream_destroy(Pointer stream);
    int svk_service_create(ServiceOptions options, PointerByReference service);
    int svk_service_close(Pointer service);
    int svk_service_read(Pointer service, LongByReference buffer, long capacity, Pointer size, LongByReference version);
    int svk_service_observe(Pointer service, ObserverOptions options, PointerByReference subscription);
    int svk_subscription_cancel(Pointer subscription);
    int svk_subscription_next_copy(Pointer subscription, long timeout, LongByReference buffer, long capacity,
        Pointer size, Pointer version, LongByReference dropped);
    int svk_subscription_dropped(Pointer subscription, LongByReference total);
    int svk_dispatcher_create(PointerByReference dispatcher);
    int svk_dispatcher_destroy(Pointer dispatcher);
    int svk_dispatcher_fd(Pointer dispatcher);
    int svk_dispatcher_dispatch(Pointer dispatcher, long max, long timeout, Pointer count);
  }

  static class StatusException extends RuntimeException {
    final int status;

    StatusException(int status) {
      this.status = status;
    }
  }

  interface Build {
    Pointer from(Pointer resolver);
  }

  static ServiceKit svk;
  static int points, made, freed, observerFreed, errorBase;
  static final List<String> ended = new ArrayList<>(), thrown = new ArrayList<>();
  static final List<Pointer> required = new ArrayList<>();
  static final Map<Pointer, Memory> alive = new HashMap<>();
  static final List<Object> kept = new ArrayList<>(); // what the library may still call
  static Pointer container, stream, pull;

  static void point(boolean ok, String name) {
    System.out.println((ok ? "ok " : "not ok ") + ++points + " - " + name);
  }

  static int constant(String name) {
    LongByReference value = new LongByReference();
    return svk.svk_constant("SVK_" + name, value) == 0 ? (int) value.getValue() : -1;
  }

  static FactoryOptions factory(String name, int scope, Build build) {
    FactoryOptions options = new FactoryOptions();
    options.scope = scope;
    options.create = (resolver, instance, userData) -> {
      try {
        instance.setPointer(0, build.from(resolver));
        return 0;
      } catch (StatusException failure) {
        return failure.status;
      } catch (Throwable failure) {
        thrown.add(failure.getMessage());
        return errorBase + 8;
      }
    };
    options.destroy = (instance, userData) -> {
      ended.add(name);
      if (name.equals("counter")) {
        svk.svk_service_close(instance);
      } else {
        alive.remove(instance);
      }
    };
    kept.add(options);
    return options;
  }

  static Pointer instance(long value) {
    made++;
    Memory block = new Memory(8);
    block.setLong(0, value);
    Pointer address = new Pointer(Pointer.nativeValue(block));
    alive.put(address, block);
    return address;
  }

  static Pointer require(Pointer resolver, String key) {
    PointerByReference found = new PointerByReference();
    int status = svk.svk_require(resolver, key, found);
    if (status != 0) {
      throw new StatusException(status);
    }
    return found.getValue();
  }

  static void register(String key, int scope, Build build) {
    svk.svk_register(container, key, factory(key, scope, build));
  }

  static int resolve(String key, PointerByReference handle) {
    return svk.svk_resolve(container, key, handle);
  }

  static int resolve(String key) {
    return resolve(key, new PointerByReference());
  }

  static Pointer handle(String key) {
    PointerByReference handle = new PointerByReference();
    resolve(key, handle);
    return handle.getValue();
  }

  static int send(long value) {
    return svk.svk_stream_send(stream, new LongByReference(value), 8);
  }

  static boolean read(Pointer service, long value, long version) {
    LongByReference gotValue = new LongByReference(-1), gotVersion = new LongByReference(99);
    return svk.svk_service_read(service, gotValue, 8, null, gotVersion) == 0 && gotValue.getValue() == value
        && gotVersion.getValue() == version;
  }

  static String pulled() {
    LongByReference value = new LongByReference(), dropped = new LongByReference();
    int status = svk.svk_subscription_next_copy(pull, 0, value, 8, null, null, dropped);
    return status == 0 ? value.getValue() + "-" + dropped.getValue() : "status " + status;
  }

  public static void main(String[] arguments) throws Exception {
    svk = Native.load(arguments[0], ServiceKit.class, Map.of(Library.OPTION_STRING_ENCODING, "UTF-8"));
    System.out.println("1..24");
    int version = svk.svk_version();
    String words = (version >> 16) + "." + (version >> 8 & 255) + "." + (version & 255);
    point(version >> 16 == 1 && svk.svk_version_string().equals(words), "version");
    int invalidHandle = constant("INVALID_HANDLE"), notFound = constant("NOT_FOUND"), cycle = constant("CYCLE");
    int closed = constant("CLOSED"), timeout = constant("TIMEOUT"), unique = constant("SCOPE_UNIQUE");
    int cached = constant("SCOPE_CACHED"), byDispatcher = constant("DELIVER_DISPATCHER");
    int byPull = constant("DELIVER_PULL"), newest = constant("BUFFER_NEWEST");
    errorBase = constant("FACTORY_ERROR_BASE");
    boolean all = List.of(invalidHandle, notFound, cycle, closed, timeout, unique, byDispatcher, byPull, newest,
        errorBase).stream().allMatch(value -> value > 0);
    point(all && cached == 2, "constants");
    point(svk.svk_constant("SVK_NO_SUCH", new LongByReference()) == notFound, "unknown constant");
    point(svk.svk_status_name(cycle).equals("SVK_CYCLE"), "status name");

    PointerByReference out = new PointerByReference();
    svk.svk_container_create(out);
    container = out.getValue();
    svk.svk_stream_create(null, out);
    stream = out.getValue();
    FactoryOptions logging = factory("logger", cached, resolver -> instance(1));
    logging.userDataFree = userData -> freed++;
    svk.svk_register(container, "logger", logging);
    register("worker", unique, resolver -> {
      required.add(require(resolver, "logger"));
      return instance(2);
    });
    register("a", 0, resolver -> require(resolver, "b"));
    register("b", 0, resolver -> require(resolver, "a"));
    register("place", unique, resolver -> instance(10));
    svk.svk_register_for(container, "place", "preview", factory("place", unique, resolver -> instance(20)));
    svk.svk_register_for(container, "place", "test", factory("place", unique, resolver -> instance(30)));
    register("broken", 0, resolver -> {
      throw new StatusException(errorBase + 7);
    });
    register("throws", 0, resolver -> {
      throw new IllegalStateException("disk full");
    });
    register("counter", cached, resolver -> {
      made++;
      Memory initial = new Memory(8);
      initial.setLong(0, 0);
      ServiceOptions options = new ServiceOptions();
      options.initial = initial;
      options.initialSize = 8;
      options.stream = stream;
      PointerByReference service = new PointerByReference();
      int status = svk.svk_service_create(options, service);
      if (status != 0) {
        throw new StatusException(status);
      }
      return service.getValue();
    });

    Pointer logger = handle("logger"), again = handle("logger"), shared = svk.svk_instance(logger);
    point(shared != null && shared.equals(svk.svk_instance(again)) && shared.getLong(0) == 1, "cached");
    Pointer worker = handle("worker"), other = handle("worker");
    point(svk.svk_instance(worker) != null && !svk.svk_instance(worker).equals(svk.svk_instance(other)), "unique");
    point(required.equals(List.of(shared, shared)), "require");
    point(resolve("a") == cycle && svk.svk_last_error().contains("a → b → a"), "cycle");
    point(resolve("nobody") == notFound && svk.svk_last_error().contains("nobody"), "missing");
    long expected = 10;
    for (String context : new String[] {"live", "preview", "test"}) {
      svk.svk_container_set_contexts(container, context);
      int status = resolve("place", out);
      point(status == 0 && svk.svk_instance(out.getValue()).getLong(0) == expected, context);
      svk.svk_release(out.getValue());
      expected += 10;
    }
    point(resolve("broken") == errorBase + 7, "own status");
    point(resolve("throws") == errorBase + 8 && thrown.equals(List.of("disk full")), "exception");
    point(svk.svk_release(worker) == 0 && svk.svk_release(worker) == invalidHandle
        && svk.svk_instance(worker) == null, "stale handle");

    Pointer counter = handle("counter"), service = svk.svk_instance(counter);
    point(read(service, 0, 0), "service");
    ObserverOptions pulling = new ObserverOptions();
    pulling.delivery = byPull;
    pulling.buffering = newest;
    pulling.capacity = 2;
    svk.svk_service_observe(service, pulling, out);
    pull = out.getValue();
    for (long value = 1; value <= 5; value++) {
      send(value);
    }
    point(List.of(pulled(), pulled(), pulled()).equals(List.of("4-3", "5-0", "status " + timeout)), "pull");
    point(read(service, 5, 5), "read");

    List<Long> seen = new ArrayList<>();
    Thread here = Thread.currentThread();
    svk.svk_dispatcher_create(out);
    Pointer dispatcher = out.getValue();
    ObserverOptions observing = new ObserverOptions();
    observing.delivery = byDispatcher;
    observing.dispatcher = dispatcher;
    observing.onState = (state, userData) -> seen.add(
        Thread.currentThread() == here ? state.getPointer(8).getLong(0) : -1);
    observing.userDataFree = userData -> observerFreed++;
    kept.add(observing);
    svk.svk_service_observe(service, observing, out);
    Pointer subscription = out.getValue();
    Thread sender = new Thread(() -> {
      for (long value = 6; value <= 8; value++) {
        send(value);
      }
    });
    sender.start();
    LibC libc = Native.load("c", LibC.class);
    PollFd watched = new PollFd();
    watched.fd = svk.svk_dispatcher_fd(dispatcher);
    watched.events = 1;
    while (seen.size() < 3 && libc.poll(watched, 1, 30000) == 1) {
      svk.svk_dispatcher_dispatch(dispatcher, 0, 0, null);
    }
    sender.join();
    point(seen.equals(List.of(6L, 7L, 8L)), "event loop");
    point(svk.svk_subscription_cancel(subscription) == 0 && observerFreed == 1 && send(9) == 0
        && svk.svk_dispatcher_dispatch(dispatcher, 0, 0, null) == timeout && seen.size() == 3, "cancel");
    svk.svk_stream_finish(stream);
    point(List.of(pulled(), pulled(), pulled()).equals(List.of("8-2", "9-0", "status " + closed)), "end");
    LongByReference total = new LongByReference();
    point(svk.svk_subscription_dropped(pull, total) == 0 && total.getValue() == 5, "drops");
    int failures = svk.svk_subscription_cancel(pull);
    for (Pointer handle : List.of(counter, other, logger, again)) {
      failures += svk.svk_release(handle);
    }
    failures += svk.svk_container_destroy(container) + svk.svk_stream_destroy(stream)
        + svk.svk_dispatcher_destroy(dispatcher);
    point(failures == 0 && resolve("logger") == invalidHandle, "destroy");
    point(made == 7 && ended.size() == 7 && alive.isEmpty()
        && ended.lastIndexOf("worker") < ended.lastIndexOf("logger") && freed == 1, "nothing leaked");
  }
}
