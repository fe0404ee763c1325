// A stream with a service that delivers on the sender's thread.
#pragma once

#include <servicekit.h>

struct Published {
  Published();
  ~Published();
  /// An observer that counts its calls.
  svk_subscription *observe(long &calls);

  svk_stream *stream = nullptr;
  svk_service *service = nullptr;
};
