import DNSWire
import DiscoveryMachines
import Essentials
import HostEssentials
import NIOCore
import SharingMachines

/// Feeds a `DiscoveryMachine` with packets, requests and time, and does what it says. On one event
/// loop.
final class BonjourDriver: @unchecked Sendable {
  // Sendable because everything that changes is touched on `eventLoop` only.

  private let configuration: BonjourConfiguration
  private let eventLoop: any EventLoop
  private let log: (@Sendable (String) -> Void)?
  private var machine: DiscoveryMachine
  private var actions: [DiscoveryMachine.Action] = []
  private let onReports: ([HostReport]) -> Void
  private var publications: Set<RegistrationID> = []
  /// What was asked for before the interfaces were known, on which a name has to be probed for; nil
  /// from then on.
  private var early: [DiscoveryMachine.Event]? = []

  private var monitor: InterfaceMonitor?
  private var wakeMonitor: WakeMonitor?
  private var interfaces: [InterfaceIndex: SystemInterface] = [:]
  private var sockets: [Link: LinkSocket] = [:]
  private var timer: EventLoopTimer?
  private var timerSetFor: Instant?
  private var isStopped = false
  /// Whether somebody else has the port, and gets some of what is sent to this host alone
  /// (RFC 6762, §15.1).
  private var isPortShared = false
  private var portCheckedAt: Instant?

  /// How long to wait before a socket that could not be opened is tried again.
  private static let retryDelay = TimeAmount.seconds(5)
  /// How often is looked who has the port, at most.
  private static let portCheckSpacing = TimeSpan.seconds(1)
  /// How long to wait before a socket that ended by itself is opened again.
  private static let reopenDelay = TimeAmount.seconds(1)
  /// How long goodbyes may wait for a system that cannot send them just now.
  private static let goodbyeTime = TimeAmount.seconds(1)

  /// A link's socket, or the way to it.
  private enum LinkSocket {
    case opening
    case open(MulticastSocket, from: IPAddress)

    var socket: MulticastSocket? {
      if case .open(let socket, _) = self { socket } else { nil }
    }
  }

  /// - Parameters:
  ///   - configuration: How to take part.
  ///   - eventLoop: Where everything happens.
  ///   - log: Told on which links it cannot take part, and why.
  ///   - onReports: Told what the machine says, all at once that came together.
  init(
    configuration: BonjourConfiguration, on eventLoop: any EventLoop,
    log: (@Sendable (String) -> Void)?, onReports: @escaping ([HostReport]) -> Void
  ) {
    self.configuration = configuration
    self.eventLoop = eventLoop
    self.log = log
    self.onReports = onReports
    machine = .init(hostName: configuration.hostName)
  }

