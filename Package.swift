// swift-tools-version: 6.2
// Table of the products, the packages that they need, and the targets.
import PackageDescription

/// The modules that other packages may use; each is a product of its name. `BindingServer`,
/// `Messaging` and `MessagingReactive` are empty without the traits `BindingServer` and `Messaging`.
let libraries = """
  Essentials JSONWire Reactive ReactiveFoundation Simulation Binding BindingServer CoverFlow
  CoverFlowPage CoreBluetooth CoreBluetoothAsync CoreBluetoothReactive CoreLocation
  CoreLocationAsync CoreLocationReactive BluetoothHost BluetoothInterface BluetoothMachines
  BluetoothWire SimulatedRadio SecureConnections Bonjour BonjourReactive BonjourHost
  DiscoveryMachines DNSWire ARPWire BeaconMachines PeripheralFiles AppLifecycle
  AppLifecycleTesting Messaging MessagingReactive
  """
/// The modules beside AppLifecycle whose imports an app keeps.
let appModules = "BackgroundTasks UserNotifications"
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let argumentParser = Target.Dependency.product(
  name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
  name: "ambit",
  products: words(libraries).map { name in
    // Apple's names for apps are in three modules.
    .library(name: name, targets: [name] + (name == "AppLifecycle" ? words(appModules) : []))
  } + [
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
    // docs/architecture.md describes each module of Sources and Programs.
    module("Essentials"),
    wire("JSONWire"),
    module("EventLoop", needs: "Essentials CLinux"),
    host("StateFiles"),
    host("ProcessSpawning", needs: "CProcesses"),
    module("RunLoopSupport", needs: "EventLoop"),
    module("KeyValueObserving"),
    .systemLibrary(name: "CLinux"),
    // OpenSSL's cryptography (docs/decisions/0173-p-256-comes-from-libcrypto.md).
    .systemLibrary(name: "CLibcrypto"),

    module("Reactive"),
    module("ReactiveFoundation", needs: "Reactive"),

    // Bluetooth.
    wire("Bluetooth/BluetoothWire"),
    wire("Bluetooth/BluetoothInterface", needs: "BluetoothWire"),
    // BluetoothMachines exports the three others, which are modules for the compiler's sake
    // (docs/decisions/0302-the-machines-of-a-host-are-four-modules.md).
    machines("Bluetooth/L2CAPMachines", needs: "BluetoothWire BluetoothInterface"),
    machines("Bluetooth/GATTMachines", needs: "BluetoothWire BluetoothInterface L2CAPMachines"),
    machines("Bluetooth/PairingMachines", needs: "BluetoothWire BluetoothInterface"),
    machines(
      "Bluetooth/BluetoothMachines", needs: "BluetoothWire BluetoothInterface L2CAPMachines",
      "GATTMachines PairingMachines"),
    host(
      "Bluetooth/BluetoothHost", needs: "StateFiles BluetoothWire BluetoothInterface",
      "BluetoothMachines", logging),
    host(
      "Bluetooth/SimulatedRadio", needs: "BluetoothWire BluetoothInterface BluetoothMachines",
      "BluetoothHost Simulation PeripheralFiles", plugIn("SecureConnections"), logging),
    module(
      "Bluetooth/SecureConnections", needs: "BluetoothWire BluetoothMachines BluetoothHost",
      plugIn("CLibcrypto", "SecureConnections")),
    // A host over bluetoothd, with the trait BlueZ (docs/decisions/0230-bluez-is-a-trait-on-sd-bus.md).
    .systemLibrary(name: "CSystemd", path: "Sources/Bluetooth/CSystemd"),
    machines("Bluetooth/BlueZMachines", needs: "BluetoothWire BluetoothInterface"),
    host(
      "Bluetooth/BlueZHost", needs: "BluetoothWire BluetoothInterface BlueZMachines",
      plugIn("CSystemd", "BlueZ"), logging),
    module(
      "Bluetooth/BluetoothSessions", needs: "BluetoothInterface EventLoop HubClient",
      plugIn("BluetoothHost"), plugIn("SimulatedRadio"), plugIn("SecureConnections"),
      plugIn("BlueZHost", "BlueZ")),
    machines("Bluetooth/PeripheralFiles", needs: "JSONWire BluetoothWire BluetoothInterface"),
    module(
      "Simulation", needs: "Essentials BluetoothWire BluetoothInterface BluetoothMachines",
      "PeripheralFiles"),
    api(
      "Bluetooth/CoreBluetooth", needs: "KeyValueObserving CoreBluetoothSubmodules BluetoothWire",
      "BluetoothInterface BluetoothSessions InfoPlists", logging),
    // Lets `import CoreBluetooth.CBUUID` compile.
    .systemLibrary(name: "CoreBluetoothSubmodules", path: "Sources/Submodules/CoreBluetooth"),
    module(
      "Bluetooth/CoreBluetoothAsync", needs: "RunLoopSupport CoreBluetooth BluetoothInterface",
      "BluetoothSessions"),
    module(
      "Bluetooth/CoreBluetoothReactive", needs: "RunLoopSupport CoreBluetooth CoreBluetoothAsync",
      "Reactive"),

    // The hub, and apps in the background.
    module("Hub/HubPlaces", needs: "EventLoop"),
    wire("Hub/HubWire", needs: "BluetoothWire BluetoothInterface"),
    machines("Hub/HubClientMachines", needs: "BluetoothWire BluetoothInterface HubWire"),
    host("Hub/HubClient", needs: "BluetoothInterface HubPlaces HubWire HubClientMachines", logging),
    machines("Hub/HubMachines", needs: "JSONWire BluetoothWire BluetoothInterface HubWire"),
    host(
      "Hub/HubHost", needs: "BluetoothInterface BluetoothMachines BluetoothHost BlueZMachines",
      "HubMachines HubPlaces HubWire",
      plugIn("BlueZHost", "BlueZ")),

    machines("Hub/AppMachines"),
    machines(
      "Hub/AppHubMachines", needs: "BluetoothWire BluetoothInterface HubWire HubMachines",
      "AppMachines BeaconMachines"),
    module("Hub/InfoPlists"),
    module("Hub/AppSessions", needs: "Essentials EventLoop AppMachines InfoPlists"),
    .systemLibrary(name: "CProcesses", path: "Sources/Hub/CProcesses"),
    host(
      "Hub/AppManagerHost",
      needs: "CLinux CProcesses ProcessSpawning StateFiles BluetoothInterface",
      "HubMachines AppMachines AppHubMachines InfoPlists AppSessions"),
    // With the trait AppDatabase (docs/decisions/0253-the-store-of-apps-is-sqlite.md).
    host(
      "Hub/AppDatabase", needs: "StateFiles AppManagerHost",
      products("GRDB", of: "GRDB.swift", with: "AppDatabase")),
    module("Hub/AppLifecycle", needs: "Essentials AppMachines AppSessions InfoPlists"),
    module("Hub/BackgroundTasks", needs: "AppLifecycle"),
    module("Hub/UserNotifications", needs: "AppLifecycle"),
    module(
      "Hub/AppLifecycleTesting", needs: "Essentials EventLoop CLinux BluetoothWire",
      "BluetoothInterface BluetoothMachines BluetoothHost BluetoothSessions SimulatedRadio",
      "Simulation HubWire HubMachines HubClientMachines AppMachines AppHubMachines AppSessions",
      "AppLifecycle InfoPlists ProcessSpawning"),

    // Location.
    machines("Location/BeaconMachines", needs: "BluetoothWire"),
    host("Location/LocationFiles", needs: "StateFiles BeaconMachines", logging),
    api(
      "Location/CoreLocation", needs: "LocationFiles CoreLocationSubmodules BluetoothWire",
      "BluetoothInterface BluetoothSessions BeaconMachines AppMachines AppSessions", logging),
    // Lets `import CoreLocation.CLLocation` compile.
    .systemLibrary(name: "CoreLocationSubmodules", path: "Sources/Submodules/CoreLocation"),
    module("Location/CoreLocationAsync", needs: "RunLoopSupport CoreLocation"),
    module(
      "Location/CoreLocationReactive", needs: "RunLoopSupport CoreLocation CoreLocationAsync",
      "Reactive"),

    // Bonjour, and connections by TCP.
    wire("Bonjour/DNSWire"),
    wire("Bonjour/ARPWire"),
    machines("Bonjour/DiscoveryMachines", needs: "ARPWire DNSWire"),
    machines("Bonjour/PortSharing", needs: "DNSWire DiscoveryMachines"),
    host(
      "Bonjour/BonjourHost", needs: "CLinux ARPWire DNSWire DiscoveryMachines HubPlaces",
      "PortSharing"),
    machines("ConnectionMachines"),
    host("Connections"),
    api(
      "Bonjour/Bonjour", needs: "DNSWire DiscoveryMachines BonjourHost ConnectionMachines",
      "Connections AppSessions"),
    module("Bonjour/BonjourReactive", needs: "Bonjour Reactive"),
    .systemLibrary(name: "CDNSServiceDiscovery", path: "Sources/Bonjour/dns_sd/include"),
    module(
      "Bonjour/dns_sd", exclude: "include exports.map", needs: "CDNSServiceDiscovery CLinux",
      "Essentials DNSWire DiscoveryMachines BonjourHost"),

    // Messages over XMPP, with the trait Messaging (docs/decisions/0214-messages-are-a-trait.md).
    .systemLibrary(name: "CExpat", path: "Sources/Messaging/CExpat"),
    wire(
      "Messaging/XMPPWire",
      needs:
        plugIn("CExpat", "Messaging")),
    machines("Messaging/XMPPMachines", needs: "XMPPWire"),
    // The C library's resolver (docs/decisions/0218-the-connection-of-an-account.md).
    .systemLibrary(name: "CResolver", path: "Sources/Messaging/CResolver"),
    host(
      "Messaging/MessagingHost", needs: "AppSessions DNSWire JSONWire StateFiles XMPPMachines",
      "XMPPWire",
      plugIn("CLibcrypto", "Messaging"), plugIn("CResolver", "Messaging"),
      products("GRDB", of: "GRDB.swift", with: "Messaging"),
      products("NIOCore NIOHTTP1 NIOPosix NIOTLS", of: "swift-nio", with: "Messaging"),
      products("NIOSSL", of: "swift-nio-ssl", with: "Messaging")),
    module("Messaging/Messaging", needs: "Essentials MessagingHost XMPPMachines XMPPWire"),
    module("Messaging/MessagingReactive", needs: "Messaging Reactive"),

    // Cover flow, also compiled for browsers by scripts/build-cover-flow.
    machines("CoverFlow/CoverFlow"),
    module(
      "CoverFlow/CoverFlowWebAssembly", exclude: "runtime.c", needs: "CoverFlow Essentials"),
    module(
      "CoverFlow/CoverFlowPage",
      files: "Resources/cover-flow.js Resources/cover-flow-back.js Resources/cover-flow-binding.js",
      "Resources/cover-flow-engine.js Resources/cover-flow-images.js Resources/cover-flow-input.js",
      "Resources/cover-flow-list.js Resources/cover-flow-probe.js Resources/cover-flow-report.js",
      "Resources/cover-flow.css Resources/cover-flow.wasm"),

    // View models bound to pages.
    machines("Binding/BindingMachines", needs: "JSONWire"),
    module("Binding/Binding", needs: "Essentials JSONWire BindingMachines Reactive"),
    module(
      "Binding/BindingServer", exclude: "Resources/binding.js",
      files: "Resources/binding.min.js Resources/binding.css",
      needs: "Essentials StateFiles BindingMachines Binding", plugIn("CLibcrypto", "BindingServer"),
      products("HummingbirdCore", of: "hummingbird", with: "BindingServer"),
      products("NIOCore NIOHTTP1 NIOPosix", of: "swift-nio", with: "BindingServer"),
      products("NIOHTTPTypes NIOHTTPTypesHTTP1", of: "swift-nio-extras", with: "BindingServer"),
      products("HTTPTypes", of: "swift-http-types", with: "BindingServer"),
      products(
        "ServiceLifecycle UnixSignals", of: "swift-service-lifecycle", with: "BindingServer"),
      logging),

    // The command line.
    library(
      "AmbitCLI", in: "Programs/ambit", exclude: "Main", needs: "Essentials JSONWire",
      "BluetoothWire BluetoothInterface BluetoothMachines BluetoothHost SimulatedRadio",
      "SecureConnections Simulation PeripheralFiles BluetoothSessions CoreBluetooth",
      "CoreBluetoothAsync ARPWire DNSWire DiscoveryMachines BonjourHost BeaconMachines",
      "LocationFiles EventLoop HubClient HubClientMachines HubPlaces HubWire ProcessSpawning",
      "StateFiles", plugIn("BlueZHost", "BlueZ"), argumentParser, logging),
    // No product of its own: SwiftPM makes one for an executable target of the root package only.
    program("ambit", in: "Programs/ambit/Main", needs: "AmbitCLI"),
    // Compiled when a command first runs it (docs/decisions/0250-the-hub-is-a-program-of-its-own.md).
    library(
      "AmbitHub", in: "Programs/ambit-hub", exclude: "Main", needs: "AmbitCLI Essentials",
      "EventLoop JSONWire BluetoothHost BonjourHost HubHost HubMachines HubPlaces HubWire",
      argumentParser),
    program("ambit-hub", in: "Programs/ambit-hub/Main", needs: "AmbitCLI AmbitHub"),
    // The same (docs/decisions/0174-the-page-is-a-program-of-its-own.md).
    library(
      "AmbitPage", in: "Programs/ambit-page", exclude: "Main",
      files: "Site/index.html Site/page.js Site/style.css", needs: "AmbitCLI Essentials JSONWire",
      "StateFiles BluetoothWire BluetoothInterface BluetoothMachines BluetoothHost PeripheralFiles",
      "CoreBluetooth CoreBluetoothAsync DNSWire DiscoveryMachines BonjourHost BeaconMachines",
      "Binding CoverFlowPage HubClient HubClientMachines HubWire Reactive",
      plugIn("BindingServer"), argumentParser),
    program("ambit-page", in: "Programs/ambit-page/Main", needs: "AmbitCLI AmbitPage"),
    // The same (docs/decisions/0219-messages-are-a-program-of-their-own.md).
    library(
      "AmbitMessage", in: "Programs/ambit-message", exclude: "Main",
      needs: "AmbitCLI AppSessions Essentials JSONWire StateFiles", plugIn("Messaging"),
      plugIn("MessagingHost", "Messaging"), argumentParser),
    program("ambit-message", in: "Programs/ambit-message/Main", needs: "AmbitCLI AmbitMessage"),
    // The same (docs/decisions/0238-a-manager-of-apps.md).
    library(
      "AmbitApps", in: "Programs/ambit-apps", exclude: "Main", needs: "AmbitCLI Essentials",
      "EventLoop JSONWire StateFiles BluetoothInterface AppMachines AppSessions AppManagerHost",
      "HubClient", plugIn("AppDatabase"), argumentParser),
    program("ambit-apps", in: "Programs/ambit-apps/Main", needs: "AmbitCLI AmbitApps"),

    // DNS messages as text and back, for the tests against other implementations.
    program("dns-text", in: "Interop/dns-text", needs: "DNSWire Essentials"),
    // Many hosts in one process, for the tests of sharing.
    program(
      "bonjour-crowd", in: "Interop/bonjour-crowd", needs: "BonjourHost DNSWire DiscoveryMachines",
      "Essentials EventLoop"),

    // Compiled with the tests, shown in the documentation.
    library(
      "BestPractices", in: "Examples/BestPractices", needs: "CoreBluetooth CoreBluetoothAsync",
      "CoreBluetoothReactive BluetoothInterface BluetoothWire Reactive"),
    appCode("AppCode", in: "Examples/AppCode", needs: "CoreBluetooth"),
    // Runs it as a program, for Interop.
    program("heart-rate", in: "Tests/Support/HeartRate", needs: "AppCode CoreBluetooth"),
    appCode("BeaconAppCode", in: "Examples/BeaconApp", needs: "CoreLocation CoreBluetooth"),
    library(
      "BeaconExamples", in: "Examples/Beacons",
      needs: "BeaconMachines CoreLocation CoreLocationAsync Essentials"),
    appCode(
      "AppDelegates", in: "Examples/AppDelegates",
      needs: "AppLifecycle BackgroundTasks CoreBluetooth CoreLocation UserNotifications"),
    appCode("BonjourAppCode", in: "Examples/BonjourApp", needs: "Bonjour"),
    library("DoorLock", in: "Examples/DoorLock", needs: "CoreBluetooth"),
    // The same as an app that is installed: with its Info.plist, a folder for "ambit app install".
    program(
      "door-lock", in: "Examples/DoorLockApp", exclude: "Info.plist",
      needs: "AppLifecycle DoorLock"),
    // An app that stays reachable: the system holds its connection.
    program(
      "standby", in: "Examples/Standby", exclude: "Info.plist server",
      needs: "AppLifecycle Bonjour"),
    // An app that records a heart rate in the background.
    program(
      "pulse-log", in: "Examples/PulseLog", exclude: "Info.plist", needs: "AppLifecycle",
      "CoreBluetooth"),
    // An app that is launched for a beacon, and sends a message with a picture.
    program(
      "gate-alert", in: "Examples/GateAlert", exclude: "Info.plist settings",
      needs: "AppLifecycle CoreLocation", plugIn("Messaging")),
    library("ServiceExamples", in: "Examples/Services", needs: "Bonjour BonjourReactive Reactive"),
    // An app in three files: model, view model, view.
    page("sign-in", in: "Examples/SignIn", needs: "ExampleProgram Reactive"),
    // Files that users choose, and keep.
    page("file-drop", in: "Examples/FileDrop", needs: "ExampleProgram Reactive"),
    // Pictures that are loaded when they are asked for, and kept up to a bound.
    library("PictureStore", in: "Examples/PictureStore"),
    library("ExampleProgram", in: "Examples/ExampleProgram"),
    page(
      "instant-search", in: "Examples/InstantSearch", files: "posts.tsv",
      needs: "ExampleProgram PictureStore Reactive"),
    page(
      "photo-search", in: "Examples/PhotoSearch", files: "Site/screens.js",
      needs: "CoverFlowPage ExampleProgram JSONWire PictureStore Reactive"),
    page(
      "museum-guide", in: "Examples/MuseumGuide", files: "exhibits.tsv floor.json",
      "pictures/astrolabe.svg pictures/chronometer.svg pictures/compass.svg pictures/globe.svg",
      "pictures/lighthouse.svg pictures/sandglass.svg pictures/satellite.svg pictures/sextant.svg",
      needs: "BluetoothHost CoreLocation CoverFlowPage Essentials ExampleProgram PeripheralFiles",
      "Reactive SimulatedRadio Simulation"),
    // Conversations in a page or a terminal, of an account on XMPP.
    page(
      "messenger", in: "Examples/Messenger", files: "Site/bell.wav Site/gate.png",
      needs: "ExampleProgram Reactive", plugIn("Messaging")),
    library("ReactiveSignInForm", in: "Examples/SignInForm", needs: "Reactive"),
    appCode("ReactiveAppCode", in: "Examples/ReactiveApp", needs: "Reactive"),

    tests("EssentialsTests", needs: "Essentials"),
    tests(of: "JSONWire"),
    tests(of: "Messaging/XMPPWire"),
    tests(of: "Messaging/XMPPMachines", needs: "XMPPWire"),
    tests(
      of: "Messaging/MessagingHost", needs: "AppSessions DNSWire XMPPMachines XMPPWire",
      "store-program",
      products("GRDB", of: "GRDB.swift", with: "Messaging"),
      products("NIOCore NIOPosix", of: "swift-nio", with: "Messaging"),
      products("NIOSSL", of: "swift-nio-ssl", with: "Messaging")),
    tests(of: "Messaging/Messaging"),
    tests(of: "Messaging/MessagingReactive", needs: "Messaging Reactive"),
    tests(of: "AmbitMessage", needs: "AmbitCLI JSONWire Messaging StateFiles"),
    tests(of: "EventLoop"),
    tests(
      "ReactiveTests", exclude: "API/reactive-api.tsv API/Expressions.swift",
      needs: "Reactive ReactiveFoundation ReactiveAppCode ReactiveSignInForm"),
    tests(of: "Bluetooth/BluetoothWire", needs: "FuzzTargets"),
    tests(
      of: "Bluetooth/BluetoothMachines", needs: "BluetoothInterface BluetoothWire L2CAPMachines",
      "GATTMachines PairingMachines"),
    tests(of: "Location/BeaconMachines", needs: "BluetoothWire"),
    tests(of: "Bonjour/DNSWire"),
    tests(of: "Bonjour/ARPWire"),
    tests(of: "Bonjour/DiscoveryMachines", needs: "ARPWire DNSWire"),
    tests(of: "Bonjour/PortSharing", needs: "DiscoveryMachines DNSWire"),
    tests(
      of: "Bonjour/BonjourHost", needs: "PortSharing DiscoveryMachines ARPWire DNSWire EventLoop",
      "ForkedProcesses HubPlaces"),
    // Processes that share sockets, and sockets of other users.
    library("ForkedProcesses", in: "Tests/Support/ForkedProcesses"),
    tests(of: "Hub/HubWire", exclude: "Version1", needs: "BluetoothInterface BluetoothWire"),
    tests(of: "Hub/HubClientMachines", needs: "HubWire BluetoothInterface BluetoothWire"),
    tests(
      of: "Hub/HubClient", needs: "HubClientMachines HubHost HubMachines HubPlaces HubWire",
      "BluetoothHost BluetoothInterface BluetoothSessions BluetoothWire CoreBluetooth CoreLocation",
      "EventLoop SimulatedRadio Simulation radio-states restored-central", logging),
    // Programs of Core Bluetooth, which the tests of the hub's clients run.
    program("radio-states", in: "Tests/Support/RadioStates", needs: "CoreBluetooth"),
    program("restored-central", in: "Tests/Support/RestoredCentral", needs: "CoreBluetooth"),
    tests(of: "Hub/AppMachines"),
    tests(of: "Hub/AppSessions", needs: "AppMachines InfoPlists"),
    tests(
      of: "Hub/AppLifecycle", needs: "AppMachines AppSessions AppDelegates app-states",
      "BluetoothHost CoreBluetooth CoreLocation InfoPlists SimulatedRadio Simulation"),
    // An app that no system runs, which the tests of its life run.
    program("app-states", in: "Tests/Support/AppStates", needs: "AppLifecycle"),
    // An app with streams that the system holds, which the tests of the manager of apps run.
    program("held-streams", in: "Tests/Support/HeldStreams", needs: "AppLifecycle Bonjour"),
    tests(
      of: "Hub/AppLifecycleTesting", needs: "AppDelegates AppLifecycle AppMachines AppSessions",
      "BluetoothInterface BluetoothHost BluetoothWire CoreBluetooth CoreLocation DoorLock",
      "SimulatedRadio Simulation"),
    tests(
      of: "Hub/AppHubMachines", needs: "AppMachines HubClientMachines HubMachines HubWire",
      "BluetoothInterface BluetoothWire"),
    tests(
      of: "Hub/AppManagerHost", needs: "AppMachines AppSessions BluetoothHost BluetoothInterface",
      "BluetoothWire EventLoop InfoPlists SimulatedRadio Simulation StateFiles ambit-apps",
      "ambit-hub app-services door-lock held-streams pulse-log standby"),
    // An app that uses what the manager of apps does for it.
    program(
      "app-services", in: "Tests/Support/AppServices",
      needs: "AppLifecycle CoreBluetooth CoreLocation"),
    tests(
      of: "Hub/AppDatabase", needs: "AppMachines AppManagerHost StateFiles app-store-program",
      products("GRDB", of: "GRDB.swift", with: "AppDatabase")),
    // Writes into the store of apps until a test ends it.
    program(
      "app-store-program", in: "Tests/Support/AppStoreProgram", needs: "AppDatabase AppManagerHost",
      "AppMachines StateFiles"),
    tests(of: "Hub/HubMachines", needs: "HubWire BluetoothInterface BluetoothWire"),
    tests(
      of: "Hub/HubHost", needs: "HubMachines HubWire BluetoothHost BluetoothInterface",
      "BluetoothWire SimulatedRadio EventLoop ForkedProcesses"),
    tests(of: "ConnectionMachines"),
    tests(
      of: "Bonjour/Bonjour", needs: "BonjourReactive BonjourHost Connections DiscoveryMachines",
      "DNSWire EventLoop HubPlaces PortSharing Reactive BonjourAppCode ServiceExamples"),
    tests("Bonjour/dns_sdTests", needs: "dns_sd CDNSServiceDiscovery DNSWire"),
    tests(
      of: "Bluetooth/PeripheralFiles", needs: "BluetoothInterface BluetoothMachines BluetoothWire"),
    tests(
      of: "Simulation", needs: "BeaconMachines PeripheralFiles SecureConnections BluetoothHost",
      "BluetoothInterface BluetoothMachines BluetoothWire L2CAPMachines GATTMachines",
      "PairingMachines"),
    tests(
      of: "Bluetooth/BluetoothHost", needs: "CoreBluetooth SimulatedRadio Simulation",
      "BluetoothInterface BluetoothMachines BluetoothWire EventLoop StateFiles", logging),
    tests(of: "Bluetooth/BlueZMachines", needs: "BluetoothInterface BluetoothWire"),
    tests(
      of: "Bluetooth/BlueZHost", needs: "BlueZMachines BluetoothInterface BluetoothWire EventLoop",
      "HubClient HubHost HubWire", logging,
      plugIn("CSystemd", "BlueZ")),
    tests(
      of: "Bluetooth/SecureConnections", needs: "BluetoothHost BluetoothMachines BluetoothWire"),
    tests(
      of: "Bluetooth/CoreBluetooth", needs: "RunLoopSupport CoreBluetoothAsync BluetoothHost",
      "SimulatedRadio Simulation PeripheralFiles BluetoothInterface BluetoothMachines",
      "BluetoothSessions BluetoothWire AppCode InfoPlists BestPractices"),
    tests(
      of: "Bluetooth/CoreBluetoothReactive", needs: "RunLoopSupport CoreBluetooth",
      "CoreBluetoothAsync Reactive BluetoothHost SimulatedRadio Simulation BluetoothInterface",
      "BluetoothWire BestPractices"),
    tests(
      of: "Location/CoreLocation", needs: "CoreLocationAsync CoreLocationReactive Reactive",
      "CoreBluetooth BluetoothHost SimulatedRadio Simulation BeaconMachines BluetoothInterface",
      "BluetoothWire LocationFiles StateFiles BeaconAppCode BeaconExamples"),
    tests(
      of: "AmbitCLI", needs: "ambit-hub AmbitPage CoreBluetooth CoreBluetoothAsync BluetoothHost",
      "BluetoothInterface BluetoothMachines BluetoothWire PeripheralFiles Simulation BonjourHost",
      "DiscoveryMachines DNSWire BeaconMachines HubClient HubClientMachines HubWire JSONWire",
      "PageProgram Reactive StateFiles WebDriver"),
    tests(of: "CoverFlow/CoverFlow", needs: "CoverFlowWebAssembly"),
    tests(of: "CoverFlow/CoverFlowPage", needs: "CoverFlowWebAssembly WebDriver"),
    tests("KeyValueObservingTests", needs: "KeyValueObserving"),
    // What pages keep of view models, without a browser.
    library("PageClient", in: "Tests/Support/PageClient", needs: "JSONWire"),
    tests(of: "Binding/BindingMachines", needs: "JSONWire PageClient"),
    tests("Binding/BindingTests", needs: "Binding BindingMachines JSONWire Reactive"),
    tests("Examples/SignInTests", needs: "sign-in Binding Reactive PageProgram WebDriver"),
    tests(
      "Examples/InstantSearchTests", needs: "instant-search Binding ExampleProgram PictureStore",
      "Reactive PageProgram WebDriver"),
    tests(
      "Examples/PhotoSearchTests", needs: "photo-search Binding ExampleProgram PictureStore",
      "Reactive PageProgram WebDriver"),
    tests(
      "Examples/MuseumGuideTests", needs: "museum-guide Binding BluetoothHost CoreLocation",
      "Essentials ExampleProgram Reactive PageProgram WebDriver"),
    tests("Examples/MessengerTests", needs: "messenger Binding Reactive PageProgram WebDriver"),
    tests(
      "Binding/BindingServerTests", needs: "BindingServer BindingMachines Binding Reactive",
      "JSONWire PageClient StateFiles CoverFlowPage WebDriver", logging,
      products("NIOCore NIOPosix", of: "swift-nio", with: "BindingServer"),
      products("HTTPTypes", of: "swift-http-types", with: "BindingServer"),
      products("ServiceLifecycle", of: "swift-service-lifecycle", with: "BindingServer")),

    // Drives a headless Chromium, and runs a program that serves pages, for tests of pages.
    library("WebDriver", in: "Tests/Support/WebDriver"),
    library("PageProgram", in: "Tests/Support/PageProgram"),
    // Writes into a store until a test ends it.
    program(
      "store-program", in: "Tests/Support/StoreProgram", needs: "MessagingHost XMPPMachines",
      "XMPPWire"),
    tests("Support/WebDriverTests", needs: "WebDriver"),

    tests("TreeTests"),

    // The fuzzers' bodies, so that crash inputs are replayed by the ordinary tests.
    library(
      "FuzzTargets", in: "Fuzz/Sources/FuzzTargets",
      needs: "AppHubMachines AppMachines AppSessions ARPWire BeaconMachines BlueZMachines DNSWire",
      "DiscoveryMachines PortSharing BluetoothHost BluetoothInterface BluetoothMachines",
      "BluetoothWire Essentials HubMachines HubWire JSONWire PeripheralFiles Simulation",
      "InfoPlists XMPPMachines XMPPWire"),
    tests("FuzzReplayTests", needs: "FuzzTargets Essentials"),
  ],
  swiftLanguageModes: [.v6]
)

