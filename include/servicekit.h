/**
 * @file servicekit.h
 * The C interface of ServiceKit: a dependency-injection container, and services with a state that can be
 * observed. One library, libservicekit.so.1, which needs libc and nothing else.
 *
 * READ THIS FIRST. What follows holds for every function below and is not repeated there.
 *
 * ## A first program
 *
 *     svk_container *container;
 *     svk_handle *handle;
 *     svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
 *     options.create = create_logger;    // svk_status create_logger(svk_resolver *, void **, void *)
 *     options.destroy = destroy_logger;  // void destroy_logger(void *instance, void *)
 *     options.scope = SVK_SCOPE_CACHED;
 *     svk_container_create(&container);
 *     svk_register(container, "logger", &options);
 *     if (svk_resolve(container, "logger", &handle) == SVK_OK) {
 *       log_line(svk_instance(handle), "hello");
 *       svk_release(handle);
 *     } else {
 *       fprintf(stderr, "%s\n", svk_last_error());
 *     }
 *     svk_container_destroy(container);
 *
 * ## Tokens
 *
 * Every `svk_... *` is a token, never an address: do not dereference it, do not compute with it. The
 * pointer types exist so that the compiler keeps the kinds apart; at run time the library checks every
 * token. NULL, a token of something that has ended, an invented one, one of another kind and one that was
 * released already are all recognised and answered SVK_INVALID_HANDLE (functions that return something
 * else than a status answer NULL or -1). No sequence of calls with bad tokens crashes or touches freed
 * memory, also when another thread is destroying the same thing at that moment. Tokens may be stored,
 * copied and passed between threads freely. Tokens of one process mean nothing in another, except in a
 * forked child (see "fork").
 *
 * Instances are the opposite: they are your own pointers, which the library keeps and hands back without
 * looking at what they point to.
 *
 * ## Ownership
 *
 * - A token that a function writes to an out-parameter is yours. Give it back once with the function that
 *   ends it: svk_container_destroy, svk_release, svk_scope_destroy, svk_stream_destroy, svk_service_close,
 *   svk_snapshot_release, svk_subscription_cancel (or svk_subscription_cancel_nowait),
 *   svk_dispatcher_destroy. Interned keys (svk_key) are never freed. A resolver (svk_resolver) and the
 *   tokens given to a callback are borrowed.
 * - The function that ends a token ends it whether it answers SVK_OK or SVK_DEFERRED.
 * - An instance that a factory returned with SVK_OK belongs to the library until it calls that factory's
 *   `destroy`. A handle (svk_handle) is a lease: while you hold it, the instance lives. A failed factory
 *   keeps whatever it put in `*instance`: `destroy` is not called for it.
 * - The library copies every string, key, type, context name, parameter and state that you pass, and the
 *   options structs themselves. You may free them when the call has returned. The two exceptions are named
 *   where they occur: svk_stream_send_owned takes the block over, and svk_service_options.api is kept as a
 *   pointer.
 * - `user_data` stays yours until the library calls the matching `user_data_free`, exactly once, after the
 *   last callback that uses it. Where svk_register, svk_register_for, svk_decorate, svk_stream_create,
 *   svk_service_create, svk_service_observe, svk_set_log or svk_container_set_trace fails,
 *   `user_data_free` is not called: nothing was kept, `user_data` is still yours. A NULL `user_data_free`
 *   means that there is nothing to free.
 * - Strings that the library returns belong to the library. svk_version_string and svk_status_name give
 *   constants that live for ever; for svk_last_error see there.
 *
 * ## Threads
 *
 * Every function may be called from every thread and from inside every callback, at any time. The only
 * exception is what takes a svk_resolver: that token is valid only on the thread of its factory, while the
 * factory runs. The library starts no thread unless you ask for SVK_DELIVER_BACKGROUND, and then one. On
 * which thread the callbacks of a service or an observer run is your choice (see "Stateful services"):
 * with dispatcher delivery only on a thread of yours that asks for them, with pull delivery none at all.
 * No callback comes from a foreign thread that you did not ask for. Factories and their `destroy` run on
 * whichever thread resolves, or gives up the last lease. A handle may be released on another thread than
 * the one that resolved it, and a thread may end while it holds handles.
 *
 * The last line of each function's comment is a fixed tag, such as [any thread · may wait · calls back]:
 *
 * - `any thread`: may be called from every thread. `factory's thread only`: see above.
 * - `may wait`: can block until another thread has done something (finished building the same instance,
 *   left a callback, made room in a buffer, sent a state) or until a timeout. `never waits`: does not
 *   block on anything that your code, on any thread, has to do first. A callback that it runs may of
 *   course block by itself.
 * - `calls back`: may run callbacks of yours (factories, `destroy`, decorators, state, finish, log, trace
 *   and free functions) on the calling thread before it returns. `no callbacks`: runs none of these. Log
 *   messages do not count: the log function (svk_set_log) may be called from within every function that
 *   can fail.
 * - `signal-safe`: may be called in a signal handler.
 *
 * ## Callbacks
 *
 * - The library holds no lock while it runs a callback. A callback may call every function of this header,
 *   on every token, also on the one that it is being called for.
 * - A callback must return normally: no longjmp, no C++ exception, no thread cancellation or thread exit
 *   out of it. The C++ face (servicekit.hpp) catches exceptions and translates them.
 * - Every callback takes `void *user_data` last.
 * - Pointers that a callback is given (keys, states, events, messages) are valid until it returns, unless
 *   its type says otherwise.
 * - A factory has succeeded only with SVK_OK and a non-NULL instance. Everything else that it returns,
 *   garbage included, is a failure, and nothing is cached.
 *
 * ## Errors
 *
 * A function that can fail returns a svk_status; SVK_OK is 0. Results are written through the trailing
 * out-parameters. On failure these are set to NULL or 0; the comment of a function says where it differs.
 * Out-parameters for tokens, instances, states and data pointers are required: NULL for one of them is
 * SVK_INVALID_ARGUMENT. Those for sizes, versions and counts may be NULL.
 *
 * svk_status_name(status) gives the constant's name. svk_last_error() gives the last failure on this
 * thread in words: what failed, for which key, and what to do about it. It stays through later successes,
 * so ask only after a failure. It belongs to the operating system's thread: users of green threads, fibers
 * or goroutines must pin theirs to its OS thread around the call and the question (in Go:
 * runtime.LockOSThread).
 *
 * SVK_DEFERRED is not a failure: the request was accepted, and completes when a callback that is running
 * now has returned.
 *
 * A failed memory allocation ends the process. The library promises nothing else about it: no status
 * reports it.
 *
 * ## The end of things
 *
 * - Teardown is always dependents first: what a factory required with svk_require is leased to the
 *   instance that it built, and is released after that instance has been destroyed. A factory never counts
 *   references.
 * - svk_container_destroy closes the container to new work, lets factories in progress end, destroys the
 *   instances, dependents first, and logs each handle still held, by key. Held handles stay usable until
 *   they are released; everything else on that container answers SVK_INVALID_HANDLE. From inside one of
 *   its own factories or destructors it takes effect when that returns, and answers SVK_DEFERRED.
 * - A child container outlives its parent with its own registrations; look-ups in the dead parent give
 *   SVK_NOT_FOUND. The shared container cannot be destroyed. Singletons live, with their registration,
 *   until svk_singleton_reset or the end of the process: no container's end touches them, and nothing is
 *   destroyed at exit.
 * - After svk_subscription_cancel or svk_service_close has returned SVK_OK, no callback of it runs or will
 *   run, not even for states already buffered, and `user_data_free` has been called. They wait for a
 *   callback that another thread is in the middle of, except when called from inside any callback of this
 *   library: there they never wait (two callbacks that cancel each other must not hang), and answer
 *   SVK_DEFERRED if one is still running. Either way nothing new starts, and `user_data_free` is called
 *   exactly once, after the last callback, by a thread that was in this library already.
 *   svk_subscription_cancel_nowait never waits anywhere: it is for finalizers and for callers that hold a
 *   lock which a callback may want.
 * - svk_stream_finish ends a stream: observers get what was kept, then `on_finish`, once.
 *   svk_service_close ends a service: observers are cancelled and get nothing more, no `on_finish` either.
 *   A subscription lives until it is cancelled or its service is closed, also after the stream's end:
 *   cancel it. A snapshot outlives its service and its stream.
 * - Every wait is woken by the end of what it waits for, and then answers SVK_CLOSED.
 * - A good order for the end of a program: finish the streams, cancel the subscriptions, close the
 *   services, destroy the dispatchers, release the handles, destroy the containers, children first. Every
 *   other order is safe too.
 *
 * ## Options structs
 *
 * The first field of each options struct is `uint32_t size`: set it to sizeof of the struct, and all that
 * you do not use to zero. The SVK_..._INIT macros do that in C and C++; where macros are out of reach,
 * zero the memory and set `size`: all defaults are zero. A smaller size, from a client compiled against an
 * older header, means defaults for the rest. A larger one is accepted if the bytes that this version of
 * the library does not know are all zero, else it is SVK_INVALID_ARGUMENT. So are a size below that of
 * version 1.0 and one above 4096, unknown flags, and unknown values of a constant.
 *
 * ## Strings, keys and contexts
 *
 * Strings are NUL-terminated UTF-8. A key is 1 to 255 bytes of valid UTF-8 (the NUL not counted) with no
 * control character (U+0000 to U+001F, U+007F to U+009F); anything else is SVK_INVALID_ARGUMENT. Keys are
 * compared byte by byte. Types and names of scopes follow the same rules; names of contexts too, and they
 * have no comma.
 *
 * Contexts choose between several registrations of one key, typically `live`, `preview` and `test`. The
 * active ones, in order, come from svk_container_set_contexts, else from the parent container, else from
 * the environment variable SERVICEKIT_CONTEXT (comma-separated, read once, when the first container is
 * created), else they are `live`. Which registration wins: that of the first active context that has one,
 * then the plain registration, then, by the same rules, the parent container.
 *
 * ## Scopes: how long an instance is kept
 *
 * | scope | one instance per |
 * |---|---|
 * | SVK_SCOPE_DEFAULT (0) | as the container's default says, which is unique unless set |
 * | SVK_SCOPE_UNIQUE | resolve |
 * | SVK_SCOPE_CACHED | container, until reset |
 * | SVK_SCOPE_SHARED | container, as long as somebody holds a handle on it or requires it |
 * | SVK_SCOPE_SINGLETON | process and key |
 * | SVK_SCOPE_GRAPH | outermost resolve in progress on this thread |
 * | SVK_SCOPE_CUSTOM | that custom scope, owning container and key, until svk_scope_reset |
 *
 * - Concurrent first resolves build once; the others wait, and get that instance or that failure. Waiting
 *   is per key: a slow factory holds up nobody else.
 * - A cycle, on one thread or across several that wait for each other, is SVK_CYCLE with the path in words
 *   (a → b → a), for every thread in it; never a hang, never a false alarm. The same name in two
 *   containers is no cycle, nor is a factory with a parameter that asks for its own key with another
 *   parameter.
 * - A failed build caches nothing, and what it had required is released.
 * - Registering again replaces: the cached instance retires, and is destroyed when its last lease ends, or
 *   before svk_register returns if nobody holds it. Held handles stay valid.
 * - A key has one cache per container, whichever of its registrations built the instance. Registering for
 *   a context clears no cache; nor does svk_container_set_contexts.
 * - An instance cached in a container is built with that container's registrations, also when a child
 *   asked for it. A unique or graph instance whose registration is found in the parent is built with the
 *   registrations of the container that was asked. A singleton is built with those of the container that
 *   has the winning registration.
 * - An instance whose registration was replaced while its factory ran goes to those who waited for it, and
 *   is not cached.
 *
 * ## Stateful services
 *
 * A stream is the right to publish; a service is the right to read. Whoever holds only the service cannot
 * change its state. States flow one way: sender → the stream's buffer → the service, which stores the
 * state and calls its `on_state` → each observer's buffer → that observer, in order. A service is
 * registered like anything else: a factory makes the stream and the service, and returns the service as
 * its instance, once for live, once for preview, once for test.
 *
 * Delivery: where the callbacks of a service or an observer run.
 *
 * - SVK_DELIVER_INLINE (0): on the sender's thread, before the send returns unless a delivery is already
 *   under way.
 * - SVK_DELIVER_DISPATCHER: on the thread that calls svk_dispatcher_dispatch.
 * - SVK_DELIVER_BACKGROUND: on the library's one worker thread, started when first asked for and joined
 *   when last used.
 * - SVK_DELIVER_PULL (observers only): nowhere. svk_subscription_next hands out the states one by one, and
 *   svk_subscription_fd is readable while there is one. For languages that cannot be called back.
 *
 * Buffering: what happens when the consumer lags.
 *
 * - SVK_BUFFER_UNBOUNDED (0): every state is kept.
 * - SVK_BUFFER_NEWEST: the oldest of `capacity` states makes room.
 * - SVK_BUFFER_OLDEST: the new one is not taken; the send says SVK_BUFFER_FULL when it is the stream's own
 *   buffer.
 * - SVK_BUFFER_BLOCK: the sender waits; from a thread that would have to drain the buffer itself it is
 *   SVK_BUFFER_FULL instead of a deadlock.
 *
 * And in both:
 *
 * - A version counts the accepted sends of a stream from 1; the initial state is version 0.
 * - Nothing that was accepted and kept is lost, doubled or reordered. What an observer lost to buffers is
 *   counted exactly, in svk_state.dropped and svk_subscription_dropped.
 * - The state is stored before `on_state` is called; the last state delivered is the one that
 *   svk_service_read gives, and a read is never torn.
 * - A send from inside a callback is delivered after the current delivery, not inside it.
 * - `on_finish` comes once, after the last kept state. A send after the end is SVK_CLOSED.
 * - With dispatcher or pull delivery, `user_data_free` runs inside a dispatch or inside the cancelling or
 *   closing call, so single-threaded languages can use it safely.
 *
 * ## Time
 *
 * Timeouts are int64_t nanoseconds: below 0 waits for ever, 0 does not wait. Clocks are monotonic.
 *
 * ## fork
 *
 * After a fork of a quiet process (no other thread inside the library at that moment) the child can use
 * what it inherited and create anew; the worker thread is started again when needed. Inherited dispatchers
 * and pull subscriptions get a file descriptor of their own: ask svk_dispatcher_fd and svk_subscription_fd
 * again in the child, and watch only what they answer there.
 *
 * ## Signals, exit, dlclose
 *
 * Only svk_dispatcher_wake is async-signal-safe: call nothing else in a signal handler. The library
 * installs no signal handler, registers nothing with atexit and prints nothing by itself. It stays loaded
 * after dlclose, so no callback or thread is ever left without its code.
 *
 * ## Other languages
 *
 * Nothing that a program must call is a macro or an inline function: every function here is a real symbol,
 * no struct is passed or returned by value, there are no unions, bit-fields or variadic functions, and
 * truth values are int32_t. svk_constant gives every constant by name. Where the language cannot be called
 * back at all, or not from other threads, use SVK_DELIVER_PULL or SVK_DELIVER_DISPATCHER. In finalizers
 * use svk_subscription_cancel_nowait. Link or dlopen "libservicekit.so.1".
 *
 * ## Versions
 *
 * Within one major version functions, constants and fields are only added: a program compiled against 1.x
 * runs with every later 1.y. The SONAME is libservicekit.so.1 and the symbols carry version nodes
 * (SERVICEKIT_1.0). svk_version() says which library is loaded, SVK_VERSION_MAJOR, _MINOR and _PATCH which
 * header was compiled.
 */
