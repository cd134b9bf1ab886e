import AppHubMachines
import AppMachines
import AppSessions
import BluetoothInterface
import Essentials
import EventLoop
import Glibc
import HubMachines
import InfoPlists
import StateFiles

/// The part of the manager of apps that lives on its event loop: it feeds the machine, and performs its actions.
final class AppManagerCore {
  /// Something for the machine. Each one is done after those before it, with all their actions.
  private enum Work {
    case event(AppHubMachine.Event)
    /// A request, whose answer is taken at once.
    case change((inout AppHubMachine, Instant, inout [AppHubMachine.Action]) -> Void)
  }

  /// An app that is installed.
  struct App {
    var record: InstalledAppRecord
    var output = AppOutput()
    /// Seconds of processor time of processes that have ended.
    var endedProcessorTime = 0.0
    var wakes = AppWakeLog()
    /// Why it failed the last time, for people.
    var failure: String?
  }

  let loop: EpollLoop
  let store: any AppStore
  let freezer: AppFreezer
  let path: String
  private let provider: any HostSessionProvider
  private let onReport: @Sendable (String) -> Void
  var machine: AppHubMachine
  private var actions: [AppHubMachine.Action] = []
  private var work: [Work] = []
  private var isHandling = false
  private var timer: (any LoopTimer)?
  private var timerSetFor: Instant?
  private var saveTimer: (any LoopTimer)?
  let firsts = FirstProcesses()
  let processFile: AppProcessFile
  /// The list of processes as it was written last.
  var savedProcesses: [AppProcessRecord] = []
  var processTimer: (any LoopTimer)?
  var isSavingProcesses = false
  private var isSaving = false
  private let saveRetryDelay: TimeSpan
  private var savedChangeCount: UInt64 = 0
  /// Counts failures of apps, and pauses that a person has ended.
  var failureChangeCount: UInt64 = 0
  /// The store's contents: many changes are taken back before they are written, and to encode all of it takes time.
  var savedContents: AppStoreContents?
  /// The apps whose state is too large for the store.
  private var notKept: Set<String> = []
  let alerts: AppAlerts
  /// Why processes could not be started whose end the machine has not handled yet.
  var startFailures: [AppID: String] = [:]
  /// Of kinds that a later manager has written.
  var otherDetails: [AppDetailRecord] = []
  let memory: MemoryFiles
  var memoryWatch: MemoryPressureWatch?
  /// How many processes the kernel had ended for their memory when a process of an app ended last.
  var memoryEndedCount: UInt64?
  /// When adopted processes are looked at.
  var adoptedTimer: (any LoopTimer)?
  private let mark: ManagerMark
  /// When the network and the power supply were looked at.
  var lookedAround: Instant?
  var apps: [AppID: App] = [:]
  var programs: [AppProcessID: AppProgram] = [:]
  private var sessions: [HubSessionKey: any HostSession] = [:]
  /// Terminals that show the output of an app.
  var watchers: [AppID: [AppCommandConnection]] = [:]
  var connections: [ObjectIdentifier: AppCommandConnection] = [:]
  var listeners: [(listener: StreamListener, path: String, file: UNIXSocketFile.Identity?)] = []
  var claim: AppManagerClaim?
  private let socketTimes: HeldSocketTimes
  private let descriptors: DescriptorStore
  private(set) lazy var sockets = AppManagerSockets(
    self, HeldSocketLimits(), socketTimes, descriptors)
  private(set) var reports: [String] = []
  private var shortages: DescriptorShortage.Observation?
  private(set) var isClosed = false

  /// The maximum number of apps.
  static let appCountMax = 256
  private static let reportCountMax = 100

