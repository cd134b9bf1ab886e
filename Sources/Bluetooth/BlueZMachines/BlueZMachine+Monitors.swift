import BluetoothInterface
import BluetoothWire
import Essentials

// Monitors of advertisements (org.bluez.AdvertisementMonitorManager1), which replace the discovery where all scans are for
// services in the background, or for beacons. Until they are active, and where bluetoothd has none, the discovery goes on.

extension BlueZMachine {
  static let monitorRoot = "/org/ambit/monitor/"

  /// The scans that monitors could serve, in the order of their clients; empty where a discovery is needed.
  private var monitoredScans: [ScanOptions] {
    guard state == .poweredOn, !refusesMonitors, let adapter,
      adapters[adapter]?.takesMonitors == true,
      !linksNeedDiscovery
    else { return [] }
    return clients.sorted { $0.key < $1.key }.compactMap(\.value.scan)
  }

  /// Registers the monitors of the present scans, and withdraws those of earlier ones.
  mutating func updateMonitors(now: Instant, into actions: inout [Action]) {
    let scans = monitoredScans
    guard scans != examinedScans else { return }
    endMonitors(now: now, into: &actions)
    examinedScans = scans
    guard !scans.isEmpty, let adapter else { return }
    lastObject += 1
    let root = Self.monitorRoot + String(lastObject)
    guard let new = AdvertisementMonitors(scans, root: root, adapter: adapter) else { return }
    monitors = new
    send(
      bluez(adapter, BusName.properties, "GetAll", [.string(BusName.monitorManager)]),
      .monitorFeatures(root: root), deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  /// Withdraws the monitors.
  mutating func endMonitors(now: Instant, into actions: inout [Action]) {
    examinedScans = []
    guard let old = monitors else { return }
    monitors = nil
    guard old.phase != .reading, case .ready = phase, adapters[old.adapter] != nil else { return }
    send(
      bluez(old.adapter, BusName.monitorManager, "UnregisterMonitor", [.path(old.root)]), .release,
      deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  mutating func monitorFeaturesRead(
    _ result: Result<[BusValue], BusError>, _ root: String, now: Instant,
    into actions: inout [Action]
  ) {
    guard let current = monitors, current.root == root, current.phase == .reading else { return }
    switch result {
    case .failure(let error): refuseMonitors(error.loggedText, now: now, into: &actions)
    case .success(let values):
      adapters[current.adapter]?.update(values.first?.properties ?? [:])
      monitors?.isInController = adapters[current.adapter]?.hasMonitorsInController == true
      monitors?.phase = .registering
      send(
        bluez(current.adapter, BusName.monitorManager, "RegisterMonitor", [.path(root)]),
        .monitors(root: root), deadline: now + BlueZLimits.answerMax, into: &actions)
    }
  }

  mutating func monitorsReplied(
    _ result: Result<[BusValue], BusError>, _ root: String, now: Instant,
    into actions: inout [Action]
  ) {
    guard monitors?.root == root, monitors?.phase == .registering else { return }
    switch result {
    case .success:
      monitors?.phase = .registered
      monitorsMayBeActive(now: now)
    case .failure(let error): refuseMonitors(error.loggedText, now: now, into: &actions)
    }
  }

  /// Uses the discovery until bluetoothd or the adapter is back.
  private mutating func refuseMonitors(
    _ reason: String, now: Instant, into actions: inout [Action]
  ) {
    endMonitors(now: now, into: &actions)
    refusesMonitors = true
    actions.append(
      .warning("bluetoothd monitors no advertisements, and a discovery is used instead: \(reason).")
    )
  }

  private mutating func monitorsMayBeActive(now: Instant) {
    guard let current = monitors, current.areActive, current.isInController else { return }
    monitors?.nextReport = now + BlueZLimits.monitorReportInterval
  }

  /// bluetoothd calls a method of the application or of a monitor.
  mutating func monitorCalled(
    _ id: IncomingCallID, _ call: BusMethodCall, now: Instant, into actions: inout [Action]
  ) {
    guard let current = monitors, call.path == current.root || current.owns(call.path) else {
      return actions.append(.answer(id, .failure(Self.unknownObject)))
    }
    switch (call.interface, call.member) {
    case (BusName.objectManager, "GetManagedObjects"):
      return actions.append(.answer(id, .success([.objects(current.objects)])))
    case (BusName.monitor, "Activate") where call.path != current.root:
      monitors?.active.insert(call.path)
      monitorsMayBeActive(now: now)
    case (BusName.monitor, "Release"):
      refuseMonitors("it has released one", now: now, into: &actions)
    case (BusName.monitor, "DeviceFound"):
      if let path = call.arguments.first?.text { monitorFound(path, now: now, into: &actions) }
    case (BusName.monitor, "DeviceLost"):
      if let path = call.arguments.first?.text { monitors?.found.remove(path) }
    default: return actions.append(.answer(id, .failure(Self.unknownMethod)))
    }
    actions.append(.answer(id, .success([])))
  }

  private mutating func monitorFound(
    _ path: String, now: Instant, into actions: inout [Action]
  ) {
    guard let current = monitors, current.areActive, devices[path] != nil else { return }
    if current.isInController { monitors?.found.insert(path) }
    deliverReport(path, now: now, into: &actions)
  }

  /// Reports the devices that the controller hears: it reports each of them once, and regions need to know that they are
  /// still there.
  mutating func wakeMonitors(now: Instant, into actions: inout [Action]) {
    guard let current = monitors, let time = current.nextReport, time <= now else { return }
    monitors?.nextReport = now + BlueZLimits.monitorReportInterval
    for path in current.found.sorted() { deliverReport(path, now: now, into: &actions) }
  }
}
