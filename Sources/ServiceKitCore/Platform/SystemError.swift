import CPlatform

/// The C library's `errno` of this thread, which Swift does not import, being a macro.
enum SystemError {
  static var current: Int32 {
    get { location.pointee }
    set { location.pointee = newValue }
  }

  private static var location: UnsafeMutablePointer<Int32> {
    #if os(Linux)
      __errno_location()
    #else
      __error()
    #endif
  }
}
