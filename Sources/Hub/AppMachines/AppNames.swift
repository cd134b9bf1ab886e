/// An app, by its bundle identifier.
package struct AppID: Hashable, Comparable, Codable, Sendable {
  package let rawValue: String

  package init(_ rawValue: String) { self.rawValue = rawValue }

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A process of an app. No other process has the same number, before or after it.
package struct AppProcessID: Hashable, Comparable, Codable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// An event for an app. Later events have larger numbers.
package struct AppEventID: Hashable, Comparable, Codable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A background task of a process, which holds off its suspension.
package struct AppTaskID: Hashable, Comparable, Codable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A peer of an app, as its host numbers them.
package struct AppPeer: Hashable, Codable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The object of an app that events are for. A process opens it when it has made it; events wait until then.
package enum AppReceiver: Hashable, Codable, Sendable {
  /// A central manager with a restore identifier.
  case central(String)
  /// A peripheral manager with a restore identifier.
  case peripheral(String)
  /// A central manager without one. It ends with its process; no two processes use the same number.
  case unnamedCentral(UInt64)
  /// A peripheral manager without one.
  case unnamedPeripheral(UInt64)
  /// The delegate of the location managers.
  case location
  /// The app's delegate for notifications.
  case notifications
  /// The launch handlers of background tasks.
  case tasks
  /// A socket that the system holds while the app is suspended.
  case heldSocket(UInt64)
  /// The handler of the keep-alive timeout.
  case keepAlive

  /// Whether its state outlives a process and is given to the next one before its first event.
  package var isRestored: Bool {
    switch self {
    case .central, .peripheral, .heldSocket: true
    case .unnamedCentral, .unnamedPeripheral, .location, .notifications, .tasks, .keepAlive: false
    }
  }

  /// Whether it exists in its process only.
  package var endsWithProcess: Bool {
    switch self {
    case .unnamedCentral, .unnamedPeripheral: true
    case .central, .peripheral, .location, .notifications, .tasks, .heldSocket, .keepAlive: false
    }
  }

  /// Whether it belongs to Core Bluetooth.
  package var isBluetooth: Bool {
    switch self {
    case .central, .peripheral, .unnamedCentral, .unnamedPeripheral: true
    case .location, .notifications, .tasks, .heldSocket, .keepAlive: false
    }
  }

  /// The order in reports and launch options.
  var rank: String {
    switch self {
    case .central(let name): "0\(name)"
    case .peripheral(let name): "1\(name)"
    case .unnamedCentral(let number): "2\(number)"
    case .unnamedPeripheral(let number): "3\(number)"
    case .location: "4"
    case .notifications: "5"
    case .tasks: "6"
    case .heldSocket(let number): "7\(number)"
    case .keepAlive: "8"
    }
  }
}

/// Apple's `UIBackgroundModes`.
package struct BackgroundModes: OptionSet, Hashable, Codable, Sendable {
  package let rawValue: UInt16

  package init(rawValue: UInt16) { self.rawValue = rawValue }

  package static let bluetoothCentral = Self(rawValue: 1 << 0)
  package static let bluetoothPeripheral = Self(rawValue: 1 << 1)
  /// Monitoring of regions works without it.
  package static let location = Self(rawValue: 1 << 2)
  package static let voip = Self(rawValue: 1 << 3)
  package static let fetch = Self(rawValue: 1 << 4)
  package static let remoteNotification = Self(rawValue: 1 << 5)
  package static let processing = Self(rawValue: 1 << 6)
}

/// The wishes of an app that the system goes on fulfilling while it doesn't run.
package struct AppWants: OptionSet, Hashable, Codable, Sendable {
  package let rawValue: UInt16

  package init(rawValue: UInt16) { self.rawValue = rawValue }

  package static let scanning = Self(rawValue: 1 << 0)
  /// Connections, pending or established, and subscriptions.
  package static let links = Self(rawValue: 1 << 1)
  /// Published services.
  package static let services = Self(rawValue: 1 << 2)
  package static let advertising = Self(rawValue: 1 << 3)
  package static let regions = Self(rawValue: 1 << 4)
  /// Regions whose state is reported when the display is switched on (`notifyEntryStateOnDisplay`).
  package static let regionsOnDisplay = Self(rawValue: 1 << 5)
  /// An accessory that was set up with AccessorySetupKit.
  package static let accessory = Self(rawValue: 1 << 6)
  /// A held socket.
  package static let socket = Self(rawValue: 1 << 7)
}

/// The parts of an app's `Info.plist` that its life depends on.
package struct AppDescription: Hashable, Codable, Sendable {
  package var modes: BackgroundModes
  /// It has `UIApplicationSceneManifest`: its launch options are nil.
  package var hasScenes: Bool
  /// It has `UIApplicationExitsOnSuspend`: it is terminated where others are suspended.
  package var exitsOnSuspend: Bool

  package init(
    modes: BackgroundModes = [], hasScenes: Bool = false, exitsOnSuspend: Bool = false
  ) {
    self.modes = modes
    self.hasScenes = hasScenes
    self.exitsOnSuspend = exitsOnSuspend
  }
}

/// Apple's states of an app.
package enum AppLifeState: String, Hashable, Codable, Sendable {
  case notRunning, inactive, active, background, suspended
}
