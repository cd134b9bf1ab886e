import DNSWire
import DiscoveryMachines
import Essentials
import EventLoop
import PortSharing

/// Runs a `DiscoveryMachine`: passes packets, requests and time to it, and performs its actions. On
/// one event loop.
final class BonjourDriver: @unchecked Sendable {
  // Sendable because everything that changes is touched on `loop` only.

  private let configuration: BonjourConfiguration
  private let loop: EpollLoop
  private let log: (@Sendable (String) -> Void)?
  private var runner: MachineRunner<DiscoveryMachine>
  private let onReports: ([DiscoveryReport]) -> Void
  /// Called before the machine handles anything.
  var beforeEvents: (() -> Void)?
  /// The time that the machine gets.
  var now: () -> Instant = { .now }
  /// Memory for reports, reused.
  private var reports: [DiscoveryReport] = []
  /// All registrations, of this process or of a hub's programs.
  private(set) var registrations: Set<RegistrationID> = []
  /// Requests from before the interfaces were known, on which names have to be probed; nil from
  /// then on.
  private var early: [DiscoveryMachine.Event]? = []

  private var onInterfaces: (() -> Void)?

  private var monitor: InterfaceMonitor?
  private var wakeMonitor: WakeMonitor?
  private var interfaces: [InterfaceIndex: SystemInterface] = [:]
  /// The open sockets, each with its source address.
  private var sockets: [MulticastLink: (socket: MulticastSocket, source: InetAddress)] = [:]
  /// What could not be opened and is about to be tried again.
  private var failed: Set<MulticastLink> = []
  /// Links that could not be opened, and for which that was logged.
  private var troubled: Set<MulticastLink> = []
  private let reader = DatagramReader()
  /// Queries whose results, if there are any yet, are from the cache.
  private var startedQueries: Set<QueryID> = []
  private var isStopped = false

  /// How long to wait before a socket that could not be opened is tried again.
  private static let retryDelay = TimeSpan.seconds(5)
  /// How long goodbyes may wait for a system that cannot send them just now.
  private static let goodbyeTime = TimeSpan.seconds(1)

  /// - Parameters:
  ///   - configuration: Host name and interfaces.
  ///   - loop: The event loop of everything here.
  ///   - log: Called with a sentence for each link that can't be used, and why.
  ///   - onReports: Called with the reports of the machine, in batches.
  init(
    configuration: BonjourConfiguration, on loop: EpollLoop,
    log: (@Sendable (String) -> Void)?, onReports: @escaping ([DiscoveryReport]) -> Void
  ) {
    self.configuration = configuration
    self.loop = loop
    self.log = log
    self.onReports = onReports
    runner = MachineRunner(DiscoveryMachine(hostName: configuration.hostName))
  }

  /// Starts to take part.
  ///
  /// - Parameter onInterfaces: Called once the interfaces are known, which they may never be.
  func start(onInterfaces: @escaping () -> Void) {
    self.onInterfaces = onInterfaces
    let monitor = InterfaceMonitor(
      on: loop,
      onTrouble: { [log] error in
        log?("Multicast DNS cannot observe the interfaces, and will retry: \(error.text).")
      }, onChange: { [weak self] in self?.interfacesChanged($0) })
    self.monitor = monitor
    monitor.start()
    let wakeMonitor = WakeMonitor(
      on: loop,
      onTrouble: { [log] error in
        log?("Multicast DNS cannot detect that this machine slept: \(error.text).")
      }, onWake: { [weak self] in self?.machineWoke() })
    self.wakeMonitor = wakeMonitor
    wakeMonitor.start()
  }

