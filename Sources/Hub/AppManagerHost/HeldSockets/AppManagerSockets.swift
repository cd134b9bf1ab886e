import AppHubMachines
import AppMachines
import AppSessions
import Essentials
import EventLoop
import Glibc
import StateFiles

/// The held sockets of a manager's apps: it feeds their machine, and performs its actions. Used on the manager's loop
/// only.
final class AppManagerSockets {
  private struct Request {
    var connection: HeldSocketConnection
    var descriptor: Int32?
  }

  private unowned let core: AppManagerCore
  private var machine: HeldSocketMachine
  private let times: HeldSocketTimes
  private let store: DescriptorStore
  private let file: HeldSocketFile
  /// Apps whose sockets ended with an earlier manager, until they have others: with the number of managers for which
  /// they ran and wanted no connection.
  private var lost: [AppID: Int] = [:]
  /// Those that have not run for this manager yet.
  private var unanswered: Set<AppID> = []
  /// The processes that were started for these.
  private var started: [AppProcessID: AppID] = [:]
  /// Counts the changes of `appsWithSockets`.
  private(set) var changeCount: UInt64 = 0
  private var savedApps: [AppID: Int] = [:]
  private var hasFailedToSave = false
  private var saveTimer: (any LoopTimer)?
  /// Whether the list is about to be written, with all changes up to then.
  private(set) var isSaving = false
  /// Processes that hear of their sockets when the list has them.
  private var heldReplies: [(connection: HeldSocketConnection, id: HeldSocketID)] = []
  private var poll: HeldSocketPoll?
  private var connections: [ObjectIdentifier: HeldSocketConnection] = [:]
  private var requests: [HeldSocketTicket: Request] = [:]
  private var lastTicket: UInt64 = 0
  private var timer: (any LoopTimer)?
  private var timerSetFor: Instant?

  /// After so many of them an app is one that is offline by its own will. Its network may have been away once.
  private static let idleRunCountMax = 3

  /// The maximum number of connections at once, which wait until the list is written. Others are refused.
  private static let connectionCountMax = 512

  init(
    _ core: AppManagerCore, _ limits: HeldSocketLimits, _ times: HeldSocketTimes,
    _ store: DescriptorStore
  ) {
    self.core = core
    self.times = times
    self.store = store
    file = HeldSocketFile(beside: core.path)
    var chance = SystemRandomNumberGenerator()
    machine = HeldSocketMachine(limits: limits, seed: chance.next())
    timer = core.loop.makeTimer { [weak self] in
      self?.timerSetFor = nil
      self?.handle(.wake)
    }
    saveTimer = core.loop.makeTimer { [weak self] in self?.save() }
  }

  /// The apps that the next manager has to start if it doesn't get their sockets.
  var appsWithSockets: [AppID: Int] {
    lost.merging(machine.held.map { ($0.app, 0) }) { $1 }
  }

  /// An app had a socket with the last manager.
  ///
  /// - Parameter idleRunCount: For how many managers it has run since, and wanted no connection.
  func hadSocket(_ app: AppID, idleRunCount: Int = 0) {
    guard hasMode(app) else { return }
    lost[app] = max(lost[app] ?? 0, min(max(idleRunCount, 0), Self.idleRunCountMax - 1))
  }

  func sockets(of app: AppID) -> [HeldSocketStatus] { machine.sockets(of: app) }

  // MARK: The machine

  private func handle(_ event: HeldSocketMachine.Event) {
    apply(event)
    setTimer()
  }

  private func apply(_ event: HeldSocketMachine.Event) {
    var actions: [HeldSocketMachine.Action] = []
    machine.handle(event, now: .now, into: &actions)
    for action in actions { perform(action) }
  }

  private func setTimer() {
    let next = machine.nextWake
    guard next != timerSetFor else { return }
    timerSetFor = next
    if let timerSetFor { timer?.set(timerSetFor) } else { timer?.cancel() }
  }

