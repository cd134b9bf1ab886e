package import Essentials

extension AppMachine {
  package enum Event: Sendable {
    /// An app was installed, or updated.
    case installed(AppID, AppDescription)
    case removed(AppID)
    /// Something happened for an app.
    case arrived(AppID, AppEvent)
    /// The wishes of a manager of an app, which the system fulfils, have changed.
    case wants(AppID, AppReceiver, AppWants)
    /// The system has the wishes of a manager from before it was started again. Without effect on an app that has a
    /// process.
    case preserved(AppID, AppReceiver, AppWants)
    /// A process of an app that an earlier system has started runs on, or is frozen. The app is installed and has no
    /// process. Before its preserved state. It reports `resumed` once it has found this system, and what it has open
    /// before.
    case adopted(AppID, AppProcessID, AppAdoption)
    /// A process that was adopted has to find this system now, also if nothing has happened for it. An app with the mode
    /// `voip` that has no process is launched.
    case mustResume(AppID)
    /// The person was shown the alert of a notification before the system was started again, and has not opened it. It
    /// isn't shown again.
    case preservedAlert(AppID, AppEvent)
    case process(AppProcessID, ProcessEvent)
    case person(AppID, PersonEvent)
    case displaySwitchedOn
    case memoryPressure(MemoryPressure)
    /// The device was started again: all processes are gone, and the person has not unlocked it.
    case rebooted
    /// The person has unlocked the device.
    case unlocked
    case radio(RadioChange)
    /// The time that was given by `nextWake` has come.
    case wake
  }

  /// A report of a process, or of the system about it.
  package enum ProcessEvent: Hashable, Codable, Sendable {
    /// `didFinishLaunchingWithOptions` has returned.
    case launched
    /// It was started by an earlier system, and has reported to this one what it has open. `isInForeground` is what it
    /// was last told.
    case resumed(isInForeground: Bool)
    /// It has made this receiver, which can get events now.
    case opened(AppReceiver)
    /// It has ended this receiver. Events for it are discarded.
    case closed(AppReceiver)
    /// It has handled this number of deliveries, in their order.
    case acknowledged(Int)
    /// `beginBackgroundTask`.
    case beganBackgroundTask(AppTaskID)
    /// `endBackgroundTask`.
    case endedBackgroundTask(AppTaskID)
    /// It has called the completion handler of an event, or answered the request.
    case completed(AppEventID)
    /// It has ended. `hasOthers` if processes that it started are left.
    case exited(AppExit, hasOthers: Bool)
    /// None of its processes is left.
    case gone
    /// The system has ended it for its memory, also where it was not suspended.
    case reclaimed
  }

  /// The state in which a process of an earlier system was found.
  package struct AppAdoption: Hashable, Sendable {
    /// It is kept from running.
    package var isFrozen: Bool
    /// The app was in the foreground, as far as the earlier system has noted it.
    package var isInForeground: Bool

    package init(isFrozen: Bool, isInForeground: Bool) {
      self.isFrozen = isFrozen
      self.isInForeground = isInForeground
    }
  }

  package enum PersonEvent: Hashable, Sendable {
    /// By its icon.
    case opened
    /// By tapping the alert of an event.
    case openedAlert(AppEventID)
    case sentToBackground
    /// A call or a dialog of the system is in front of it.
    case interrupted
    case interruptionEnded
    case forceQuit
  }

  package enum MemoryPressure: Hashable, Sendable {
    case warning
    /// One app has to go. Another report follows if that isn't enough.
    case critical
    /// This app has to go, if it is suspended.
    case criticalFor(AppID)
  }

  package enum RadioChange: Hashable, Sendable {
    case on
    case off(RadioOff)
  }

  /// The ways in which Bluetooth goes off.
  package enum RadioOff: Hashable, Sendable {
    case settings
    case controlCenter
    /// Airplane mode leaves Bluetooth on, unless the person has once switched it off there.
    case airplaneMode(switchesBluetooth: Bool)
    /// The radio was removed, or the hub was started again.
    case unplugged
  }

