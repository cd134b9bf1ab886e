import AppHubMachines
import AppMachines
import AppSessions
import BluetoothHost
import BluetoothInterface
import BluetoothMachines
import Dispatch
import Essentials
import HubClientMachines
import HubMachines
import InfoPlists
import SimulatedRadio
import Simulation
import Synchronization

/// Feeds an `AppHubMachine` with the events of a phone, and performs its actions.
///
/// Everything but `steps` is used under the radio's lock. What runs code of apps is a step: steps are performed in
/// their order between two points of time, while the lock is lent, so that apps may use the radio.
final class PhoneCore: @unchecked Sendable {
  // Sendable because state in a `Mutex` has a lock of its own, and everything else is used under the radio's lock,
  // or is constant.

  /// Something that runs code of an app.
  enum Step: Sendable {
    case attached(AppSessionSlot, SessionAttachment, AppID)
    case events(AppSessionSlot, [HostEvent], AppID)
    case settle(AppSessionSlot)
    /// The process begins; its first instruction follows.
    case begin(any PhoneProcess)
    case instruct(any PhoneProcess, AppInstruction)
    /// Bytes of the hub for a process of its own.
    case deliver(any PhoneProcess, [UInt8])
    /// A timer of a process of its own is due.
    case wake(any PhoneProcess)
    case setStopped(any PhoneProcess, Bool)
    /// The process is gone at once.
    case end(any PhoneProcess)
  }

  /// Something for one of the machines. Each one is done after those before it, with all their actions.
  private enum Work {
    case event(AppHubMachine.Event)
    /// An input of a process's connection with the hub.
    case input(HubClientMachine.Input, LocalProcess)
    /// A request of an app, whose answer is called at once.
    case request(AppRegionRequest, AppID, (AppRegionReply) -> Void)
  }

  let radio: VirtualRadio
  let host: BluetoothHost
  let log: PhoneLog
  /// Where processes of apps run.
  let isolation: SimulatedPhone.Isolation
  /// The folders of apps that have processes of their own.
  let home = PhoneHome()
  private let apps: Mutex<[AppID: SimulatedApp]>
  private let steps = Mutex<[Step]>([])
  /// Ends of background tasks that processes have reported, until they are handled.
  private let endedTasks = Mutex<[AppProcessID: [AppTaskID]]>([:])
  private var machine: AppHubMachine
  private var actions: [AppHubMachine.Action] = []
  private var work: [Work] = []
  private var isHandling = false
  private var processes: [AppProcessID: any PhoneProcess] = [:]
  private var sessions: [HubSessionKey: any HostSession] = [:]
  var wishes: [AppID: AppWishes] = [:]
  /// A session of the phone itself, for the loop and for waiting.
  private var anchor: HostClient?
  private var timer: (any LoopTimer)?
  private var timerSetFor: Instant?

  /// The maximum number of steps at one point of time: apps that answer each event at once would stop time.
  private static let stepCountMax = 1_000_000

  init(
    seed: UInt64, log: PhoneLog, limits: AppLimits, rules: AppRules,
    isolation: SimulatedPhone.Isolation
  ) {
    self.isolation = isolation
    radio = VirtualRadio(seed: seed)
    // Days pass in milliseconds where nothing happens.
    var configuration = HostConfiguration()
    configuration.checksSilentController = false
    radio.withWorld { $0.checksSilentControllers = false }
    host = radio.makeHost(name: "phone", configuration: configuration)
    self.log = log
    apps = Mutex([:])
    machine = AppHubMachine(limits: limits, rules: rules)
    // The closures of the host refer to this object weakly: it owns the host.
    anchor = host.makeClient(settle: { [weak self] in self?.performSteps() }, onEvent: { _ in })
    radio.withWorld { [weak self] _ in
      guard let self else { return }
      timer = loop.makeTimer { [weak self] in self?.wake() }
    }
  }

  var loop: any SessionLoop {
    guard let anchor else { preconditionFailure("a phone has no session with its radio") }
    return anchor.loop
  }

  // MARK: From any thread

  /// Does something on the radio's loop, soon.
  func execute(_ body: @escaping @Sendable (PhoneCore) -> Void) {
    loop.execute { [weak self] in if let self { body(self) } }
  }

  /// A process has ended a background task. Handled soon, with any lock.
  func ended(_ task: AppTaskID, by id: AppProcessID) {
    endedTasks.withLock { $0[id, default: []].append(task) }
    execute { $0.reportEndedTasks(of: id) }
  }

