internal import BluetoothInterface
internal import BluetoothWire
internal import EventLoop

/// Which links a manager wants to hear about: those to these peers or with these services; all if
/// it names none.
struct ConnectionEventFilter: Sendable {
  var services: [BluetoothUUID]
  var peers: [DeviceAddress]

  func matches(_ link: LinkInfo) -> Bool {
    if services.isEmpty, peers.isEmpty { return true }
    return peers.contains(link.peer) || services.contains { link.services.contains($0) }
  }
}

/// The state of a central manager, shared with its peripherals.
///
/// All mutable state is guarded by `lock`, including that of the peripherals and their attributes.
/// The delegates are called on the queue, without the lock.
final class CentralSession: @unchecked Sendable {
  private struct Discovery {
    let advertisement: Advertisement
    /// Kept until the app connects it: from then on its last reference is the app's.
    var peripheral: CBPeripheral?
  }

  let lock = SharedLock()
  let connection: HostConnection
  /// Whether discoveries find what apps don't see.
  let showsSystemServices: Bool
  private weak var manager: CBCentralManager?

  // Guarded by `lock`.
  private var stateStorage: CBManagerState = .unknown
  private var isScanningStorage = false
  private var scannedServices: [BluetoothUUID] = []
  /// The discoveries of this scan: with duplicates allowed most reports are repeated, and most apps
  /// don't retain a peripheral before they connect it.
  private var discoveries: [DeviceAddress: Discovery] = [:]
  /// The links of this manager; one for every peripheral that it made.
  private var links: [DeviceAddress: PeripheralLink] = [:]
  /// The links of the host, with all devices.
  private var hostLinks: [DeviceAddress: LinkInfo] = [:]
  private var eventFilter: ConnectionEventFilter?
  private var reportedLinks: Set<DeviceAddress> = []
  /// How many barriers the host has not completed for a peer: until then its events are about a link
  /// that was given up when the radio went off.
  private var barriers: [DeviceAddress: Int] = [:]
  /// Peripherals whose links ended with the radio; reported after the state.
  private var lostWithRadio: [CBPeripheral] = []
  private var preservation = Preservation.none
  /// What the host has kept since an earlier process of the app, until it is restored.
  private var holdings: SessionHoldings?
  private var missedStates = MissedStates()
  /// Kept until the app has heard of a state: many apps retrieve peripherals then.
  private var restoredPeripherals: [CBPeripheral] = []

  init(queue: DispatchQueue, showsSystemServices: Bool = false) {
    self.showsSystemServices = showsSystemServices
    connection = HostConnection(queue: queue)
  }

  func start(
    for manager: CBCentralManager, on host: any HostSessionProvider, restoreIdentifier: String?
  ) {
    self.manager = manager
    preservation = Preservation(.central, restoreIdentifier, on: host)
    connection.open(host, preservation, handler: self)
  }

  /// The manager is gone: its links are given up, and no event is delivered any more.
  func end() {
    connection.close()
    let orphans = lock.withLock {
      stateStorage = .unknown
      // An event that is just being handled finds no scan, as peripherals keep this object.
      isScanningStorage = false
      discoveries = [:]
      lostWithRadio = []
      holdings = nil
      restoredPeripherals = []
      return orphanPeripherals()
    }
    reportChanges(of: orphans)
  }

  /// Disconnects all peripherals and forgets them: they are of no use any more. Call with the lock.
  private func orphanPeripherals() -> [CBPeripheral] {
    let peripherals = links.values.compactMap(\.peripheral)
    for peripheral in peripherals { peripheral.record.disconnect(to: .none) }
    links = [:]
    return peripherals
  }

  /// Calls the observers of properties that changed. Call without the lock.
  private func reportChanges(of peripherals: [CBPeripheral]) {
    for peripheral in peripherals { peripheral.keyValueObservers.propertiesMayHaveChanged() }
  }

