/// The architecture as data. `Package.swift` has the dependencies between modules; the layers
/// define in which direction these may be. The picture is in docs/architecture.md; both are checked
/// against each other.
enum Layer: Int, CaseIterable, Sendable {
  /// Values that everything may use. No clock, no I/O.
  case essentials
  /// Bytes to values and back.
  case wire
  /// Events to actions.
  case machines
  /// I/O, clocks, chance; the simulated world.
  case hosts
  /// Apple's names.
  case api
  /// The reactive core, which the API modules do without.
  case reactive
  /// What joins API modules with sequences and the reactive core, and view models with pages.
  case bridges
  /// Executables.
  case programs

  /// The name in docs/architecture.md.
  var title: String {
    self == .api ? "API" : "\(self)".prefix(1).uppercased() + "\(self)".dropFirst()
  }
}

enum Layers {
  struct Module: Sendable {
    var layer: Layer
    /// What it imports of the system and of other packages.
    var external: Set<String> = []
    /// Whether it may read clocks, draw chance and open sockets.
    var mayTouchTheWorld = false
    /// The files that may, of a module that otherwise may not.
    var filesThatTouchTheWorld: Set<String> = []

    init(
      _ layer: Layer, _ external: Set<String> = [], mayTouchTheWorld: Bool? = nil,
      filesThatTouchTheWorld: Set<String> = []
    ) {
      self.layer = layer
      self.external = external
      self.mayTouchTheWorld = mayTouchTheWorld ?? (layer == .hosts || layer == .programs)
      self.filesThatTouchTheWorld = filesThatTouchTheWorld
    }
  }

  private static let apple: Set = ["Foundation", "Dispatch", "Glibc", "CoreFoundation"]

  static let all: [String: Module] = [
    "Essentials": Module(.essentials),

    "JSONWire": Module(.wire),
    "BluetoothWire": Module(.wire),
    // "Swift" for composing text, which the standard library does but doesn't offer.
    "DNSWire": Module(.wire, ["Swift"]),
    "ARPWire": Module(.wire),
    // The values that messages between programs and hosts carry.
    "BluetoothInterface": Module(.wire),
    "HubWire": Module(.wire),
    // Headers of Expat, which is as pure as a decoder of ours.
    "CExpat": Module(.wire),
    "XMPPWire": Module(.wire),

    "L2CAPMachines": Module(.machines),
    "GATTMachines": Module(.machines),
    "PairingMachines": Module(.machines),
    "BluetoothMachines": Module(.machines),
    "BlueZMachines": Module(.machines),
    "BeaconMachines": Module(.machines),
    "DiscoveryMachines": Module(.machines),
    "PeripheralFiles": Module(.machines),
    "PortSharing": Module(.machines),
    "HubClientMachines": Module(.machines),
    "ConnectionMachines": Module(.machines),
    "HubMachines": Module(.machines),
    "AppMachines": Module(.machines),
    "XMPPMachines": Module(.machines),
    "AppHubMachines": Module(.machines),
    "CoverFlow": Module(.machines),
    // The same as functions for a page, and the page's files: bytes.
    "CoverFlowWebAssembly": Module(.machines),
    "CoverFlowPage": Module(.machines),
    "BindingMachines": Module(.machines),

    // Headers of the C library.
    "CLinux": Module(.hosts),
    "CLibcrypto": Module(.hosts),
    "CResolver": Module(.hosts),
    "CSystemd": Module(.hosts),
    "EventLoop": Module(.hosts, ["Glibc", "Synchronization"]),
    "StateFiles": Module(.hosts, ["Glibc", "Synchronization"]),
    "ProcessSpawning": Module(.hosts, ["Glibc"]),
    "RunLoopSupport": Module(
      .hosts, ["Foundation", "CoreFoundation", "Synchronization"], mayTouchTheWorld: false),
    "Connections": Module(.hosts, ["Dispatch", "Glibc", "Synchronization"]),
    "BonjourHost": Module(.hosts, ["CNetlink", "Glibc", "Synchronization"]),
    "BluetoothHost": Module(.hosts, ["Glibc", "Logging", "Synchronization"]),
    "BlueZHost": Module(.hosts, ["Glibc", "Logging", "Synchronization"]),
    "HubPlaces": Module(.hosts, ["Glibc"]),
    "HubClient": Module(.hosts, ["Glibc", "Logging", "Synchronization"]),
    "HubHost": Module(.hosts, ["Glibc", "Synchronization"]),
    "MessagingHost": Module(
      .hosts,
      ["GRDB", "Glibc", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "NIOTLS", "Synchronization"]),
    "BluetoothSessions": Module(.hosts, ["Synchronization"], mayTouchTheWorld: false),
    "LocationFiles": Module(.hosts, ["Foundation", "Logging", "Synchronization"]),
    "InfoPlists": Module(.hosts, ["Foundation"], mayTouchTheWorld: false),
    "AppSessions": Module(
      .hosts, ["Dispatch", "Foundation", "Glibc", "Synchronization"], mayTouchTheWorld: false),
    "CProcesses": Module(.hosts),
    "AppManagerHost": Module(.hosts, ["Foundation", "Glibc", "Synchronization"]),
    "AppDatabase": Module(.hosts, ["Foundation", "GRDB", "Glibc", "Synchronization"]),
    "Simulation": Module(.hosts, ["Glibc", "Synchronization"]),
    "SimulatedRadio": Module(.hosts, ["Foundation", "Glibc", "Logging", "Synchronization"]),
    "SecureConnections": Module(.hosts, mayTouchTheWorld: false),

    "KeyValueObserving": Module(.api, ["Foundation", "Synchronization"]),
    // A module map only.
    "CoreBluetoothSubmodules": Module(.api),
    "CoreLocationSubmodules": Module(.api),
    "CoreBluetooth": Module(.api, apple.union(["Logging", "Synchronization"])),
    "CoreLocation": Module(.api, apple.union(["Logging", "Synchronization"])),
    "Bonjour": Module(.api, apple.union(["Synchronization"])),
    "AppLifecycle": Module(.api, apple.union(["Synchronization"])),
    "BackgroundTasks": Module(.api), "UserNotifications": Module(.api),
    "CDNSServiceDiscovery": Module(.api),
    "Messaging": Module(.api, ["Synchronization"]),
    "dns_sd": Module(.api, ["Glibc", "Synchronization"]),

    "Reactive": Module(
      .reactive,
      [
        "Darwin", "Dispatch", "FoundationEssentials", "Glibc", "Observation", "Synchronization",
      ],
      filesThatTouchTheWorld: ["Sources/Reactive/Schedulers/QueueScheduler.swift"]),
    "ReactiveFoundation": Module(.reactive, ["Foundation", "FoundationNetworking"]),
    "Binding": Module(.reactive, ["Synchronization"]),

    "CoreBluetoothAsync": Module(.bridges, apple.union(["Synchronization"])),
    "CoreBluetoothReactive": Module(.bridges, apple.union(["Synchronization"])),
    "CoreLocationAsync": Module(.bridges, ["Foundation", "Dispatch", "Synchronization"]),
    "CoreLocationReactive": Module(.bridges, ["Foundation"]),
    "BonjourReactive": Module(.bridges),
    "MessagingReactive": Module(.bridges),
    "BindingServer": Module(
      .bridges,
      [
        "Foundation", "Glibc", "HTTPTypes", "HummingbirdCore", "Logging", "NIOCore",
        "NIOHTTP1", "NIOHTTPTypes", "NIOHTTPTypesHTTP1", "NIOPosix", "ServiceLifecycle",
        "Synchronization", "UnixSignals",
      ],
      mayTouchTheWorld: true),

    // A phone with a radio and apps, for tests: no other module depends on it.
    "AppLifecycleTesting": Module(
      .programs, ["Dispatch", "Foundation", "Glibc", "Synchronization"], mayTouchTheWorld: false,
      // Waits for processes of apps by the wall's clock.
      filesThatTouchTheWorld: [
        "Sources/Hub/AppLifecycleTesting/Processes/ChildProcess.swift"
      ]),

    "AmbitCLI": Module(
      .programs, apple.union(["ArgumentParser", "Logging", "Synchronization"])),
    "AmbitHub": Module(.programs, ["ArgumentParser", "Foundation"], filesThatTouchTheWorld: []),
    "AmbitPage": Module(
      .programs, ["ArgumentParser", "Foundation", "Synchronization"], filesThatTouchTheWorld: []),
    "AmbitMessage": Module(
      .programs, ["ArgumentParser", "Foundation", "Glibc", "Synchronization"],
      filesThatTouchTheWorld: []),
    "AmbitApps": Module(
      .programs, ["ArgumentParser", "Foundation", "Glibc"], filesThatTouchTheWorld: []),
    // The executables, which only start the command line and the page.
    "ambit": Module(.programs),
    "ambit-hub": Module(.programs),
    "ambit-page": Module(.programs),
    "ambit-message": Module(.programs),
    "ambit-apps": Module(.programs),
  ]

