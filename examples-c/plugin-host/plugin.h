/*
 * What the host and its plug-ins agree on.
 *
 * A plug-in is a shared library with one function, plugin_register, which registers a journal in the host's
 * container. Host and plug-in know each other by the key and by this header only.
 */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <servicekit.h>

#define JOURNAL_KEY "journal"
#define JOURNAL_TYPE "org.example.journal/1"

/* The service: something that keeps entries. */
typedef struct journal journal;
struct journal {
  const char *name;
  void (*write)(journal *, const char *entry);
  size_t (*count)(journal *); /* entries so far */
};

/*
 * `user_data` and `user_data_free` are the host's, and go into svk_factory_options unchanged. The library
 * calls the one with the other when neither the registration nor any journal built by it is left: this is
 * how the host learns that nobody will ever call into the plug-in again.
 */
typedef svk_status (*plugin_register_fn)(svk_container *container, void *user_data,
                                         svk_free_fn user_data_free);
svk_status plugin_register(svk_container *container, void *user_data, svk_free_fn user_data_free);

#endif
