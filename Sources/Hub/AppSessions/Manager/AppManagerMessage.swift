package import AppMachines
package import InfoPlists

/// The first message of a process that connects to the manager of apps.
package enum AppManagerGreeting: Hashable, Codable, Sendable {
  /// A process that the manager has started for an app. It is known by the credentials of its socket.
  case app(version: Int)
  /// A command of the person.
  case command(version: Int, AppManagerCommand)

  /// The version of these messages. Another one is refused.
  package static let version = 1
}

/// A message of a process of an app to the manager.
package enum AppProcessMessage: Hashable, Codable, Sendable {
  case report(AppMachine.ProcessEvent)
  /// The process waits for the answer with this number.
  case request(UInt64, AppRequest)
  /// `beginBackgroundTask`: answered with `done`, behind a refusal if there is one.
  case beginBackgroundTask(UInt64, AppTaskID)
  case timeRemaining(UInt64)
}

/// A message of the manager to a process of an app.
package enum AppManagerMessage: Hashable, Codable, Sendable {
  /// The first one.
  case welcome(InfoPlist)
  /// Instead of the first one: a sentence.
  case refused(String)
  case instruct(AppInstruction)
  case answer(UInt64, AppManagerAnswer)
}

package enum AppManagerAnswer: Hashable, Codable, Sendable {
  case done
  case reply(AppReply)
  /// Nanoseconds; nil in the foreground.
  case timeRemaining(Int64?)
}

/// A command of the person.
package enum AppManagerCommand: Hashable, Codable, Sendable {
  /// The folder's absolute path.
  case install(folder: String)
  case remove(String)
  /// The apps, for `list` and `status`.
  case status
  /// With `attaches`, the app's output follows until its process ends.
  case open(String, attaches: Bool)
  case background(String)
  case forceQuit(String)
  /// Ends a suspended app, as the system does for memory.
  case terminate(String)
  case displayOn
  /// A remote notification for an app.
  case push(AppPush)
  /// Opens an app from an alert with this number, or from the last one.
  case openAlert(String, UInt64?)
  /// The last lines of an app's output.
  case log(String)
}

/// A message of the manager for a command. One that isn't `output` is the last one, but for `opened`.
package enum AppCommandReply: Hashable, Codable, Sendable {
  case done
  /// A sentence without a full stop.
  case failed(AppCommandFailure, String)
  /// The app was installed, or another version of it.
  case installed(String, isNew: Bool)
  case status(AppManagerStatus)
  case opened
  case output(String)
  /// The process of the app has ended.
  case ended(AppExit)
  case log([String])
  /// A remote notification was taken, for the app with this identifier.
  case pushed(String, AppPushResult)
}

/// The kind of reason why a command failed.
package enum AppCommandFailure: String, Hashable, Codable, Sendable {
  /// No such app is installed.
  case notInstalled
  /// The folder or its Info.plist can't be read.
  case unreadable
  /// The Info.plist is malformed, or lacks a key.
  case invalid
  /// Another folder has the identifier.
  case identifierTaken
  /// The app is not in a state for it.
  case wrongState
  /// The list of apps can't be written.
  case notSaved
  /// A bound is reached.
  case limit
}

