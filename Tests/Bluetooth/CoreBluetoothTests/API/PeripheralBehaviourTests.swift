import BluetoothHost
import BluetoothInterface
import BluetoothSessions
import BluetoothWire
import Essentials
import SimulatedRadio
import Simulation
import Testing

@testable import CoreBluetooth

// The peripheral manager's part of the compatibility checklist, by its numbers.

@Suite("Promised behaviour of a peripheral")
struct PeripheralBehaviourTests {
  @Test("§9.12 a cached value must be read-only; the host's own services are its own")
  func publishing() {
    let fixture = PeripheralManagerFixture(published: false)
    func add(_ uuid: String, _ characteristic: CBMutableCharacteristic? = nil) {
      let service = CBMutableService(type: CBUUID(string: uuid), primary: true)
      service.characteristics = characteristic.map { [$0] }
      fixture.manager.add(service)
      fixture.host.settle()
    }
    func cached(
      _ properties: CBCharacteristicProperties, _ permissions: CBAttributePermissions
    ) -> CBMutableCharacteristic {
      CBMutableCharacteristic(
        type: CBUUID(string: "2A29"), properties: properties, value: Data([1]),
        permissions: permissions)
    }
    add("1234", cached([.read, .write], [.readable, .writeable]))
    add("1234", cached(.read, [.readable, .writeable]))
    add("1234", cached([.read, .notify], .readable))
    add("1800")
    add("1801")
    #expect(fixture.host.requests.isEmpty)
    #expect(
      fixture.record.take()
        == Array(repeating: "added 1234 invalidParameters", count: 3)
        + ["added 1800 uuidNotAllowed", "added 1801 uuidNotAllowed"])
    add("1234", cached(.read, .readable))
    #expect(fixture.host.requests.map(\.name) == ["addService"])
  }

  @Test("§9.13 prepared writes are one batch with one answer, for all or for none")
  func batch() throws {
    let pair = Pair(mtuMax: 185)
    let peripheral = try pair.connect()
    let setPoint = try pair.discover(peripheral)[1]
    let long = Data((0..<500).map { UInt8(truncatingIfNeeded: $0) })
    peripheral.writeValue(long, for: setPoint, type: .withResponse)
    #expect(pair.radio.advance(within: .seconds(10)) { !pair.gadget.writes.isEmpty })
    let batch = try #require(pair.gadget.writes.first)
    try #require(batch.count > 1)
    // Each continues where the one before ends.
    var written = Data()
    for request in batch {
      #expect(request.offset == written.count)
      written += request.value ?? Data()
    }
    #expect(written == long)
    // Answers to the others are misuse; the first one's counts.
    pair.manager.respond(to: batch[1], withResult: .success)
    pair.radio.advance(by: .seconds(1))
    #expect(pair.phone.record.lines.isEmpty)
    pair.manager.respond(to: batch[0], withResult: .writeNotPermitted)
    pair.wait(pair.phone.record, for: "wrote 2A6F att writeNotPermitted")
    #expect(pair.gadget.writes.count == 1)
  }

  @Test("§9.13 a static value is answered by the system, the delegate is not asked")
  func staticValue() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    peripheral.readValue(for: try pair.discover(peripheral)[2])
    pair.wait(pair.phone.record, for: "value 2A29 65,109,98,105,116 ok")
    #expect(pair.gadget.reads.isEmpty)
  }

  @Test("§9.14 updates are refused while there is no room, then called for, and none is lost")
  func updates() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    peripheral.setNotifyValue(true, for: try pair.discover(peripheral)[0])
    pair.wait(pair.phone.record, for: "notifying true ok")
    pair.gadget.record.clear()
    var accepted = 0
    while pair.manager.updateValue(
      Data([UInt8(accepted)]), for: pair.reading, onSubscribedCentrals: nil)
    {
      accepted += 1
      #expect(accepted <= Limits.updatesMax)
    }
    pair.wait(pair.gadget.record, for: "ready")
    pair.radio.advance(by: .seconds(5))
    #expect(pair.phone.record.lines == (0..<accepted).map { "value 2A6E \($0) ok" })
  }

  @Test("§9.14 a value is cut to what a notification carries to the central")
  func truncation() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    let reading = try pair.discover(peripheral)[0]
    peripheral.setNotifyValue(true, for: reading)
    pair.wait(pair.phone.record, for: "notifying true ok")
    let room = try #require(pair.gadget.centrals.first?.maximumUpdateValueLength)
    let long = Data((0..<600).map { UInt8(truncatingIfNeeded: $0) })
    pair.manager.updateValue(long, for: pair.reading, onSubscribedCentrals: nil)
    #expect(pair.radio.advance(within: .seconds(5)) { reading.value == long.prefix(room) })
  }

  @Test("§9.15 only the local name and service UUIDs are advertised")
  func advertising() throws {
    let pair = Pair()
    pair.manager.stopAdvertising()
    pair.manager.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Named",
      CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "180F")],
      CBAdvertisementDataManufacturerDataKey: Data([1, 2, 3]),
      CBAdvertisementDataServiceDataKey: [CBUUID(string: "180F"): Data([1])],
      CBAdvertisementDataTxPowerLevelKey: 4,
    ])
    pair.central.scanForPeripherals(withServices: [CBUUID(string: "180F")])
    #expect(pair.radio.advance(within: .seconds(10)) { !pair.phone.peripherals.isEmpty })
    #expect(
      Set(pair.phone.advertisement.keys) == [
        CBAdvertisementDataLocalNameKey, CBAdvertisementDataServiceUUIDsKey,
        CBAdvertisementDataIsConnectable,
      ])
    #expect(pair.phone.advertisement[CBAdvertisementDataLocalNameKey] as? String == "Named")
  }

  @Test("§9.15 each UUID that doesn't fit is found by a scan for it, and by no other scan")
  func overflowArea() throws {
    let pair = Pair()
    let uuids = (1...5).map { CBUUID(string: "6E40000\($0)-B5A3-F393-E0A9-E50E24DCCA9E") }
    pair.manager.stopAdvertising()
    pair.manager.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Five services", CBAdvertisementDataServiceUUIDsKey: uuids,
    ])
    for uuid in uuids.dropFirst() {
      pair.phone.peripherals = []
      pair.central.scanForPeripherals(withServices: [uuid])
      #expect(pair.radio.advance(within: .seconds(10)) { !pair.phone.peripherals.isEmpty })
      let found = pair.phone.advertisement
      #expect(found[CBAdvertisementDataOverflowServiceUUIDsKey] as? [CBUUID] == [uuid])
      #expect(found[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [uuids[0]])
      #expect(found[CBAdvertisementDataManufacturerDataKey] == nil)
      pair.central.stopScan()
    }
    pair.phone.peripherals = []
    pair.central.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    pair.radio.advance(by: .seconds(10))
    #expect(pair.phone.peripherals.isEmpty)
    pair.central.scanForPeripherals(withServices: nil)
    #expect(pair.radio.advance(within: .seconds(10)) { !pair.phone.peripherals.isEmpty })
    #expect(pair.phone.advertisement[CBAdvertisementDataOverflowServiceUUIDsKey] == nil)
  }

  @Test("§9.15 UUIDs that an app's array wraps in optionals are advertised, too")
  func optionalUUIDs() {
    let fixture = PeripheralManagerFixture()
    // An implicitly unwrapped property makes a literal's element type optional; Objective-C does
    // not see the difference.
    let uuid: CBUUID! = CBUUID(string: "180F")
    let advertisement = [CBAdvertisementDataServiceUUIDsKey: [uuid]]
    fixture.manager.startAdvertising(advertisement as [String: Any])
    guard case .startAdvertising(let options, _) = fixture.host.requests.last else {
      Issue.record("no advertising")
      return
    }
    #expect(options.data == [2, 1, 6, 3, 3, 0x0F, 0x18])
  }

  @Test("§9.16 the system picks a dynamic PSM; a dropped channel closes")
  func channels() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    pair.manager.publishL2CAPChannel(withEncryption: false)
    pair.wait(pair.gadget.record, for: "published ok")
    #expect((0x80...0xFF).contains(pair.gadget.psm))
    peripheral.openL2CAPChannel(pair.gadget.psm)
    pair.wait(pair.phone.record, for: "channel ok")
    let there = try #require(pair.gadget.channel)
    #expect(there.psm == pair.gadget.psm)
    #expect(there.peer.identifier != peripheral.identifier)
    #expect(pair.phone.channel?.peer === peripheral)
    there.inputStream.open()
    pair.phone.channel = nil
    #expect(pair.radio.advance(within: .seconds(5)) { there.inputStream.streamStatus == .atEnd })
  }

  @Test("§9.16 a PSM that the manager does not listen on cannot be unpublished")
  func foreignPSM() {
    let fixture = PeripheralManagerFixture()
    fixture.manager.unpublishL2CAPChannel(0x85)
    fixture.host.settle()
    #expect(fixture.record.take() == ["unpublished 133 invalidParameters"])
    #expect(!fixture.host.requests.contains { $0.name == "unpublishChannel" })
    fixture.manager.publishL2CAPChannel(withEncryption: false)
    fixture.host.answer(.success(.psm(0x85)))
    fixture.manager.unpublishL2CAPChannel(0x85)
    fixture.manager.unpublishL2CAPChannel(0x85)
    fixture.host.settle()
    #expect(
      fixture.record.lines
        == ["published ok", "unpublished 133 ok", "unpublished 133 invalidParameters"])
    #expect(fixture.host.requests.filter { $0.name == "unpublishChannel" }.count == 1)
  }

  @Test("§9.17 restore identifiers are accepted, and nothing is claimed to be restored")
  func restoration() {
    final class Restored: NSObject, CBCentralManagerDelegate, CBPeripheralManagerDelegate {
      let record = Record()
      func centralManagerDidUpdateState(_ central: CBCentralManager) { record.add("central") }
      func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        record.add("restored")
      }
      func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        record.add("peripheral")
      }
      func peripheralManager(
        _ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]
      ) { record.add("restored") }
    }
    let radio = VirtualRadio(seed: 1)
    let delegate = Restored()
    let queue = DispatchQueue(label: "restored")
    let managers: [CBManager] = BluetoothHost.$current.withValue(radio.makeHost(name: "phone")) {
      [
        CBCentralManager(
          delegate: delegate, queue: queue,
          options: [CBCentralManagerOptionRestoreIdentifierKey: "one"]),
        CBPeripheralManager(
          delegate: delegate, queue: queue,
          options: [CBPeripheralManagerOptionRestoreIdentifierKey: "one"]),
      ]
    }
    radio.advance(by: .seconds(1))
    #expect(managers.allSatisfy { $0.state == .poweredOn })
    #expect(delegate.record.lines.sorted() == ["central", "peripheral"])
  }

  @Test("a session is named by its manager's kind and restore identifier, and not without one")
  func sessionNames() {
    func name(_ make: (DispatchQueue) -> CBManager) -> String? {
      let host = ScriptedHost()
      _ = CurrentHost.$override.withValue(host) { make(DispatchQueue(label: "named")) }
      return host.name
    }
    func central(_ options: [String: Any]?) -> String? {
      name { CBCentralManager(delegate: nil, queue: $0, options: options) }
    }
    func peripheral(_ options: [String: Any]?) -> String? {
      name { CBPeripheralManager(delegate: nil, queue: $0, options: options) }
    }
    #expect(central([CBCentralManagerOptionRestoreIdentifierKey: "lock"]) == "central:lock")
    #expect(
      peripheral([CBPeripheralManagerOptionRestoreIdentifierKey: "lock"]) == "peripheral:lock")
    let nameless: [[String: Any]?] = [nil, [:], [CBCentralManagerOptionRestoreIdentifierKey: ""]]
    for options in nameless { #expect(central(options) == "" && peripheral(options) == "") }
    // What is no text identifies nothing.
    #expect(central([CBCentralManagerOptionRestoreIdentifierKey: 7]) == "")
    #expect(name { CBCentralManager(delegate: nil, queue: $0) } == "")
    #expect(name { CBPeripheralManager(delegate: nil, queue: $0) } == "")
  }
}
