import ARPWire
import DiscoveryMachines
import Essentials
import Glibc
import EventLoop

/// Runs a `LinkLocalMachine`: passes ARP packets, changes of its interface and time to it, and
/// performs its actions. On one event loop.
final class LinkLocalDriver: @unchecked Sendable {
  // Sendable because everything that changes is touched on `loop` only.

  private let interfaceName: String
  private let configuration: LinkLocalConfiguration
  private let loop: EpollLoop
  private let onEvent: @Sendable (LinkLocalEvent) -> Void
  private let store: LinkLocalStore?

  private var monitor: InterfaceMonitor?
  private var wakeMonitor: WakeMonitor?
  private var lock: InterfaceLock?
  private lazy var timer = DeadlineTimer(loop.makeTimer { [weak self] in self?.wake() })
  /// Called once when it has started, or cannot.
  private var onStart: ((LinkLocalError?) -> Void)?
  private var isStopped = false

  /// The interface's present state; nil while it doesn't exist. The members below belong to it.
  private var interface: SystemInterface?
  private var machine: LinkLocalMachine?
  private var rule: BroadcastRule?
  private var socket: ARPSocket?
  /// Whether a socket that could not be opened, or ended, is about to be tried again.
  private var isReopening = false
  private var isLinkUp = false
  /// The address that was set, and whether the kernel has reported it.
  private var held: (address: Inet4Address, isSeen: Bool)?
  private var actions: [LinkLocalMachine.Action] = []
  private var reportedStatus: LinkLocalMachine.Status?
  /// The last address, where it could not be stored yet.
  private var unstored: (address: Inet4Address, hardware: MACAddress)?
  private var storePauses = RetryPauses()
  private var storeTimer: (any LoopTimer)?

  /// How long to wait before a socket that could not be opened, or ended, is tried again.
  private static let reopenDelay = TimeSpan.seconds(1)

  init(
    _ interfaceName: String, configuration: LinkLocalConfiguration, on loop: EpollLoop,
    onEvent: @escaping @Sendable (LinkLocalEvent) -> Void
  ) {
    self.interfaceName = interfaceName
    self.configuration = configuration
    self.loop = loop
    self.onEvent = onEvent
    store = configuration.folder.map(LinkLocalStore.init)
  }

  /// Enqueues work on the event loop, after work enqueued earlier. May be called from any thread.
  func onLoop(_ work: @escaping @Sendable (LinkLocalDriver) -> Void) {
    loop.execute { [self] in work(self) }
  }

  // MARK: Start and end

  /// Starts; then calls `completion`, with an error if it cannot.
  func start(_ completion: @escaping (LinkLocalError?) -> Void) {
    do throws(LinkLocalError) { try checkRights() } catch { return completion(error) }
    onStart = { [weak self] error in
      if error != nil { self?.stop {} }
      completion(error)
    }
    let monitor = InterfaceMonitor(
      on: loop, onTrouble: { [weak self] in self?.monitorFailed($0) },
      onChange: { [weak self] in self?.interfacesChanged($0) })
    self.monitor = monitor
    monitor.start()
    let wakeMonitor = WakeMonitor(on: loop) { [weak self] in self?.machineWoke() }
    self.wakeMonitor = wakeMonitor
    wakeMonitor.start()
  }

  /// Removes the address and ends; then calls `completion`.
  func stop(_ completion: @escaping @Sendable () -> Void) {
    guard !isStopped else { return completion() }
    endInterface()
    isStopped = true
    monitor?.stop()
    wakeMonitor?.stop()
    timer.cancel()
    storeTimer?.cancel()
    storeAddress()
    lock = nil
    completion()
  }

  /// Stops, and reports the error.
  private func fail(_ error: LinkLocalError) {
    stop {}
    onEvent(.failed(error))
  }

