internal import BluetoothInterface
internal import BluetoothWire
internal import Essentials
internal import EventLoop
internal import Logging

/// The state of a peripheral manager: its services, its centrals, its pending updates.
///
/// All mutable state is guarded by `lock`. The delegate is called on the queue, without it.
final class PeripheralManagerSession: @unchecked Sendable {
  struct Entry {
    let service: CBMutableService
    let characteristics: [CBMutableCharacteristic]
    /// The call of `add` that made it: the same service may be removed and added again.
    let addition: UInt64
    /// Nil until the host has published it.
    var published: HandleRange?

    /// Lets the app change and publish the service again.
    func forget() {
      service.thaw()
      for characteristic in characteristics { characteristic.removeAllSubscribers() }
    }
  }

  let lock = SharedLock()
  let connection: HostConnection
  private let logger = Logger(label: "CoreBluetooth")
  weak var manager: CBPeripheralManager?

  // Guarded by `lock`.
  private var stateStorage: CBManagerState = .unknown
  var advertising = Advertising.off
  /// Counts the calls of `startAdvertising` and `add`.
  private var lastStart: UInt64 = 0
  var lastAddition: UInt64 = 0
  var entries: [ObjectIdentifier: Entry] = [:]
  /// Removed before they were published: to be removed when the host reports their handles.
  private var withdrawn: Set<UInt64> = []
  var characteristics: [UInt16: CBMutableCharacteristic] = [:]
  private var centrals: [DeviceAddress: CBCentral] = [:]
  private var mtus: [DeviceAddress: Int] = [:]
  /// What this manager listens on.
  var psms: Set<UInt16> = []
  var windows = UpdateWindows()
  private var waits: UpdateWaits?
  /// How far apart the used connection events of a central's link are.
  private var intervals: [DeviceAddress: TimeSpan] = [:]
  var preservation = Preservation.none
  /// What the host has kept since an earlier process of the app, until it is restored.
  var holdings: SessionHoldings?
  var missedStates = MissedStates()

  enum Advertising: Equatable {
    case off
    case starting(UInt64)
    case on
  }

  init(queue: DispatchQueue) {
    connection = HostConnection(queue: queue)
  }

  func start(
    for manager: CBPeripheralManager, on host: any HostSessionProvider, restoreIdentifier: String?
  ) {
    self.manager = manager
    preservation = Preservation(.peripheral, restoreIdentifier, on: host)
    let token = makeUpdateToken(nil)
    lock.withLock { windows.start(token) }
    connection.open(host, preservation, handler: self)
  }

  var state: CBManagerState { lock.withLock { stateStorage } }
  var isAdvertising: Bool { lock.withLock { advertising == .on } }

  private func isReady(_ command: String) -> Bool {
    let isReady = state == .poweredOn
    if !isReady {
      Misuse.report("CBPeripheralManager takes \(command) in the state poweredOn only")
    }
    return isReady
  }

  // What changes the state here and the host's is sent under the lock, so that the host hears of
  // commands from several threads in the same order.

  /// Calls the delegate; on the queue only.
  func notifyDelegate(
    _ call: (CBPeripheralManager, any CBPeripheralManagerDelegate) -> Void
  ) {
    guard let manager, let delegate = manager.receiver else { return }
    call(manager, delegate)
  }

  /// Calls the observers of the manager's properties that changed. Call without the lock.
  func reportManagerChanges() { manager?.keyValueObservers.propertiesMayHaveChanged() }

  /// Calls the delegate later, on the queue.
  private func notifyDelegateLater(
    _ call: @escaping @Sendable (CBPeripheralManager, any CBPeripheralManagerDelegate) -> Void
  ) {
    connection.enqueue { [weak self] in self?.notifyDelegate(call) }
  }

  // MARK: Advertising