#ifndef SERVICEKIT_H
#define SERVICEKIT_H

#include <stddef.h>
#include <stdint.h>

/** Marks an exported function. You may define it before the inclusion. */
#ifndef SVK_API
#if defined(__GNUC__) || defined(__clang__)
#define SVK_API __attribute__((visibility("default")))
#else
#define SVK_API
#endif
#endif

/**
 * Marks a pointer that may be NULL. Clang and Swift read it; elsewhere it expands to nothing. A pointer
 * without the mark should not be NULL, yet a NULL is always answered with a status, never with a crash.
 */
#ifndef SVK_NULLABLE
#if defined(__clang__)
#define SVK_NULLABLE _Nullable
#else
#define SVK_NULLABLE
#endif
#endif

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-completeness"
#pragma clang diagnostic ignored "-Wnullability-extension"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions ------------------------------------------------------------------------------------------ */

/** The major version of this header. It changes only when existing programs would break. */
#define SVK_VERSION_MAJOR 1

/** The minor version of this header. It changes when something is added. */
#define SVK_VERSION_MINOR 0

/** The patch version of this header. */
#define SVK_VERSION_PATCH 0

/* ---- Statuses ------------------------------------------------------------------------------------------ */

/**
 * What a function that can fail returns: SVK_OK (0), one of the constants below, or a factory's own status
 * (SVK_FACTORY_ERROR_BASE and up). Treat values that you do not know as failures.
 */
typedef int32_t svk_status;

/** It worked. */
#define SVK_OK 0

/**
 * An argument is against the rules: a NULL where none is allowed, a malformed key, unknown flags or
 * constants, an options struct of a wrong size. svk_last_error says which.
 */
#define SVK_INVALID_ARGUMENT 1

/**
 * A token is NULL, stale, forged, of the wrong kind or was given back already; or its container is being
 * destroyed; or a resolver is used outside its factory or thread.
 */
#define SVK_INVALID_HANDLE 2

/** There is nothing of that name: no registration, no constant, no saved state to pop. */
#define SVK_NOT_FOUND 3

/** The stream has a service already, and can have only one. */
#define SVK_ALREADY_EXISTS 4

/** The registration has another type than the one asked for, or none. */
#define SVK_TYPE_MISMATCH 5

/** The key needs itself, directly or through others. svk_last_error has the path (a → b → a). */
#define SVK_CYCLE 6

/**
 * A factory returned SVK_OK with a NULL instance, or a value that is neither a status of this library nor
 * SVK_FACTORY_ERROR_BASE or more.
 */
#define SVK_FACTORY_FAILED 7

/** The container is strict, the context `test` is active, and the key has no `test` registration. */
#define SVK_CONTEXT_MISSING 8

/** What was sent to, or waited for, has ended. */
#define SVK_CLOSED 9

/** The stream's buffer has no room, and the state was not taken. */
#define SVK_BUFFER_FULL 10

/** The caller's buffer is too small. The size needed was written; call again with that much. */
#define SVK_BUFFER_TOO_SMALL 11

/** The time is over, or, with a timeout of 0, there was nothing at hand. */
#define SVK_TIMEOUT 12

/** Another dispatch of this dispatcher is under way, on another thread or further up on this one. */
#define SVK_BUSY 13

/**
 * The token is valid, but was not made for this call: a pull function on a subscription without
 * SVK_DELIVER_PULL.
 */
#define SVK_UNSUPPORTED 14

/**
 * Not a failure: accepted, and completed when a callback that is running now has returned. The token has
 * ended.
 */
#define SVK_DEFERRED 15

/** The operating system refused a file descriptor or a thread. */
#define SVK_SYSTEM_ERROR 16

/**
 * The smallest status that a factory may use for failures of its own. It and all above come back unchanged
 * to whoever resolved.
 */
#define SVK_FACTORY_ERROR_BASE 1000

/* ---- Scopes -------------------------------------------------------------------------------------------- */

/**
 * As the container that has the registration says (svk_container_set_default_scope), looked up at each
 * resolve; unique unless set.
 */
#define SVK_SCOPE_DEFAULT 0

/** A new instance for every resolve, destroyed when its handle is released or its dependent destroyed. */
#define SVK_SCOPE_UNIQUE 1

/** One instance per container, kept until it is reset, replaced or the container is destroyed. */
#define SVK_SCOPE_CACHED 2

/**
 * One instance per container, for as long as somebody holds a handle on it or an instance that requires it
 * lives.
 */
#define SVK_SCOPE_SHARED 3

/** One instance per process and key, whichever container asks, until svk_singleton_reset. */
#define SVK_SCOPE_SINGLETON 4

/**
 * One instance per outermost resolve in progress on this thread: all who require it in one object graph
 * get the same.
 */
#define SVK_SCOPE_GRAPH 5

/**
 * One instance per custom scope, owning container and key, until svk_scope_reset. Needs
 * svk_factory_options.custom_scope.
 */
#define SVK_SCOPE_CUSTOM 6

/* ---- What a reset drops -------------------------------------------------------------------------------- */

/** Plain registrations and their cached instances. */
#define SVK_RESET_REGISTRATIONS 1u

/** Context registrations and, for a whole container, its list of active contexts. */
#define SVK_RESET_CONTEXTS 2u

/** Cached instances; the registrations stay. Singletons are never touched. */
#define SVK_RESET_SCOPES 4u

/** All of these together. */
#define SVK_RESET_ALL 7u

/* ---- Flags --------------------------------------------------------------------------------------------- */

/**
 * Flag of svk_factory_options: keep one instance for each different parameter. All bytes of the parameter
 * are compared. Without it the parameter takes no part in the cache: the first one builds, and the others
 * get that instance.
 */
#define SVK_FACTORY_CACHE_BY_PARAMETER 1u

/**
 * Flag of svk_service_options: a state with the same bytes as the current one is not stored and not
 * delivered. The send is accepted and gets a version, is not counted as dropped, and wakes nobody.
 */
#define SVK_SERVICE_SKIP_EQUAL 1u

/** Flag of svk_observer_options: begin with the current state, then the new ones, without a gap. */
#define SVK_OBSERVE_CURRENT 1u

/* ---- Formats of a description -------------------------------------------------------------------------- */

/** Plain text, for people. Its wording may change between versions. */
#define SVK_FORMAT_TEXT 0

/** One JSON object. */
#define SVK_FORMAT_JSON 1

/** A directed graph in the DOT language of Graphviz. */
#define SVK_FORMAT_DOT 2

/* ---- Delivery: where the callbacks of a service or an observer run ------------------------------------- */

/**
 * On the sender's thread, before the send returns unless a delivery is already under way; the thread that
 * is delivering then delivers this state too.
 */
#define SVK_DELIVER_INLINE 0

/** On the thread that calls svk_dispatcher_dispatch, inside that call. Needs the `dispatcher` field. */
#define SVK_DELIVER_DISPATCHER 1

/**
 * On the library's one worker thread, which all background deliveries share. It is started when first
 * asked for and joined when last used; it never joins itself.
 */
#define SVK_DELIVER_BACKGROUND 2

/**
 * Observers only: nothing is called; the states wait for svk_subscription_next or
 * svk_subscription_next_copy.
 */
#define SVK_DELIVER_PULL 3

/* ---- Buffering: what happens when the consumer lags ---------------------------------------------------- */

/** Every state is kept. `capacity` is ignored. */
#define SVK_BUFFER_UNBOUNDED 0

/** The newest `capacity` states are kept: the oldest makes room, and counts as dropped. */
#define SVK_BUFFER_NEWEST 1

/**
 * The oldest `capacity` states are kept. The new one is not taken: for the stream's own buffer the send
 * says SVK_BUFFER_FULL; for an observer's the state is lost for that observer and counts as dropped.
 */
