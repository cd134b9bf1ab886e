internal import CoreBluetooth
internal import CoreBluetoothAsync
internal import Reactive
internal import Synchronization

/// What a central manager's delegate receives.
enum CentralEvent: Sendable {
  case restored(CentralRestoration)
  case stateChanged(CBManagerState)
  case discovered(DiscoveredPeripheral)
  case connected(CBPeripheral)
  case failedToConnect(CBPeripheral, (any Error)?)
  case disconnected(CBPeripheral, (any Error)?, isReconnecting: Bool)
  case connectionEvent(CBConnectionEvent, CBPeripheral)
}

/// What one run scans for.
struct ScanDemand: Sendable {
  /// Nil for all advertisers.
  let services: [CBUUID]?
  let allowsDuplicates: Bool

  init(services: [CBUUID]?, allowsDuplicates: Bool) {
    // Core Bluetooth takes an empty list for all advertisers, too.
    self.services = services?.isEmpty == true ? nil : services
    self.allowsDuplicates = allowsDuplicates
  }

  /// A scan that covers all of the demands; nil without demands.
  static func union(of demands: [ScanDemand]) -> ScanDemand? {
    guard let first = demands.first else { return nil }
    return demands.dropFirst().reduce(first) { all, demand in
      var services: [CBUUID]?
      if let known = all.services, let more = demand.services {
        services = known + more.filter { !known.contains($0) }
      }
      return ScanDemand(
        services: services,
        allowsDuplicates: all.allowsDuplicates || demand.allowsDuplicates)
    }
  }

  /// Whether the demand matches a discovery, which may be due to another demand.
  func includes(_ discovery: Discovery) -> Bool {
    guard let services else { return true }
    return services.contains {
      discovery.services.contains($0) || discovery.overflowServices.contains($0)
    }
  }
}

/// Listens to a central manager for all runs.
final class CentralProxy: NSObject, CBCentralManagerDelegate, DelegateProxy, Sendable {
  static let all = DelegateProxies<CentralProxy>()

  private enum Only { case scan }

  let (events, input) = Signal<CentralEvent, Never>.pipe()
  /// The restored state, for runs that begin later.
  let restoration = Mutex<CentralRestoration?>(nil)
  private let connections = Demands<CBPeripheral, [String: any Sendable]?>()
  private let scans = Demands<Only, ScanDemand>()

  func attach(to central: CBCentralManager) { central.delegateProxy = self }

  func detach(from central: CBCentralManager) {
    if central.delegateProxy === self { central.delegateProxy = nil }
  }

  // MARK: What runs want

  func scan(_ demand: ScanDemand, with central: CBCentralManager) -> any Disposable {
    scans.add(demand, for: .scan) { CentralProxy.scan($0, with: central) }
  }

  /// A scan that begins when the radio is on replaces the one that runs, if there is one.
  private static func scan(_ demands: [ScanDemand], with central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    if let all = ScanDemand.union(of: demands) {
      central.scanForPeripherals(
        withServices: all.services,
        options: [CBCentralManagerScanOptionAllowDuplicatesKey: all.allowsDuplicates])
    } else {
      central.stopScan()
    }
  }

  func connect(
    _ peripheral: CBPeripheral, _ options: [String: any Sendable]?, with central: CBCentralManager
  ) -> any Disposable {
    connections.add(options, for: peripheral) { demands in
      guard central.state == .poweredOn else { return }
      let state = peripheral.state
      if let options = demands.first {
        if state == .disconnected || state == .disconnecting {
          central.connect(peripheral, options: options)
        }
      } else if state != .disconnected {
        central.cancelPeripheralConnection(peripheral)
      }
    }
  }

  // MARK: CBCentralManagerDelegate

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    central.delegate?.centralManagerDidUpdateState(central)
    // The scan went with the radio.
    if central.state == .poweredOn {
      scans.reapply(.scan) { CentralProxy.scan($0, with: central) }
    }
    input.send(value: .stateChanged(central.state))
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    central.delegate?.centralManager(central, willRestoreState: dict)
    let restored = CentralRestoration(dict)
    restoration.withLock { $0 = restored }
    input.send(value: .restored(restored))
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    central.delegate?.centralManager(
      central, didDiscover: peripheral, advertisementData: advertisementData, rssi: RSSI)
    input.send(
      value: .discovered(
        DiscoveredPeripheral(
          peripheral: peripheral,
          advertisement: Discovery(peripheral, advertisementData, RSSI))))
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    central.delegate?.centralManager(central, didConnect: peripheral)
    input.send(value: .connected(peripheral))
  }

  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) {
    central.delegate?.centralManager(central, didFailToConnect: peripheral, error: error)
    input.send(value: .failedToConnect(peripheral, error))
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
  ) {
    central.delegate?.centralManager(
      central, didDisconnectPeripheral: peripheral, timestamp: timestamp,
      isReconnecting: isReconnecting, error: error)
    input.send(value: .disconnected(peripheral, error, isReconnecting: isReconnecting))
  }

  func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent,
    for peripheral: CBPeripheral
  ) {
    central.delegate?.centralManager(central, connectionEventDidOccur: event, for: peripheral)
    input.send(value: .connectionEvent(event, peripheral))
  }

  func centralManager(
    _ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral
  ) {
    central.delegate?.centralManager(central, didUpdateANCSAuthorizationFor: peripheral)
  }
}