  /// Starts to take part.
  func start() {
    checkPort()
    let monitor = InterfaceMonitor(
      on: eventLoop,
      onTrouble: { [log] error in
        log?("Multicast DNS cannot follow the interfaces, and tries again: \(error.text).")
      }, onChange: { [weak self] in self?.interfacesChanged($0) })
    self.monitor = monitor
    monitor.start()
    let wakeMonitor = WakeMonitor(
      on: eventLoop,
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
  func stop(
    handingOver continued: [RegistrationID]?, _ completion: @escaping @Sendable () -> Void
  ) {
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
    let closed = sockets.values.compactMap {
      $0.socket?.closeWhenSent(within: Self.goodbyeTime)
    }
    sockets = [:]
    EventLoopFuture.andAllComplete(closed, on: eventLoop).whenComplete { _ in completion() }
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

  /// Hands over what came early, once all interfaces that there are can be spoken on.
  private func handOverEarly() {
    let isOpening = sockets.values.contains { $0.socket == nil }
    guard let events = early, !isOpening else { return }
    early = nil
    for event in events { tellMachine(event) }
    finish()
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
      timer = EventLoopTimer(eventLoop: eventLoop) { [weak self] in self?.wake() }
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
      case .send(let packet): sockets[packet.link]?.socket?.send(packet)
      case .published(let id, let name): reports.append(.published(id, name))
      case .refused(let id, let name):
        publications.remove(id)
        reports.append(.refused(id, name))
      case .deliver(let id, let event, let interface, let moreComing):
        reports.append(.found(id, event, on: interface, moreComing: moreComing))
      }
    }
    actions.removeAll(keepingCapacity: true)
    for socket in sockets.values { socket.socket?.flush() }
    if !reports.isEmpty { onReports(reports) }
  }

  private func received(_ datagram: MulticastSocket.Datagram) {
    let bytes = Array(buffer: datagram.bytes)
    guard
      let message = ReceivedMessage(
        decoding: bytes[...], on: datagram.link, from: datagram.source,
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
    for version in IPVersion.allCases { closeSocket(Link(index, version)) }
  }

  private func closeSocket(_ link: Link) {
    sockets.removeValue(forKey: link)?.socket?.close()
  }

  /// Opens what sockets the interface needs, closes those that it no longer needs, and tells the
  /// machine.
  private func update(_ interface: SystemInterface) {
    for version in IPVersion.allCases {
      let link = Link(interface.index, version)
      let source = interface.usableAddress(version)
      if case .open(_, let old)? = sockets[link], old != source { closeSocket(link) }
      if let source, sockets[link] == nil { openSocket(link, from: source) }
    }
    tell(interface)
  }

  private func openSocket(_ link: Link, from source: IPAddress) {
    sockets[link] = .opening
    MulticastSocket.open(link, from: source, on: eventLoop) {
      [weak self] in self?.received($0)
    }.assumeIsolated().whenComplete { [weak self] result in
      self?.opened(result, link, from: source)
    }
  }

  private func opened(
    _ result: Result<MulticastSocket, any Error>, _ link: Link, from source: IPAddress
  ) {
    let interface = isStopped ? nil : interfaces[link.interface]
    defer { handOverEarly() }
    switch result {
    case .success(let socket) where interface?.usableAddress(link.version) == source:
      sockets[link] = .open(socket, from: source)
      socket.whenClosed { [weak self] in self?.ended(socket) }
      if let interface { tell(interface) }
    case .success(let socket):
      // Too late: the interface has another address by now, or is gone.
      socket.close()
      sockets[link] = nil
      if let interface { update(interface) }
    case .failure(let error):
      sockets[link] = nil
      guard let interface else { return }
      let reason = (error as? IOError).map { SystemError(number: $0.errnoCode).text } ?? "\(error)"
      log?("Multicast DNS cannot be spoken over \(link.version) on \(interface.name): \(reason).")
      openSocket(link, in: Self.retryDelay)
    }
  }

  /// A socket ended by itself, because the system refused a datagram. The machine is not told: to it,
  /// a few packets are lost.
  private func ended(_ socket: MulticastSocket) {
    let link = socket.link
    guard sockets[link]?.socket === socket else { return }
    sockets[link] = nil
    guard let interface = interfaces[link.interface] else { return }
    log?(
      "Multicast DNS over \(link.version) on \(interface.name) was interrupted: "
        + "the system refused a packet.")
    openSocket(link, in: Self.reopenDelay)
  }

  /// Opens a link's socket after a while, if it is still wanted.
  private func openSocket(_ link: Link, in delay: TimeAmount) {
    eventLoop.scheduleTask(in: delay) { [weak self] in
      guard let self, !isStopped, sockets[link] == nil,
        let source = interfaces[link.interface]?.usableAddress(link.version)
      else { return }
      openSocket(link, from: source)
    }
  }

  /// Looks whether others share the port, since nobody tells: when something is asked for or
  /// published, which begins with questions that may be answered to this host alone.
  private func checkPort() {
    let isOpening = sockets.values.contains { $0.socket == nil }
    let isTooSoon = portCheckedAt.map { .now - $0 < Self.portCheckSpacing } ?? false
    guard !isOpening, !isTooSoon, let count = PortTable.socketCount(multicastDNSPort)
    else { return }
    portCheckedAt = .now
    let wasShared = isPortShared
    isPortShared = count > sockets.count
    guard isPortShared != wasShared else { return }
    for index in interfaces.keys.sorted() { interfaces[index].map { tell($0) } }
  }

  /// Tells the machine what the interface is like, with the links that can be spoken on.
  private func tell(_ interface: SystemInterface) {
    var known = interface.forDiscovery
    known.versions = known.versions.filter {
      sockets[Link(interface.index, $0)]?.socket != nil
    }
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