#define SVK_BUFFER_OLDEST 2

/**
 * The sender waits for room. From a thread that would have to drain the buffer itself it does not wait:
 * for the stream's own buffer the send says SVK_BUFFER_FULL; for an observer's the state is lost for that
 * observer and counts as dropped. Only a thread inside that very delivery counts as the one that drains: a
 * program with one single thread that sends outside its dispatch waits for itself, and should use
 * svk_stream_send_within or another buffering.
 */
#define SVK_BUFFER_BLOCK 3

/* ---- Levels of the log --------------------------------------------------------------------------------- */

/** Something is lost or wrong. */
#define SVK_LOG_ERROR 1

/** Something is probably a mistake, such as a handle still held when its container is destroyed. */
#define SVK_LOG_WARNING 2

/** What happened, in large. */
#define SVK_LOG_INFO 3

/** What happened, in detail. */
#define SVK_LOG_DEBUG 4

/* ---- Kinds of a trace event ---------------------------------------------------------------------------- */

/** The instance was built, by a context registration. */
#define SVK_TRACE_CONTEXT 1

/** The instance was built, by the plain registration. */
#define SVK_TRACE_REGISTRATION 2

/** The instance was there already. */
#define SVK_TRACE_CACHE 3

/** The resolve failed; there is no instance. */
#define SVK_TRACE_FAILED 4

/* ---- Tokens -------------------------------------------------------------------------------------------- */

/** Holds registrations and the instances built from them. Ended by svk_container_destroy. */
typedef struct svk_container svk_container;

/**
 * The resolve in progress, as its factory sees it. Valid only while that factory runs, on that factory's
 * thread. Never released.
 */
typedef struct svk_resolver svk_resolver;

/** A lease on an instance: while it is held, the instance lives. Ended by svk_release. */
typedef struct svk_handle svk_handle;

/** An interned key, for the fastest resolve. Never freed, valid in every container. */
typedef struct svk_key svk_key;

/** A custom scope, for SVK_SCOPE_CUSTOM. Usable in every container. Ended by svk_scope_destroy. */
typedef struct svk_scope svk_scope;

/** The right to publish states. Ended by svk_stream_destroy. */
typedef struct svk_stream svk_stream;

/** The right to read states: an API, a current state and its observers. Ended by svk_service_close. */
typedef struct svk_service svk_service;

/** Keeps one state's bytes alive and unchanged, also beyond its service. Ended by svk_snapshot_release. */
typedef struct svk_snapshot svk_snapshot;

/**
 * One observer of one service. Ended by svk_subscription_cancel or svk_subscription_cancel_nowait, or by
 * its service's close.
 */
typedef struct svk_subscription svk_subscription;

/** A queue of callbacks that a thread of yours runs when it likes. Ended by svk_dispatcher_destroy. */
typedef struct svk_dispatcher svk_dispatcher;

/**
 * Frees `user_data` (or a block given to svk_stream_send_owned). Called exactly once, after the last
 * callback that uses it, on a thread that is inside the library at that moment.
 *
 * @param user_data What was registered with it, or the block.
 */
typedef void (*svk_free_fn)(void *SVK_NULLABLE user_data);

/* ---- The library itself -------------------------------------------------------------------------------- */

/**
 * Says which version of the library is loaded.
 *
 * @return SVK_VERSION_MAJOR << 16 | SVK_VERSION_MINOR << 8 | SVK_VERSION_PATCH of the library, which may
 *   be newer than the header that you compiled.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API uint32_t svk_version(void);

/**
 * Says which version of the library is loaded, as text such as "1.0.0".
 *
 * @return A constant string, valid for ever, never NULL.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API const char *svk_version_string(void);

/**
 * Gives the value of a constant of this header by its name, for languages that cannot read the header.
 *
 * @param name The full name, e.g. "SVK_SCOPE_CACHED". All plain numbers are known: statuses, scopes,
 *   masks, flags, formats, deliveries, bufferings, log levels, trace kinds and SVK_VERSION_MAJOR, _MINOR,
 *   _PATCH.
 * @param value Receives the value. Required.
 *
 * On failure: `*value` is 0.
 *
 * @return One of:
 * - SVK_OK: found.
 * - SVK_INVALID_ARGUMENT: `name` or `value` is NULL.
 * - SVK_NOT_FOUND: there is no constant of that name.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_constant(const char *name, int64_t *value);

/**
 * Gives the name of a status constant, such as "SVK_NOT_FOUND".
 *
 * @param status Any value.
 *
 * @return A constant string, valid for ever, never NULL: "SVK_FACTORY_ERROR_BASE" for that value and all
 *   above it, "unknown status" for a value that is no status.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API const char *svk_status_name(svk_status status);

/**
 * Gives the last failure on this thread in words: what failed, which key, and what to do about it.
 *
 * Later successes leave it as it is, so ask only after a failure. It is meant for people: its wording may
 * change between versions.
 *
 * @return A string that belongs to the library, never NULL; "" if nothing has failed on this thread yet.
 *   Valid until the next call that fails on this thread, or until the thread ends: copy it to keep it.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API const char *svk_last_error(void);

/* ---- Containers ---------------------------------------------------------------------------------------- */

/**
 * Creates an empty container without a parent.
 *
 * The first container of the process, the shared one included, reads SERVICEKIT_CONTEXT. Names in it that
 * are against the rules are passed over, with a warning in the log.
 *
 * @param container Receives the container, which is yours until svk_container_destroy. Required.
 *
 * On failure: `*container` is NULL.
 *
 * @return One of:
 * - SVK_OK: created.
 * - SVK_INVALID_ARGUMENT: `container` is NULL.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_container_create(svk_container *SVK_NULLABLE *container);

/**
 * Creates an empty container that falls back to a parent.
 *
 * What the child has no registration for is looked up in the parent. The child inherits active contexts
 * and strictness until it sets its own. A child does not keep its parent alive: it outlives it with its
 * own registrations, and look-ups in the dead parent give SVK_NOT_FOUND.
 *
 * @param parent The parent. It stays yours.
 * @param child Receives the child, which is yours until svk_container_destroy. Required.
 *
 * On failure: `*child` is NULL.
 *
 * @return One of:
 * - SVK_OK: created.
 * - SVK_INVALID_ARGUMENT: `child` is NULL.
 * - SVK_INVALID_HANDLE: `parent` is NULL, ended, being destroyed or no container.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_container_create_child(svk_container *parent, svk_container *SVK_NULLABLE *child);

/**
 * Gives the one container that the whole process shares, creating it at the first call.
 *
 * @return The same token every time, never NULL. It is not yours to end: svk_container_destroy refuses it.
 *   It can be a parent, and can be reset, pushed and popped.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_container *svk_container_shared(void);

/**
 * Destroys a container: closes it to new work, lets factories in progress end, then destroys its
 * instances, dependents first.
 *
 * The token ends at once. Handles still held are logged, each by its key, as warnings; they stay usable
 * until they are released, and their instances are destroyed then. Resolves that wait for a factory in
 * progress, resolves that come meanwhile, svk_require in the factories still running, and everything else
 * on the container answer SVK_INVALID_HANDLE. Pinned instances are given up. Singletons and their
 * registrations stay. Children stay, with their own registrations.
 *
 * Waits for factories of this container that run on other threads, except when called from inside a
 * callback of the library: then it never waits. From inside one of the container's own factories or
 * destructors it takes effect when that returns.
 *
 * @param container The container to end.
 *
 * @return One of:
 * - SVK_OK: destroyed; the instances that nobody holds have been destroyed, and the `user_data_free` of
 *   what nobody uses any more has been called.
 * - SVK_DEFERRED: called inside a callback while a factory or a destructor of this container runs: the
 *   container is closed, and is destroyed when that has returned.
 * - SVK_INVALID_ARGUMENT: it is the shared container, which cannot be destroyed.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_container_destroy(svk_container *container);

/**
 * Drops registrations, contexts or cached instances of a container.
 *
 * Instances that nobody holds are destroyed before it returns; the others retire, and are destroyed when
 * their last lease ends. Parents, children, singletons, pinned instances and decorators are not touched.
 *
 * @param container The container.
 * @param what One or more of: SVK_RESET_REGISTRATIONS, the plain registrations and their cached instances;
 *   SVK_RESET_CONTEXTS, the context registrations and the list of active contexts, which is inherited
 *   again; SVK_RESET_SCOPES, all cached, shared and custom-scope instances of this container.
 *   SVK_RESET_ALL is all of them.
 *
 * @return One of:
 * - SVK_OK: done.
 * - SVK_INVALID_ARGUMENT: `what` is 0 or has unknown bits.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_container_reset(svk_container *container, uint32_t what);

/**
 * Saves the container's registrations, contexts, caches and settings, for svk_container_pop to bring back.
 *
 * Nothing changes by the push: live cached instances stay in use until they are replaced or reset.
 * Settings are the default scope, strictness and the decorators. Singletons are not part of it. Pushes
 * nest.
 *
 * @param container The container.
 *
 * @return One of:
 * - SVK_OK: saved.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_container_push(svk_container *container);

/**
 * Brings back what the last svk_container_push saved, and retires what came since.
 *
 * What came since and is still held is logged, by key, and is destroyed when its last lease ends; what
 * nobody holds is destroyed before it returns. Singletons are not part of it.
 *
 * @param container The container.
 *
 * @return One of:
 * - SVK_OK: brought back.
 * - SVK_NOT_FOUND: there is no push to undo; nothing changed.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_container_pop(svk_container *container);

/**
 * Sets the active contexts of a container, most important first.
 *
 * It counts for what is built from now on; cached instances stay as they are, except where
 * svk_container_set_strict says otherwise.
 *
 * @param container The container. Children without a list of their own follow.
 * @param comma_separated E.g. "test" or "preview,live". Blanks around a name are trimmed. NULL, "" or
 *   nothing but blanks means: inherit, from the parent, else from SERVICEKIT_CONTEXT, else "live". Copied.
 *
 * @return One of:
 * - SVK_OK: set.
 * - SVK_INVALID_ARGUMENT: a name is empty or against the rules for names; the contexts stay as they were.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_container_set_contexts(svk_container *container,
                                              const char *SVK_NULLABLE comma_separated);

/**
 * Makes tests safe from live services: when strict and the context `test` is active, a key without a
 * `test` registration is refused.
 *
 * A `test` registration anywhere up the chain of parents satisfies it. A cached instance that did not come
 * from a `test` registration is then retired and built anew, not handed out. Children inherit strictness
 * unless they set their own.
 *
 * @param container The container.
 * @param strict 0 for no (the default of a container without a parent), anything else for yes.
 *
 * @return One of:
 * - SVK_OK: set.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_container_set_strict(svk_container *container, int32_t strict);

/**
 * Says what SVK_SCOPE_DEFAULT means for the registrations of this container.
 *
 * It is looked up at each resolve, so it also counts for what is registered already. It is not inherited
 * by children.
 *
 * @param container The container.
 * @param scope A scope constant other than SVK_SCOPE_CUSTOM. SVK_SCOPE_DEFAULT means unique again.
 *
 * @return One of:
 * - SVK_OK: set.
 * - SVK_INVALID_ARGUMENT: `scope` is SVK_SCOPE_CUSTOM or unknown.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_container_set_default_scope(svk_container *container, int32_t scope);

/**
 * Checks the declared requirements (svk_factory_options.required_keys) of a container without building
 * anything.
 *
 * It passes if every required key is registered for the active contexts, the declared requirements have no
 * cycle, and no longer-lived scope requires a shorter-lived one. The order is singleton, then cached and
 * custom (equal), then shared, then graph; to require a unique one is always allowed. svk_last_error
 * describes the first problem found.
 *
 * @param container The container, with what it inherits from its parents.
 *
 * @return One of:
 * - SVK_OK: all is well.
 * - SVK_NOT_FOUND: a required key is not registered for the active contexts.
 * - SVK_CYCLE: the declared requirements go round in a circle.
 * - SVK_INVALID_ARGUMENT: a lifetime clash: a scope requires a shorter-lived one.
 * - SVK_CONTEXT_MISSING: the container is strict, `test` is active, and a required key has no `test`
 *   registration.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_container_validate(svk_container *container);

/**
 * Writes a description of a container: keys, types, scopes, contexts, live instances, lease counts and the
 * dependency graph seen so far.
 *
 * @param container The container.
 * @param format SVK_FORMAT_TEXT, SVK_FORMAT_JSON or SVK_FORMAT_DOT.
 * @param buffer Receives NUL-terminated UTF-8. May be NULL when `capacity` is 0, to ask for the size.
 * @param capacity The size of `buffer` in bytes.
 * @param needed Receives the size of the description in bytes, the NUL included. May be NULL.
 *
 * On failure: `*needed` is 0, except with SVK_BUFFER_TOO_SMALL, where it is the size needed. `buffer` is
 * not written.
 *
 * @return One of:
 * - SVK_OK: written.
 * - SVK_BUFFER_TOO_SMALL: `capacity` is less than `*needed`. Another thread may make it grow meanwhile, so
 *   try in a loop.
 * - SVK_INVALID_ARGUMENT: unknown `format`, or `buffer` is NULL and `capacity` is not 0.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_container_describe(svk_container *container, int32_t format, char *SVK_NULLABLE buffer,
                                          size_t capacity, size_t *SVK_NULLABLE needed);

/* ---- Factories ----------------------------------------------------------------------------------------- */

