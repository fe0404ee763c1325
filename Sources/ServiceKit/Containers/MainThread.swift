import CPlatform

/// The thread that the main actor runs on.
enum MainThread {
  static var isCurrent: Bool {
    #if os(Linux)
      getpid() == platform_thread_id()
    #else
      pthread_main_np() != 0
    #endif
  }
}
