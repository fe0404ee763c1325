// The scenario in C#: P/Invoke, with poll as the event loop. The loader finds the library by its name, so its directory
// has to be in LD_LIBRARY_PATH.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

[UnmanagedFunctionPointer(CallingConvention.Cdecl)]
delegate int Create(IntPtr resolver, IntPtr instance, IntPtr userData);
[UnmanagedFunctionPointer(CallingConvention.Cdecl)]
delegate void Destroy(IntPtr instance, IntPtr userData);
[UnmanagedFunctionPointer(CallingConvention.Cdecl)]
delegate void Free(IntPtr userData);
[UnmanagedFunctionPointer(CallingConvention.Cdecl)]
delegate void OnState(ref State state, IntPtr userData);

[StructLayout(LayoutKind.Sequential)]
struct State {
  public ulong Version;
  public IntPtr Data;
  public UIntPtr Size;
  public ulong Dropped;
}

[StructLayout(LayoutKind.Sequential)]
struct FactoryOptions {
  public uint Size, Flags;
  public Create Create;
  public Destroy Destroy;
  public IntPtr UserData;
  public Free UserDataFree;
  public int Scope;
  public IntPtr CustomScope;
  public ulong TimeToLive;
  public IntPtr Type, RequiredKeys;
}

[StructLayout(LayoutKind.Sequential)]
struct ServiceOptions {
  public uint Size, Flags;
  public IntPtr Api, Initial;
  public UIntPtr InitialSize;
  public IntPtr Stream;
  public int Delivery;
  public IntPtr Dispatcher, OnState, OnFinish, UserData, UserDataFree;
}

[StructLayout(LayoutKind.Sequential)]
struct ObserverOptions {
  public uint Size, Flags;
  public int Delivery;
  public IntPtr Dispatcher;
  public int Buffering;
  public UIntPtr Capacity;
  public OnState OnState;
  public IntPtr OnFinish, UserData;
  public Free UserDataFree;
}

[StructLayout(LayoutKind.Sequential)]
struct PollFd {
  public int Fd;
  public short Events, Revents;
}

static class Svk {
  const string Library = "libservicekit.so.1";
  [DllImport("libc.so.6")] public static extern int poll(ref PollFd fds, ulong count, int timeout);
  [DllImport(Library)] public static extern uint svk_version();
  [DllImport(Library)] public static extern IntPtr svk_version_string();
  [DllImport(Library)] public static extern int svk_constant(string name, out long value);
  [DllImport(Library)] public static extern IntPtr svk_status_name(int status);
  [DllImport(Library)] public static extern IntPtr svk_last_error();
  [DllImport(Library)] public static extern int svk_container_create(out IntPtr container);
  [DllImport(Library)] public static extern int svk_container_destroy(IntPtr container);
  [DllImport(Library)] public static extern int svk_container_set_contexts(IntPtr container, string contexts);
  [DllImport(Library)] public static extern int svk_register(IntPtr container, string key, ref FactoryOptions options);
  [DllImport(Library)]
  public static extern int svk_register_for(IntPtr container, string key, string context, ref FactoryOptions options);
  [DllImport(Library)] public static extern int svk_resolve(IntPtr container, string key, out IntPtr handle);
  [DllImport(Library)] public static extern int svk_require(IntPtr resolver, string key, out IntPtr instance);
  [DllImport(Library)] public static extern IntPtr svk_instance(IntPtr handle);
  [DllImport(Library)] public static extern int svk_release(IntPtr handle);
  [DllImport(Library)] public static extern int svk_stream_create(IntPtr options, out IntPtr stream);
  [DllImport(Library)] public static extern int svk_stream_send(IntPtr stream, ref long data, UIntPtr size);
  [DllImport(Library)] public static extern int svk_stream_finish(IntPtr stream);
  [DllImport(Library)] public static extern int svk_stream_destroy(IntPtr stream);
  [DllImport(Library)] public static extern int svk_service_create(ref ServiceOptions options, out IntPtr service);
  [DllImport(Library)] public static extern int svk_service_close(IntPtr service);
  [DllImport(Library)]
  public static extern int svk_service_read(IntPtr service, ref long buffer, UIntPtr capacity, IntPtr size,
    ref ulong version);
  [DllImport(Library)]
  public static extern int svk_service_observe(IntPtr service, ref ObserverOptions options, out IntPtr subscription);
  [DllImport(Library)] public static extern int svk_subscription_cancel(IntPtr subscription);
  [DllImport(Library)]
  public static extern int svk_subscription_next_copy(IntPtr subscription, long timeout, ref long buffer,
    UIntPtr capacity, IntPtr size, IntPtr version, out ulong dropped);
  [DllImport(Library)] public static extern int svk_subscription_dropped(IntPtr subscription, out ulong total);
  [DllImport(Library)] public static extern int svk_dispatcher_create(out IntPtr dispatcher);
  [DllImport(Library)] public static extern int svk_dispatcher_destroy(IntPtr dispatcher);
  [DllImport(Library)] public static extern int svk_dispatcher_fd(IntPtr dispatcher);
  [DllImport(Library)]
  public static extern int svk_dispatcher_dispatch(IntPtr dispatcher, UIntPtr max, long timeout, IntPtr count);
}