/**
 * A factory: builds one instance.
 *
 * Runs on whichever thread resolves. It gets what it needs with svk_require, which leases it to the new
 * instance, so there is nothing to release by hand. svk_resolve in it takes part in the detection of
 * cycles in the same way, but its handle is the factory's own to release.
 *
 * @param resolver The resolve in progress. Valid only in this call, on this thread.
 * @param instance Where to put the instance. It is NULL before.
 * @param user_data From svk_factory_options.
 *
 * @return SVK_OK with a non-NULL `*instance` for success. For a failure of its own, SVK_FACTORY_ERROR_BASE
 *   or more; or hand on, unchanged, the failure of a library call. Both come back to whoever resolved as
 *   they are. Anything else, and SVK_OK with NULL, is SVK_FACTORY_FAILED. After a failure nothing is
 *   cached, what was required is released, and whatever is in `*instance` remains the factory's: `destroy`
 *   is not called for it.
 */
typedef svk_status (*svk_create_fn)(svk_resolver *resolver, void *SVK_NULLABLE *instance,
                                    void *SVK_NULLABLE user_data);

/**
 * Destroys an instance that a factory built, once nobody holds or requires it and no cache keeps it.
 *
 * Called exactly once for each instance, on whichever thread gives up the last lease, before the instances
 * that it required are released: they may still be used here.
 *
 * @param instance What the factory returned; never NULL.
 * @param user_data From svk_factory_options.
 */
typedef void (*svk_destroy_fn)(void *instance, void *SVK_NULLABLE user_data);

/**
 * How to build and keep the instances of a key. Begin with SVK_FACTORY_OPTIONS_INIT, or with zeroed memory
 * and `size`.
 */
typedef struct svk_factory_options {
  /** sizeof(svk_factory_options). */
  uint32_t size;

  /** 0 or SVK_FACTORY_CACHE_BY_PARAMETER. */
  uint32_t flags;

  /** Builds an instance. Required. */
  svk_create_fn SVK_NULLABLE create;

  /** Destroys an instance. NULL: there is nothing to do. */
  svk_destroy_fn SVK_NULLABLE destroy;

  /** Passed to `create` and `destroy`. */
  void *SVK_NULLABLE user_data;

  /**
   * Frees `user_data`, once the registration is gone and the last instance that it built has been
   * destroyed.
   */
  svk_free_fn SVK_NULLABLE user_data_free;

  /** How long an instance is kept: SVK_SCOPE_... */
  int32_t scope;

  /**
   * With SVK_SCOPE_CUSTOM, the scope; ignored otherwise. The token stays yours. When that scope is
   * destroyed, resolves through it give SVK_INVALID_HANDLE.
   */
  svk_scope *SVK_NULLABLE custom_scope;

  /**
   * How long a kept instance is good, in nanoseconds; 0: no limit. Each hit starts it anew. An instance
   * found too old retires, and a new one is built. No effect on unique and graph instances.
   */
  uint64_t time_to_live_ns;

  /**
   * What the instance is, for svk_resolve_typed; e.g. "org.example.logger/1". NULL: not said. The rules
   * are those of keys. Copied.
   */
  const char *SVK_NULLABLE type;

  /**
   * The keys that `create` will require, for svk_container_validate: an array that ends with NULL. NULL:
   * none declared. Copied. It does not limit what `create` may require.
   */
  const char *SVK_NULLABLE const *SVK_NULLABLE required_keys;
} svk_factory_options;

/** Initialiser for svk_factory_options: `size` set, all else default. */
#define SVK_FACTORY_OPTIONS_INIT \
  { (uint32_t)sizeof(svk_factory_options), 0, NULL, NULL, NULL, NULL, SVK_SCOPE_DEFAULT, NULL, 0, NULL, NULL }

/**
 * Registers the plain factory of a key, in place of the one before.
 *
 * Replacing retires the cached instance, whichever registration built it: it is destroyed before
 * svk_register returns if nobody holds it, else when its last lease ends. Held handles stay valid. A
 * living singleton is not touched, and stays until svk_singleton_reset.
 *
 * @param container The container.
 * @param key The key. Copied.
 * @param options How to build and keep. Copied.
 *
 * On failure: Nothing changed; `user_data_free` is not called.
 *
 * @return One of:
 * - SVK_OK: registered.
 * - SVK_INVALID_ARGUMENT: a malformed key, type or required key; `options` or `create` is NULL; a bad
 *   `size`; unknown flags or scope.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container; or the scope is
 *   SVK_SCOPE_CUSTOM and `custom_scope` is NULL, ended or no scope.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_register(svk_container *container, const char *key,
                                const svk_factory_options *options);

/**
 * Registers the factory of a key for one context, in place of the one before.
 *
 * It wins over the plain registration while that context is active. It clears no cache: an instance that
 * is cached already stays until it is reset (svk_reset with SVK_RESET_SCOPES).
 *
 * @param container The container.
 * @param key The key. Copied.
 * @param context The name of one context, e.g. "live", "preview", "test" or one of your own; blanks around
 *   it are trimmed. Copied.
 * @param options How to build and keep. Copied.
 *
 * On failure: Nothing changed; `user_data_free` is not called.
 *
 * @return One of:
 * - SVK_OK: registered.
 * - SVK_INVALID_ARGUMENT: a malformed key, context (a comma in it, too), type or required key; `options`
 *   or `create` is NULL; a bad `size`; unknown flags or scope.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container; or the scope is
 *   SVK_SCOPE_CUSTOM and `custom_scope` is NULL, ended or no scope.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_register_for(svk_container *container, const char *key, const char *context,
                                    const svk_factory_options *options);

/**
 * Removes a key's registrations, plain and for contexts, and retires its cached instance.
 *
 * Only this container's own: a parent's stay, and are found by later resolves. Held handles stay valid.
 * The key's decorator stays.
 *
 * @param container The container.
 * @param key The key.
 *
 * @return One of:
 * - SVK_OK: removed.
 * - SVK_NOT_FOUND: this container has no registration of that key.
 * - SVK_INVALID_ARGUMENT: a malformed key.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_unregister(svk_container *container, const char *key);

/**
 * Drops registrations or cached instances of one key.
 *
 * Only this container's own. Held handles stay valid; what nobody holds is destroyed before it returns.
 * Singletons are not touched (see svk_singleton_reset).
 *
 * @param container The container.
 * @param key The key.
 * @param what One or more of: SVK_RESET_REGISTRATIONS, the plain registration and the cached instance;
 *   SVK_RESET_CONTEXTS, the context registrations; SVK_RESET_SCOPES, the cached instances, for all
 *   parameters. SVK_RESET_ALL is all of them.
 *
 * @return One of:
 * - SVK_OK: done.
 * - SVK_NOT_FOUND: this container has no registration of that key.
 * - SVK_INVALID_ARGUMENT: a malformed key, or `what` is 0 or has unknown bits.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_reset(svk_container *container, const char *key, uint32_t what);

/**
 * Sees every instance that is resolved, before whoever asked for it gets it.
 *
 * Called on the resolving thread, outside any lock, for every resolve and svk_require, hits included, and
 * also for look-ups in the parent.
 *
 * @param instance The instance; never NULL. A decorator may change what it points to, but not replace it.
 * @param key The key. Valid until the decorator returns.
 * @param is_new 1 if this resolve built the instance, else 0.
 * @param user_data From svk_decorate.
 */
typedef void (*svk_decorator_fn)(void *instance, const char *key, int32_t is_new,
                                 void *SVK_NULLABLE user_data);

/**
 * Sets, replaces or removes the decorator of a key, or of a whole container.
 *
 * One decorator runs per resolve: that of the key, from the container asked up to the root; else that of a
 * container, from the container asked up to the root. The replaced decorator's `user_data` is freed after
 * its last running call.
 *
 * @param container The container.
 * @param key_or_null The key, which need not be registered; NULL for the container's own, for all keys
 *   that have none. Copied.
 * @param decorator The function. NULL removes the present one, if any; the other two arguments are then
 *   ignored.
 * @param user_data Passed to `decorator`.
 * @param user_data_free Frees `user_data` after the last call. May be NULL.
 *
 * On failure: Nothing changed; `user_data_free` is not called.
 *
 * @return One of:
 * - SVK_OK: done.
 * - SVK_INVALID_ARGUMENT: a malformed key.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_decorate(svk_container *container, const char *SVK_NULLABLE key_or_null,
                                svk_decorator_fn SVK_NULLABLE decorator, void *SVK_NULLABLE user_data,
                                svk_free_fn SVK_NULLABLE user_data_free);

/**
 * Creates a custom scope, for svk_factory_options.custom_scope.
 *
 * @param name A name for descriptions and messages, by the rules of keys; it need not be the only one of
 *   that name. Copied.
 * @param scope Receives the scope, which is yours until svk_scope_destroy. Required.
 *
 * On failure: `*scope` is NULL.
 *
 * @return One of:
 * - SVK_OK: created.
 * - SVK_INVALID_ARGUMENT: a malformed name, or `scope` is NULL.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_scope_create(const char *name, svk_scope *SVK_NULLABLE *scope);

/**
 * Empties a custom scope, in all containers: the next resolves build anew.
 *
 * Held handles stay valid; what nobody holds is destroyed before it returns.
 *
 * @param scope The scope.
 *
 * @return One of:
 * - SVK_OK: done.
 * - SVK_INVALID_HANDLE: `scope` is NULL, ended or no scope.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_scope_reset(svk_scope *scope);

/**
 * Empties a custom scope, as svk_scope_reset does, and ends it.
 *
 * Later resolves of what is registered with it give SVK_INVALID_HANDLE.
 *
 * @param scope The scope to end.
 *
 * @return One of:
 * - SVK_OK: done.
 * - SVK_INVALID_HANDLE: `scope` is NULL, ended or no scope.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_scope_destroy(svk_scope *scope);

/**
 * Retires one singleton of the process, or all: the next resolve builds anew.
 *
 * Held handles stay valid; what nobody holds is destroyed before it returns, dependents first.
 *
 * @param key_or_null_for_all The key, or NULL for all singletons.
 *
 * @return One of:
 * - SVK_OK: done; with NULL always.
 * - SVK_NOT_FOUND: no singleton of that key lives.
 * - SVK_INVALID_ARGUMENT: a malformed key.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_singleton_reset(const char *SVK_NULLABLE key_or_null_for_all);

/* ---- Inside a factory ---------------------------------------------------------------------------------- */