  private func reportManagerChanges() { manager?.keyValueObservers.propertiesMayHaveChanged() }

  var state: CBManagerState { lock.withLock { stateStorage } }
  var isScanning: Bool { lock.withLock { isScanningStorage } }

  /// The one object for this peer, as long as there is a reference to it.
  func peripheral(at address: DeviceAddress) -> CBPeripheral {
    lock.withLock { lockedPeripheral(at: address) }
  }

  /// As above. Call with the lock.
  private func lockedPeripheral(at address: DeviceAddress) -> CBPeripheral {
    if let known = links[address]?.peripheral { return known }
    let link = PeripheralLink()
    let peripheral = CBPeripheral(session: self, address: address, link: link)
    link.peripheral = peripheral
    peripheral.record.deviceName = hostLinks[address]?.name
    // The app let go of the last object while it was connected, a moment ago. Under the lock, so
    // that a connect of the new object comes after it.
    if links[address]?.isRequested == true { connection.send(.disconnect(address)) }
    links[address] = link
    return peripheral
  }

  func connectedPeers(with services: [BluetoothUUID]) -> [DeviceAddress] {
    lock.withLock {
      hostLinks.values.filter { link in link.services.contains { services.contains($0) } }
        .map(\.peer).sorted { $0.bits < $1.bits }
    }
  }

  // MARK: Commands

  /// Runs a command of the app if the radio is on, else logs a misuse.
  ///
  /// Under the lock, so that the host receives commands from several threads in the order in which
  /// they changed the state here.
  private func command(_ name: String, _ body: () -> Void) {
    let isReady = lock.withLock {
      guard stateStorage == .poweredOn else { return false }
      body()
      return true
    }
    if !isReady { Misuse.report("CBCentralManager takes \(name) in the state poweredOn only") }
  }

  // A scan's discoveries may be thousands of peripherals, which are released after the lock is.

  func startScan(_ options: ScanOptions) {
    var released: [DeviceAddress: Discovery] = [:]
    command("scanForPeripherals") {
      isScanningStorage = true
      scannedServices = options.services
      swap(&discoveries, &released)
      connection.send(.startScan(options))
    }
    reportManagerChanges()
  }

  func stopScan() {
    var released: [DeviceAddress: Discovery] = [:]
    command("stopScan") {
      isScanningStorage = false
      swap(&discoveries, &released)
      connection.send(.stopScan)
    }
    reportManagerChanges()
  }

  /// Connects. Where that can't work the delegate gets `didFailToConnect`, later and on the queue.
  func connect(
    _ peripheral: CBPeripheral, _ options: ConnectOptions, requiresANCS: Bool = false
  ) {
    var failure: CBError?
    command("connect") {
      failure = connectionError(of: peripheral) ?? (requiresANCS ? Self.noANCS : nil)
      guard failure == nil else { return }
      let link = peripheral.record.link
      switch link.phase {
      case .none, .connecting, .lostWithRadio:
        link.phase = .connecting
        discoveries[peripheral.address]?.peripheral = nil
      case .connected: link.confirmationCount += 1
      case .disconnecting: link.phase = .disconnecting(connectsAgain: true)
      }
      connection.send(.connect(peripheral.address, options))
    }
    reportChanges(of: [peripheral])
    guard let failure else { return }
    connection.enqueue { [weak self] in
      self?.notifyDelegate { $1.centralManager($0, didFailToConnect: peripheral, error: failure) }
    }
  }

  /// The error for required ANCS: a peripheral that reads a phone's notifications would wait for
  /// them.
  private static var noANCS: CBError {
    CBError(
      .operationNotSupported,
      userInfo: [
        NSLocalizedDescriptionKey: "This host has no Apple Notification Center Service."
      ])
  }

