import AppHubMachines
public import AppLifecycle
import AppMachines
import AppSessions
public import Essentials

/// An app on a simulated phone.
public struct InstalledApp: Sendable {
  /// Apple's states of an app.
  public enum State: String, Sendable, CaseIterable {
    /// It has no process.
    case notRunning
    /// In the foreground, behind something of the system.
    case inactive
    /// In the foreground.
    case active
    /// In the background, and its code runs.
    case background
    /// It has a process whose code doesn't run.
    case suspended
  }

  /// Why a process is ended.
  public enum Termination: Sendable {
    /// The system needs the memory of the app, which has to be suspended.
    case memoryPressure
    /// It has crashed.
    case crash
  }

  let id: AppID
  let core: PhoneCore
  let log: PhoneLog

  // MARK: The person

  /// The person opens the app.
  public func open() { person(.opened) }
  /// The person leaves the app.
  public func sendToBackground() { person(.sentToBackground) }
  /// A call or a dialog of the system is in front of the app.
  public func interrupt() { person(.interrupted) }
  /// The call or dialog is over.
  public func endInterruption() { person(.interruptionEnded) }
  /// The person swipes the app up in the app switcher.
  public func forceQuit() { person(.forceQuit) }
  /// The person taps an alert.
  public func open(_ alert: SimulatedAlert) { person(.openedAlert(alert.event)) }
  /// The person deletes the app, with its files and defaults.
  public func remove() {
    core.perform { core in
      core.wishes[id]?.cancelAll()
      core.handle(.life(.removed(id)))
    }
    core.home.remove(id)
  }

  private func person(_ deed: AppMachine.PersonEvent) {
    core.perform { $0.handle(.life(.person(id, deed))) }
  }

  // MARK: The system

  /// Ends the app's process. For memory, an app that isn't suspended goes on.
  public func terminate(_ reason: Termination) {
    core.perform { core in
      switch reason {
      case .memoryPressure: core.handle(.life(.memoryPressure(.criticalFor(id))))
      case .crash: core.crash(id)
      }
    }
  }

  /// Launches a task that the app has submitted to `BGTaskScheduler`, whenever it is to begin at the earliest.
  ///
  /// - Returns: Whether the app has submitted it.
  @discardableResult
  public func runTask(_ identifier: String) -> Bool {
    core.perform { $0.runTask(identifier, of: id) }
  }

  /// Has the app fetch in the background.
  public func performFetch() {
    core.perform { $0.handle(.life(.arrived(id, AppTaskRequest.fetchEvent))) }
  }

  /// A remote notification arrives.
  ///
  /// - Parameter payload: The JSON text, at most 4,096 bytes, with the dictionary `aps`. Another one ends the program.
  public func receiveRemoteNotification(_ payload: String) {
    guard let notification = AppNotification(remote: payload, identifier: "") else {
      preconditionFailure("The payload of a remote notification is invalid: \(payload)")
    }
    core.perform { $0.show(notification, of: id) }
  }

  /// Whether the person lets the app show notifications when it requests that; true unless it is set.
  public func setNotificationsAllowed(_ areAllowed: Bool) {
    core.perform { $0.wishes[id, default: AppWishes()].mayNotify = areAllowed }
  }

  /// The number on the app's icon.
  public var badge: Int { core.locked { $0.wishes[id]?.badge ?? 0 } }

  // MARK: Its state, and its callbacks

  /// Its state.
  public var state: State {
    let state = core.read { machine, _ in machine.life.state(of: id) }
    return state.flatMap { State(rawValue: $0.rawValue) } ?? .notRunning
  }

  /// Its launches, in order.
  public var launches: [SimulatedLaunch] { log.entry(of: id).launches }
  /// The options of its last launch, with Apple's keys; nil where there were none.
  public var launchOptions: [UIApplication.LaunchOptionsKey: Any]? {
    launches.last.flatMap { UIApplication.LaunchOptionsKey.options($0.launch) }
  }

  /// The callbacks that it got, in order: transitions of the app's life, Core Bluetooth, regions, notifications, fetches,
  /// `launchHandler(IDENTIFIER)` of a task, and `keepAliveHandler`. Each is noted when its event is given to the process.
  public var callbacks: [SimulatedCallback] { log.entry(of: id).callbacks }
  /// The names of the callbacks that its present or last process got.
  public var callbackNames: [String] {
    let entry = log.entry(of: id)
    return entry.callbacks.filter { $0.launchNumber == entry.launches.count }.map(\.name)
  }
  /// The alerts that the phone has shown for it, in order.
  public var alerts: [SimulatedAlert] { log.entry(of: id).alerts }

  /// The processes that ended by themselves, in order: those that crashed or called `exit`. With
  /// ``SimulatedPhone/Isolation/process`` only.
  public var exits: [SimulatedExit] { log.entry(of: id).exits }
  /// The last 10,000 lines that it has written to its standard output and error, in order. With
  /// ``SimulatedPhone/Isolation/process`` only.
  public var output: [SimulatedOutput] { log.entry(of: id).output }
  /// How many lines before those of ``output`` were dropped.
  public var droppedOutputCount: Int { log.entry(of: id).droppedOutputCount }

  /// How long it ran in the background, all together.
  public var backgroundTime: TimeSpan {
    .nanoseconds(counts?.backgroundNanoseconds ?? 0)
  }
  /// How many events wait for it.
  public var waitingEventCount: Int {
    core.read { machine, _ in machine.life.waitingCount(of: id) }
  }
  /// How many events were handed to a process that ended without handling them. They are not repeated.
  public var unhandledEventCount: Int { counts?.unacknowledgedCount ?? 0 }
  /// How many events no process got.
  public var discardedEventCount: Int { counts?.discardedCount ?? 0 }

  private var counts: AppCounts? {
    core.read { machine, _ in machine.life.status.first { $0.id == id }?.counts }
  }

  /// How many connections the phone waits for, on behalf of its managers.
  public var pendingConnectionCount: Int {
    core.read { machine, _ in machine.radioUse(of: id).pendingConnections.count }
  }
  /// How many connections its managers have.
  public var connectionCount: Int {
    core.read { machine, _ in machine.radioUse(of: id).connections.count }
  }
  /// How many beacon regions and conditions the phone monitors for it.
  public var monitoredRegionCount: Int {
    core.read { machine, _ in machine.regionCount(of: id) }
  }
  /// Whether the phone scans on behalf of its managers.
  public var isScanning: Bool { core.read { machine, _ in machine.radioUse(of: id).scanCount > 0 } }
  /// Whether the phone advertises on behalf of its managers.
  public var isAdvertising: Bool {
    core.read { machine, _ in machine.radioUse(of: id).advertisementCount > 0 }
  }
}