  /// Does something at once. What follows from it happens soon.
  func locked<Result>(_ body: (PhoneCore) -> Result) -> Result {
    radio.withWorld { _ in body(self) }
  }

  /// Does something at once, with all that follows from it at this point of time.
  func perform<Result>(_ body: (PhoneCore) -> Result) -> Result {
    let result = locked(body)
    (loop as? any HostLoop)?.runPending()
    return result
  }

  /// Reads something.
  func read<Result>(_ body: (AppHubMachine, Instant) -> Result) -> Result {
    radio.withWorld { body(machine, $0.now) }
  }

  /// `UIApplication.backgroundTimeRemaining` in nanoseconds. Under the lock.
  func backgroundTimeRemaining(of app: AppID) -> Int64? {
    machine.life.backgroundTimeRemaining(of: app, now: loop.now)?.nanoseconds
  }

  func app(_ id: AppID) -> SimulatedApp? { apps.withLock { $0[id] } }

  // MARK: Under the lock

  func state(of app: AppID) -> AppLifeState? { machine.life.state(of: app) }

  func install(_ app: SimulatedApp) {
    apps.withLock { $0[app.id] = app }
    handle(.life(.installed(app.id, app.infoPlist.description)))
  }

  /// Handles an event, and what follows from it.
  func handle(_ event: AppHubMachine.Event) { perform(.event(event)) }

  /// A process's connection with the hub has an input.
  func take(_ input: HubClientMachine.Input, of process: LocalProcess) {
    perform(.input(input, process))
  }

  private func perform(_ new: Work) {
    work.append(new)
    guard !isHandling else { return }
    isHandling = true
    while !work.isEmpty {
      var due: [Work] = []
      swap(&due, &work)
      for item in due {
        switch item {
        case .event(let event): performActions(of: event)
        case .input(let input, let process): performActions(of: input, process)
        case .request(let request, let app, let answer):
          answer(machine.answer(request, of: app, now: loop.now, into: &actions))
          performActions()
        }
      }
    }
    isHandling = false
    setTimer()
  }

  /// Answers a request of an app about its regions.
  func answer(_ request: AppRegionRequest, of app: AppID) -> AppRegionReply {
    var reply = AppRegionReply.refused(.unavailable)
    perform(.request(request, app) { reply = $0 })
    return reply
  }

  private func performActions(of event: AppHubMachine.Event) {
    machine.handle(event, now: loop.now, into: &actions)
    performActions()
  }

  private func performActions() {
    var performed: [AppHubMachine.Action] = []
    swap(&performed, &actions)
    for action in performed { perform(action) }
  }

  private func setTimer() {
    guard machine.nextWake != timerSetFor else { return }
    timerSetFor = machine.nextWake
    if let timerSetFor { timer?.set(timerSetFor) } else { timer?.cancel() }
  }

  private func wake() {
    timerSetFor = nil
    handle(.life(.wake))
  }

  private func perform(_ action: AppHubMachine.Action) {
    switch action {
    case .life(let action): perform(action)
    case .give(let id, let delivery, let number):
      guard let process = processes[id] else { return }
      process.given.append(number)
      append(.instruct(process, .deliver([delivery])))
    case .write(let id, let bytes): processes[id]?.received(bytes)
    case .close: break
    case .openSession(let key, let identity): open(key, identity)
    case .send(let key, let request): sessions[key]?.send(request)
    case .acknowledge(let key, let count): sessions[key]?.eventsHandled(count)
    case .closeSession(let key): sessions.removeValue(forKey: key)?.close()
    }
  }

  private func open(_ key: HubSessionKey, _ identity: SessionIdentity) {
    let program = ProgramID(rawValue: key.connection.rawValue)
    let publisher = PublisherID(
      userID: identity.userID, app: identity.app, manager: identity.manager)
    sessions[key] = host.openSession(of: program, publisher: publisher) { [weak self] events in
      self?.delivered(events, to: key)
    }
  }

  private func delivered(_ events: [HostEvent], to key: HubSessionKey) {
    if sessions[key] != nil { handle(.delivered(key, events)) }
  }

