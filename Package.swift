// swift-tools-version: 6.2
// Table of the products, the packages that they need, and the targets.
import PackageDescription

/// The modules that other packages may use; each is a product of its name. `BindingServer` is empty without the
/// trait of that name.
let libraries: [Product] = [
  "Essentials", "JSONWire", "Reactive", "ReactiveFoundation", "CoreBluetooth", "CoreBluetoothAsync",
  "CoreBluetoothReactive", "CoreLocation", "CoreLocationAsync", "CoreLocationReactive",
  "BluetoothHost", "BluetoothInterface", "BluetoothMachines", "BluetoothWire", "Bonjour",
  "BonjourReactive", "BeaconMachines", "DNSWire", "ARPWire", "DiscoveryMachines", "BonjourHost",
  "Binding", "BindingServer", "Simulation", "PeripheralFiles", "SimulatedRadio",
  "SecureConnections", "CoverFlow", "CoverFlowPage",
].map { .library(name: $0, targets: [$0]) }
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

let bindingServer = Target.Dependency.target(
  name: "BindingServer", condition: .when(traits: ["BindingServer"]))

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
    // What only this package itself needs, its programs and its documentation: no product may need
    // one of them, or users of a product have to fetch it (docs/decisions/0054-what-consumers-fetch.md).
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.0"),
    .package(url: "https://github.com/swiftlang/swift-docc-plugin.git", from: "1.5.0"),
  ],
  targets: [
    module("Essentials"),

    // JSON texts <-> values.
    module("JSONWire", needs: ["Essentials"]),

    module("EventLoop", needs: ["Essentials", "CLinux"]),

    // Files of a user's state: private, atomic, locked between processes.
    module("StateFiles", needs: ["Essentials", "EventLoop"]),

    // Run loops and streams for API modules.
    module("RunLoopSupport", needs: ["EventLoop"]),

    // What Apple's Foundation has and Linux lacks.
    module("KeyValueObserving"),

    // What Linux has and Swift's module of the C library leaves out.
    .systemLibrary(name: "CLinux"),

    // OpenSSL's cryptography (docs/decisions/0173-p-256-comes-from-libcrypto.md).
    .systemLibrary(name: "CLibcrypto"),

    // Signals, producers, properties, actions, schedulers, bindings.
    module("Reactive"),
    module("ReactiveFoundation", needs: ["Reactive"]),

    // Bluetooth: wire, machines, host, API.
    module("BluetoothWire", in: "Bluetooth", needs: ["Essentials"]),
    module("BluetoothInterface", in: "Bluetooth", needs: ["Essentials", "BluetoothWire"]),
    module(
      "BluetoothMachines", in: "Bluetooth",
      needs: ["Essentials", "BluetoothWire", "BluetoothInterface"]),
    module(
      "BluetoothHost", in: "Bluetooth",
      needs: [
        "Essentials", "EventLoop", "StateFiles", "BluetoothWire", "BluetoothInterface",
        "BluetoothMachines", logging,
      ]),
    module(
      "SimulatedRadio", in: "Bluetooth",
      needs: [
        "Essentials", "EventLoop", "BluetoothWire", "BluetoothInterface", "BluetoothMachines",
        "BluetoothHost", "Simulation", "PeripheralFiles",
        .target(name: "SecureConnections", condition: .when(traits: ["SecureConnections"])),
        logging,
      ]),
    module(
      "SecureConnections", in: "Bluetooth",
      needs: [
        "BluetoothWire", "BluetoothMachines", "BluetoothHost",
        .target(name: "CLibcrypto", condition: .when(traits: ["SecureConnections"])),
      ]),
    // The host that API modules have sessions with, and its plug-ins.
    module(
      "BluetoothSessions", in: "Bluetooth",
      needs: [
        "BluetoothInterface", "EventLoop", "HubClient",
        .target(name: "BluetoothHost", condition: .when(traits: ["BluetoothHost"])),
        .target(name: "SimulatedRadio", condition: .when(traits: ["SimulatedRadio"])),
        .target(name: "SecureConnections", condition: .when(traits: ["SecureConnections"])),
      ]),
    module(
      "CoreBluetooth", in: "Bluetooth",
      needs: [
        "Essentials", "EventLoop", "RunLoopSupport", "KeyValueObserving", "CoreBluetoothSubmodules",
        "BluetoothWire", "BluetoothInterface", "BluetoothSessions", logging,
      ]),
    // Lets `import CoreBluetooth.CBUUID` compile.
    .systemLibrary(
      name: "CoreBluetoothSubmodules", path: "Sources/Submodules/CoreBluetooth"),
    module(
      "CoreBluetoothAsync", in: "Bluetooth",
      needs: ["CoreBluetooth", "BluetoothInterface", "BluetoothSessions"]),
    module(
      "CoreBluetoothReactive", in: "Bluetooth",
      needs: ["CoreBluetooth", "CoreBluetoothAsync", "Reactive"]),

    // The hub: where programs look for one.
    module("HubPlaces", in: "Hub", needs: ["EventLoop"]),
    // What apps and the hub of their machine send each other.
    module(
      "HubWire", in: "Hub", needs: ["Essentials", "BluetoothWire", "BluetoothInterface"]),
    // An app's side of the connection, and the sessions through it.
    module(
      "HubClientMachines", in: "Hub",
      needs: ["Essentials", "BluetoothWire", "BluetoothInterface", "HubWire"]),
    module(
      "HubClient", in: "Hub",
      needs: [
        "Essentials", "EventLoop", "BluetoothInterface", "HubPlaces", "HubWire",
        "HubClientMachines", logging,
      ]),
    module(
      "HubMachines", in: "Hub",
      needs: ["Essentials", "JSONWire", "BluetoothWire", "BluetoothInterface", "HubWire"]),
    module(
      "HubHost", in: "Hub",
      needs: [
        "Essentials", "EventLoop", "BluetoothInterface", "BluetoothMachines", "BluetoothHost",
        "HubMachines", "HubPlaces", "HubWire",
      ]),

    // Location: beacon regions, ranging and position.
    module("BeaconMachines", in: "Location", needs: ["Essentials", "BluetoothWire"]),
    module(
      "CoreLocation", in: "Location",
      needs: [
        "Essentials", "EventLoop", "StateFiles", "RunLoopSupport", "CoreLocationSubmodules",
        "BluetoothWire", "BluetoothInterface", "BluetoothSessions", "BeaconMachines", logging,
      ]),
    // Lets `import CoreLocation.CLLocation` compile.
    .systemLibrary(
      name: "CoreLocationSubmodules", path: "Sources/Submodules/CoreLocation"),
    module("CoreLocationAsync", in: "Location", needs: ["CoreLocation"]),
    module(
      "CoreLocationReactive", in: "Location",
      needs: ["CoreLocation", "CoreLocationAsync", "Reactive"]),

    // Bonjour: wire, machines, host, API.
    module("DNSWire", in: "Bonjour", needs: ["Essentials"]),
    module("ARPWire", in: "Bonjour", needs: ["Essentials"]),
    module("DiscoveryMachines", in: "Bonjour", needs: ["Essentials", "ARPWire", "DNSWire"]),
    module("PortSharing", in: "Bonjour", needs: ["Essentials", "DNSWire", "DiscoveryMachines"]),
    module(
      "BonjourHost", in: "Bonjour",
      needs: [
        "Essentials", "EventLoop", "CLinux", "ARPWire", "DNSWire", "DiscoveryMachines",
        "HubPlaces", "PortSharing",
      ]),
    module("ConnectionMachines", needs: ["Essentials"]),
    module("Connections", needs: ["Essentials", "EventLoop"]),
    module(
      "Bonjour", in: "Bonjour",
      needs: [
        "Essentials", "EventLoop", "RunLoopSupport", "DNSWire", "DiscoveryMachines", "BonjourHost",
        "ConnectionMachines", "Connections",
      ]),
    module("BonjourReactive", in: "Bonjour", needs: ["Bonjour", "Reactive"]),
    .systemLibrary(name: "CDNSServiceDiscovery", path: "Sources/Bonjour/dns_sd/include"),
    .target(
      name: "dns_sd",
      dependencies: [
        "CDNSServiceDiscovery", "CLinux", "Essentials", "DNSWire", "DiscoveryMachines",
        "BonjourHost",
      ],
      path: "Sources/Bonjour/dns_sd", exclude: ["include", "exports.map"]),

    // Cover flow: what moves, where it stands and which element shows it. Also compiled for the browser,
    // by scripts/build-cover-flow.
    module("CoverFlow", in: "CoverFlow", needs: ["Essentials"]),
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
    module("BindingMachines", in: "Binding", needs: ["Essentials", "JSONWire"]),
    module(
      "Binding", in: "Binding", needs: ["Essentials", "JSONWire", "BindingMachines", "Reactive"]),

    .target(
      name: "BindingServer",
      dependencies: [
        "Essentials", "BindingMachines", "Binding",
        logging,
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
    module(
      "PeripheralFiles", in: "Bluetooth",
      needs: ["Essentials", "JSONWire", "BluetoothWire", "BluetoothInterface", "BluetoothMachines"]),

    // The world that tests and demos run in.
    module(
      "Simulation",
      needs: [
        "Essentials", "BluetoothWire", "BluetoothInterface", "BluetoothMachines", "PeripheralFiles",
      ]),

    // The command line.
    .target(
      name: "AmbitCLI",
      dependencies: [
        "Essentials", "JSONWire", "BluetoothWire", "BluetoothInterface", "BluetoothMachines",
        "BluetoothHost", "SimulatedRadio", "SecureConnections", "Simulation", "PeripheralFiles",
        "CoreBluetooth", "CoreBluetoothAsync", "ARPWire", "DNSWire", "DiscoveryMachines",
        "BonjourHost", "BeaconMachines", "CoreLocation", "CLinux", "EventLoop", "HubClient",
        "HubClientMachines", "HubHost", "HubMachines", "HubPlaces", "HubWire", "StateFiles",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        logging,
      ],
      path: "Programs/ambit", exclude: ["Main"]),
    // No product of its own: SwiftPM makes one for an executable target of the root package only.
    .executableTarget(name: "ambit", dependencies: ["AmbitCLI"], path: "Programs/ambit/Main"),
    // The server of `ambit page`, compiled when it is first asked for
    // (docs/decisions/0174-the-page-is-a-program-of-its-own.md).
    .target(
      name: "AmbitPage",
      dependencies: [
        "AmbitCLI", "Essentials", "JSONWire", "BluetoothWire", "BluetoothInterface",
        "BluetoothMachines", "BluetoothHost", "PeripheralFiles", "CoreBluetooth",
        "CoreBluetoothAsync", "DNSWire", "DiscoveryMachines", "BonjourHost", "BeaconMachines",
        "Binding", "CoverFlowPage", "Reactive",
        bindingServer,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Programs/ambit-page", exclude: ["Main"],
      resources: ["index.html", "page.js", "style.css"].map { .embedInCode("Site/\($0)") }),
    .executableTarget(
      name: "ambit-page", dependencies: ["AmbitCLI", "AmbitPage"],
      path: "Programs/ambit-page/Main"),

    // DNS messages as text and back, for the tests against other implementations.
    .executableTarget(
      name: "dns-text", dependencies: ["DNSWire", "Essentials"], path: "Interop/dns-text"),
    // Many hosts in one process, for the tests of sharing.
    .executableTarget(
      name: "bonjour-crowd",
      dependencies: [
        "BonjourHost", "DNSWire", "DiscoveryMachines", "Essentials", "EventLoop",
      ],
      path: "Interop/bonjour-crowd"),

    // Compiled with the tests, shown in the documentation.
    example(
      "BestPractices", in: "BestPractices",
      needs: [
        "CoreBluetooth", "CoreBluetoothAsync", "CoreBluetoothReactive", "BluetoothInterface",
        "BluetoothWire", "Reactive",
      ]),
    .target(
      name: "AppCode", dependencies: ["CoreBluetooth"], path: "Examples/AppCode",
      swiftSettings: [.swiftLanguageMode(.v5)]),
    appCode("BeaconAppCode", in: "BeaconApp", needs: ["CoreLocation", "CoreBluetooth"]),
    example(
      "BeaconExamples", in: "Beacons",
      needs: ["BeaconMachines", "CoreLocation", "CoreLocationAsync", "Essentials"]),
    .target(
      name: "BonjourAppCode", dependencies: ["Bonjour"], path: "Examples/BonjourApp",
      swiftSettings: [.swiftLanguageMode(.v5)]),
    example("ServiceExamples", in: "Services", needs: ["Bonjour", "BonjourReactive", "Reactive"]),
    // An app in three files: model, view model, view.
    .executableTarget(
      name: "sign-in",
      dependencies: [
        "Binding", "Reactive",
        bindingServer,
      ],
      path: "Examples/SignIn",
      resources: [.embedInCode("Site/index.html"), .embedInCode("Site/style.css")]),
    // Pictures that are loaded when they are asked for, and kept up to a bound.
    example("PictureStore", in: "PictureStore", needs: []),
    example("ExampleProgram", in: "ExampleProgram", needs: []),
    .executableTarget(
      name: "instant-search",
      dependencies: [
        "Binding", "ExampleProgram", "PictureStore", "Reactive",
        bindingServer,
      ],
      path: "Examples/InstantSearch",
      resources: [
        .embedInCode("Site/index.html"), .embedInCode("Site/style.css"), .embedInCode("posts.tsv"),
      ]),
    .executableTarget(
      name: "photo-search",
      dependencies: [
        "Binding", "CoverFlowPage", "ExampleProgram", "JSONWire", "PictureStore", "Reactive",
        bindingServer,
      ],
      path: "Examples/PhotoSearch",
      resources: ["index.html", "screens.js", "style.css"].map { .embedInCode("Site/\($0)") }),
    .executableTarget(
      name: "museum-guide",
      dependencies: [
        "Binding", "BluetoothHost", "CoreLocation", "CoverFlowPage", "Essentials",
        "ExampleProgram", "PeripheralFiles", "Reactive", "SimulatedRadio", "Simulation",
        bindingServer,
      ],
      path: "Examples/MuseumGuide",
      resources: [
        "Site/index.html", "Site/style.css", "exhibits.tsv", "floor.json", "pictures/astrolabe.svg",
        "pictures/chronometer.svg", "pictures/compass.svg", "pictures/globe.svg",
        "pictures/lighthouse.svg", "pictures/sandglass.svg", "pictures/satellite.svg",
        "pictures/sextant.svg",
      ].map { .embedInCode($0) }),
    example("ReactiveSignInForm", in: "SignInForm", needs: ["Reactive"]),
    .target(
      name: "ReactiveAppCode", dependencies: ["Reactive"], path: "Examples/ReactiveApp",
      swiftSettings: [.swiftLanguageMode(.v5)]),

    tests("EssentialsTests", needs: ["Essentials"]),
    tests("JSONWireTests", needs: ["JSONWire", "Essentials"]),
    tests("EventLoopTests", needs: ["EventLoop", "Essentials"]),
    .testTarget(
      name: "ReactiveTests",
      dependencies: ["Reactive", "ReactiveFoundation", "ReactiveAppCode", "ReactiveSignInForm"],
      exclude: ["API/reactive-api.tsv", "API/Expressions.swift"]),
    tests(
      "BluetoothWireTests", in: "Bluetooth", needs: ["BluetoothWire", "Essentials", "FuzzTargets"]),
    tests(
      "BluetoothMachinesTests", in: "Bluetooth",
      needs: ["BluetoothInterface", "BluetoothMachines", "BluetoothWire", "Essentials"]),
    tests(
      "BeaconMachinesTests", in: "Location",
      needs: ["BeaconMachines", "BluetoothWire", "Essentials"]),
    tests("DNSWireTests", in: "Bonjour", needs: ["DNSWire", "Essentials"]),
    tests("ARPWireTests", in: "Bonjour", needs: ["ARPWire", "Essentials"]),
    tests(
      "DiscoveryMachinesTests", in: "Bonjour",
      needs: ["DiscoveryMachines", "ARPWire", "DNSWire", "Essentials"]),
    tests(
      "PortSharingTests", in: "Bonjour",
      needs: ["PortSharing", "DiscoveryMachines", "DNSWire", "Essentials"]),
    tests(
      "BonjourHostTests", in: "Bonjour",
      needs: [
        "BonjourHost", "PortSharing", "DiscoveryMachines", "ARPWire", "DNSWire", "Essentials",
        "EventLoop", "HubPlaces",
      ]),
    .testTarget(
      name: "HubWireTests",
      dependencies: ["HubWire", "BluetoothInterface", "BluetoothWire", "Essentials"],
      path: "Tests/Hub/HubWireTests", exclude: ["Version1"]),
    tests(
      "HubClientMachinesTests", in: "Hub",
      needs: [
        "HubClientMachines", "HubWire", "BluetoothInterface", "BluetoothWire", "Essentials",
      ]),
    tests(
      "HubClientTests", in: "Hub",
      needs: [
        "HubClient", "HubClientMachines", "HubHost", "HubMachines", "HubPlaces", "HubWire",
        "BluetoothHost", "BluetoothInterface", "BluetoothSessions", "BluetoothWire",
        "CoreBluetooth", "CoreLocation", "Essentials", "EventLoop", "SimulatedRadio", "Simulation",
        "radio-states", logging,
      ]),
    // A program of Core Bluetooth, which the tests of the hub's clients run.
    .executableTarget(
      name: "radio-states", dependencies: ["CoreBluetooth"], path: "Tests/Support/RadioStates"),
    tests(
      "HubMachinesTests", in: "Hub",
      needs: ["HubMachines", "HubWire", "BluetoothInterface", "BluetoothWire", "Essentials"]),
    tests(
      "HubHostTests", in: "Hub",
      needs: [
        "HubHost", "HubMachines", "HubWire", "BluetoothHost", "BluetoothInterface", "BluetoothWire",
        "SimulatedRadio", "Essentials", "EventLoop",
      ]),
    tests("ConnectionMachinesTests", needs: ["ConnectionMachines", "Essentials"]),
    tests(
      "BonjourTests", in: "Bonjour",
      needs: [
        "Bonjour", "BonjourReactive", "BonjourHost", "Connections", "DiscoveryMachines", "DNSWire",
        "Essentials", "Reactive", "BonjourAppCode", "ServiceExamples",
      ]),
    tests("dns_sdTests", in: "Bonjour", needs: ["dns_sd", "CDNSServiceDiscovery", "DNSWire"]),
    tests(
      "PeripheralFilesTests", in: "Bluetooth",
      needs: [
        "PeripheralFiles", "BluetoothInterface", "BluetoothMachines", "BluetoothWire", "Essentials",
      ]),
    tests(
      "SimulationTests",
      needs: [
        "Simulation", "BeaconMachines", "PeripheralFiles", "SecureConnections", "BluetoothHost",
        "BluetoothInterface", "BluetoothMachines", "BluetoothWire", "Essentials",
      ]),
    tests(
      "BluetoothHostTests", in: "Bluetooth",
      needs: [
        "BluetoothHost", "CoreBluetooth", "SimulatedRadio", "Simulation", "BluetoothInterface",
        "BluetoothMachines", "BluetoothWire", "Essentials", "EventLoop", "StateFiles", logging,
      ]),
    tests(
      "SecureConnectionsTests", in: "Bluetooth",
      needs: [
        "SecureConnections", "BluetoothHost", "BluetoothMachines", "BluetoothWire", "Essentials",
      ]),
    tests(
      "CoreBluetoothTests", in: "Bluetooth",
      needs: [
        "CoreBluetooth", "CoreBluetoothAsync", "BluetoothHost", "SimulatedRadio", "Simulation",
        "PeripheralFiles", "BluetoothInterface", "BluetoothMachines", "BluetoothSessions",
        "BluetoothWire", "Essentials", "AppCode", "BestPractices",
      ]),
    tests(
      "CoreBluetoothReactiveTests", in: "Bluetooth",
      needs: [
        "CoreBluetooth", "CoreBluetoothAsync", "CoreBluetoothReactive", "Reactive", "BluetoothHost",
        "SimulatedRadio", "Simulation", "BluetoothInterface", "BluetoothWire", "Essentials",
        "BestPractices",
      ]),
    tests(
      "CoreLocationTests", in: "Location",
      needs: [
        "CoreLocation", "CoreLocationAsync", "CoreLocationReactive", "Reactive", "CoreBluetooth",
        "BluetoothHost", "SimulatedRadio", "Simulation", "BeaconMachines", "BluetoothInterface",
        "BluetoothWire", "StateFiles", "Essentials", "BeaconAppCode", "BeaconExamples",
      ]),
    tests(
      "AmbitCLITests",
      needs: [
        "AmbitCLI", "AmbitPage", "CoreBluetooth", "CoreBluetoothAsync", "BluetoothHost",
        "BluetoothInterface", "BluetoothMachines", "BluetoothWire", "PeripheralFiles", "Simulation",
        "Essentials", "BonjourHost", "DiscoveryMachines", "DNSWire", "BeaconMachines", "HubClient",
        "HubClientMachines", "HubWire", "JSONWire", "PageProgram", "Reactive", "StateFiles",
        "WebDriver",
      ]),
    tests(
      "CoverFlowTests", in: "CoverFlow", needs: ["CoverFlow", "CoverFlowWebAssembly", "Essentials"]),
    tests(
      "CoverFlowPageTests", in: "CoverFlow",
      needs: ["CoverFlowPage", "CoverFlowWebAssembly", "Essentials", "WebDriver"]),
    tests("KeyValueObservingTests", needs: ["KeyValueObserving"]),
    // What pages keep of view models, without a browser.
    .target(name: "PageClient", dependencies: ["JSONWire"], path: "Tests/Support/PageClient"),
    tests(
      "BindingMachinesTests", in: "Binding",
      needs: ["BindingMachines", "JSONWire", "Essentials", "PageClient"]),
    tests(
      "BindingTests", in: "Binding", needs: ["Binding", "BindingMachines", "JSONWire", "Reactive"]),
    tests(
      "SignInTests", in: "Examples",
      needs: ["sign-in", "Binding", "Reactive", "PageProgram", "WebDriver"]),
    tests(
      "InstantSearchTests", in: "Examples",
      needs: [
        "instant-search", "Binding", "ExampleProgram", "PictureStore", "Reactive", "PageProgram",
        "WebDriver",
      ]),
    tests(
      "PhotoSearchTests", in: "Examples",
      needs: [
        "photo-search", "Binding", "ExampleProgram", "PictureStore", "Reactive", "PageProgram",
        "WebDriver",
      ]),
    tests(
      "MuseumGuideTests", in: "Examples",
      needs: [
        "museum-guide", "Binding", "BluetoothHost", "CoreLocation", "Essentials", "ExampleProgram",
        "Reactive", "PageProgram", "WebDriver",
      ]),
    tests(
      "BindingServerTests", in: "Binding",
      needs: [
        "BindingServer", "BindingMachines", "Binding", "Reactive", "JSONWire", "PageClient",
        "CoverFlowPage", "WebDriver", logging, serverProduct("NIOCore", of: "swift-nio"),
        serverProduct("HTTPTypes", of: "swift-http-types"),
        serverProduct("NIOPosix", of: "swift-nio"),
        serverProduct("ServiceLifecycle", of: "swift-service-lifecycle"),
      ]),

    // Drives a headless Chromium, and runs a program that serves pages, for tests of pages.
    .target(name: "WebDriver", path: "Tests/Support/WebDriver"),
    .target(name: "PageProgram", path: "Tests/Support/PageProgram"),
    tests("WebDriverTests", in: "Support", needs: ["WebDriver"]),

    tests("TreeTests"),

    // The fuzzers' bodies, so that crash inputs are replayed by the ordinary tests.
    .target(
      name: "FuzzTargets",
      dependencies: [
        "ARPWire", "BeaconMachines", "DNSWire", "DiscoveryMachines", "PortSharing", "BluetoothHost",
        "BluetoothInterface", "BluetoothMachines", "BluetoothWire", "Essentials", "HubMachines",
        "HubWire", "JSONWire", "PeripheralFiles", "Simulation",
      ],
      path: "Fuzz/Sources/FuzzTargets"),
    tests("FuzzReplayTests", needs: ["FuzzTargets", "Essentials"]),
  ],
  swiftLanguageModes: [.v6]
)

/// A module in a folder of `Sources`.
func module(
  _ name: String, in folder: String? = nil, needs dependencies: [Target.Dependency] = []
) -> Target {
  let path = (["Sources", folder, name] as [String?]).compactMap(\.self).joined(separator: "/")
  return .target(name: name, dependencies: dependencies, path: path)
}

/// A library in a folder of `Examples`.
func example(
  _ name: String, in folder: String, needs dependencies: [Target.Dependency] = []
) -> Target {
  .target(name: name, dependencies: dependencies, path: "Examples/\(folder)")
}

/// An example as apps for Apple's systems are written: in the Swift 5 language mode.
func appCode(_ name: String, in folder: String, needs dependencies: [Target.Dependency]) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Examples/\(folder)",
    swiftSettings: [.swiftLanguageMode(.v5)])
}