class StatusException : Exception {
  public readonly int Status;
  public StatusException(int status) { Status = status; }
}

static class Scenario {
  static int points, made, freed, observerFreed;
  static readonly List<string> ended = new List<string>(), thrown = new List<string>();
  static readonly List<IntPtr> required = new List<IntPtr>(), alive = new List<IntPtr>();
  static readonly List<object> kept = new List<object>(); // what the library may still call
  static IntPtr container, stream;
  static int errorBase;

  static void Point(bool ok, string name) {
    Console.WriteLine("{0} {1} - {2}", ok ? "ok" : "not ok", ++points, name);
  }
  static string Text(IntPtr text) {
    var bytes = new List<byte>();
    for (int i = 0; Marshal.ReadByte(text, i) != 0; i++) bytes.Add(Marshal.ReadByte(text, i));
    return Encoding.UTF8.GetString(bytes.ToArray());
  }
  static int Constant(string name) {
    long value;
    return Svk.svk_constant("SVK_" + name, out value) == 0 ? (int)value : -1;
  }

  static FactoryOptions Factory(string name, int scope, Func<IntPtr, IntPtr> build, Action<IntPtr> destroy = null,
    Free free = null) {
    Create create = (resolver, instance, userData) => {
      try {
        Marshal.WriteIntPtr(instance, build(resolver));
        return 0;
      } catch (StatusException failure) {
        return failure.Status;
      } catch (Exception failure) {
        thrown.Add(failure.Message);
        return errorBase + 8;
      }
    };
    Destroy end = (instance, userData) => {
      ended.Add(name);
      if (destroy != null) {
        destroy(instance);
      } else {
        alive.Remove(instance);
        Marshal.FreeHGlobal(instance);
      }
    };
    kept.Add(create);
    kept.Add(end);
    kept.Add(free);
    return new FactoryOptions {
      Size = (uint)Marshal.SizeOf(typeof(FactoryOptions)), Create = create, Destroy = end, Scope = scope,
      UserDataFree = free
    };
  }
  static IntPtr Instance(long value) {
    made++;
    var block = Marshal.AllocHGlobal(8);
    Marshal.WriteInt64(block, value);
    alive.Add(block);
    return block;
  }
  static IntPtr Require(IntPtr resolver, string key) {
    IntPtr instance;
    int status = Svk.svk_require(resolver, key, out instance);
    if (status != 0) throw new StatusException(status);
    return instance;
  }
  static void Register(string key, FactoryOptions options) { Svk.svk_register(container, key, ref options); }
  static int Resolve(string key, out IntPtr handle) { return Svk.svk_resolve(container, key, out handle); }
  static int Resolve(string key) {
    IntPtr handle;
    return Resolve(key, out handle);
  }
  static IntPtr Handle(string key) {
    IntPtr handle;
    Resolve(key, out handle);
    return handle;
  }
  static int Send(long value) { return Svk.svk_stream_send(stream, ref value, (UIntPtr)8); }