// Targets by kind. A text has several names, with spaces between them. A path begins in the folder
// of the kind, and ends with the name of the target or, for tests, of the module.

/// A module in `Sources`.
func module(
  _ path: String, exclude: String = "", files: String..., needs: Target.Dependency...
) -> Target {
  target(path, needs, exclude, files)
}

/// Bytes to values and back, pure.
func wire(_ path: String, needs: Target.Dependency...) -> Target {
  target(path, ["Essentials"] + needs, settings: [.strictMemorySafety()])
}

/// Events to actions, pure.
func machines(_ path: String, needs: Target.Dependency...) -> Target {
  target(path, ["Essentials"] + needs, settings: [.strictMemorySafety()])
}

/// I/O on the event loop.
func host(_ path: String, needs: Target.Dependency...) -> Target {
  target(path, ["Essentials EventLoop"] + needs)
}

/// Apple's names, on run loops and queues.
func api(_ path: String, needs: Target.Dependency...) -> Target {
  target(path, ["Essentials EventLoop RunLoopSupport"] + needs)
}

func target(
  _ path: String, _ needs: [Target.Dependency], _ exclude: String = "", _ files: [String] = [],
  settings: [SwiftSetting] = []
) -> Target {
  .target(
    name: name(path), dependencies: each(needs), path: "Sources/" + path, exclude: words(exclude),
    resources: embedded(files), swiftSettings: settings)
}

