import AppHubMachines
import AppMachines
import AppSessions
import BluetoothInterface
import BluetoothSessions
import Dispatch
import Essentials
import HubClientMachines
import HubWire
import SimulatedRadio
import Synchronization

/// A process of an app, which lives in this one.
final class AppProcess: AppSystem, @unchecked Sendable {
  // Sendable because `client`, `slots` and `given` are used under the radio's lock only, and everything else is
  // constant or has a lock of its own.
  let id: AppProcessID
  let app: SimulatedApp
  private let provider: AppSessionProvider
  private let core: PhoneCore
  /// Nil when the process has ended. It refers to this object.
  private let sessionStorage = Mutex<AppSession?>(nil)

  /// Its connection with the phone's hub.
  var client: HubClientMachine
  var slots: [HubSessionID: AppSessionSlot] = [:]
  /// What it was given and has not handled, in order.
  var given: [AppDeliveryNumber] = []

  /// The process whose globals are those of this program.
  private static let running = Mutex<AppProcess?>(nil)

  init(id: AppProcessID, app: SimulatedApp, provider: AppSessionProvider, core: PhoneCore) {
    self.id = id
    self.app = app
    self.provider = provider
    self.core = core
    client = HubClientMachine(app: app.id.rawValue)
    sessionStorage.withLock { $0 = AppSession(system: self, infoPlist: app.infoPlist) }
  }

  var session: AppSession? { sessionStorage.withLock { $0 } }

  func takeGiven(_ count: Int) -> ArraySlice<AppDeliveryNumber> {
    let count = min(max(count, 0), given.count)
    defer { given.removeFirst(count) }
    return given.prefix(count)
  }

  // MARK: Steps, without the lock

  /// The process begins.
  func begin() {
    guard let session else { preconditionFailure("a process begins that has ended") }
    let other = Self.running.withLock { $0 }
    precondition(
      other == nil || other?.core === core,
      "An app of another SimulatedPhone runs in this process. Let such tests run one after the other, with "
        + "SimulatedPhone.run.")
    // The globals of this program belong to one app at a time.
    if let other {
      let id = other.id
      // Before its managers are released, or the phone would forget what they want.
      core.execute { $0.replaced(id) }
      other.end()
    }
    Self.running.withLock { $0 = self }
    CurrentHost.ofApp = provider
    AppSession.current = session
    let (app, time) = (app, core.radio.now)
    MainQueue.run { app.begin(session, time) }
  }

  /// Gives the process an instruction, and waits until it was handled.
  func perform(_ instruction: AppInstruction) {
    guard isRunning, let session else { return }
    precondition(
      !MainQueue.isCurrent,
      "A SimulatedPhone is used on the main actor, where its apps run. Remove @MainActor from the test."
    )
    session.receive(instruction)
    let handling = DispatchGroup()
    handling.enter()
    session.settle { DispatchQueue.main.async { handling.leave() } }
    handling.wait()
    MainQueue.settle()
  }

  /// The process is gone.
  func end() {
    let wasRunning = Self.running.withLock { running in
      guard running === self else { return false }
      running = nil
      return true
    }
    let session = sessionStorage.withLock { $0.take() }
    session?.end()
    guard wasRunning else { return }
    CurrentHost.ofApp = nil
    AppSession.current = nil
    let app = app
    MainQueue.run { app.end() }
  }

  private var isRunning: Bool { Self.running.withLock { $0 === self } }

  // MARK: The system of its session

  func report(_ event: AppMachine.ProcessEvent) {
    let id = id
    // The process waits for the answer.
    if case .beganBackgroundTask = event { return core.locked { $0.reported(event, by: id) } }
    core.execute { $0.reported(event, by: id) }
  }

  func request(_ request: AppRequest) -> AppReply {
    let app = app
    return core.locked { $0.answer(request, of: app) }
  }

  var backgroundTimeRemaining: TimeSpan? {
    let id = app.id
    return core.read { machine, now in machine.life.backgroundTimeRemaining(of: id, now: now) }
  }
}

/// The queue of the main actor.
enum MainQueue {
  private static let key: DispatchSpecificKey<Void> = {
    let key = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: key, value: ())
    return key
  }()

  /// Whether this code runs on it.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) != nil }

  /// Waits for its work, and for the work that this adds, a few times: an app may pass a callback on to it.
  static func settle() {
    guard !isCurrent else { return }
    for _ in 0..<turnCount { DispatchQueue.main.sync {} }
  }

  private static let turnCount = 3

  /// Runs something on it, and waits.
  static func run(_ body: @escaping @MainActor @Sendable () -> Void) {
    if isCurrent {
      MainActor.assumeIsolated(body)
    } else {
      DispatchQueue.main.sync { MainActor.assumeIsolated(body) }
    }
  }
}
