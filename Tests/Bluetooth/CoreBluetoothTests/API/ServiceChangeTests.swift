import CoreBluetooth
import Essentials
import SimulatedRadio
import Testing

@Suite("A peripheral whose services change")
struct ServiceChangeTests {
  @Test("a service change soon after discovery invalidates only the changed services")
  func soonAfterDiscovery() throws {
    let pair = Pair()
    let other = CBMutableService(type: CBUUID(string: "180F"), primary: true)
    let level = CBMutableCharacteristic(
      type: CBUUID(string: "2A19"), properties: .read, value: Data([50]), permissions: .readable)
    other.characteristics = [level]
    pair.manager.add(other)
    let peripheral = try pair.connect()
    peripheral.discoverServices(nil)
    pair.wait(pair.phone.record, for: "services ok")
    let services = try #require(peripheral.services)
    let kept = try #require(services.first { $0.uuid == CBUUID(string: "181A") })
    peripheral.discoverCharacteristics(nil, for: kept)
    pair.wait(pair.phone.record, for: "characteristics 181A ok")
    let characteristics = try #require(kept.characteristics)
    // Before the central has subscribed to Service Changed.
    pair.manager.remove(other)
    pair.wait(pair.phone.record, for: "modified [\"180F\"]")
    pair.radio.advance(by: .seconds(10))
    #expect(!pair.phone.record.lines.contains { $0.hasPrefix("modified") })
    #expect(peripheral.services?.count == 1)
    #expect(peripheral.services?.first === kept)
    let maker = try #require(characteristics.first { $0.uuid == CBUUID(string: "2A29") })
    peripheral.readValue(for: maker)
    pair.wait(pair.phone.record, for: "value 2A29 65,109,98,105,116 ok")
  }

  @Test("a peripheral's name is read after the requests that an app makes once connected")
  func name() throws {
    let pair = Pair()
    pair.central.scanForPeripherals(withServices: [CBUUID(string: "181A")])
    #expect(pair.radio.advance(within: .seconds(10)) { !pair.phone.peripherals.isEmpty })
    pair.central.stopScan()
    let peripheral = try #require(pair.phone.peripherals.first)
    pair.central.connect(peripheral)
    #expect(pair.radio.advance(within: .seconds(10)) { peripheral.state == .connected })
    peripheral.discoverServices(nil)
    pair.radio.advance(by: .seconds(3))
    let lines = pair.phone.record.lines
    let services = try #require(lines.firstIndex(of: "services ok"))
    let name = try #require(lines.firstIndex(of: "name gadget"))
    #expect(services < name, "\(lines)")
  }
}
