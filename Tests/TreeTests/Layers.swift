/// The architecture as data: what each module may import. The picture is in docs/architecture.md.
enum Layers {
  struct Rule: Sendable {
    /// Modules of this package and of others that it may import.
    var imports: Set<String>
    /// Whether it may read clocks, draw chance and open sockets.
    var mayTouchTheWorld = false
    /// The files that may, of a module that otherwise may not.
    var filesThatTouchTheWorld: Set<String> = []
  }

  private static let nio: Set = ["NIOCore", "NIOPosix"]
  private static let system: Set = ["Foundation", "Dispatch", "Glibc", "CoreFoundation"]

  static let all: [String: Rule] = [
    "Essentials": Rule(imports: []),
    "HostEssentials": Rule(imports: ["Essentials", "Glibc", "NIOCore"], mayTouchTheWorld: true),
    "Reactive": Rule(
      imports: [
        "Darwin", "Dispatch", "FoundationEssentials", "Glibc", "Observation", "Synchronization",
      ],
      filesThatTouchTheWorld: ["Sources/Reactive/Schedulers/QueueScheduler.swift"]),
    "ReactiveFoundation": Rule(imports: ["Foundation", "FoundationNetworking", "Reactive"]),
    "BluetoothWire": Rule(imports: ["Essentials"]),
    "BluetoothMachines": Rule(imports: ["Essentials", "BluetoothWire"]),
    // "Swift" for composing text, which the standard library does but doesn't offer.
    "DNSWire": Rule(imports: ["Essentials", "Swift"]),
    "ARPWire": Rule(imports: ["Essentials"]),
    "DiscoveryMachines": Rule(imports: ["Essentials", "ARPWire", "DNSWire"]),
    "BonjourHost": Rule(
      imports: nio.union([
        "Glibc", "Essentials", "HostEssentials", "DNSWire", "DiscoveryMachines", "Synchronization",
      ]),
      mayTouchTheWorld: true),
    "Simulation": Rule(
      imports: ["Essentials", "BluetoothWire", "BluetoothMachines", "Synchronization", "Glibc"],
      mayTouchTheWorld: true),
    "BluetoothHost": Rule(
      imports: nio.union(system).union([
        "Essentials", "HostEssentials", "BluetoothWire", "BluetoothMachines", "Simulation",
        "Synchronization",
      ]), mayTouchTheWorld: true),
    "CoreBluetooth": Rule(
      imports: system.union([
        "Essentials", "BluetoothWire", "BluetoothMachines", "BluetoothHost", "Synchronization",
      ])),
    "CoreBluetoothAsync": Rule(
      imports: system.union(["CoreBluetooth", "BluetoothHost", "Synchronization"])),
    "ambit": Rule(
      imports: nio.union(system).union([
        "Essentials", "BluetoothWire", "BluetoothMachines", "BluetoothHost", "Simulation",
        "CoreBluetooth", "CoreBluetoothAsync", "DNSWire", "DiscoveryMachines", "BonjourHost",
        "ArgumentParser", "Synchronization",
      ]), mayTouchTheWorld: true),
  ]
}