  /// An action of the host.
  package enum Action: Hashable, Sendable {
    /// Start a process, then report its steps.
    case start(AppID, AppProcessID, AppLaunch)
    /// Give a process these, in this order.
    case deliver(AppProcessID, [AppDelivery])
    /// Stop a process and those that it started from running, at once.
    case freeze(AppProcessID)
    case thaw(AppProcessID)
    /// Call `applicationWillTerminate`, and request the process to end.
    case terminate(AppProcessID)
    /// End a process and those that it started, at once.
    case kill(AppProcessID)
    /// Call the expiration handler of a background task.
    case expire(AppProcessID, AppTaskID)
    /// A background task gets no time (`UIBackgroundTaskIdentifier.invalid`).
    case refuseBackgroundTask(AppProcessID, AppTaskID)
    /// Call the expiration handler of a `BGTask`.
    case expireTask(AppProcessID, AppEventID)
    /// Show the person an alert for an event, from which the app can be opened.
    case alert(AppID, AppEventID)
    /// Answer a request of a central with an error.
    case refuse(AppID, AppEventID)
    /// End the link with a peer, with `leGattExceededBackgroundNotificationLimit`.
    case disconnect(AppID, AppReceiver, AppPeer)
    /// Forget the wishes of a manager: its scan, links, services, subscriptions or socket.
    case release(AppID, AppReceiver)
    /// Report the states of an app's regions with `notifyEntryStateOnDisplay`.
    case reportRegionStates(AppID)
    case report(AppReport)
  }
}

extension AppMachine {
  /// Apple's state of an app; nil if it isn't installed.
  package func state(of id: AppID) -> AppLifeState? { apps[id]?.state }

  /// `UIApplication.backgroundTimeRemaining`; nil in the foreground, where Apple's number is the largest one, and
  /// for an app that doesn't run.
  package func backgroundTimeRemaining(of id: AppID, now: Instant) -> TimeSpan? {
    apps[id]?.backgroundTimeRemaining(limits, now: now)
  }

  /// Whether an app has a process of an earlier system that has not reported to this one.
  package func awaitsResumption(of id: AppID) -> Bool {
    apps[id]?.process.map { !$0.hasResumed } ?? false
  }

  /// The counts of an app's events.
  package func counts(of id: AppID) -> AppCounts? { apps[id]?.counts }

  /// Whether the system does something for an app that only its process can request again: it is not preserved over a
  /// restart of the system.
  package func needsProcess(_ id: AppID) -> Bool {
    apps[id]?.wants.contains { receiver, wants in
      switch receiver {
      case .peripheral, .unnamedCentral, .unnamedPeripheral: !wants.isEmpty
      case .central, .location, .notifications, .tasks, .heldSocket, .keepAlive: false
      }
    } ?? false
  }

  /// The wishes of a receiver that are known.
  package func wants(of id: AppID, _ receiver: AppReceiver) -> AppWants {
    apps[id]?.wants[receiver] ?? []
  }

  /// How many events wait for an app.
  package func waitingCount(of id: AppID) -> Int { apps[id]?.queue.count ?? 0 }

  /// Whether an event waits for an app.
  package func isWaiting(_ event: AppEventID, of id: AppID) -> Bool {
    // It is the last one, unless another has come since.
    apps[id]?.queue.entries.last { $0.id == event } != nil
  }

  /// Takes the events of an app that were discarded since the last one arrived, because another one needed their room.
  package mutating func takeDisplacedEvents(of id: AppID) -> [AppEvent] {
    guard let events = apps[id]?.displaced, !events.isEmpty else { return [] }
    apps[id]?.displaced = []
    return events
  }

  /// Whether an app has the background mode that events for a receiver need.
  package func hasMode(for receiver: AppReceiver, of id: AppID) -> Bool {
    guard let app = apps[id], let mode = AppEvent(.callback, for: receiver).mode else {
      return false
    }
    return app.description.modes.isSuperset(of: mode)
  }

  /// The number of the next event that arrives for an app that is installed.
  package var nextEvent: AppEventID { AppEventID(rawValue: numbers.event + 1) }

  /// The states of all apps, in the order of their names.
  package var status: [AppStatus] { apps.keys.sorted().map { apps[existing: $0].status } }
}
