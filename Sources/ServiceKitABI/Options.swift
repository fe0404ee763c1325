import CPlatform
import CServiceKit

#if canImport(ServiceKitCore)
  import ServiceKitCore
#endif

/// A struct of options, which begins with its size, so that it can grow from version to version.
enum Options {
  /// No struct of options will ever be larger. Guards against reading far past one whose size was not set.
  private static let largest = 4096

  /// Copies a caller's options: a smaller struct, of an older client, leaves the rest at `defaults`; a larger one, of a
  /// newer client, must not ask for what this version does not know.
  ///
  /// `smallest` is the size that the struct had in version 1.0.
  static func read<Value>(
    _ pointer: UnsafePointer<Value>?, _ name: StaticString, smallest: Int, defaults: Value
  ) throws(Failure) -> Value {
    guard let pointer else {
      throw Failure(SVK_INVALID_ARGUMENT) { text in
        text.append(name)
        text.append(" is NULL")
      }
    }
    let source = UnsafeRawPointer(pointer)
    let size = Int(source.loadUnaligned(as: UInt32.self))
    guard size >= smallest, size <= largest else {
      throw Failure(SVK_INVALID_ARGUMENT) { text in
        text.append(name)
        text.append(".size is ")
        text.append(Int64(size))
        text.append("; set it to sizeof(")
        text.append(name)
        text.append("), as its INIT macro does")
      }
    }
    let known = MemoryLayout<Value>.size
    for offset in min(known, size)..<size where source.load(fromByteOffset: offset, as: UInt8.self) != 0 {
      throw Failure(SVK_INVALID_ARGUMENT) { text in
        text.append(name)
        text.append(" has something set that this version of the library does not know; its version is ")
        text.append(versionString)
      }
    }
    var value = defaults
    withUnsafeMutableBytes(of: &value) { $0.baseAddress!.copyMemory(from: source, byteCount: min(known, size)) }
    return value
  }
}
