import CoreBluetooth

/// Connects again with a peripheral that was connected before, in the quickest way there is.
final class Reconnector {
  private let central: CBCentralManager
  private let service: CBUUID
  private var peripheral: CBPeripheral?

  init(central: CBCentralManager, service: CBUUID) {
    self.central = central
    self.service = service
  }

  func reconnect(_ identifier: UUID) {
    // 1. A peripheral known by its identifier: no scan at all. The connection comes about
    //    whenever the peripheral is there; cancel it to give up.
    if let known = central.retrievePeripherals(withIdentifiers: [identifier]).first {
      peripheral = known
      return central.connect(
        known, options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
    }
    // 2. One that another program of this host is connected with already.
    if let linked = central.retrieveConnectedPeripherals(withServices: [service]).first {
      peripheral = linked
      return central.connect(linked)
    }
    // 3. One that has to be found again.
    central.scanForPeripherals(withServices: [service])
  }
}