  /// Ends; calls `completion` when everything was sent or could not be.
  ///
  /// - Parameter continued: The registrations that another process continues, under the same host
  ///   name; nil if none does. All others get goodbye records.
  func stop(handingOver continued: [RegistrationID]?, _ completion: @escaping () -> Void) {
    guard !isStopped else { return completion() }
    monitor?.stop()
    wakeMonitor?.stop()
    if let continued {
      // Goodbyes first; records that a continued registration has, too, are not among them.
      let ended = registrations.subtracting(continued)
      for id in ended.sorted(by: { $0.rawValue < $1.rawValue }) { feedMachine(.unregister(id)) }
      // The host's name is continued with the registrations that need it, if there are any.
      feedMachine(.handOver([.host] + continued))
    }
    feedMachine(.shutDown)
    finish()
    isStopped = true
    runner.cancelTimer()
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

  /// Passes requests to the machine, once interfaces are known.
  func handle(_ requests: some Sequence<DiscoveryRequest>) {
    guard !isStopped else { return }
    for request in requests {
      record(request)
      feedLater(.request(request))
      // Nothing that was received since can be among the results.
      if case .startQuery(let id, _, _, _) = request, early == nil { startedQueries.insert(id) }
    }
    if early == nil { finish() }
  }

  /// Removes registrations that other processes continue, without goodbyes.
  func handOver(_ ids: Set<RegistrationID>) {
    guard !isStopped else { return }
    registrations.subtract(ids)
    feedLater(.handOver(ids.sorted { $0.rawValue < $1.rawValue }))
    if early == nil { finish() }
  }

  /// Hands the machine an event, or keeps it until interfaces are known.
  private func feedLater(_ event: DiscoveryMachine.Event) {
    if early == nil { feedMachine(event) } else { early?.append(event) }
  }

  private func record(_ request: DiscoveryRequest) {
    switch request {
    case .registerService(let id, _), .registerRecord(let id, _): registrations.insert(id)
    case .unregister(let id): registrations.remove(id)
    case .startQuery, .stopQuery, .reconfirm, .updateText, .updateRecord, .setRecord: break
    }
  }

  /// Hands over what came early, once the interfaces that there are can be spoken on.
  private func handOverEarly() {
    guard let events = early else { return }
    early = nil
    for event in events { feedMachine(event) }
    finish()
    onInterfaces?()
    onInterfaces = nil
  }

  // MARK: The machine

  private func handle(_ event: DiscoveryMachine.Event) {
    feedMachine(event)
    finish()
  }

  /// Passes an event to the machine; its actions wait for ``finish()``.
  private func feedMachine(_ event: DiscoveryMachine.Event) {
    beforeEvents?()
    guard !isStopped else { return }
    runner.handle(event, now: now())
  }

  private func wake() {
    beforeEvents?()
    guard !isStopped else { return }
    runner.wake(now: now())
    finish()
  }

  /// Performs the actions of the machine and sets the timer to its next wake.
  private func finish() {
    perform()
    runner.setTimer(now: .now, loop.makeTimer { [weak self] in self?.wake() })
  }

  private func perform() {
    var reports: [DiscoveryReport] = []
    swap(&reports, &self.reports)
    defer { startedQueries.removeAll(keepingCapacity: true) }
    let actions = runner.takeActions()
    for action in actions {
      switch action {
      case .send(let packet):
        // It may have been closed since.
        guard let open = sockets[packet.link] else { break }
        open.socket.send(packet)
      case .registered(let id, let name): reports.append(.registered(id, name))
      case .refused(let id, let name):
        registrations.remove(id)
        reports.append(.refused(id, name))
      case .deliver(let id, let event, let interface, let moreComing):
        if !startedQueries.isEmpty, startedQueries.remove(id) != nil {
          reports.append(.answersFromCache(id))
        }
        reports.append(.found(id, event, on: interface, moreComing: moreComing))
      }
    }
    runner.reuse(consume actions)
    if !reports.isEmpty { onReports(reports) }
    reports.removeAll(keepingCapacity: true)
    swap(&reports, &self.reports)
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
    let chosen = configuration.chosen(from: all)
    for gone in interfaces.keys where !chosen.contains(where: { $0.index == gone }) {
      remove(gone)
    }
    let names = Dictionary(uniqueKeysWithValues: chosen.map { ($0.index, $0.name) })
    if early != nil || names != interfaces.mapValues(\.name) { onReports([.interfaces(names)]) }
    for interface in chosen where interfaces[interface.index] != interface {
      let earlier = interfaces.updateValue(interface, forKey: interface.index)
      update(interface)
      if let earlier, interface.hasRestarted(since: earlier) {
        handle(.interfaceRestarted(interface.index))
      }
    }
    handOverEarly()
  }

  /// After sleep, the interfaces may be on other networks.
  private func machineWoke() {
    for index in interfaces.keys.sorted() { handle(.interfaceRestarted(index)) }
  }

  private func remove(_ index: InterfaceIndex) {
    interfaces[index] = nil
    handle(.interfaceGone(index))
    for version in IPVersion.allCases {
      closeSocket(MulticastLink(index, version))
      troubled.remove(MulticastLink(index, version))
    }
  }

  private func closeSocket(_ link: MulticastLink) {
    sockets.removeValue(forKey: link)?.socket.close()
  }

  /// Opens the sockets that the interface needs, closes those that it no longer needs, and notifies
  /// the machine.
  private func update(_ interface: SystemInterface) {
    for version in IPVersion.allCases {
      let link = MulticastLink(interface.index, version)
      let source = interface.usableAddress(version)
      if let open = sockets[link], open.source != source { closeSocket(link) }
      if let source, sockets[link] == nil { openSocket(link, from: source) }
    }
    notify(interface)
  }

  private func openSocket(_ link: MulticastLink, from source: InetAddress) {
    do throws(SystemError) {
      let socket = try MulticastSocket(link, from: source, on: loop, reader) {
        [weak self] in self?.received($0)
      }
      sockets[link] = (socket, source)
      troubled.remove(link)
    } catch {
      if troubled.insert(link).inserted {
        let name = interfaces[link.interface]?.name ?? "interface \(link.interface.rawValue)"
        log?("Multicast DNS cannot be used over \(link.version) on \(name): \(error.text).")
      }
      retryLater(link)
    }
  }

  /// Opens the socket of a link after a pause, if it is still needed.
  private func retryLater(_ link: MulticastLink) {
    guard failed.insert(link).inserted else { return }
    loop.schedule(in: Self.retryDelay) { [weak self] in
      guard let self, !isStopped else { return }
      failed.remove(link)
      guard sockets[link] == nil, let interface = interfaces[link.interface],
        let source = interface.usableAddress(link.version)
      else { return }
      openSocket(link, from: source)
      if sockets[link] != nil { notify(interface) }
    }
  }

  /// Notifies the machine of the interface, with the links on which there is a socket.
  private func notify(_ interface: SystemInterface) {
    var known = interface.forDiscovery
    known.versions = known.versions.filter { sockets[MulticastLink(interface.index, $0)] != nil }
    // Other programs may have the port, too, and receive some of the unicast packets (RFC 6762, §15.1).
    known.receivesUnicast = false
    handle(.interfaceChanged(known))
  }
}

extension DiscoveryMachine {
  /// A machine for a host of this name, cut to what a label holds; of any if nothing is left.
  fileprivate init(hostName: String) {
    let label = Array(Array(hostName.utf8).utf8Prefix(DNSName.Limits.labelByteCountMax))
    do throws(DNSWireError) {
      try self.init(hostLabel: label, rng: .random())
    } catch {
      self = .init(hostName: "localhost")
    }
  }
}

extension BonjourConfiguration {
  /// The interfaces to use: those of the configuration, or all suitable ones, or, without any, the
  /// loopback interface.
  func chosen(from all: [SystemInterface]) -> [SystemInterface] {
    if let interfaceNames {
      return all.filter { interfaceNames.contains($0.name) && $0.flags.contains(.up) }
    }
    let suitable = all.filter { $0.isSuitable && !$0.forDiscovery.versions.isEmpty }
    return suitable.isEmpty ? all.filter { $0.flags.contains([.loopback, .up]) } : suitable
  }
}