  /// Names of what reads a clock, draws chance or opens a socket, as source code has them.
  static let ambientNames = [
    "Date()", "Date.now", "Date.timeIntervalSinceReferenceDate", "CFAbsoluteTimeGetCurrent",
    "timeIntervalSinceNow", "systemUptime", "ContinuousClock", "SuspendingClock", "Task.sleep",
    "Thread.sleep", "asyncAfter", "DispatchTime.now", "DispatchWallTime", "deadline: .now()",
    "clock_gettime", "gettimeofday", "mach_absolute_time", "mach_continuous_time", "time(nil)",
    "nanosleep", "SystemRandomNumberGenerator", ".random(in", ".random()", ".randomElement()",
    ".shuffled()", "UUID()", "arc4random", "getrandom", "drand48", "socket(",
  ]

  /// The same as symbols that compiled code refers to: what a name above misses because it is
  /// spelled otherwise in the source. Mangled names by how they begin.
  static let ambientSymbols = [
    "clock_gettime", "gettimeofday", "time", "clock", "nanosleep", "usleep", "sleep", "times",
    "timespec_get", "mach_absolute_time", "mach_continuous_time", "CFAbsoluteTimeGetCurrent",
    "getrandom", "getentropy", "arc4random", "arc4random_buf", "arc4random_uniform", "random",
    "rand", "drand48", "swift_stdlib_random", "socket", "timerfd_create", "dispatch_time",
    "dispatch_walltime", "dispatch_after",
    // Date.init(), Date.now, UUID.init(): of FoundationEssentials.
    "$s20FoundationEssentials4DateVACycfC", "$s20FoundationEssentials4DateV3now",
    "$s20FoundationEssentials4UUIDVACycfC",
    "$s10Foundation4DateVACycfC", "$s10Foundation4DateV3now", "$s10Foundation4UUIDVACycfC",
    // ContinuousClock, SuspendingClock, Task.sleep, SystemRandomNumberGenerator.
    "$ss15ContinuousClockV", "$ss15SuspendingClockV", "$sScTss5NeverORszABRs_rlE5sleep",
    "$ss27SystemRandomNumberGeneratorV",
  ]
}
