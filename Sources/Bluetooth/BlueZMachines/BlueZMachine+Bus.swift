import BluetoothInterface
import BluetoothWire
import Essentials

// The connection with the bus, bluetoothd's coming and going, and its objects.

extension BlueZMachine {
  mutating func openBus(into actions: inout [Action]) {
    phase = .opening
    actions.append(.openBus)
  }

  mutating func busOpened(now: Instant, into actions: inout [Action]) {
    guard phase == .opening else { return }
    phase = .noOwner
    busFailureCount = 0
    startCount = 0
    valueRule = nil
    valueRuleRefusal = nil
    let changes = "type='signal',sender='\(BusName.bluez)'"
    let properties = changes + ",interface='\(BusName.properties)',member='PropertiesChanged'"
    let matches =
      [
        "type='signal',sender='\(BusName.bus)',member='NameOwnerChanged',arg0='\(BusName.bluez)'",
        changes + ",interface='\(BusName.objectManager)'",
      ]
      + [BusName.adapter, BusName.device].map { interface in
        properties + ",path_namespace='/org/bluez',arg0='\(interface)'"
      }
    for match in matches {
      send(
        BusCall(BusName.bus, "/org/freedesktop/DBus", BusName.bus, "AddMatch", [.string(match)]),
        .match, deadline: now + BlueZLimits.answerMax, into: &actions)
    }
    readOwner(now: now, into: &actions)
  }

  mutating func busClosed(_ reason: String, now: Instant, into actions: inout [Action]) {
    guard phase != .closed(retryAt: nil) else { return }
    busFailureCount += 1
    phase = .closed(retryAt: now + BlueZLimits.pause(after: busFailureCount))
    refusal = .noBus(reason)
    forgetDaemon(now: now, into: &actions)
  }