  /// Why this manager can't connect a peripheral; nil if it can. Call with the lock.
  private func connectionError(of peripheral: CBPeripheral) -> CBError? {
    guard peripheral.session === self else {
      return CBError.unknownDevice("The peripheral belongs to another CBCentralManager.")
    }
    guard links[peripheral.address] === peripheral.record.link else {
      return CBError.unknownDevice(
        "The peripheral is invalid since the manager's state was resetting: retrieve it again.")
    }
    return nil
  }

  func cancel(_ peripheral: CBPeripheral) {
    var failure: CBError?
    command("cancelPeripheralConnection") {
      // An invalid object must not end the link of the one that took its place.
      failure = connectionError(of: peripheral)
      guard failure == nil else { return }
      guard peripheral.record.link.isRequested else { return }
      peripheral.record.link.phase = .disconnecting(connectsAgain: false)
      connection.send(.disconnect(peripheral.address))
    }
    // Without the lock: an app's log handler may call the manager.
    if let failure {
      Misuse.report("cancelPeripheralConnection: \(failure.localizedDescription)")
    }
    reportChanges(of: [peripheral])
  }

  func matchConnectionEvents(_ filter: ConnectionEventFilter?) {
    command("registerForConnectionEvents") { eventFilter = filter }
  }

  /// The app released its last reference to a peripheral: its link is of no use any more.
  func released(_ address: DeviceAddress) {
    let mustDisconnect = lock.withLock {
      guard let link = links[address], link.peripheral == nil else { return false }
      links[address] = nil
      // An app may let go of what it has cancelled, at once.
      return link.isWanted
    }
    guard mustDisconnect else { return }
    Misuse.report(
      "the connection to \(PeerIdentifier.uuid(of: address)) is cancelled: "
        + "its CBPeripheral was released; keep a reference to it")
    connection.send(.disconnect(address))
  }

  // MARK: Events, on the queue

  private func notifyDelegate(_ call: (CBCentralManager, any CBCentralManagerDelegate) -> Void) {
    guard let manager, let delegate = manager.receiver else { return }
    call(manager, delegate)
  }

  private func existing(_ address: DeviceAddress) -> CBPeripheral? {
    lock.withLock { links[address]?.peripheral }
  }

  private func stateChanged(_ state: CBManagerState) {
    switch lock.withLock({ missedStates.handling(of: state, after: stateStorage) }) {
    case .report: break
    case .wait: return
    case .isBack: return radioIsBack()
    }
    guard lock.withLock({ state.isNews(after: stateStorage) }) else { return }
    let (lost, wanted, wasScanning) = lock.withLock {
      stateStorage = state
      return state == .poweredOn ? ([], [], false) : endLinks()
    }
    // The host would go on when the radio is back; Core Bluetooth's apps start anew.
    if wasScanning { connection.send(.stopScan) }
    for address in wanted { giveUpLink(to: address) }
    // Only another controller makes the objects that the app holds invalid; it gets new ones from
    // the manager.
    let changed = lock.withLock {
      state == .resetting ? orphanPeripherals() : links.values.compactMap(\.peripheral)
    }
    reportChanges(of: changed)
    reportManagerChanges()
    notifyDelegate { $1.centralManagerDidUpdateState($0) }
    // A pending connection ends without a call, as Apple's does; a link with one, after the state.
    for peripheral in lost {
      reportDisconnection(of: peripheral, CBError(.peripheralDisconnected), reconnecting: false)
    }
    let restored = lock.withLock {
      defer { restoredPeripherals = [] }
      return restoredPeripherals
    }
    _ = restored  // released outside the lock
  }

  // MARK: Restoration