  private func perform(_ action: HeldSocketMachine.Action) {
    switch action {
    case .held(let ticket, let id): held(ticket, id)
    case .reconnecting(let ticket, let id):
      guard let request = requests.removeValue(forKey: ticket) else { return }
      heldReplies.append((request.connection, id))
      forgetLost()
      saveSoon()
    case .refused(let ticket, let refusal): finish(ticket, .refused(refusal))
    case .none(let ticket): finish(ticket, .none)
    case .give(let ticket, let id, let description): give(ticket, id, description)
    case .watch(let id): poll?.watch(id)
    case .unwatch(let id): poll?.unwatch(id)
    case .look(let id):
      guard let descriptor = poll?.descriptor(of: id) else { return }
      handle(.looked(id, TCPSocketOptions.reading(of: descriptor)))
    case .shutDown(let id):
      poll?.shutDown(id)
      store.remove(id)
      saveSoon()
    case .close(let id):
      poll?.close(id)
      store.remove(id)
      saveSoon()
    case .life(let event): core.handle(.life(event))
    case .unclaimed(let app, let description):
      core.report(
        "\(app.rawValue) did not take its socket \(description.identifier) back: it was closed")
    }
  }

  // MARK: Events of the apps

  /// The machine of apps has handled an event, and its actions were performed.
  func follow(_ event: AppHubMachine.Event) {
    switch event {
    case .life(.process(let process, .opened(.heldSocket(let number)))):
      handle(.opened(process, HeldSocketID(rawValue: number)))
    case .life(.process(let process, .closed(.heldSocket(let number)))):
      handle(.closed(process, HeldSocketID(rawValue: number)))
    case .life(.process(let process, .launched)), .life(.process(let process, .resumed)):
      if let app = core.programs[process]?.bundle.identifier {
        handle(.launched(AppID(app), process))
      }
    case .life(.process(let process, .exited(_, let hasOthers))):
      if let app = started.removeValue(forKey: process) { ranWithoutSocket(app) }
      if !hasOthers { handle(.ended(process)) }
    case .life(.process(let process, .gone)), .life(.process(let process, .reclaimed)):
      if let app = started.removeValue(forKey: process) { ranWithoutSocket(app) }
      handle(.ended(process))
    case .life(.person(let app, .forceQuit)), .life(.removed(let app)):
      let isListed = machine.keepAlives[app] != nil || lost[app] != nil
      lost[app] = nil
      unanswered.remove(app)
      handle(.quit(app))
      if isListed { save() }
    default: break
    }
  }

  /// An action of the machine of apps is about to be performed.
  func follow(_ action: AppMachine.Action) {
    switch action {
    case .start(let app, let process, _):
      if unanswered.contains(app) { started[process] = app }
    case .freeze(let process):
      handle(.suspended(process))
      if let app = core.programs[process]?.bundle.identifier { ranWithoutSocket(AppID(app)) }
    case .thaw(let process): handle(.resumed(process))
    case .release(_, .heldSocket(let number)):
      handle(.released(HeldSocketID(rawValue: number)))
    default: break
    }
  }

  /// An app is suspended, or has ended. If its socket was lost, it has had its time to connect, or to want a connection.
  private func ranWithoutSocket(_ app: AppID) {
    guard unanswered.remove(app) != nil, let count = lost[app] else { return }
    guard count + 1 < Self.idleRunCountMax else {
      lost[app] = nil
      core.report(
        "\(app.rawValue) wants no connection any more: it is not launched again for the one that it had"
      )
      return saveSoon()
    }
    lost[app] = count + 1
    saveSoon()
  }

  /// An app has a socket, or an entry without one, in the machine.
  private func forgetLost() {
    let apps = Set(machine.held.map(\.app))
    lost = lost.filter { !apps.contains($0.key) }
    unanswered.subtract(apps)
  }

  /// `setKeepAliveTimeout`, for an app with the background mode `voip`.
  func setKeepAlive(_ seconds: Double?, _ app: AppID) -> AppReply {
    guard hasMode(app) else { return .refused(.notPermitted) }
    let longest = Self.keepAliveSecondsMax
    handle(
      .keepAlive(
        app, seconds.map { .seconds(Int64(max(0, min($0.isNaN ? 0 : $0, longest)).rounded(.up))) }))
    save()
    return .done
  }

