// The scenario in Rust: the standard library and dlopen, with poll as the event loop.
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex};

type Pointer = *mut c_void;
type Create = extern "C" fn(Pointer, *mut Pointer, Pointer) -> i32;
type Destroy = extern "C" fn(Pointer, Pointer);
type Free = extern "C" fn(Pointer);
type OnState = extern "C" fn(*const State, Pointer);

#[repr(C)]
struct State {
    version: u64,
    data: *const i64,
    size: usize,
    dropped: u64,
}

#[repr(C)]
struct FactoryOptions {
    size: u32,
    flags: u32,
    create: Option<Create>,
    destroy: Option<Destroy>,
    user_data: Pointer,
    user_data_free: Option<Free>,
    scope: i32,
    custom_scope: Pointer,
    time_to_live_ns: u64,
    type_: *const c_char,
    required_keys: *const *const c_char,
}

#[repr(C)]
struct ServiceOptions {
    size: u32,
    flags: u32,
    api: Pointer,
    initial: *const i64,
    initial_size: usize,
    stream: Pointer,
    delivery: i32,
    dispatcher: Pointer,
    on_state: Option<OnState>,
    on_finish: Option<Free>,
    user_data: Pointer,
    user_data_free: Option<Free>,
}

#[repr(C)]
struct ObserverOptions {
    size: u32,
    flags: u32,
    delivery: i32,
    dispatcher: Pointer,
    buffering: i32,
    capacity: usize,
    on_state: Option<OnState>,
    on_finish: Option<Free>,
    user_data: Pointer,
    user_data_free: Option<Free>,
}

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: i16,
    revents: i16,
}

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> Pointer;
    fn dlsym(library: Pointer, name: *const c_char) -> Pointer;
    fn poll(fds: *mut PollFd, count: u64, timeout_ms: c_int) -> c_int;
}

macro_rules! library {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        #[derive(Clone, Copy)]
        struct Library { $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)* }
        impl Library {
            fn open(path: &str) -> Library {
                let path = CString::new(path).unwrap();
                unsafe {
                    let library = dlopen(path.as_ptr(), 2);
                    assert!(!library.is_null(), "cannot open {:?}", path);
                    Library { $($name: {
                        let symbol = dlsym(library, concat!(stringify!($name), "\0").as_ptr() as *const c_char);
                        assert!(!symbol.is_null(), stringify!($name));
                        std::mem::transmute::<Pointer, unsafe extern "C" fn($($argument),*) $(-> $result)?>(symbol)
                    },)* }
                }
            }
        }
    };
}

library! {
    svk_version: fn() -> u32;
    svk_version_string: fn() -> *const c_char;
    svk_constant: fn(*const c_char, *mut i64) -> i32;
    svk_status_name: fn(i32) -> *const c_char;
    svk_last_error: fn() -> *const c_char;
    svk_container_create: fn(*mut Pointer) -> i32;
    svk_container_destroy: fn(Pointer) -> i32;
    svk_container_set_contexts: fn(Pointer, *const c_char) -> i32;
    svk_register: fn(Pointer, *const c_char, *const FactoryOptions) -> i32;
    svk_register_for: fn(Pointer, *const c_char, *const c_char, *const FactoryOptions) -> i32;
    svk_resolve: fn(Pointer, *const c_char, *mut Pointer) -> i32;
    svk_require: fn(Pointer, *const c_char, *mut Pointer) -> i32;
    svk_instance: fn(Pointer) -> Pointer;
    svk_release: fn(Pointer) -> i32;
    svk_stream_create: fn(Pointer, *mut Pointer) -> i32;
    svk_stream_send: fn(Pointer, *const i64, usize) -> i32;
    svk_stream_finish: fn(Pointer) -> i32;
    svk_stream_destroy: fn(Pointer) -> i32;
    svk_service_create: fn(*const ServiceOptions, *mut Pointer) -> i32;
    svk_service_close: fn(Pointer) -> i32;
    svk_service_read: fn(Pointer, *mut i64, usize, *mut usize, *mut u64) -> i32;
    svk_service_observe: fn(Pointer, *const ObserverOptions, *mut Pointer) -> i32;
    svk_subscription_cancel: fn(Pointer) -> i32;
    svk_subscription_next_copy: fn(Pointer, i64, *mut i64, usize, *mut usize, *mut u64, *mut u64) -> i32;
    svk_subscription_dropped: fn(Pointer, *mut u64) -> i32;
    svk_dispatcher_create: fn(*mut Pointer) -> i32;
    svk_dispatcher_destroy: fn(Pointer) -> i32;
    svk_dispatcher_fd: fn(Pointer) -> i32;
    svk_dispatcher_dispatch: fn(Pointer, usize, i64, *mut usize) -> i32;
}