/// A module in another folder.
func library(
  _ name: String, in folder: String, exclude: String = "", files: String...,
  needs: Target.Dependency...
) -> Target {
  .target(
    name: name, dependencies: each(needs), path: folder, exclude: words(exclude),
    resources: embedded(files))
}

/// An example as apps for Apple's systems are written: in the Swift 5 language mode.
func appCode(_ name: String, in folder: String, needs: Target.Dependency...) -> Target {
  .target(
    name: name, dependencies: each(needs), path: folder, swiftSettings: [.swiftLanguageMode(.v5)])
}

func program(
  _ name: String, in folder: String, exclude: String = "", needs: Target.Dependency...
) -> Target {
  .executableTarget(
    name: name, dependencies: each(needs), path: folder, exclude: words(exclude))
}

/// A program that serves a page, whose files are embedded.
func page(
  _ name: String, in folder: String, files: String..., needs: Target.Dependency...
) -> Target {
  .executableTarget(
    name: name, dependencies: each(["Binding", plugIn("BindingServer")] + needs), path: folder,
    resources: embedded(["Site/index.html Site/style.css"] + files))
}

/// The tests of a module, which use Essentials, in a folder of `Tests`.
func tests(of path: String, exclude: String = "", needs: Target.Dependency...) -> Target {
  .testTarget(
    name: name(path) + "Tests",
    dependencies: each([.target(name: name(path)), "Essentials"] + needs),
    path: "Tests/\(path)Tests", exclude: words(exclude))
}

