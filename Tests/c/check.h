/*
 * What every test program here needs: checks that say what they expected, threads that start together, and
 * waits for counts instead of sleeps. Include it before anything else.
 *
 *     static void test_something(void) { CHECK_STATUS(svk_release(NULL), SVK_INVALID_HANDLE); }
 *     int main(void) { RUN(test_something); return check_done(); }
 *
 * A failed check is reported and counted, and the test goes on; a failed MUST ends the program. Both may be
 * used in callbacks and on other threads. SVK_TEST_ONLY=<name of a test> in the environment runs that one
 * alone.
 */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <servicekit.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not every program uses every function. */
#define CHECK_UNUSED __attribute__((unused))

/* What this program was compiled with. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECK_ADDRESS_SANITIZED 1
#endif
#if __has_feature(thread_sanitizer)
#define CHECK_THREAD_SANITIZED 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define CHECK_ADDRESS_SANITIZED 1
#endif
#ifdef __SANITIZE_THREAD__
#define CHECK_THREAD_SANITIZED 1
#endif
#ifndef CHECK_ADDRESS_SANITIZED
#define CHECK_ADDRESS_SANITIZED 0
#endif
#ifndef CHECK_THREAD_SANITIZED
#define CHECK_THREAD_SANITIZED 0
#endif
#define CHECK_SANITIZED (CHECK_ADDRESS_SANITIZED || CHECK_THREAD_SANITIZED)

static _Atomic int check_failures;
static _Atomic long check_count;
static const char *_Atomic check_running = "main";

/* ---- Checks ---- */

static CHECK_UNUSED int check_true(int ok, const char *expression, const char *file, int line) {
  atomic_fetch_add_explicit(&check_count, 1, memory_order_relaxed);
  if (ok)
    return 1;
  fprintf(stderr, "%s:%d: %s: failed: %s\n", file, line, atomic_load(&check_running), expression);
  atomic_fetch_add(&check_failures, 1);
  return 0;
}

static CHECK_UNUSED int check_status(svk_status actual, svk_status expected, const char *call,
                                     const char *file, int line) {
  atomic_fetch_add_explicit(&check_count, 1, memory_order_relaxed);
  if (actual == expected)
    return 1;
  const char *error = svk_last_error();
  fprintf(stderr, "%s:%d: %s: %s\n  expected %s (%d)\n  got      %s (%d)\n  last error: %s\n", file, line,
          atomic_load(&check_running), call, svk_status_name(expected), (int)expected,
          svk_status_name(actual), (int)actual, error != NULL ? error : "(NULL)");
  atomic_fetch_add(&check_failures, 1);
  return 0;
}

static CHECK_UNUSED int check_number(long long actual, long long expected, const char *expression,
                                     const char *file, int line) {
  atomic_fetch_add_explicit(&check_count, 1, memory_order_relaxed);
  if (actual == expected)
    return 1;
  fprintf(stderr, "%s:%d: %s: %s\n  expected %lld\n  got      %lld\n", file, line,
          atomic_load(&check_running), expression, expected, actual);
  atomic_fetch_add(&check_failures, 1);
  return 0;
}

static CHECK_UNUSED int check_text(const char *text, const char *part, const char *file, int line) {
  atomic_fetch_add_explicit(&check_count, 1, memory_order_relaxed);
  if (text != NULL && strstr(text, part) != NULL)
    return 1;
  fprintf(stderr, "%s:%d: %s: expected a text with \"%s\"\n  got \"%s\"\n", file, line,
          atomic_load(&check_running), part, text != NULL ? text : "(NULL)");
  atomic_fetch_add(&check_failures, 1);
  return 0;
}