  /// Restores what the host has kept, and reports it before anything else. The links that were open and their
  /// properties are known by now.
  func restore() {
    let found = lock.withLock { () -> (SessionHoldings, [CBPeripheral])? in
      guard let holdings = self.holdings.take() else { return nil }
      missedStates.begin()
      isScanningStorage = holdings.scan != nil
      scannedServices = holdings.scan?.services ?? []
      let peripherals = holdings.links.map { restored($0, holdings) }
      restoredPeripherals = peripherals
      return (holdings, peripherals)
    }
    guard let (holdings, peripherals) = found else { return }
    reportChanges(of: peripherals)
    reportManagerChanges()
    notifyDelegate {
      $1.centralManager($0, willRestoreState: holdings.centralState(peripherals))
    }
    // Completed behind the events that the host has kept.
    connection.request({ .barrier($0) }) { [weak self] _ in
      guard let self, lock.withLock({ missedStates.end() }) else { return }
      stateChanged(.poweredOff)
    }
  }

  /// The peripheral of a link that the host has kept. Call with the lock.
  private func restored(_ link: SessionHoldings.Link, _ holdings: SessionHoldings) -> CBPeripheral {
    let peripheral = lockedPeripheral(at: link.peer)
    let hostLink = hostLinks[link.peer]
    peripheral.record.link.phase = link.isConnected ? .connected : .connecting
    peripheral.record.deviceName = hostLink?.name ?? link.name
    guard link.isConnected else { return peripheral }
    peripheral.record.mtu = max(Limits.mtuMin, hostLink?.mtu ?? Limits.mtuMin)
    for subscription in holdings.subscriptions where subscription.peer == link.peer {
      peripheral.record.subscribedHandles.insert(subscription.target.valueHandle)
    }
    for attributes in holdings.attributes where attributes.peer == link.peer {
      peripheral.record.restore(
        attributes, hidesSystemServices: !showsSystemServices, lock: lock,
        make: peripheral.makeService)
    }
    return peripheral
  }

  /// The radio was off for a while without the app: links have ended, and all else goes on.
  private func radioIsBack() {
    let lost = lock.withLock {
      defer { lostWithRadio = [] }
      return lostWithRadio.map { peripheral in
        let goesOn = peripheral.record.link.phase == .lostWithRadio
        if goesOn { peripheral.record.link.phase = .connecting }
        return (peripheral, goesOn)
      }
    }
    reportChanges(of: lost.map(\.0))
    for (peripheral, goesOn) in lost {
      reportDisconnection(of: peripheral, CBError(.peripheralDisconnected), reconnecting: goesOn)
    }
  }

  /// Gives up a link that the host would make again when the radio is back. The host may have made
  /// it already; events before the barrier's completion are not about the link that the app
  /// requests next.
  private func giveUpLink(to address: DeviceAddress) {
    lock.withLock { barriers[address, default: 0] += 1 }
    connection.send(.disconnect(address))
    connection.request({ .barrier($0) }) { [weak self] _ in
      guard let self else { return }
      lock.withLock {
        let left = (barriers[address] ?? 1) - 1
        barriers[address] = left > 0 ? left : nil
      }
    }
  }

  /// Whether what the host reports of the link to a peer is about the link that the app asked for.
  private func isCurrent(_ address: DeviceAddress) -> Bool {
    lock.withLock { barriers[address] == nil }
  }

  /// The radio is off: nothing is scanned for, connected or pending any more. Returns the
  /// peripherals that were connected, the addresses that the host still wants links to, and whether
  /// there was a scan. Call with the lock.
  private func endLinks() -> (lost: [CBPeripheral], wanted: [DeviceAddress], wasScanning: Bool) {
    defer { isScanningStorage = false }
    hostLinks = [:]
    reportedLinks = []
    discoveries = [:]
    var lost = lostWithRadio
    lostWithRadio = []
    var wanted: [DeviceAddress] = []
    for (address, link) in links where link.isRequested {
      wanted.append(address)
      let state = link.state
      link.phase = .none
      guard let peripheral = link.peripheral else { continue }
      // A loss that was reported already is in the list.
      if state == .connected || state == .disconnecting, !lost.contains(peripheral) {
        lost.append(peripheral)
      }
      peripheral.record.disconnect(to: .none)
    }
    return (
      lost.sorted { $0.address.bits < $1.address.bits }, wanted.sorted { $0.bits < $1.bits },
      isScanningStorage
    )
  }

