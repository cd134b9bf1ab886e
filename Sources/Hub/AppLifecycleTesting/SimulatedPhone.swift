import AppHubMachines
import AppMachines
import BluetoothHost
public import Essentials
public import SimulatedRadio
public import Simulation
import Synchronization

/// A phone in virtual time, which launches, suspends, wakes and ends apps by Apple's rules, and works for them
/// with a simulated radio while they don't run.
///
/// ```swift
/// let phone = SimulatedPhone(seed: 42, apps: [.doorLock], rules: .iOS26)
/// let app = phone[.doorLock]
/// app.open()
/// app.sendToBackground()
/// phone.advance(by: .seconds(60))
/// app.terminate(.memoryPressure)
/// phone.advance(by: .seconds(3 * 86_400))
/// ```
///
/// The same seed and the same calls produce the same run. Methods may be called from any thread, and not by apps; with
/// ``Isolation/inProcess``, not from the main one, where apps run. They return when the apps have handled what follows
/// at this point of virtual time.
///
/// The phone's own times are virtual: callbacks, budgets and background tasks. `DispatchQueue.asyncAfter`, `Timer`,
/// `Task.sleep` and `Date()` of an app are the computer's.
public final class SimulatedPhone: Sendable {
  /// The release of iOS whose rules apply.
  public enum Rules: Sendable {
    /// Up to iOS 18: an app that the person has ended is launched for its regions.
    case iOS18
    /// iOS 26: it is launched for accessories that were set up with AccessorySetupKit.
    case iOS26
  }

  /// The ways in which Bluetooth is switched off.
  public enum BluetoothOff: Sendable {
    /// In Settings: apps that don't run are not launched until the phone is started again.
    case settings
    /// In Control Center.
    case controlCenter
    /// With airplane mode, which leaves Bluetooth on unless the person has once switched it off there.
    case airplaneMode(switchesBluetooth: Bool)
    /// The radio has failed.
    case radioFailure
  }

  /// Where the processes of apps run.
  public struct Isolation: Hashable, Sendable, CustomStringConvertible {
    /// The time of the computer in which a process has to answer; nil in the test's process.
    let limit: TimeSpan?

    /// In processes of their own, which is the default: the test's program starts itself again, before its tests. All
    /// variables of an app are new in each launch, a crash ends the app only, and a suspended app's code is stopped. An
    /// app has 30 s of the computer's time for each callback.
    public static let process = process(answeringWithin: .seconds(30))

    /// The same with another time for each callback.
    public static func process(answeringWithin limit: TimeSpan) -> Isolation {
      Isolation(limit: limit)
    }

    /// In the test's process, for debugging: one app at a time, on the main queue. Globals, `static let`, tasks, threads,
    /// timers, `UserDefaults` and files of an app outlive its end.
    public static let inProcess = Isolation(limit: nil)

    /// The name of the way.
    public var description: String { limit == nil ? "inProcess" : "process" }
  }

  private let core: PhoneCore
  private let log = PhoneLog()

  /// Creates a phone that is unlocked, with its radio switched on.
  ///
  /// - Parameters:
  ///   - seed: Of the radio and its world.
  ///   - apps: The apps that are installed.
  ///   - rules: The release of iOS whose rules apply.
  ///   - isolation: Where the processes of apps run.
  public init(
    seed: UInt64, apps: [SimulatedApp] = [], rules: Rules = .iOS26, isolation: Isolation = .process
  ) {
    core = PhoneCore(
      seed: seed, log: log, limits: AppLimits(), rules: rules == .iOS18 ? .iOS18 : .iOS26,
      isolation: isolation)
    for app in apps { install(app) }
  }

  deinit { end() }

  // MARK: Apps

  /// Installs an app, or another version of it.
  @discardableResult
  public func install(_ app: SimulatedApp) -> InstalledApp {
    core.perform { $0.install(app) }
    return InstalledApp(id: app.id, core: core, log: log)
  }

  /// An app that is installed. Any other one ends the program.
  public subscript(app: SimulatedApp) -> InstalledApp {
    precondition(core.app(app.id) != nil, "\(app.identifier) is not installed")
    return InstalledApp(id: app.id, core: core, log: log)
  }

  // MARK: The world

  /// The radio, with the world around the phone.
  public var radio: VirtualRadio { core.radio }
  /// The virtual time.
  public var now: Instant { core.radio.now }

  /// Where the phone is.
  public var position: Position {
    get { core.radio.withController(of: core.host) { $0.position } }
    set { core.radio.withController(of: core.host) { $0.position = newValue } }
  }

  /// Adds a device to the world around the phone.
  public func addDevice(
    named name: String, at position: Position = Position(x: 1, y: 0),
    describe: (SimulatedDevice) -> Void
  ) -> SimulatedDevice {
    core.radio.withWorld { $0.addDevice(named: name, at: position, describe: describe) }
  }

  // MARK: Time

  /// Lets time pass.
  public func advance(by span: TimeSpan) { core.radio.advance(by: span) }

