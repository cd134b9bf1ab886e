import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Essentials
import Foundation
import HubClient
import HubHost
import SimulatedRadio
import Simulation
import Testing

@testable import CoreBluetooth

/// A thermometer that publishes its service once, and advertises whenever the radio is on.
private final class Thermometer: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  // Unchecked: changed on the delegate's queue only.
  private let continuation: AsyncStream<String>.Continuation
  private let temperature = CBMutableCharacteristic(
    type: CBUUID(string: "2A6E"), properties: [.read, .notify], value: nil, permissions: .readable)
  private var isPublished = false

  init(_ continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }

  func peripheralManagerDidUpdateState(_ manager: CBPeripheralManager) {
    guard manager.state == .poweredOn else { return }
    if !isPublished {
      isPublished = true
      let service = CBMutableService(type: CBUUID(string: "181A"), primary: true)
      service.characteristics = [temperature]
      manager.add(service)
    }
    manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "181A")]])
  }

  func peripheralManager(
    _ manager: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) {
    continuation.yield(characteristic === temperature ? "subscribed" : "another object")
    if !manager.updateValue(Data([9]), for: temperature, onSubscribedCentrals: nil) {
      continuation.yield("not sent")
    }
  }

  func peripheralManager(
    _ manager: CBPeripheralManager, central: CBCentral,
    didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    continuation.yield(characteristic === temperature ? "unsubscribed" : "another object")
  }
}

/// An app that finds the thermometer, subscribes, and does so again when the link is lost.
private final class Reader: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate,
  @unchecked Sendable
{
  // Unchecked: changed on the delegate's queue only.
  private let continuation: AsyncStream<String>.Continuation
  private let service = CBUUID(string: "181A")
  private var found: CBPeripheral?

  init(_ continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [service]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi: NSNumber
  ) {
    guard found == nil else { return }
    found = peripheral
    central.stopScan()
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.delegate = self
    peripheral.discoverServices([service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {
    found = nil
    central.scanForPeripherals(withServices: [service])
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] {
      peripheral.discoverCharacteristics(nil, for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    for characteristic in service.characteristics ?? [] {
      peripheral.setNotifyValue(true, for: characteristic)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { continuation.yield("value \([UInt8](characteristic.value ?? Data()))") }
}

@Suite("A peripheral manager through the hub", .timeLimit(.minutes(5)))
struct PeripheralManagerTests {
  @Test("a service is published again by the next hub, under other handles, without the app's help")
  func otherHandles() async throws {
    let path = TestHub.makePath()
    let radio = try await RadioServer.start(at: [.unix(path: TestHub.makePath())]) {
      World(seed: 1, radio: .ideal)
    }
    let address = try #require(radio.addresses.first)
    let phone = try BluetoothHost(radio: address)
    var host = try BluetoothHost(radio: address)
    var hub = try await HubServer.start(at: .path(path), host)
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    let thermometer = Thermometer(continuation)
    let provider = HubSessionProvider(path: path, app: "thermometer", logger: .silent)
    let manager = CBPeripheralManager(
      delegate: thermometer, queue: DispatchQueue(label: "thermometer"), host: provider)
    let reader = Reader(continuation)
    let central = CBCentralManager(
      delegate: reader, queue: DispatchQueue(label: "reader"), host: phone)
    var iterator = lines.makeAsyncIterator()
    #expect(await iterator.next() == "subscribed")
    #expect(await iterator.next() == "value [9]")
    await hub.close()
    await host.close()
    #expect(await iterator.next() == "unsubscribed")

    host = try BluetoothHost(radio: address)
    // It takes the handles that the thermometer's service had.
    let other = host.openSession { _ in }
    other.send(.addService(ServiceDefinition(uuid: 0x1809), RequestToken(rawValue: 1)))
    hub = try await HubServer.start(at: .path(path), host)
    #expect(await iterator.next() == "subscribed")
    #expect(await iterator.next() == "value [9]")
    withExtendedLifetime((manager, central, other)) {}
    await hub.close()
    await host.close()
    await phone.close()
    await radio.close()
  }
}
