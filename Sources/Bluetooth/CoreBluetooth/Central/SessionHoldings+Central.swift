internal import BluetoothInterface

extension SessionHoldings {
  /// The dictionary for `centralManager(_:willRestoreState:)`. A key without a value is left out.
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
