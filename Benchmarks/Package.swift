// swift-tools-version: 6.2
import PackageDescription

// Apart from the library, because counting allocations replaces malloc in the whole program.
let package = Package(
  name: "ambit-benchmarks",
  dependencies: [.package(name: "ambit", path: "..")],
  targets: [
    .target(name: "AllocationCounter", path: "AllocationCounter"),
    .executableTarget(
      name: "bluetooth-benchmarks",
      dependencies: [
        "AllocationCounter",
        .product(name: "Essentials", package: "ambit"),
        .product(name: "BluetoothWire", package: "ambit"),
        .product(name: "BluetoothMachines", package: "ambit"),
        .product(name: "BluetoothHost", package: "ambit"),
        .product(name: "Simulation", package: "ambit"),
      ],
      path: "Bluetooth", exclude: ["Peers"]),
    .executableTarget(
      name: "reactive-benchmarks",
      dependencies: ["AllocationCounter", .product(name: "Reactive", package: "ambit")],
      path: "Reactive"),
  ],
  swiftLanguageModes: [.v6]
)