  init(
    at path: String, _ provider: any HostSessionProvider, _ store: any AppStore,
    retriesAfter saveRetryDelay: TimeSpan, _ freezer: AppFreezer, limits: AppLimits,
    serviceLimits: AppServiceLimits,
    socketTimes: HeldSocketTimes, descriptors: DescriptorStore, alerts: AppAlertStyle,
    memory: MemoryFiles, isSimulated: Bool, on loop: EpollLoop,
    onReport: @escaping @Sendable (String) -> Void
  ) {
    self.path = path
    processFile = AppProcessFile(beside: path)
    self.provider = provider
    self.store = store
    self.saveRetryDelay = saveRetryDelay
    self.freezer = freezer
    self.socketTimes = socketTimes
    self.descriptors = descriptors
    self.loop = loop
    self.onReport = onReport
    machine = AppHubMachine(
      limits: limits, serviceLimits: serviceLimits, isSimulated: isSimulated)
    self.alerts = AppAlerts(alerts, on: loop)
    self.memory = memory
    mark = .current
    timer = loop.makeTimer { [weak self] in self?.wake() }
    saveTimer = loop.makeTimer { [weak self] in self?.save() }
    processTimer = loop.makeTimer { [weak self] in self?.saveProcesses() }
    self.alerts.onOpen = { [weak self] app, event in
      self?.handle(
        .life(.person(app, event.map { AppMachine.PersonEvent.openedAlert($0) } ?? .opened)))
    }
    self.alerts.onReport = { [weak self] in self?.report($0) }
    let core = LoopConfined(WeakAppManagerCore(self), to: loop)
    shortages = DescriptorShortage.observe { shortage in
      loop.execute { core.value.core?.report(shortage.text) }
    }
    watchMemory()
  }

  // MARK: The store

  /// The contents of the store, with another list of apps.
  func contents(_ apps: [AppID: App]) -> AppStoreContents {
    var tooLong: [String] = []
    let managers = machine.preservedManagers.compactMap { manager -> PreservedManagerRecord? in
      guard let bytes = manager.bytes else {
        tooLong.append(manager.app.rawValue)
        return nil
      }
      return PreservedManagerRecord(
        app: manager.app.rawValue, manager: manager.manager, holdings: bytes)
    }
    let all = AppStoreContents(
      apps: apps.keys.sorted().compactMap { apps[$0]?.record },
      managers: managers.filter { apps[AppID($0.app)] != nil },
      details: details.filter { apps[AppID($0.app)] != nil })
    let (contents, tooLarge) = all.fitting()
    let leftOut = tooLarge + tooLong.filter { !tooLarge.contains($0) }
    for app in leftOut where !notKept.contains(app) {
      report("\(app) keeps too much: its state ends with this manager")
    }
    notKept = Set(leftOut)
    return contents
  }

  /// Counts the changes of the store's contents.
  private var changeCount: UInt64 {
    machine.preservedChangeCount + sockets.changeCount + failureChangeCount
  }

  /// Writes the store soon if its contents have changed: changes come together.
  func saveSoon() {
    guard changeCount != savedChangeCount, !isSaving else { return }
    isSaving = true
    saveTimer?.set(.now + Self.saveDelay)
  }

  /// Whether the store and the list of processes have all changes.
  var isWritten: Bool {
    !isSaving && !isSavingProcesses && !sockets.isSaving && changeCount == savedChangeCount
  }

  private func save() {
    isSaving = false
    guard changeCount != savedChangeCount else { return }
    let contents = contents(apps)
    do throws(StateFileError) {
      if contents != savedContents {
        try store.write(contents)
        savedContents = contents
        reportStore()
      }
      savedChangeCount = changeCount
    } catch {
      if !isClosed { report("the state of apps can't be written: \(error.reason)") }
      isSaving = true
      saveTimer?.set(.now + saveRetryDelay)
    }
  }

  func reportStore() {
    for sentence in store.takeReports() { report(sentence) }
  }

  private static let saveDelay = TimeSpan.milliseconds(100)

  func report(_ sentence: String) {
    reports.append(sentence)
    if reports.count > Self.reportCountMax { reports.removeFirst() }
    onReport(sentence)
  }

  // MARK: The machine

  /// Handles an event, and what follows from it.
  func handle(_ event: AppHubMachine.Event) { perform(.event(event)) }

  /// Answers a request of an app about its regions.
  func answer(_ request: AppRegionRequest, of app: AppID) -> AppRegionReply {
    let reply = change { machine, now, actions in
      machine.answer(request, of: app, now: now, into: &actions)
    }
    return reply ?? .refused(.unavailable)
  }

  /// Changes the machine by a call with a result, and performs the actions; nil if the manager is closed.
  func change<Result>(
    _ body: @escaping (inout AppHubMachine, Instant, inout [AppHubMachine.Action]) -> Result
  ) -> Result? {
    var result: Result?
    perform(.change { result = body(&$0, $1, &$2) })
    return result
  }