/// The tests in a folder of `Tests`.
func tests(
  _ name: String, in folder: String? = nil, needs dependencies: [Target.Dependency] = []
) -> Target {
  let path = (["Tests", folder, name] as [String?]).compactMap(\.self).joined(separator: "/")
  return .testTarget(name: name, dependencies: dependencies, path: path)
}

/// A product that is fetched and compiled with the trait `BindingServer` only.
func serverProduct(_ name: String, of package: String) -> Target.Dependency {
  .product(name: name, package: package, condition: .when(traits: ["BindingServer"]))
}

// Fuzz/run asks for it: libFuzzer has its main function, and a dependency may have no such flags.
if Context.environment["AMBIT_FUZZERS"] != nil {
  package.targets.append(
    .executableTarget(
      name: "fuzz", dependencies: ["FuzzTargets"], path: "Fuzz/Sources/fuzz",
      swiftSettings: [.unsafeFlags(["-parse-as-library"])]))
}

// Every target is compiled with the same strictness. Memory safety is strict where bytes from
// outside are handled.
let strictMemorySafety: Set<String> = [
  "Essentials", "JSONWire", "StateFiles", "BluetoothWire", "BluetoothInterface",
  "BluetoothMachines", "PeripheralFiles", "BluetoothHost", "SimulatedRadio", "SecureConnections",
  "HubPlaces", "HubWire", "HubClientMachines", "HubClient", "HubMachines", "HubHost", "Simulation",
  "ARPWire",
  "DNSWire", "DiscoveryMachines", "PortSharing", "ConnectionMachines", "BeaconMachines",
  "BindingMachines", "CoverFlow", "CoverFlowWebAssembly",
]
// Apps that were written for Apple's frameworks, or for ReactiveSwift, don't ask for strictness.
for target in package.targets
where target.type != .system
  && !["AppCode", "BeaconAppCode", "BonjourAppCode", "ReactiveAppCode"].contains(target.name)
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
  // Only where Ambit itself is developed: a new compiler's warning must not break dependants.
  if Context.environment["AMBIT_WARNINGS_ARE_ERRORS"] != nil {
    settings.append(.treatAllWarnings(as: .error))
  }
  // The seeded runs with faults: eight times as many in the same time. Assertions stay.
  if Context.environment["AMBIT_OPTIMIZED_MACHINES"] != nil,
    [
      "Essentials", "BluetoothWire", "BluetoothInterface", "BluetoothMachines", "BeaconMachines",
      "Simulation", "SimulationTests", "JSONWire", "BindingMachines", "PageClient",
      "BindingMachinesTests", "TreeTests",
    ].contains(target.name)
  {
    settings.append(.unsafeFlags(["-O", "-assert-config", "Debug"]))
  }
  target.swiftSettings = settings
}