  func startAdvertising(_ advertisement: [String: Any]) {
    guard isReady("startAdvertising") else { return }
    guard let options = AdvertisingPlan(advertisement)?.options else {
      return notifyDelegateLater {
        $1.peripheralManagerDidStartAdvertising(
          $0,
          error: CBError(
            .invalidParameters,
            userInfo: [
              NSLocalizedDescriptionKey:
                "\(AdvertisingPlan.beaconKey) takes the 21 bytes that CLBeaconRegion gives."
            ]))
      }
    }
    let isFirst = lock.withLock {
      guard advertising == .off else { return false }
      lastStart += 1
      let start = lastStart
      advertising = .starting(start)
      connection.request({ .startAdvertising(options, $0) }) { [weak self] result in
        self?.startedAdvertising(start, result.error)
      }
      return true
    }
    guard !isFirst else { return }
    notifyDelegateLater {
      $1.peripheralManagerDidStartAdvertising($0, error: CBError(.alreadyAdvertising))
    }
  }

  private func startedAdvertising(_ start: UInt64, _ error: (any Error)?) {
    let isStillWanted = lock.withLock {
      guard advertising == .starting(start) else { return false }
      advertising = error == nil ? .on : .off
      return true
    }
    guard isStillWanted else { return }
    reportManagerChanges()
    notifyDelegate { $1.peripheralManagerDidStartAdvertising($0, error: error) }
  }

  func stopAdvertising() {
    guard isReady("stopAdvertising") else { return }
    lock.withLock {
      advertising = .off
      connection.send(.stopAdvertising)
    }
    reportManagerChanges()
  }

  func setLatency(_ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral) {
    guard isReady("setDesiredConnectionLatency") else { return }
    connection.request({ [address = central.address] in
      .updateParameters(address, ConnectionParameters(latency), $0)
    }) { _ in }
  }

  // MARK: Services

  func add(_ service: CBMutableService) {
    guard isReady("add") else { return }
    let characteristics = (service.characteristics ?? []).compactMap {
      $0 as? CBMutableCharacteristic
    }
    let definition: ServiceDefinition
    do throws(CBError) {
      definition = try ServiceDefinition(service) { self.publishedHandle(of: $0) }
    } catch {
      return notifyDelegateLater { $1.peripheralManager($0, didAdd: service, error: error) }
    }
    guard service.freeze() else {
      Misuse.report("the service \(service.uuid.uuidString) is published already")
      return notifyDelegateLater {
        $1.peripheralManager($0, didAdd: service, error: CBError(.invalidParameters))
      }
    }
    lock.withLock {
      lastAddition += 1
      let addition = lastAddition
      entries[ObjectIdentifier(service)] = Entry(
        service: service, characteristics: characteristics, addition: addition)
      connection.request({ .addService(definition, $0) }) { [weak self] result in
        self?.added(service, addition, result)
      }
    }
  }

  private func added(
    _ service: CBMutableService, _ addition: UInt64, _ result: Result<HostReply, HostError>
  ) {
    let key = ObjectIdentifier(service)
    let published: PublishedService? =
      if case .success(.published(let published)) = result { published } else { nil }
    let entry: Entry? = lock.withLock {
      let mustWithdraw = withdrawn.remove(addition) != nil
      guard let entry = entries[key], entry.addition == addition else {
        if mustWithdraw, let published {
          connection.send(.removeService(published.range.start))
        }
        return nil
      }
      guard let published else {
        entries[key] = nil
        return entry
      }
      entries[key]?.published = published.range
      for (characteristic, place) in zip(entry.characteristics, published.characteristics) {
        characteristics[place.valueHandle] = characteristic
        characteristic.setHandles(
          CharacteristicHandles(value: place.valueHandle))
      }
      return entry
    }
    guard let entry else { return }
    if published == nil { entry.forget() }
    let error = published == nil ? result.error ?? CBError(.unknown) : nil
    notifyDelegate { $1.peripheralManager($0, didAdd: service, error: error) }
  }

  private func publishedHandle(of service: CBService) -> UInt16? {
    lock.withLock { entries[ObjectIdentifier(service)]?.published?.start }
  }