  private func discovered(_ report: AdvertisingReport) {
    let found = lock.withLock { () -> (Advertisement, CBPeripheral, isRenamed: Bool)? in
      guard isScanningStorage else { return nil }
      let (advertisement, peripheral) = discovery(report)
      guard let name = advertisement.localName, peripheral.record.advertisedName != name else {
        return (advertisement, peripheral, false)
      }
      peripheral.record.advertisedName = name
      return (advertisement, peripheral, true)
    }
    guard let (advertisement, peripheral, isRenamed) = found else { return }
    if isRenamed { reportChanges(of: [peripheral]) }
    notifyDelegate {
      $1.centralManager(
        $0, didDiscover: peripheral, advertisementData: advertisement.dictionary,
        rssi: NSNumber(value: Int(report.rssi)))
    }
  }

  /// The advertisement of a report, and its peripheral. Call with the lock.
  private func discovery(_ report: AdvertisingReport) -> (Advertisement, CBPeripheral) {
    var known = discoveries[report.address]?.advertisement
    if known?.isSame(as: report) != true { known = nil }
    if let known, let peripheral = discoveries[report.address]?.peripheral {
      return (known, peripheral)
    }
    let advertisement = known ?? Advertisement(report, scannedServices: scannedServices)
    let peripheral = lockedPeripheral(at: report.address)
    if discoveries.count >= Limits.advertisementsMax, discoveries[report.address] == nil {
      discoveries.remove(at: discoveries.startIndex)
    }
    let isRequested = links[report.address]?.isRequested == true
    discoveries[report.address] = Discovery(
      advertisement: advertisement, peripheral: isRequested ? nil : peripheral)
    return (advertisement, peripheral)
  }

  private func connected(_ address: DeviceAddress) {
    let connected: CBPeripheral? = lock.withLock {
      guard let link = links[address], link.isRequested else {
        // The app asked for the link while the report of its end was on its way: it was notified
        // of the end and wants no other link since.
        connection.send(.disconnect(address))
        return nil
      }
      guard let peripheral = link.peripheral, link.state != .disconnecting else { return nil }
      if link.phase == .connected {
        guard link.confirmationCount > 0 else { return nil }
        link.confirmationCount -= 1
      }
      link.phase = .connected
      if let hostLink = hostLinks[address] { peripheral.record.mtu = hostLink.mtu }
      return peripheral
    }
    guard let connected else { return }
    reportChanges(of: [connected])
    notifyDelegate { $1.centralManager($0, didConnect: connected) }
  }

  private func connectionFailed(_ address: DeviceAddress, _ error: HostError) {
    guard let peripheral = existing(address) else { return }
    let wasWanted = lock.withLock {
      let wasWanted = peripheral.record.link.isRequested
      peripheral.record.disconnect(to: .none)
      return wasWanted
    }
    reportChanges(of: [peripheral])
    guard wasWanted else { return }
    notifyDelegate {
      $1.centralManager($0, didFailToConnect: peripheral, error: error.connectionError)
    }
  }

  private func disconnected(_ address: DeviceAddress, _ error: HostError?, reconnecting: Bool) {
    guard let peripheral = existing(address) else { return }
    let mustReport = lock.withLock {
      let phase = peripheral.record.link.phase
      guard phase != .none else { return false }
      // The echo of a cancellation that was overtaken by the radio's going off and on.
      if error == nil, peripheral.record.state != .disconnecting { return false }
      let endsWithRadio = error?.isLossOfRadio ?? false
      let goesOn = reconnecting || phase == .disconnecting(connectsAgain: true)
      peripheral.record.disconnect(
        to: goesOn ? (endsWithRadio ? .lostWithRadio : .connecting) : .none)
      if endsWithRadio { lostWithRadio.append(peripheral) }
      return !endsWithRadio
    }
    reportChanges(of: [peripheral])
    guard mustReport else { return }
    reportDisconnection(
      of: peripheral, error?.coreBluetoothError, reconnecting: reconnecting)
  }

