/* The system refuses a file descriptor: a status, nothing kept, and all works again when there are some. */
#include "check_state.h"

#include <fcntl.h>
#include <sys/resource.h>

enum { FDS = 256 };

static int fds[FDS], fds_used;
static struct rlimit before;

/* Until there are none left. */
static void use_all_descriptors(void) {
  MUST(getrlimit(RLIMIT_NOFILE, &before) == 0);
  struct rlimit low = before;
  if (low.rlim_cur > FDS)
    low.rlim_cur = FDS;
  MUST(setrlimit(RLIMIT_NOFILE, &low) == 0);
  fds_used = 0;
  while (fds_used < FDS) {
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
      break;
    fds[fds_used++] = fd;
  }
  MUST(fds_used < FDS);
}

static void free_descriptors(void) {
  while (fds_used > 0)
    close(fds[--fds_used]);
  MUST(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

static int frees;

static void count_free(void *user_data) {
  (void)user_data;
  frees++;
}

static void test_no_descriptors(void) {
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  svk_dispatcher *dispatcher = NULL;
  svk_subscription *pull = NULL;
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.delivery = SVK_DELIVER_PULL;
  options.user_data_free = count_free;
  use_all_descriptors();
  int kept = 0;
  for (int i = 0; i < 3; i++) {
    /* A library that opens it only when it is asked for it would be right too: then the asking fails. */
    dispatcher = (svk_dispatcher *)&stream;
    svk_status status = svk_dispatcher_create(&dispatcher);
    if (status == SVK_OK) {
      CHECK_EQ(svk_dispatcher_fd(dispatcher), -1);
      CHECK_OK(svk_dispatcher_destroy(dispatcher));
    } else {
      CHECK_STATUS(status, SVK_SYSTEM_ERROR);
      CHECK(dispatcher == NULL);
      CHECK(svk_last_error()[0] != 0);
    }
    pull = (svk_subscription *)&stream;
    status = svk_service_observe(service, &options, &pull);
    if (status == SVK_OK) {
      CHECK_EQ(svk_subscription_fd(pull), -1);
      CHECK_OK(svk_subscription_cancel(pull));
      kept++;
    } else {
      CHECK_STATUS(status, SVK_SYSTEM_ERROR);
      CHECK(pull == NULL);
    }
  }
  CHECK_EQ(frees, kept);
  free_descriptors();
  dispatcher = new_dispatcher();
  pull = observe_pull(service, 0, SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(send_number(stream, 1));
  CHECK_NEXT(pull, 1, 1, 0);
  CHECK(svk_subscription_fd(pull) >= 0);
  CHECK(svk_dispatcher_fd(dispatcher) >= 0);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* Everything that was there before goes on without new descriptors. */
static void test_what_exists_goes_on(void) {
  struct watch watch = WATCH_INIT, inline_watch = WATCH_INIT;
  svk_dispatcher *dispatcher = new_dispatcher();
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  svk_subscription *pull = observe_pull(service, 0, SVK_BUFFER_UNBOUNDED, 0);
  CHECK(svk_subscription_fd(pull) >= 0);
  CHECK(svk_dispatcher_fd(dispatcher) >= 0);
  use_all_descriptors();
  observe(service, &watch, SVK_DELIVER_DISPATCHER, dispatcher);
  observe(service, &inline_watch, SVK_DELIVER_INLINE, NULL);
  CHECK_OK(send_number(stream, 1));
  CHECK_EQ(drain(dispatcher), 1);
  CHECK_EQ(inline_watch.count, 1);
  CHECK_NEXT(pull, 1, 1, 0);
  CHECK_STATUS(svk_service_wait(service, 1, MILLISECOND, NULL), SVK_TIMEOUT);
  cancel_watch(&watch);
  cancel_watch(&inline_watch);
  free_descriptors();
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

int main(void) {
  RUN(test_no_descriptors);
  RUN(test_what_exists_goes_on);
  return check_done();
}