  func remove(_ service: CBMutableService) {
    guard isReady("remove") else { return }
    let entry: Entry? = lock.withLock {
      guard let entry = entries.removeValue(forKey: ObjectIdentifier(service)) else { return nil }
      if let range = entry.published {
        characteristics = characteristics.filter { !range.contains($0.key) }
        windows.removed { range.contains($0) }
        connection.send(.removeService(range.start))
      } else {
        withdrawn.insert(entry.addition)
      }
      return entry
    }
    entry?.forget()
  }

  func removeAll() {
    guard isReady("removeAllServices") else { return }
    removeEverything()
  }

  /// The host handles requests in order, so it also removes the services whose handles it has not
  /// reported yet.
  private func removeEverything() {
    let old = lock.withLock {
      defer {
        entries = [:]
        withdrawn = []
        characteristics = [:]
        windows.removed { _ in true }
        connection.send(.removeAllServices)
      }
      return entries
    }
    for entry in old.values { entry.forget() }
  }

  // MARK: Values

  func respond(to request: CBATTRequest, _ result: CBATTError.Code) {
    guard let id = request.takeServerRequest() else {
      return Misuse.report("respond(to:withResult:) once, and to the first of several requests")
    }
    let value = [UInt8](request.value ?? Data())
    connection.send(
      .respond(
        id,
        result == .success
          ? .success(value)
          : .failure(ATTErrorCode(rawValue: UInt8(truncatingIfNeeded: result.rawValue)))))
  }

  func update(
    _ value: Data, of characteristic: CBMutableCharacteristic, for centrals: [CBCentral]?
  ) -> Bool {
    let handle = characteristic.currentHandles.value
    var problem: String?
    let peers = centrals?.map(\.address)
    let bytes = value.bytes(atMost: Limits.valueByteCountMax)
    // Sent under the lock, so that all centrals get the updates of several threads in one order.
    let decision: UpdateWindows.Decision? = lock.withLock {
      guard stateStorage == .poweredOn else {
        problem = "CBPeripheralManager takes updateValue in the state poweredOn only"
        return nil
      }
      guard characteristics[handle] === characteristic else {
        problem = "updateValue for \(characteristic.uuid.uuidString), which is not published"
        return nil
      }
      let decision = windows.update(handle, for: peers)
      if case .send(let targets) = decision {
        for target in targets {
          connection.send(
            .updateValue(
              handle: handle, bytes, peers: target.central.map { [$0] } ?? peers, target.token))
        }
      }
      return decision
    }
    if let problem { Misuse.report(problem) }
    switch decision {
    case .send: return true
    case .refuse(let waits):
      for wait in waits { begin(wait) }
      return false
    case nil: return false
    }
  }

  /// Whether updates of a characteristic can be sent: its service is published.
  func isPublished(_ characteristic: CBMutableCharacteristic) -> Bool {
    let handle = characteristic.currentHandles.value
    return lock.withLock { characteristics[handle] === characteristic }
  }

  private func begin(_ wait: UpdateWindows.Wait) {
    let (timers, time) = lock.withLock { (lockedWaits(), span(of: wait)) }
    timers?.begin(wait, for: time)
  }

  /// Call with the lock.
  private func lockedWaits() -> UpdateWaits? {
    if waits == nil, let loop = connection.loop {
      waits = UpdateWaits(loop: loop) { [weak self] wait in
        // After the completions that came before.
        self?.connection.enqueue { [weak self] in self?.expired(wait) }
      }
    }
    return waits
  }

  /// Call with the lock.
  private func span(of wait: UpdateWindows.Wait) -> TimeSpan {
    switch wait.reason {
    case .room: return Limits.updateRoomDelay
    case .stall:
      let interval = wait.central.flatMap { intervals[$0] } ?? .zero
      // The central chooses the interval, within the time of three of the longest.
      return min(
        max(Limits.updateHoldMax, interval * Limits.updateHoldIntervals),
        Limits.updateHoldLimit)
    }
  }

  private func expired(_ wait: UpdateWindows.Wait) {
    switch lock.withLock({ windows.expired(wait) }) {
    case nil: break
    case .released(let release): released(wait.central, release)
    case .leftOut:
      if let central = wait.central {
        logger.warning("Updates go on without \(central), which takes none.")
      }
      notifyDelegate { $1.peripheralManagerIsReady(toUpdateSubscribers: $0) }
    }
  }

