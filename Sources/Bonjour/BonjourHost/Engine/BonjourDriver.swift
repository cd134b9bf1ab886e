import DNSWire
import DiscoveryMachines
import Essentials
import EventLoop
import PortSharing

/// Feeds a `DiscoveryMachine` with packets, requests and time, and does what it says. On one event
/// loop.
final class BonjourDriver: @unchecked Sendable {
  // Sendable because everything that changes is touched on `loop` only.

  private let configuration: BonjourConfiguration
  private let loop: EpollLoop
  private let log: (@Sendable (String) -> Void)?
  private var machine: DiscoveryMachine
  private var actions: [DiscoveryMachine.Action] = []
  private let onReports: ([HostReport]) -> Void
  private var publications: Set<RegistrationID> = []
  /// What was asked for before the interfaces were known, on which a name has to be probed for; nil
  /// from then on.
  private var early: [DiscoveryMachine.Event]? = []

  private var onInterfaces: (() -> Void)?

  private var monitor: InterfaceMonitor?
  private var wakeMonitor: WakeMonitor?
  private var interfaces: [InterfaceIndex: SystemInterface] = [:]
  /// What is open, with the address that it sends from.
  private var sockets: [Link: (socket: MulticastSocket, source: IPAddress)] = [:]
  /// What could not be opened and is about to be tried again.
  private var failed: Set<Link> = []
  /// Of what could not be opened since it last was, the log has been told.
  private var troubled: Set<Link> = []
  private let reader = DatagramReader()
  private var timer: (any LoopTimer)?
  private var timerSetFor: Instant?
  private var isStopped = false
  /// Whether somebody else has the port, and gets some of what is sent to this host alone
  /// (RFC 6762, §15.1).
  private var isPortShared = false
  private var portCheckedAt: Instant?

  /// How long to wait before a socket that could not be opened is tried again.
  private static let retryDelay = TimeSpan.seconds(5)
  /// How often is looked who has the port, at most.
  private static let portCheckSpacing = TimeSpan.seconds(1)
  /// How long goodbyes may wait for a system that cannot send them just now.
  private static let goodbyeTime = TimeSpan.seconds(1)

  /// - Parameters:
  ///   - configuration: How to take part.
  ///   - loop: Where everything happens.
  ///   - log: Told on which links it cannot take part, and why.
  ///   - onReports: Told what the machine says, all at once that came together.
  init(
    configuration: BonjourConfiguration, on loop: EpollLoop,
    log: (@Sendable (String) -> Void)?, onReports: @escaping ([HostReport]) -> Void
  ) {
    self.configuration = configuration
    self.loop = loop
    self.log = log
    self.onReports = onReports
    machine = .init(hostName: configuration.hostName)
  }

  /// Starts to take part.
  ///
  /// - Parameter onInterfaces: Called once the interfaces are known, which they may never be.
  func start(onInterfaces: @escaping () -> Void) {
    self.onInterfaces = onInterfaces
    checkPort()
    let monitor = InterfaceMonitor(
      on: loop,
      onTrouble: { [log] error in
        log?("Multicast DNS cannot follow the interfaces, and tries again: \(error.text).")
      }, onChange: { [weak self] in self?.interfacesChanged($0) })
    self.monitor = monitor
    monitor.start()
    let wakeMonitor = WakeMonitor(
      on: loop,
      onTrouble: { [log] error in
        log?("Multicast DNS does not notice when this machine was asleep: \(error.text).")
      }, onWake: { [weak self] in self?.machineWoke() })
    self.wakeMonitor = wakeMonitor
    wakeMonitor.start()
  }

  /// Ends; then, when all was sent or could not be, calls `completion`.
  ///
  /// - Parameter continued: What another process goes on with, under the same host name; nil if none
  ///   does. Everything else is said goodbye to.
  func stop(handingOver continued: [RegistrationID]?, _ completion: @escaping () -> Void) {
    guard !isStopped else { return completion() }
    monitor?.stop()
    wakeMonitor?.stop()
    if let continued {
      // First the goodbyes: what is shared with somebody who goes on is not among them.
      let ended = publications.subtracting(continued)
      for id in ended.sorted(by: { $0.rawValue < $1.rawValue }) { tellMachine(.unpublish(id)) }
      for id in continued + [.host] { tellMachine(.handOver(id)) }
    }
    tellMachine(.shutDown)
    finish()
    isStopped = true
    timer?.cancel()
    let closing = Array(sockets.values)
    sockets = [:]
    var openCount = closing.count
    guard openCount > 0 else { return completion() }
    for open in closing {
      open.socket.closeWhenSent(within: Self.goodbyeTime) {
        openCount -= 1
        if openCount == 0 { completion() }
      }
    }
  }