/// Other tests, in a folder of `Tests`.
func tests(_ path: String, exclude: String = "", needs: Target.Dependency...) -> Target {
  .testTarget(
    name: name(path), dependencies: each(needs), path: "Tests/" + path, exclude: words(exclude))
}

/// A module that is linked with a trait only, which has the module's name or the one given.
func plugIn(_ name: String, _ trait: String? = nil) -> Target.Dependency {
  .target(name: name, condition: .when(traits: [trait ?? name]))
}

/// Products that are fetched and compiled with a trait only, or always.
func products(
  _ names: String, of package: String, with trait: String? = nil
) -> Target.Dependency {
  guard let trait else { return .product(name: names, package: package) }
  return .product(name: names, package: package, condition: .when(traits: [trait]))
}

/// A dependency for each name.
func each(_ needs: [Target.Dependency]) -> [Target.Dependency] {
  needs.flatMap { need -> [Target.Dependency] in
    switch need {
    case .byNameItem(let names, let condition):
      words(names).map { .byName(name: $0, condition: condition) }
    case .productItem(let names, let package?, _, let condition):
      words(names).map { .product(name: $0, package: package, condition: condition) }
    default: [need]
    }
  }
}

func embedded(_ files: [String]) -> [Resource] {
  files.flatMap(words).map { .embedInCode($0) }
}

