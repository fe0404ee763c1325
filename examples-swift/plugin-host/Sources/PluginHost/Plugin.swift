import CPluginClock
import ServiceKit

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

struct PluginError: Error, CustomStringConvertible {
  let description: String
}

enum Plugin {
  /// Loads a plug-in and lets it register what it has. It stays loaded until the process ends: the container and what
  /// was made by it point into its code.
  static func load(_ path: String, into container: Container) throws {
    typealias Register = @convention(c) (OpaquePointer) -> Int32
    guard let code = dlopen(path, RTLD_NOW | RTLD_LOCAL), let symbol = dlsym(code, PLUGIN_REGISTER) else {
      throw PluginError(description: String(cString: dlerror()))
    }
    let status = unsafeBitCast(symbol, to: Register.self)(container.cHandle)
    guard status == 0 else { throw PluginError(description: "\(path) could not register: status \(status)") }
  }
}
