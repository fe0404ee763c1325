// swift-tools-version: 6.2
import PackageDescription

/// Ours to keep clean, so any warning is an error.
let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error)
]

/// CMake compiles these targets a second time, as Embedded Swift, into libservicekit.so. What that mode does not
/// have (`weak`, untyped `throws`, …) is refused here too, so that nobody finds out only when the library is built.
let embeddable: [SwiftSetting] =
  strict + [
    .treatWarning("EmbeddedRestrictions", as: .error)
  ]

let package = Package(
  name: "servicekit",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "ServiceKit", targets: ["ServiceKit"]),
    .library(name: "ServiceKitTesting", targets: ["ServiceKitTesting"]),
    // For hosts of plug-ins: one engine, for Swift and for the C functions.
    .library(name: "servicekit", type: .dynamic, targets: ["ServiceKitABI", "ServiceKit"]),
  ],
  targets: [
    .systemLibrary(name: "CServiceKit", path: "include"),
    .systemLibrary(name: "CPlatform"),
    .target(
      name: "ServiceKitCore",
      dependencies: ["CServiceKit", "CPlatform"],
      swiftSettings: embeddable),
    .target(
      name: "ServiceKitABI",
      dependencies: ["ServiceKitCore", "CServiceKit"],
      swiftSettings: embeddable),
    .target(
      name: "ServiceKit",
      dependencies: ["ServiceKitCore", "CServiceKit", "CPlatform"],
      swiftSettings: strict),
    .target(
      name: "ServiceKitTesting",
      dependencies: ["ServiceKit"],
      swiftSettings: strict),

    .testTarget(
      name: "ServiceKitTests",
      dependencies: ["ServiceKit", "ServiceKitTesting", "ServiceKitABI", "CServiceKit"],
      swiftSettings: strict),
    .testTarget(
      name: "ServiceKitCoreTests",
      dependencies: ["ServiceKitCore", "CServiceKit", "CPlatform"],
      swiftSettings: strict),
    .testTarget(
      name: "ServiceKitABITests",
      dependencies: ["ServiceKitABI", "CServiceKit", "CPlatform"],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
