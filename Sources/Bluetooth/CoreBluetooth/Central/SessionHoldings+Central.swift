internal import BluetoothInterface

extension SessionHoldings {
  /// What `centralManager(_:willRestoreState:)` gets: keys only for what there was.
  func centralState(_ peripherals: [CBPeripheral]) -> [String: Any] {
    var state: [String: Any] = [:]
    if !peripherals.isEmpty { state[CBCentralManagerRestoredStatePeripheralsKey] = peripherals }
    guard let scan else { return state }
    if !scan.services.isEmpty {
      state[CBCentralManagerRestoredStateScanServicesKey] = scan.services.map { CBUUID($0) }
    }
    var options: [String: Any] = [
      CBCentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: scan.allowsDuplicates)
    ]
    if !scan.solicitedServices.isEmpty {
      options[CBCentralManagerScanOptionSolicitedServiceUUIDsKey] =
        scan.solicitedServices.map { CBUUID($0) }
    }
    state[CBCentralManagerRestoredStateScanOptionsKey] = options
    return state
  }
}
