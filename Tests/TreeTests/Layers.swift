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

  private static let system: Set = ["Foundation", "Dispatch", "Glibc", "CoreFoundation"]

  static let all: [String: Rule] = [
    "Essentials": Rule(imports: []),
    "EventLoop": Rule(
      imports: ["Essentials", "CLinux", "Glibc", "Synchronization"], mayTouchTheWorld: true),
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
    "PortSharing": Rule(imports: ["Essentials", "DNSWire", "DiscoveryMachines"]),
    "BonjourHost": Rule(
      imports: [
        "Glibc", "CLinux", "Essentials", "EventLoop", "ARPWire", "DNSWire",
        "DiscoveryMachines", "PortSharing", "Synchronization",
      ],
      mayTouchTheWorld: true),
    "dns_sd": Rule(
      imports: [
        "Glibc", "CLinux", "Synchronization", "CDNSServiceDiscovery", "Essentials", "DNSWire",
        "DiscoveryMachines", "BonjourHost",
      ]),
    "ConnectionMachines": Rule(imports: ["Essentials"]),
    "Connections": Rule(
      imports: ["Dispatch", "Glibc", "CLinux", "Essentials", "EventLoop", "Synchronization"],
      mayTouchTheWorld: true),
    "BonjourReactive": Rule(imports: ["Bonjour", "Reactive"]),
    "RunLoopSupport": Rule(imports: ["Foundation", "CoreFoundation", "Synchronization"]),
    "Bonjour": Rule(
      imports: system.union([
        "Essentials", "EventLoop", "RunLoopSupport", "DNSWire", "DiscoveryMachines",
        "BonjourHost", "ConnectionMachines", "Connections", "Synchronization",
      ])),
    "Simulation": Rule(
      imports: ["Essentials", "BluetoothWire", "BluetoothMachines", "Synchronization", "Glibc"],
      mayTouchTheWorld: true),
    "BluetoothHost": Rule(
      imports: [
        "Glibc", "Essentials", "EventLoop", "BluetoothWire", "BluetoothMachines", "Logging",
        "Synchronization",
      ], mayTouchTheWorld: true),
    "SimulatedRadio": Rule(
      imports: [
        "Foundation", "Glibc", "Essentials", "EventLoop", "BluetoothWire", "BluetoothMachines",
        "BluetoothHost", "Simulation", "Logging", "Synchronization",
      ], mayTouchTheWorld: true),
    "CoreBluetooth": Rule(
      imports: system.union([
        "Essentials", "RunLoopSupport", "BluetoothWire", "BluetoothMachines", "BluetoothHost",
        "SimulatedRadio", "Logging", "Synchronization",
      ])),
    "CoreBluetoothAsync": Rule(
      imports: system.union(["CoreBluetooth", "BluetoothHost", "Synchronization"])),
    "AmbitCLI": Rule(
      imports: system.union([
        "Essentials", "BluetoothWire", "BluetoothMachines", "BluetoothHost", "SimulatedRadio",
        "Simulation", "Logging",
        "CoreBluetooth", "CoreBluetoothAsync", "ARPWire", "DNSWire", "DiscoveryMachines",
        "BonjourHost", "ArgumentParser", "Synchronization",
      ]), mayTouchTheWorld: true),
    // The executable, which only starts the command line.
    "ambit": Rule(imports: ["AmbitCLI"]),
  ]
}