#[derive(Default)]
struct Counts {
    made: usize,
    ended: Vec<&'static str>,
    required: Vec<usize>,
    thrown: Vec<String>,
    freed: usize,
}

/// What a factory's `user_data` points to. It lives until `user_data_free`.
struct Factory {
    svk: Library,
    counts: Arc<Mutex<Counts>>,
    name: &'static str,
    error_base: i32,
    build: Box<dyn Fn(&Factory, Pointer) -> Result<Pointer, i32>>,
}

impl Factory {
    fn instance(&self, value: i64) -> Result<Pointer, i32> {
        self.counts.lock().unwrap().made += 1;
        Ok(Box::into_raw(Box::new(value)) as Pointer)
    }
    fn require(&self, resolver: Pointer, key: &CStr) -> Result<Pointer, i32> {
        let mut instance = null_mut();
        match unsafe { (self.svk.svk_require)(resolver, key.as_ptr(), &mut instance) } {
            0 => Ok(instance),
            status => Err(status),
        }
    }
}

extern "C" fn create(resolver: Pointer, instance: *mut Pointer, user_data: Pointer) -> i32 {
    let factory = unsafe { &*(user_data as *const Factory) };
    match catch_unwind(AssertUnwindSafe(|| (factory.build)(factory, resolver))) {
        Ok(Ok(built)) => unsafe {
            *instance = built;
            0
        },
        Ok(Err(status)) => status,
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().unwrap_or(&"?").to_string();
            factory.counts.lock().unwrap().thrown.push(text);
            factory.error_base + 8
        }
    }
}

extern "C" fn destroy(instance: Pointer, user_data: Pointer) {
    let factory = unsafe { &*(user_data as *const Factory) };
    factory.counts.lock().unwrap().ended.push(factory.name);
    if factory.name == "counter" {
        unsafe { (factory.svk.svk_service_close)(instance) };
    } else {
        drop(unsafe { Box::from_raw(instance as *mut i64) });
    }
}

extern "C" fn free_factory(user_data: Pointer) {
    let factory = unsafe { Box::from_raw(user_data as *mut Factory) };
    if factory.name == "logger" {
        factory.counts.lock().unwrap().freed += 1;
    }
}

#[derive(Default)]
struct Observer {
    seen: Vec<(i64, Option<std::thread::ThreadId>)>,
    freed: usize,
}

extern "C" fn on_state(state: *const State, user_data: Pointer) {
    let observer = unsafe { &*(user_data as *const Mutex<Observer>) };
    let value = unsafe { *(*state).data };
    observer.lock().unwrap().seen.push((value, Some(std::thread::current().id())));
}

extern "C" fn free_observer(user_data: Pointer) {
    unsafe { &*(user_data as *const Mutex<Observer>) }.lock().unwrap().freed += 1;
}

fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

