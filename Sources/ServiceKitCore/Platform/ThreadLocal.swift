import CPlatform

/// One pointer per thread, with a function that is called with it when its thread ends.
package struct ThreadLocal {
  private let key: pthread_key_t

  /// Ends the process when the system's keys are used up, as an allocation failure would: nothing works without one.
  package init(atThreadEnd: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) {
    var key = pthread_key_t()
    #if os(Linux)
      guard pthread_key_create(&key, atThreadEnd) == 0 else { abort() }
    #else
      guard pthread_key_create(&key, { atThreadEnd($0) }) == 0 else { abort() }
    #endif
    self.key = key
  }

  package var pointer: UnsafeMutableRawPointer? {
    get { pthread_getspecific(key) }
    nonmutating set { pthread_setspecific(key, newValue) }
  }
}