/// The last part of a path.
func name(_ path: String) -> String {
  path.split(separator: "/").last.map(String.init) ?? path
}

func words(_ text: String) -> [String] {
  text.split(whereSeparator: \.isWhitespace).map(String.init)
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
let strictMemorySafety = words(
  """
  Essentials StateFiles BluetoothHost SimulatedRadio SecureConnections HubPlaces HubClient HubHost
  Simulation CoverFlowWebAssembly BlueZHost
  """)
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
      "Essentials", "BluetoothWire", "BluetoothInterface", "BluetoothMachines", "L2CAPMachines",
      "GATTMachines", "PairingMachines", "BeaconMachines", "Simulation", "JSONWire",
      "BindingMachines", "PageClient", "BindingMachinesTests",
      "AppMachines", "AppMachinesTests", "XMPPWire", "XMPPMachines", "XMPPMachinesTests",
    ].contains(target.name)
  {
    settings.append(.unsafeFlags(["-O", "-assert-config", "Debug"]))
  }
  // The release tree of ./run: modules that do no work per packet of a controller compile in a quarter of the time
  // (docs/decisions/0220-commands-of-a-clone-are-not-optimized.md, 0233 and 0249).
  if Context.environment["AMBIT_UNOPTIMIZED_COMMANDS"] != nil,
    [
      "AmbitCLI", "AmbitHub", "AmbitMessage", "PeripheralFiles", "BlueZMachines", "BlueZHost",
    ].contains(target.name)
  {
    // Not the checks of debug builds, either: each event of a machine would check all of its tables.
    settings.append(
      .unsafeFlags(["-Onone", "-assert-config", "Release", "-no-emit-module-separately-wmo"]))
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
    program(
      "bluetooth-benchmarks", in: "Benchmarks/Bluetooth", exclude: "App Peers",
      needs: "AllocationCounter BenchmarkSupport Essentials BluetoothWire BluetoothInterface",
      "BluetoothMachines BeaconMachines BluetoothHost SecureConnections SimulatedRadio Simulation",
      "HubClient HubHost HubMachines", logging),
    program(
      "bonjour-benchmarks", in: "Benchmarks/Bonjour", exclude: "Host Peers",
      needs: "BenchmarkSupport"),
    program(
      "binding-benchmarks", in: "Benchmarks/Binding", exclude: "Host", needs: "BenchmarkSupport"),
    program(
      "binding-benchmarks-host", in: "Benchmarks/Binding/Host",
      needs: "Binding BindingServer Reactive", products("HummingbirdCore", of: "hummingbird"),
      products("NIOCore NIOPosix", of: "swift-nio"), products("HTTPTypes", of: "swift-http-types"),
      products("ServiceLifecycle", of: "swift-service-lifecycle"), logging),
    program(
      "apps-benchmarks", in: "Benchmarks/Apps", needs: "AppMachines AppManagerHost AppSessions",
      "BenchmarkSupport BluetoothHost Essentials EventLoop BluetoothWire BluetoothInterface",
      "AppLifecycleTesting CoreBluetooth HubWire SimulatedRadio Simulation"),
    // One of its many apps.
    program(
      "crowd-app", in: "Benchmarks/AppsCrowd",
      needs: "AppLifecycle Bonjour CoreBluetooth CoreLocation"),
    program(
      "messages-benchmarks", in: "Benchmarks/Messages", needs: "BenchmarkSupport Essentials",
      "Messaging MessagingHost XMPPMachines XMPPWire",
      products("GRDBSQLite", of: "GRDB.swift", with: "Messaging")),
    program(
      "position-benchmarks", in: "Benchmarks/Position",
      needs: "BenchmarkSupport Essentials BeaconMachines"),
    program(
      "reactive-benchmarks", in: "Benchmarks/Reactive",
      needs: "AllocationCounter InstructionCounter BenchmarkSupport Reactive",
      products("OpenCombine OpenCombineDispatch", of: "OpenCombine"),
      products("AsyncAlgorithms", of: "swift-async-algorithms")),
    library("AllocationCounter", in: "Benchmarks/AllocationCounter"),
    library("InstructionCounter", in: "Benchmarks/InstructionCounter"),
    library("BenchmarkSupport", in: "Benchmarks/Support"),
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
// Only what some programs need, in one plan: the release tree of ./test, and ./run of a command in a fresh clone. The
// modules are compiled with the same flags, so that none is compiled again.
let firstPrograms = Context.environment["AMBIT_PROGRAM"]
if let programs = (firstPrograms ?? Context.environment["AMBIT_PRODUCTS"])?
  .split(separator: ",").map(String.init)
{
  var names = Set(programs)
  var packages: Set<String> = []
  var rest = programs
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
  // In a fresh clone, the packages of the other programs aren't fetched.
  package.dependencies.removeAll { dependency in
    guard firstPrograms != nil else { return false }
    guard case .sourceControl(_, let location, _) = dependency.kind else { return true }
    return !packages.contains { location.hasSuffix("/\($0).git") }
  }
}
