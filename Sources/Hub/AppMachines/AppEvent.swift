/// Something that happened for an app.
package struct AppEvent: Hashable, Codable, Sendable {
  package enum Kind: Hashable, Codable, Sendable {
    /// A callback of a manager that isn't one of the others: its state, discovered services, a signal strength.
    case callback
    case connected(AppPeer)
    /// A link has ended. `isBeyondLimit` if the machine ended it since too many values waited, Apple's
    /// `leGattExceededBackgroundNotificationLimit`.
    case disconnected(AppPeer, isBeyondLimit: Bool)
    /// A notified value of a peer.
    case value(AppPeer)
    case discovered(AppPeer)
    /// A read or write of a central, which waits for an answer: the process reports `completed`.
    case request(AppPeer)
    case region
    /// A remote notification. A silent one has `content-available`; the process reports `completed`.
    case notification(isSilent: Bool, hasAlert: Bool)
    /// A background fetch or a `BGAppRefreshTask` is due; the process reports `completed`.
    case refresh
    /// A `BGProcessingTask` is due; the process reports `completed`.
    case processing
    /// Data of a held socket, or a connection to it.
    case socket
    /// The keep-alive timeout has passed.
    case keepAlive

    /// The peer whose link carried it.
    package var peer: AppPeer? {
      switch self {
      case .connected(let peer), .disconnected(let peer, _), .value(let peer),
        .discovered(let peer), .request(let peer):
        peer
      case .callback, .region, .notification, .refresh, .processing, .socket, .keepAlive: nil
      }
    }

    /// Whether the newest one of a peer doesn't need the earlier ones.
    var isBulk: Bool {
      switch self {
      case .value, .discovered: true
      case .callback, .connected, .disconnected, .request, .region, .notification, .refresh,
        .processing, .socket, .keepAlive:
        false
      }
    }

    /// Whether it is a request that is refused where it can't be answered.
    var isRequest: Bool { if case .request = self { true } else { false } }
  }

  package var receiver: AppReceiver
  package var kind: Kind
  /// Of waiting events with the same key, the newest one is kept while the app isn't in the foreground: discoveries
  /// of one peripheral, states of one region, notifications with one collapse identifier.
  package var key: UInt64?
  /// The app connected with an option that alerts the person to this event while it is suspended.
  package var showsAlert: Bool
  /// It is of an accessory that was set up with AccessorySetupKit.
  package var isOfAccessory: Bool
  /// The person tapped the alert of this notification. The machine sets it.
  package var isTapped = false
  /// The contents, which only the process understands.
  package var payload: [UInt8]

  package init(
    _ kind: Kind, for receiver: AppReceiver, key: UInt64? = nil, showsAlert: Bool = false,
    isOfAccessory: Bool = false, payload: [UInt8] = []
  ) {
    self.kind = kind
    self.receiver = receiver
    self.key = key
    self.showsAlert = showsAlert
    self.isOfAccessory = isOfAccessory
    self.payload = payload
  }

  /// The mode without which a suspended app isn't woken for it, and one that doesn't run isn't launched. Empty for
  /// regions; nil if it runs no code in the background at all.
  var mode: BackgroundModes? {
    switch receiver {
    case .central, .unnamedCentral: .bluetoothCentral
    case .peripheral, .unnamedPeripheral: .bluetoothPeripheral
    case .location: []
    case .heldSocket, .keepAlive: .voip
    case .notifications: if case .notification(true, _) = kind { .remoteNotification } else { nil }
    case .tasks: kind == .processing ? .processing : .fetch
    }
  }

  /// Whether the process reports `completed` when it is done with it.
  var needsCompletion: Bool {
    switch kind {
    case .request, .refresh, .processing: true
    case .notification(let isSilent, _): isSilent
    case .callback, .connected, .disconnected, .value, .discovered, .region, .socket, .keepAlive:
      false
    }
  }
}

/// The reason for which an app runs in the background.
package enum AppWakeReason: String, Hashable, Comparable, Codable, Sendable {
  case bluetoothCentral, bluetoothPeripheral, region, notification, refresh, processing, socket
  case keepAlive
  /// An app with the mode `voip` is started at boot and after a crash.
  case voip

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

extension AppEvent {
  var wakeReason: AppWakeReason {
    switch receiver {
    case .central, .unnamedCentral: .bluetoothCentral
    case .peripheral, .unnamedPeripheral: .bluetoothPeripheral
    case .location: .region
    case .notifications: .notification
    case .tasks: kind == .processing ? .processing : .refresh
    case .heldSocket: .socket
    case .keepAlive: .keepAlive
    }
  }
}

/// Apple's launch options, as far as they are about the background.
package struct AppLaunchOptions: Hashable, Codable, Sendable {
  /// `UIApplicationLaunchOptionsBluetoothCentralsKey`: managers for which something waits.
  package var centrals: [String] = []
  /// `UIApplicationLaunchOptionsBluetoothPeripheralsKey`.
  package var peripherals: [String] = []
  /// `UIApplicationLaunchOptionsLocationKey`.
  package var isForLocation = false
  /// `UIApplicationLaunchOptionsRemoteNotificationKey`: the notification that the person tapped.
  package var notification: AppEventID?

  package init() {}
}

/// How a process is started.
package struct AppLaunch: Hashable, Codable, Sendable {
  package var isInForeground: Bool
  /// Nil without such a reason, and for an app with scenes.
  package var options: AppLaunchOptions?
  /// The reasons of a launch into the background, each one once.
  package var reasons: [AppWakeReason]
  /// The payload of the notification that the person tapped; empty if there is no event for it.
  package var notification: [UInt8]

  package init(
    isInForeground: Bool, options: AppLaunchOptions? = nil, reasons: [AppWakeReason] = [],
    notification: [UInt8] = []
  ) {
    self.isInForeground = isInForeground
    self.options = options
    self.reasons = reasons
    self.notification = notification
  }
}

/// Something that a process handles, in the order of delivery, and then acknowledges.
package enum AppDelivery: Hashable, Codable, Sendable {
  case transition(AppTransition)
  /// `willRestoreState` of a manager, before all its events; or a held socket.
  case restore(AppReceiver)
  case event(AppEventID, AppEvent)
}

/// A callback of the app's delegate.
package enum AppTransition: String, Hashable, Codable, Sendable {
  case didBecomeActive, willResignActive, didEnterBackground, willEnterForeground
  case didReceiveMemoryWarning
}

/// Why a process ends.
package enum AppEnd: Hashable, Sendable {
  /// It was suspended, and the system needed its memory.
  case memoryPressure
  /// It used more time than it has.
  case overstayed(Budget)
  case crashed(AppExit)
  case forceQuit
  /// `UIApplicationExitsOnSuspend`.
  case exitedOnSuspend
  case rebooted
  /// The app was removed.
  case removed

  /// The budgets whose end is the end of the process.
  package enum Budget: String, Hashable, Sendable {
    case launch, enteringBackground, backgroundTask, completion, event
  }

  /// Whether the next launch has to wait, since the next process may end the same way.
  var isFault: Bool {
    switch self {
    case .crashed, .overstayed: true
    case .memoryPressure, .forceQuit, .exitedOnSuspend, .rebooted, .removed: false
    }
  }
}

/// How a process ended by itself.
package enum AppExit: Hashable, Codable, Sendable {
  case status(Int32)
  case signal(Int32)
  /// It could not be started.
  case notStarted
}
