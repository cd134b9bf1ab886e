import BluetoothHost
import CoreBluetooth
import Essentials
import Foundation
import HubClient
import HubHost
import SimulatedRadio
import Simulation
import Testing

/// An app as most are written: it finds a strap once, keeps it, and connects it whenever the radio is on.
final class StrapApp: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate,
  @unchecked Sendable
{
  // Unchecked: changed on the delegate's queue only.
  private let continuation: AsyncStream<String>.Continuation
  private var saved: CBPeripheral?

  init(_ continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    continuation.yield("\(central.state)")
    guard central.state == .poweredOn else { return }
    if let saved {
      central.connect(saved)
    } else {
      central.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi: NSNumber
  ) {
    guard saved == nil else { return }
    saved = peripheral
    central.stopScan()
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    continuation.yield(peripheral === saved ? "connected" : "another object connected")
    peripheral.delegate = self
    peripheral.discoverServices([CBUUID(string: "180D")])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) { continuation.yield(error == nil ? "disconnected" : "lost") }

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
      if characteristic.uuid == CBUUID(string: "2A38") { peripheral.readValue(for: characteristic) }
      if characteristic.uuid == CBUUID(string: "2A37") {
        peripheral.setNotifyValue(true, for: characteristic)
      }
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    let isRead = characteristic.uuid == CBUUID(string: "2A38")
    let hasValue = error == nil && characteristic.value != nil
    continuation.yield(hasValue ? (isRead ? "read" : "notified") : "no value")
  }
}

@Suite("A central manager through the hub", .timeLimit(.minutes(5)))
struct CentralManagerTests {
  @Test("a central manager scans, connects, reads and subscribes, also after the hub has ended")
  func lifeOfAHub() async throws {
    let path = TestHub.makePath()
    let radio = try await RadioServer.start(at: [.unix(path: TestHub.makePath())]) {
      let world = World(seed: 1, radio: .ideal)
      _ = world.addHeartRateStrap(at: Position(x: 1, y: 0))
      return world
    }
    let host = try BluetoothHost(radio: try #require(radio.addresses.first))
    var hub = try await HubServer.start(at: .path(path), host)
    let provider = HubSessionProvider(path: path, app: "strap", logger: .silent)
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    let app = StrapApp(continuation)
    let manager = CBCentralManager(
      delegate: app, queue: DispatchQueue(label: "app"), host: provider)
    var iterator = lines.makeAsyncIterator()
    var heard: Set<String> = []
    for _ in 0..<2 {
      #expect(await iterator.next() == "poweredOn")
      #expect(await iterator.next() == "connected")
      heard = []
      while heard.count < 2, let line = await iterator.next() { heard.insert(line) }
      #expect(heard == ["read", "notified"])
      await hub.close()
      var line = await iterator.next()
      while line == "notified" { line = await iterator.next() }
      #expect(line == "poweredOff")
      #expect(await iterator.next() == "lost")
      hub = try await HubServer.start(at: .path(path), host)
    }
    withExtendedLifetime(manager) {}
    await hub.close()
    await host.close()
    await radio.close()
  }
}