/// The state of the manager and its apps.
package struct AppManagerStatus: Hashable, Codable, Sendable {
  package struct App: Hashable, Codable, Sendable {
    package var identifier: String
    package var folder: String
    package var state: AppLifeState
    package var processID: Int32?
    /// Seconds; nil in the foreground, and without a process.
    package var timeRemaining: Double?
    /// Events that wait.
    package var waitingCount: Int
    package var isForceQuit: Bool
    /// Seconds until it may be woken or launched; nil if it may be at once.
    package var pause: Double?
    /// Why it failed the last time; nil if that doesn't count any more, and from an earlier manager.
    package var failure: String?
    package var counts: AppCounts
    /// Seconds of processor time of all its processes.
    package var processorTime: Double
    package var pendingConnectionCount: Int
    package var connectionCount: Int
    package var scanCount: Int
    /// Nil from a manager that holds no sockets.
    package var heldSockets: [HeldSocketStatus]?
    /// Regions and conditions that are monitored.
    package var regionCount = 0
    /// Background tasks that are pending.
    package var tasks: [AppTaskRequest] = []
    package var pendingNotificationCount = 0
    /// Remote notifications that wait, since the app was woken too often.
    package var waitingPushCount = 0
    /// The number on its icon.
    package var badge = 0
    /// In hexadecimal digits; nil for an app that isn't registered.
    package var deviceToken: String?
    /// Those that the person has not opened, oldest first.
    package var alerts: [Alert] = []
    /// The last ones, oldest first.
    package var wakes: [Wake] = []

    package init(
      identifier: String, folder: String, state: AppLifeState, waitingCount: Int = 0,
      isForceQuit: Bool = false, counts: AppCounts = AppCounts(), processorTime: Double = 0,
      pendingConnectionCount: Int = 0, connectionCount: Int = 0, scanCount: Int = 0
    ) {
      self.identifier = identifier
      self.folder = folder
      self.state = state
      self.waitingCount = waitingCount
      self.isForceQuit = isForceQuit
      self.counts = counts
      self.processorTime = processorTime
      self.pendingConnectionCount = pendingConnectionCount
      self.connectionCount = connectionCount
      self.scanCount = scanCount
    }
  }

  /// A time in which an app ran in the background, woken or launched for something.
  package struct Wake: Hashable, Codable, Sendable {
    /// When it began, in seconds since 1970.
    package var date: Double
    package var reasons: [AppWakeReason]
    package var isLaunch: Bool
    /// How long it took.
    package var seconds = 0.0
    /// Seconds of processor time of the app's first process.
    package var processorTime = 0.0

    package init(date: Double, reasons: [AppWakeReason], isLaunch: Bool) {
      self.date = date
      self.reasons = reasons
      self.isLaunch = isLaunch
    }
  }

  /// An alert of a notification.
  package struct Alert: Hashable, Codable, Sendable {
    /// By which it is opened.
    package var number: UInt64
    package var text: AppAlertText

    package init(number: UInt64, text: AppAlertText) {
      self.number = number
      self.text = text
    }
  }

  package var apps: [App]
  /// How suspended apps are kept from running: `cgroup` or `signals`.
  package var freezer: String
  /// How the manager learns that memory is short: `events`, `polling` or `none`.
  package var memory: String
  /// Events without a callback of their own that were dropped at the bound.
  package var droppedEventCount: Int
  /// The last reports of the manager, oldest first, each a sentence.
  package var reports: [String]
  /// Whether all that the next manager takes over is on the disk. Nil from an earlier manager.
  package var isWritten: Bool?

  package init(
    apps: [App], freezer: String, memory: String = "none", droppedEventCount: Int = 0,
    reports: [String] = []
  ) {
    self.apps = apps
    self.freezer = freezer
    self.memory = memory
    self.droppedEventCount = droppedEventCount
    self.reports = reports
  }
}

// A manager that runs since before an upgrade sends none of the later values.

extension AppManagerStatus {
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    apps = try values.decode([App].self, forKey: .apps)
    freezer = try values.decode(String.self, forKey: .freezer)
    memory = try values.decodeIfPresent(String.self, forKey: .memory) ?? "none"
    droppedEventCount = try values.decode(Int.self, forKey: .droppedEventCount)
    isWritten = try values.decodeIfPresent(Bool.self, forKey: .isWritten)
    reports = try values.decode([String].self, forKey: .reports)
  }
}

extension AppManagerStatus.App {
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    identifier = try values.decode(String.self, forKey: .identifier)
    folder = try values.decode(String.self, forKey: .folder)
    state = try values.decode(AppLifeState.self, forKey: .state)
    processID = try values.decodeIfPresent(Int32.self, forKey: .processID)
    timeRemaining = try values.decodeIfPresent(Double.self, forKey: .timeRemaining)
    waitingCount = try values.decode(Int.self, forKey: .waitingCount)
    isForceQuit = try values.decode(Bool.self, forKey: .isForceQuit)
    pause = try values.decodeIfPresent(Double.self, forKey: .pause)
    failure = try values.decodeIfPresent(String.self, forKey: .failure)
    counts = try values.decode(AppCounts.self, forKey: .counts)
    processorTime = try values.decode(Double.self, forKey: .processorTime)
    pendingConnectionCount = try values.decode(Int.self, forKey: .pendingConnectionCount)
    connectionCount = try values.decode(Int.self, forKey: .connectionCount)
    scanCount = try values.decode(Int.self, forKey: .scanCount)
    heldSockets = try values.decodeIfPresent([HeldSocketStatus].self, forKey: .heldSockets)
    regionCount = try values.decodeIfPresent(Int.self, forKey: .regionCount) ?? 0
    tasks = try values.decodeIfPresent([AppTaskRequest].self, forKey: .tasks) ?? []
    pendingNotificationCount =
      try values.decodeIfPresent(Int.self, forKey: .pendingNotificationCount) ?? 0
    waitingPushCount = try values.decodeIfPresent(Int.self, forKey: .waitingPushCount) ?? 0
    badge = try values.decodeIfPresent(Int.self, forKey: .badge) ?? 0
    deviceToken = try values.decodeIfPresent(String.self, forKey: .deviceToken)
    alerts = try values.decodeIfPresent([AppManagerStatus.Alert].self, forKey: .alerts) ?? []
    wakes = try values.decodeIfPresent([AppManagerStatus.Wake].self, forKey: .wakes) ?? []
  }
}
