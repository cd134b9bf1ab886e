import AppMachines
public import Essentials
import Synchronization

/// What happened to the apps of a phone.
final class PhoneLog: Sendable {
  struct Entry: Sendable {
    var launches: [SimulatedLaunch] = []
    var callbacks: [SimulatedCallback] = []
    var alerts: [SimulatedAlert] = []
    var exits: [SimulatedExit] = []
    var output: [SimulatedOutput] = []
    /// How many of the first lines were dropped.
    var droppedOutputCount = 0
  }

  /// The maximum number of lines of an app's output that are kept.
  static let outputCountMax = 10_000

  private let state = Mutex(State())

  private struct State: Sendable {
    var apps: [AppID: Entry] = [:]
    var reports: [String] = []
    var failures: [SimulatedAppFailure] = []
  }

  func entry(of app: AppID) -> Entry { state.withLock { $0.apps[app] ?? Entry() } }
  var reports: [String] { state.withLock(\.reports) }
  /// The last lines that each app has written.
  func lastOutput(_ count: Int) -> [String] {
    state.withLock { state in
      state.apps.keys.sorted().flatMap { app in
        (state.apps[app]?.output ?? []).suffix(count).map { "\(app.rawValue): \($0.line)" }
      }
    }
  }
  var failures: [SimulatedAppFailure] { state.withLock(\.failures) }

  func launched(_ app: AppID, _ launch: AppLaunch, at time: Instant) {
    state.withLock { $0.apps[app, default: Entry()].launches.append(SimulatedLaunch(launch, time)) }
  }

  func told(_ app: AppID, _ name: String, at time: Instant) {
    state.withLock { state in
      let number = state.apps[app]?.launches.count ?? 0
      state.apps[app, default: Entry()].callbacks.append(
        SimulatedCallback(name: name, time: time, launchNumber: number))
    }
  }

  func wrote(_ app: AppID, _ line: String, at time: Instant) {
    state.withLock { state in
      var entry = state.apps[app] ?? Entry()
      entry.output.append(
        SimulatedOutput(
          line: line, time: time, launchNumber: entry.launches.count,
          callbackCount: entry.callbacks.count))
      if entry.output.count > Self.outputCountMax {
        entry.output.removeFirst()
        entry.droppedOutputCount += 1
      }
      state.apps[app] = entry
    }
  }

  func exited(_ app: AppID, _ exit: AppExit) {
    state.withLock { state in
      let number = state.apps[app]?.launches.count ?? 0
      state.apps[app, default: Entry()].exits.append(SimulatedExit(exit, launchNumber: number))
    }
  }

  func failed(_ failure: SimulatedAppFailure) {
    state.withLock { state in
      state.failures.append(failure)
      state.reports.append(failure.description)
    }
  }

  func alert(_ app: AppID, _ event: AppEventID, at time: Instant) {
    state.withLock {
      $0.apps[app, default: Entry()].alerts.append(SimulatedAlert(event: event, time: time))
    }
  }

  func report(_ report: AppReport, at time: Instant) {
    state.withLock { $0.reports.append("\(Self.text(time)): \(report.sentence)") }
  }

  func failed(_ app: AppID, _ sentence: String, at time: Instant) {
    state.withLock {
      $0.reports.append("\(Self.text(time)): \(app.rawValue): \(sentence)")
    }
  }

  private static func text(_ time: Instant) -> String { "\((time - .zero).seconds) s" }
}

extension AppReport {
  /// The report for people.
  fileprivate var sentence: String {
    switch self {
    case .unacknowledged(let app, _, let count):
      "\(app.rawValue) ended with \(count) events that it had not handled."
    case .discarded(let app, let reason):
      "An event for \(app.rawValue) was discarded: \(reason.rawValue)."
    case .beyondLimit(let app, _, _):
      "Too many values waited for \(app.rawValue): a link was ended."
    case .throttled(let app, let span):
      "\(app.rawValue) used too much time: it is not woken for \(span.seconds) s."
    case .ended(let app, _, let end): "\(app.rawValue) was ended: \(end.text)."
    case .crashPause(let app, let span, let count):
      "\(app.rawValue) crashed \(count) times in a row: it is not launched for \(span.seconds) s."
    case .unclaimed(let app, _):
      "\(app.rawValue) was launched for a manager that it didn't make."
    case .misuse(let app, _, let misuse): "\(app.rawValue) broke a rule: \(misuse.rawValue)."
    case .notPublished:
      "Services or advertising of the app ended at the radio's host, and are published again by the app only."
    case .publishingDelayed:
      "A service of the app could not be published again yet, and is tried again."
    case .notAdvertised(_, _, let triesAgain):
      "The app's advertising was refused, and is \(triesAgain ? "tried again" : "given up")."
    case .noSuspendedApp: "Memory is needed, and the app is not suspended."
    }
  }
}

extension AppEnd {
  fileprivate var text: String {
    switch self {
    case .memoryPressure: "memory is needed"
    case .overstayed(let budget): "its time is over (\(budget.rawValue))"
    case .crashed(.signal(let number)): "it crashed with signal \(number)"
    case .crashed(.status(let status)): "it ended itself with status \(status)"
    case .crashed(.notStarted): "it could not be started"
    case .forceQuit: "the person ended it"
    case .exitedOnSuspend: "it exits where others are suspended"
    case .rebooted: "the phone was started again"
    case .removed: "it was removed"
    }
  }
}

/// A launch of an app.
public struct SimulatedLaunch: Hashable, Sendable {
  /// When the process was started.
  public let time: Instant
  /// Whether the person opened the app.
  public let isInForeground: Bool
  /// `UIApplication.LaunchOptionsKey.bluetoothCentrals`: the restore identifiers of central managers for which
  /// something waits. Nil without such a manager, and for an app with scenes.
  public let bluetoothCentrals: [String]?
  /// `UIApplication.LaunchOptionsKey.bluetoothPeripherals`.
  public let bluetoothPeripherals: [String]?
  /// Whether there is `UIApplication.LaunchOptionsKey.location`.
  public let isForLocation: Bool
  let launch: AppLaunch

  init(_ launch: AppLaunch, _ time: Instant) {
    self.time = time
    self.launch = launch
    isInForeground = launch.isInForeground
    let centrals = launch.options?.centrals ?? []
    let peripherals = launch.options?.peripherals ?? []
    bluetoothCentrals = centrals.isEmpty ? nil : centrals
    bluetoothPeripherals = peripherals.isEmpty ? nil : peripherals
    isForLocation = launch.options?.isForLocation ?? false
  }
}

/// A callback that an app got.
public struct SimulatedCallback: Hashable, Sendable, CustomStringConvertible {
  /// The name of the method without its object, such as `didConnect` or `didUpdateState(poweredOn)`.
  public let name: String
  /// When it was called.
  public let time: Instant
  /// The launch of the process that got it, from 1.
  public let launchNumber: Int
  /// The name.
  public var description: String { name }
}

/// An alert that the phone shows for an event of an app, from which the person can open it.
public struct SimulatedAlert: Hashable, Sendable {
  let event: AppEventID
  /// When it was shown.
  public let time: Instant
}