  private mutating func readOwner(now: Instant, into actions: inout [Action]) {
    send(
      BusCall(
        BusName.bus, "/org/freedesktop/DBus", BusName.bus, "GetNameOwner", [.string(BusName.bluez)]),
      .owner, deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  mutating func handle(
    _ result: Result<[BusValue], BusError>, for purpose: Purpose, now: Instant,
    into actions: inout [Action]
  ) {
    switch purpose {
    case .match:
      if case .failure(let error) = result {
        actions.append(.closeBus)
        busClosed("it refused a match rule: \(error.message)", now: now, into: &actions)
      }
    case .valueRule(let serial): valueRuleReplied(result, serial, now: now, into: &actions)
    case .owner: ownerRead(result, now: now, into: &actions)
    case .start: daemonStarted(result, now: now, into: &actions)
    case .objects: objectsRead(result, now: now, into: &actions)
    case .setFilter, .startDiscovery, .stopDiscovery:
      discoveryReplied(result, to: purpose, now: now, into: &actions)
    case .connect(let peer, let attempt):
      connectReplied(result, peer, attempt, now: now, into: &actions)
    case .disconnect(let peer): disconnectReplied(result, peer, now: now, into: &actions)
    case .operation(let peer, let serial):
      operationReplied(result, peer, serial, now: now, into: &actions)
    case .subscription(let peer, let serial, let path):
      subscriptionReplied(result, peer, serial, path, now: now, into: &actions)
    case .advertise(let client, let path):
      advertisementReplied(result, client, path, now: now, into: &actions)
    case .publish(let root): serviceReplied(result, root, now: now, into: &actions)
    case .updated(let client, let token):
      let done = result.map { _ in HostReply.done }.mapError { _ in HostError.radioNotReady }
      complete(client, token, done, into: &actions)
    case .monitorFeatures(let root):
      monitorFeaturesRead(result, root, now: now, into: &actions)
    case .monitors(let root): monitorsReplied(result, root, now: now, into: &actions)
    case .registerAgent: agentRegistered(result, into: &actions)
    case .pair(let path): pairReplied(result, path, now: now, into: &actions)
    case .removeBond(let client, let token):
      complete(
        client, token,
        result.map { _ in .done }.mapError {
          .transport("bluetoothd reports: \($0.message) (\($0.name)).")
        }, into: &actions)
    case .device(let path):
      if case .success(let values) = result, let values = values.first?.properties {
        addDevice(path, values, now: now, into: &actions)
      }
    case .release: break
    }
  }

  private mutating func ownerRead(
    _ result: Result<[BusValue], BusError>, now: Instant, into actions: inout [Action]
  ) {
    // NameOwnerChanged may have brought it meanwhile.
    guard phase == .noOwner else { return }
    switch result {
    case .success(let values):
      if let owner = values.first?.text { read(owner, now: now, into: &actions) }
    case .failure where startCount == 0: startDaemon(now: now, into: &actions)
    case .failure:
      // It has ended again. Later, a start by another program is signalled by NameOwnerChanged.
      refusal = .noDaemon("D-Bus has started it, and it has ended at once.")
      if startCount <= BlueZLimits.pauses.count {
        ownerRetryAt = now + BlueZLimits.pause(after: startCount)
      }
      updateState(now: now, into: &actions)
    }
  }

  private mutating func startDaemon(now: Instant, into actions: inout [Action]) {
    startCount += 1
    send(
      BusCall(
        BusName.bus, "/org/freedesktop/DBus", BusName.bus, "StartServiceByName",
        [.string(BusName.bluez), .uint32(0)]),
      .start, deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  /// Starts bluetoothd again after the pause that follows an end.
  mutating func retryOwner(now: Instant, into actions: inout [Action]) {
    guard phase == .noOwner, let time = ownerRetryAt, time <= now else { return }
    ownerRetryAt = nil
    startDaemon(now: now, into: &actions)
  }

  private mutating func daemonStarted(
    _ result: Result<[BusValue], BusError>, now: Instant, into actions: inout [Action]
  ) {
    guard phase == .noOwner else { return }
    switch result {
    case .success: readOwner(now: now, into: &actions)
    case .failure(let error):
      // A later start is signalled by NameOwnerChanged.
      refusal =
        error.name == BlueZErrorName.accessDenied
        ? .refused(error.message) : .noDaemon(error.message)
      updateState(now: now, into: &actions)
    }
  }

  private mutating func read(_ owner: String, now: Instant, into actions: inout [Action]) {
    phase = .reading(owner: owner)
    ownerRetryAt = nil
    send(
      bluez("/", BusName.objectManager, "GetManagedObjects"), .objects,
      deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  private mutating func objectsRead(
    _ result: Result<[BusValue], BusError>, now: Instant, into actions: inout [Action]
  ) {
    guard case .reading(let owner) = phase else { return }
    switch result {
    case .success(let values):
      phase = .ready(owner: owner)
      refusal = nil
      startCount = 0
      let objects = values.first?.objects ?? [:]
      // All adapters are known before one is chosen.
      for (path, interfaces) in objects {
        if let values = interfaces[BusName.adapter] {
          adapters[path, default: Adapter()].update(values)
          adapters[path]?.update(interfaces[BusName.monitorManager] ?? [:])
        }
      }
      // Adapters before devices before their attributes.
      for (path, interfaces) in objects.sorted(by: { $0.key < $1.key }) {
        addObject(path, interfaces, now: now, into: &actions)
      }
      updateState(now: now, into: &actions)
    case .failure(let error):
      refusal =
        error.name == BlueZErrorName.accessDenied
        ? .refused(error.message) : .noDaemon(error.message)
      phase = .closed(retryAt: now + BlueZLimits.pause(after: BlueZLimits.pauses.count))
      actions.append(.closeBus)
      forgetDaemon(now: now, into: &actions)
    }
  }

  /// bluetoothd is gone: its objects, and all that this program had of it.
  private mutating func forgetDaemon(now: Instant, into actions: inout [Action]) {
    var gone = calls
    calls = [:]
    // The bus has that rule, if it is still there.
    if phase == .noOwner, let serial = valueRule,
      let call = gone.first(where: { $0.value.purpose == .valueRule(serial: serial) })
    {
      gone[call.key] = nil
      calls = [call.key: call.value]
    }
    waitingCalls = []
    adapters = [:]
    adapter = nil
    updateState(now: now, into: &actions)
    failPairings(now: now, into: &actions)
    loseAdvertisements(into: &actions)
    loseServices(into: &actions)
    devices = [:]
    paths = [:]
    for id in gone.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      switch gone[id]?.purpose {
      case .removeBond(let client, let token), .updated(let client, let token):
        complete(client, token, .failure(.radioNotReady), into: &actions)
      case .match, .valueRule, .owner, .start, .objects, .setFilter, .startDiscovery,
        .stopDiscovery, .connect, .disconnect, .operation, .subscription, .advertise, .publish,
        .monitorFeatures,
        .monitors, .registerAgent, .pair, .device, .release, nil:
        break
      }
    }
  }

  // MARK: Signals

  mutating func handle(_ signal: BusSignal, now: Instant, into actions: inout [Action]) {
    if signal.sender == BusName.bus {
      if signal.member == "NameOwnerChanged" { ownerChanged(signal, now: now, into: &actions) }
      return
    }
    // Any program can send signals of any name.
    guard case .ready(let owner) = phase, signal.sender == owner else { return }
    switch (signal.interface, signal.member) {
    case (BusName.objectManager, "InterfacesAdded"):
      if let path = signal.arguments.first?.text,
        let interfaces = signal.arguments.dropFirst().first?.interfaces
      {
        addObject(path, interfaces, now: now, into: &actions)
      }
    case (BusName.objectManager, "InterfacesRemoved"):
      if let path = signal.arguments.first?.text,
        let interfaces = signal.arguments.dropFirst().first?.strings
      {
        removeObject(path, interfaces, now: now, into: &actions)
      }
    case (BusName.properties, "PropertiesChanged"):
      if let interface = signal.arguments.first?.text,
        let values = signal.arguments.dropFirst().first?.properties
      {
        let invalidated = signal.arguments.dropFirst(2).first?.strings ?? []
        changeObject(signal.path, interface, values, invalidated, now: now, into: &actions)
      }
    default: break
    }
  }

  /// Another program calls a method. Only bluetoothd has a reason to.
  mutating func called(
    _ id: IncomingCallID, _ call: BusMethodCall, now: Instant, into actions: inout [Action]
  ) {
    guard case .ready(let owner) = phase, call.sender == owner else {
      let error = BusError(BlueZErrorName.accessDenied, "Only bluetoothd may call this program.")
      return actions.append(.answer(id, .failure(error)))
    }
    if call.path == Self.agentPath, call.interface == BusName.agent {
      return agentCalled(id, call, now: now, into: &actions)
    }
    if call.path.hasPrefix(Self.advertisementRoot) {
      return advertisementCalled(id, call, now: now, into: &actions)
    }
    if call.path.hasPrefix(Self.serviceRoot) {
      return serviceCalled(id, call, now: now, into: &actions)
    }
    if call.path.hasPrefix(Self.monitorRoot) {
      return monitorCalled(id, call, now: now, into: &actions)
    }
    actions.append(.answer(id, .failure(Self.unknownObject)))
  }

  private mutating func ownerChanged(
    _ signal: BusSignal, now: Instant, into actions: inout [Action]
  ) {
    let names = signal.arguments.compactMap(\.text)
    guard names.count == 3, names.first == BusName.bluez, let owner = names.last else { return }
    switch phase {
    case .closed, .opening: return
    case .noOwner: break
    case .reading(let old), .ready(let old):
      guard old != owner else { return }
      phase = .noOwner
      refusal = .noDaemon("It has ended.")
      forgetDaemon(now: now, into: &actions)
    }
    if !owner.isEmpty { read(owner, now: now, into: &actions) }
  }

  // MARK: Objects

  private mutating func addObject(
    _ path: String, _ interfaces: [String: [String: BusValue]], now: Instant,
    into actions: inout [Action]
  ) {
    if let values = interfaces[BusName.adapter] {
      adapters[path, default: Adapter()].update(values)
      updateState(now: now, into: &actions)
    }
    if let values = interfaces[BusName.monitorManager] { adapters[path]?.update(values) }
    if let values = interfaces[BusName.device] {
      addDevice(path, values, now: now, into: &actions)
    } else if let devicePath = ObjectPath.device(of: path), devicePath != path,
      devices[devicePath]?.objects.add(path, interfaces) == true
    {
      attributeAdded(path, of: devicePath, now: now, into: &actions)
    }
  }

  private mutating func addDevice(
    _ path: String, _ values: [String: BusValue], now: Instant, into actions: inout [Action]
  ) {
    guard devices[path] == nil else {
      return changeObject(path, BusName.device, values, [], now: now, into: &actions)
    }
    guard let device = RemoteDevice(values, now: now) else { return }
    guard devices.count < BlueZLimits.deviceCountMax || makeRoom(for: device) else {
      hasLeftOutDevices = true
      return dropReport(into: &actions)
    }
    devices[path] = device
    rememberPath(path, of: device.address)
    deviceChanged(path, Set(values.keys), now: now, into: &actions)
  }

  /// Reads a device that appeared when there was no room for it, now that it changes and there is, or that it is
  /// wanted.
  private mutating func readDevice(
    _ path: String, now: Instant, into actions: inout [Action]
  ) {
    guard hasLeftOutDevices else { return }
    guard devices.count < BlueZLimits.deviceCountMax || isWanted(path) else {
      return dropReport(into: &actions)
    }
    guard calls.count < BlueZLimits.pendingCallCountMax / 2,
      !calls.values.contains(where: { $0.purpose == .device(path: path) })
    else { return }
    send(
      bluez(path, BusName.properties, "GetAll", [.string(BusName.device)]), .device(path: path),
      deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  /// Whether a client waits for the device.
  private func isWanted(_ path: String) -> Bool {
    guard let bits = ObjectPath.address(of: path) else { return false }
    return links.contains { $0.key.bits == bits && $0.value.isPending }
  }

  /// Forgets a device without a link for one that is connected, or that a client waits for.
  private mutating func makeRoom(for device: RemoteDevice) -> Bool {
    guard device.isConnected || links[device.address] != nil,
      let path = devices.filter({ linkPeers[$0.key] == nil && !$0.value.isConnected }).keys.min()
    else { return false }
    hasLeftOutDevices = true
    forgetDevice(path)
    return true
  }

  /// Counts what a device without room has advertised. Each hundredfold number is logged.
  private mutating func dropReport(into actions: inout [Action]) {
    counters.droppedReports += 1
    guard counters.droppedReports >= nextReportWarning else { return }
    nextReportWarning = 100 * counters.droppedReports
    actions.append(
      .warning(
        "bluetoothd has more than \(BlueZLimits.deviceCountMax) devices; the others are not seen. "
          + "Reports that were dropped: \(counters.droppedReports)."))
  }

  /// Remembers the path of an address. Devices of other adapters don't count: they may be the same ones.
  private mutating func rememberPath(_ path: String, of address: DeviceAddress) {
    if ObjectPath.adapter(of: path) == adapter { paths[address] = path }
  }

  /// Another adapter is used, which has objects of its own for the devices.
  private mutating func readPaths() {
    paths = [:]
    let devices = devices.sorted { $0.key < $1.key }
    for (path, device) in devices { rememberPath(path, of: device.address) }
    for (path, device) in devices {
      if let identity = device.identity { rememberPath(path, of: identity) }
    }
  }

  private mutating func forgetDevice(_ path: String) {
    guard let device = devices.removeValue(forKey: path) else { return }
    monitors?.found.remove(path)
    for address in [device.address, device.identity].compactMap(\.self)
    where paths[address] == path { paths[address] = nil }
    for id in clients.keys { clients[id]?.reported[path] = nil }
  }

  private mutating func removeObject(
    _ path: String, _ interfaces: [String], now: Instant, into actions: inout [Action]
  ) {
    if interfaces.contains(BusName.adapter) {
      adapters[path] = nil
      loseRegistrations(with: path)
      updateState(now: now, into: &actions)
    }
    if interfaces.contains(BusName.monitorManager) { adapters[path]?.takesMonitors = false }
    if interfaces.contains(BusName.device) {
      guard devices[path] != nil else { return }
      forgetDevice(path)
      deviceRemoved(path, now: now, into: &actions)
    } else if let devicePath = ObjectPath.device(of: path),
      let range = devices[devicePath]?.objects.remove(path)
    {
      serviceRemoved(range, of: devicePath, into: &actions)
    }
  }

  private mutating func changeObject(
    _ path: String, _ interface: String, _ values: [String: BusValue], _ invalidated: [String],
    now: Instant, into actions: inout [Action]
  ) {
    switch interface {
    case BusName.adapter where adapters[path] != nil:
      adapters[path]?.update(values)
      updateState(now: now, into: &actions)
    case BusName.device where devices[path] != nil:
      devices[path]?.update(values, now: now)
      devices[path]?.invalidate(invalidated)
      if let identity = devices[path]?.identity { rememberPath(path, of: identity) }
      deviceChanged(path, Set(values.keys), now: now, into: &actions)
    case BusName.device: readDevice(path, now: now, into: &actions)
    case BusName.characteristic:
      characteristicChanged(path, values, into: &actions)
    default: break
    }
  }

  // MARK: The state of the radio

  /// Chooses the adapter, and reports the state of the radio if it has changed.
  mutating func updateState(now: Instant, into actions: inout [Action]) {
    chooseAdapter(into: &actions)
    let problem = currentProblem
    if problem != self.problem {
      self.problem = problem
      actions.append(.problem(problem?.sentence))
    }
    let isReady = if case .ready = phase { true } else { false }
    let new = problem?.state ?? (isReady ? .poweredOn : .unknown)
    let address = adapter.flatMap { adapters[$0]?.address }
    // The adapter that was used is gone, and another one is on already.
    let isOther = state == .poweredOn && new == .poweredOn && address != adapterAddress
    guard new != state || isOther else { return }
    if state == .poweredOn {
      endLinks(now: now, into: &actions)
      endAllChannels(into: &actions)
      discovery = .off
      endMonitors(now: now, into: &actions)
      refusesMonitors = false
      actions.append(.watchController(nil))
    }
    let isOtherAddress = adapterAddress.map { $0 != address } ?? false
    if new == .poweredOn, address != nil, isOtherAddress {
      // Other peers, and another address of this host.
      state = .resetting
      deliverToAll(.stateChanged(.resetting), into: &actions)
    }
    if new == .poweredOn {
      adapterAddress = address
      actions.append(.watchController(adapter.map(ObjectPath.name)))
      if isOtherAddress { listenAgain(into: &actions) }
    }
    state = new
    if new == .poweredOn { adoptLinks(now: now, into: &actions) }
    deliverToAll(.stateChanged(new), into: &actions)
    if new == .poweredOn {
      connectWaitingLinks(now: now, into: &actions)
      resumeServices(now: now, into: &actions)
      resumeAdvertising(now: now, into: &actions)
    }
  }

  /// The wanted adapter, or the one with the address of before, or the first one that is on.
  private mutating func chooseAdapter(into actions: inout [Action]) {
    let names = adapters.keys.sorted()
    let before = names.first { adapters[$0]?.address == adapterAddress && adapterAddress != nil }
    let chosen: String?
    if let wantedAdapter {
      chosen = before ?? names.first { ObjectPath.name(of: $0) == wantedAdapter }
    } else {
      chosen = before ?? names.first { adapters[$0]?.isPowered == true } ?? names.first
    }
    guard chosen != adapter || isOff(chosen) != wasOff else { return }
    if chosen != adapter {
      adapter = chosen
      readPaths()
    }
    wasOff = isOff(chosen)
    block = nil
    if let chosen, isOff(chosen) {
      actions.append(.readBlock(adapter: ObjectPath.name(of: chosen)))
    }
  }

  private func isOff(_ path: String?) -> Bool {
    guard let path, let adapter = adapters[path] else { return false }
    return !adapter.isPowered
  }

  private var currentProblem: BlueZProblem? {
    if let refusal { return refusal }
    guard case .ready = phase else { return nil }
    guard let path = adapter, let adapter = adapters[path] else { return .noAdapter(wantedAdapter) }
    guard !adapter.isPowered else { return nil }
    let name = ObjectPath.name(of: path)
    if let block { return .blocked(name, block) }
    return adapter.powerState == "off-blocked" ? .blocked(name, .soft) : .off(name)
  }
}
