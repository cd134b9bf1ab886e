import AppHubMachines
import AppMachines
import AppSessions
import BluetoothInterface
import BluetoothSessions
import Dispatch
import Essentials
import HubClientMachines
import HubWire
import InfoPlists
import SimulatedRadio
import Synchronization

/// A process of an app, which lives in this one.
final class LocalProcess: PhoneProcess, AppSystem, @unchecked Sendable {
  // Sendable because `client`, `slots` and `given` are used under the radio's lock only, and everything else is
  // constant or has a lock of its own.
  let id: AppProcessID
  let app: SimulatedApp
  private let core: PhoneCore
  /// Nil when the process has ended. It refers to this object.
  private let sessionStorage = Mutex<AppSession?>(nil)

  /// Its connection with the phone's hub.
  var client: HubClientMachine
  var slots: [HubSessionID: AppSessionSlot] = [:]
  var given = GivenDeliveries()

  /// The process whose globals are those of this program.
  private static let running = Mutex<LocalProcess?>(nil)

  init(id: AppProcessID, app: SimulatedApp, core: PhoneCore) {
    self.id = id
    self.app = app
    self.core = core
    client = HubClientMachine(app: app.id.rawValue)
    sessionStorage.withLock { $0 = AppSession(system: self, infoPlist: app.infoPlist) }
  }

  var session: AppSession? { sessionStorage.withLock { $0 } }

  // MARK: Under the lock

  func received(_ bytes: [UInt8]) { core.take(.received(bytes), of: self) }

  func refuse(_ task: AppTaskID) { session?.receive(.refuseBackgroundTask(task)) }

  func close() {
    for slot in slots.values { _ = slot.close() }
    slots = [:]
    session?.end()
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
    let link = LocalHubLink(process: self, core: core)
    CurrentHost.ofApp = AppSessionProvider(link, modes: Set(app.infoPlist.backgroundModes))
    AppSession.current = session
    let (app, time) = (app, core.radio.now)
    MainQueue.run { app.code.begin(session, time) }
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
    session.settleWork()
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
    MainQueue.run { app.code.end() }
  }

  private var isRunning: Bool { Self.running.withLock { $0 === self } }

  // MARK: The system of its session

  func report(_ event: AppMachine.ProcessEvent) {
    let id = id
    switch event {
    // The process waits for the answer.
    case .beganBackgroundTask(let task): core.locked { $0.began(task, by: id) }
    case .endedBackgroundTask(let task): core.ended(task, by: id)
    default: core.execute { $0.reported(event, by: id) }
    }
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

/// The way of a process's managers to the hub of the phone in this process.
private struct LocalHubLink: HubLink {
  let process: LocalProcess
  let core: PhoneCore

  var loop: any SessionLoop { core.loop }

  func open(_ slot: AppSessionSlot) {
    let process = process
    core.execute { $0.open(slot, of: process) }
  }

  func take(_ input: HubClientMachine.Input) {
    let process = process
    core.execute { $0.take(input, of: process) }
  }

  func hasWork(_ slot: AppSessionSlot) { core.execute { $0.append(.settle(slot)) } }
}