// Benchmarks/run asks for them: programs of the release tree, on what ./run has built there.
if Context.environment["AMBIT_BENCHMARKS"] != nil {
  package.dependencies += [
    .package(url: "https://github.com/OpenCombine/OpenCombine.git", exact: "0.14.0"),
    .package(url: "https://github.com/apple/swift-async-algorithms.git", exact: "1.1.4"),
  ]
  let benchmarks: [(name: String, path: String, exclude: [String], needs: [Target.Dependency])] = [
    (
      "bluetooth-benchmarks", "Bluetooth", ["App", "Peers"],
      [
        "AllocationCounter", "BenchmarkSupport", "Essentials", "BluetoothWire",
        "BluetoothInterface", "BluetoothMachines", "BeaconMachines", "BluetoothHost",
        "SecureConnections", "SimulatedRadio", "Simulation", "HubClient", "HubHost", "HubMachines",
        logging,
      ]
    ),
    ("bonjour-benchmarks", "Bonjour", ["Host", "Peers"], ["BenchmarkSupport"]),
    ("binding-benchmarks", "Binding", ["Host"], ["BenchmarkSupport"]),
    (
      "binding-benchmarks-host", "Binding/Host", [],
      [
        "Binding", "BindingServer", "Reactive",
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        logging,
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]
    ),
    (
      "position-benchmarks", "Position", [], ["BenchmarkSupport", "Essentials", "BeaconMachines"]
    ),
    (
      "reactive-benchmarks", "Reactive", [],
      [
        "AllocationCounter", "InstructionCounter", "BenchmarkSupport", "Reactive",
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "OpenCombineDispatch", package: "OpenCombine"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      ]
    ),
  ]
  package.targets += [
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
      dependencies: ["Essentials", "DNSWire", "DiscoveryMachines", "BonjourHost"],
      path: "Benchmarks/Bonjour/Host",
      linkerSettings: [.unsafeFlags(["-static-executable"])]),
  ]
  package.targets += benchmarks.map {
    .executableTarget(
      name: $0.name, dependencies: $0.needs, path: "Benchmarks/\($0.path)", exclude: $0.exclude)
  }
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