  private func perform(_ new: Work) {
    guard !isClosed else { return }
    work.append(new)
    guard !isHandling else { return }
    isHandling = true
    while !work.isEmpty {
      var due: [Work] = []
      swap(&due, &work)
      for item in due {
        let now = Instant.now
        updateSurroundings(&machine, now: now)
        switch item {
        case .event(let event):
          machine.handle(event, now: now, into: &actions)
          performActions()
          sockets.follow(event)
          follow(event)
        case .change(let body):
          body(&machine, now, &actions)
          performActions()
        }
      }
    }
    isHandling = false
    setTimer()
    saveSoon()
  }

  private func performActions() {
    var performed: [AppHubMachine.Action] = []
    swap(&performed, &actions)
    for action in performed { perform(action) }
  }

  private func setTimer() {
    let next = machine.nextWake
    guard next != timerSetFor else { return }
    timerSetFor = next
    if let timerSetFor { timer?.set(timerSetFor) } else { timer?.cancel() }
  }

  private func wake() {
    timerSetFor = nil
    handle(.life(.wake))
  }

  private func perform(_ action: AppHubMachine.Action) {
    switch action {
    case .life(let action): perform(action)
    case .give(let id, let delivery, let number): programs[id]?.give(delivery, number)
    case .write(let id, let bytes): write(bytes, to: id)
    case .close(let id):
      programs[id]?.hub?.close()
      programs[id]?.hub = nil
    case .openSession(let key, let identity): open(key, identity)
    case .send(let key, let request): sessions[key]?.send(request)
    case .acknowledge(let key, let count): sessions[key]?.eventsHandled(count)
    case .closeSession(let key): sessions.removeValue(forKey: key)?.close()
    }
  }

  private func perform(_ action: AppMachine.Action) {
    sockets.follow(action)
    switch action {
    case .start(let app, let process, let launch): start(process, of: app, launch)
    case .kill(let id): kill(id)
    case .terminate(let id): terminate(id)
    case .freeze(let id):
      guard let program = programs[id] else { return }
      program.group.freeze()
      endWake(program)
      saveProcessesSoon()
    case .thaw(let id):
      programs[id]?.group.thaw()
      beginWake(id, isLaunch: false)
    case .expire, .expireTask, .refuseBackgroundTask:
      guard let (id, instruction) = AppInstruction.of(action) else { return }
      programs[id]?.instruct(instruction)
    case .alert(let app, let event): alert(app, event)
    case .report(let new):
      report(new.sentence)
      noteFailure(new)
    case .reportRegionStates, .deliver, .refuse, .disconnect, .release: break
    }
  }

  // MARK: The radio

  private func open(_ key: HubSessionKey, _ identity: SessionIdentity) {
    let core = LoopConfined(WeakAppManagerCore(self), to: loop)
    let loop = loop
    // One name for each manager of each app.
    let name = identity.manager.isEmpty ? "" : "\(identity.app)/\(identity.manager)"
    sessions[key] = provider.openSession(name: name, acknowledgesEvents: true, settle: nil) {
      events in
      if loop.isCurrent {
        core.value.core?.delivered(events, to: key)
      } else {
        loop.execute { core.value.core?.delivered(events, to: key) }
      }
    }
  }

  private func delivered(_ events: [HostEvent], to key: HubSessionKey) {
    // Another thread may have delivered them before the session was closed.
    if sessions[key] != nil { handle(.delivered(key, events)) }
  }

  /// The maximum number of bytes that wait for a process. The machine bounds events; answers are bounded by not
  /// reading more requests of the process.
  private static let waitingByteCountMax = 1 << 22

  private func write(_ bytes: [UInt8], to id: AppProcessID) {
    guard let channel = programs[id]?.hub else { return }
    channel.write(bytes)
    if channel.pendingByteCount > Self.waitingByteCountMax { channel.isReading = false }
  }

  // MARK: Processes