fn main() {
    let svk = Library::open(&std::env::args().nth(1).expect("the library's path"));
    std::panic::set_hook(Box::new(|_| {}));
    let mut points = 0;
    let mut point = |ok: bool, name: &str| {
        points += 1;
        println!("{} {} - {}", if ok { "ok" } else { "not ok" }, points, name);
    };
    println!("1..24");
    unsafe {
        let version = (svk.svk_version)();
        let words = format!("{}.{}.{}", version >> 16, version >> 8 & 255, version & 255);
        point(version >> 16 == 1 && text((svk.svk_version_string)()) == words, "version");
        let constant = |name: &str| {
            let mut value = -1;
            (svk.svk_constant)(c(name).as_ptr(), &mut value);
            value as i32
        };
        let (invalid_handle, not_found, cycle) =
            (constant("SVK_INVALID_HANDLE"), constant("SVK_NOT_FOUND"), constant("SVK_CYCLE"));
        let (closed, timeout) = (constant("SVK_CLOSED"), constant("SVK_TIMEOUT"));
        let (error_base, unique, cached) =
            (constant("SVK_FACTORY_ERROR_BASE"), constant("SVK_SCOPE_UNIQUE"), constant("SVK_SCOPE_CACHED"));
        let (by_dispatcher, by_pull) = (constant("SVK_DELIVER_DISPATCHER"), constant("SVK_DELIVER_PULL"));
        let newest = constant("SVK_BUFFER_NEWEST");
        let all = [invalid_handle, not_found, cycle, closed, timeout, error_base, unique, by_dispatcher, by_pull, newest];
        point(all.iter().all(|value| *value > 0) && cached == 2, "constants");
        let mut unknown = 0;
        point((svk.svk_constant)(c("SVK_NO_SUCH").as_ptr(), &mut unknown) == not_found, "unknown constant");
        point(text((svk.svk_status_name)(cycle)) == "SVK_CYCLE", "status name");

        let counts = Arc::new(Mutex::new(Counts::default()));
        let (mut container, mut stream) = (null_mut(), null_mut());
        (svk.svk_container_create)(&mut container);
        (svk.svk_stream_create)(null_mut(), &mut stream);
        let options = |name, scope, build: Box<dyn Fn(&Factory, Pointer) -> Result<Pointer, i32>>| FactoryOptions {
            size: std::mem::size_of::<FactoryOptions>() as u32,
            flags: 0,
            create: Some(create),
            destroy: Some(destroy),
            user_data: Box::into_raw(Box::new(Factory { svk, counts: counts.clone(), name, error_base, build })) as Pointer,
            user_data_free: Some(free_factory),
            scope,
            custom_scope: null_mut(),
            time_to_live_ns: 0,
            type_: null(),
            required_keys: null(),
        };
        let register = |name: &'static str, scope, build: Box<dyn Fn(&Factory, Pointer) -> Result<Pointer, i32>>| {
            assert_eq!((svk.svk_register)(container, c(name).as_ptr(), &options(name, scope, build)), 0);
        };
        register("logger", cached, Box::new(|factory, _| factory.instance(1)));
        register("worker", unique, Box::new(|factory, resolver| {
            let logger = factory.require(resolver, &c("logger"))?;
            factory.counts.lock().unwrap().required.push(logger as usize);
            factory.instance(2)
        }));
        register("a", 0, Box::new(|factory, resolver| factory.require(resolver, &c("b"))));
        register("b", 0, Box::new(|factory, resolver| factory.require(resolver, &c("a"))));
        register("place", unique, Box::new(|factory, _| factory.instance(10)));
        for (context, value) in [("preview", 20), ("test", 30)] {
            let place = options("place", unique, Box::new(move |factory, _| factory.instance(value)));
            (svk.svk_register_for)(container, c("place").as_ptr(), c(context).as_ptr(), &place);
        }
        register("broken", 0, Box::new(|factory, _| Err(factory.error_base + 7)));
        register("throws", 0, Box::new(|_, _| panic!("disk full")));
        let publisher = stream as usize;
        register("counter", cached, Box::new(move |factory, _| {
            factory.counts.lock().unwrap().made += 1;
            let (initial, mut service) = (0i64, null_mut());
            let mut options: ServiceOptions = std::mem::zeroed();
            options.size = std::mem::size_of::<ServiceOptions>() as u32;
            options.initial = &initial;
            options.initial_size = 8;
            options.stream = publisher as Pointer;
            match (factory.svk.svk_service_create)(&options, &mut service) {
                0 => Ok(service),
                status => Err(status),
            }
        }));

        let resolve = |key: &str| {
            let mut handle = null_mut();
            let status = (svk.svk_resolve)(container, c(key).as_ptr(), &mut handle);
            (status, handle)
        };
        let instance = |handle| (svk.svk_instance)(handle) as *const i64;
        let (logger, again) = (resolve("logger").1, resolve("logger").1);
        let shared = instance(logger);
        point(!shared.is_null() && shared == instance(again) && *shared == 1, "cached");
        let (worker, other) = (resolve("worker").1, resolve("worker").1);
        point(!instance(worker).is_null() && instance(worker) != instance(other), "unique");
        point(counts.lock().unwrap().required == [shared as usize, shared as usize], "require");
        point(resolve("a").0 == cycle && text((svk.svk_last_error)()).contains("a → b → a"), "cycle");
        point(resolve("nobody").0 == not_found && text((svk.svk_last_error)()).contains("nobody"), "missing");
        for (context, value) in [("live", 10), ("preview", 20), ("test", 30)] {
            (svk.svk_container_set_contexts)(container, c(context).as_ptr());
            let (status, place) = resolve("place");
            point(status == 0 && *instance(place) == value, context);
            (svk.svk_release)(place);
        }
        point(resolve("broken").0 == error_base + 7, "own status");
        point(resolve("throws").0 == error_base + 8 && counts.lock().unwrap().thrown == ["disk full"], "exception");
        point((svk.svk_release)(worker) == 0 && (svk.svk_release)(worker) == invalid_handle && instance(worker).is_null(),
              "stale handle");

        let counter = resolve("counter").1;
        let service = (svk.svk_instance)(counter);
        let read = || {
            let (mut value, mut version) = (-1, 99);
            (svk.svk_service_read)(service, &mut value, 8, null_mut(), &mut version);
            (value, version)
        };
        point(read() == (0, 0), "service");
        let mut observing: ObserverOptions = std::mem::zeroed();
        observing.size = std::mem::size_of::<ObserverOptions>() as u32;
        observing.delivery = by_pull;
        observing.buffering = newest;
        observing.capacity = 2;
        let mut pull = null_mut();
        (svk.svk_service_observe)(service, &observing, &mut pull);
        let send = |value: i64| (svk.svk_stream_send)(stream, &value, 8);
        let pulled = || {
            let (mut value, mut dropped) = (0, 0);
            match (svk.svk_subscription_next_copy)(pull, 0, &mut value, 8, null_mut(), null_mut(), &mut dropped) {
                0 => Ok((value, dropped)),
                status => Err(status),
            }
        };
        (1..=5).for_each(|value| { send(value); });
        point([pulled(), pulled(), pulled()] == [Ok((4, 3)), Ok((5, 0)), Err(timeout)], "pull");
        point(read() == (5, 5), "read");

        let observer = Mutex::new(Observer::default());
        let (mut dispatcher, mut subscription) = (null_mut(), null_mut());
        (svk.svk_dispatcher_create)(&mut dispatcher);
        observing = std::mem::zeroed();
        observing.size = std::mem::size_of::<ObserverOptions>() as u32;
        observing.delivery = by_dispatcher;
        observing.dispatcher = dispatcher;
        observing.on_state = Some(on_state);
        observing.user_data = &observer as *const Mutex<Observer> as Pointer;
        observing.user_data_free = Some(free_observer);
        (svk.svk_service_observe)(service, &observing, &mut subscription);
        let sender = std::thread::spawn(move || {
            for value in 6i64..=8 {
                (svk.svk_stream_send)(publisher as Pointer, &value, 8);
            }
        });
        let mut watched = PollFd { fd: (svk.svk_dispatcher_fd)(dispatcher), events: 1, revents: 0 };
        while observer.lock().unwrap().seen.len() < 3 && poll(&mut watched, 1, 30000) == 1 {
            (svk.svk_dispatcher_dispatch)(dispatcher, 0, 0, null_mut());
        }
        sender.join().unwrap();
        let here = Some(std::thread::current().id());
        point(observer.lock().unwrap().seen == [(6, here), (7, here), (8, here)], "event loop");
        point((svk.svk_subscription_cancel)(subscription) == 0 && observer.lock().unwrap().freed == 1 && send(9) == 0
                  && (svk.svk_dispatcher_dispatch)(dispatcher, 0, 0, null_mut()) == timeout
                  && observer.lock().unwrap().seen.len() == 3,
              "cancel");
        (svk.svk_stream_finish)(stream);
        point([pulled(), pulled(), pulled()] == [Ok((8, 2)), Ok((9, 0)), Err(closed)], "end");
        let mut total = 0;
        point((svk.svk_subscription_dropped)(pull, &mut total) == 0 && total == 5, "drops");
        let mut ends = vec![(svk.svk_subscription_cancel)(pull)];
        ends.extend([counter, other, logger, again].iter().map(|handle| (svk.svk_release)(*handle)));
        ends.extend([(svk.svk_container_destroy)(container), (svk.svk_stream_destroy)(stream)]);
        ends.push((svk.svk_dispatcher_destroy)(dispatcher));
        point(ends == [0; 8] && resolve("logger").0 == invalid_handle, "destroy");
        let counts = counts.lock().unwrap();
        let last = |name| counts.ended.iter().rposition(|ended| *ended == name);
        point(counts.made == 7 && counts.ended.len() == 7 && last("worker") < last("logger") && counts.freed == 1,
              "nothing leaked");
    }
}