  /// A year.
  private static let keepAliveSecondsMax = 31_536_000.0

  private func hasMode(_ app: AppID) -> Bool {
    core.machine.life.hasMode(for: .keepAlive, of: app)
  }

  // MARK: Requests

  /// A process has connected.
  func accept(_ socket: Int32) {
    guard let peer = PeerCredentials(of: socket), peer.userID == geteuid(),
      connections.count < Self.connectionCountMax, DescriptorLimit.hasRoom()
    else {
      Glibc.close(socket)
      return
    }
    var accepted: HeldSocketConnection?
    do throws(SystemError) {
      let connection = try HeldSocketConnection(
        owning: socket, of: peer.processID, on: core.loop,
        onRequest: { [weak self] request, descriptor in
          guard let self, let accepted else { return }
          requested(request, descriptor, accepted)
        },
        onEnd: { [weak self] ended in
          accepted = nil
          self?.connections[ObjectIdentifier(ended)] = nil
        })
      accepted = connection
      connections[ObjectIdentifier(connection)] = connection
    } catch { return }
  }

  private func requested(
    _ request: HeldSocketRequest?, _ descriptor: Int32?, _ connection: HeldSocketConnection
  ) {
    lastTicket += 1
    let ticket = HeldSocketTicket(rawValue: lastTicket)
    requests[ticket] = Request(connection: connection, descriptor: descriptor)
    guard let program = core.program(withProcess: connection.processID) else {
      return finish(ticket, .refused(.unavailable))
    }
    let app = AppID(program.bundle.identifier)
    switch request {
    case .hold(HeldSocketRequest.version, let identifier, let isPlain):
      guard let descriptor, TCPSocketOptions.isConnected(descriptor) else {
        return finish(ticket, .refused(.notConnected))
      }
      let description = HeldSocketDescription(
        identifier: identifier, isPlain: isPlain, peer: TCPSocketOptions.peer(of: descriptor))
      handle(.hold(ticket, app, program.id, description, hasMode: hasMode(app)))
    case .take(HeldSocketRequest.version, let identifier):
      handle(.take(ticket, app, program.id, identifier: identifier))
    case .reconnect(HeldSocketRequest.version, let identifier):
      handle(.reconnect(ticket, app, program.id, identifier: identifier, hasMode: hasMode(app)))
    case .hold, .take, .reconnect, nil: finish(ticket, .refused(.unavailable))
    }
  }

  private func finish(_ ticket: HeldSocketTicket, _ reply: HeldSocketReply) {
    guard let request = requests.removeValue(forKey: ticket) else { return }
    if let descriptor = request.descriptor { Glibc.close(descriptor) }
    _ = request.connection.finish(reply)
  }

  private func held(_ ticket: HeldSocketTicket, _ id: HeldSocketID) {
    guard let request = requests.removeValue(forKey: ticket), let descriptor = request.descriptor
    else { return }
    do throws(SystemError) {
      TCPSocketOptions.setTimes(times, of: descriptor)
      try add(id, owning: descriptor)
      forgetLost()
      if !store.add(id, descriptor) {
        core.report("the service manager keeps a socket no longer than this manager runs")
      }
      saveSoon()
    } catch {
      core.report("a socket can't be watched: \(error.text)")
      handle(.released(id))
      _ = request.connection.finish(.refused(.unavailable))
      return
    }
    heldReplies.append((request.connection, id))
  }

  private func give(
    _ ticket: HeldSocketTicket, _ id: HeldSocketID, _ description: HeldSocketDescription
  ) {
    guard let request = requests.removeValue(forKey: ticket) else { return }
    let descriptor = description.isPlain ? poll?.descriptor(of: id) : nil
    let reply = HeldSocketReply.given(
      id.rawValue, isPlain: descriptor != nil, peer: description.peer)
    _ = request.connection.finish(reply, with: descriptor)
  }

  /// Has a descriptor watched, or closes it.
  private func add(_ id: HeldSocketID, owning descriptor: Int32) throws(SystemError) {
    let poll: HeldSocketPoll
    do throws(SystemError) { poll = try openPoll() } catch {
      Glibc.close(descriptor)
      throw error
    }
    try poll.add(id, owning: descriptor)
  }