  /// Finds out at once what would otherwise fail when there is an address to be set.
  private func checkRights() throws(LinkLocalError) {
    let index = InterfaceIndex(rawValue: if_nametoindex(interfaceName))
    guard index.rawValue != 0 else { throw .noInterface(interfaceName) }
    try mapping(.rawSockets) { () throws(SystemError) in try ARPSocket.checkPermission() }
    try mapping(.administration) { () throws(SystemError) in
      // No host has this address: 169.254.0.0 is reserved.
      let reserved = Inet4Address(169, 254, 0, 0)
      do throws(SystemError) {
        try NetlinkSocket(.route).perform(LinkLocalAddressRequest.remove(reserved, from: index))
      } catch {
        guard [EADDRNOTAVAIL, ENODEV].contains(error.number) else { throw error }
      }
    }
    do throws(SystemError) { lock = try InterfaceLock(interfaceName) } catch {
      throw error.number == EADDRINUSE
        ? .alreadyManaged(interfaceName) : .refused(error.number)
    }
  }

  private func mapping(
    _ capability: LinkLocalError.Capability, _ body: () throws(SystemError) -> Void
  ) throws(LinkLocalError) {
    do throws(SystemError) { try body() } catch {
      let isRight = [EPERM, EACCES].contains(error.number)
      throw isRight ? .notPermitted(capability) : .refused(error.number)
    }
  }

  // MARK: The interface

  /// The interfaces are unknown for now. A machine that runs continues with the last known state.
  private func monitorFailed(_ error: SystemError) {
    guard let onStart else { return }
    self.onStart = nil
    onStart(.refused(error.number))
  }

  private func interfacesChanged(_ all: [SystemInterface]) {
    guard !isStopped else { return }
    let new = all.first { $0.name == interfaceName }
    let hardware = new.flatMap { MACAddress($0.hardwareAddress) }
    let isSuitable = hardware != nil && new?.flags.contains(.loopback) == false
    if let onStart {
      self.onStart = nil
      guard new != nil else { return onStart(.noInterface(interfaceName)) }
      guard isSuitable else { return onStart(.noHardwareAddress(interfaceName)) }
      onStart(nil)
    }
    guard let new, let hardware, isSuitable else {
      guard interface != nil else { return }
      handle(.linkDown)
      endInterface()
      return onEvent(.waiting(.linkDown))
    }
    if interface?.index != new.index || machine?.hardware != hardware {
      endInterface()
      begin(new, hardware)
    }
    let earlier = interface
    interface = new
    checkAddresses(new)
    if new.isWorking, socket == nil { openSocket(new.index) }
    if !new.isWorking { closeSocket() }
    updateLink(hasRestarted: earlier.map(new.hasRestarted) ?? false)
    if !new.isWorking, earlier?.isWorking != false { onEvent(.waiting(.linkDown)) }
  }

  private func begin(_ interface: SystemInterface, _ hardware: MACAddress) {
    let first = configuration.firstAddress ?? store?.address(of: hardware)
    var machine = LinkLocalMachine(hardware: hardware, remembered: first, rng: .random())
    for leftover in interface.addresses where leftover.origin == LinkLocalAddressRequest.origin {
      guard case .v4(let address) = leftover.address else { continue }
      // A program that was killed could not remove it, and it is not defended.
      remove(address, from: interface.index)
    }
    do throws(SystemError) {
      rule = try BroadcastRule(on: interfaceName)
      machine.answersRequests = false
    } catch {
      // The kernel answers requests by unicast, the machine by broadcast.
      machine.answersRequests = true
    }
    self.machine = machine
    reportedStatus = machine.status
  }

  /// There is nothing left to give an address to, or it is to be left alone.
  private func endInterface() {
    guard interface != nil else { return }
    handle(.shutDown)
    closeSocket()
    machine = nil
    rule = nil
    interface = nil
    isLinkUp = false
  }

  /// Releases our address when another program sets one, and notices when ours was removed.
  private func checkAddresses(_ interface: SystemInterface) {
    let isThere = interface.addresses.contains { $0.address == held.map { .v4($0.address) } }
    let wasTaken = held?.isSeen == true && !isThere
    if isThere { held?.isSeen = true }
    handle(.routableAddress(otherAddress != nil))
    if wasTaken, held != nil { handle(.linkUp) }
  }

  /// An IPv4 address of the interface that another program set.
  private var otherAddress: Inet4Address? {
    for found in interface?.addresses ?? [] {
      guard case .v4(let address) = found.address, address != held?.address,
        found.origin != LinkLocalAddressRequest.origin
      else { continue }
      return address
    }
    return nil
  }

  private func machineWoke() {
    if isLinkUp { handle(.linkUp) }
  }

