/**
 * @file servicekit.hpp
 * The C++17 face of servicekit.h: header only, with nothing of its own to link. What servicekit.h says of
 * tokens, scopes, contexts, deliveries, buffers, threads and the end of things holds here too and is not
 * repeated: read its first comment.
 *
 * ## A first program
 *
 *     struct logger { void line(std::string_view text); };
 *
 *     auto container = svk::container::create().value();
 *     container.add("logger", svk::scope::cached, [] { return std::make_unique<logger>(); }).value();
 *     auto log = container.resolve<logger>("logger").value();
 *     log->line("hello");
 *
 * ## Owners and references
 *
 * Each kind of token has an owner, which is movable, cannot be copied, and gives the token back in its
 * destructor: container, handle, custom_scope, stream, service, snapshot, subscription, dispatcher. Where a
 * token is only borrowed there is a reference as well (container_ref, stream_ref, service_ref): a copyable
 * word with the same functions. Owners derive from their references, so either may be passed where a
 * reference is asked for. `get()` is the C token, `release()` hands it over, and every owner can be made of
 * a C token: C and C++ may work on the same things. An empty owner or reference is the NULL token: its
 * functions answer SVK_INVALID_HANDLE. As everywhere in the library, no use of an ended token is undefined.
 *
 * ## Failures: results or exceptions, as you like
 *
 * What can fail returns a svk::result<T>, which is a svk_status and a T. Ask it (`if (!r) … r.status(),
 * r.message()`), or take the value out with `value()`, which throws svk::error, with the status and the
 * words, if there is none. Nothing else here throws, except what allocates memory. Without exceptions in
 * the compiler (-fno-exceptions) `value()` ends the process instead.
 *
 * ## Exceptions in callbacks
 *
 * A callback may throw; nothing passes through the library's frames.
 *
 * - A factory that throws svk::error fails with that status; one that throws anything else fails with
 *   svk::threw. The words of the exception are in the message() of the result of whoever resolved on that
 *   thread.
 * - What any other callback throws becomes the status svk::threw, with its words, of the function of this
 *   header within which it ran on this thread: send, finish, observe, create, dispatch, cancel, close. The
 *   function has done what it was asked to all the same. So the thread that dispatches learns of its
 *   observers' exceptions, and the one that sends of those that are called inline.
 * - Where there is no such function (the worker thread, a caller written in C, a decorator or a destructor
 *   during a resolve or release) it is dropped. The function set with set_exception_handler sees every one
 *   of them, at once, on the thread where it happened.
 *
 * ## What it costs
 *
 * As much as the same calls in C. Strings that are NUL-terminated already are passed on as they are; a
 * std::string_view is copied to the stack. A callable that fits into a pointer, is trivially copyable and
 * const-callable (a lambda that captures nothing, one reference or one pointer) is kept in `user_data`
 * itself; others are moved to the heap once and freed by `user_data_free`. Words of failures are fetched
 * when you ask for them.
 *
 * ## States
 *
 * `send`, `read<T>`, `observe<T>` and `next<T>` carry trivially copyable types, by their bytes. A state of
 * another size than T is never shown as a T: read and next answer SVK_TYPE_MISMATCH, observe<T> passes over
 * it and counts it as dropped. Bytes of any length go through the functions without a type.
 */
#ifndef SERVICEKIT_HPP
#define SERVICEKIT_HPP

#include <servicekit.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define SVK_HPP_EXCEPTIONS 1
#else
#define SVK_HPP_EXCEPTIONS 0
#endif

namespace svk {

/* ---- Failures ------------------------------------------------------------------------------------------ */

/** The status of a callback that threw something else than svk::error. */
inline constexpr svk_status threw = std::numeric_limits<svk_status>::max();

/** A failure as an exception. */
class error : public std::runtime_error {
public:
  /**
   * @param status What a factory that throws this fails with: SVK_FACTORY_ERROR_BASE or more, or a failure
   *   of the library that it hands on.
   * @param words For people.
   */
  error(svk_status status, const std::string &words) : std::runtime_error(words), status_(status) {}

  svk_status status() const noexcept { return status_; }

private:
  svk_status status_;
};

/** Sees an exception that a callback threw. May be called on several threads at once; must not throw. */
using exception_handler = void (*)(std::exception_ptr);

namespace detail {

inline exception_handler &handler_slot() noexcept {
  static exception_handler handler = nullptr;
  return handler;
}

/** What svk_last_error cannot know: this thread's last failure in this face's own words. Trivial on purpose:
 * callbacks run while a thread ends, too. */
struct words {
  enum source : unsigned char { none, factory, face };
  svk_status status;
  source from;
  bool fresh; /* set by a factory, and not yet seen by whoever resolved */
  unsigned serial;
  char text[500];
};
inline thread_local words last_words{};

inline void explain(svk_status status, words::source from, const char *text) noexcept {
  last_words.status = status;
  last_words.from = from;
  last_words.fresh = true;
  ++last_words.serial;
  std::size_t size = std::strlen(text);
  if (size >= sizeof last_words.text) {
    size = sizeof last_words.text - 1;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80)
      --size; /* no half characters */
  }
  std::memmove(last_words.text, text, size);
  last_words.text[size] = '\0';
}

/** Every failure comes past here: words that belong to an earlier one are forgotten. */
inline svk_status failed(svk_status status) noexcept {
  if (last_words.status != status || !last_words.fresh)
    last_words.from = words::none;
  last_words.fresh = false;
  return status;
}
inline svk_status checked(svk_status status) noexcept { return status == SVK_OK ? status : failed(status); }

inline svk_status mismatch(std::size_t size, std::size_t expected) {
  explain(
      SVK_TYPE_MISMATCH, words::face,
      ("there are " + std::to_string(size) + " bytes, and the type asked for has " + std::to_string(expected))
          .c_str());
  return SVK_TYPE_MISMATCH;
}

inline std::string message(svk_status status) {
  if (status == SVK_OK)
    return {};
  const bool ours = last_words.status == status && last_words.from != words::none;
  if (ours && last_words.from == words::face)
    return last_words.text;
  std::string text = svk_last_error();
  if (ours && text.find(last_words.text) == std::string::npos)
    text.append(": ").append(last_words.text);
  return text;
}

/** Takes an exception apart: its status, and its words to keep. */
inline svk_status keep_words(const std::exception_ptr &exception, words::source from) noexcept {
#if SVK_HPP_EXCEPTIONS
  try {
    std::rethrow_exception(exception);
  } catch (const error &thrown) {
    explain(thrown.status(), from, thrown.what());
    return thrown.status();
  } catch (const std::exception &thrown) {
    explain(threw, from, thrown.what());
  } catch (...) {
    explain(threw, from, "an exception that is no std::exception");
  }
#else
  (void)exception, (void)from;
#endif
  return threw;
}

/** A function of this face within which callbacks may run on this thread, and which can answer for them. */
class frame {
public:
  frame() noexcept : outer_(current()) { current() = this; }
  ~frame() { current() = outer_; }
  frame(const frame &) = delete;
  frame &operator=(const frame &) = delete;

  svk_status settle(svk_status status) noexcept {
    if (exception_ && (status == SVK_OK || status == SVK_DEFERRED)) {
      keep_words(exception_, words::face);
      last_words.status = threw;
      status = threw;
    }
    return checked(status);
  }

  static void uncaught(std::exception_ptr exception) noexcept {
    if (const exception_handler handler = __atomic_load_n(&handler_slot(), __ATOMIC_ACQUIRE))
      handler(exception);
    if (current() != nullptr && !current()->exception_)
      current()->exception_ = std::move(exception);
  }

private:
  static frame *&current() noexcept {
    static thread_local frame *innermost = nullptr;
    return innermost;
  }

  frame *outer_;
  std::exception_ptr exception_;
};

template <class Call> void guarded(Call &&call) noexcept {
#if SVK_HPP_EXCEPTIONS
  try {
    call();
  } catch (...) {
    frame::uncaught(std::current_exception());
  }
#else
  call();
#endif
}

template <class Call> svk_status guarded_factory(Call &&call) noexcept {
  const unsigned before = last_words.serial;
#if SVK_HPP_EXCEPTIONS
  try {
#endif
    const svk_status status = call();
    if (status != SVK_OK && last_words.status == status && last_words.serial != before)
      last_words.fresh = true; /* a factory that hands on the failure of another within it */
    return status;
#if SVK_HPP_EXCEPTIONS
  } catch (...) {
    const svk_status status = keep_words(std::current_exception(), words::factory);
    if (const exception_handler handler = __atomic_load_n(&handler_slot(), __ATOMIC_ACQUIRE))
      handler(std::current_exception());
    return status == SVK_OK ? SVK_FACTORY_FAILED : status;
  }
#endif
}

[[noreturn]] inline void fail(svk_status status) {
#if SVK_HPP_EXCEPTIONS
  throw error(status, message(status));
#else
  (void)status;
  std::abort();
#endif
}

} // namespace detail

/**
 * Sets the function of this process that sees every exception thrown by a callback. Give nullptr for none.
 *
 * @return The one before.
 */
inline exception_handler set_exception_handler(exception_handler handler) noexcept {
  return __atomic_exchange_n(&detail::handler_slot(), handler, __ATOMIC_ACQ_REL);
}

/** A failure as a value: `return svk::failure{1001};` in a factory that returns a result. */
struct failure {
  svk_status status;
};

/** A status, and a T if the status is SVK_OK. SVK_DEFERRED counts as success: see servicekit.h. */
template <class T> class [[nodiscard]] result {
public:
  using value_type = T;

  result(T value) : status_(SVK_OK), value_(std::move(value)) {}
  result(failure failed) : status_(failed.status), value_() {}
  result(svk_status status, T value) : status_(status), value_(std::move(value)) {}

  bool has_value() const noexcept { return status_ == SVK_OK; }
  explicit operator bool() const noexcept { return has_value(); }
  svk_status status() const noexcept { return status_; }

  /** The failure in words. Ask for it before another call fails on this thread. "" after a success. */
  std::string message() const { return detail::message(status_); }
  /** The failure as the exception that value() would throw. */
  svk::error error() const { return svk::error(status_, message()); }

  /** The value, or the exception svk::error. */
  T &value() & { return check(), value_; }
  const T &value() const & { return check(), value_; }
  T value() && { return check(), std::move(value_); }

  template <class U> T value_or(U &&other) && {
    return has_value() ? std::move(value_) : static_cast<T>(std::forward<U>(other));
  }

  /** The value; after a failure an empty T. */
  T &operator*() & noexcept { return value_; }
  const T &operator*() const & noexcept { return value_; }
  T &&operator*() && noexcept { return std::move(value_); }
  T *operator->() noexcept { return &value_; }
  const T *operator->() const noexcept { return &value_; }

private:
  void check() const {
    if (status_ != SVK_OK)
      detail::fail(status_);
  }

  svk_status status_;
  T value_;
};

template <> class [[nodiscard]] result<void> {
public:
  using value_type = void;

  result() noexcept : status_(SVK_OK) {}
  result(failure failed) noexcept : status_(failed.status) {}

  bool has_value() const noexcept { return status_ == SVK_OK || status_ == SVK_DEFERRED; }
  explicit operator bool() const noexcept { return has_value(); }
  svk_status status() const noexcept { return status_; }
  /** Accepted, and completed when a callback that is running now has returned. */
  bool deferred() const noexcept { return status_ == SVK_DEFERRED; }

  std::string message() const { return has_value() ? std::string() : detail::message(status_); }
  svk::error error() const { return svk::error(status_, message()); }
  void value() const {
    if (!has_value())
      detail::fail(status_);
  }

private:
  svk_status status_;
};

/** Turns the status of a C function into a result. */
inline result<void> check(svk_status status) noexcept { return failure{ detail::checked(status) }; }

/* ---- Names, times, constants --------------------------------------------------------------------------- */

/**
 * The argument of a function that takes a key or another name. NUL-terminated text is passed on as it is.
 * A std::string_view is copied, to the stack; one that is too long, or has a NUL in it, is no valid name
 * and is refused by the library as such.
 */
class name {
public:
  name(const char *text) noexcept : text_(text) {}
  name(const std::string &text) noexcept : name(std::string_view(text)) {
    if (std::strlen(text.c_str()) == text.size())
      text_ = text.c_str();
  }
  name(std::string_view text) noexcept : text_(copy_) {
    const std::size_t size = text.size() < sizeof copy_ ? text.size() : sizeof copy_ - 1;
    for (std::size_t i = 0; i < size; ++i)
      copy_[i] = text[i] != '\0' ? text[i] : '\x01';
    copy_[size] = '\0';
  }
  name(const name &) = delete;
  name &operator=(const name &) = delete;

  const char *c_str() const noexcept { return text_; }

private:
  const char *text_;
  char copy_[257]; /* one byte more than the longest key */
};

struct forever_t {};
/** A timeout without an end. */
inline constexpr forever_t forever{};

/** A timeout. A negative duration is one that is over already; only svk::forever is without an end. */
class timeout {
public:
  constexpr timeout(forever_t) noexcept : nanoseconds_(-1) {}
  template <class Rep, class Period>
  constexpr timeout(std::chrono::duration<Rep, Period> duration) noexcept
      : nanoseconds_(saturate(duration)) {}

  constexpr std::int64_t nanoseconds() const noexcept { return nanoseconds_; }

private:
  template <class Rep, class Period>
  static constexpr std::int64_t saturate(std::chrono::duration<Rep, Period> duration) noexcept {
    if (!(duration.count() > 0)) /* also what is not a number */
      return 0;
    using exact = std::chrono::duration<double, std::nano>;
    if (std::chrono::duration_cast<exact>(duration).count() >= 9.2e18)
      return std::numeric_limits<std::int64_t>::max();
    return std::chrono::duration_cast<std::chrono::duration<std::int64_t, std::nano>>(duration).count();
  }

  std::int64_t nanoseconds_;
};

/** How long an instance is kept. As a value for the options; svk::custom_scope is the thing itself. */
enum class scope : std::int32_t {
  unset = SVK_SCOPE_DEFAULT,
  unique = SVK_SCOPE_UNIQUE,
  cached = SVK_SCOPE_CACHED,
  shared = SVK_SCOPE_SHARED,
  singleton = SVK_SCOPE_SINGLETON,
  graph = SVK_SCOPE_GRAPH,
};

/** Where callbacks run. Delivery by a dispatcher is chosen by naming it; pulling is service_ref::pull. */
enum class delivery : std::int32_t {
  on_sender = SVK_DELIVER_INLINE,
  in_background = SVK_DELIVER_BACKGROUND,
};

/** What a reset drops. Combine with |. */
enum class reset : std::uint32_t {
  registrations = SVK_RESET_REGISTRATIONS,
  contexts = SVK_RESET_CONTEXTS,
  scopes = SVK_RESET_SCOPES,
  all = SVK_RESET_ALL,
};
constexpr reset operator|(reset a, reset b) noexcept {
  return static_cast<reset>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

/** The format of a description. */
enum class format : std::int32_t { text = SVK_FORMAT_TEXT, json = SVK_FORMAT_JSON, dot = SVK_FORMAT_DOT };

/** What happens when the consumer lags: SVK_BUFFER_... */
struct buffer {
  std::int32_t buffering = SVK_BUFFER_UNBOUNDED;
  std::size_t capacity = 0;
};
inline constexpr buffer unbounded{};
constexpr buffer newest(std::size_t capacity) noexcept { return { SVK_BUFFER_NEWEST, capacity }; }
constexpr buffer oldest(std::size_t capacity) noexcept { return { SVK_BUFFER_OLDEST, capacity }; }
constexpr buffer blocking(std::size_t capacity) noexcept { return { SVK_BUFFER_BLOCK, capacity }; }

/** The version of the library that is loaded, as svk_version. */
inline std::uint32_t version() noexcept { return svk_version(); }

/**
 * The name under which a type is registered and asked for (svk_factory_options.type). By default it is the
 * compiler's own, the same for all that are compiled with the Itanium ABI (GCC and Clang). Give a type a
 * name of yours, also to share it with C, by a member `static constexpr const char *service_type`, or by
 * specialising this. nullptr: registered without a type, and not checked.
 */
template <class T, class = void> struct type_name {
  static const char *get() noexcept {
#if defined(__GXX_RTTI) || defined(__cpp_rtti)
    return typeid(T).name();
#else
    return nullptr;
#endif
  }
};
template <class T> struct type_name<T, std::void_t<decltype(T::service_type)>> {
  static const char *get() noexcept { return T::service_type; }
};

/* ---- Callables in user_data ---------------------------------------------------------------------------- */

namespace detail {

/** Stands for a callback that is not given. */
struct nothing {};

template <class F>
inline constexpr bool fits_a_pointer =
    std::is_trivially_copyable_v<F> && sizeof(F) <= sizeof(void *) && alignof(F) <= alignof(void *);

/** Keeps an F in a user_data: in the pointer itself if InPlace, else on the heap. */
template <class F, bool InPlace> struct kept {
  static void *keep(F &&callable) { return new F(std::move(callable)); }
  static void drop(void *user_data) noexcept {
    guarded([user_data] { delete static_cast<F *>(user_data); });
  }
  static constexpr svk_free_fn user_data_free = drop;

  template <class Use> static decltype(auto) with(void *user_data, Use &&use) {
    return use(*static_cast<F *>(user_data));
  }
};
template <class F> struct kept<F, true> {
  static constexpr svk_free_fn user_data_free = nullptr;

  static void *keep(F &&callable) noexcept {
    void *user_data = nullptr;
    std::memcpy(&user_data, static_cast<const void *>(std::addressof(callable)), sizeof callable);
    return user_data;
  }
  static void drop(void *) noexcept {}
  template <class Use> static decltype(auto) with(void *user_data, Use &&use) {
    alignas(void *) unsigned char bytes[sizeof(void *)];
    std::memcpy(bytes, &user_data, sizeof user_data);
    return use(*std::launder(reinterpret_cast<const F *>(bytes)));
  }
};

/** Bytes to send or to pass: those of a text, or of a value. */
struct bytes_of {
  const void *data;
  std::size_t size;

  template <class T> static bytes_of value(const T &value) noexcept {
    if constexpr (std::is_convertible_v<const T &, std::string_view>) {
      const std::string_view text = value;
      return { text.data(), text.size() };
    } else {
      static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable types travel by their bytes");
      static_assert(!std::is_pointer_v<T>, "this would send the address, not what it points to");
      return { std::addressof(value), sizeof value };
    }
  }
};

template <class T> constexpr void check_state_type() noexcept {
  static_assert(std::is_trivially_copyable_v<T>, "a typed state is trivially copyable; others go as bytes");
  static_assert(!std::is_pointer_v<T>, "this would carry the address, not what it points to");
  static_assert(alignof(T) <= 16, "states are aligned to 16 bytes");
}

/** How an F wants a state: as the bytes (T is void), as a T, or as a T with all of its svk_state. */
template <class T, class F> void call_with_state(F &callable, const svk_state &state) {
  if constexpr (std::is_void_v<T>) {
    callable(state);
  } else {
    check_state_type<T>();
    if (state.size != sizeof(T)) {
      frame::uncaught(std::make_exception_ptr(error(
          SVK_TYPE_MISMATCH, "a state of " + std::to_string(state.size) +
                                 " bytes came to an observer of a type with " + std::to_string(sizeof(T)))));
      return;
    }
    const T &value = *std::launder(static_cast<const T *>(state.data));
    if constexpr (std::is_invocable_v<F &, const T &, const svk_state &>)
      callable(value, state);
    else
      callable(value);
  }
}
template <class T, class F, class = void> struct takes_state : std::is_invocable<F &, const T &> {};
template <class T, class F>
struct takes_state<T, F, std::enable_if_t<std::is_invocable_v<F &, const T &, const svk_state &>>>
    : std::true_type {};
template <class F> struct takes_state<void, F> : std::is_invocable<F &, const svk_state &> {};

/** The callbacks of a service or an observer, as the options structs want them. */
template <class T, class F, class G> struct state_callbacks {
  struct pair {
    F on_state;
    G on_finish;
  };
  static constexpr bool no_state = std::is_same_v<F, nothing>;
  static constexpr bool no_finish = std::is_same_v<G, nothing>;
  static_assert(
      no_state || takes_state<T, F>::value,
      "on_state takes (const svk_state &) or, with a type, (const T &) or (const T &, const svk_state &)");
  static_assert(no_finish || std::is_invocable_v<G &>, "on_finish takes nothing");

  static constexpr bool in_place = [] {
    if constexpr (no_state && no_finish)
      return true;
    else if constexpr (no_finish)
      return fits_a_pointer<F> && takes_state<T, const F>::value;
    else
      return false;
  }();
  using content = std::conditional_t<in_place, F, pair>;
  using storage = kept<content, in_place>;

  template <class Options> static void fill(Options &options, F &&on_state, G &&on_finish) {
    if constexpr (in_place) {
      (void)on_finish;
      options.user_data = storage::keep(std::move(on_state));
    } else {
      options.user_data = storage::keep(pair{ std::move(on_state), std::move(on_finish) });
    }
    options.user_data_free = storage::user_data_free;
    if constexpr (!no_state)
      options.on_state = [](const svk_state *state, void *user_data) {
        guarded([=] {
          storage::with(user_data, [&](auto &callables) {
            if constexpr (in_place)
              call_with_state<T>(callables, *state);
            else
              call_with_state<T>(callables.on_state, *state);
          });
        });
      };
    if constexpr (!no_finish)
      options.on_finish = [](void *user_data) {
        guarded([=] { storage::with(user_data, [](auto &callables) { callables.on_finish(); }); });
      };
  }
};

/** An owner: a reference that gives its token back. */
template <class Reference, class Token, svk_status (*End)(Token *)> class owner : public Reference {
public:
  constexpr owner() noexcept = default;
  explicit owner(Token *token) noexcept : Reference(token) {}
  owner(owner &&other) noexcept : Reference(other.release()) {}
  owner &operator=(owner &&other) noexcept {
    if (this != &other) {
      Token *token = other.release();
      end();
      this->token_ = token;
    }
    return *this;
  }
  owner(const owner &) = delete;
  owner &operator=(const owner &) = delete;
  ~owner() { end(); }

  /** Hands the token over: it is the caller's to end. */
  Token *release() noexcept { return std::exchange(this->token_, nullptr); }

protected:
  svk_status end() noexcept { return this->token_ != nullptr ? End(release()) : SVK_INVALID_HANDLE; }
};

/** A token that is borrowed, or the base of an owner. */
template <class Token> class reference {
public:
  constexpr reference() noexcept = default;
  constexpr explicit reference(Token *token) noexcept : token_(token) {}
  Token *get() const noexcept { return token_; }
  explicit operator bool() const noexcept { return token_ != nullptr; }

protected:
  Token *token_ = nullptr;
};

} // namespace detail

/* ---- Instances ----------------------------------------------------------------------------------------- */

/** A lease on an instance: while it is held, the T lives. Behaves as a pointer to it. */
template <class T>
class handle : public detail::owner<detail::reference<svk_handle>, svk_handle, svk_release> {
  using base = detail::owner<detail::reference<svk_handle>, svk_handle, svk_release>;

public:
  using element_type = T;

  handle() noexcept = default;
  /** Takes over a handle on what is known to be a T. */
  explicit handle(svk_handle *token) noexcept
      : base(token), instance_(static_cast<T *>(svk_instance(token))) {}
  handle(handle &&other) noexcept
      : base(std::move(other)), instance_(std::exchange(other.instance_, nullptr)) {}
  handle &operator=(handle &&other) noexcept {
    T *instance = std::exchange(other.instance_, nullptr);
    base::operator=(std::move(other));
    instance_ = instance;
    return *this;
  }

  /** The instance, valid while this handle is held; nullptr for an empty one. */
  T *instance() const noexcept { return instance_; }
  T &operator*() const noexcept { return *instance_; }
  T *operator->() const noexcept { return instance_; }

  /** Gives the handle back now instead of in the destructor. */
  result<void> reset() noexcept { return instance_ = nullptr, check(this->end()); }
  /** Hands the token over: it is the caller's to release. */
  svk_handle *release() noexcept { return instance_ = nullptr, base::release(); }

private:
  T *instance_ = nullptr;
};

/** An interned key, for the fastest resolve: svk_key_intern. Never freed, valid in every container. */
class key : public detail::reference<svk_key> {
public:
  using detail::reference<svk_key>::reference;

  static result<key> intern(const name &text) noexcept {
    svk_key *token;
    const svk_status status = detail::checked(svk_key_intern(text.c_str(), &token));
    return { status, key(token) };
  }
};

/** A scope of your own: svk_scope. Give it to factory_options::custom. */
class custom_scope : public detail::owner<detail::reference<svk_scope>, svk_scope, svk_scope_destroy> {
public:
  using owner::owner;

  static result<custom_scope> create(const name &text) noexcept {
    svk_scope *token;
    const svk_status status = detail::checked(svk_scope_create(text.c_str(), &token));
    return { status, custom_scope(token) };
  }
  /** Empties it: the next resolves build anew. */
  result<void> reset() const noexcept { return check(svk_scope_reset(get())); }
  /** Empties and ends it. */
  result<void> destroy() noexcept { return check(end()); }
};

/**
 * The resolve in progress, as its factory sees it. Valid only while that factory runs, on that factory's
 * thread.
 */
class resolver : public detail::reference<svk_resolver> {
public:
  using detail::reference<svk_resolver>::reference;

  /**
   * Resolves a dependency, and leases it to the instance under construction: nothing to release. That the
   * instance is a T is taken on trust: the library has no typed svk_require.
   */
  template <class T> result<T *> require(const name &key) const {
    void *instance;
    const svk_status status = detail::checked(svk_require(get(), key.c_str(), &instance));
    return { status, static_cast<T *>(instance) };
  }
  /** The same with a parameter: a text, or a trivially copyable value without padding. */
  template <class T, class P> result<T *> require_with(const name &key, const P &parameter) const {
    void *instance;
    const detail::bytes_of bytes = detail::bytes_of::value(parameter);
    const svk_status status =
        detail::checked(svk_require_with(get(), key.c_str(), bytes.data, bytes.size, &instance));
    return { status, static_cast<T *>(instance) };
  }

  /** The parameter that this instance was asked for with. SVK_TYPE_MISMATCH if it is none of P's size. */
  template <class P> result<P> parameter() const {
    static_assert(std::is_trivially_copyable_v<P>, "only trivially copyable types travel by their bytes");
    const void *data;
    std::size_t size;
    svk_status status = detail::checked(svk_resolver_parameter(get(), &data, &size));
    P value{};
    if (status == SVK_OK && size != sizeof value)
      status = detail::mismatch(size, sizeof value);
    if (status == SVK_OK)
      std::memcpy(&value, data, sizeof value);
    return { status, value };
  }
  /** The parameter's bytes, which are valid until the factory returns. Empty without a parameter. */
  std::string_view parameter_bytes() const noexcept {
    const void *data;
    std::size_t size;
    return svk_resolver_parameter(get(), &data, &size) == SVK_OK && data != nullptr
               ? std::string_view(static_cast<const char *>(data), size)
               : std::string_view();
  }

  /** The container with whose registrations this instance is built. Not yours to end. */
  class container_ref container() const noexcept;
};

/** How to keep the instances of a key. The defaults are those of svk_factory_options. */
struct factory_options {
  svk::scope scope = scope::unset;
  /** A scope of your own; it takes the place of `scope`. */
  const custom_scope *custom = nullptr;
  /** How long a kept instance is good after its last use; 0: no limit. */
  std::chrono::nanoseconds time_to_live{ 0 };
  /** One instance for each different parameter. */
  bool cache_by_parameter = false;
  /** In place of type_name<T>. */
  const char *type = nullptr;
  /** The keys that the factory will require, for container_ref::validate. */
  std::vector<const char *> required_keys{};

  factory_options() = default;
  factory_options(svk::scope scope) : scope(scope) {}
  factory_options(const custom_scope &custom) : custom(&custom) {}
};

/* ---- Streams and snapshots ----------------------------------------------------------------------------- */

/** The right to publish, borrowed. The functions answer as those of servicekit.h, and svk::threw. */
class stream_ref : public detail::reference<svk_stream> {
public:
  using detail::reference<svk_stream>::reference;

  /** Sends a new state: the bytes of a text (without a NUL) or of a trivially copyable value. */
  template <class T> result<void> send(const T &state) const {
    const detail::bytes_of bytes = detail::bytes_of::value(state);
    return send(bytes.data, bytes.size);
  }
  /** Sends a new state of any bytes. */
  result<void> send(const void *data, std::size_t size) const {
    detail::frame frame;
    return failure{ frame.settle(svk_stream_send(get(), data, size)) };
  }
  /** Sends, and waits no longer than that for room in the stream's own blocking buffer. */
  template <class T> result<void> send_within(const T &state, timeout limit) const {
    detail::frame frame;
    const detail::bytes_of bytes = detail::bytes_of::value(state);
    return failure{ frame.settle(
        svk_stream_send_within(get(), bytes.data, bytes.size, limit.nanoseconds())) };
  }
  /** Sends a state without copying it. It is freed when nobody holds it any more, or the send has failed. */
  template <class T> result<void> send_owned(std::unique_ptr<T> state) const {
    detail::check_state_type<T>();
    detail::frame frame;
    const std::size_t size = state ? sizeof(T) : 0;
    return failure{ frame.settle(svk_stream_send_owned(get(), state.release(), size,
                                                       [](void *data) { delete static_cast<T *>(data); })) };
  }
  /** The same with an array of `count` elements. */
  template <class T> result<void> send_owned(std::unique_ptr<T[]> states, std::size_t count) const {
    detail::check_state_type<T>();
    detail::frame frame;
    const std::size_t size = states ? count * sizeof(T) : 0;
    return failure{ frame.settle(svk_stream_send_owned(
        get(), states.release(), size, [](void *data) { delete[] static_cast<T *>(data); })) };
  }
  /** Ends the stream: what was kept is still delivered, then on_finish comes. */
  result<void> finish() const {
    detail::frame frame;
    return failure{ frame.settle(svk_stream_finish(get())) };
  }
};

/** The right to publish. Its destructor finishes the stream. */
class stream : public detail::owner<stream_ref, svk_stream, svk_stream_destroy> {
public:
  using owner::owner;

  /** Creates a stream that keeps what its service has not taken yet, as `buffer` says. */
  static result<stream> create(buffer buffer = unbounded) noexcept {
    svk_stream_options options = SVK_STREAM_OPTIONS_INIT;
    options.buffering = buffer.buffering;
    options.capacity = buffer.capacity;
    svk_stream *token;
    const svk_status status = detail::checked(svk_stream_create(&options, &token));
    return { status, stream(token) };
  }
  /**
   * Creates a stream with a producer: `start` is called once, when a service attaches, on that thread.
   *
   * @param start Called with a stream_ref.
   */
  template <class F, class = std::enable_if_t<std::is_invocable_v<F &, stream_ref>>>
  static result<stream> create(buffer buffer, F start) {
    using storage = detail::kept<F, detail::fits_a_pointer<F> && std::is_invocable_v<const F &, stream_ref>>;
    svk_stream_options options = SVK_STREAM_OPTIONS_INIT;
    options.buffering = buffer.buffering;
    options.capacity = buffer.capacity;
    options.start = [](svk_stream *token, void *user_data) {
      detail::guarded(
          [=] { storage::with(user_data, [=](auto &callable) { callable(stream_ref(token)); }); });
    };
    options.user_data = storage::keep(std::move(start));
    options.user_data_free = storage::user_data_free;
    svk_stream *token;
    const svk_status status = detail::checked(svk_stream_create(&options, &token));
    if (status != SVK_OK)
      storage::drop(options.user_data);
    return { status, stream(token) };
  }
  /** Creates a stream that has ended before it began: its service never changes. */
  static result<stream> none() noexcept {
    svk_stream *token;
    const svk_status status = detail::checked(svk_stream_void(&token));
    return { status, stream(token) };
  }

  /** Finishes the stream, if that was not done, and ends its token. */
  result<void> destroy() {
    detail::frame frame;
    return failure{ frame.settle(end()) };
  }
};

/** A state by value. */
template <class T> struct state {
  T value{};
  /** Which of the stream's accepted sends it was; 0 is the initial state. */
  std::uint64_t version = 0;
  /** How many states this observer lost to buffers since the one before. */
  std::uint64_t dropped = 0;
};

/** Keeps one state's bytes alive and unchanged, also beyond its service. */
class snapshot : public detail::owner<detail::reference<svk_snapshot>, svk_snapshot, svk_snapshot_release> {
public:
  snapshot() noexcept = default;
  /** Takes over what svk_service_acquire or svk_subscription_next gave. */
  snapshot(svk_snapshot *token, const svk_state &state) noexcept : owner(token), state_(state) {}

  /** The bytes, valid while the snapshot is held. */
  const void *data() const noexcept { return get() != nullptr ? state_.data : nullptr; }
  std::size_t size() const noexcept { return get() != nullptr ? state_.size : 0; }
  std::string_view bytes() const noexcept {
    return size() == 0 ? std::string_view() : std::string_view(static_cast<const char *>(data()), size());
  }
  std::uint64_t version() const noexcept { return state_.version; }
  std::uint64_t dropped() const noexcept { return state_.dropped; }

  /** The state as a T, valid while the snapshot is held; nullptr if it is none of T's size. */
  template <class T> const T *as() const noexcept {
    detail::check_state_type<T>();
    return size() == sizeof(T) ? std::launder(static_cast<const T *>(data())) : nullptr;
  }

private:
  svk_state state_{};
};

/* ---- Dispatchers --------------------------------------------------------------------------------------- */

/** A queue of callbacks that a thread of yours runs when it likes. */
class dispatcher
    : public detail::owner<detail::reference<svk_dispatcher>, svk_dispatcher, svk_dispatcher_destroy> {
public:
  using owner::owner;

  static result<dispatcher> create() noexcept {
    svk_dispatcher *token;
    const svk_status status = detail::checked(svk_dispatcher_create(&token));
    return { status, dispatcher(token) };
  }

  /** Readable while there is work. Only watch it; -1 if there is none. */
  int fd() const noexcept { return svk_dispatcher_fd(get()); }

  /** Wakes who waits in dispatch, or would next. May be called in a signal handler. */
  result<void> wake() const noexcept { return failure{ svk_dispatcher_wake(get()) }; }

  /**
   * Runs the callbacks that are ready, on this thread, waiting for the first if need be.
   *
   * @param limit How long to wait for the first.
   * @param most How many to run at most; 0: all that is ready.
   *
   * @return How many callbacks were run, also with the statuses SVK_TIMEOUT (none) and svk::threw.
   */
  result<std::size_t> dispatch(timeout limit = std::chrono::nanoseconds(0), std::size_t most = 0) const {
    detail::frame frame;
    std::size_t count = 0;
    const svk_status status = frame.settle(svk_dispatcher_dispatch(get(), most, limit.nanoseconds(), &count));
    return { status, count };
  }

  /** Ends it, and cancels what delivers there. */
  result<void> destroy() {
    detail::frame frame;
    return failure{ frame.settle(end()) };
  }
};

/* ---- Stateful services --------------------------------------------------------------------------------- */

/** How a service is observed. The defaults are those of svk_observer_options. */
struct observer_options {
  /** Begin with the current state. */
  bool current = false;
  svk::delivery delivery = svk::delivery::on_sender;
  /** Callbacks run in its dispatch(); it takes the place of `delivery`. */
  const svk::dispatcher *dispatcher = nullptr;
  svk::buffer buffer = unbounded;

  observer_options() = default;
  observer_options(svk::delivery delivery) : delivery(delivery) {}
  observer_options(const svk::dispatcher &dispatcher) : dispatcher(&dispatcher) {}
  observer_options(svk::buffer buffer) : buffer(buffer) {}
};

/** What a service is made of. The defaults are those of svk_service_options. */
struct service_options {
  /** Where the states come from. Empty: the state never changes. */
  stream_ref stream{};
  /** What service_ref::api gives. Kept as a pointer: it must live as long as the service. */
  const void *api = nullptr;
  /** A state with the same bytes as the current one is not stored and not delivered. */
  bool skip_equal = false;
  svk::delivery delivery = svk::delivery::on_sender;
  /** States are taken and callbacks run in its dispatch(); it takes the place of `delivery`. */
  const svk::dispatcher *dispatcher = nullptr;

  service_options() = default;
  service_options(const stream_ref &stream) : stream(stream) {}
};

/** One observer of one service. Its destructor cancels, and waits for a callback on another thread. */
class subscription
    : public detail::owner<detail::reference<svk_subscription>, svk_subscription, svk_subscription_cancel> {
public:
  using owner::owner;

  /** Ends it; when this has answered SVK_OK, no callback runs or will run, and their captures are freed. */
  result<void> cancel() {
    detail::frame frame;
    return failure{ frame.settle(end()) };
  }
  /** The same, but never waits. */
  result<void> cancel_nowait() {
    detail::frame frame;
    return failure{ frame.settle(svk_subscription_cancel_nowait(release())) };
  }

  /** Takes the next state of a pull subscription, without copying it. */
  result<snapshot> next(timeout limit = forever) const {
    svk_snapshot *token;
    svk_state state;
    const svk_status status =
        detail::checked(svk_subscription_next(get(), limit.nanoseconds(), &token, &state));
    return { status, snapshot(token, state) };
  }
  /** Takes the next state of a pull subscription as a T. One of another size is taken, and not given. */
  template <class T> result<state<T>> next(timeout limit = forever) const {
    detail::check_state_type<T>();
    state<T> taken;
    std::size_t size;
    svk_status status = svk_subscription_next_copy(get(), limit.nanoseconds(), &taken.value, sizeof(T), &size,
                                                   &taken.version, &taken.dropped);
    if (status == SVK_BUFFER_TOO_SMALL)
      next(std::chrono::nanoseconds(0)).status();
    if (status == SVK_BUFFER_TOO_SMALL || (status == SVK_OK && size != sizeof(T)))
      status = detail::mismatch(size, sizeof(T));
    return { detail::checked(status), taken };
  }
  /** Readable while next() has something to say. Only watch it; -1 if there is none. */
  int fd() const noexcept { return svk_subscription_fd(get()); }

  /** How many states this observer lost to buffers in all. */
  result<std::uint64_t> dropped() const noexcept {
    std::uint64_t total;
    const svk_status status = detail::checked(svk_subscription_dropped(get(), &total));
    return { status, total };
  }
};

/** The right to read, borrowed. */
class service_ref : public detail::reference<svk_service> {
public:
  using detail::reference<svk_service>::reference;

  /** What the service was created with; nullptr if that is nothing. */
  template <class Api> const Api *api() const noexcept {
    return static_cast<const Api *>(svk_service_api(get()));
  }

  /** Copies the current state. SVK_TYPE_MISMATCH if it is none of T's size. */
  template <class T> result<state<T>> read() const {
    detail::check_state_type<T>();
    state<T> copy;
    std::size_t size;
    svk_status status = svk_service_read(get(), &copy.value, sizeof(T), &size, &copy.version);
    if (status == SVK_BUFFER_TOO_SMALL || (status == SVK_OK && size != sizeof(T)))
      status = detail::mismatch(size, sizeof(T));
    return { detail::checked(status), copy };
  }
  /** Gives the current state, of any size, without copying it. */
  result<snapshot> acquire() const noexcept {
    svk_snapshot *token;
    svk_state state;
    const svk_status status = detail::checked(svk_service_acquire(get(), &token, &state));
    return { status, snapshot(token, state) };
  }
  /** Waits for a newer state than that of `after`, and gives its version. */
  result<std::uint64_t> wait(std::uint64_t after, timeout limit = forever) const noexcept {
    std::uint64_t version;
    const svk_status status = detail::checked(svk_service_wait(get(), after, limit.nanoseconds(), &version));
    return { status, version };
  }

  /**
   * Begins to observe.
   *
   *     service.observe<sample>([](const sample &now) { … });
   *     service.observe<sample>(dispatcher, [](const sample &now, const svk_state &details) { … });
   *     service.observe(options, [](const svk_state &bytes) { … }, [] { finished(); });
   *
   * @param options A svk::observer_options, or one thing that it can be made of.
   * @param on_state Called on each state, in order. Moved into the subscription, and freed with it.
   * @param on_finish Called once, after the last kept state, when the stream has ended.
   */
  template <class T = void, class F, class G = detail::nothing>
  result<subscription> observe(const observer_options &options, F on_state, G on_finish = {}) const {
    using callbacks = detail::state_callbacks<T, F, G>;
    svk_observer_options observer = translate(options);
    callbacks::fill(observer, std::move(on_state), std::move(on_finish));
    detail::frame frame;
    svk_subscription *token;
    const svk_status status = svk_service_observe(get(), &observer, &token);
    if (status != SVK_OK)
      callbacks::storage::drop(observer.user_data);
    return { frame.settle(status), subscription(token) };
  }
  template <class T = void, class F, class = std::enable_if_t<!std::is_convertible_v<F, observer_options>>>
  result<subscription> observe(F on_state) const {
    return observe<T>(observer_options(), std::move(on_state));
  }

  /** Begins to observe without callbacks: subscription::next hands out the states. */
  result<subscription> pull(const observer_options &options = {}) const noexcept {
    svk_observer_options observer = translate(options);
    observer.delivery = SVK_DELIVER_PULL;
    svk_subscription *token;
    const svk_status status = detail::checked(svk_service_observe(get(), &observer, &token));
    return { status, subscription(token) };
  }

private:
  static svk_observer_options translate(const observer_options &options) noexcept {
    svk_observer_options observer = SVK_OBSERVER_OPTIONS_INIT;
    observer.flags = options.current ? SVK_OBSERVE_CURRENT : 0;
    observer.delivery = static_cast<std::int32_t>(options.delivery);
    if (options.dispatcher != nullptr) {
      observer.delivery = SVK_DELIVER_DISPATCHER;
      observer.dispatcher = options.dispatcher->get();
    }
    observer.buffering = options.buffer.buffering;
    observer.capacity = options.buffer.capacity;
    return observer;
  }
};

/** The right to read: an API, a current state and its observers. Its destructor closes the service. */
class service : public detail::owner<service_ref, svk_service, svk_service_close> {
public:
  using owner::owner;

  /**
   * Creates a service and attaches it to its stream.
   *
   * @param initial The state at the beginning: a text or a trivially copyable value.
   * @param options A svk::service_options, or the stream alone.
   * @param on_state Called on each new state, before the observers are: as for service_ref::observe, with
   *   T, if it is given, for the type.
   * @param on_finish Called once, when the stream has ended.
   */
  template <class T = void, class I, class F = detail::nothing, class G = detail::nothing>
  static result<service> create(const I &initial, const service_options &options = {}, F on_state = {},
                                G on_finish = {}) {
    using callbacks = detail::state_callbacks<T, F, G>;
    const detail::bytes_of bytes = detail::bytes_of::value(initial);
    svk_service_options made = SVK_SERVICE_OPTIONS_INIT;
    made.flags = options.skip_equal ? SVK_SERVICE_SKIP_EQUAL : 0;
    made.api = options.api;
    made.initial = bytes.data;
    made.initial_size = bytes.size;
    made.stream = options.stream.get();
    made.delivery = static_cast<std::int32_t>(options.delivery);
    if (options.dispatcher != nullptr) {
      made.delivery = SVK_DELIVER_DISPATCHER;
      made.dispatcher = options.dispatcher->get();
    }
    callbacks::fill(made, std::move(on_state), std::move(on_finish));
    detail::frame frame;
    svk_service *token;
    const svk_status status = svk_service_create(&made, &token);
    if (status != SVK_OK)
      callbacks::storage::drop(made.user_data);
    return { frame.settle(status), service(token) };
  }

  /** Ends it, and cancels its observers: after SVK_OK no callback of them runs or will run. */
  result<void> close() {
    detail::frame frame;
    return failure{ frame.settle(end()) };
  }
};

/** A service that came out of a container: the right to read it, and the lease that keeps it alive. */
class service_handle : public service_ref {
public:
  service_handle() noexcept = default;
  explicit service_handle(handle<svk_service> lease) noexcept
      : service_ref(lease.instance()), lease_(std::move(lease)) {}
  service_handle(service_handle &&other) noexcept
      : service_ref(std::exchange(other.token_, nullptr)), lease_(std::move(other.lease_)) {}
  service_handle &operator=(service_handle &&other) noexcept {
    svk_service *token = std::exchange(other.token_, nullptr);
    lease_ = std::move(other.lease_);
    token_ = token;
    return *this;
  }

private:
  handle<svk_service> lease_;
};

/* ---- What a factory may return ------------------------------------------------------------------------- */

namespace detail {

/** Tells how to keep what a factory returned: here, a value, which moves to the heap. */
template <class R> struct product {
  using type = R;
  static constexpr bool destroys = true;
  static R *take(R &&made) { return new R(std::move(made)); }
  static void destroy(R *instance) { delete instance; }
};
template <class U, class D> struct product<std::unique_ptr<U, D>> {
  static_assert(std::is_empty_v<D>, "the deleter's state would be lost: capture what it needs in the object");
  using type = U;
  static constexpr bool destroys = true;
  static U *take(std::unique_ptr<U, D> &&made) noexcept { return made.release(); }
  static void destroy(U *instance) { D{}(instance); }
};
/* A plain pointer stays its owner's. */
template <class U> struct product<U *> {
  using type = U;
  static constexpr bool destroys = false;
  static U *take(U *made) noexcept { return made; }
  static void destroy(U *) noexcept {}
};
template <> struct product<service> {
  using type = svk_service;
  static constexpr bool destroys = true;
  static svk_service *take(service &&made) noexcept { return made.release(); }
  static void destroy(svk_service *instance) noexcept { svk_service_close(instance); }
};
template <class R> struct product<result<R>> : product<R> {};

template <class R> struct is_result : std::false_type {};
template <class R> struct is_result<result<R>> : std::true_type {};

template <class F, class = void> struct factory_result {
  static_assert(std::is_invocable_v<F &, resolver &>, "a factory takes nothing, or a svk::resolver &");
  using type = std::invoke_result_t<F &, resolver &>;
};
template <class F> struct factory_result<F, std::enable_if_t<std::is_invocable_v<F &>>> {
  using type = std::invoke_result_t<F &>;
};

/** The C functions of a factory F whose instances are known as T. */
template <class T, class F> struct factory {
  using made = typename factory_result<F>::type;
  using product = detail::product<std::remove_cv_t<made>>;
  using built = typename product::type;
  using instance_type = std::conditional_t<std::is_void_v<T>, built, T>;
  static_assert(std::is_convertible_v<built *, instance_type *>, "the factory does not make what it should");

  static constexpr bool in_place =
      fits_a_pointer<F> && (std::is_invocable_v<const F &> || std::is_invocable_v<const F &, resolver &>);
  using storage = kept<F, in_place>;

  static svk_status create(svk_resolver *token, void **instance, void *user_data) {
    return guarded_factory([=] {
      return storage::with(user_data, [=](auto &callable) -> svk_status {
        resolver resolve(token);
        if constexpr (std::is_invocable_v<decltype(callable)>)
          return keep(callable(), instance);
        else
          return keep(callable(resolve), instance);
      });
    });
  }
  static void destroy(void *instance, void *) {
    guarded([=] { product::destroy(static_cast<built *>(static_cast<instance_type *>(instance))); });
  }
  static const char *type() noexcept {
    if constexpr (std::is_same_v<instance_type, svk_service>)
      return nullptr; /* C and other languages do not name it either */
    else
      return type_name<instance_type>::get();
  }

private:
  static svk_status keep(made &&value, void **instance) {
    if constexpr (is_result<std::remove_cv_t<made>>::value) {
      if (value.status() != SVK_OK)
        return value.status();
      *instance = static_cast<instance_type *>(product::take(std::move(*value)));
    } else {
      *instance = static_cast<instance_type *>(product::take(std::move(value)));
    }
    return SVK_OK;
  }
};

} // namespace detail

/* ---- Containers ---------------------------------------------------------------------------------------- */

/** A container, borrowed. */
class container_ref : public detail::reference<svk_container> {
public:
  using detail::reference<svk_container>::reference;

  /**
   * Registers the plain factory of a key, in place of the one before.
   *
   *     container.add("logger", svk::scope::cached, [] { return std::make_unique<logger>(); });
   *     container.add<speaker>("speaker", {}, [](svk::resolver &resolver) {
   *       return std::make_unique<loud_speaker>(*resolver.require<logger>("logger").value());
   *     });
   *
   * @tparam T What the instances are known as; by default, what the factory makes. A base of that, too.
   * @param key The key.
   * @param options A svk::factory_options, or a scope alone.
   * @param make Called with nothing or with a svk::resolver &. Returns a std::unique_ptr, an object, a
   *   svk::service, or a plain pointer to something that lives longer than the container and is not
   *   destroyed; or a svk::result of one of these. May throw. Moved into the registration, and freed with it.
   */
  template <class T = void, class F>
  result<void> add(const name &key, const factory_options &options, F make) const {
    return add_with<T>(options, std::move(make), [&](const svk_factory_options &factory) {
      return svk_register(get(), key.c_str(), &factory);
    });
  }
  template <class T = void, class F> result<void> add(const name &key, F make) const {
    return add<T>(key, factory_options(), std::move(make));
  }
  /** Registers the factory of a key for one context. */
  template <class T = void, class F>
  result<void> add_for(const name &key, const name &context, const factory_options &options, F make) const {
    return add_with<T>(options, std::move(make), [&](const svk_factory_options &factory) {
      return svk_register_for(get(), key.c_str(), context.c_str(), &factory);
    });
  }
  template <class T = void, class F>
  result<void> add_for(const name &key, const name &context, F make) const {
    return add_for<T>(key, context, factory_options(), std::move(make));
  }
  /** Removes a key's registrations. */
  result<void> remove(const name &key) const noexcept { return check(svk_unregister(get(), key.c_str())); }
  /** Drops registrations or cached instances, of one key or of all. */
  result<void> reset(const name &key, svk::reset what) const noexcept {
    return check(svk_reset(get(), key.c_str(), static_cast<std::uint32_t>(what)));
  }
  result<void> reset(svk::reset what = reset::all) const noexcept {
    return check(svk_container_reset(get(), static_cast<std::uint32_t>(what)));
  }

  /** Gives a handle on the instance of a key, building it if need be, if it is registered as a T. */
  template <class T> result<handle<T>> resolve(const name &key) const {
    const char *type = type_name<T>::get();
    svk_handle *token;
    const svk_status status = type != nullptr ? svk_resolve_typed(get(), key.c_str(), type, &token)
                                              : svk_resolve(get(), key.c_str(), &token);
    return leased<T>(status, token);
  }
  /** The same without the check: the instance is taken for a T, for what was registered without a type. */
  template <class T> result<handle<T>> resolve_unchecked(const name &key) const {
    svk_handle *token;
    const svk_status status = svk_resolve(get(), key.c_str(), &token);
    return leased<T>(status, token);
  }
  /** The fastest way. Unchecked as well. */
  template <class T> result<handle<T>> resolve_unchecked(const svk::key &key) const {
    svk_handle *token;
    const svk_status status = svk_resolve_key(get(), key.get(), &token);
    return leased<T>(status, token);
  }
  /** With a parameter for the factory: a text, or a trivially copyable value. Unchecked as well. */
  template <class T, class P> result<handle<T>> resolve_with(const name &key, const P &parameter) const {
    const detail::bytes_of bytes = detail::bytes_of::value(parameter);
    svk_handle *token;
    const svk_status status = svk_resolve_with(get(), key.c_str(), bytes.data, bytes.size, &token);
    return leased<T>(status, token);
  }
  /** Gives a stateful service and the lease on it. */
  result<service_handle> resolve_service(const name &key) const {
    svk_handle *token;
    const svk_status status = detail::checked(svk_resolve(get(), key.c_str(), &token));
    if (status != SVK_OK)
      return failure{ status };
    return service_handle(handle<svk_service>(token));
  }
  /** Resolves a cached, shared or singleton instance and keeps it until the container is destroyed. */
  template <class T> result<T *> pin(const name &key) const {
    void *instance;
    const svk_status status = detail::checked(svk_pin(get(), key.c_str(), &instance));
    return { status, static_cast<T *>(instance) };
  }

  /**
   * Sets the decorator of a key, which sees every instance that is resolved.
   *
   * @param see Called with a T & and a bool: whether the instance is new.
   */
  template <class T, class F> result<void> decorate(const name &key, F see) const {
    return set_decorator(key.c_str(),
                         [see = std::move(see)](void *instance, const char *, bool is_new) mutable {
                           see(*static_cast<T *>(instance), is_new);
                         });
  }
  /** The same for all keys that have none: called with a void *, the key as a const char *, and a bool. */
  template <class F> result<void> decorate_all(F see) const { return set_decorator(nullptr, std::move(see)); }
  /** Removes a key's decorator. */
  result<void> undecorate(const name &key) const noexcept {
    return check(svk_decorate(get(), key.c_str(), nullptr, nullptr, nullptr));
  }
  /** Removes the container's decorator. */
  result<void> undecorate_all() const noexcept {
    return check(svk_decorate(get(), nullptr, nullptr, nullptr, nullptr));
  }

  /** Saves registrations, contexts, caches and settings, for pop. */
  result<void> push() const noexcept { return check(svk_container_push(get())); }
  result<void> pop() const noexcept { return check(svk_container_pop(get())); }
  /** Sets the active contexts, most important first: "preview,live". nullptr: inherit. */
  result<void> set_contexts(const char *comma_separated) const noexcept {
    return check(svk_container_set_contexts(get(), comma_separated));
  }
  result<void> set_strict(bool strict = true) const noexcept {
    return check(svk_container_set_strict(get(), strict ? 1 : 0));
  }
  result<void> set_default_scope(scope scope) const noexcept {
    return check(svk_container_set_default_scope(get(), static_cast<std::int32_t>(scope)));
  }
  /** Checks the declared requirements without building anything. */
  result<void> validate() const noexcept { return check(svk_container_validate(get())); }

  /** Describes the container, and the dependency graph seen so far. */
  result<std::string> describe(format format = format::text) const {
    std::string text;
    std::size_t needed = 0;
    svk_status status;
    do {
      text.resize(needed);
      status = svk_container_describe(get(), static_cast<std::int32_t>(format),
                                      needed == 0 ? nullptr : text.data(), needed, &needed);
    } while (status == SVK_BUFFER_TOO_SMALL);
    text.resize(status == SVK_OK && needed > 0 ? needed - 1 : 0);
    return { detail::checked(status), std::move(text) };
  }

  /** Sets the function that sees every resolve that has ended: called with a const svk_trace_event &. */
  template <class F> result<void> set_trace(F see) const {
    using storage =
        detail::kept<F, detail::fits_a_pointer<F> && std::is_invocable_v<const F &, const svk_trace_event &>>;
    void *user_data = storage::keep(std::move(see));
    const svk_status status = detail::checked(svk_container_set_trace(
        get(),
        [](const svk_trace_event *event, void *data) {
          detail::guarded([=] { storage::with(data, [=](auto &callable) { callable(*event); }); });
        },
        user_data, storage::user_data_free));
    if (status != SVK_OK)
      storage::drop(user_data);
    return failure{ status };
  }
  result<void> remove_trace() const noexcept {
    return check(svk_container_set_trace(get(), nullptr, nullptr, nullptr));
  }

private:
  template <class T> static result<handle<T>> leased(svk_status status, svk_handle *token) noexcept {
    if (status != SVK_OK)
      return failure{ detail::failed(status) };
    return handle<T>(token);
  }

  template <class T, class F, class Register>
  static result<void> add_with(const factory_options &options, F &&make, Register &&enter) {
    using factory = detail::factory<T, std::decay_t<F>>;
    std::vector<const char *> required = options.required_keys;
    if (!required.empty())
      required.push_back(nullptr);
    svk_factory_options made = SVK_FACTORY_OPTIONS_INIT;
    made.flags = options.cache_by_parameter ? SVK_FACTORY_CACHE_BY_PARAMETER : 0;
    made.create = factory::create;
    if constexpr (factory::product::destroys)
      made.destroy = factory::destroy;
    made.user_data_free = factory::storage::user_data_free;
    made.scope = options.custom != nullptr ? SVK_SCOPE_CUSTOM : static_cast<std::int32_t>(options.scope);
    made.custom_scope = options.custom != nullptr ? options.custom->get() : nullptr;
    made.time_to_live_ns = static_cast<std::uint64_t>(timeout(options.time_to_live).nanoseconds());
    made.type = options.type != nullptr ? options.type : factory::type();
    made.required_keys = required.empty() ? nullptr : required.data();
    made.user_data = factory::storage::keep(std::move(make));
    const svk_status status = detail::checked(enter(made));
    if (status != SVK_OK)
      factory::storage::drop(made.user_data);
    return failure{ status };
  }

  template <class F> result<void> set_decorator(const char *key, F see) const {
    using storage = detail::kept<F, detail::fits_a_pointer<F> &&
                                        std::is_invocable_v<const F &, void *, const char *, bool>>;
    void *user_data = storage::keep(std::move(see));
    const svk_status status = detail::checked(svk_decorate(
        get(), key,
        [](void *instance, const char *key, std::int32_t is_new, void *data) {
          detail::guarded(
              [=] { storage::with(data, [=](auto &callable) { callable(instance, key, is_new != 0); }); });
        },
        user_data, storage::user_data_free));
    if (status != SVK_OK)
      storage::drop(user_data);
    return failure{ status };
  }
};

inline container_ref resolver::container() const noexcept {
  return container_ref(svk_resolver_container(get()));
}

/** Holds registrations and the instances built from them. Its destructor destroys the container. */
class container : public detail::owner<container_ref, svk_container, svk_container_destroy> {
public:
  using owner::owner;

  static result<container> create() noexcept {
    svk_container *token;
    const svk_status status = detail::checked(svk_container_create(&token));
    return { status, container(token) };
  }
  /** Creates a container that falls back to a parent, which it does not keep alive. */
  static result<container> create_child(container_ref parent) noexcept {
    svk_container *token;
    const svk_status status = detail::checked(svk_container_create_child(parent.get(), &token));
    return { status, container(token) };
  }
  /** The one container that the whole process shares. It cannot be destroyed. */
  static container_ref shared() noexcept { return container_ref(svk_container_shared()); }

  /** Destroys it and its instances, dependents first. Handles still held stay usable. */
  result<void> destroy() {
    detail::frame frame;
    return failure{ frame.settle(end()) };
  }
};

/* ---- Diagnostics --------------------------------------------------------------------------------------- */

/** How much the log says. */
enum class log_level : std::int32_t {
  error = SVK_LOG_ERROR,
  warning = SVK_LOG_WARNING,
  info = SVK_LOG_INFO,
  debug = SVK_LOG_DEBUG,
};

/**
 * Sets the log function of the process.
 *
 * @param write Called with a log_level and a const char *, maybe on several threads at once.
 */
template <class F> result<void> set_log(log_level most_detailed, F write) {
  using storage =
      detail::kept<F, detail::fits_a_pointer<F> && std::is_invocable_v<const F &, log_level, const char *>>;
  void *user_data = storage::keep(std::move(write));
  const svk_status status = detail::checked(svk_set_log(
      [](std::int32_t level, const char *message, void *data) {
        detail::guarded([=] {
          storage::with(data, [=](auto &callable) { callable(static_cast<log_level>(level), message); });
        });
      },
      static_cast<std::int32_t>(most_detailed), user_data, storage::user_data_free));
  if (status != SVK_OK)
    storage::drop(user_data);
  return failure{ status };
}
inline result<void> remove_log() noexcept {
  return check(svk_set_log(nullptr, SVK_LOG_ERROR, nullptr, nullptr));
}

} // namespace svk

#undef SVK_HPP_EXCEPTIONS

#endif