  private func openPoll() throws(SystemError) -> HeldSocketPoll {
    if let poll { return poll }
    let new = try HeldSocketPoll(on: core.loop) { [weak self] id, reading in
      self?.handle(.readable(id, reading))
    }
    poll = new
    return new
  }

  // MARK: Over a restart

  /// Opens the descriptor that kept sockets need, before they are taken over: without it they would be closed.
  func prepare() throws(SystemError) { if !store.inherited.isEmpty { _ = try openPoll() } }

  /// Takes over what the last manager held, and closes the descriptors that no installed app has.
  func begin(_ contents: HeldSocketFile.Contents) {
    var left = store.inherited
    for record in contents.sockets where core.apps[record.app] != nil {
      // A damaged file must not leave the machine without numbers.
      guard record.id.rawValue < 1 << 62 else { continue }
      guard let descriptor = left.removeValue(forKey: DescriptorStore.name(record.id)) else {
        hadSocket(record.app)
        continue
      }
      guard hasMode(record.app), TCPSocketOptions.isConnection(descriptor) else {
        Glibc.close(descriptor)
        store.remove(record.id)
        continue
      }
      do throws(SystemError) { try add(record.id, owning: descriptor) } catch {
        core.report("a socket can't be watched: \(error.text)")
        store.remove(record.id)
        continue
      }
      apply(.preserved(record.id, record.app, record.description))
    }
    setTimer()
    for (name, descriptor) in left {
      Glibc.close(descriptor)
      // The service manager has another one, with which the peer would go on waiting.
      store.remove(name)
    }
    if !left.isEmpty {
      core.report("\(left.count) sockets of the last manager are no app's, and were closed")
    }
    for (name, seconds) in contents.keepAlives.sorted(by: { $0.key < $1.key })
    where hasMode(AppID(name)) {
      let seconds = min(max(0, seconds), Int64(Self.keepAliveSecondsMax))
      handle(.keepAlive(AppID(name), .seconds(seconds)))
    }
    forgetLost()
    unanswered = Set(lost.keys)
    if contents != HeldSocketFile.Contents() || !lost.isEmpty { save() }
    // Only the processes themselves have these sockets, and hand them over again. An app without one connects again.
    for app in unanswered.sorted() { core.handle(.life(.mustResume(app))) }
  }

  /// Has the list written after the events that have come: to write it takes as long for one socket as for many, and others
  /// come meanwhile.
  private func saveSoon() {
    guard !isSaving else { return }
    isSaving = true
    saveTimer?.set(.now)
  }

  /// Writes the list at once if it is about to be written.
  func saveNow() { if isSaving { save() } }

  /// Writes the list for the next manager.
  private func save() {
    isSaving = false
    if appsWithSockets != savedApps {
      savedApps = appsWithSockets
      changeCount += 1
      core.saveSoon()
    }
    write()
    let replies = heldReplies
    heldReplies = []
    for (connection, id) in replies { _ = connection.finish(.held(id.rawValue)) }
  }

  private func write() {
    var contents = HeldSocketFile.Contents()
    contents.sockets = machine.held.map {
      HeldSocketFile.Record(id: $0.id, app: $0.app, description: $0.description)
    }
    for (app, keepAlive) in machine.keepAlives {
      contents.keepAlives[app.rawValue] = keepAlive.span.nanoseconds / 1_000_000_000
    }
    do throws(StateFileError) {
      try file.write(contents)
      if hasFailedToSave { core.report("the list of held sockets was written") }
      hasFailedToSave = false
    } catch {
      if !hasFailedToSave {
        core.report(
          "the list of held sockets can't be written, and ends with the manager: \(error.reason)")
      }
      hasFailedToSave = true
      saveTimer?.set(.now + times.listRetry)
    }
  }

  // MARK: The end

  /// Closes all duplicates: the peers learn that the apps are gone, unless the service manager has the sockets, too.
  func close() {
    saveNow()
    timer?.cancel()
    saveTimer?.cancel()
    for connection in Array(connections.values) { connection.close() }
    poll?.close()
    poll = nil
  }
}