/**
 * Resolves a dependency and leases it to the instance under construction.
 *
 * It is released after that instance is destroyed, or when its factory fails. There is nothing to release
 * by hand, and the dependency always outlives its dependent.
 *
 * @param resolver The factory's resolver.
 * @param key The key.
 * @param instance Receives the dependency. Required.
 *
 * On failure: `*instance` is NULL. Return the status from the factory, or go on without the dependency.
 *
 * @return One of:
 * - SVK_OK: resolved and leased.
 * - SVK_INVALID_ARGUMENT: a malformed key, or `instance` is NULL.
 * - SVK_INVALID_HANDLE: `resolver` is not valid, is used after its factory has returned or on another
 *   thread; or the container is being destroyed; or the registration's custom scope has been destroyed.
 * - SVK_NOT_FOUND: there is no registration for the key, in the container or in its parents (a destroyed
 *   parent has none).
 * - SVK_CYCLE: the key needs itself; the path is in svk_last_error.
 * - SVK_CONTEXT_MISSING: strict, `test` is active, and the key has no `test` registration.
 * - SVK_FACTORY_FAILED: the factory gave no instance and no proper status.
 * - SVK_FACTORY_ERROR_BASE and up: the factory's own failure, unchanged.
 * - Any other status: a failure of a library call that the factory, or one below it, handed on.
 *
 * [factory's thread only · may wait · calls back]
 */
SVK_API svk_status svk_require(svk_resolver *resolver, const char *key, void *SVK_NULLABLE *instance);

/**
 * As svk_require, with a parameter for the dependency's factory.
 *
 * @param resolver The factory's resolver.
 * @param key The key.
 * @param parameter The parameter's bytes, copied. NULL with `size` 0: no parameter.
 * @param size Its size in bytes, at most 65536.
 * @param instance Receives the dependency. Required.
 *
 * On failure: `*instance` is NULL.
 *
 * @return One of:
 * - SVK_OK: resolved and leased.
 * - SVK_INVALID_ARGUMENT: a malformed key; `instance` is NULL; `parameter` is NULL and `size` is not 0; or
 *   `size` is over 65536.
 * - SVK_INVALID_HANDLE: `resolver` is not valid, is used after its factory has returned or on another
 *   thread; or the container is being destroyed; or the registration's custom scope has been destroyed.
 * - SVK_NOT_FOUND: there is no registration for the key, in the container or in its parents (a destroyed
 *   parent has none).
 * - SVK_CYCLE: the key needs itself; the path is in svk_last_error.
 * - SVK_CONTEXT_MISSING: strict, `test` is active, and the key has no `test` registration.
 * - SVK_FACTORY_FAILED: the factory gave no instance and no proper status.
 * - SVK_FACTORY_ERROR_BASE and up: the factory's own failure, unchanged.
 * - Any other status: a failure of a library call that the factory, or one below it, handed on.
 *
 * [factory's thread only · may wait · calls back]
 */
SVK_API svk_status svk_require_with(svk_resolver *resolver, const char *key,
                                    const void *SVK_NULLABLE parameter, size_t size,
                                    void *SVK_NULLABLE *instance);

/**
 * Gives the parameter that this instance was asked for with.
 *
 * @param resolver The factory's resolver.
 * @param data Receives the parameter's bytes, NULL if there is no parameter. They belong to the library
 *   and are valid until the factory returns. Required.
 * @param size Receives the size in bytes, 0 if there is no parameter. May be NULL.
 *
 * On failure: `*data` is NULL and `*size` is 0.
 *
 * @return One of:
 * - SVK_OK: given, also when there is no parameter.
 * - SVK_INVALID_ARGUMENT: `data` is NULL.
 * - SVK_INVALID_HANDLE: `resolver` is not valid, or is used after its factory has returned or on another
 *   thread.
 *
 * [factory's thread only · never waits · no callbacks]
 */
SVK_API svk_status svk_resolver_parameter(svk_resolver *resolver, const void *SVK_NULLABLE *data,
                                          size_t *SVK_NULLABLE size);

/**
 * Gives the container with whose registrations this instance is built: where svk_require looks.
 *
 * @param resolver The factory's resolver.
 *
 * @return The container, which does not become yours; NULL if `resolver` is not valid, or is used after
 *   its factory has returned or on another thread.
 *
 * [factory's thread only · never waits · no callbacks]
 */
SVK_API svk_container *SVK_NULLABLE svk_resolver_container(svk_resolver *resolver);

/* ---- Resolving ----------------------------------------------------------------------------------------- */

/**
 * Gives a handle on the instance of a key, building it if need be.
 *
 * @param container The container.
 * @param key The key.
 * @param handle Receives the handle, which is yours until svk_release. Required.
 *
 * On failure: `*handle` is NULL.
 *
 * @return One of:
 * - SVK_OK: resolved.
 * - SVK_INVALID_ARGUMENT: a malformed key, or `handle` is NULL.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container; or the registration's
 *   custom scope has been destroyed.
 * - SVK_NOT_FOUND: there is no registration for the key, in the container or in its parents (a destroyed
 *   parent has none).
 * - SVK_CYCLE: the key needs itself; the path is in svk_last_error.
 * - SVK_CONTEXT_MISSING: strict, `test` is active, and the key has no `test` registration.
 * - SVK_FACTORY_FAILED: the factory gave no instance and no proper status.
 * - SVK_FACTORY_ERROR_BASE and up: the factory's own failure, unchanged.
 * - Any other status: a failure of a library call that the factory, or one below it, handed on.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_resolve(svk_container *container, const char *key, svk_handle *SVK_NULLABLE *handle);

/**
 * As svk_resolve, with a parameter for the factory (svk_resolver_parameter).
 *
 * Unless the registration has SVK_FACTORY_CACHE_BY_PARAMETER, an instance that is kept already is given
 * whatever the parameter.
 *
 * @param container The container.
 * @param key The key.
 * @param parameter The parameter's bytes, copied. NULL with `size` 0: no parameter.
 * @param size Its size in bytes, at most 65536.
 * @param handle Receives the handle, which is yours until svk_release. Required.
 *
 * On failure: `*handle` is NULL.
 *
 * @return One of:
 * - SVK_OK: resolved.
 * - SVK_INVALID_ARGUMENT: a malformed key; `handle` is NULL; `parameter` is NULL and `size` is not 0; or
 *   `size` is over 65536.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container; or the registration's
 *   custom scope has been destroyed.
 * - SVK_NOT_FOUND: there is no registration for the key, in the container or in its parents (a destroyed
 *   parent has none).
 * - SVK_CYCLE: the key needs itself; the path is in svk_last_error.
 * - SVK_CONTEXT_MISSING: strict, `test` is active, and the key has no `test` registration.
 * - SVK_FACTORY_FAILED: the factory gave no instance and no proper status.
 * - SVK_FACTORY_ERROR_BASE and up: the factory's own failure, unchanged.
 * - Any other status: a failure of a library call that the factory, or one below it, handed on.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_resolve_with(svk_container *container, const char *key,
                                    const void *SVK_NULLABLE parameter, size_t size,
                                    svk_handle *SVK_NULLABLE *handle);

/**
 * As svk_resolve, if the registration is of the type named: a check before a pointer is cast.
 *
 * @param container The container.
 * @param key The key.
 * @param type The type wanted, compared byte by byte with svk_factory_options.type.
 * @param handle Receives the handle, which is yours until svk_release. Required.
 *
 * On failure: `*handle` is NULL.
 *
 * @return One of:
 * - SVK_OK: resolved.
 * - SVK_TYPE_MISMATCH: the registration has another type, or none. Nothing was built.
 * - SVK_INVALID_ARGUMENT: a malformed key or type, or `handle` is NULL.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container; or the registration's
 *   custom scope has been destroyed.
 * - SVK_NOT_FOUND: there is no registration for the key, in the container or in its parents (a destroyed
 *   parent has none).
 * - SVK_CYCLE: the key needs itself; the path is in svk_last_error.
 * - SVK_CONTEXT_MISSING: strict, `test` is active, and the key has no `test` registration.
 * - SVK_FACTORY_FAILED: the factory gave no instance and no proper status.
 * - SVK_FACTORY_ERROR_BASE and up: the factory's own failure, unchanged.
 * - Any other status: a failure of a library call that the factory, or one below it, handed on.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_resolve_typed(svk_container *container, const char *key, const char *type,
                                     svk_handle *SVK_NULLABLE *handle);

/**
 * Turns a key into a token, for svk_resolve_key.
 *
 * The same name gives the same token, in every container and on every thread. Interned keys are never
 * freed: intern the keys of your program, never text that comes from untrusted input, which could fill the
 * memory.
 *
 * @param name The key. Copied.
 * @param key Receives the token. Required.
 *
 * On failure: `*key` is NULL.
 *
 * @return One of:
 * - SVK_OK: interned.
 * - SVK_INVALID_ARGUMENT: a malformed key, or `key` is NULL.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_key_intern(const char *name, svk_key *SVK_NULLABLE *key);

/**
 * As svk_resolve, with an interned key: the fastest way.
 *
 * @param container The container.
 * @param key From svk_key_intern.
 * @param handle Receives the handle, which is yours until svk_release. Required.
 *
 * On failure: `*handle` is NULL.
 *
 * @return One of:
 * - SVK_OK: resolved.
 * - SVK_INVALID_ARGUMENT: `handle` is NULL.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container; `key` is no interned
 *   key; or the registration's custom scope has been destroyed.
 * - SVK_NOT_FOUND: there is no registration for the key, in the container or in its parents (a destroyed
 *   parent has none).
 * - SVK_CYCLE: the key needs itself; the path is in svk_last_error.
 * - SVK_CONTEXT_MISSING: strict, `test` is active, and the key has no `test` registration.
 * - SVK_FACTORY_FAILED: the factory gave no instance and no proper status.
 * - SVK_FACTORY_ERROR_BASE and up: the factory's own failure, unchanged.
 * - Any other status: a failure of a library call that the factory, or one below it, handed on.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_resolve_key(svk_container *container, svk_key *key, svk_handle *SVK_NULLABLE *handle);

/**
 * Gives the instance that a handle leases.
 *
 * @param handle The handle.
 *
 * @return The instance, valid until the handle is released; NULL if `handle` is NULL, released or no
 *   handle.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API void *SVK_NULLABLE svk_instance(svk_handle *handle);

/**
 * Gives a handle back.
 *
 * If it was the last lease on an instance that nothing keeps, the instance is destroyed before this
 * returns, and then what it alone had required. Any thread may release, also another than the one that
 * resolved.
 *
 * @param handle The handle to end.
 *
 * @return One of:
 * - SVK_OK: released.
 * - SVK_INVALID_HANDLE: `handle` is NULL, no handle, or released already.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_release(svk_handle *handle);

/**
 * Resolves a cached, shared or singleton service and keeps it until the container is destroyed: a plain
 * pointer, and nothing to release.
 *
 * Also a reset, a replacement or a pop leaves a pinned instance alive. Pinning again gives the instance
 * that a resolve gives then.
 *
 * @param container The container.
 * @param key The key.
 * @param instance Receives the instance. Required.
 *
 * On failure: `*instance` is NULL.
 *
 * @return One of:
 * - SVK_OK: pinned.
 * - SVK_INVALID_ARGUMENT: a malformed key; `instance` is NULL; or the scope is not cached, shared or
 *   singleton. Nothing was built.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container; or the registration's
 *   custom scope has been destroyed.
 * - SVK_NOT_FOUND: there is no registration for the key, in the container or in its parents (a destroyed
 *   parent has none).
 * - SVK_CYCLE: the key needs itself; the path is in svk_last_error.
 * - SVK_CONTEXT_MISSING: strict, `test` is active, and the key has no `test` registration.
 * - SVK_FACTORY_FAILED: the factory gave no instance and no proper status.
 * - SVK_FACTORY_ERROR_BASE and up: the factory's own failure, unchanged.
 * - Any other status: a failure of a library call that the factory, or one below it, handed on.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_pin(svk_container *container, const char *key, void *SVK_NULLABLE *instance);

/* ---- States and streams -------------------------------------------------------------------------------- */