  // MARK: Requests

  /// Hands the machine what is wanted, once there is something to do it on.
  func handle(_ requests: [HostRequest]) {
    guard !isStopped else { return }
    if requests.contains(where: \.beginsSomething) { checkPort() }
    for request in requests {
      note(request)
      if early == nil { tellMachine(request.event) } else { early?.append(request.event) }
    }
    if early == nil { finish() }
  }

  private func note(_ request: HostRequest) {
    switch request {
    case .publish(let id, _), .publishRecord(let id, _): publications.insert(id)
    case .withdraw(let id): publications.remove(id)
    case .ask, .stopAsking, .doubt, .updateText, .updateRecord, .setFurtherRecord: break
    }
  }

  /// Hands over what came early, once the interfaces that there are can be spoken on.
  private func handOverEarly() {
    guard let events = early else { return }
    early = nil
    for event in events { tellMachine(event) }
    finish()
    onInterfaces?()
    onInterfaces = nil
  }

  // MARK: The machine

  private func handle(_ event: DiscoveryMachine.Event) {
    tellMachine(event)
    finish()
  }

  /// Hands the machine an event; what is to be done waits for ``finish()``.
  private func tellMachine(_ event: DiscoveryMachine.Event) {
    guard !isStopped else { return }
    machine.handle(event, now: .now, into: &actions)
  }

  private func wake() {
    timerSetFor = nil
    guard !isStopped else { return }
    let now = Instant.now
    if let due = machine.nextWake, due <= now { machine.wake(now: now, into: &actions) }
    finish()
  }

  /// Does what the machine said and sets the timer for its next wish.
  private func finish() {
    perform()
    guard let due = machine.nextWake else { return }
    // A timer that rings too early costs little; setting it anew for every packet would.
    if let timerSetFor, timerSetFor <= due { return }
    if timer == nil {
      timer = loop.makeTimer { [weak self] in self?.wake() }
    }
    // Not for now or earlier: time has to go on even if a machine never has enough.
    let time = max(due, .now + .microseconds(1))
    timerSetFor = time
    timer?.set(time)
  }

  private func perform() {
    var reports: [HostReport] = []
    for action in actions {
      switch action {
      case .send(let packet): sockets[packet.link]?.socket.send(packet)
      case .published(let id, let name): reports.append(.published(id, name))
      case .refused(let id, let name):
        publications.remove(id)
        reports.append(.refused(id, name))
      case .deliver(let id, let event, let interface, let moreComing):
        reports.append(.found(id, event, on: interface, moreComing: moreComing))
      }
    }
    actions.removeAll(keepingCapacity: true)
    if !reports.isEmpty { onReports(reports) }
  }

  private func received(_ datagram: Datagram) {
    guard
      let message = ReceivedMessage(
        decoding: datagram.bytes[...], on: datagram.link, from: datagram.source,
        isMulticast: datagram.isMulticast)
    else { return }
    handle(.received(message))
  }

  // MARK: Interfaces

  private func interfacesChanged(_ all: [SystemInterface]) {
    checkPort()
    let chosen = configuration.chosen(from: all)
    for gone in interfaces.keys where !chosen.contains(where: { $0.index == gone }) {
      remove(gone)
    }
    let names = Dictionary(uniqueKeysWithValues: chosen.map { ($0.index, $0.name) })
    if names != interfaces.mapValues(\.name) { onReports([.interfaces(names)]) }
    for interface in chosen where interfaces[interface.index] != interface {
      let earlier = interfaces.updateValue(interface, forKey: interface.index)
      update(interface)
      if let earlier, interface.hasRestarted(since: earlier) {
        handle(.interfaceRestarted(interface.index))
      }
    }
    handOverEarly()
  }

  /// Whatever was true of the networks before the machine slept may be so no more.
  private func machineWoke() {
    for index in interfaces.keys.sorted() { handle(.interfaceRestarted(index)) }
  }

  private func remove(_ index: InterfaceIndex) {
    interfaces[index] = nil
    handle(.interfaceGone(index))
    for version in IPVersion.allCases {
      closeSocket(Link(index, version))
      troubled.remove(Link(index, version))
    }
  }

  private func closeSocket(_ link: Link) {
    sockets.removeValue(forKey: link)?.socket.close()
  }