  private func start(_ id: AppProcessID, of app: AppID, _ launch: AppLaunch) {
    guard let folder = apps[app]?.record.folder else { return }
    let bundle: AppBundle
    do throws(AppBundleError) {
      bundle = try AppBundle(folder: folder)
      guard bundle.identifier == app.rawValue else {
        throw .missing(folder + "/Info.plist", key: "CFBundleIdentifier")
      }
    } catch { return notStarted(id, of: app, error.sentence) }
    do throws(SystemError) {
      let program = try makeProgram(id, bundle)
      programs[id] = program
      saveProcessesSoon()
      program.instruct(.start(launch))
      if !launch.isInForeground { beginWake(id, isLaunch: true) }
      adoptedTimer?.set(.now + Self.adoptedInterval)
    } catch { notStarted(id, of: app, "\(bundle.executable): \(error.text)") }
  }

  private func notStarted(_ id: AppProcessID, of app: AppID, _ reason: String) {
    report("\(app.rawValue) can't be started: \(reason)")
    startFailures[app] = reason
    handle(.life(.process(id, .exited(.notStarted, hasOthers: false))))
    endWatching(app, .notStarted)
  }

  private func makeProgram(
    _ id: AppProcessID, _ bundle: AppBundle
  ) throws(SystemError) -> AppProgram {
    let mark = "\(self.mark).\(id.rawValue)"
    let (process, output) = try AppSpawn.start(
      bundle.executable, in: bundle.folder,
      [
        AppSpawn.markVariable: mark, AppManagerPlace.variable: path,
        "AMBIT_HUB": AppManagerPlace.hub(beside: path),
        "AMBIT_INFO_PLIST": bundle.folder + "/Info.plist",
      ])
    let group = AppProcessGroup(
      process, mark: mark, home: bundle.folder, freezer: freezer, firsts)
    let program = AppProgram(id: id, bundle: bundle, mark: mark, group: group)
    do throws(SystemError) { try watch(program, output: output) } catch {
      group.kill()
      _ = program.reap()
      throw error
    }
    return program
  }

  func watch(_ program: AppProgram, output: Int32?) throws(SystemError) {
    let (id, app) = (program.id, AppID(program.bundle.identifier))
    try program.watch(
      output: output, on: loop, onOutput: { [weak self] in self?.wrote($0, app) },
      onEnd: { [weak self] in self?.ended(id) })
  }

  private func kill(_ id: AppProcessID) {
    guard let program = programs[id] else { return }
    program.group.kill()
    if program.hasExited { awaitOthers(of: program) }
  }

  private func terminate(_ id: AppProcessID) {
    guard let program = programs[id] else { return }
    if program.session != nil {
      program.instruct(.terminate)
    } else {
      // It isn't an app that can be requested to end in another way.
      program.group.first.send(SIGTERM)
    }
  }

  /// The first process of an app has ended.
  private func ended(_ id: AppProcessID) {
    guard let program = programs[id] else { return }
    let app = AppID(program.bundle.identifier)
    let exit = program.reap()
    apps[app]?.endedProcessorTime += program.endedProcessorTime
    endWake(program, processorTime: program.endedProcessorTime)
    let isReclaimed = self.isReclaimed(exit, program)
    let hasOthers = !program.group.left.isEmpty
    program.group.reapAdopted()
    // What it has written last may not have been read yet.
    let rest = program.takeOutput()
    if !rest.isEmpty { wrote(rest, app) }
    wrote([], app)
    endWatching(app, exit)
    if !hasOthers { forget(id) }
    if isReclaimed {
      if hasOthers { return reclaim(program) }
      return handle(.life(.process(id, .reclaimed)))
    }
    handle(.life(.process(id, .exited(exit, hasOthers: hasOthers))))
  }

  /// The kernel has ended the first process for its memory: the others go, too.
  private func reclaim(_ program: AppProgram) {
    program.group.kill()
    program.awaitOthers(on: loop) { [weak self] in
      guard let self, programs[program.id] === program else { return }
      forget(program.id)
      handle(.life(.process(program.id, .reclaimed)))
    }
  }

  /// Reports when the processes are gone that an app's first process has left behind.
  private func awaitOthers(of program: AppProgram) {
    program.awaitOthers(on: loop) { [weak self] in
      guard let self, programs[program.id] === program else { return }
      forget(program.id)
      handle(.life(.process(program.id, .gone)))
    }
  }