/** One state of a service, as its observers and readers see it. The library fills it in; it will not grow. */
typedef struct svk_state {
  /** Which of the stream's accepted sends it was, from 1; 0 is the initial state. */
  uint64_t version;

  /**
   * The bytes, aligned to 16. NULL or any address when `size` is 0. They do not change; how long they are
   * valid says who gave the struct: until the callback returns, or until the snapshot is released.
   */
  const void *SVK_NULLABLE data;

  /** The number of bytes. */
  size_t size;

  /**
   * How many states this observer lost to buffers since its last call, exactly. For a service's own
   * `on_state`: what the stream's buffer lost. Always 0 from svk_service_acquire.
   */
  uint64_t dropped;
} svk_state;

/**
 * Receives one state, in order. Of one service or one observer, no two calls run at the same time.
 *
 * @param state The state. It and its data are valid until the callback returns.
 * @param user_data From the options.
 */
typedef void (*svk_state_fn)(const svk_state *state, void *SVK_NULLABLE user_data);

/**
 * Learns that the stream has ended. Called once, after the last kept state; never because of a close or a
 * cancel.
 *
 * @param user_data From the options.
 */
typedef void (*svk_finish_fn)(void *SVK_NULLABLE user_data);

/**
 * Starts the producer of a stream. Called once, when a service attaches, on that thread, inside
 * svk_service_create.
 *
 * @param stream The stream. It may be sent to from here, and kept: the token is the one from
 *   svk_stream_create. It does not become yours to destroy a second time.
 * @param user_data From svk_stream_options.
 */
typedef void (*svk_start_fn)(svk_stream *stream, void *SVK_NULLABLE user_data);

/** How a stream buffers and starts. Begin with SVK_STREAM_OPTIONS_INIT, or with zeroed memory and `size`. */
typedef struct svk_stream_options {
  /** sizeof(svk_stream_options). */
  uint32_t size;

  /** What happens when the service lags: SVK_BUFFER_... */
  int32_t buffering;

  /**
   * How many states the buffer holds. Ignored with SVK_BUFFER_UNBOUNDED; 0 is SVK_INVALID_ARGUMENT with
   * the others.
   */
  size_t capacity;

  /** Called once, when a service attaches. May be NULL. */
  svk_start_fn SVK_NULLABLE start;

  /** Passed to `start`. */
  void *SVK_NULLABLE user_data;

  /** Frees `user_data`, when the stream is destroyed and `start` is not running. */
  svk_free_fn SVK_NULLABLE user_data_free;
} svk_stream_options;

/** Initialiser for svk_stream_options: `size` set, all else default. */
#define SVK_STREAM_OPTIONS_INIT \
  { (uint32_t)sizeof(svk_stream_options), SVK_BUFFER_UNBOUNDED, 0, NULL, NULL, NULL }

/**
 * Creates a stream, to which a service can be attached with svk_service_create.
 *
 * What is sent before a service attaches is buffered.
 *
 * @param options_or_null How to buffer and start; NULL for the defaults: unbounded, no `start`. Copied.
 * @param stream Receives the stream, which is yours until svk_stream_destroy. Required.
 *
 * On failure: `*stream` is NULL; `user_data_free` is not called.
 *
 * @return One of:
 * - SVK_OK: created.
 * - SVK_INVALID_ARGUMENT: `stream` is NULL; a bad `size`; unknown buffering; or a bounded buffer of
 *   capacity 0.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_stream_create(const svk_stream_options *SVK_NULLABLE options_or_null,
                                     svk_stream *SVK_NULLABLE *stream);

/**
 * Creates a void stream: its service never changes, and every send gives SVK_CLOSED.
 *
 * It has ended before it began: who waits for its states gets SVK_CLOSED, and `on_finish` comes at once. A
 * service whose `stream` is NULL has a void stream too.
 *
 * @param stream Receives the stream, which is yours until svk_stream_destroy. Required.
 *
 * On failure: `*stream` is NULL.
 *
 * @return One of:
 * - SVK_OK: created.
 * - SVK_INVALID_ARGUMENT: `stream` is NULL.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_stream_void(svk_stream *SVK_NULLABLE *stream);

/**
 * Sends a new state.
 *
 * If the service delivers inline and no delivery is under way, the service and its inline observers have
 * been called when it returns. If a delivery is under way (on another thread, or further up on this one
 * because this is called inside a callback), that delivery takes this state too, after the current one.
 *
 * Waits only for buffers with SVK_BUFFER_BLOCK: for room in the stream's own, also as long as no service
 * is attached, and for room in its observers'.
 *
 * @param stream The stream.
 * @param data The bytes, copied. May be NULL when `size` is 0, which is a valid, empty state.
 * @param size The number of bytes.
 *
 * @return One of:
 * - SVK_OK: accepted; it has a version now.
 * - SVK_BUFFER_FULL: the stream's buffer is full, and is SVK_BUFFER_OLDEST, or is SVK_BUFFER_BLOCK and
 *   this thread would have to drain it itself. The state was not taken, and has no version.
 * - SVK_CLOSED: the stream has ended, also while this call was waiting; or its service is closed; or it is
 *   a void stream.
 * - SVK_INVALID_ARGUMENT: `data` is NULL and `size` is not 0.
 * - SVK_INVALID_HANDLE: `stream` is NULL, ended or no stream.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_stream_send(svk_stream *stream, const void *SVK_NULLABLE data, size_t size);

/**
 * As svk_stream_send, but takes the block over instead of copying it.
 *
 * The block is freed exactly once, whatever this answers: at once when the send fails, else when nobody
 * holds the state any more, on whichever thread that happens. Do not touch it after the call. A block that
 * is not aligned to 16 bytes is copied all the same (malloc aligns well enough).
 *
 * @param stream The stream.
 * @param data The block. May be NULL when `size` is 0.
 * @param size The number of bytes.
 * @param data_free Called with `data` as its argument. NULL: there is nothing to free, and the bytes stay
 *   valid and unchanged for ever.
 *
 * @return One of:
 * - SVK_OK: accepted; it has a version now.
 * - SVK_BUFFER_FULL: as for svk_stream_send.
 * - SVK_CLOSED: as for svk_stream_send.
 * - SVK_INVALID_ARGUMENT: `data` is NULL and `size` is not 0.
 * - SVK_INVALID_HANDLE: `stream` is NULL, ended or no stream.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_stream_send_owned(svk_stream *stream, void *SVK_NULLABLE data, size_t size,
                                         svk_free_fn SVK_NULLABLE data_free);

/**
 * As svk_stream_send, with a limit to the wait for room in the stream's own SVK_BUFFER_BLOCK buffer.
 *
 * With other bufferings of the stream it does what svk_stream_send does. The wait for room in an
 * observer's blocking buffer is not limited by it.
 *
 * @param stream The stream.
 * @param data The bytes, copied. May be NULL when `size` is 0.
 * @param size The number of bytes.
 * @param timeout_ns How long to wait for room, in nanoseconds; 0: not at all; below 0: for ever.
 *
 * @return One of:
 * - SVK_OK: accepted; it has a version now.
 * - SVK_TIMEOUT: there was no room in time. The state was not taken, and has no version.
 * - SVK_BUFFER_FULL: as for svk_stream_send.
 * - SVK_CLOSED: as for svk_stream_send.
 * - SVK_INVALID_ARGUMENT: `data` is NULL and `size` is not 0.
 * - SVK_INVALID_HANDLE: `stream` is NULL, ended or no stream.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_stream_send_within(svk_stream *stream, const void *SVK_NULLABLE data, size_t size,
                                          int64_t timeout_ns);

/**
 * Ends a stream: what was kept is still delivered, then `on_finish` comes, once, to the service and to
 * each observer.
 *
 * Senders that wait for room are woken with SVK_CLOSED. The service, its state and its subscriptions stay,
 * and can be read, until they are closed and cancelled.
 *
 * @param stream The stream. Its token stays valid until svk_stream_destroy.
 *
 * @return One of:
 * - SVK_OK: ended.
 * - SVK_CLOSED: it had ended already, or is a void stream.
 * - SVK_INVALID_HANDLE: `stream` is NULL, ended or no stream.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_stream_finish(svk_stream *stream);

/**
 * Finishes a stream, if that was not done, and ends its token.
 *
 * Its service stays until it is closed, and still delivers what was kept. What was sent while no service
 * was attached is lost.
 *
 * @param stream The stream to end.
 *
 * @return One of:
 * - SVK_OK: done. `user_data_free` has been called, unless `start` is still running: then it is when
 *   `start` returns.
 * - SVK_INVALID_HANDLE: `stream` is NULL, ended or no stream.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_stream_destroy(svk_stream *stream);

/* ---- Stateful services --------------------------------------------------------------------------------- */

/** What a service is made of. Begin with SVK_SERVICE_OPTIONS_INIT, or with zeroed memory and `size`. */
typedef struct svk_service_options {
  /** sizeof(svk_service_options). */
  uint32_t size;

  /** 0 or SVK_SERVICE_SKIP_EQUAL. */
  uint32_t flags;

  /**
   * What svk_service_api gives, typically a struct of function pointers. Kept as a pointer, never read: it
   * must stay valid as long as the service. May be NULL.
   */
  const void *SVK_NULLABLE api;

  /** The initial state, version 0. Copied. May be NULL when `initial_size` is 0, for an empty state. */
  const void *SVK_NULLABLE initial;

  /** The number of bytes of `initial`. */
  size_t initial_size;

  /**
   * Where the states come from; NULL for a void stream: the state never changes. The token stays yours. A
   * stream can have one service in its life.
   */
  svk_stream *SVK_NULLABLE stream;

  /**
   * Where `on_state` and `on_finish` run and where the states move on to the observers:
   * SVK_DELIVER_INLINE, SVK_DELIVER_DISPATCHER or SVK_DELIVER_BACKGROUND.
   */
  int32_t delivery;

  /** With SVK_DELIVER_DISPATCHER, the dispatcher; ignored otherwise. The token stays yours. */
  svk_dispatcher *SVK_NULLABLE dispatcher;

  /**
   * Called on each new state, after it is stored and before the observers get it; not for the initial one.
   * May be NULL.
   */
  svk_state_fn SVK_NULLABLE on_state;

  /** Called once, after the last kept state, when the stream has ended. May be NULL. */
  svk_finish_fn SVK_NULLABLE on_finish;

  /** Passed to `on_state` and `on_finish`. */
  void *SVK_NULLABLE user_data;

  /** Frees `user_data`, when the service is closed and no callback of it runs. */
  svk_free_fn SVK_NULLABLE user_data_free;
} svk_service_options;

