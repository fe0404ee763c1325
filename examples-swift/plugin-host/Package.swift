// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "plugin-host",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "servicekit", path: "../..")],
  targets: [
    // The dynamic library, in small letters: its engine is this process's only one, for Swift and for plug-ins.
    .executableTarget(
      name: "PluginHost",
      dependencies: ["CPluginClock", .product(name: "servicekit", package: "servicekit")],
      swiftSettings: [.treatAllWarnings(as: .error)]),
    .systemLibrary(name: "CPluginClock"),
  ],
  swiftLanguageModes: [.v6]
)