  private func reportDisconnection(
    of peripheral: CBPeripheral, _ error: (any Error)?, reconnecting: Bool
  ) {
    notifyDelegate {
      $1.centralManager(
        $0, didDisconnectPeripheral: peripheral, timestamp: connection.absoluteTime,
        isReconnecting: reconnecting, error: error)
    }
  }

  /// The fast path of notifications: everything under one lock.
  private func valueUpdated(
    _ address: DeviceAddress, _ handle: UInt16, _ bytes: ArraySlice<UInt8>
  ) {
    let value = Data(bytes)
    let updated = lock.withLock { () -> (CBPeripheral, CBCharacteristic)? in
      guard let link = links[address], link.phase == .connected,
        let peripheral = link.peripheral,
        let characteristic = peripheral.record.characteristicsByHandle[handle]
      else { return nil }
      characteristic.valueStorage = value
      return (peripheral, characteristic)
    }
    guard let (peripheral, characteristic) = updated else { return }
    peripheral.receiver?.peripheral(peripheral, didUpdateValueFor: characteristic, error: nil)
  }

  private func linkChanged(_ link: LinkInfo) {
    let (peripheral, isNew) = lock.withLock {
      hostLinks[link.peer] = link
      let isNew =
        eventFilter?.matches(link) == true && reportedLinks.insert(link.peer).inserted
      return (links[link.peer]?.peripheral, isNew)
    }
    peripheral?.linkChanged(link)
    if isNew { notifyConnectionEvent(.peerConnected, link.peer) }
  }

  private func linkClosed(_ address: DeviceAddress) {
    let wasReported = lock.withLock {
      hostLinks[address] = nil
      return reportedLinks.remove(address) != nil && eventFilter != nil
    }
    if wasReported { notifyConnectionEvent(.peerDisconnected, address) }
  }

  private func notifyConnectionEvent(_ event: CBConnectionEvent, _ address: DeviceAddress) {
    let peripheral = peripheral(at: address)
    notifyDelegate { $1.centralManager($0, connectionEventDidOccur: event, for: peripheral) }
  }
}

extension CentralSession: HostEventHandler {
  var hasDelegate: Bool { manager?.receiver != nil }

  func attached(_ attachment: SessionAttachment) {
    preservation.report(attachment)
    lock.withLock { holdings = attachment.holdings }
  }

  func handle(_ event: HostEvent) {
    switch event {
    case .stateChanged(let state): stateChanged(state.managerState)
    case .discovered(let report): discovered(report)
    case .linkOpened(let link), .linkUpdated(let link): linkChanged(link)
    case .linkClosed(let address, _): linkClosed(address)
    case .connected(let address):
      if isCurrent(address) { connected(address) }
    case .connectionFailed(let address, let error):
      if isCurrent(address) { connectionFailed(address, error) }
    case .disconnected(let address, let error, let reconnecting):
      if isCurrent(address) { disconnected(address, error, reconnecting: reconnecting) }
    case .valueUpdated(let address, let handle, let bytes): valueUpdated(address, handle, bytes)
    case .valuesDropped(let address, let handle, let count):
      existing(address)?.valuesDropped(handle, count)
    case .servicesChanged(let address, let range): existing(address)?.servicesChanged(range)
    case .completed, .serverRequest, .writesDropped, .requestsExpired, .acknowledgementRequested,
      .subscribed,
      .unsubscribed, .channelOpened, .channelReceived, .channelClosed, .pairingPrompt,
      .pairingEnded, .bondNotKept:
      break  // Completions go to their requests; the rest belongs to peripheral managers.
    }
  }
}

extension CBError {
  fileprivate static func unknownDevice(_ text: String) -> CBError {
    CBError(.unknownDevice, userInfo: [NSLocalizedDescriptionKey: text])
  }
}
