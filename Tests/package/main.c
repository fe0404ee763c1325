/* Uses an installed ServiceKit: `main 1.0.0` checks that it is that version and that it works. Also valid
 * C++. */
#include <servicekit.h>
#include <stdio.h>
#include <string.h>

static svk_status make_answer(svk_resolver *resolver, void **instance, void *user_data) {
  (void)resolver;
  *instance = user_data;
  return SVK_OK;
}

static int check(const char *what, svk_status status) {
  if (status == SVK_OK)
    return 1;
  fprintf(stderr, "%s: %s: %s\n", what, svk_status_name(status), svk_last_error());
  return 0;
}

int main(int argc, char **argv) {
  int answer = 42;
  svk_container *container = NULL;
  svk_handle *handle = NULL;
  svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
  options.create = make_answer;
  options.user_data = &answer;

  if (argc != 2 || strcmp(argv[1], svk_version_string()) != 0) {
    fprintf(stderr, "expected version %s, got %s\n", argc == 2 ? argv[1] : "(none)", svk_version_string());
    return 1;
  }
  if (!check("create", svk_container_create(&container)) ||
      !check("register", svk_register(container, "answer", &options)) ||
      !check("resolve", svk_resolve(container, "answer", &handle)))
    return 1;
  printf("%s: %d\n", argv[0], *(int *)svk_instance(handle));
  return check("release", svk_release(handle)) && check("destroy", svk_container_destroy(container)) ? 0 : 1;
}