  private func perform(_ action: AppMachine.Action) {
    switch action {
    case .start(let app, let process, let launch): start(process, of: app, launch)
    case .kill(let id):
      guard let process = processes[id] else { return }
      end(process)
      handle(.life(.process(id, .exited(.signal(9), hasOthers: false))))
    case .alert(let app, let event): log.alert(app, event, at: loop.now)
    case .report(let report): log.report(report, at: loop.now)
    case .refuseBackgroundTask(let id, let task): processes[id]?.refuse(task)
    case .terminate, .expire, .expireTask:
      guard let (id, instruction) = AppInstruction.of(action), let process = processes[id] else {
        return
      }
      append(.instruct(process, instruction))
    case .freeze(let id): if let process = processes[id] { append(.setStopped(process, true)) }
    case .thaw(let id): if let process = processes[id] { append(.setStopped(process, false)) }
    case .reportRegionStates, .deliver, .refuse, .disconnect, .release: break
    }
  }

  // MARK: Processes

  private func start(_ id: AppProcessID, of app: AppID, _ launch: AppLaunch) {
    guard let definition = self.app(app) else {
      preconditionFailure("an app is started that is not installed")
    }
    let process: any PhoneProcess
    if let limit = isolation.limit {
      process = ChildProcess(id: id, app: definition, limit: limit, core: self)
    } else {
      reclaimProgram()
      process = LocalProcess(id: id, app: definition, core: self)
    }
    processes[id] = process
    log.launched(app, launch, at: loop.now)
    append(.begin(process))
    append(.instruct(process, .start(launch)))
  }

  /// The globals of this program belong to one app at a time.
  private func reclaimProgram() {
    for other in processes.keys.sorted() {
      guard let other = processes[other]?.app.id, state(of: other) == .suspended else { continue }
      handle(.life(.memoryPressure(.criticalFor(other))))
    }
  }

  /// A process is gone.
  private func end(_ process: any PhoneProcess) {
    processes[process.id] = nil
    process.close()
    append(.end(process))
  }

  /// A process of its own has ended by itself.
  func ended(_ process: ChildProcess, _ exit: AppExit) {
    guard processes[process.id] === process else { return }
    end(process)
    handle(.life(.process(process.id, .exited(exit, hasOthers: false))))
  }

  /// Whether the phone has this process.
  func has(_ process: any PhoneProcess) -> Bool { processes[process.id] === process }

  /// A process reports something.
  func reported(_ event: AppMachine.ProcessEvent, by id: AppProcessID) {
    guard let process = processes[id] else { return }
    switch event {
    case .acknowledged(let count):
      for number in process.given.take(count) { handle(.handled(id, number)) }
    case .exited:
      end(process)
      handle(.life(.process(id, event)))
    default: handle(.life(.process(id, event)))
    }
  }

  /// A process begins a background task, and waits. The ends that it has reported before count first.
  func began(_ task: AppTaskID, by id: AppProcessID) {
    reportEndedTasks(of: id)
    reported(.beganBackgroundTask(task), by: id)
  }

  private func reportEndedTasks(of id: AppProcessID) {
    let tasks = endedTasks.withLock { $0.removeValue(forKey: id) ?? [] }
    for task in tasks { reported(.endedBackgroundTask(task), by: id) }
  }

  /// A process has ended so that one of another app may run: for its memory, which is no fault of its own.
  func replaced(_ id: AppProcessID) {
    guard let process = processes[id] else { return }
    end(process)
    handle(.life(.process(id, .reclaimed)))
  }

  /// The process of an app ends by itself, at once.
  func crash(_ app: AppID) {
    guard let process = processes.values.first(where: { $0.app.id == app }) else { return }
    end(process)
    handle(.life(.process(process.id, .exited(.signal(11), hasOthers: false))))
  }

  /// The test has let go of the phone.
  func shutDown() {
    for process in processes.values.sorted(by: { $0.id < $1.id }) { end(process) }
    timer?.cancel()
    for id in wishes.keys { wishes[id]?.cancelAll() }
    for session in sessions.values { session.close() }
    sessions = [:]
  }

  /// Switches the radio on or off.
  func setPower(_ isOn: Bool) {
    radio.withController(of: host) { isOn ? $0.powerOn() : $0.powerOff() }
  }

  // MARK: The process's side of the hub

  /// A manager of a process opens a session.
  func open(_ slot: AppSessionSlot, of process: LocalProcess) {
    guard has(process), slot.isOpen else { return }
    process.slots[slot.id] = slot
    take(slot.opening, of: process)
  }