/** Initialiser for svk_service_options: `size` set, all else default. */
#define SVK_SERVICE_OPTIONS_INIT \
  { (uint32_t)sizeof(svk_service_options), \
    0, \
    NULL, \
    NULL, \
    0, \
    NULL, \
    SVK_DELIVER_INLINE, \
    NULL, \
    NULL, \
    NULL, \
    NULL, \
    NULL }

/**
 * Creates a service, attaches it to its stream, and calls the stream's `start`.
 *
 * What was sent to the stream before is delivered now, as any other state; with inline delivery, before
 * this returns. When a callback runs before it returns, `*service` is set already.
 *
 * @param options What it is made of. Copied.
 * @param service Receives the service, which is yours until svk_service_close. Required.
 *
 * On failure: `*service` is NULL; `user_data_free` is not called; `start` was not called.
 *
 * @return One of:
 * - SVK_OK: created.
 * - SVK_INVALID_ARGUMENT: `options` or `service` is NULL; a bad `size`; unknown flags or delivery, or
 *   SVK_DELIVER_PULL; `initial` is NULL and `initial_size` is not 0.
 * - SVK_INVALID_HANDLE: `stream` is not NULL and is ended or no stream; or SVK_DELIVER_DISPATCHER and
 *   `dispatcher` is NULL, ended or no dispatcher.
 * - SVK_ALREADY_EXISTS: the stream has, or had, a service.
 * - SVK_SYSTEM_ERROR: SVK_DELIVER_BACKGROUND and the worker thread could not be started.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_service_create(const svk_service_options *options, svk_service *SVK_NULLABLE *service);

/**
 * Ends a service: wakes those who wait for it with SVK_CLOSED, and cancels its observers as
 * svk_subscription_cancel would.
 *
 * After SVK_OK no callback of the service or of its observers runs or will run, not even for states
 * already buffered, and every `user_data_free` has been called. It waits for a callback that another
 * thread is in the middle of, except from inside a callback of the library, where it never waits. No
 * `on_finish` comes from it. Its subscriptions' tokens have ended with it. The stream is not destroyed,
 * but its sends give SVK_CLOSED from now on. Snapshots stay valid.
 *
 * @param service The service to end.
 *
 * @return One of:
 * - SVK_OK: closed, and all quiet.
 * - SVK_DEFERRED: called inside a callback, and a callback of the service or of an observer is still
 *   running, maybe this one. Nothing new starts; each `user_data_free` comes after the last callback that
 *   uses it.
 * - SVK_INVALID_HANDLE: `service` is NULL, closed or no service.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_service_close(svk_service *service);

/**
 * Gives the API pointer that the service was created with.
 *
 * @param service The service.
 *
 * @return svk_service_options.api; NULL if that was NULL, or if `service` is NULL, closed or no service.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API const void *SVK_NULLABLE svk_service_api(svk_service *service);

/**
 * Copies the current state. Never torn, however many senders there are.
 *
 * The version is the one under which the state was stored: a send skipped as equal
 * (SVK_SERVICE_SKIP_EQUAL) does not change it. The only callback that it may run is the `data_free` of a
 * state that was replaced meanwhile.
 *
 * @param service The service.
 * @param buffer Receives the bytes. May be NULL when `capacity` is 0, to ask for the size.
 * @param capacity The size of `buffer` in bytes.
 * @param size Receives the size of the state in bytes. May be NULL.
 * @param version Receives the version of the state. May be NULL.
 *
 * On failure: `*size` and `*version` are 0, except with SVK_BUFFER_TOO_SMALL, where `*size` is the size
 * needed. `buffer` is not written.
 *
 * @return One of:
 * - SVK_OK: copied. Also after the stream's end.
 * - SVK_BUFFER_TOO_SMALL: the state is larger than `capacity`. The next one may be larger still, so try in
 *   a loop.
 * - SVK_INVALID_ARGUMENT: `buffer` is NULL and `capacity` is not 0.
 * - SVK_INVALID_HANDLE: `service` is NULL, closed or no service.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_service_read(svk_service *service, void *SVK_NULLABLE buffer, size_t capacity,
                                    size_t *SVK_NULLABLE size, uint64_t *SVK_NULLABLE version);

/**
 * Gives the current state without copying it.
 *
 * @param service The service.
 * @param snapshot Receives the snapshot, which is yours until svk_snapshot_release. Required.
 * @param state Receives the state; its `data` is valid until the snapshot is released, also when the
 *   service is closed before. Required.
 *
 * On failure: `*snapshot` is NULL and `*state` is all zero.
 *
 * @return One of:
 * - SVK_OK: given. Also after the stream's end.
 * - SVK_INVALID_ARGUMENT: `snapshot` or `state` is NULL.
 * - SVK_INVALID_HANDLE: `service` is NULL, closed or no service.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_service_acquire(svk_service *service, svk_snapshot *SVK_NULLABLE *snapshot,
                                       svk_state *state);

/**
 * Gives a snapshot back. Its data must not be read any more.
 *
 * @param snapshot The snapshot to end.
 *
 * @return One of:
 * - SVK_OK: released.
 * - SVK_INVALID_HANDLE: `snapshot` is NULL, no snapshot, or released already.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_snapshot_release(svk_snapshot *snapshot);

/**
 * Waits until the service has a newer state than the one named.
 *
 * It does not tell of every state in between: see svk_subscription_next for that. A send skipped as equal
 * (SVK_SERVICE_SKIP_EQUAL) wakes nobody. Inside a callback that the service's own delivery has to finish
 * first, no newer state can come: use a timeout there.
 *
 * @param service The service.
 * @param after_version The version known already; returns at once if the current one is greater.
 * @param timeout_ns How long to wait, in nanoseconds; 0: not at all; below 0: for ever.
 * @param version Receives the current version. May be NULL.
 *
 * On failure: `*version` is 0.
 *
 * @return One of:
 * - SVK_OK: there is a newer state.
 * - SVK_TIMEOUT: there was none in time.
 * - SVK_CLOSED: the stream has ended and there is no newer state, or the service was closed while this
 *   waited.
 * - SVK_INVALID_HANDLE: `service` is NULL, closed or no service.
 *
 * [any thread · may wait · no callbacks]
 */
SVK_API svk_status svk_service_wait(svk_service *service, uint64_t after_version, int64_t timeout_ns,
                                    uint64_t *SVK_NULLABLE version);

/* ---- Observers ----------------------------------------------------------------------------------------- */

/** How a service is observed. Begin with SVK_OBSERVER_OPTIONS_INIT, or with zeroed memory and `size`. */
typedef struct svk_observer_options {
  /** sizeof(svk_observer_options). */
  uint32_t size;

  /** 0 or SVK_OBSERVE_CURRENT. */
  uint32_t flags;

  /**
   * Where `on_state` and `on_finish` run: SVK_DELIVER_... For inline delivery the sender's thread is the
   * one on which the service delivers.
   */
  int32_t delivery;

  /** With SVK_DELIVER_DISPATCHER, the dispatcher; ignored otherwise. The token stays yours. */
  svk_dispatcher *SVK_NULLABLE dispatcher;

  /**
   * What happens when this observer lags: SVK_BUFFER_... One slow observer takes nothing from another, but
   * with SVK_BUFFER_BLOCK it holds up the sender.
   */
  int32_t buffering;

  /**
   * How many states the buffer holds. Ignored with SVK_BUFFER_UNBOUNDED; 0 is SVK_INVALID_ARGUMENT with
   * the others.
   */
  size_t capacity;

  /** Called on each new state, in order. Required, except with SVK_DELIVER_PULL, where it is never called. */
  svk_state_fn SVK_NULLABLE on_state;

  /**
   * Called once, after the last kept state, when the stream has ended. May be NULL. Never called with
   * SVK_DELIVER_PULL, where svk_subscription_next says SVK_CLOSED instead.
   */
  svk_finish_fn SVK_NULLABLE on_finish;

  /** Passed to `on_state` and `on_finish`. */
  void *SVK_NULLABLE user_data;

  /**
   * Frees `user_data`, when the subscription is cancelled or its service closed, and no callback of it
   * runs. With dispatcher or pull delivery it runs inside a dispatch or inside the cancelling or closing
   * call.
   */
  svk_free_fn SVK_NULLABLE user_data_free;
} svk_observer_options;

/** Initialiser for svk_observer_options: `size` set, all else default. */
#define SVK_OBSERVER_OPTIONS_INIT \
  { (uint32_t)sizeof(svk_observer_options), \
    0, \
    SVK_DELIVER_INLINE, \
    NULL, \
    SVK_BUFFER_UNBOUNDED, \
    0, \
    NULL, \
    NULL, \
    NULL, \
    NULL }

/**
 * Begins to observe a service: `on_state` is called on each state from now on, in order.
 *
 * With SVK_OBSERVE_CURRENT and inline delivery, `on_state` is called with the current state before this
 * returns, with `*subscription` set already; with a dispatcher, its call is due when this returns. A
 * service whose stream has ended can be observed too: it gives the current state, if asked for, and then
 * its end.
 *
 * @param service The service.
 * @param options How to observe. Copied.
 * @param subscription Receives the subscription, which is yours until you cancel it or the service is
 *   closed. Required.
 *
 * On failure: `*subscription` is NULL; `user_data_free` is not called.
 *
 * @return One of:
 * - SVK_OK: observing.
 * - SVK_INVALID_ARGUMENT: `options` or `subscription` is NULL; a bad `size`; unknown flags, delivery or
 *   buffering; a bounded buffer of capacity 0; or `on_state` is NULL and the delivery is not
 *   SVK_DELIVER_PULL.
 * - SVK_INVALID_HANDLE: `service` is NULL, closed or no service; or SVK_DELIVER_DISPATCHER and
 *   `dispatcher` is NULL, ended or no dispatcher.
 * - SVK_SYSTEM_ERROR: the system refused the file descriptor for pull delivery, or the worker thread.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_service_observe(svk_service *service, const svk_observer_options *options,
                                       svk_subscription *SVK_NULLABLE *subscription);

/**
 * Ends a subscription, and waits until it is quiet.
 *
 * After SVK_OK no callback of it runs or will run, not even for states already buffered, and
 * `user_data_free` has been called. It waits for a callback that another thread is in the middle of; so do
 * not hold a lock that this callback takes. From inside any callback of the library it never waits. It can
 * also wait for the worker thread to end, when this was its last use. Who waits in svk_subscription_next
 * is woken with SVK_CLOSED. `on_finish` is not called.
 *
 * @param subscription The subscription to end.
 *
 * @return One of:
 * - SVK_OK: cancelled, and all quiet.
 * - SVK_DEFERRED: called inside a callback, and a callback of this subscription is still running, maybe
 *   this one. Nothing new starts; `user_data_free` is called once, after that callback, by a thread that
 *   is in the library already.
 * - SVK_INVALID_HANDLE: `subscription` is NULL, ended or no subscription.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_subscription_cancel(svk_subscription *subscription);

/**
 * As svk_subscription_cancel, but never waits, wherever it is called: for finalizers and for callers that
 * hold a lock.
 *
 * @param subscription The subscription to end.
 *
 * @return One of:
 * - SVK_OK: cancelled, and all quiet: `user_data_free` has been called.
 * - SVK_DEFERRED: a callback of this subscription is still running. Nothing new starts; `user_data_free`
 *   is called once, after that callback, by a thread that is in the library already.
 * - SVK_INVALID_HANDLE: `subscription` is NULL, ended or no subscription.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_subscription_cancel_nowait(svk_subscription *subscription);

/**
 * Takes the next state of a pull subscription, waiting for it if need be, without copying it.
 *
 * Several threads may ask: each state goes to one of them.
 *
 * @param subscription A subscription with SVK_DELIVER_PULL.
 * @param timeout_ns How long to wait, in nanoseconds; 0: not at all; below 0: for ever.
 * @param snapshot Receives the snapshot, which is yours until svk_snapshot_release. Required.
 * @param state Receives the state; its `data` is valid until the snapshot is released. Required.
 *
 * On failure: `*snapshot` is NULL and `*state` is all zero.
 *
 * @return One of:
 * - SVK_OK: taken.
 * - SVK_TIMEOUT: there was none in time.
 * - SVK_CLOSED: the stream has ended and every kept state was taken (the subscription must still be
 *   cancelled); or it was cancelled, or its service closed, while this waited.
 * - SVK_UNSUPPORTED: the subscription has another delivery.
 * - SVK_INVALID_ARGUMENT: `snapshot` or `state` is NULL.
 * - SVK_INVALID_HANDLE: `subscription` is NULL, ended or no subscription.
 *
 * [any thread · may wait · no callbacks]
 */
