// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "ambit",
  products: [
    .library(name: "Essentials", targets: ["Essentials"]),
    .library(name: "JSONWire", targets: ["JSONWire"]),
    .library(name: "Reactive", targets: ["Reactive"]),
    .library(name: "ReactiveFoundation", targets: ["ReactiveFoundation"]),
    .library(name: "CoreBluetooth", targets: ["CoreBluetooth"]),
    .library(name: "CoreBluetoothAsync", targets: ["CoreBluetoothAsync"]),
    .library(name: "CoreBluetoothReactive", targets: ["CoreBluetoothReactive"]),
    .library(name: "CoreLocation", targets: ["CoreLocation"]),
    .library(name: "CoreLocationAsync", targets: ["CoreLocationAsync"]),
    .library(name: "CoreLocationReactive", targets: ["CoreLocationReactive"]),
    .library(name: "BluetoothHost", targets: ["BluetoothHost"]),
    .library(name: "BluetoothInterface", targets: ["BluetoothInterface"]),
    .library(name: "BluetoothMachines", targets: ["BluetoothMachines"]),
    .library(name: "BluetoothWire", targets: ["BluetoothWire"]),
    .library(name: "Bonjour", targets: ["Bonjour"]),
    .library(name: "BonjourReactive", targets: ["BonjourReactive"]),
    .library(name: "BeaconMachines", targets: ["BeaconMachines"]),
    .library(name: "DNSWire", targets: ["DNSWire"]),
    .library(name: "ARPWire", targets: ["ARPWire"]),
    .library(name: "DiscoveryMachines", targets: ["DiscoveryMachines"]),
    .library(name: "BonjourHost", targets: ["BonjourHost"]),
    // Built by scripts/build-dns-sd, which makes it fit to be installed.
    .library(name: "dns_sd", type: .dynamic, targets: ["dns_sd"]),
    .library(name: "Binding", targets: ["Binding"]),
    // Empty without the trait of its name.
    .library(name: "BindingServer", targets: ["BindingServer"]),
    .library(name: "Simulation", targets: ["Simulation"]),
    .library(name: "PeripheralFiles", targets: ["PeripheralFiles"]),
    .library(name: "SimulatedRadio", targets: ["SimulatedRadio"]),
    .library(name: "SecureConnections", targets: ["SecureConnections"]),
    .library(name: "CoverFlow", targets: ["CoverFlow"]),
    .library(name: "CoverFlowPage", targets: ["CoverFlowPage"]),
  ],
  traits: [
    .trait(
      name: "SimulatedRadio",
      description: "Links the simulated radio into CoreBluetooth. Devices that ship do without it."),
    .trait(
      name: "SecureConnections",
      description: "Links P-256 from libcrypto into CoreBluetooth, for LE Secure Connections."),
    .trait(
      name: "BindingServer",
      description: "Compiles BindingServer, which serves pages with SwiftNIO and hummingbird."),
    .default(enabledTraits: ["SimulatedRadio", "SecureConnections"]),
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
    // one of them, or those who use a product have to fetch it (docs/decisions/0054-what-consumers-fetch.md).
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.0"),
    .package(url: "https://github.com/swiftlang/swift-docc-plugin.git", from: "1.5.0"),
  ],
  targets: [
    // What every floor stands on.
    .target(name: "Essentials"),

    // Texts of JSON and values, both ways.
    .target(name: "JSONWire", dependencies: ["Essentials"]),

    .target(name: "EventLoop", dependencies: ["Essentials", "CLinux"]),

    // Files of a user's state: private, atomic, locked between processes.
    .target(name: "StateFiles", dependencies: ["Essentials", "EventLoop"]),

    // What faces share: run loops and streams.
    .target(name: "RunLoopSupport", dependencies: ["EventLoop"]),

    // What Apple's Foundation has and Linux lacks.
    .target(name: "KeyValueObserving"),

    // What Linux has and Swift's module of the C library leaves out.
    .systemLibrary(name: "CLinux"),

    // OpenSSL's cryptography (docs/decisions/0173-p-256-comes-from-libcrypto.md).
    .systemLibrary(name: "CLibcrypto"),

    // Signals, producers, properties, actions, schedulers, bindings.
    .target(name: "Reactive"),
    .target(name: "ReactiveFoundation", dependencies: ["Reactive"]),

    // Bluetooth: wire, machines, host, face.
    .target(
      name: "BluetoothWire", dependencies: ["Essentials"],
      path: "Sources/Bluetooth/BluetoothWire"),
    .target(
      name: "BluetoothInterface", dependencies: ["Essentials", "BluetoothWire"],
      path: "Sources/Bluetooth/BluetoothInterface"),
    .target(
      name: "BluetoothMachines",
      dependencies: ["Essentials", "BluetoothWire", "BluetoothInterface"],
      path: "Sources/Bluetooth/BluetoothMachines"),
    .target(
      name: "BluetoothHost",
      dependencies: [
        "Essentials", "EventLoop", "StateFiles", "BluetoothWire", "BluetoothInterface",
        "BluetoothMachines",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Bluetooth/BluetoothHost"),
    .target(
      name: "SimulatedRadio",
      dependencies: [
        "Essentials", "EventLoop", "BluetoothWire", "BluetoothInterface", "BluetoothMachines",
        "BluetoothHost", "Simulation", "PeripheralFiles",
        .target(name: "SecureConnections", condition: .when(traits: ["SecureConnections"])),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Bluetooth/SimulatedRadio"),
    .target(
      name: "SecureConnections",
      dependencies: [
        "BluetoothWire", "BluetoothMachines", "BluetoothHost",
        .target(name: "CLibcrypto", condition: .when(traits: ["SecureConnections"])),
      ],
      path: "Sources/Bluetooth/SecureConnections"),
    // The host that API modules have sessions with, and its plug-ins.
    .target(
      name: "BluetoothSessions",
      dependencies: [
        "BluetoothInterface", "BluetoothHost",
        .target(name: "SimulatedRadio", condition: .when(traits: ["SimulatedRadio"])),
        .target(name: "SecureConnections", condition: .when(traits: ["SecureConnections"])),
      ],
      path: "Sources/Bluetooth/BluetoothSessions"),
    .target(
      name: "CoreBluetooth",
      dependencies: [
        "Essentials", "EventLoop", "RunLoopSupport", "KeyValueObserving", "CoreBluetoothSubmodules",
        "BluetoothWire", "BluetoothInterface", "BluetoothSessions",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Bluetooth/CoreBluetooth"),
    // Lets `import CoreBluetooth.CBUUID` compile.
    .systemLibrary(
      name: "CoreBluetoothSubmodules", path: "Sources/Submodules/CoreBluetooth"),
    .target(
      name: "CoreBluetoothAsync",
      dependencies: ["CoreBluetooth", "BluetoothInterface", "BluetoothSessions"],
      path: "Sources/Bluetooth/CoreBluetoothAsync"),
    .target(
      name: "CoreBluetoothReactive",
      dependencies: ["CoreBluetooth", "CoreBluetoothAsync", "Reactive"],
      path: "Sources/Bluetooth/CoreBluetoothReactive"),

    // Location: beacon regions, ranging and position.
    .target(
      name: "BeaconMachines", dependencies: ["Essentials", "BluetoothWire"],
      path: "Sources/Location/BeaconMachines"),
    .target(
      name: "CoreLocation",
      dependencies: [
        "Essentials", "EventLoop", "StateFiles", "RunLoopSupport", "BluetoothWire",
        "BluetoothInterface", "BluetoothSessions", "BeaconMachines",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Location/CoreLocation"),
    .target(
      name: "CoreLocationAsync", dependencies: ["CoreLocation"],
      path: "Sources/Location/CoreLocationAsync"),
    .target(
      name: "CoreLocationReactive",
      dependencies: ["CoreLocation", "CoreLocationAsync", "Reactive"],
      path: "Sources/Location/CoreLocationReactive"),

    // Bonjour: wire, machines, host, faces.
    .target(name: "DNSWire", dependencies: ["Essentials"], path: "Sources/Bonjour/DNSWire"),
    .target(name: "ARPWire", dependencies: ["Essentials"], path: "Sources/Bonjour/ARPWire"),
    .target(
      name: "DiscoveryMachines", dependencies: ["Essentials", "ARPWire", "DNSWire"],
      path: "Sources/Bonjour/DiscoveryMachines"),
    .target(
      name: "PortSharing", dependencies: ["Essentials", "DNSWire", "DiscoveryMachines"],
      path: "Sources/Bonjour/PortSharing"),
    .target(
      name: "BonjourHost",
      dependencies: [
        "Essentials", "EventLoop", "CLinux", "ARPWire", "DNSWire", "DiscoveryMachines",
        "PortSharing",
      ],
      path: "Sources/Bonjour/BonjourHost"),
    .target(name: "ConnectionMachines", dependencies: ["Essentials"]),
    .target(
      name: "Connections",
      dependencies: ["Essentials", "EventLoop", "CLinux", "ConnectionMachines"]),
    .target(
      name: "Bonjour",
      dependencies: [
        "Essentials", "EventLoop", "RunLoopSupport", "DNSWire", "DiscoveryMachines",
        "BonjourHost", "ConnectionMachines", "Connections",
      ],
      path: "Sources/Bonjour/Bonjour"),
    .target(
      name: "BonjourReactive", dependencies: ["Bonjour", "Reactive"],
      path: "Sources/Bonjour/BonjourReactive"),
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
    .target(
      name: "CoverFlow", dependencies: ["Essentials"], path: "Sources/CoverFlow/CoverFlow"),
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
    .target(
      name: "BindingMachines", dependencies: ["Essentials", "JSONWire"],
      path: "Sources/Binding/BindingMachines"),
    .target(
      name: "Binding", dependencies: ["Essentials", "JSONWire", "BindingMachines", "Reactive"],
      path: "Sources/Binding/Binding"),

    .target(
      name: "BindingServer",
      dependencies: [
        "Essentials", "BindingMachines", "Binding",
        .product(name: "Logging", package: "swift-log"),
        serverProduct("HummingbirdCore", of: "hummingbird"),
        serverProduct("NIOCore", of: "swift-nio"),
        serverProduct("NIOHTTPTypes", of: "swift-nio-extras"),
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
    .target(
      name: "PeripheralFiles",
      dependencies: [
        "Essentials", "JSONWire", "BluetoothWire", "BluetoothInterface", "BluetoothMachines",
      ],
      path: "Sources/Bluetooth/PeripheralFiles"),

    // The world that tests and demos run in.
    .target(
      name: "Simulation",
      dependencies: [
        "Essentials", "BluetoothWire", "BluetoothInterface", "BluetoothMachines", "PeripheralFiles",
      ]),

    // The command line.
    .target(
      name: "AmbitCLI",
      dependencies: [
        "Essentials", "JSONWire", "BluetoothWire", "BluetoothInterface", "BluetoothMachines",
        "BluetoothHost", "SimulatedRadio", "SecureConnections", "Simulation", "PeripheralFiles",
        "CoreBluetooth", "CoreBluetoothAsync", "ARPWire", "DNSWire", "DiscoveryMachines",
        "BonjourHost", "BeaconMachines", "CLinux",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
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
        .target(name: "BindingServer", condition: .when(traits: ["BindingServer"])),
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
    .target(
      name: "BestPractices",
      dependencies: [
        "CoreBluetooth", "CoreBluetoothAsync", "CoreBluetoothReactive", "BluetoothInterface",
        "BluetoothWire", "Reactive",
      ],
      path: "Examples/BestPractices"),
    .target(
      name: "AppCode", dependencies: ["CoreBluetooth"], path: "Examples/AppCode",
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(
      name: "BeaconAppCode", dependencies: ["CoreLocation", "CoreBluetooth"],
      path: "Examples/BeaconApp", swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(
      name: "BeaconExamples",
      dependencies: ["BeaconMachines", "CoreLocation", "CoreLocationAsync", "Essentials"],
      path: "Examples/Beacons"),
    .target(
      name: "BonjourAppCode", dependencies: ["Bonjour"], path: "Examples/BonjourApp",
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(
      name: "ServiceExamples", dependencies: ["Bonjour", "BonjourReactive", "Reactive"],
      path: "Examples/Services"),
    // An app in three files: model, view model, view.
    .executableTarget(
      name: "sign-in",
      dependencies: [
        "Binding", "Reactive",
        .target(name: "BindingServer", condition: .when(traits: ["BindingServer"])),
      ],
      path: "Examples/SignIn",
      resources: [.embedInCode("Site/index.html"), .embedInCode("Site/style.css")]),
    // Pictures that are loaded when they are asked for, and kept up to a bound.
    .target(name: "PictureStore", path: "Examples/PictureStore"),
    .target(name: "ExampleProgram", path: "Examples/ExampleProgram"),
    .executableTarget(
      name: "instant-search",
      dependencies: [
        "Binding", "ExampleProgram", "PictureStore", "Reactive",
        .target(name: "BindingServer", condition: .when(traits: ["BindingServer"])),
      ],
      path: "Examples/InstantSearch",
      resources: [
        .embedInCode("Site/index.html"), .embedInCode("Site/style.css"), .embedInCode("posts.tsv"),
      ]),
    .executableTarget(
      name: "photo-search",
      dependencies: [
        "Binding", "CoverFlowPage", "ExampleProgram", "JSONWire", "PictureStore", "Reactive",
        .target(name: "BindingServer", condition: .when(traits: ["BindingServer"])),
      ],
      path: "Examples/PhotoSearch",
      resources: ["index.html", "screens.js", "style.css"].map { .embedInCode("Site/\($0)") }),
    .executableTarget(
      name: "museum-guide",
      dependencies: [
        "Binding", "BluetoothHost", "CoreLocation", "CoverFlowPage", "Essentials",
        "ExampleProgram", "PeripheralFiles", "Reactive", "SimulatedRadio", "Simulation",
        .target(name: "BindingServer", condition: .when(traits: ["BindingServer"])),
      ],
      path: "Examples/MuseumGuide",
      resources: [
        "Site/index.html", "Site/style.css", "exhibits.tsv", "floor.json", "pictures/astrolabe.svg",
        "pictures/chronometer.svg", "pictures/compass.svg", "pictures/globe.svg",
        "pictures/lighthouse.svg", "pictures/sandglass.svg", "pictures/satellite.svg",
        "pictures/sextant.svg",
      ].map { .embedInCode($0) }),
    .target(name: "ReactiveSignInForm", dependencies: ["Reactive"], path: "Examples/SignInForm"),
    .target(
      name: "ReactiveAppCode", dependencies: ["Reactive"], path: "Examples/ReactiveApp",
      swiftSettings: [.swiftLanguageMode(.v5)]),

    .testTarget(name: "EssentialsTests", dependencies: ["Essentials"]),
    .testTarget(name: "JSONWireTests", dependencies: ["JSONWire", "Essentials"]),
    .testTarget(name: "EventLoopTests", dependencies: ["EventLoop", "Essentials"]),
    .testTarget(
      name: "ReactiveTests",
      dependencies: ["Reactive", "ReactiveFoundation", "ReactiveAppCode", "ReactiveSignInForm"],
      exclude: ["API/reactive-api.tsv"]),
    .testTarget(
      name: "BluetoothWireTests", dependencies: ["BluetoothWire", "Essentials", "FuzzTargets"],
      path: "Tests/Bluetooth/BluetoothWireTests"),
    .testTarget(
      name: "BluetoothMachinesTests",
      dependencies: ["BluetoothInterface", "BluetoothMachines", "BluetoothWire", "Essentials"],
      path: "Tests/Bluetooth/BluetoothMachinesTests"),
    .testTarget(
      name: "BeaconMachinesTests",
      dependencies: ["BeaconMachines", "BluetoothWire", "Essentials"],
      path: "Tests/Location/BeaconMachinesTests"),
    .testTarget(
      name: "DNSWireTests", dependencies: ["DNSWire", "Essentials"],
      path: "Tests/Bonjour/DNSWireTests"),
    .testTarget(
      name: "ARPWireTests", dependencies: ["ARPWire", "Essentials"],
      path: "Tests/Bonjour/ARPWireTests"),
    .testTarget(
      name: "DiscoveryMachinesTests",
      dependencies: ["DiscoveryMachines", "ARPWire", "DNSWire", "Essentials"],
      path: "Tests/Bonjour/DiscoveryMachinesTests"),
    .testTarget(
      name: "PortSharingTests",
      dependencies: ["PortSharing", "DiscoveryMachines", "DNSWire", "Essentials"],
      path: "Tests/Bonjour/PortSharingTests"),
    .testTarget(
      name: "BonjourHostTests",
      dependencies: [
        "BonjourHost", "PortSharing", "DiscoveryMachines", "ARPWire", "DNSWire",
        "Essentials", "EventLoop",
      ],
      path: "Tests/Bonjour/BonjourHostTests"),
    .testTarget(
      name: "ConnectionMachinesTests", dependencies: ["ConnectionMachines", "Essentials"]),
    .testTarget(
      name: "BonjourTests",
      dependencies: [
        "Bonjour", "BonjourReactive", "BonjourHost", "Connections", "DiscoveryMachines",
        "DNSWire", "Essentials", "Reactive", "BonjourAppCode", "ServiceExamples",
      ],
      path: "Tests/Bonjour/BonjourTests"),
    .testTarget(
      name: "dns_sdTests",
      dependencies: ["dns_sd", "CDNSServiceDiscovery"], path: "Tests/Bonjour/dns_sdTests"),
    .testTarget(
      name: "PeripheralFilesTests",
      dependencies: [
        "PeripheralFiles", "BluetoothInterface", "BluetoothMachines", "BluetoothWire", "Essentials",
      ],
      path: "Tests/Bluetooth/PeripheralFilesTests"),
    .testTarget(
      name: "SimulationTests",
      dependencies: [
        "Simulation", "BeaconMachines", "PeripheralFiles", "SecureConnections", "BluetoothHost",
        "BluetoothInterface", "BluetoothMachines", "BluetoothWire", "Essentials",
      ]),
    .testTarget(
      name: "BluetoothHostTests",
      dependencies: [
        "BluetoothHost", "CoreBluetooth", "SimulatedRadio", "Simulation", "BluetoothInterface",
        "BluetoothMachines", "BluetoothWire", "Essentials", "EventLoop", "StateFiles",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/Bluetooth/BluetoothHostTests"),
    .testTarget(
      name: "SecureConnectionsTests",
      dependencies: [
        "SecureConnections", "BluetoothHost", "BluetoothMachines", "BluetoothWire", "Essentials",
      ],
      path: "Tests/Bluetooth/SecureConnectionsTests"),
    .testTarget(
      name: "CoreBluetoothTests",
      dependencies: [
        "CoreBluetooth", "CoreBluetoothAsync", "BluetoothHost", "SimulatedRadio", "Simulation",
        "PeripheralFiles", "BluetoothInterface", "BluetoothMachines", "BluetoothWire", "Essentials",
        "AppCode", "BestPractices",
      ],
      path: "Tests/Bluetooth/CoreBluetoothTests"),
    .testTarget(
      name: "CoreBluetoothReactiveTests",
      dependencies: [
        "CoreBluetooth", "CoreBluetoothAsync", "CoreBluetoothReactive", "Reactive", "BluetoothHost",
        "SimulatedRadio", "Simulation", "BluetoothInterface", "BluetoothWire", "Essentials",
        "BestPractices",
      ],
      path: "Tests/Bluetooth/CoreBluetoothReactiveTests"),
    .testTarget(
      name: "CoreLocationTests",
      dependencies: [
        "CoreLocation", "CoreLocationAsync", "CoreLocationReactive", "Reactive", "CoreBluetooth",
        "BluetoothHost", "SimulatedRadio", "Simulation", "BeaconMachines", "BluetoothInterface",
        "BluetoothWire", "StateFiles", "Essentials", "BeaconAppCode", "BeaconExamples",
      ],
      path: "Tests/Location/CoreLocationTests"),
    .testTarget(
      name: "AmbitCLITests",
      dependencies: [
        "AmbitCLI", "AmbitPage", "CoreBluetooth", "CoreBluetoothAsync", "BluetoothHost",
        "BluetoothInterface", "BluetoothMachines", "BluetoothWire", "PeripheralFiles",
        "Simulation", "Essentials", "BonjourHost", "DiscoveryMachines", "DNSWire",
        "BeaconMachines", "JSONWire", "PageProgram", "Reactive", "WebDriver",
      ]),
    .testTarget(
      name: "CoverFlowTests", dependencies: ["CoverFlow", "CoverFlowWebAssembly", "Essentials"],
      path: "Tests/CoverFlow/CoverFlowTests"),
    .testTarget(
      name: "CoverFlowPageTests",
      dependencies: ["CoverFlowPage", "CoverFlowWebAssembly", "Essentials", "WebDriver"],
      path: "Tests/CoverFlow/CoverFlowPageTests"),
    .testTarget(name: "KeyValueObservingTests", dependencies: ["KeyValueObserving"]),
    // What pages keep of view models, without a browser.
    .target(name: "PageClient", dependencies: ["JSONWire"], path: "Tests/Support/PageClient"),
    .testTarget(
      name: "BindingMachinesTests",
      dependencies: ["BindingMachines", "JSONWire", "Essentials", "PageClient"],
      path: "Tests/Binding/BindingMachinesTests"),
    .testTarget(
      name: "BindingTests",
      dependencies: ["Binding", "BindingMachines", "JSONWire", "Reactive"],
      path: "Tests/Binding/BindingTests"),
    .testTarget(
      name: "SignInTests",
      dependencies: ["sign-in", "Binding", "Reactive", "PageProgram", "WebDriver"],
      path: "Tests/Examples/SignInTests"),
    .testTarget(
      name: "InstantSearchTests",
      dependencies: [
        "instant-search", "Binding", "ExampleProgram", "PictureStore", "Reactive", "PageProgram",
        "WebDriver",
      ],
      path: "Tests/Examples/InstantSearchTests"),
    .testTarget(
      name: "PhotoSearchTests",
      dependencies: [
        "photo-search", "Binding", "ExampleProgram", "PictureStore", "Reactive", "PageProgram",
        "WebDriver",
      ],
      path: "Tests/Examples/PhotoSearchTests"),
    .testTarget(
      name: "MuseumGuideTests",
      dependencies: [
        "museum-guide", "Binding", "BluetoothHost", "CoreLocation", "Essentials", "ExampleProgram",
        "Reactive", "PageProgram", "WebDriver",
      ],
      path: "Tests/Examples/MuseumGuideTests"),
    .testTarget(
      name: "BindingServerTests",
      dependencies: [
        "BindingServer", "BindingMachines", "Binding", "Reactive", "JSONWire", "PageClient",
        "CoverFlowPage", "WebDriver", .product(name: "Logging", package: "swift-log"),
        serverProduct("NIOCore", of: "swift-nio"),
        serverProduct("NIOPosix", of: "swift-nio"),
        serverProduct("ServiceLifecycle", of: "swift-service-lifecycle"),
      ],
      path: "Tests/Binding/BindingServerTests"),

    // Drives a headless Chromium, and runs a program that serves pages, for tests of pages.
    .target(name: "WebDriver", path: "Tests/Support/WebDriver"),
    .target(name: "PageProgram", path: "Tests/Support/PageProgram"),
    .testTarget(
      name: "WebDriverTests", dependencies: ["WebDriver"], path: "Tests/Support/WebDriverTests"),

    .testTarget(name: "TreeTests"),

    // The fuzzers' bodies, so that crash inputs are replayed by the ordinary tests.
    .target(
      name: "FuzzTargets",
      dependencies: [
        "ARPWire", "BeaconMachines", "DNSWire", "DiscoveryMachines", "PortSharing", "BluetoothHost",
        "BluetoothInterface", "BluetoothMachines", "BluetoothWire", "Essentials", "JSONWire",
        "PeripheralFiles", "Simulation",
      ],
      path: "Fuzz/Sources/FuzzTargets"),
    .testTarget(name: "FuzzReplayTests", dependencies: ["FuzzTargets", "Essentials"]),
  ],
  swiftLanguageModes: [.v6]
)

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
  "Simulation", "ARPWire", "DNSWire", "DiscoveryMachines", "PortSharing", "ConnectionMachines",
  "BeaconMachines", "BindingMachines", "CoverFlow", "CoverFlowWebAssembly",
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
      "BindingMachinesTests",
    ].contains(target.name)
  {
    settings.append(.unsafeFlags(["-O", "-assert-config", "Debug"]))
  }
  target.swiftSettings = settings
}

// Benchmarks/run asks for them: programs of the release tree, on what ./run has built there.
@MainActor
func addBenchmarks() {
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
        "SecureConnections", "SimulatedRadio", "Simulation",
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
        .product(name: "Logging", package: "swift-log"),
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
if Context.environment["AMBIT_BENCHMARKS"] != nil { addBenchmarks() }

// One domain by itself, with its tests, where building the others would take longer than it helps:
// AMBIT_ONLY=Reactive,Essentials swift test --sanitize=thread --scratch-path .build/reactive
if let prefixes = Context.environment["AMBIT_ONLY"]?.split(separator: ",") {
  package.products.removeAll { product in !prefixes.contains { product.name.hasPrefix($0) } }
  package.targets.removeAll { target in !prefixes.contains { target.name.hasPrefix($0) } }
}
