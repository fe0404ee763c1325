import Foundation

/// Forks, runs `body` in the child and gives the child's exit status; -1 if it ended otherwise.
///
/// The child ends at once: nothing of the test's own runs in it. `body` may use what needs no other thread.
func inForkedChild(_ body: () -> Int32) -> Int32 {
  typealias ForkFunction = @convention(c) () -> Int32
  // Swift does not import it, for good reasons that this one use respects.
  let fork = unsafeBitCast(dlsym(nil, "fork")!, to: ForkFunction.self)
  let child = fork()
  if child == 0 { _exit(body()) }
  var status: Int32 = 0
  while waitpid(child, &status, 0) < 0, errno == EINTR {}
  return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
}

func isDescriptorReadable(_ descriptor: Int32) -> Bool {
  var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  return poll(&watched, 1, 0) == 1
}
