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
  private var hasFailedToSave = false
  private var poll: HeldSocketPoll?
  private var connections: [ObjectIdentifier: HeldSocketConnection] = [:]
  private var requests: [HeldSocketTicket: Request] = [:]
  private var lastTicket: UInt64 = 0
  private var timer: (any LoopTimer)?
  private var timerSetFor: Instant?

  /// The maximum number of connections at once. Others wait in the queue of the listener's socket.
  private static let connectionCountMax = 64

  init(
    _ core: AppManagerCore, _ limits: HeldSocketLimits, _ times: HeldSocketTimes,
    _ store: DescriptorStore
  ) {
    self.core = core
    self.times = times
    self.store = store
    file = HeldSocketFile(beside: core.path)
    machine = HeldSocketMachine(limits: limits)
    timer = core.loop.makeTimer { [weak self] in
      self?.timerSetFor = nil
      self?.handle(.wake)
    }
  }

  func sockets(of app: AppID) -> [HeldSocketStatus] { machine.sockets(of: app) }

  // MARK: The machine

  private func handle(_ event: HeldSocketMachine.Event) {
    var actions: [HeldSocketMachine.Action] = []
    machine.handle(event, now: .now, into: &actions)
    for action in actions { perform(action) }
    guard machine.nextWake != timerSetFor else { return }
    timerSetFor = machine.nextWake
    if let timerSetFor { timer?.set(timerSetFor) } else { timer?.cancel() }
  }

  private func perform(_ action: HeldSocketMachine.Action) {
    switch action {
    case .held(let ticket, let id): held(ticket, id)
    case .refused(let ticket, let refusal): finish(ticket, .refused(refusal))
    case .none(let ticket): finish(ticket, .none)
    case .give(let ticket, let id, let description): give(ticket, id, description)
    case .watch(let id): poll?.watch(id)
    case .unwatch(let id): poll?.unwatch(id)
    case .shutDown(let id):
      poll?.shutDown(id)
      store.remove(id)
      save()
    case .close(let id):
      poll?.close(id)
      store.remove(id)
      save()
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
    case .life(.process(let process, .launched)):
      if let app = core.programs[process]?.bundle.identifier {
        handle(.launched(AppID(app), process))
      }
    case .life(.process(let process, .exited(_, hasOthers: false))),
      .life(.process(let process, .gone)), .life(.process(let process, .reclaimed)):
      handle(.ended(process))
    case .life(.person(let app, .forceQuit)), .life(.removed(let app)): handle(.quit(app))
    default: break
    }
  }

  /// An action of the machine of apps is about to be performed.
  func follow(_ action: AppMachine.Action) {
    switch action {
    case .freeze(let process): handle(.suspended(process))
    case .thaw(let process): handle(.resumed(process))
    case .release(_, .heldSocket(let number)):
      handle(.released(HeldSocketID(rawValue: number)))
    default: break
    }
  }

  /// `setKeepAliveTimeout`, for an app with the background mode `voip`.
  func setKeepAlive(_ seconds: Double?, _ app: AppID) -> AppReply {
    guard hasMode(app) else { return .refused(.notPermitted) }
    let longest = Self.keepAliveSecondsMax
    handle(
      .keepAlive(
        app, seconds.map { .seconds(Int64(max(0, min($0.isNaN ? 0 : $0, longest)).rounded(.up))) }))
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
    case .hold, .take, nil: finish(ticket, .refused(.unavailable))
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
      if !store.add(id, descriptor) {
        core.report("the service manager keeps a socket no longer than this manager runs")
      }
      save()
    } catch {
      core.report("a socket can't be watched: \(error.text)")
      handle(.released(id))
      _ = request.connection.finish(.refused(.unavailable))
      return
    }
    _ = request.connection.finish(.held(id.rawValue))
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

  /// Takes over what the last manager held, and closes the descriptors that no installed app has.
  func begin() {
    var left = store.inherited
    for record in file.read() where core.apps[record.app] != nil {
      // A damaged file must not leave the machine without numbers.
      guard record.id.rawValue < 1 << 62,
        let descriptor = left.removeValue(forKey: DescriptorStore.name(record.id))
      else { continue }
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
      handle(.preserved(record.id, record.app, record.description))
    }
    for (name, descriptor) in left {
      Glibc.close(descriptor)
      // The service manager has another one, with which the peer would go on waiting.
      store.remove(name)
    }
    if !left.isEmpty {
      core.report("\(left.count) sockets of the last manager are no app's, and were closed")
    }
    if !store.inherited.isEmpty { save() }
  }

  /// Writes the list for the next manager, if the descriptors are kept for it.
  private func save() {
    guard store.notifySocket != nil else { return }
    let records = machine.held.map {
      HeldSocketFile.Record(id: $0.id, app: $0.app, description: $0.description)
    }
    do throws(StateFileError) {
      try file.write(records)
      hasFailedToSave = false
    } catch {
      if !hasFailedToSave {
        core.report(
          "the list of held sockets can't be written, and ends with the manager: \(error.reason)")
      }
      hasFailedToSave = true
    }
  }

  // MARK: The end

  /// Closes all duplicates: the peers learn that the apps are gone, unless the service manager has the sockets, too.
  func close() {
    timer?.cancel()
    for connection in Array(connections.values) { connection.close() }
    poll?.close()
    poll = nil
  }
}
