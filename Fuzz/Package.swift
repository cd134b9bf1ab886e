// swift-tools-version: 6.2
import PackageDescription

// Apart from the library, because a fuzzer needs flags that a dependency must not have.
let package = Package(
  name: "ambit-fuzz",
  dependencies: [.package(name: "ambit", path: "..")],
  targets: [
    .target(
      name: "Fuzzers",
      dependencies: [
        .product(name: "Essentials", package: "ambit"),
        .product(name: "BluetoothWire", package: "ambit"),
        .product(name: "BluetoothMachines", package: "ambit"),
        .product(name: "DNSWire", package: "ambit"),
        .product(name: "ARPWire", package: "ambit"),
        .product(name: "DiscoveryMachines", package: "ambit"),
        .product(name: "PortSharing", package: "ambit"),
      ],
      path: "Sources/FuzzTargets"),
    .executableTarget(
      name: "fuzz", dependencies: ["Fuzzers"],
      swiftSettings: [.unsafeFlags(["-parse-as-library"])]),
  ],
  swiftLanguageModes: [.v6]
)
