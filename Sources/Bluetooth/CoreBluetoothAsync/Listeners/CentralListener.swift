package import CoreBluetooth
package import RunLoopSupport

/// A call of a central manager's delegate.
package enum CentralEvent: Sendable {
  case stateChanged(CBManagerState)
  case discovered(CBPeripheral, Discovery)
  case connected(CBPeripheral)
  case failedToConnect(CBPeripheral, (any Error)?)
  case disconnected(CBPeripheral, (any Error)?, isReconnecting: Bool)
  case connectionEvent(CBConnectionEvent, CBPeripheral)
}

/// The discoveries that one observer of a scan receives.
package struct ScanDemand: Sendable {
  /// Nil for all advertisers.
  let services: [CBUUID]?
  let allowsDuplicates: Bool

  package init(services: [CBUUID]?, allowsDuplicates: Bool) {
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

/// The delegate of a central manager for all sequences, functions and producers.
package final class CentralListener: NSObject, CBCentralManagerDelegate, DelegateListener, Sendable
{
  package static let all = DelegateListeners<CentralListener>()

  private enum Only { case scan }

  package let events = EventObservers<CentralEvent>()
  let restoration = RestoredState<CentralRestoration>()
  private let connections = Demands<CBPeripheral, [String: any Sendable]?>()
  private let scans = Demands<Only, ScanDemand>()

  package override init() { super.init() }

  package func attach(to central: CBCentralManager) { central.delegateProxy = self }

  package func detach(from central: CBCentralManager) {
    if central.delegateProxy === self { central.delegateProxy = nil }
  }

  // MARK: Shared resources

  /// Scans until the last registration is cancelled, while the radio is on.
  func scan(_ demand: ScanDemand, with central: CBCentralManager) -> ListenerRegistration {
    scans.add(demand, for: .scan) { CentralListener.scan($0, with: central) }
  }

  /// A scan replaces the previous one.
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

  /// Connects, and cancels the connection when the last registration is cancelled.
  func connect(
    _ peripheral: CBPeripheral, _ options: [String: any Sendable]?, with central: CBCentralManager
  ) -> ListenerRegistration {
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

  package func centralManagerDidUpdateState(_ central: CBCentralManager) {
    central.delegate?.centralManagerDidUpdateState(central)
    // The scan ended with the radio.
    if central.state == .poweredOn {
      scans.reapply(.scan) { CentralListener.scan($0, with: central) }
    }
    events.send(.stateChanged(central.state))
  }

  package func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    central.delegate?.centralManager(central, willRestoreState: dict)
    restoration.send(CentralRestoration(dict))
  }

  package func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    central.delegate?.centralManager(
      central, didDiscover: peripheral, advertisementData: advertisementData, rssi: RSSI)
    events.send(
      .discovered(peripheral, Discovery(peripheral, advertisementData, RSSI)))
  }

  package func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    central.delegate?.centralManager(central, didConnect: peripheral)
    events.send(.connected(peripheral))
  }

  package func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) {
    central.delegate?.centralManager(central, didFailToConnect: peripheral, error: error)
    events.send(.failedToConnect(peripheral, error))
  }

  package func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
  ) {
    central.delegate?.centralManager(
      central, didDisconnectPeripheral: peripheral, timestamp: timestamp,
      isReconnecting: isReconnecting, error: error)
    events.send(.disconnected(peripheral, error, isReconnecting: isReconnecting))
  }

  package func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent,
    for peripheral: CBPeripheral
  ) {
    central.delegate?.centralManager(central, connectionEventDidOccur: event, for: peripheral)
    events.send(.connectionEvent(event, peripheral))
  }

  package func centralManager(
    _ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral
  ) {
    central.delegate?.centralManager(central, didUpdateANCSAuthorizationFor: peripheral)
  }
}