  /// Lets time pass until a condition holds, which is checked after each event.
  ///
  /// - Parameters:
  ///   - what: The name of the condition, for the error.
  ///   - limit: The time that passes at most.
  ///   - condition: Returns whether the condition holds. Called on the thread of the caller.
  /// - Throws: ``SimulatedPhoneTimeout`` if it doesn't hold then.
  public func until(
    _ what: String, limit: TimeSpan, _ condition: () -> Bool
  ) throws(SimulatedPhoneTimeout) {
    if core.radio.advance(within: limit, until: condition) { return }
    throw SimulatedPhoneTimeout(
      what: what, limit: limit, reports: log.reports, output: log.lastOutput(Self.shownLineCount))
  }

  /// How many lines of each app an error shows.
  private static let shownLineCount = 20

  // MARK: The phone

  /// Starts the phone again: all processes are gone, and apps are launched when it has been unlocked.
  public func reboot() {
    core.perform { core in
      core.handle(.life(.rebooted))
      core.setPower(false)
    }
    advance(by: Self.rebootTime)
    core.perform { $0.setPower(true) }
  }

  /// How long the radio is off while the phone starts.
  private static let rebootTime = TimeSpan.seconds(10)

  /// The person unlocks the phone after a start. Opening an app does it, too.
  public func unlock() { core.perform { $0.handle(.life(.unlocked)) } }

  /// Switches Bluetooth off.
  public func switchBluetoothOff(_ way: BluetoothOff) {
    let off: AppMachine.RadioOff =
      switch way {
      case .settings: .settings
      case .controlCenter: .controlCenter
      case .airplaneMode(let switches): .airplaneMode(switchesBluetooth: switches)
      case .radioFailure: .unplugged
      }
    core.perform { core in
      core.handle(.life(.radio(.off(off))))
      if off != .airplaneMode(switchesBluetooth: false) { core.setPower(false) }
    }
  }

  /// Switches Bluetooth on.
  public func switchBluetoothOn() {
    core.perform { core in
      core.setPower(true)
      core.handle(.life(.radio(.on)))
    }
  }

  /// Warns all apps that run that there is little memory.
  public func warnOfMemory() { core.perform { $0.handle(.life(.memoryPressure(.warning))) } }

  /// Ends the app that was suspended for the longest time, for its memory.
  public func reclaimMemory() { core.perform { $0.handle(.life(.memoryPressure(.critical))) } }

  /// Switches the display on.
  public func switchDisplayOn() { core.perform { $0.handle(.life(.displaySwitchedOn)) } }

  /// What the phone would log: apps that used too much time, crashed, or lost events.
  public var reports: [String] { log.reports }
  /// How many changes of links and pairings were dropped because too many waited for an app that doesn't run: 512 for
  /// each manager are kept.
  public var droppedEventCount: Int { core.read { machine, _ in machine.droppedCount } }
  /// Apps that could not be tested: their processes didn't answer, or were not started.
  public var failures: [SimulatedAppFailure] { log.failures }
}

/// A condition did not hold in its time.
public struct SimulatedPhoneTimeout: Error, CustomStringConvertible {
  /// The name of the condition.
  public let what: String
  /// The time that has passed.
  public let limit: TimeSpan
  /// What the phone logged.
  public let reports: [String]
  /// The last lines that each app has written, with its identifier.
  public let output: [String]
  /// A sentence with all of it.
  public var description: String {
    "\(what): not within \(limit.seconds) s."
      + (reports.isEmpty ? "" : " The phone reported: \(reports)")
      + (output.isEmpty ? "" : " The apps wrote: \(output)")
  }
}

extension SimulatedPhone {
  /// Runs a test with a phone. With ``Isolation/inProcess``, it runs after those of other tests that have begun, because
  /// the apps share this process's globals.
  ///
  /// - Parameters:
  ///   - seed: Of the radio and its world.
  ///   - apps: The apps that are installed.
  ///   - rules: The release of iOS whose rules apply.
  ///   - isolation: Where the processes of apps run.
  ///   - body: Uses the phone. When it returns, the processes of the apps end.
  /// - Throws: The error of `body`, or else the first of the phone's ``failures``.
  public static func run<Result: Sendable>(
    seed: UInt64, apps: [SimulatedApp], rules: Rules = .iOS26, isolation: Isolation = .process,
    _ body: sending (SimulatedPhone) async throws -> Result
  ) async throws -> Result {
    let takesTurn = isolation == .inProcess
    if takesTurn { await turn.take() }
    defer { if takesTurn { turn.leave() } }
    let phone = SimulatedPhone(seed: seed, apps: apps, rules: rules, isolation: isolation)
    defer { phone.end() }
    let result = try await body(phone)
    if let failure = phone.failures.first { throw failure }
    return result
  }

  private static let turn = Turn()

  /// Ends the processes of all apps. The phone is of no use after it.
  func end() {
    core.perform { $0.shutDown() }
    core.home.remove()
  }
}

/// Lets tasks have something one after the other, in the order of their requests.
private final class Turn: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  func take() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.isTaken else {
          state.isTaken = true
          return true
        }
        state.waiting.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard !state.waiting.isEmpty else {
        state.isTaken = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.resume()
  }
}

extension TimeSpan {
  /// A span in minutes.
  public static func minutes(_ count: Int64) -> TimeSpan { .seconds(60) * count }
  /// A span in hours.
  public static func hours(_ count: Int64) -> TimeSpan { .seconds(3_600) * count }
  /// A span in days.
  public static func days(_ count: Int64) -> TimeSpan { .seconds(86_400) * count }
}
