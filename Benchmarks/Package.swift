// swift-tools-version: 6.2
import PackageDescription

// Apart from the library, because counting allocations replaces malloc in the whole program.
let package = Package(
  name: "ambit-benchmarks",
  dependencies: [
    .package(name: "ambit", path: "..", traits: [.defaults, "BindingServer"]),
    // What ours is measured beside.
    .package(
      url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.0", traits: []),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.10.0"),
    .package(url: "https://github.com/OpenCombine/OpenCombine.git", exact: "0.14.0"),
    .package(url: "https://github.com/apple/swift-async-algorithms.git", exact: "1.1.4"),
  ],
  targets: [
    .target(name: "AllocationCounter", path: "AllocationCounter"),
    .target(name: "InstructionCounter", path: "InstructionCounter"),
    .executableTarget(
      name: "bluetooth-benchmarks",
      dependencies: [
        "AllocationCounter", "BenchmarkSupport",
        .product(name: "Essentials", package: "ambit"),
        .product(name: "BluetoothWire", package: "ambit"),
        .product(name: "BluetoothInterface", package: "ambit"),
        .product(name: "BluetoothMachines", package: "ambit"),
        .product(name: "BeaconMachines", package: "ambit"),
        .product(name: "BluetoothHost", package: "ambit"),
        .product(name: "SecureConnections", package: "ambit"),
        .product(name: "SimulatedRadio", package: "ambit"),
        .product(name: "Simulation", package: "ambit"),
      ],
      path: "Bluetooth", exclude: ["App", "Peers"]),
    // An app on either side of Core Bluetooth, as a program of its own.
    .executableTarget(
      name: "bluetooth-benchmark-app",
      dependencies: [.product(name: "CoreBluetooth", package: "ambit")],
      path: "Bluetooth/App", swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(name: "BenchmarkSupport", path: "Support"),
    // Runs what it measures as processes of their own, `bonjour-benchmark-host` among them.
    .executableTarget(
      name: "bonjour-benchmarks", dependencies: ["BenchmarkSupport"],
      path: "Bonjour", exclude: ["Host", "Peers"]),
    // Without Foundation, whose memory would be counted.
    .executableTarget(
      name: "bonjour-benchmark-host",
      dependencies: [
        .product(name: "Essentials", package: "ambit"),
        .product(name: "DNSWire", package: "ambit"),
        .product(name: "DiscoveryMachines", package: "ambit"),
        .product(name: "BonjourHost", package: "ambit"),
      ],
      path: "Bonjour/Host",
      // As programs are that are given away: what they need of Swift is in them, and no more.
      linkerSettings: [.unsafeFlags(["-static-executable"])]),
    // Runs a browser, and what it measures as a process of its own, `binding-benchmarks-host`.
    .executableTarget(
      name: "binding-benchmarks", dependencies: ["BenchmarkSupport"],
      path: "Binding", exclude: ["Host"]),
    .executableTarget(
      name: "binding-benchmarks-host",
      dependencies: [
        .product(name: "Binding", package: "ambit"),
        .product(name: "BindingServer", package: "ambit"),
        .product(name: "Reactive", package: "ambit"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      path: "Binding/Host"),
    .executableTarget(
      name: "position-benchmarks",
      dependencies: [
        "BenchmarkSupport",
        .product(name: "Essentials", package: "ambit"),
        .product(name: "BeaconMachines", package: "ambit"),
      ],
      path: "Position"),
    .executableTarget(
      name: "reactive-benchmarks",
      dependencies: [
        "AllocationCounter", "InstructionCounter", "BenchmarkSupport",
        .product(name: "Reactive", package: "ambit"),
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "OpenCombineDispatch", package: "OpenCombine"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      ],
      path: "Reactive"),
  ],
  swiftLanguageModes: [.v6]
)
