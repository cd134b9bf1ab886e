/// The events of a central manager. Only the first method must be implemented.
public protocol CBCentralManagerDelegate: NSObjectProtocol {
  /// The radio's state changed. Also called once soon after the manager was created.
  func centralManagerDidUpdateState(_ central: CBCentralManager)
  /// The manager goes on with the state that an earlier process of the app left under its restore identifier. The
  /// dictionary has those of the `CBCentralManagerRestoredState…` keys that have a value. The first call of all, also
  /// before the radio's state is known; the events that came meanwhile follow it.
  ///
  /// Keep the peripherals: the connections of those that are released are cancelled, after the first state.
  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any])
  /// A peripheral was discovered. `RSSI` is in dBm, or 127 if the radio can't measure it.
  ///
  /// Keep a strong reference to the peripheral to use it: the manager doesn't retain it.
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber)
  /// The requested connection is established.
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral)
  /// The requested connection cannot be established.
  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?)
  /// The connection ended; without an error if the app cancelled it.
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?)
  /// The connection ended. If this method is implemented, the one without a timestamp is not
  /// called.
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?)
  /// A peer that matches `registerForConnectionEvents(options:)` connected or disconnected.
  func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent,
    for peripheral: CBPeripheral)
  /// Never called: the Apple Notification Center Service is not supported.
  func centralManager(
    _ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral)
}

extension CBCentralManagerDelegate {
  /// Does nothing.
  public func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {}
  /// Does nothing.
  public func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {}
  /// Does nothing.
  public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {}
  /// Does nothing.
  public func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) {}
  /// Does nothing.
  public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {}
  /// Calls the method without a timestamp.
  public func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
  ) {
    centralManager(central, didDisconnectPeripheral: peripheral, error: error)
  }
  /// Does nothing.
  public func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent,
    for peripheral: CBPeripheral
  ) {}
  /// Does nothing.
  public func centralManager(
    _ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral
  ) {}
}