  private func performActions(of input: HubClientMachine.Input, _ process: LocalProcess) {
    guard has(process) else { return }
    let id = process.id
    var actions: [HubClientMachine.Action] = []
    process.client.handle(input, now: .zero, into: &actions)
    if case .sessionClosed(let session) = input { process.slots[session] = nil }
    for action in actions {
      switch action {
      case .open:
        handle(.connected(id))
        take(.opened, of: process)
      case .close: handle(.disconnected(id))
      case .send(let bytes): handle(.received(id, bytes))
      case .deliver(let session, let events):
        guard let slot = process.slots[session] else { break }
        append(.events(slot, events, process.app.id))
      case .attached(let session, let attachment):
        guard let slot = process.slots[session] else { break }
        append(.attached(slot, attachment, process.app.id))
      case .failed(let failure): log.failed(process.app.id, failure.sentence, at: loop.now)
      case .lost(let sentence): log.failed(process.app.id, sentence, at: loop.now)
      // The phone has a protocol of its own for its time.
      case .time, .settle: break
      case .connected: break
      }
    }
  }

  // MARK: Steps

  func append(_ step: Step) {
    steps.withLock { $0.append(step) }
    anchor?.hasWork()
  }

  /// Performs the steps, and waits for each one. Called without the lock.
  private func performSteps() {
    for _ in 0..<Self.stepCountMax {
      guard let step = steps.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return }
      perform(step)
    }
    preconditionFailure("an app does something without end at one point of virtual time")
  }

  private func perform(_ step: Step) {
    switch step {
    case .attached(let slot, let attachment, _):
      if attachment.holdings != nil { slot.names.beginsRestored() }
      slot.attach(attachment)
    case .events(let slot, let events, let app):
      if slot.isOpen {
        for name in events.flatMap(slot.names.names) { log.told(app, name, at: radio.now) }
      }
      slot.deliver(events)
      slot.settle?()
      MainQueue.settle()
    case .settle(let slot): if slot.isOpen { slot.settle?() }
    case .begin(let process): process.begin()
    case .instruct(let process, let instruction):
      if case .deliver(let deliveries) = instruction {
        let state = read { machine, _ in machine.life.state(of: process.app.id) }
        for name in deliveries.compactMap({ $0.callbackName(in: state) }) {
          log.told(process.app.id, name, at: radio.now)
        }
      }
      process.perform(instruction)
    case .deliver(let process, let bytes): process.deliver(bytes)
    case .wake(let process): process.wake()
    case .setStopped(let process, let isStopped): process.setStopped(isStopped)
    case .end(let process): process.end()
    }
  }
}

extension AppDelivery {
  /// The callback for it of an app in a state; nil for events of Core Bluetooth, which have names of their own.
  fileprivate func callbackName(in state: AppLifeState?) -> String? {
    switch self {
    case .transition(let transition): transition.callbackName
    case .event(_, let event): event.callbackName(in: state)
    case .restore: nil
    }
  }
}

extension AppEvent {
  /// An app without the method of a notification gets another one of them, which the phone can't know.
  fileprivate func callbackName(in state: AppLifeState?) -> String? {
    switch kind {
    case .region: AppRegionEvent(payload, of: receiver)?.callbackName
    case .notification where isTapped: "didReceive(response)"
    case .notification(_, hasAlert: true) where state == .active || state == .inactive:
      "willPresent(notification)"
    case .notification: "didReceiveRemoteNotification"
    case .refresh where payload.isEmpty: "performFetch"
    case .refresh, .processing: "launchHandler(\(String(decoding: payload, as: UTF8.self)))"
    case .keepAlive: "keepAliveHandler"
    case .callback, .connected, .disconnected, .value, .discovered, .request, .socket: nil
    }
  }
}

extension AppRegionEvent {
  fileprivate init?(_ payload: [UInt8], of receiver: AppReceiver) {
    guard receiver == .location else { return nil }
    self.init(payload)
  }

  /// The method of a location manager's delegate, or `CLMonitor.Event` for one of a monitor.
  fileprivate var callbackName: String {
    switch (name.owner, change) {
    case (.monitor, _): "CLMonitor.Event"
    case (.managers, .entered): "didEnterRegion"
    case (.managers, .exited): "didExitRegion"
    case (.managers, _): "didDetermineState"
    }
  }
}

extension AppTransition {
  /// The method of the app's delegate.
  var callbackName: String {
    switch self {
    case .didBecomeActive: "applicationDidBecomeActive"
    case .willResignActive: "applicationWillResignActive"
    case .didEnterBackground: "applicationDidEnterBackground"
    case .willEnterForeground: "applicationWillEnterForeground"
    case .didReceiveMemoryWarning: "applicationDidReceiveMemoryWarning"
    }
  }
}