  private func forget(_ id: AppProcessID) {
    guard let program = programs.removeValue(forKey: id) else { return }
    saveProcessesSoon()
    // The end of the process may come before that of its connection, which is not reported any more then.
    for (key, connection) in connections where connection.program === program {
      connection.channel?.close()
      connections[key] = nil
    }
    program.close()
  }

  /// The process of an app; nil if it doesn't run.
  func program(of app: AppID) -> AppProgram? {
    programs.values.first { $0.bundle.identifier == app.rawValue && !$0.hasExited }
  }

  // MARK: Reports of processes

  /// A process has sent a message as an app.
  func received(_ message: AppProcessMessage, from program: AppProgram) {
    guard programs[program.id] === program else { return }
    let id = program.id
    switch message {
    case .report(.acknowledged(let count)):
      for number in program.takeGiven(count) { handle(.handled(id, number)) }
    // The system reports the end.
    case .report(.exited), .report(.gone), .report(.reclaimed): break
    case .report(let event): handle(.life(.process(id, event)))
    case .request(let number, .setKeepAliveTimeout(let seconds)):
      let app = AppID(program.bundle.identifier)
      answer(number, .reply(sockets.setKeepAlive(seconds, app)), program)
    case .request(let number, let request):
      answer(number, .reply(reply(to: request, of: program)), program)
    case .beginBackgroundTask(let number, let task):
      handle(.life(.process(id, .beganBackgroundTask(task))))
      answer(number, .done, program)
    case .timeRemaining(let number):
      let time = machine.life.backgroundTimeRemaining(
        of: AppID(program.bundle.identifier), now: .now)
      answer(number, .timeRemaining(time?.nanoseconds), program)
    }
  }

  private func answer(_ number: UInt64, _ answer: AppManagerAnswer, _ program: AppProgram) {
    guard let channel = program.session else { return }
    channel.write(AppFrame.bytes(of: AppManagerMessage.answer(number, answer)))
    if channel.pendingByteCount > Self.waitingByteCountMax { channel.isReading = false }
  }

  /// A process has broken the rules of its connection.
  func violated(_ program: AppProgram) {
    guard programs[program.id] === program else { return }
    report("\(program.bundle.identifier) sent something that is no message of an app, and is ended")
    program.group.kill()
  }

  // MARK: Output

  private func wrote(_ bytes: [UInt8], _ app: AppID) {
    let lines = (bytes.isEmpty ? apps[app]?.output.end() : apps[app]?.output.append(bytes)) ?? []
    for watcher in watchers[app] ?? [] { for line in lines { watcher.send(.output(line)) } }
  }

  private func endWatching(_ app: AppID, _ exit: AppExit) {
    for watcher in watchers.removeValue(forKey: app) ?? [] { watcher.finish(.ended(exit)) }
  }

  // MARK: The end

  /// Ends all apps, as a device does that is switched off. What it has done for them goes on with the next manager.
  ///
  /// - Parameter leavesApps: Whether their processes go on, for the next manager.
  func close(leavesApps: Bool = false) {
    guard !isClosed else { return }
    // Before the store, which names the apps with sockets.
    sockets.saveNow()
    save()
    saveProcesses()
    saveTimer?.cancel()
    store.close()
    for program in programs.values {
      if !leavesApps {
        program.group.kill()
        if !program.hasExited { _ = program.reap() }
        program.group.reapAdopted(waits: true)
      }
      program.close()
    }
    programs = [:]
    processTimer?.cancel()
    if !leavesApps { saveProcesses() }
    sockets.close()
    for app in watchers.keys.sorted() { endWatching(app, .signal(SIGKILL)) }
    for session in sessions.values { session.close() }
    sessions = [:]
    for connection in connections.values { connection.channel?.close() }
    connections = [:]
    timer?.cancel()
    alerts.closeAll()
    memoryWatch?.close()
    adoptedTimer?.cancel()
    ProcessTable.setAdoptsOrphans(false)
    // Last: another manager takes over the processes in the list as soon as it has the path.
    stopListening()
    isClosed = true
  }
}

/// A reference that closures of sessions may keep.
final class WeakAppManagerCore {
  weak let core: AppManagerCore?
  init(_ core: AppManagerCore) { self.core = core }
}
