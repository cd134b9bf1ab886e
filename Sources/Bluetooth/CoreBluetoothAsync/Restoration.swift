public import CoreBluetooth

/// What a central manager has of an earlier process of the app.
public struct CentralRestoration: Sendable {
  /// The peripherals that are connected, or have a pending connection. Keep them: the connections of those that are
  /// released are cancelled.
  public let peripherals: [CBPeripheral]
  /// The services that the manager scans for, empty for all peripherals; nil if it doesn't scan.
  public let scannedServices: [CBUUID]?

  package init(_ state: [String: Any]) {
    peripherals = state[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    scannedServices =
      state[CBCentralManagerRestoredStateScanOptionsKey] == nil
      ? nil : state[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID] ?? []
  }
}

/// What a peripheral manager has of an earlier process of the app.
public struct PeripheralManagerRestoration: Sendable {
  /// The published services, with their subscribed centrals.
  public let services: [CBMutableService]
  /// Whether it advertises.
  public let isAdvertising: Bool

  package init(_ state: [String: Any]) {
    services = state[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
    isAdvertising = state[CBPeripheralManagerRestoredStateAdvertisementDataKey] != nil
  }
}