  private func updated(_ count: Int, _ central: DeviceAddress?, _ token: RequestToken) {
    switch lock.withLock({ windows.completed(count, for: central, token) }) {
    case .nothing: break
    case .begins(let wait): begin(wait)
    case .released(let release): released(central, release)
    }
  }

  /// A central has room again, or its link is down.
  private func released(_ central: DeviceAddress?, _ release: UpdateWindows.Release) {
    if let wait = release.endedWait { lock.withLock { waits }?.end(wait) }
    if let central, release.missedCount > 0 {
      logger.warning("\(central) has missed \(release.missedCount) updates.")
    }
    if release.isAwaited { notifyDelegate { $1.peripheralManagerIsReady(toUpdateSubscribers: $0) } }
  }

  // MARK: Channels

  func publishChannel(requiresEncryption: Bool) {
    guard isReady("publishL2CAPChannel") else { return }
    connection.request({
      .publishChannel(psm: nil, requiresEncryption: requiresEncryption, $0)
    }) { [weak self] result in
      guard let self else { return }
      var psm: UInt16 = 0
      if case .success(.psm(let value)) = result {
        psm = value
        lock.withLock { _ = psms.insert(value) }
      }
      notifyDelegate { $1.peripheralManager($0, didPublishL2CAPChannel: psm, error: result.error) }
    }
  }

  func unpublishChannel(_ psm: UInt16) {
    guard isReady("unpublishL2CAPChannel") else { return }
    let isOwn = lock.withLock {
      guard psms.remove(psm) != nil else { return false }
      connection.send(.unpublishChannel(psm: psm))
      return true
    }
    notifyDelegateLater {
      $1.peripheralManager(
        $0, didUnpublishL2CAPChannel: psm,
        error: isOwn ? nil : CBError.invalid("This manager does not listen on PSM \(psm)."))
    }
  }

  // MARK: Events, on the queue

  func stateChanged(_ state: CBManagerState) {
    guard lock.withLock({ missedStates.handling(of: state, after: stateStorage) }) == .report else {
      return
    }
    guard lock.withLock({ state.isNews(after: stateStorage) }) else { return }
    let (old, wasAdvertising) = lock.withLock {
      defer {
        stateStorage = state
        if state != .poweredOn { advertising = .off }
      }
      return (stateStorage, advertising == .on)
    }
    if state != .poweredOn, old == .poweredOn || wasAdvertising {
      connection.send(.stopAdvertising)
    }
    // Below poweredOff, Core Bluetooth clears the local database.
    if state.rawValue < CBManagerState.poweredOff.rawValue, old.rawValue > state.rawValue {
      removeEverything()
    }
    reportManagerChanges()
    notifyDelegate { $1.peripheralManagerDidUpdateState($0) }
  }

  /// The one object for a central, at least as long as its link is up.
  private func central(_ address: DeviceAddress) -> CBCentral {
    lock.withLock { lockedCentral(address) }
  }

  /// As above. Call with the lock.
  func lockedCentral(_ address: DeviceAddress) -> CBCentral {
    if let known = centrals[address] { return known }
    let central = CBCentral(address: address)
    central.setMTU(mtus[address] ?? Limits.mtuMin)
    centrals[address] = central
    return central
  }

  private func linkChanged(_ link: LinkInfo) {
    let central = lock.withLock {
      mtus[link.peer] = link.mtu
      intervals[link.peer] = .microseconds(
        1_250 * Int64(link.intervalUnits) * Int64(max(link.subrateFactor, 1)))
      return centrals[link.peer]
    }
    central?.setMTU(link.mtu)
  }

  private func linkClosed(_ address: DeviceAddress) {
    let closed = lock.withLock {
      mtus[address] = nil
      intervals[address] = nil
      centrals[address] = nil
      return windows.closed(address)
    }
    guard let (token, release) = closed else { return }
    connection.removeToken(token)
    // After the events that came with this one: the link may have ended with the radio.
    connection.enqueue { [weak self] in self?.released(address, release) }
  }

