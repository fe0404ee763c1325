/* svk_set_log: levels, what a message is, replacing, freeing. And that without it nothing is ever printed. */
#include "factory.h"
#include <fcntl.h>
#include <sys/stat.h>

struct logger {
  _Atomic int messages[8], freed;
  struct logger *following;
  int inside;
};

static void write_log(int32_t level, const char *message, void *user_data) {
  struct logger *logger = user_data;
  CHECK_EQ(logger->freed, 0);
  CHECK(level >= SVK_LOG_ERROR && level <= SVK_LOG_DEBUG);
  CHECK(message != NULL && message[0] != 0);
  CHECK(strchr(message, '\n') == NULL);
  atomic_fetch_add(&logger->messages[level & 7], 1);
}

static void logger_free(void *user_data) {
  CHECK_EQ(atomic_fetch_add(&((struct logger *)user_data)->freed, 1), 0);
}

static int total(struct logger *logger) {
  int sum = 0;
  for (int i = 0; i < 8; i++)
    sum += logger->messages[i];
  return sum;
}

/* What a warning is certain to come from: a handle that is held at the end of its container. And some
 * failures. */
static void make_noise(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  svk_handle *missing = NULL;
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  svk_handle *handle = RESOLVE(container, "key");
  CHECK_STATUS(svk_resolve(container, "nothing", &missing), SVK_NOT_FOUND);
  CHECK_STATUS(svk_release(NULL), SVK_INVALID_HANDLE);
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_release(handle));
}

static void test_levels(void) {
  for (int32_t level = SVK_LOG_ERROR; level <= SVK_LOG_DEBUG; level++) {
    struct logger logger = { .freed = 0 };
    CHECK_OK(svk_set_log(write_log, level, &logger, logger_free));
    make_noise();
    for (int above = level + 1; above <= SVK_LOG_DEBUG; above++)
      CHECK_EQ(logger.messages[above], 0);
    CHECK((logger.messages[SVK_LOG_WARNING] > 0) == (level >= SVK_LOG_WARNING));
    CHECK_EQ(logger.messages[SVK_LOG_ERROR], 0); /* nothing is lost here */
    CHECK_OK(svk_set_log(NULL, SVK_LOG_ERROR, NULL, NULL));
    CHECK_EQ(logger.freed, 1);
    int before = total(&logger);
    make_noise();
    CHECK_EQ(total(&logger), before);
  }
}

static void test_unknown_levels(void) {
  static const int32_t unknown[] = { 0, -1, SVK_LOG_DEBUG + 1, INT32_MIN, INT32_MAX };
  struct logger present = { .freed = 0 }, refused = { .freed = 0 };
  CHECK_OK(svk_set_log(write_log, SVK_LOG_WARNING, &present, logger_free));
  for (int i = 0; i < 5; i++)
    CHECK_STATUS(svk_set_log(write_log, unknown[i], &refused, logger_free), SVK_INVALID_ARGUMENT);
  CHECK_EQ(refused.freed, 0);
  CHECK_EQ(present.freed, 0);
  make_noise();
  CHECK(present.messages[SVK_LOG_WARNING] > 0); /* nothing changed */
  CHECK_EQ(total(&refused), 0);
  CHECK_OK(svk_set_log(NULL, 99, &refused, logger_free)); /* when it is removed, the rest is ignored */
  CHECK_EQ(present.freed, 1);
  CHECK_EQ(refused.freed, 0);
  CHECK_OK(svk_set_log(NULL, SVK_LOG_DEBUG, NULL, NULL)); /* there is none: still fine */
}

static void test_replace(void) {
  struct logger first = { .freed = 0 }, second = { .freed = 0 };
  CHECK_OK(svk_set_log(write_log, SVK_LOG_DEBUG, &first, logger_free));
  CHECK_OK(svk_set_log(write_log, SVK_LOG_DEBUG, &second, logger_free));
  CHECK_EQ(first.freed, 1);
  make_noise();
  CHECK_EQ(total(&first), 0);
  CHECK(total(&second) > 0);
  CHECK_OK(svk_set_log(write_log, SVK_LOG_DEBUG, &second, NULL)); /* the same, with another free function */
  CHECK_EQ(second.freed, 1);
  CHECK_OK(svk_set_log(NULL, SVK_LOG_ERROR, NULL, NULL));
  CHECK_EQ(second.freed, 1);
}

/* A log function that calls the library, replaces itself, or causes further messages. */
static void log_inside(int32_t level, const char *message, void *user_data) {
  struct logger *logger = user_data;
  (void)level, (void)message;
  CHECK_EQ(logger->freed, 0);
  if (logger->inside++ == 0) {
    make_noise();
    if (logger->following != NULL)
      CHECK_OK(svk_set_log(write_log, SVK_LOG_DEBUG, logger->following, logger_free));
    else
      CHECK_OK(svk_set_log(NULL, SVK_LOG_ERROR, NULL, NULL));
    CHECK_EQ(logger->freed, 0); /* it still runs */
  }
}