  /// Notifies the machine whether it can send and receive.
  private func updateLink(hasRestarted: Bool = false) {
    let wasUp = isLinkUp
    isLinkUp = socket != nil && interface?.isWorking == true
    if isLinkUp, !wasUp || hasRestarted {
      handle(.linkUp)
    } else if !isLinkUp, wasUp {
      handle(.linkDown)
    }
  }

  // MARK: The socket

  private func openSocket(_ index: InterfaceIndex) {
    do throws(SystemError) {
      socket = try ARPSocket(
        index, on: loop,
        onPacket: { [weak self] in self?.handle(.received($0)) },
        onEnd: { [weak self] in self?.socketEnded() })
    } catch { reopenLater() }
  }

  private func closeSocket() {
    socket?.close()
    socket = nil
  }

  /// The interface went down or is gone, which the monitor reports, too, or there was another
  /// error.
  private func socketEnded() {
    socket = nil
    updateLink()
    reopenLater()
  }

  private func reopenLater() {
    guard !isReopening else { return }
    isReopening = true
    loop.schedule(in: Self.reopenDelay) { [weak self] in
      guard let self else { return }
      isReopening = false
      guard !isStopped, socket == nil, let interface, interface.isWorking else { return }
      openSocket(interface.index)
      updateLink()
    }
  }

  // MARK: The machine

  private func handle(_ event: LinkLocalMachine.Event) {
    guard !isStopped else { return }
    machine?.handle(event, now: .now, into: &actions)
    finish()
  }

  private func wake() {
    guard !isStopped else { return }
    timer.fired()
    machine?.wake(now: .now, into: &actions)
    finish()
  }

  /// Performs the actions of the machine, reports its status, and sets the timer to its next wake.
  private func finish() {
    let todo = actions
    actions.removeAll(keepingCapacity: true)
    for action in todo { perform(action) }
    guard let machine else { return }
    if machine.status != reportedStatus {
      reportedStatus = machine.status
      notify(machine.status)
    }
    timer.set(machine.nextWake, after: .now)
  }

  private func perform(_ action: LinkLocalMachine.Action) {
    guard let index = interface?.index else { return }
    switch action {
    case .broadcast(let packet):
      socket?.broadcast(packet)
    case .claim(let address):
      held = (address, isSeen: false)
      do throws(SystemError) {
        try NetlinkSocket(.route).perform(LinkLocalAddressRequest.set(address, on: index))
        onEvent(.claimed(address))
      } catch {
        // If the interface is gone, the monitor is about to report it.
        if error.number != ENODEV { fail(.refused(error.number)) }
      }
    case .remember(let address):
      if let machine { unstored = (address, machine.hardware) }
      storeAddress()
    case .conflicted(let address, let other): onEvent(.conflict(address, with: other))
    case .defended(let address, let other): onEvent(.defended(address, against: other))
    case .resetConnections(let address):
      // A kernel that cannot leaves them to time out.
      try? TCPConnections.reset(from: address)
    case .release(let address, let reason):
      held = nil
      remove(address, from: index)
      onEvent(.released(address, reason))
    }
  }

  /// Stores the last address; again, after longer pauses, where that fails.
  private func storeAddress() {
    guard let store, let (address, hardware) = unstored else { return }
    if store.store(address, of: hardware) {
      unstored = nil
      storePauses.succeeded()
      storeTimer?.cancel()
      return
    }
    let (pause, isFirst) = storePauses.failed()
    if isFirst { onEvent(.notStored(address)) }
    guard !isStopped else { return }
    if storeTimer == nil { storeTimer = loop.makeTimer { [weak self] in self?.storeAddress() } }
    storeTimer?.set(.now + pause)
  }

  /// Removes an address, unless it or its interface is gone already.
  private func remove(_ address: Inet4Address, from index: InterfaceIndex) {
    try? NetlinkSocket(.route).perform(LinkLocalAddressRequest.remove(address, from: index))
  }

  private func notify(_ status: LinkLocalMachine.Status) {
    switch status {
    case .routableAddress: otherAddress.map { onEvent(.waiting(.otherAddress($0))) }
    case .probing(let address): onEvent(.probing(address))
    case .pausing(let until): onEvent(.pausing(until - .now))
    case .linkDown, .claimed, .shutDown: break  // Reported where they begin.
    }
  }
}
