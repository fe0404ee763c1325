/* The system headers that Sources/ServiceKitCore/Platform is built on, and nothing else.
 * A module of our own rather than Glibc or Darwin, because Embedded Swift has neither. */
#ifndef SERVICEKIT_PLATFORM_H
#define SERVICEKIT_PLATFORM_H

/* No _GNU_SOURCE: Swift's own Glibc module is built without it, and the two must agree on every struct. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/eventfd.h>
#include <sys/syscall.h>
#endif

/* What Swift cannot say: a fence for the compiler alone, a pause in a loop that waits for another processor,
 * and a call of a variadic function. */

static inline void platform_compiler_fence(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

static inline void platform_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

/* The calling thread, told apart from all others that run. */
static inline const void *platform_thread_identity(void) {
  static __thread char here;
  return &here;
}

#ifdef __linux__
static inline int platform_membarrier(int command) { return (int)syscall(SYS_membarrier, command, 0, 0); }
#endif

#endif