  /// Opens what sockets the interface needs, closes those that it no longer needs, and tells the
  /// machine.
  private func update(_ interface: SystemInterface) {
    for version in IPVersion.allCases {
      let link = Link(interface.index, version)
      let source = interface.usableAddress(version)
      if let open = sockets[link], open.source != source { closeSocket(link) }
      if let source, sockets[link] == nil { openSocket(link, from: source) }
    }
    tell(interface)
  }

  private func openSocket(_ link: Link, from source: IPAddress) {
    do throws(SystemError) {
      let socket = try MulticastSocket(link, from: source, on: loop, reader) {
        [weak self] in self?.received($0)
      }
      sockets[link] = (socket, source)
      troubled.remove(link)
    } catch {
      if troubled.insert(link).inserted {
        let name = interfaces[link.interface]?.name ?? "interface \(link.interface.rawValue)"
        log?("Multicast DNS cannot be spoken over \(link.version) on \(name): \(error.text).")
      }
      retryLater(link)
    }
  }

  /// Opens a link's socket after a while, if it is still wanted.
  private func retryLater(_ link: Link) {
    guard failed.insert(link).inserted else { return }
    loop.schedule(in: Self.retryDelay) { [weak self] in
      guard let self, !isStopped else { return }
      failed.remove(link)
      guard sockets[link] == nil, let interface = interfaces[link.interface],
        let source = interface.usableAddress(link.version)
      else { return }
      openSocket(link, from: source)
      if sockets[link] != nil { tell(interface) }
    }
  }

  /// Looks whether others share the port, since nobody tells: when something is asked for or
  /// published, which begins with questions that may be answered to this host alone.
  private func checkPort() {
    let isTooSoon = portCheckedAt.map { .now - $0 < Self.portCheckSpacing } ?? false
    guard !isTooSoon,
      let isShared = PortTable.hasMoreSockets(multicastDNSPort, than: sockets.count)
    else { return }
    portCheckedAt = .now
    guard isShared != isPortShared else { return }
    isPortShared = isShared
    for index in interfaces.keys.sorted() { interfaces[index].map { tell($0) } }
  }

  /// Tells the machine what the interface is like, with the links that can be spoken on.
  private func tell(_ interface: SystemInterface) {
    var known = interface.forDiscovery
    known.versions = known.versions.filter { sockets[Link(interface.index, $0)] != nil }
    known.hearsUnicast = !isPortShared
    handle(.interfaceChanged(known))
  }
}

extension DiscoveryMachine {
  /// A machine for a host of this name, cut to what a label holds; of any if nothing is left.
  fileprivate init(hostName: String) {
    let label = Array(Array(hostName.utf8).utf8Prefix(DNSName.Limits.labelByteCountMax))
    do throws(DNSWireError) {
      try self.init(hostLabel: label, chance: .random())
    } catch {
      self = .init(hostName: "localhost")
    }
  }
}

extension HostRequest {
  /// Whether it makes the machine ask others something.
  fileprivate var beginsSomething: Bool {
    switch self {
    case .ask, .publish, .publishRecord: true
    case .stopAsking, .doubt, .updateText, .updateRecord, .setFurtherRecord, .withdraw: false
    }
  }

  /// What the machine has to be told.
  fileprivate var event: DiscoveryMachine.Event {
    switch self {
    case .ask(let id, let request, let index, let options):
      .ask(id, request, on: index, options: options)
    case .stopAsking(let id): .stopAsking(id)
    case .publish(let id, let service): .publish(id, service)
    case .publishRecord(let id, let record): .publishRecord(id, record)
    case .updateText(let id, let text): .updateText(id, text)
    case .updateRecord(let id, let data, let ttlSeconds):
      .updateRecord(id, data, ttlSeconds: ttlSeconds)
    case .setFurtherRecord(let id, let number, let data, let ttlSeconds):
      .setFurtherRecord(id, number, data, ttlSeconds: ttlSeconds)
    case .doubt(let record, let index): .doubt(record, on: index)
    case .withdraw(let id): .unpublish(id)
    }
  }
}

extension BonjourConfiguration {
  /// The interfaces to use: those that were asked for, or all suitable ones, or for want of any the
  /// one on which this host talks to itself.
  func chosen(from all: [SystemInterface]) -> [SystemInterface] {
    if let interfaceNames {
      return all.filter { interfaceNames.contains($0.name) && $0.flags.contains(.up) }
    }
    let suitable = all.filter { $0.isSuitable && !$0.forDiscovery.versions.isEmpty }
    return suitable.isEmpty ? all.filter { $0.flags.contains([.loopback, .up]) } : suitable
  }
}
