import ServiceKitCore
import Synchronization

/// What a definition has to know of ``FactoryContext`` each time it is read: kept where reading it costs next to nothing.
@usableFromInline
enum ActiveContexts {
  private static let flags = Atomic<UInt8>(0)
  private static let begun: Void = FactoryContext.publish()

  /// Tells the engine, and those who read a definition.
  static func publish(_ context: FactoryContext) {
    let active = contexts(of: context)
    var flags: UInt8 = published
    for each in active { flags |= flag(each) }
    self.flags.store(flags, ordering: .releasing)
    ProcessContexts.current = ContextList(active.flatMap(\.names).map { OwnedBytes.copy(of: $0) })
  }

  /// Whether a definition's factory for `context` may be asked. True for arguments, which only the engine looks up, and
  /// for a container that has contexts of its own.
  @usableFromInline
  static func mayBeActive(_ context: FactoryContextType, in manager: Unmanaged<ContainerManager>) -> Bool {
    mayBeActive(context) || manager._withUnsafeGuaranteedRef { !$0.engine.hasNoSettings }
  }

  private static func mayBeActive(_ context: FactoryContextType) -> Bool {
    var now = flags.load(ordering: .acquiring)
    if now == 0 {
      begin()
      now = flags.load(ordering: .acquiring)
    }
    return now & flag(context) != 0
  }

  /// Before the first resolve.
  @inline(__always)
  static func begin() { _ = begun }

  private static let published: UInt8 = 1 << 7
  private static let argument: UInt8 = 1 << 0

  private static func flag(_ context: FactoryContextType) -> UInt8 {
    switch context {
    case .arg, .args: argument
    case .preview: 1 << 1
    case .test: 1 << 2
    case .simulator: 1 << 3
    case .device: 1 << 4
    case .debug: 1 << 5
    }
  }

  private static func contexts(of context: FactoryContext) -> [FactoryContextType] {
    var active = (context.arguments + context.orderedRuntimeArguments).map { FactoryContextType.arg($0) }
    if context.isPreview { active.append(.preview) }
    if context.isTest { active.append(.test) }
    active.append(context.isSimulator ? .simulator : .device)
    if context.isDebug { active.append(.debug) }
    return active
  }
}

extension OwnedBytes {
  static func copy(of text: String) -> OwnedBytes {
    var text = text
    return text.withUTF8 { OwnedBytes(ByteView(start: $0.baseAddress, count: $0.count)) }
  }
}