/* True. */
#define CHECK(expression) check_true(!!(expression), #expression, __FILE__, __LINE__)
/* The call answers that status; if not, says what it answered and what svk_last_error has to say. */
#define CHECK_STATUS(call, expected) check_status((call), (expected), #call, __FILE__, __LINE__)
#define CHECK_OK(call) CHECK_STATUS(call, SVK_OK)
/* Equal integers. */
#define CHECK_EQ(actual, expected) \
  check_number((long long)(actual), (long long)(expected), #actual " == " #expected, __FILE__, __LINE__)
/* The text contains the part. */
#define CHECK_STR(text, part) check_text((text), (part), __FILE__, __LINE__)
/* As CHECK and CHECK_STATUS, where nothing that follows makes sense otherwise. */
#define MUST(expression) \
  do { \
    if (!CHECK(expression)) \
      exit(1); \
  } while (0)
#define MUST_OK(call) \
  do { \
    if (!CHECK_OK(call)) \
      exit(1); \
  } while (0)

/* ---- Programs ---- */

static CHECK_UNUSED int check_slow(void) { return CHECK_SANITIZED || getenv("SVK_TEST_SLOW") != NULL; }

/* How often to repeat: n, or a good deal less where everything is slow. Never 0. */
static CHECK_UNUSED int iterations(int n) {
  int fewer = CHECK_SANITIZED ? n / 5 : check_slow() ? n / 20 : n;
  return fewer > 0 ? fewer : 1;
}

static void check_hangs(int signal_number) {
  (void)signal_number;
  const char *name = atomic_load(&check_running);
  static const char text[] = ": hangs\n";
  if (write(2, name, strlen(name)) < 0 || write(2, text, sizeof text - 1) < 0)
    _exit(3);
  _exit(2);
}

static CHECK_UNUSED void check_run(void (*test)(void), const char *name) {
  const char *only = getenv("SVK_TEST_ONLY");
  if (only != NULL && strcmp(only, name) != 0)
    return;
  atomic_store(&check_running, name);
  signal(SIGALRM, check_hangs);
  alarm(100);
  test();
  alarm(0);
  atomic_store(&check_running, "main");
}

#define RUN(test) check_run((test), #test)

/* The last line of main: return check_done(); */
static CHECK_UNUSED int check_done(void) {
  int failures = atomic_load(&check_failures);
  if (failures != 0) {
    fprintf(stderr, "%s: %d checks failed\n", program_invocation_short_name, failures);
    return 1;
  }
  printf("%s: ok, %ld checks\n", program_invocation_short_name, atomic_load(&check_count));
  return 0;
}

/* ---- Threads ---- */

enum { CHECK_THREADS_MAX = 64 };

struct check_thread {
  pthread_barrier_t *start;
  void (*run)(int index, void *argument);
  void *argument;
  int index;
};

static CHECK_UNUSED void *check_thread_main(void *pointer) {
  struct check_thread *thread = pointer;
  pthread_barrier_wait(thread->start);
  thread->run(thread->index, thread->argument);
  return NULL;
}

/* Runs run(0, argument) to run(count - 1, argument) on threads of their own that start together; joins them.
 */
static CHECK_UNUSED void run_threads(int count, void (*run)(int index, void *argument), void *argument) {
  pthread_t ids[CHECK_THREADS_MAX];
  struct check_thread threads[CHECK_THREADS_MAX];
  pthread_barrier_t start;
  MUST(count > 0 && count <= CHECK_THREADS_MAX);
  MUST(pthread_barrier_init(&start, NULL, (unsigned)count) == 0);
  for (int i = 0; i < count; i++) {
    threads[i] = (struct check_thread){ &start, run, argument, i };
    MUST(pthread_create(&ids[i], NULL, check_thread_main, &threads[i]) == 0);
  }
  for (int i = 0; i < count; i++)
    MUST(pthread_join(ids[i], NULL) == 0);
  pthread_barrier_destroy(&start);
}

/* A count that threads raise and wait for: the handshake in place of every sleep. */
struct counter {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int value;
};

#define COUNTER_INIT { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

static CHECK_UNUSED void counter_add(struct counter *counter, int n) {
  pthread_mutex_lock(&counter->mutex);
  counter->value += n;
  pthread_cond_broadcast(&counter->changed);
  pthread_mutex_unlock(&counter->mutex);
}

static CHECK_UNUSED int counter_value(struct counter *counter) {
  pthread_mutex_lock(&counter->mutex);
  int value = counter->value;
  pthread_mutex_unlock(&counter->mutex);
  return value;
}

static CHECK_UNUSED void counter_reset(struct counter *counter) {
  pthread_mutex_lock(&counter->mutex);
  counter->value = 0;
  pthread_mutex_unlock(&counter->mutex);
}

/* Waits until the count is at least n. */
static CHECK_UNUSED void counter_wait(struct counter *counter, int n) {
  pthread_mutex_lock(&counter->mutex);
  while (counter->value < n)
    pthread_cond_wait(&counter->changed, &counter->mutex);
  pthread_mutex_unlock(&counter->mutex);
}

/* For wait_until_asleep. */
static CHECK_UNUSED int thread_id(void) { return (int)syscall(SYS_gettid); }

/*
 * Returns when the system says that this thread of the process sleeps, as one does that waits for another. It
 * can only be too early: use it to make the interesting case the likely one, and expect nothing that depends
 * on it.
 */
static CHECK_UNUSED void wait_until_asleep(int thread) {
  char path[64], text[256], state = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  while (state != 'S') {
    FILE *file = fopen(path, "r");
    if (file == NULL)
      return; /* it has ended */
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    const char *name_end = strrchr(text, ')');
    state = 0;
    if (name_end != NULL && name_end[1] != 0)
      state = name_end[2];
    sched_yield();
  }
}

#endif