  /// On the host's thread, before the app learns of it.
  func subscribersChange(_ event: HostEvent) {
    switch event {
    case .subscribed(let central, let handle):
      lock.withLock {
        windows.subscribed(central, to: handle) { makeUpdateToken(central) }
      }
    case .unsubscribed(let central, let handle):
      lock.withLock { windows.unsubscribed(central, from: handle) }
    case .linkClosed(let central, _): lock.withLock { windows.unsubscribed(central) }
    default: break
    }
  }

  /// What all updates to a central share, as only their number matters.
  func makeUpdateToken(_ central: DeviceAddress?) -> RequestToken {
    connection.makeToken { [weak self] count, token in self?.updated(count, central, token) }
  }

  private func subscriptionChanged(_ address: DeviceAddress, _ handle: UInt16, isOn: Bool) {
    guard let characteristic = lock.withLock({ characteristics[handle] }) else { return }
    let central = central(address)
    if isOn {
      characteristic.addSubscriber(central)
      notifyDelegate { $1.peripheralManager($0, central: central, didSubscribeTo: characteristic) }
    } else {
      characteristic.removeSubscriber(central)
      notifyDelegate {
        $1.peripheralManager($0, central: central, didUnsubscribeFrom: characteristic)
      }
    }
  }

  private func requested(_ request: ServerRequest) {
    guard let manager, let delegate = manager.receiver else {
      return connection.send(.respond(request.id, .failure(.requestNotSupported)))
    }
    let requests = attRequests(for: request)
    guard let first = requests.first else {
      return connection.send(.respond(request.id, .failure(.invalidHandle)))
    }
    switch request.kind {
    case .read: delegate.peripheralManager(manager, didReceiveRead: first)
    case .write: delegate.peripheralManager(manager, didReceiveWrite: requests)
    }
  }

  /// The Core Bluetooth requests for a request of the host; the first one answers for all. Empty if
  /// the characteristic is not published any more.
  private func attRequests(for request: ServerRequest) -> [CBATTRequest] {
    lock.withLock {
      let central = lockedCentral(request.peer)
      switch request.kind {
      case .read(let handle, let offset):
        guard let characteristic = characteristics[handle] else { return [] }
        return [
          CBATTRequest(
            central: central, characteristic: characteristic, offset: offset, value: nil,
            serverRequest: request.id)
        ]
      case .write(let writes):
        var requests: [CBATTRequest] = []
        for write in writes {
          guard let characteristic = characteristics[write.handle] else { return [] }
          requests.append(
            CBATTRequest(
              central: central, characteristic: characteristic, offset: write.offset,
              value: Data(write.value), serverRequest: requests.isEmpty ? request.id : nil))
        }
        return requests
      }
    }
  }

  private func channelOpened(_ info: ChannelInfo) {
    guard let pipe = connection.pipe(of: info.id) else { return }
    // The object closes the channel when the delegate does not keep it.
    let channel = CBL2CAPChannel(peer: central(info.peer), pipe: pipe)
    notifyDelegate { $1.peripheralManager($0, didOpen: channel, error: nil) }
  }
}

extension PeripheralManagerSession: HostEventHandler {
  func handle(_ event: HostEvent) {
    switch event {
    case .stateChanged(let state): stateChanged(state.managerState)
    case .linkOpened(let link), .linkUpdated(let link): linkChanged(link)
    case .linkClosed(let address, _): linkClosed(address)
    case .serverRequest(let request): requested(request)
    case .subscribed(let address, let handle):
      subscriptionChanged(address, handle, isOn: true)
    case .unsubscribed(let address, let handle):
      subscriptionChanged(address, handle, isOn: false)
    case .channelOpened(let info): channelOpened(info)
    case .completed, .discovered, .connected, .connectionFailed, .disconnected, .valueUpdated,
      .valuesDropped, .writesDropped, .requestsExpired, .acknowledgementRequested, .servicesChanged,
      .channelReceived, .channelClosed, .pairingPrompt, .pairingEnded,
      .bondNotKept:
      break  // Completions go to their requests; the rest belongs to central managers.
    }
  }
}
