import BluetoothInterface
import BluetoothWire
import Essentials

// The discovery, which all scans and all links that wait for an advertisement share.

extension BlueZMachine {
  var wantsDiscovery: Bool {
    guard state == .poweredOn else { return false }
    return linksNeedDiscovery
      || monitors?.areActive != true && clients.values.contains { $0.scan != nil }
  }

  var linksNeedDiscovery: Bool { links.values.contains { $0.needsDiscovery && $0.isPending } }

  mutating func updateDiscovery(now: Instant, into actions: inout [Action]) {
    guard state == .poweredOn, let adapter else {
      discovery = .off
      discoveryFailureCount = 0
      discoveryError = nil
      return
    }
    switch discovery {
    case .off:
      guard wantsDiscovery else { return }
      discovery = .settingFilter
      // Every report shall be signalled, also if the controller has LE only.
      let filter: [String: BusValue] = [
        "Transport": .string("le"), "DuplicateData": .boolean(true),
      ]
      send(
        bluez(adapter, BusName.adapter, "SetDiscoveryFilter", [.properties(filter)]), .setFilter,
        deadline: now + BlueZLimits.answerMax, into: &actions)
    case .on:
      if !wantsDiscovery { stopDiscovery(adapter, now: now, into: &actions) }
    case .waiting:
      guard !wantsDiscovery else { return }
      discovery = .off
      discoveryFailureCount = 0
      discoveryError = nil
    case .settingFilter, .starting, .stopping: break
    }
  }

  private mutating func stopDiscovery(
    _ adapter: String, now: Instant, into actions: inout [Action]
  ) {
    discovery = .stopping
    send(
      bluez(adapter, BusName.adapter, "StopDiscovery"), .stopDiscovery,
      deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  mutating func discoveryReplied(
    _ result: Result<[BusValue], BusError>, to purpose: Purpose, now: Instant,
    into actions: inout [Action]
  ) {
    // A reply may be to a call from before the adapter was off.
    guard state == .poweredOn, let adapter, discovery.awaits(purpose) else { return }
    switch (purpose, result) {
    case (.setFilter, .success):
      discovery = .starting
      send(
        bluez(adapter, BusName.adapter, "StartDiscovery"), .startDiscovery,
        deadline: now + BlueZLimits.answerMax, into: &actions)
    case (.startDiscovery, .success):
      discovery = .on
      discoveryFailureCount = 0
      discoveryError = nil
      heardAt = now
    case (.stopDiscovery, _):
      // Also after an error: bluetoothd ends a discovery with its last client.
      discovery = .off
    case (_, .failure(let error)):
      discoveryFailureCount += 1
      discoveryError = error.loggedText
      // All failures have the name InProgress, also that of a discovery which this program has already.
      if purpose == .startDiscovery {
        send(
          bluez(adapter, BusName.adapter, "StopDiscovery"), .release,
          deadline: now + BlueZLimits.answerMax, into: &actions)
      }
      discovery = .waiting(until: now + BlueZLimits.pause(after: discoveryFailureCount))
      if discoveryFailureCount % BlueZLimits.loggedFailureCount == BlueZLimits.pauses.count {
        actions.append(
          .warning(
            "bluetoothd does not start a discovery, which is tried again: \(error.loggedText)."))
      }
    default: break
    }
  }

  mutating func wakeDiscovery(now: Instant, into actions: inout [Action]) {
    switch discovery {
    case .waiting(let time) where time <= now: discovery = .off
    case .on where heardAt + BlueZLimits.silenceMax <= now:
      // It may have stalled (github.com/bluez/bluez/issues/1554), or there is no device.
      if let adapter { stopDiscovery(adapter, now: now, into: &actions) }
    case .off, .settingFilter, .starting, .on, .stopping, .waiting: break
    }
  }

  // MARK: Reports

  /// The properties of which at least one changes with each advertisement.
  private static let advertised: Set = ["RSSI", "ManufacturerData", "ServiceData"]
  /// Those that may follow, as from a scan response.
  private static let alsoAdvertised: Set = [
    "Name", "UUIDs", "TxPower", "Appearance", "AdvertisingFlags",
  ]

  /// Reports a device if the change comes from an advertisement: devices that bluetoothd only remembers are not
  /// reported.
  mutating func report(
    _ path: String, _ changed: Set<String>, now: Instant, into actions: inout [Action]
  ) {
    guard reportsChanges, ObjectPath.adapter(of: path) == adapter, let device = devices[path],
      !changed.isDisjoint(with: Self.advertised)
        || device.rssi != nil && !changed.isDisjoint(with: Self.alsoAdvertised)
    else { return }
    heardAt = now
    deliverReport(path, now: now, into: &actions)
  }

  /// Whether changes of devices are reports. With monitors in bluetoothd, it calls for each report.
  private var reportsChanges: Bool {
    if let monitors, monitors.areActive { return monitors.isInController }
    return discovery == .on || discovery == .starting
  }

  /// Reports a device as it is now to the clients whose scans select it.
  mutating func deliverReport(_ path: String, now: Instant, into actions: inout [Action]) {
    guard let device = devices[path] else { return }
    var data: [UInt8]?
    for id in clients.keys.sorted() {
      guard let scan = clients[id]?.scan,
        scan.services.isEmpty || scan.services.contains(where: { device.services.contains($0) })
      else { continue }
      guard !isBehind(id) else {
        counters.droppedReports += 1
        continue
      }
      let bytes = data ?? device.advertisingData
      data = bytes
      if !scan.allowsDuplicates, clients[id]?.reported[path] == bytes { continue }
      clients[id]?.reported[path] = bytes
      // bluetoothd tells neither the type of the PDU nor a scan response by itself.
      let report = AdvertisingReport(
        address: device.address, isConnectable: true, isScannable: false, isLegacy: true,
        rssi: device.rssi ?? 127, data: bytes[...], heardAt: now)
      deliver(.discovered(report), to: id, into: &actions)
    }
  }

  mutating func startScan(
    _ options: ScanOptions, of id: BlueZSessionID, into actions: inout [Action]
  ) {
    let old = clients[id]?.scan
    clients[id]?.scan = options
    // An app that has only changed between foreground and background gets the same devices once.
    let isSame =
      old.map { $0.services == options.services && $0.isInBackground != options.isInBackground }
    if isSame != true { clients[id]?.reported = [:] }
    guard !hasWarnedOfScan else { return }
    if options.usesCodedPHY || !options.solicitedServices.isEmpty {
      hasWarnedOfScan = true
      actions.append(
        .warning("bluetoothd finds devices neither on LE Coded nor by services that they solicit."))
    }
  }
}

extension BlueZMachine.Discovery {
  /// Whether the reply to a call belongs to this state.
  func awaits(_ purpose: BlueZMachine.Purpose) -> Bool {
    switch self {
    case .settingFilter: purpose == .setFilter
    case .starting: purpose == .startDiscovery
    case .stopping: purpose == .stopDiscovery
    case .off, .on, .waiting: false
    }
  }
}