static void test_from_inside(void) {
  struct logger second = { .freed = 0 }, first = { .following = &second }, only = { .freed = 0 };
  CHECK_OK(svk_set_log(log_inside, SVK_LOG_DEBUG, &first, logger_free));
  make_noise();
  CHECK_EQ(first.freed, 1);
  CHECK_OK(svk_set_log(log_inside, SVK_LOG_DEBUG, &only, logger_free));
  CHECK_EQ(second.freed, 1);
  make_noise();
  CHECK_EQ(only.freed, 1);
}

/* A replaced one is freed when its last running call has returned. */
static struct counter entered = COUNTER_INIT, leave = COUNTER_INIT;
static void log_and_wait(int32_t level, const char *message, void *user_data) {
  struct logger *logger = user_data;
  (void)level, (void)message;
  if (logger->inside++ == 0) {
    counter_add(&entered, 1);
    counter_wait(&leave, 1);
  }
  CHECK_EQ(logger->freed, 0);
}

static void noise_or_replace(int index, void *argument) {
  struct logger *logger = argument;
  if (index == 0) {
    make_noise();
  } else {
    counter_wait(&entered, 1);
    CHECK_OK(svk_set_log(NULL, SVK_LOG_ERROR, NULL, NULL));
    CHECK_EQ(logger->freed, 0);
    counter_add(&leave, 1);
  }
}

static void test_replaced_while_it_runs(void) {
  struct logger logger = { .freed = 0 };
  CHECK_OK(svk_set_log(log_and_wait, SVK_LOG_DEBUG, &logger, logger_free));
  run_threads(2, noise_or_replace, &logger);
  CHECK_EQ(logger.freed, 1);
}

/* Noise on many threads while it is replaced. */
static _Atomic int set, freed;
static void count_free(void *user_data) {
  free(user_data);
  atomic_fetch_add(&freed, 1);
}
static void touch(int32_t level, const char *message, void *user_data) {
  CHECK(level >= SVK_LOG_ERROR && message != NULL);
  CHECK(*(int *)user_data == 12345);
}
static void noise_and_replace(int index, void *argument) {
  for (int i = 0; i < *(int *)argument; i++) {
    if (index > 0) {
      make_noise();
      continue;
    }
    int *data = malloc(sizeof *data);
    MUST(data != NULL);
    *data = 12345;
    atomic_fetch_add(&set, 1);
    CHECK_OK(svk_set_log(touch, SVK_LOG_DEBUG, data, count_free));
  }
}
static void test_storm(void) {
  int rounds = iterations(3000);
  run_threads(4, noise_and_replace, &rounds);
  CHECK_OK(svk_set_log(NULL, SVK_LOG_ERROR, NULL, NULL));
  CHECK_EQ(set, freed);
}

/* The library prints nothing by itself, starts no thread, and installs no signal handler. */
static int threads_of_this_process(void) {
  char text[4096];
  FILE *file = fopen("/proc/self/status", "r");
  MUST(file != NULL);
  int threads = 0;
  while (fgets(text, sizeof text, file) != NULL)
    sscanf(text, "Threads: %d", &threads);
  fclose(file);
  return threads;
}

static void test_quiet(void) {
  char name[] = "/tmp/servicekit-test-XXXXXX";
  int file = mkstemp(name);
  MUST(file >= 0);
  unlink(name);
  fflush(NULL);
  int before = threads_of_this_process();
  int out = dup(1), err = dup(2);
  MUST(out >= 0 && err >= 0 && dup2(file, 1) >= 0 && dup2(file, 2) >= 0);
  int failures = check_failures;
  make_noise();
  svk_container_destroy(svk_container_shared());
  fflush(NULL);
  dup2(out, 1);
  dup2(err, 2);
  close(out);
  close(err);
  struct stat status;
  MUST(fstat(file, &status) == 0);
  CHECK(status.st_size == 0 || check_failures != failures);
  close(file);
  CHECK_EQ(threads_of_this_process(), before);
  if (!CHECK_SANITIZED)
    for (int number = 1; number < 32; number++) {
      struct sigaction action;
      if (number != SIGALRM && number != SIGKILL && number != SIGSTOP &&
          sigaction(number, NULL, &action) == 0)
        CHECK(action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
    }
}

int main(void) {
  RUN(test_quiet);
  RUN(test_levels);
  RUN(test_unknown_levels);
  RUN(test_replace);
  RUN(test_from_inside);
  RUN(test_replaced_while_it_runs);
  RUN(test_storm);
  return check_done();
}
