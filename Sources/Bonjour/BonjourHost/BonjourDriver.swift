import DNSWire
import DiscoveryMachines
import Essentials
import HostEssentials
import NIOCore

/// Feeds a `DiscoveryMachine` with packets, requests and time, and does what it says. On one event
/// loop.
final class BonjourDriver: @unchecked Sendable {
  // Sendable because everything that changes is touched on `eventLoop` only.

  typealias Found = @Sendable (FoundEvent) -> Void
  typealias Published = @Sendable (PublicationEvent) -> Void

  private let configuration: BonjourConfiguration
  private let eventLoop: any EventLoop
  private let log: (@Sendable (String) -> Void)?
  private var machine: DiscoveryMachine
  private var actions: [DiscoveryMachine.Action] = []
  private var queries: [QueryID: Found] = [:]
  private var publications: [RegistrationID: Published] = [:]
  /// What was asked for before the interfaces were known, on which a name has to be probed for; nil
  /// from then on.
  private var early: [DiscoveryMachine.Event]? = []

  private var monitor: InterfaceMonitor?
  private var interfaces: [InterfaceIndex: SystemInterface] = [:]
  private var sockets: [Link: LinkSocket] = [:]
  private var timer: EventLoopTimer?
  private var timerSetFor: Instant?
  private var isStopped = false
  /// Whether somebody else had the port before; who comes later must take care of that themselves.
  private var isPortShared = false

  /// How long to wait before a socket that could not be opened is tried again.
  private static let reopenDelay = TimeAmount.seconds(5)

  /// A link's socket, or the way to it.
  private enum LinkSocket {
    case opening
    case open(MulticastSocket, from: IPAddress)

    var socket: MulticastSocket? {
      if case .open(let socket, _) = self { socket } else { nil }
    }
  }

  init(
    configuration: BonjourConfiguration, on eventLoop: any EventLoop,
    log: (@Sendable (String) -> Void)?
  ) {
    self.configuration = configuration
    self.eventLoop = eventLoop
    self.log = log
    machine = .init(hostName: configuration.hostName)
  }

  /// Runs work on the event loop, soon, after what was handed over before. From any thread.
  func onLoop(_ work: @escaping @Sendable (BonjourDriver) -> Void) {
    eventLoop.execute { [self] in work(self) }
  }

  // MARK: On the loop

  var interfaceNames: [InterfaceIndex: String] { interfaces.mapValues(\.name) }

  /// Starts to take part.
  func start() {
    isPortShared = MulticastSocket.isPortTaken()
    let monitor = InterfaceMonitor(on: eventLoop) { [weak self] in self?.interfacesChanged($0) }
    self.monitor = monitor
    monitor.start()
  }

  /// Says goodbye and ends; then, when all was sent, calls `completion`.
  func stop(_ completion: @escaping @Sendable () -> Void) {
    guard !isStopped else { return completion() }
    monitor?.stop()
    queries = [:]
    publications = [:]
    handle(.shutDown)
    isStopped = true
    timer?.cancel()
    let closed = sockets.values.compactMap { $0.socket?.close() }
    sockets = [:]
    EventLoopFuture.andAllComplete(closed, on: eventLoop).whenComplete { _ in completion() }
  }

  // MARK: Clients

  func start(
    _ id: QueryID, _ request: QueryRequest, on interface: InterfaceIndex?,
    _ onEvent: @escaping Found
  ) {
    guard !isStopped else { return }
    queries[id] = onEvent
    forward(.ask(id, request, on: interface))
  }

  func stop(_ id: QueryID) {
    guard queries.removeValue(forKey: id) != nil else { return }
    forward(.stopAsking(id))
  }

  func publish(_ id: RegistrationID, _ service: ServiceRegistration, _ onEvent: @escaping Published)
  {
    guard !isStopped else { return }
    publications[id] = onEvent
    forward(.publish(id, service))
  }

  func update(_ id: RegistrationID, _ text: TXTRecord) {
    guard publications[id] != nil else { return }
    forward(.updateText(id, text))
  }

  func withdraw(_ id: RegistrationID) {
    guard publications.removeValue(forKey: id) != nil else { return }
    forward(.unpublish(id))
  }

  /// Hands the machine what a client wants, once there is something to do it on.
  private func forward(_ event: DiscoveryMachine.Event) {
    if early == nil { handle(event) } else { early?.append(event) }
  }

  /// Hands over what came early, once all interfaces that there are can be spoken on.
  private func handOverEarly() {
    let isOpening = sockets.values.contains { $0.socket == nil }
    guard let events = early, !isOpening else { return }
    early = nil
    for event in events { handle(event) }
  }

  // MARK: The machine

  private func handle(_ event: DiscoveryMachine.Event) {
    guard !isStopped else { return }
    machine.handle(event, now: .now, into: &actions)
    finish()
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
    for action in actions {
      switch action {
      case .send(let packet): sockets[packet.link]?.socket?.send(packet)
      case .published(let id, let name): publications[id]?(.published(name))
      case .refused(let id, let name):
        publications.removeValue(forKey: id)?(.refused(name))
      case .deliver(let id, let event, let interface, let moreComing):
        queries[id]?(FoundEvent(event: event, interface: interface, moreComing: moreComing))
      }
    }
    actions.removeAll(keepingCapacity: true)
    for socket in sockets.values { socket.socket?.flush() }
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
    let chosen = configuration.chosen(from: all)
    for gone in interfaces.keys where !chosen.contains(where: { $0.index == gone }) {
      remove(gone)
    }
    for interface in chosen where interfaces[interface.index] != interface {
      interfaces[interface.index] = interface
      update(interface)
    }
    handOverEarly()
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
      eventLoop.scheduleTask(in: Self.reopenDelay) { [weak self] in
        if let self, let interface = interfaces[link.interface] { update(interface) }
      }
    }
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
