// swift-tools-version: 6.2
// Table of the products, the packages that they need, and the targets.
import PackageDescription

/// The modules that other packages may use; each is a product of its name. `BindingServer` and `Messaging` are empty
/// without the traits of these names.
let libraries: [Product] = [
  "Essentials", "JSONWire", "Reactive", "ReactiveFoundation", "CoreBluetooth", "CoreBluetoothAsync",
  "CoreBluetoothReactive", "CoreLocation", "CoreLocationAsync", "CoreLocationReactive",
  "BluetoothHost", "BluetoothInterface", "BluetoothMachines", "BluetoothWire", "Bonjour",
  "BonjourReactive", "BeaconMachines", "DNSWire", "ARPWire", "DiscoveryMachines", "BonjourHost",
  "Binding", "BindingServer", "Simulation", "PeripheralFiles", "SimulatedRadio",
  "SecureConnections", "CoverFlow", "CoverFlowPage", "AppLifecycle", "AppLifecycleTesting",
  "Messaging",
].map { .library(name: $0, targets: [$0]) }
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

let package = Package(
  name: "ambit",
  products: libraries + [
    // Built by scripts/build-dns-sd, which makes it fit to be installed.
    .library(name: "dns_sd", type: .dynamic, targets: ["dns_sd"])
  ],
  traits: [
    .trait(
      name: "BluetoothHost",
      description: "Links the host into CoreBluetooth. Programs that only use a hub do without it."),
    .trait(
      name: "SimulatedRadio",
      description: "Links the simulated radio into CoreBluetooth. Devices that ship do without it.",
      enabledTraits: ["BluetoothHost"]),
    .trait(
      name: "SecureConnections",
      description: "Links P-256 from libcrypto into CoreBluetooth, for LE Secure Connections.",
      enabledTraits: ["BluetoothHost"]),
    .trait(
      name: "BindingServer",
      description: "Compiles BindingServer, which serves pages with SwiftNIO and hummingbird."),
    .trait(
      name: "Messaging",
      description: "Compiles Messaging, a client of XMPP, with SwiftNIO, Expat and SQLite."),
    .trait(
      name: "AppDatabase",
      description: "Compiles the store of the manager of apps on SQLite, which ambit-apps uses."),
    .trait(
      name: "BlueZ",
      description:
        "Links a host over bluetoothd's D-Bus interfaces into CoreBluetooth, with sd-bus."),
    .default(enabledTraits: ["BluetoothHost", "SimulatedRadio", "SecureConnections"]),
  ],
  dependencies: [
    // What the products need.
    .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
    // What the trait BindingServer needs; without it, none is fetched
    // (docs/decisions/0140-the-server-is-a-trait.md).
    .package(
      url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.0", traits: []),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.35.0"),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.10.0"),
    // What the trait Messaging needs, beside SwiftNIO (docs/decisions/0217-the-store-of-messages.md); GRDB is also the
    // trait AppDatabase's.
    .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
    // What only this package itself needs, its programs and its documentation: no product may need
    // one of them, or users of a product have to fetch it (docs/decisions/0054-what-consumers-fetch.md).
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.0"),
    .package(url: "https://github.com/swiftlang/swift-docc-plugin.git", from: "1.5.0"),
  ],
  targets: [
    module("Essentials"),

    // JSON texts <-> values.
    wire("JSONWire"),

    module("EventLoop", needs: "Essentials", "CLinux"),

    // Files of a user's state: private, atomic, locked between processes.
    host("StateFiles"),

    // Run loops and streams for API modules.
    module("RunLoopSupport", needs: "EventLoop"),

    // What Apple's Foundation has and Linux lacks.
    module("KeyValueObserving"),

    // What Linux has and Swift's module of the C library leaves out.
    .systemLibrary(name: "CLinux"),

    // OpenSSL's cryptography (docs/decisions/0173-p-256-comes-from-libcrypto.md).
    .systemLibrary(name: "CLibcrypto"),

    // Signals, producers, properties, actions, schedulers, bindings.
    module("Reactive"),
    module("ReactiveFoundation", needs: "Reactive"),

    // Bluetooth: wire, machines, host, API.
    wire("BluetoothWire", in: "Bluetooth"),
    wire("BluetoothInterface", in: "Bluetooth", needs: "BluetoothWire"),
    machines("BluetoothMachines", in: "Bluetooth", needs: "BluetoothWire", "BluetoothInterface"),
    host(
      "BluetoothHost", in: "Bluetooth", needs: "StateFiles", "BluetoothWire", "BluetoothInterface",
      "BluetoothMachines", logging),
    host(
      "SimulatedRadio", in: "Bluetooth", needs: "BluetoothWire", "BluetoothInterface",
      "BluetoothMachines", "BluetoothHost", "Simulation", "PeripheralFiles",
      plugIn("SecureConnections"), logging),
    module(
      "SecureConnections", in: "Bluetooth", needs: "BluetoothWire", "BluetoothMachines",
      "BluetoothHost", .target(name: "CLibcrypto", condition: .when(traits: ["SecureConnections"]))),
    // A host over bluetoothd, with the trait BlueZ (docs/decisions/0230-bluez-is-a-trait-on-sd-bus.md).
    .systemLibrary(name: "CSystemd", path: "Sources/Bluetooth/CSystemd"),
    machines("BlueZMachines", in: "Bluetooth", needs: "BluetoothWire", "BluetoothInterface"),
    host(
      "BlueZHost", in: "Bluetooth", needs: "BluetoothWire", "BluetoothInterface", "BlueZMachines",
      .target(name: "CSystemd", condition: .when(traits: ["BlueZ"])), logging),
    // The host that API modules have sessions with, and its plug-ins.
    module(
      "BluetoothSessions", in: "Bluetooth", needs: "BluetoothInterface", "EventLoop", "HubClient",
      plugIn("BluetoothHost"), plugIn("SimulatedRadio"), plugIn("SecureConnections"),
      .target(name: "BlueZHost", condition: .when(traits: ["BlueZ"]))),
    api(
      "CoreBluetooth", in: "Bluetooth", needs: "KeyValueObserving", "CoreBluetoothSubmodules",
      "BluetoothWire", "BluetoothInterface", "BluetoothSessions", "InfoPlists", logging),
    // Lets `import CoreBluetooth.CBUUID` compile.
    .systemLibrary(name: "CoreBluetoothSubmodules", path: "Sources/Submodules/CoreBluetooth"),
    module(
      "CoreBluetoothAsync", in: "Bluetooth", needs: "RunLoopSupport", "CoreBluetooth",
      "BluetoothInterface", "BluetoothSessions"),
    module(
      "CoreBluetoothReactive", in: "Bluetooth", needs: "RunLoopSupport", "CoreBluetooth",
      "CoreBluetoothAsync", "Reactive"),

    // The hub: where programs look for one.
    module("HubPlaces", in: "Hub", needs: "EventLoop"),
    // What apps and the hub of their machine send each other.
    wire("HubWire", in: "Hub", needs: "BluetoothWire", "BluetoothInterface"),
    // An app's side of the connection, and the sessions through it.
    machines(
      "HubClientMachines", in: "Hub", needs: "BluetoothWire", "BluetoothInterface", "HubWire"),
    host(
      "HubClient", in: "Hub", needs: "BluetoothInterface", "HubPlaces", "HubWire",
      "HubClientMachines", logging),
    machines(
      "HubMachines", in: "Hub", needs: "JSONWire", "BluetoothWire", "BluetoothInterface", "HubWire"),
    host(
      "HubHost", in: "Hub", needs: "BluetoothInterface", "BluetoothMachines", "BluetoothHost",
      "HubMachines", "HubPlaces", "HubWire"),

    // Apps that come and go: their life, as a phone has it.
    machines("AppMachines", in: "Hub"),
    // A hub whose programs are apps that come and go.
    machines(
      "AppHubMachines", in: "Hub", needs: "BluetoothWire", "BluetoothInterface", "HubWire",
      "HubMachines", "AppMachines", "BeaconMachines"),
    // What the Info.plist of a program declares.
    module("InfoPlists", in: "Hub"),
    // A process's session with the system that runs its app.
    module(
      "AppSessions", in: "Hub", needs: "Essentials", "EventLoop", "AppMachines", "InfoPlists"),
    // Calls about processes that Swift's module of the C library leaves out.
    .systemLibrary(name: "CProcesses", path: "Sources/Hub/CProcesses"),
    // The manager of apps: their processes, and a radio for them (docs/decisions/0238-a-manager-of-apps.md).
    host(
      "AppManagerHost", in: "Hub", needs: "CLinux", "CProcesses", "StateFiles",
      "BluetoothInterface", "HubMachines", "AppMachines", "AppHubMachines", "InfoPlists",
      "AppSessions"),
    // Its store on SQLite, with the trait AppDatabase (docs/decisions/0253-the-store-of-apps-is-sqlite.md).
    host(
      "AppDatabase", in: "Hub", needs: "StateFiles", "AppManagerHost",
      .product(
        name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["AppDatabase"]))),
    // Apple's names for apps.
    module(
      "AppLifecycle", in: "Hub", needs: "Essentials", "AppMachines", "AppSessions", "InfoPlists"),
    // A phone in virtual time, for tests of apps in the background.
    module(
      "AppLifecycleTesting", in: "Hub", needs: "Essentials", "EventLoop", "CLinux",
      "BluetoothWire", "BluetoothInterface",
      "BluetoothMachines", "BluetoothHost", "BluetoothSessions", "SimulatedRadio", "Simulation",
      "HubWire", "HubMachines", "HubClientMachines", "AppMachines", "AppHubMachines",
      "AppSessions", "AppLifecycle", "InfoPlists"),

    // Location: beacon regions, ranging and position.
    machines("BeaconMachines", in: "Location", needs: "BluetoothWire"),
    // Regions and conditions that outlive a program.
    host("LocationFiles", in: "Location", needs: "StateFiles", "BeaconMachines", logging),
    api(
      "CoreLocation", in: "Location", needs: "LocationFiles", "CoreLocationSubmodules",
      "BluetoothWire", "BluetoothInterface", "BluetoothSessions", "BeaconMachines", "AppMachines",
      "AppSessions", logging),
    // Lets `import CoreLocation.CLLocation` compile.
    .systemLibrary(name: "CoreLocationSubmodules", path: "Sources/Submodules/CoreLocation"),
    module("CoreLocationAsync", in: "Location", needs: "RunLoopSupport", "CoreLocation"),
    module(
      "CoreLocationReactive", in: "Location", needs: "RunLoopSupport", "CoreLocation",
      "CoreLocationAsync", "Reactive"),

    // Bonjour: wire, machines, host, API.
    wire("DNSWire", in: "Bonjour"),
    wire("ARPWire", in: "Bonjour"),
    machines("DiscoveryMachines", in: "Bonjour", needs: "ARPWire", "DNSWire"),
    machines("PortSharing", in: "Bonjour", needs: "DNSWire", "DiscoveryMachines"),
    host(
      "BonjourHost", in: "Bonjour", needs: "CLinux", "ARPWire", "DNSWire", "DiscoveryMachines",
      "HubPlaces", "PortSharing"),
    machines("ConnectionMachines"),
    host("Connections"),
    api(
      "Bonjour", in: "Bonjour", needs: "DNSWire", "DiscoveryMachines", "BonjourHost",
      "ConnectionMachines", "Connections", "AppSessions"),
    module("BonjourReactive", in: "Bonjour", needs: "Bonjour", "Reactive"),
    .systemLibrary(name: "CDNSServiceDiscovery", path: "Sources/Bonjour/dns_sd/include"),
    .target(
      name: "dns_sd",
      dependencies: [
        "CDNSServiceDiscovery", "CLinux", "Essentials", "DNSWire", "DiscoveryMachines",
        "BonjourHost",
      ],
      path: "Sources/Bonjour/dns_sd", exclude: ["include", "exports.map"]),

    // Messages over XMPP, with the trait Messaging (docs/decisions/0214-messages-are-a-trait.md).
    .systemLibrary(name: "CExpat", path: "Sources/Messaging/CExpat"),
    wire(
      "XMPPWire", in: "Messaging",
      needs: .target(name: "CExpat", condition: .when(traits: ["Messaging"]))),
    machines("XMPPMachines", in: "Messaging", needs: "XMPPWire"),
    // The C library's resolver (docs/decisions/0218-the-connection-of-an-account.md).
    .systemLibrary(name: "CResolver", path: "Sources/Messaging/CResolver"),
    host(
      "MessagingHost", in: "Messaging", needs: "DNSWire", "StateFiles", "XMPPMachines", "XMPPWire",
      .target(name: "CLibcrypto", condition: .when(traits: ["Messaging"])),
      .target(name: "CResolver", condition: .when(traits: ["Messaging"])),
      messagingProduct("GRDB", of: "GRDB.swift"),
      messagingProduct("NIOCore", of: "swift-nio"),
      messagingProduct("NIOHTTP1", of: "swift-nio"), messagingProduct("NIOPosix", of: "swift-nio"),
      messagingProduct("NIOSSL", of: "swift-nio-ssl"),
      messagingProduct("NIOTLS", of: "swift-nio")),
    module(
      "Messaging", in: "Messaging", needs: "Essentials", "MessagingHost", "XMPPMachines", "XMPPWire"
    ),

    // Cover flow: what moves, where it stands and which element shows it. Also compiled for the browser,
    // by scripts/build-cover-flow.
    machines("CoverFlow", in: "CoverFlow"),
    .target(
      name: "CoverFlowWebAssembly", dependencies: ["CoverFlow", "Essentials"],
      path: "Sources/CoverFlow/CoverFlowWebAssembly", exclude: ["runtime.c"]),
    .target(
      name: "CoverFlowPage", path: "Sources/CoverFlow/CoverFlowPage",
      resources: [
        "cover-flow.js", "cover-flow-back.js", "cover-flow-binding.js", "cover-flow-engine.js",
        "cover-flow-images.js", "cover-flow-input.js", "cover-flow-list.js", "cover-flow-probe.js",
        "cover-flow-report.js", "cover-flow.css", "cover-flow.wasm",
      ].map { .embedInCode("Resources/\($0)") }),

    // View models bound to pages: machines, what app builders import, the server.
    machines("BindingMachines", in: "Binding", needs: "JSONWire"),
    module(
      "Binding", in: "Binding", needs: "Essentials", "JSONWire", "BindingMachines", "Reactive"),

    .target(
      name: "BindingServer",
      dependencies: [
        "Essentials", "StateFiles", "BindingMachines", "Binding", logging,
        serverProduct("HummingbirdCore", of: "hummingbird"),
        serverProduct("NIOCore", of: "swift-nio"),
        serverProduct("NIOHTTP1", of: "swift-nio"),
        serverProduct("NIOHTTPTypes", of: "swift-nio-extras"),
        serverProduct("NIOHTTPTypesHTTP1", of: "swift-nio-extras"),
        serverProduct("NIOPosix", of: "swift-nio"),
        serverProduct("HTTPTypes", of: "swift-http-types"),
        serverProduct("ServiceLifecycle", of: "swift-service-lifecycle"),
        serverProduct("UnixSignals", of: "swift-service-lifecycle"),
        .target(name: "CLibcrypto", condition: .when(traits: ["BindingServer"])),
      ],
      path: "Sources/Binding/BindingServer", exclude: ["Resources/binding.js"],
      resources: [
        .embedInCode("Resources/binding.min.js"), .embedInCode("Resources/binding.css"),
      ]),

    // Devices as files describe them.
    machines(
      "PeripheralFiles", in: "Bluetooth", needs: "JSONWire", "BluetoothWire", "BluetoothInterface"),

    // The world that tests and demos run in.
    module(
      "Simulation", needs: "Essentials", "BluetoothWire", "BluetoothInterface", "BluetoothMachines",
      "PeripheralFiles"),

    // The command line.
    .target(
      name: "AmbitCLI",
      dependencies: [
        "Essentials", "JSONWire", "BluetoothWire", "BluetoothInterface", "BluetoothMachines",
        "BluetoothHost", "SimulatedRadio", "SecureConnections", "Simulation", "PeripheralFiles",
        .target(name: "BlueZHost", condition: .when(traits: ["BlueZ"])), "BluetoothSessions",
        "CoreBluetooth", "CoreBluetoothAsync", "ARPWire", "DNSWire", "DiscoveryMachines",
        "BonjourHost", "BeaconMachines", "LocationFiles", "CLinux", "EventLoop", "HubClient",
        "HubClientMachines", "HubHost", "HubMachines", "HubPlaces", "HubWire", "StateFiles",
        .product(name: "ArgumentParser", package: "swift-argument-parser"), logging,
      ],
      path: "Programs/ambit", exclude: ["Main"]),
    // No product of its own: SwiftPM makes one for an executable target of the root package only.
    .executableTarget(name: "ambit", dependencies: ["AmbitCLI"], path: "Programs/ambit/Main"),
    // The server of `ambit page`, compiled when it is first asked for
    // (docs/decisions/0174-the-page-is-a-program-of-its-own.md).
    .target(
      name: "AmbitPage",
      dependencies: [
        "AmbitCLI", "Essentials", "JSONWire", "StateFiles", "BluetoothWire", "BluetoothInterface",
        "BluetoothMachines", "BluetoothHost", "PeripheralFiles", "CoreBluetooth",
        "CoreBluetoothAsync", "DNSWire", "DiscoveryMachines", "BonjourHost", "BeaconMachines",
        "Binding", "CoverFlowPage", "HubClient", "HubClientMachines", "HubWire", "Reactive",
        plugIn("BindingServer"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Programs/ambit-page", exclude: ["Main"],
      resources: ["index.html", "page.js", "style.css"].map { .embedInCode("Site/\($0)") }),
    .executableTarget(
      name: "ambit-page", dependencies: ["AmbitCLI", "AmbitPage"],
      path: "Programs/ambit-page/Main"),
    // The commands about messages, compiled when one is first asked for
    // (docs/decisions/0219-messages-are-a-program-of-their-own.md).
    .target(
      name: "AmbitMessage",
      dependencies: [
        "AmbitCLI", "Essentials", "JSONWire", "StateFiles", plugIn("Messaging"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Programs/ambit-message", exclude: ["Main"]),
    .executableTarget(
      name: "ambit-message", dependencies: ["AmbitCLI", "AmbitMessage"],
      path: "Programs/ambit-message/Main"),
    // The commands about apps in the background, compiled when one is first asked for
    // (docs/decisions/0238-a-manager-of-apps.md).
    .target(
      name: "AmbitApps",
      dependencies: [
        "AmbitCLI", "Essentials", "EventLoop", "JSONWire", "StateFiles", "BluetoothInterface",
        "AppMachines", "AppSessions", "AppManagerHost", plugIn("AppDatabase"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Programs/ambit-apps", exclude: ["Main"]),
    .executableTarget(
      name: "ambit-apps", dependencies: ["AmbitCLI", "AmbitApps"],
      path: "Programs/ambit-apps/Main"),

    // DNS messages as text and back, for the tests against other implementations.
    .executableTarget(
      name: "dns-text", dependencies: ["DNSWire", "Essentials"], path: "Interop/dns-text"),
    // Many hosts in one process, for the tests of sharing.
    .executableTarget(
      name: "bonjour-crowd",
      dependencies: ["BonjourHost", "DNSWire", "DiscoveryMachines", "Essentials", "EventLoop"],
      path: "Interop/bonjour-crowd"),

    // Compiled with the tests, shown in the documentation.
    example(
      "BestPractices", in: "BestPractices", needs: "CoreBluetooth", "CoreBluetoothAsync",
      "CoreBluetoothReactive", "BluetoothInterface", "BluetoothWire", "Reactive"),
    appCode("AppCode", in: "AppCode", needs: "CoreBluetooth"),
    appCode("BeaconAppCode", in: "BeaconApp", needs: "CoreLocation", "CoreBluetooth"),
    example(
      "BeaconExamples", in: "Beacons", needs: "BeaconMachines", "CoreLocation", "CoreLocationAsync",
      "Essentials"),
    appCode(
      "AppDelegates", in: "AppDelegates", needs: "AppLifecycle", "CoreBluetooth", "CoreLocation"),
    appCode("BonjourAppCode", in: "BonjourApp", needs: "Bonjour"),
    example("DoorLock", in: "DoorLock", needs: "CoreBluetooth"),
    // The same as an app that is installed: with its Info.plist, a folder for "ambit app install".
    .executableTarget(
      name: "door-lock", dependencies: ["AppLifecycle", "DoorLock"], path: "Examples/DoorLockApp",
      exclude: ["Info.plist"]),
    // An app that stays reachable: the system holds its connection.
    .executableTarget(
      name: "standby", dependencies: ["AppLifecycle", "Bonjour"], path: "Examples/Standby",
      exclude: ["Info.plist", "server"]),
    example("ServiceExamples", in: "Services", needs: "Bonjour", "BonjourReactive", "Reactive"),
    // An app in three files: model, view model, view.
    page("sign-in", in: "SignIn", files: ["Site/index.html", "Site/style.css"], needs: "Reactive"),
    // Files that users choose, and keep.
    page(
      "file-drop", in: "FileDrop", files: ["Site/index.html", "Site/style.css"], needs: "Reactive"),
    // Pictures that are loaded when they are asked for, and kept up to a bound.
    example("PictureStore", in: "PictureStore"),
    example("ExampleProgram", in: "ExampleProgram"),
    page(
      "instant-search", in: "InstantSearch",
      files: ["Site/index.html", "Site/style.css", "posts.tsv"], needs: "ExampleProgram",
      "PictureStore", "Reactive"),
    page(
      "photo-search", in: "PhotoSearch",
      files: ["Site/index.html", "Site/screens.js", "Site/style.css"], needs: "CoverFlowPage",
      "ExampleProgram", "JSONWire", "PictureStore", "Reactive"),
    page(
      "museum-guide", in: "MuseumGuide",
      files: [
        "Site/index.html", "Site/style.css", "exhibits.tsv", "floor.json", "pictures/astrolabe.svg",
        "pictures/chronometer.svg", "pictures/compass.svg", "pictures/globe.svg",
        "pictures/lighthouse.svg", "pictures/sandglass.svg", "pictures/satellite.svg",
        "pictures/sextant.svg",
      ], needs: "BluetoothHost", "CoreLocation", "CoverFlowPage", "Essentials", "ExampleProgram",
      "PeripheralFiles", "Reactive", "SimulatedRadio", "Simulation"),
    example("ReactiveSignInForm", in: "SignInForm", needs: "Reactive"),
    appCode("ReactiveAppCode", in: "ReactiveApp", needs: "Reactive"),

    tests("EssentialsTests", needs: "Essentials"),
    tests(of: "JSONWire"),
    tests(of: "XMPPWire", in: "Messaging"),
    tests(of: "XMPPMachines", in: "Messaging", needs: "XMPPWire"),
    tests(
      of: "MessagingHost", in: "Messaging", needs: "DNSWire", "XMPPMachines", "XMPPWire",
      "store-program", messagingProduct("GRDB", of: "GRDB.swift"),
      messagingProduct("NIOCore", of: "swift-nio"), messagingProduct("NIOPosix", of: "swift-nio"),
      messagingProduct("NIOSSL", of: "swift-nio-ssl")),
    tests(of: "Messaging", in: "Messaging"),
    tests(of: "AmbitMessage", needs: "JSONWire", "Messaging", "StateFiles"),
    tests(of: "EventLoop"),
    .testTarget(
      name: "ReactiveTests",
      dependencies: ["Reactive", "ReactiveFoundation", "ReactiveAppCode", "ReactiveSignInForm"],
      exclude: ["API/reactive-api.tsv", "API/Expressions.swift"]),
    tests(of: "BluetoothWire", in: "Bluetooth", needs: "FuzzTargets"),
    tests(of: "BluetoothMachines", in: "Bluetooth", needs: "BluetoothInterface", "BluetoothWire"),
    tests(of: "BeaconMachines", in: "Location", needs: "BluetoothWire"),
    tests(of: "DNSWire", in: "Bonjour"),
    tests(of: "ARPWire", in: "Bonjour"),
    tests(of: "DiscoveryMachines", in: "Bonjour", needs: "ARPWire", "DNSWire"),
    tests(of: "PortSharing", in: "Bonjour", needs: "DiscoveryMachines", "DNSWire"),
    tests(
      of: "BonjourHost", in: "Bonjour", needs: "PortSharing", "DiscoveryMachines", "ARPWire",
      "DNSWire", "EventLoop", "ForkedProcesses", "HubPlaces"),
    // Processes that share sockets, and sockets of other users.
    .target(name: "ForkedProcesses", path: "Tests/Support/ForkedProcesses"),
    .testTarget(
      name: "HubWireTests",
      dependencies: ["HubWire", "BluetoothInterface", "BluetoothWire", "Essentials"],
      path: "Tests/Hub/HubWireTests", exclude: ["Version1"]),
    tests(
      of: "HubClientMachines", in: "Hub", needs: "HubWire", "BluetoothInterface", "BluetoothWire"),
    tests(
      of: "HubClient", in: "Hub", needs: "HubClientMachines", "HubHost", "HubMachines", "HubPlaces",
      "HubWire", "BluetoothHost", "BluetoothInterface", "BluetoothSessions", "BluetoothWire",
      "CoreBluetooth", "CoreLocation", "EventLoop", "SimulatedRadio", "Simulation", "radio-states",
      "restored-central", logging),
    // Programs of Core Bluetooth, which the tests of the hub's clients run.
    .executableTarget(
      name: "radio-states", dependencies: ["CoreBluetooth"], path: "Tests/Support/RadioStates"),
    .executableTarget(
      name: "restored-central", dependencies: ["CoreBluetooth"],
      path: "Tests/Support/RestoredCentral"),
    tests(of: "AppMachines", in: "Hub"),
    tests(of: "AppSessions", in: "Hub", needs: "AppMachines", "InfoPlists"),
    tests(
      of: "AppLifecycle", in: "Hub", needs: "AppMachines", "AppSessions", "AppDelegates",
      "app-states", "BluetoothHost", "CoreBluetooth", "CoreLocation", "InfoPlists",
      "SimulatedRadio",
      "Simulation"),
    // An app that no system runs, which the tests of its life run.
    .executableTarget(
      name: "app-states", dependencies: ["AppLifecycle"], path: "Tests/Support/AppStates"),
    // An app with streams that the system holds, which the tests of the manager of apps run.
    .executableTarget(
      name: "held-streams", dependencies: ["AppLifecycle", "Bonjour"],
      path: "Tests/Support/HeldStreams"),
    tests(
      of: "AppLifecycleTesting", in: "Hub", needs: "AppDelegates", "AppLifecycle", "AppMachines",
      "AppSessions", "BluetoothInterface", "BluetoothHost", "BluetoothWire", "CoreBluetooth",
      "CoreLocation", "DoorLock", "SimulatedRadio", "Simulation"),
    tests(
      of: "AppHubMachines", in: "Hub", needs: "AppMachines", "HubClientMachines", "HubMachines",
      "HubWire", "BluetoothInterface", "BluetoothWire"),
    tests(
      of: "AppManagerHost", in: "Hub", needs: "AppMachines", "AppSessions", "BluetoothHost",
      "BluetoothInterface", "BluetoothWire", "EventLoop", "InfoPlists", "SimulatedRadio",
      "Simulation", "StateFiles", "ambit-apps", "app-services", "door-lock",
      "held-streams", "standby"),
    // An app that uses what the manager of apps does for it.
    .executableTarget(
      name: "app-services", dependencies: ["AppLifecycle", "CoreLocation"],
      path: "Tests/Support/AppServices"),
    tests(
      of: "AppDatabase", in: "Hub", needs: "AppMachines", "AppManagerHost", "StateFiles",
      "app-store-program",
      .product(
        name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["AppDatabase"]))),
    // Writes into the store of apps until a test ends it.
    .executableTarget(
      name: "app-store-program",
      dependencies: ["AppDatabase", "AppManagerHost", "AppMachines", "StateFiles"],
      path: "Tests/Support/AppStoreProgram"),
    tests(of: "HubMachines", in: "Hub", needs: "HubWire", "BluetoothInterface", "BluetoothWire"),
    tests(
      of: "HubHost", in: "Hub", needs: "HubMachines", "HubWire", "BluetoothHost",
      "BluetoothInterface", "BluetoothWire", "SimulatedRadio", "EventLoop", "ForkedProcesses"),
    tests(of: "ConnectionMachines"),
    tests(
      of: "Bonjour", in: "Bonjour", needs: "BonjourReactive", "BonjourHost", "Connections",
      "DiscoveryMachines", "DNSWire", "Reactive", "BonjourAppCode", "ServiceExamples"),
    tests("dns_sdTests", in: "Bonjour", needs: "dns_sd", "CDNSServiceDiscovery", "DNSWire"),
    tests(
      of: "PeripheralFiles", in: "Bluetooth", needs: "BluetoothInterface", "BluetoothMachines",
      "BluetoothWire"),
    tests(
      of: "Simulation", needs: "BeaconMachines", "PeripheralFiles", "SecureConnections",
      "BluetoothHost", "BluetoothInterface", "BluetoothMachines", "BluetoothWire"),
    tests(
      of: "BluetoothHost", in: "Bluetooth", needs: "CoreBluetooth", "SimulatedRadio", "Simulation",
      "BluetoothInterface", "BluetoothMachines", "BluetoothWire", "EventLoop", "StateFiles", logging
    ),
    tests(of: "BlueZMachines", in: "Bluetooth", needs: "BluetoothInterface", "BluetoothWire"),
    tests(
      of: "BlueZHost", in: "Bluetooth", needs: "BlueZMachines", "BluetoothInterface",
      "BluetoothWire", "EventLoop", logging,
      .target(name: "CSystemd", condition: .when(traits: ["BlueZ"]))),
    tests(
      of: "SecureConnections", in: "Bluetooth", needs: "BluetoothHost", "BluetoothMachines",
      "BluetoothWire"),
    tests(
      of: "CoreBluetooth", in: "Bluetooth", needs: "RunLoopSupport", "CoreBluetoothAsync",
      "BluetoothHost", "SimulatedRadio", "Simulation", "PeripheralFiles", "BluetoothInterface",
      "BluetoothMachines", "BluetoothSessions", "BluetoothWire", "AppCode", "InfoPlists",
      "BestPractices"),
    tests(
      of: "CoreBluetoothReactive", in: "Bluetooth", needs: "RunLoopSupport", "CoreBluetooth",
      "CoreBluetoothAsync", "Reactive", "BluetoothHost", "SimulatedRadio", "Simulation",
      "BluetoothInterface", "BluetoothWire", "BestPractices"),
    tests(
      of: "CoreLocation", in: "Location", needs: "CoreLocationAsync", "CoreLocationReactive",
      "Reactive", "CoreBluetooth", "BluetoothHost", "SimulatedRadio", "Simulation",
      "BeaconMachines", "BluetoothInterface", "BluetoothWire", "LocationFiles", "StateFiles",
      "BeaconAppCode", "BeaconExamples"),
    tests(
      of: "AmbitCLI", needs: "AmbitPage", "CoreBluetooth", "CoreBluetoothAsync", "BluetoothHost",
      "BluetoothInterface", "BluetoothMachines", "BluetoothWire", "PeripheralFiles", "Simulation",
      "BonjourHost", "DiscoveryMachines", "DNSWire", "BeaconMachines", "HubClient",
      "HubClientMachines", "HubWire", "JSONWire", "PageProgram", "Reactive", "StateFiles",
      "WebDriver"),
    tests(of: "CoverFlow", in: "CoverFlow", needs: "CoverFlowWebAssembly"),
    tests(of: "CoverFlowPage", in: "CoverFlow", needs: "CoverFlowWebAssembly", "WebDriver"),
    tests("KeyValueObservingTests", needs: "KeyValueObserving"),
    // What pages keep of view models, without a browser.
    .target(name: "PageClient", dependencies: ["JSONWire"], path: "Tests/Support/PageClient"),
    tests(of: "BindingMachines", in: "Binding", needs: "JSONWire", "PageClient"),
    tests(
      "BindingTests", in: "Binding", needs: "Binding", "BindingMachines", "JSONWire", "Reactive"),
    tests(
      "SignInTests", in: "Examples", needs: "sign-in", "Binding", "Reactive", "PageProgram",
      "WebDriver"),
    tests(
      "InstantSearchTests", in: "Examples", needs: "instant-search", "Binding", "ExampleProgram",
      "PictureStore", "Reactive", "PageProgram", "WebDriver"),
    tests(
      "PhotoSearchTests", in: "Examples", needs: "photo-search", "Binding", "ExampleProgram",
      "PictureStore", "Reactive", "PageProgram", "WebDriver"),
    tests(
      "MuseumGuideTests", in: "Examples", needs: "museum-guide", "Binding", "BluetoothHost",
      "CoreLocation", "Essentials", "ExampleProgram", "Reactive", "PageProgram", "WebDriver"),
    tests(
      "BindingServerTests", in: "Binding", needs: "BindingServer", "BindingMachines", "Binding",
      "Reactive", "JSONWire", "PageClient", "StateFiles", "CoverFlowPage", "WebDriver", logging,
      serverProduct("NIOCore", of: "swift-nio"), serverProduct("HTTPTypes", of: "swift-http-types"),
      serverProduct("NIOPosix", of: "swift-nio"),
      serverProduct("ServiceLifecycle", of: "swift-service-lifecycle")),

    // Drives a headless Chromium, and runs a program that serves pages, for tests of pages.
    .target(name: "WebDriver", path: "Tests/Support/WebDriver"),
    .target(name: "PageProgram", path: "Tests/Support/PageProgram"),
    // Writes into a store until a test ends it.
    .executableTarget(
      name: "store-program", dependencies: ["MessagingHost", "XMPPMachines", "XMPPWire"],
      path: "Tests/Support/StoreProgram"),
    tests("WebDriverTests", in: "Support", needs: "WebDriver"),

    tests("TreeTests"),

    // The fuzzers' bodies, so that crash inputs are replayed by the ordinary tests.
    .target(
      name: "FuzzTargets",
      dependencies: [
        "AppMachines", "AppSessions", "ARPWire", "BeaconMachines", "BlueZMachines", "DNSWire",
        "DiscoveryMachines", "PortSharing", "BluetoothHost", "BluetoothInterface",
        "BluetoothMachines", "BluetoothWire", "Essentials", "HubMachines", "HubWire", "JSONWire",
        "PeripheralFiles", "Simulation", "InfoPlists", "XMPPWire",
      ],
      path: "Fuzz/Sources/FuzzTargets"),
    tests("FuzzReplayTests", needs: "FuzzTargets", "Essentials"),
  ],
  swiftLanguageModes: [.v6]
)

/// A module in a folder of `Sources`.
func module(_ name: String, in folder: String? = nil, needs: Target.Dependency...) -> Target {
  target(name, in: folder, needs)
}

/// Bytes to values and back, pure.
func wire(_ name: String, in folder: String? = nil, needs: Target.Dependency...) -> Target {
  target(name, in: folder, ["Essentials"] + needs, [.strictMemorySafety()])
}

/// Events to actions, pure.
func machines(_ name: String, in folder: String? = nil, needs: Target.Dependency...) -> Target {
  target(name, in: folder, ["Essentials"] + needs, [.strictMemorySafety()])
}

/// I/O on the event loop.
func host(_ name: String, in folder: String? = nil, needs: Target.Dependency...) -> Target {
  target(name, in: folder, ["Essentials", "EventLoop"] + needs)
}

/// Apple's names, on run loops and queues.
func api(_ name: String, in folder: String? = nil, needs: Target.Dependency...) -> Target {
  target(name, in: folder, ["Essentials", "EventLoop", "RunLoopSupport"] + needs)
}

func target(
  _ name: String, in folder: String?, _ needs: [Target.Dependency], _ settings: [SwiftSetting] = []
) -> Target {
  .target(
    name: name, dependencies: needs, path: path("Sources", folder, name), swiftSettings: settings)
}

/// A module that is linked with the trait of its name only.
func plugIn(_ name: String) -> Target.Dependency {
  .target(name: name, condition: .when(traits: [name]))
}

/// A library in a folder of `Examples`.
func example(_ name: String, in folder: String, needs: Target.Dependency...) -> Target {
  .target(name: name, dependencies: needs, path: path("Examples", folder))
}

/// An example as apps for Apple's systems are written: in the Swift 5 language mode.
func appCode(_ name: String, in folder: String, needs: Target.Dependency...) -> Target {
  .target(
    name: name, dependencies: needs, path: path("Examples", folder),
    swiftSettings: [.swiftLanguageMode(.v5)])
}

/// A program in a folder of `Examples` that serves a page, whose files are embedded.
func page(
  _ name: String, in folder: String, files: [String], needs: Target.Dependency...
) -> Target {
  .executableTarget(
    name: name, dependencies: ["Binding", plugIn("BindingServer")] + needs,
    path: path("Examples", folder), resources: files.map { .embedInCode($0) })
}

/// The tests of a module, which use Essentials, in a folder of `Tests`.
func tests(of module: String, in folder: String? = nil, needs: Target.Dependency...) -> Target {
  .testTarget(
    name: module + "Tests", dependencies: [.target(name: module), "Essentials"] + needs,
    path: path("Tests", folder, module + "Tests"))
}

/// Other tests, in a folder of `Tests`.
func tests(_ name: String, in folder: String? = nil, needs: Target.Dependency...) -> Target {
  .testTarget(name: name, dependencies: needs, path: path("Tests", folder, name))
}

/// A program in a folder of `Benchmarks`.
func benchmark(
  _ name: String, in folder: String, exclude: [String] = [], needs: Target.Dependency...
) -> Target {
  .executableTarget(
    name: name, dependencies: needs, path: path("Benchmarks", folder), exclude: exclude)
}

func path(_ folders: String?...) -> String { folders.compactMap(\.self).joined(separator: "/") }

/// A product that is fetched and compiled with the trait `BindingServer` only.
func serverProduct(_ name: String, of package: String) -> Target.Dependency {
  .product(name: name, package: package, condition: .when(traits: ["BindingServer"]))
}

/// A product that is fetched and compiled with the trait `Messaging` only.
func messagingProduct(_ name: String, of package: String) -> Target.Dependency {
  .product(name: name, package: package, condition: .when(traits: ["Messaging"]))
}

// Fuzz/run asks for it: libFuzzer has its main function, and a dependency may have no such flags.
if Context.environment["AMBIT_FUZZERS"] != nil {
  package.targets.append(
    .executableTarget(
      name: "fuzz", dependencies: ["FuzzTargets"], path: "Fuzz/Sources/fuzz",
      swiftSettings: [.unsafeFlags(["-parse-as-library"])]))
}

// Every target is compiled with the same strictness. Memory safety is strict where bytes from
// outside are handled: in all wire modules and machines, and in these.
let strictMemorySafety: Set<String> = [
  "Essentials", "StateFiles", "BluetoothHost", "SimulatedRadio", "SecureConnections", "HubPlaces",
  "HubClient", "HubHost", "Simulation", "CoverFlowWebAssembly", "BlueZHost",
]
// Apps that were written for Apple's frameworks, or for ReactiveSwift, don't ask for strictness.
for target in package.targets
where target.type != .system
  && !["AppCode", "AppDelegates", "BeaconAppCode", "BonjourAppCode", "ReactiveAppCode"].contains(
    target.name)
{
  var settings = target.swiftSettings ?? []
  settings += [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
  ]
  if strictMemorySafety.contains(target.name) { settings.append(.strictMemorySafety()) }
  #if compiler(<6.3)
    // A function that the system calls before main: @section has another name there.
    if target.name == "AppLifecycleTesting" {
      settings.append(.enableExperimentalFeature("SymbolLinkageMarkers"))
    }
  #endif
  // Only where Ambit itself is developed: a new compiler's warning must not break dependants.
  if Context.environment["AMBIT_WARNINGS_ARE_ERRORS"] != nil {
    settings.append(.treatAllWarnings(as: .error))
  }
  // The seeded runs with faults: eight times as many in the same time. Assertions stay.
  if Context.environment["AMBIT_OPTIMIZED_MACHINES"] != nil,
    [
      "Essentials", "BluetoothWire", "BluetoothInterface", "BluetoothMachines", "BeaconMachines",
      "Simulation", "JSONWire", "BindingMachines", "PageClient", "BindingMachinesTests",
      "AppMachines", "AppMachinesTests", "XMPPWire", "XMPPMachines", "XMPPMachinesTests",
    ].contains(target.name)
  {
    settings.append(.unsafeFlags(["-O", "-assert-config", "Debug"]))
  }
  // The release tree of ./run: modules that do no work per packet of a controller compile in a quarter of the time
  // (docs/decisions/0220-commands-of-a-clone-are-not-optimized.md, 0233 and 0249).
  if Context.environment["AMBIT_UNOPTIMIZED_COMMANDS"] != nil,
    ["AmbitCLI", "AmbitMessage", "PeripheralFiles", "BlueZMachines", "BlueZHost"].contains(
      target.name)
  {
    settings.append(.unsafeFlags(["-Onone", "-no-emit-module-separately-wmo"]))
  }
  target.swiftSettings = settings
}

// Benchmarks/run asks for them: programs of the release tree, on what ./run has built there.
if Context.environment["AMBIT_BENCHMARKS"] != nil {
  package.dependencies += [
    .package(url: "https://github.com/OpenCombine/OpenCombine.git", exact: "0.14.0"),
    .package(url: "https://github.com/apple/swift-async-algorithms.git", exact: "1.1.4"),
  ]
  package.targets += [
    benchmark(
      "bluetooth-benchmarks", in: "Bluetooth", exclude: ["App", "Peers"],
      needs: "AllocationCounter", "BenchmarkSupport", "Essentials", "BluetoothWire",
      "BluetoothInterface", "BluetoothMachines", "BeaconMachines", "BluetoothHost",
      "SecureConnections", "SimulatedRadio", "Simulation", "HubClient", "HubHost", "HubMachines",
      logging),
    benchmark(
      "bonjour-benchmarks", in: "Bonjour", exclude: ["Host", "Peers"], needs: "BenchmarkSupport"),
    benchmark("binding-benchmarks", in: "Binding", exclude: ["Host"], needs: "BenchmarkSupport"),
    benchmark(
      "binding-benchmarks-host", in: "Binding/Host", needs: "Binding", "BindingServer", "Reactive",
      .product(name: "HummingbirdCore", package: "hummingbird"),
      .product(name: "NIOCore", package: "swift-nio"),
      .product(name: "NIOPosix", package: "swift-nio"),
      .product(name: "HTTPTypes", package: "swift-http-types"), logging,
      .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")),
    benchmark(
      "apps-benchmarks", in: "Apps", needs: "AppMachines", "AppManagerHost", "AppSessions",
      "BenchmarkSupport", "BluetoothHost", "Essentials", "EventLoop", "BluetoothWire",
      "BluetoothInterface", "AppLifecycleTesting", "CoreBluetooth", "SimulatedRadio", "Simulation"),
    benchmark(
      "messages-benchmarks", in: "Messages", needs: "BenchmarkSupport", "Essentials", "Messaging",
      "MessagingHost", "XMPPMachines", "XMPPWire", messagingProduct("GRDBSQLite", of: "GRDB.swift")),
    benchmark(
      "position-benchmarks", in: "Position", needs: "BenchmarkSupport", "Essentials",
      "BeaconMachines"),
    benchmark(
      "reactive-benchmarks", in: "Reactive", needs: "AllocationCounter", "InstructionCounter",
      "BenchmarkSupport", "Reactive", .product(name: "OpenCombine", package: "OpenCombine"),
      .product(name: "OpenCombineDispatch", package: "OpenCombine"),
      .product(name: "AsyncAlgorithms", package: "swift-async-algorithms")),
    .target(name: "AllocationCounter", path: "Benchmarks/AllocationCounter"),
    .target(name: "InstructionCounter", path: "Benchmarks/InstructionCounter"),
    .target(name: "BenchmarkSupport", path: "Benchmarks/Support"),
    // An app on either side of Core Bluetooth, as a program of its own.
    .executableTarget(
      name: "bluetooth-benchmark-app", dependencies: ["CoreBluetooth"],
      path: "Benchmarks/Bluetooth/App", swiftSettings: [.swiftLanguageMode(.v5)]),
    // Without Foundation, whose memory would be counted; static, as a program that is installed.
    .executableTarget(
      name: "bonjour-benchmark-host",
      dependencies: ["Essentials", "DNSWire", "DiscoveryMachines", "BonjourHost", "HubPlaces"],
      path: "Benchmarks/Bonjour/Host",
      linkerSettings: [.unsafeFlags(["-static-executable"])]),
  ]
}
// One domain by itself, with its tests, where building the others would take longer than it helps:
// AMBIT_ONLY=Reactive,Essentials swift test --sanitize=thread --scratch-path .build/reactive
if let prefixes = Context.environment["AMBIT_ONLY"]?.split(separator: ",") {
  package.products.removeAll { product in !prefixes.contains { product.name.hasPrefix($0) } }
  package.targets.removeAll { target in !prefixes.contains { target.name.hasPrefix($0) } }
}
// Some test targets without the others, for a change that is built often:
// AMBIT_TESTS=BluetoothMachinesTests,SimulationTests swift build --build-tests
if let names = Context.environment["AMBIT_TESTS"]?.split(separator: ",") {
  package.targets.removeAll { $0.type == .test && !names.contains(Substring($0.name)) }
}
// ./run of a command in a fresh clone: only what the program needs, so that the packages of the other programs
// aren't fetched. The modules are compiled with the same flags, so that none is compiled again.
if let name = Context.environment["AMBIT_PROGRAM"] {
  var names: Set<String> = [name]
  var packages: Set<String> = []
  var rest = [name]
  while let next = rest.popLast() {
    for dependency in package.targets.first(where: { $0.name == next })?.dependencies ?? [] {
      switch dependency {
      case .targetItem(let name, _), .byNameItem(let name, _):
        if names.insert(name).inserted { rest.append(name) }
      case .productItem(_, let package?, _, _): packages.insert(package)
      default: break
      }
    }
  }
  package.products = []
  package.targets.removeAll { !names.contains($0.name) }
  package.dependencies.removeAll { dependency in
    guard case .sourceControl(_, let location, _) = dependency.kind else { return true }
    return !packages.contains { location.hasSuffix("/\($0).git") }
  }
}