  static void Main() {
    Console.WriteLine("1..24");
    uint version = Svk.svk_version();
    string words = (version >> 16) + "." + (version >> 8 & 255) + "." + (version & 255);
    Point(version >> 16 == 1 && Text(Svk.svk_version_string()) == words, "version");
    int invalidHandle = Constant("INVALID_HANDLE"), notFound = Constant("NOT_FOUND"), cycle = Constant("CYCLE");
    int closed = Constant("CLOSED"), timeout = Constant("TIMEOUT"), unique = Constant("SCOPE_UNIQUE");
    int cached = Constant("SCOPE_CACHED"), byDispatcher = Constant("DELIVER_DISPATCHER");
    int byPull = Constant("DELIVER_PULL"), newest = Constant("BUFFER_NEWEST");
    errorBase = Constant("FACTORY_ERROR_BASE");
    int[] all = { invalidHandle, notFound, cycle, closed, timeout, unique, byDispatcher, byPull, newest, errorBase };
    Point(all.All(value => value > 0) && cached == 2, "constants");
    long unknown;
    Point(Svk.svk_constant("SVK_NO_SUCH", out unknown) == notFound, "unknown constant");
    Point(Text(Svk.svk_status_name(cycle)) == "SVK_CYCLE", "status name");

    Svk.svk_container_create(out container);
    Svk.svk_stream_create(IntPtr.Zero, out stream);
    Register("logger", Factory("logger", cached, resolver => Instance(1), null, userData => freed++));
    Register("worker", Factory("worker", unique, resolver => {
      required.Add(Require(resolver, "logger"));
      return Instance(2);
    }));
    Register("a", Factory("a", 0, resolver => Require(resolver, "b")));
    Register("b", Factory("b", 0, resolver => Require(resolver, "a")));
    Register("place", Factory("place", unique, resolver => Instance(10)));
    var preview = Factory("place", unique, resolver => Instance(20));
    Svk.svk_register_for(container, "place", "preview", ref preview);
    var test = Factory("place", unique, resolver => Instance(30));
    Svk.svk_register_for(container, "place", "test", ref test);
    Register("broken", Factory("broken", 0, resolver => { throw new StatusException(errorBase + 7); }));
    Register("throws", Factory("throws", 0, resolver => { throw new Exception("disk full"); }));
    Register("counter", Factory("counter", cached, resolver => {
      made++;
      var initial = Marshal.AllocHGlobal(8);
      Marshal.WriteInt64(initial, 0);
      var options = new ServiceOptions {
        Size = (uint)Marshal.SizeOf(typeof(ServiceOptions)), Initial = initial, InitialSize = (UIntPtr)8, Stream = stream
      };
      IntPtr made_service;
      int status = Svk.svk_service_create(ref options, out made_service);
      Marshal.FreeHGlobal(initial);
      if (status != 0) throw new StatusException(status);
      return made_service;
    }, instance => Svk.svk_service_close(instance)));

    IntPtr logger = Handle("logger"), again = Handle("logger"), shared = Svk.svk_instance(logger);
    Point(shared != IntPtr.Zero && shared == Svk.svk_instance(again) && Marshal.ReadInt64(shared) == 1, "cached");
    IntPtr worker = Handle("worker"), other = Handle("worker");
    Point(Svk.svk_instance(worker) != IntPtr.Zero && Svk.svk_instance(worker) != Svk.svk_instance(other), "unique");
    Point(required.SequenceEqual(new[] { shared, shared }), "require");
    Point(Resolve("a") == cycle && Text(Svk.svk_last_error()).Contains("a → b → a"), "cycle");
    Point(Resolve("nobody") == notFound && Text(Svk.svk_last_error()).Contains("nobody"), "missing");
    long expected = 10;
    foreach (string context in new[] { "live", "preview", "test" }) {
      Svk.svk_container_set_contexts(container, context);
      IntPtr place;
      Point(Resolve("place", out place) == 0 && Marshal.ReadInt64(Svk.svk_instance(place)) == expected, context);
      Svk.svk_release(place);
      expected += 10;
    }
    Point(Resolve("broken") == errorBase + 7, "own status");
    Point(Resolve("throws") == errorBase + 8 && thrown.SequenceEqual(new[] { "disk full" }), "exception");
    Point(Svk.svk_release(worker) == 0 && Svk.svk_release(worker) == invalidHandle &&
      Svk.svk_instance(worker) == IntPtr.Zero, "stale handle");

    IntPtr counter = Handle("counter"), service = Svk.svk_instance(counter);
    Func<long, ulong, bool> read = (value, at) => {
      long got = -1;
      ulong gotAt = 99;
      return Svk.svk_service_read(service, ref got, (UIntPtr)8, IntPtr.Zero, ref gotAt) == 0 && got == value && gotAt == at;
    };
    Point(read(0, 0), "service");
    var pulling = new ObserverOptions {
      Size = (uint)Marshal.SizeOf(typeof(ObserverOptions)), Delivery = byPull, Buffering = newest, Capacity = (UIntPtr)2
    };
    IntPtr pull, subscription, dispatcher;
    Svk.svk_service_observe(service, ref pulling, out pull);
    int last = 0;
    Func<long, ulong, bool> pulled = (value, drops) => {
      long got = 0;
      ulong dropped;
      last = Svk.svk_subscription_next_copy(pull, 0, ref got, (UIntPtr)8, IntPtr.Zero, IntPtr.Zero, out dropped);
      return last == 0 && got == value && dropped == drops;
    };
    for (long value = 1; value <= 5; value++) Send(value);
    Point(pulled(4, 3) && pulled(5, 0) && !pulled(0, 0) && last == timeout, "pull");
    Point(read(5, 5), "read");

    var seen = new List<long>();
    int here = Thread.CurrentThread.ManagedThreadId;
    Svk.svk_dispatcher_create(out dispatcher);
    var observing = new ObserverOptions {
      Size = pulling.Size, Delivery = byDispatcher, Dispatcher = dispatcher,
      OnState = (ref State state, IntPtr userData) =>
        seen.Add(Thread.CurrentThread.ManagedThreadId == here ? Marshal.ReadInt64(state.Data) : -1),
      UserDataFree = userData => observerFreed++
    };
    kept.Add(observing);
    Svk.svk_service_observe(service, ref observing, out subscription);
    var sender = new Thread(() => {
      for (long value = 6; value <= 8; value++) Send(value);
    });
    sender.Start();
    var watched = new PollFd { Fd = Svk.svk_dispatcher_fd(dispatcher), Events = 1 };
    while (seen.Count < 3 && Svk.poll(ref watched, 1, 30000) == 1)
      Svk.svk_dispatcher_dispatch(dispatcher, UIntPtr.Zero, 0, IntPtr.Zero);
    sender.Join();
    Point(seen.SequenceEqual(new long[] { 6, 7, 8 }), "event loop");
    Point(Svk.svk_subscription_cancel(subscription) == 0 && observerFreed == 1 && Send(9) == 0 &&
      Svk.svk_dispatcher_dispatch(dispatcher, UIntPtr.Zero, 0, IntPtr.Zero) == timeout && seen.Count == 3, "cancel");
    Svk.svk_stream_finish(stream);
    Point(pulled(8, 2) && pulled(9, 0) && !pulled(0, 0) && last == closed, "end");
    ulong total;
    Point(Svk.svk_subscription_dropped(pull, out total) == 0 && total == 5, "drops");
    var ends = new List<int> { Svk.svk_subscription_cancel(pull) };
    foreach (var handle in new[] { counter, other, logger, again }) ends.Add(Svk.svk_release(handle));
    ends.Add(Svk.svk_container_destroy(container));
    ends.Add(Svk.svk_stream_destroy(stream));
    ends.Add(Svk.svk_dispatcher_destroy(dispatcher));
    Point(ends.SequenceEqual(new int[8]) && Resolve("logger") == invalidHandle, "destroy");
    Point(made == 7 && ended.Count == 7 && alive.Count == 0 &&
      ended.LastIndexOf("worker") < ended.LastIndexOf("logger") && freed == 1, "nothing leaked");
    GC.KeepAlive(kept);
  }
}