SVK_API svk_status svk_subscription_next(svk_subscription *subscription, int64_t timeout_ns,
                                         svk_snapshot *SVK_NULLABLE *snapshot, svk_state *state);

/**
 * Takes the next state of a pull subscription, waiting for it if need be, and copies it.
 *
 * @param subscription A subscription with SVK_DELIVER_PULL.
 * @param timeout_ns How long to wait, in nanoseconds; 0: not at all; below 0: for ever.
 * @param buffer Receives the bytes. May be NULL when `capacity` is 0.
 * @param capacity The size of `buffer` in bytes.
 * @param size Receives the size of the state in bytes. May be NULL.
 * @param version Receives the version of the state. May be NULL.
 * @param dropped Receives how many states were lost to the buffer since the last one taken. May be NULL.
 *
 * On failure: `*size`, `*version` and `*dropped` are 0, except with SVK_BUFFER_TOO_SMALL, where `*size` is
 * the size needed. `buffer` is not written.
 *
 * @return One of:
 * - SVK_OK: taken.
 * - SVK_BUFFER_TOO_SMALL: the next state is larger than `capacity`. It is not taken: call again with more
 *   room. With SVK_BUFFER_NEWEST another one may have taken its place by then, so try in a loop.
 * - SVK_TIMEOUT: there was none in time.
 * - SVK_CLOSED: the stream has ended and every kept state was taken (the subscription must still be
 *   cancelled); or it was cancelled, or its service closed, while this waited.
 * - SVK_UNSUPPORTED: the subscription has another delivery.
 * - SVK_INVALID_ARGUMENT: `buffer` is NULL and `capacity` is not 0.
 * - SVK_INVALID_HANDLE: `subscription` is NULL, ended or no subscription.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_subscription_next_copy(svk_subscription *subscription, int64_t timeout_ns,
                                              void *SVK_NULLABLE buffer, size_t capacity,
                                              size_t *SVK_NULLABLE size, uint64_t *SVK_NULLABLE version,
                                              uint64_t *SVK_NULLABLE dropped);

/**
 * Gives a file descriptor that is readable while svk_subscription_next has something to say, for poll,
 * epoll or an event loop.
 *
 * It stays readable after the stream's end. It belongs to the library: only watch it, do not read, write
 * or close it, and stop watching it before the subscription is cancelled or its service closed. In a
 * forked child ask again.
 *
 * @param subscription A subscription with SVK_DELIVER_PULL.
 *
 * @return The file descriptor; -1 if the subscription has another delivery, or is NULL, ended or none, or
 *   if the system refused: svk_last_error says which.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API int32_t svk_subscription_fd(svk_subscription *subscription);

/**
 * Says how many states a subscription lost to buffers in all, those after the last delivered state
 * included.
 *
 * @param subscription The subscription, of any delivery.
 * @param total Receives the count since svk_service_observe. May be NULL.
 *
 * On failure: `*total` is 0.
 *
 * @return One of:
 * - SVK_OK: given. Also after the stream's end.
 * - SVK_INVALID_HANDLE: `subscription` is NULL, ended or no subscription.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_subscription_dropped(svk_subscription *subscription, uint64_t *SVK_NULLABLE total);

/* ---- Dispatchers --------------------------------------------------------------------------------------- */

/**
 * Creates a dispatcher: a queue of callbacks that a thread of yours runs with svk_dispatcher_dispatch.
 *
 * @param dispatcher Receives the dispatcher, which is yours until svk_dispatcher_destroy. Required.
 *
 * On failure: `*dispatcher` is NULL.
 *
 * @return One of:
 * - SVK_OK: created.
 * - SVK_INVALID_ARGUMENT: `dispatcher` is NULL.
 * - SVK_SYSTEM_ERROR: the system refused the file descriptor.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API svk_status svk_dispatcher_create(svk_dispatcher *SVK_NULLABLE *dispatcher);

/**
 * Ends a dispatcher: wakes who waits in svk_dispatcher_dispatch with SVK_CLOSED, and cancels what delivers
 * there.
 *
 * Observers that deliver there are cancelled as by svk_subscription_cancel, services that deliver there
 * are closed as by svk_service_close; what is still queued is not delivered. It waits for a callback that
 * another thread is in the middle of, except from inside a callback of the library, where it never waits.
 * Stop watching its file descriptor before.
 *
 * @param dispatcher The dispatcher to end.
 *
 * @return One of:
 * - SVK_OK: ended, and all quiet.
 * - SVK_DEFERRED: called inside a callback, and a callback of what delivers there is still running, maybe
 *   this one. Nothing new starts; each `user_data_free` comes after the last callback that uses it.
 * - SVK_INVALID_HANDLE: `dispatcher` is NULL, ended or no dispatcher.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_dispatcher_destroy(svk_dispatcher *dispatcher);

/**
 * Gives a file descriptor (an eventfd) that is readable while there is work, for epoll, libuv, GLib,
 * asyncio or any other event loop.
 *
 * When it is readable, call svk_dispatcher_dispatch. It is not readable once all is drained. A dispatch
 * that leaves work behind signals it again, so edge-triggered loops lose nothing. It belongs to the
 * library: only watch it, do not read, write or close it. In a forked child ask again.
 *
 * @param dispatcher The dispatcher.
 *
 * @return The file descriptor, the same until the dispatcher ends; -1 if `dispatcher` is NULL, ended or
 *   none, or if the system refused: svk_last_error says which.
 *
 * [any thread · never waits · no callbacks]
 */
SVK_API int32_t svk_dispatcher_fd(svk_dispatcher *dispatcher);

/**
 * Wakes the thread that waits in svk_dispatcher_dispatch, or the next one that would wait: a wake before
 * the wait is remembered.
 *
 * May be called in a signal handler: it keeps errno, and leaves svk_last_error alone. Several wakes before
 * a dispatch count as one.
 *
 * @param dispatcher The dispatcher.
 *
 * @return One of:
 * - SVK_OK: woken.
 * - SVK_INVALID_HANDLE: `dispatcher` is NULL, ended or no dispatcher.
 *
 * [any thread · never waits · no callbacks · signal-safe]
 */
SVK_API svk_status svk_dispatcher_wake(svk_dispatcher *dispatcher);

/**
 * Runs the callbacks that are ready on this dispatcher, on this thread, waiting for the first if need be.
 *
 * One thread dispatches at a time. Callbacks that become ready meanwhile may be run too. `user_data_free`
 * of what was cancelled may run here as well; it is not counted.
 *
 * @param dispatcher The dispatcher.
 * @param max How many callbacks to run at most; 0: all that is ready. What is left makes the file
 *   descriptor readable again.
 * @param timeout_ns How long to wait for the first, in nanoseconds; 0: not at all; below 0: for ever.
 * @param count Receives how many callbacks were run. May be NULL.
 *
 * On failure: `*count` is 0.
 *
 * @return One of:
 * - SVK_OK: callbacks were run; or a wake came, with a count of 0.
 * - SVK_TIMEOUT: nothing was ready in time, and no wake came.
 * - SVK_BUSY: another thread is dispatching this dispatcher, or this was called inside one of its own
 *   callbacks.
 * - SVK_CLOSED: the dispatcher was destroyed while this waited.
 * - SVK_INVALID_HANDLE: `dispatcher` is NULL, ended or no dispatcher.
 *
 * [any thread · may wait · calls back]
 */
SVK_API svk_status svk_dispatcher_dispatch(svk_dispatcher *dispatcher, size_t max, int64_t timeout_ns,
                                           size_t *SVK_NULLABLE count);

/* ---- Diagnostics --------------------------------------------------------------------------------------- */

/**
 * Receives one message of the library's log, on whichever thread it arises, the worker thread included;
 * several threads may call it at the same time.
 *
 * @param level SVK_LOG_ERROR to SVK_LOG_DEBUG.
 * @param message The text, one line without a line end. Valid until the callback returns.
 * @param user_data From svk_set_log.
 */
typedef void (*svk_log_fn)(int32_t level, const char *message, void *SVK_NULLABLE user_data);

/**
 * Sets or removes the log function of the process. Without one the library's messages are dropped: it
 * prints nothing by itself.
 *
 * @param log_or_null The function; NULL removes the present one, and the other arguments are then ignored.
 * @param most_detailed_level Messages above this level are not made: SVK_LOG_ERROR (fewest) to
 *   SVK_LOG_DEBUG (all).
 * @param user_data Passed to the function.
 * @param user_data_free Frees `user_data` when the function has been replaced or removed and its last
 *   running call has returned. May be NULL.
 *
 * On failure: Nothing changed; `user_data_free` is not called.
 *
 * @return One of:
 * - SVK_OK: done.
 * - SVK_INVALID_ARGUMENT: an unknown level.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_set_log(svk_log_fn SVK_NULLABLE log_or_null, int32_t most_detailed_level,
                               void *SVK_NULLABLE user_data, svk_free_fn SVK_NULLABLE user_data_free);

/**
 * One resolve that has ended. Newer versions may add fields at the end: `size` says how many bytes are
 * there.
 */
typedef struct svk_trace_event {
  /** The size of the struct in the library that fills it in. */
  uint32_t size;

  /** What happened: SVK_TRACE_... */
  int32_t kind;

  /** How many resolves on this thread were in progress around this one; 0 is the outermost. */
  uint32_t depth;

  /** The key. Valid until the callback returns. */
  const char *key;

  /** The instance; NULL with SVK_TRACE_FAILED. It is alive until the callback returns. */
  void *SVK_NULLABLE instance;
} svk_trace_event;

/**
 * Receives one event per resolve, when it ends, on the resolving thread: dependencies come before their
 * dependents.
 *
 * @param event The event. Valid until the callback returns.
 * @param user_data From svk_container_set_trace.
 */
typedef void (*svk_trace_fn)(const svk_trace_event *event, void *SVK_NULLABLE user_data);

/**
 * Sets or removes the trace function of a container.
 *
 * An event goes to the nearest container with a trace function, from the container asked up to the root.
 * Resolves cost more while there is one.
 *
 * @param container The container.
 * @param trace_or_null The function; NULL removes the present one, and the other arguments are then
 *   ignored.
 * @param user_data Passed to the function.
 * @param user_data_free Frees `user_data` when the function has been replaced or removed, or the container
 *   is gone, and its last running call has returned. May be NULL.
 *
 * On failure: Nothing changed; `user_data_free` is not called.
 *
 * @return One of:
 * - SVK_OK: done.
 * - SVK_INVALID_HANDLE: `container` is NULL, ended, being destroyed or no container.
 *
 * [any thread · never waits · calls back]
 */
SVK_API svk_status svk_container_set_trace(svk_container *container, svk_trace_fn SVK_NULLABLE trace_or_null,
                                           void *SVK_NULLABLE user_data,
                                           svk_free_fn SVK_NULLABLE user_data_free);

#ifdef __cplusplus
}
#endif

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif
