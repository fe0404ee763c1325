/* Checks that say what they expected, and go on. `return check_done();` is the last line of main. */
#ifndef CHECK_HPP
#define CHECK_HPP

#include <servicekit.hpp>

#include <atomic>
#include <cstdio>
#include <string>

inline std::atomic<int> check_failures{ 0 };
inline std::atomic<int> check_count{ 0 };

inline bool check_that(bool ok, const char *what, const char *file, int line, const std::string &got = {}) {
  ++check_count;
  if (!ok) {
    ++check_failures;
    std::fprintf(stderr, "%s:%d: failed: %s%s%s\n", file, line, what, got.empty() ? "" : "\n  got ",
                 got.c_str());
  }
  return ok;
}

#define CHECK(expression) check_that(static_cast<bool>(expression), #expression, __FILE__, __LINE__)
#define CHECK_EQ(actual, expected) \
  [&] { \
    const auto got = static_cast<long long>(actual); \
    return check_that(got == static_cast<long long>(expected), #actual " == " #expected, __FILE__, __LINE__, \
                      std::to_string(got)); \
  }()
/* The result has that status. */
#define CHECK_STATUS(call, expected) \
  [&] { \
    const svk_status got = (call).status(); \
    return check_that(got == (expected), #call " is " #expected, __FILE__, __LINE__, \
                      std::to_string(got) + " " + svk_status_name(got) + ": " + svk_last_error()); \
  }()
#define CHECK_OK(call) CHECK_STATUS(call, SVK_OK)
#define CHECK_CONTAINS(text, part) \
  [&] { \
    const std::string got = (text); \
    return check_that(got.find(part) != std::string::npos, #text " contains " #part, __FILE__, __LINE__, \
                      got); \
  }()
/* The expression throws svk::error with that status. */
#define CHECK_THROWS(expression, expected) \
  [&] { \
    try { \
      (void)(expression); \
    } catch (const svk::error &thrown) { \
      return check_that(thrown.status() == (expected), #expression " throws " #expected, __FILE__, __LINE__, \
                        thrown.what()); \
    } \
    return check_that(false, #expression " throws", __FILE__, __LINE__); \
  }()

inline int check_done() {
  std::printf("%d checks, %d failed\n", check_count.load(), check_failures.load());
  return check_failures == 0 && check_count > 0 ? 0 : 1;
}

/* Counts its instances: what is made is destroyed, once. */
struct counted {
  static inline std::atomic<int> alive{ 0 };
  static inline std::atomic<int> made{ 0 };
  int number;

  explicit counted(int number = 0) : number(number) { ++alive, ++made; }
  counted(const counted &other) : number(other.number) { ++alive; }
  counted(counted &&other) noexcept : number(other.number) { ++alive; }
  counted &operator=(const counted &) = default;
  ~counted() { --alive; }
};

#endif
