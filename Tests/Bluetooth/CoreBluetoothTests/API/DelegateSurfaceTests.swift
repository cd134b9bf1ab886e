import BluetoothInterface
import BluetoothWire
import Testing

@testable import CoreBluetooth

// Every delegate method, called through the protocol: it compiles only if the protocol has it under
// exactly that name, it arrives only if it is a requirement, and a delegate that implements nothing
// but what Apple requires compiles only if the rest has defaults.

private final class LoudCentral: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  let record = Record()

  func centralManagerDidUpdateState(_ c: CBCentralManager) { record.add(#function) }
  func centralManager(_ c: CBCentralManager, willRestoreState dict: [String: Any]) {
    record.add(#function)
  }
  func centralManager(
    _ c: CBCentralManager, didDiscover p: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) { record.add(#function) }
  func centralManager(_ c: CBCentralManager, didConnect p: CBPeripheral) { record.add(#function) }
  func centralManager(
    _ c: CBCentralManager, didFailToConnect p: CBPeripheral, error: (any Error)?
  ) { record.add(#function) }
  func centralManager(
    _ c: CBCentralManager, didDisconnectPeripheral p: CBPeripheral, error: (any Error)?
  ) { record.add(#function) }
  func centralManager(
    _ c: CBCentralManager, didDisconnectPeripheral p: CBPeripheral, timestamp: CFAbsoluteTime,
    isReconnecting: Bool, error: (any Error)?
  ) { record.add(#function) }
  func centralManager(
    _ c: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for p: CBPeripheral
  ) { record.add(#function) }
  func centralManager(_ c: CBCentralManager, didUpdateANCSAuthorizationFor p: CBPeripheral) {
    record.add(#function)
  }

  func peripheralDidUpdateName(_ p: CBPeripheral) { record.add(#function) }
  func peripheral(_ p: CBPeripheral, didModifyServices services: [CBService]) {
    record.add(#function)
  }
  func peripheralDidUpdateRSSI(_ p: CBPeripheral, error: (any Error)?) { record.add(#function) }
  func peripheral(_ p: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
    record.add(#function)
  }
  func peripheral(_ p: CBPeripheral, didDiscoverServices error: (any Error)?) {
    record.add(#function)
  }
  func peripheral(
    _ p: CBPeripheral, didDiscoverIncludedServicesFor s: CBService, error: (any Error)?
  ) { record.add(#function) }
  func peripheral(
    _ p: CBPeripheral, didDiscoverCharacteristicsFor s: CBService, error: (any Error)?
  ) { record.add(#function) }
  func peripheral(
    _ p: CBPeripheral, didDiscoverDescriptorsFor c: CBCharacteristic, error: (any Error)?
  ) { record.add(#function) }
  func peripheral(
    _ p: CBPeripheral, didUpdateValueFor c: CBCharacteristic, error: (any Error)?
  ) { record.add(#function) }
  func peripheral(_ p: CBPeripheral, didUpdateValueFor d: CBDescriptor, error: (any Error)?) {
    record.add(#function + " of a descriptor")
  }
  func peripheral(
    _ p: CBPeripheral, didWriteValueFor c: CBCharacteristic, error: (any Error)?
  ) { record.add(#function) }
  func peripheral(_ p: CBPeripheral, didWriteValueFor d: CBDescriptor, error: (any Error)?) {
    record.add(#function + " of a descriptor")
  }
  func peripheral(
    _ p: CBPeripheral, didUpdateNotificationStateFor c: CBCharacteristic, error: (any Error)?
  ) { record.add(#function) }
  func peripheralIsReady(toSendWriteWithoutResponse p: CBPeripheral) { record.add(#function) }
  func peripheral(_ p: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    record.add(#function)
  }
  func peripheral(
    _ p: CBPeripheral, didReceive results: CBChannelSoundingProcedureResults?,
    error: (any Error)?
  ) { record.add(#function) }
  func peripheral(_ p: CBPeripheral, didCompleteChannelSoundingSession error: (any Error)?) {
    record.add(#function)
  }
}

private final class LoudPeripheral: NSObject, CBPeripheralManagerDelegate {
  let record = Record()

  func peripheralManagerDidUpdateState(_ p: CBPeripheralManager) { record.add(#function) }
  func peripheralManager(_ p: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    record.add(#function)
  }
  func peripheralManagerDidStartAdvertising(_ p: CBPeripheralManager, error: (any Error)?) {
    record.add(#function)
  }
  func peripheralManager(
    _ p: CBPeripheralManager, didAdd service: CBService, error: (any Error)?
  ) { record.add(#function) }
  func peripheralManager(
    _ p: CBPeripheralManager, central: CBCentral, didSubscribeTo c: CBCharacteristic
  ) { record.add(#function) }
  func peripheralManager(
    _ p: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom c: CBCharacteristic
  ) { record.add(#function) }
  func peripheralManager(_ p: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    record.add(#function)
  }
  func peripheralManager(_ p: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    record.add(#function)
  }
  func peripheralManagerIsReady(toUpdateSubscribers p: CBPeripheralManager) {
    record.add(#function)
  }
  func peripheralManager(
    _ p: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
  ) { record.add(#function) }
  func peripheralManager(
    _ p: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
  ) { record.add(#function) }
  func peripheralManager(
    _ p: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?
  ) { record.add(#function) }
}

/// Implements what must be, and nothing else.
private final class Silent: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate,
  CBPeripheralManagerDelegate
{
  func centralManagerDidUpdateState(_ central: CBCentralManager) {}
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
}

/// Calls the deprecated method without a warning.
private protocol OldRSSI { func tell(_ delegate: any CBPeripheralDelegate, _ p: CBPeripheral) }
private struct OldRSSICall: OldRSSI {
  @available(*, deprecated)
  func tell(_ delegate: any CBPeripheralDelegate, _ p: CBPeripheral) {
    delegate.peripheralDidUpdateRSSI(p, error: nil)
  }
}

@Suite("Core Bluetooth's delegates")
struct DelegateSurfaceTests {
  private let central = CentralFixture()
  private let manager = PeripheralManagerFixture()

  private func peripheral() throws -> CBPeripheral {
    try #require(central.manager.retrievePeripherals(withIdentifiers: [.strap]).first)
  }

  private func callAll(_ delegate: any CBCentralManagerDelegate, _ p: CBPeripheral) {
    let c = central.manager
    delegate.centralManagerDidUpdateState(c)
    delegate.centralManager(c, willRestoreState: [:])
    delegate.centralManager(c, didDiscover: p, advertisementData: [:], rssi: -1)
    delegate.centralManager(c, didConnect: p)
    delegate.centralManager(c, didFailToConnect: p, error: nil)
    delegate.centralManager(c, didDisconnectPeripheral: p, error: nil)
    delegate.centralManager(
      c, didDisconnectPeripheral: p, timestamp: 0, isReconnecting: false, error: nil)
    delegate.centralManager(c, connectionEventDidOccur: .peerConnected, for: p)
    delegate.centralManager(c, didUpdateANCSAuthorizationFor: p)
  }

  private func callAll(_ delegate: any CBPeripheralDelegate, _ p: CBPeripheral) {
    let service = manager.service
    let c = manager.temperature
    let d = CBMutableDescriptor(type: CBUUID(string: "2901"), value: nil)
    let old: any OldRSSI = OldRSSICall()
    delegate.peripheralDidUpdateName(p)
    delegate.peripheral(p, didModifyServices: [])
    old.tell(delegate, p)
    delegate.peripheral(p, didReadRSSI: -1, error: nil)
    delegate.peripheral(p, didDiscoverServices: nil)
    delegate.peripheral(p, didDiscoverIncludedServicesFor: service, error: nil)
    delegate.peripheral(p, didDiscoverCharacteristicsFor: service, error: nil)
    delegate.peripheral(p, didDiscoverDescriptorsFor: c, error: nil)
    delegate.peripheral(p, didUpdateValueFor: c, error: nil)
    delegate.peripheral(p, didUpdateValueFor: d, error: nil)
    delegate.peripheral(p, didWriteValueFor: c, error: nil)
    delegate.peripheral(p, didWriteValueFor: d, error: nil)
    delegate.peripheral(p, didUpdateNotificationStateFor: c, error: nil)
    delegate.peripheralIsReady(toSendWriteWithoutResponse: p)
    delegate.peripheral(p, didOpen: nil, error: nil)
    delegate.peripheral(p, didReceive: nil, error: nil)
    delegate.peripheral(p, didCompleteChannelSoundingSession: nil)
  }

  private func callAll(_ delegate: any CBPeripheralManagerDelegate) {
    let m = manager.manager
    let c = manager.temperature
    let central = CBCentral(address: .phone)
    let request = CBATTRequest(
      central: central, characteristic: c, offset: 0, value: nil,
      serverRequest: ServerRequestID(rawValue: 1))
    delegate.peripheralManagerDidUpdateState(m)
    delegate.peripheralManager(m, willRestoreState: [:])
    delegate.peripheralManagerDidStartAdvertising(m, error: nil)
    delegate.peripheralManager(m, didAdd: manager.service, error: nil)
    delegate.peripheralManager(m, central: central, didSubscribeTo: c)
    delegate.peripheralManager(m, central: central, didUnsubscribeFrom: c)
    delegate.peripheralManager(m, didReceiveRead: request)
    delegate.peripheralManager(m, didReceiveWrite: [request])
    delegate.peripheralManagerIsReady(toUpdateSubscribers: m)
    delegate.peripheralManager(m, didPublishL2CAPChannel: 0x80, error: nil)
    delegate.peripheralManager(m, didUnpublishL2CAPChannel: 0x80, error: nil)
    delegate.peripheralManager(m, didOpen: nil, error: nil)
  }

  @Test("9, 17 and 12 methods reach a delegate that implements them, each once")
  func requirements() throws {
    let loud = LoudCentral()
    callAll(loud as any CBCentralManagerDelegate, try peripheral())
    #expect(loud.record.lines.count == 9)
    #expect(Set(loud.record.take()).count == 9)
    callAll(loud as any CBPeripheralDelegate, try peripheral())
    #expect(loud.record.lines.count == 17)
    #expect(Set(loud.record.lines).count == 17)
    let server = LoudPeripheral()
    callAll(server)
    #expect(server.record.lines.count == 12)
    #expect(Set(server.record.lines).count == 12)
  }

  @Test("all but the state's methods may be left out")
  func defaults() throws {
    let silent = Silent()
    callAll(silent as any CBCentralManagerDelegate, try peripheral())
    callAll(silent as any CBPeripheralDelegate, try peripheral())
    callAll(silent as any CBPeripheralManagerDelegate)
  }

  @Test("a disconnection is reported in one method: the one with a time stamp if implemented")
  func oneDisconnection() throws {
    let loud = LoudCentral()
    central.manager.delegate = loud
    let strap = try peripheral()
    central.manager.connect(strap)
    central.host.deliver(
      .connected(.strap),
      .disconnected(.strap, .disconnected(HCIStatus(rawValue: 0x08)), reconnecting: false))
    #expect(
      loud.record.lines == [
        "centralManager(_:didConnect:)",
        "centralManager(_:didDisconnectPeripheral:timestamp:isReconnecting:error:)",
      ])
  }
}
