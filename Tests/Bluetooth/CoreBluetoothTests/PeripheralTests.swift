import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import CoreBluetooth

/// A peripheral with a heart-rate and a battery service, discovered as far as a test needs.
struct PeripheralFixture {
  let central = CentralFixture()
  let peripheral: CBPeripheral
  var host: ScriptedHost { central.host }
  var record: Record { central.record }

  static let heartRate = RemoteService(
    uuid: 0x180D, range: HandleRange(10, 19), isPrimary: true)
  static let battery = RemoteService(uuid: 0x180F, range: HandleRange(20, 29), isPrimary: true)
  static let measurement = RemoteCharacteristic(
    uuid: 0x2A37, declarationHandle: 11, valueHandle: 12, endHandle: 14,
    properties: [.notify, .read])
  static let controlPoint = RemoteCharacteristic(
    uuid: 0x2A39, declarationHandle: 15, valueHandle: 16, endHandle: 16,
    properties: [.write, .writeWithoutResponse])

  init(mtu: Int = 185) throws {
    peripheral = try central.connected(mtu: mtu)
  }

  func discoverServices() throws -> CBService {
    peripheral.discoverServices(nil)
    host.answer(.success(.services([Self.heartRate, Self.battery])))
    return try #require(peripheral.services?.first)
  }

  func discoverCharacteristics() throws -> [CBCharacteristic] {
    let service = try discoverServices()
    peripheral.discoverCharacteristics(nil, for: service)
    host.answer(.success(.characteristics([Self.measurement, Self.controlPoint])))
    record.clear()
    return try #require(service.characteristics)
  }
}

@Suite("CBPeripheral")
struct PeripheralTests {
  @Test("attributes of another manager's peripheral, huge values and long lists do no harm")
  func absurd() throws {
    let fixture = try PeripheralFixture()
    let other = try PeripheralFixture()
    let service = try other.discoverServices()
    let characteristic = try #require(try other.discoverCharacteristics().first)
    let control = try #require(try fixture.discoverCharacteristics().last)
    let peripheral = fixture.peripheral
    let sent = fixture.host.requests.count
    peripheral.discoverCharacteristics([], for: service)
    peripheral.discoverIncludedServices([], for: service)
    peripheral.discoverDescriptors(for: characteristic)
    peripheral.readValue(for: characteristic)
    peripheral.setNotifyValue(true, for: characteristic)
    peripheral.writeValue(Data(), for: characteristic, type: .withoutResponse)
    peripheral.writeValue(Data(count: 100_000), for: control, type: .withResponse)
    peripheral.writeValue(Data(count: 100_000), for: control, type: .withoutResponse)
    #expect(fixture.host.requests.count == sent)
    fixture.host.settle()
    #expect(
      fixture.record.lines == [
        "characteristics 180D invalidHandle", "included 180D invalidHandle",
        "descriptors 2A37 invalidHandle", "value 2A37 nil invalidHandle",
        "notifying false invalidHandle", "wrote 2A39 att invalidAttributeValueLength",
      ])
    peripheral.discoverServices(
      (0..<1_000).map { CBUUID(data: Data([UInt8($0 / 256), UInt8($0 % 256)])) })
    #expect(fixture.host.requests.count == sent + 1)
  }

  @Test("services, characteristics and descriptors are nil until discovered")
  func discovery() throws {
    let fixture = try PeripheralFixture()
    #expect(fixture.peripheral.services == nil)
    let service = try fixture.discoverServices()
    #expect(service.characteristics == nil)
    #expect(service.includedServices == nil)
    #expect(service.peripheral === fixture.peripheral)
    #expect(service.isPrimary)
    fixture.peripheral.discoverCharacteristics(nil, for: service)
    fixture.host.answer(.success(.characteristics([PeripheralFixture.measurement])))
    let characteristic = try #require(service.characteristics?.first)
    #expect(characteristic.descriptors == nil)
    #expect(characteristic.value == nil)
    #expect(characteristic.service === service)
    #expect(characteristic.properties == [.notify, .read])
    fixture.peripheral.discoverDescriptors(for: characteristic)
    #expect(
      fixture.host.requests.last?.operation == .discoverDescriptors(in: HandleRange(13, 14)))
    fixture.host.answer(
      .success(
        .descriptors([
          RemoteDescriptor(uuid: 0x2902, handle: 13), RemoteDescriptor(uuid: 0x2901, handle: 14),
        ])))
    #expect(characteristic.descriptors?.map(\.uuid.uuidString) == ["2902", "2901"])
    #expect(characteristic.descriptors?.first?.characteristic === characteristic)
    #expect(
      fixture.record.lines
        == ["services ok", "characteristics 180D ok", "descriptors 2A37 ok"])
  }

  @Test(
    "descriptors are searched for behind the value only, also behind the last of all handles",
    arguments: [(12, 14), (12, 12), (0xFFFE, 0xFFFF), (0xFFFF, 0xFFFF)] as [(UInt16, UInt16)])
  func descriptorRange(value: UInt16, end: UInt16) throws {
    let fixture = try PeripheralFixture()
    let service = try fixture.discoverServices()
    fixture.peripheral.discoverCharacteristics(nil, for: service)
    fixture.host.answer(
      .success(
        .characteristics([
          RemoteCharacteristic(
            uuid: 0x2A37, declarationHandle: value - 1, valueHandle: value, endHandle: end,
            properties: [.read])
        ])))
    fixture.peripheral.discoverDescriptors(for: try #require(service.characteristics?.first))
    guard case .discoverDescriptors(let range) = fixture.host.requests.last?.operation else {
      Issue.record("no descriptors were searched for")
      return
    }
    let expected = (0...UInt16.max).filter { $0 > value && $0 <= end }
    #expect((0...UInt16.max).filter(range.contains) == expected)
  }

  @Test("a filtered discovery adds to the known attributes, and objects stay the same")
  func mergesFiltered() throws {
    let fixture = try PeripheralFixture()
    let peripheral = fixture.peripheral
    peripheral.discoverServices([CBUUID(string: "180F")])
    #expect(fixture.host.requests.last?.operation == .discoverServices([0x180F]))
    fixture.host.answer(.success(.services([PeripheralFixture.battery])))
    let battery = try #require(peripheral.services?.first)
    peripheral.discoverServices([CBUUID(string: "180D")])
    fixture.host.answer(.success(.services([PeripheralFixture.heartRate])))
    #expect(peripheral.services?.map(\.uuid.uuidString) == ["180D", "180F"])
    #expect(peripheral.services?.last === battery)
    let service = try #require(peripheral.services?.first)
    peripheral.discoverCharacteristics([CBUUID(string: "2A39")], for: service)
    fixture.host.answer(.success(.characteristics([PeripheralFixture.controlPoint])))
    let control = try #require(service.characteristics?.first)
    peripheral.discoverCharacteristics(nil, for: service)
    fixture.host.answer(
      .success(
        .characteristics([PeripheralFixture.measurement, PeripheralFixture.controlPoint])))
    #expect(service.characteristics?.count == 2)
    #expect(service.characteristics?.last === control)
  }

  @Test("a discovery of everything drops attributes that are gone")
  func dropsGone() throws {
    let fixture = try PeripheralFixture()
    let service = try fixture.discoverServices()
    fixture.peripheral.discoverServices([])
    #expect(fixture.host.requests.last?.operation == .discoverServices(nil))
    fixture.host.answer(.success(.services([PeripheralFixture.battery])))
    #expect(fixture.peripheral.services?.map(\.uuid.uuidString) == ["180F"])
    fixture.record.clear()
    fixture.peripheral.discoverCharacteristics(nil, for: service)
    fixture.host.settle()
    #expect(fixture.record.lines == ["characteristics 180D invalidHandle"])
  }

  @Test("an included service that is also primary is the same object")
  func includedServices() throws {
    let fixture = try PeripheralFixture()
    let service = try fixture.discoverServices()
    fixture.peripheral.discoverIncludedServices(nil, for: service)
    let hidden = RemoteService(uuid: 0x1234, range: HandleRange(40, 44), isPrimary: false)
    fixture.host.answer(.success(.services([PeripheralFixture.battery, hidden])))
    #expect(service.includedServices?.first === fixture.peripheral.services?.last)
    #expect(service.includedServices?.last?.isPrimary == false)
    #expect(fixture.peripheral.services?.count == 2)
  }

  @Test("reads and notifications arrive in the same call, errors with CBATTError")
  func values() throws {
    let fixture = try PeripheralFixture()
    let measurement = try fixture.discoverCharacteristics()[0]
    fixture.peripheral.readValue(for: measurement)
    #expect(fixture.host.requests.last?.operation == .read(12))
    fixture.host.answer(.success(.value([1, 2])))
    fixture.host.deliver(.valueUpdated(.strap, handle: 12, [3]))
    fixture.host.deliver(.valueUpdated(.strap, handle: 99, [3]))
    fixture.peripheral.readValue(for: measurement)
    fixture.host.answer(.failure(.att(.insufficientEncryption, handle: 12)))
    #expect(
      fixture.record.lines
        == ["value 2A37 1,2 ok", "value 2A37 3 ok", "value 2A37 3 att insufficientEncryption"])
  }

  @Test("descriptor values have Apple's types")
  func descriptorValues() throws {
    let fixture = try PeripheralFixture()
    let measurement = try fixture.discoverCharacteristics()[0]
    fixture.peripheral.discoverDescriptors(for: measurement)
    fixture.host.answer(
      .success(
        .descriptors([
          RemoteDescriptor(uuid: 0x2902, handle: 13), RemoteDescriptor(uuid: 0x2901, handle: 14),
        ])))
    let descriptors = try #require(measurement.descriptors)
    fixture.peripheral.readValue(for: descriptors[0])
    fixture.host.answer(.success(.value([1, 0])))
    fixture.peripheral.readValue(for: descriptors[1])
    fixture.host.answer(.success(.value(Array("Pulse".utf8))))
    #expect((descriptors[0].value as? NSNumber)?.intValue == 1)
    #expect(descriptors[1].value as? String == "Pulse")
    fixture.record.clear()
    fixture.peripheral.writeValue(Data([1, 0]), for: descriptors[0])
    fixture.host.settle()
    fixture.peripheral.writeValue(Data("x".utf8), for: descriptors[1])
    fixture.host.answer(.failure(.att(.writeNotPermitted, handle: 14)))
    #expect(
      fixture.record.lines
        == [
          "wrote descriptor 2902 invalidParameters",
          "wrote descriptor 2901 att writeNotPermitted",
        ])
  }

  @Test("a write with response is answered, also if it is too long")
  func writes() throws {
    let fixture = try PeripheralFixture()
    let control = try fixture.discoverCharacteristics()[1]
    #expect(fixture.peripheral.maximumWriteValueLength(for: .withResponse) == 512)
    #expect(fixture.peripheral.maximumWriteValueLength(for: .withoutResponse) == 182)
    fixture.peripheral.writeValue(Data(count: 400), for: control, type: .withResponse)
    #expect(
      fixture.host.requests.last?.operation == .write(16, [UInt8](repeating: 0, count: 400)))
    fixture.host.answer(.success(.done))
    fixture.peripheral.writeValue(Data(count: 513), for: control, type: .withResponse)
    fixture.host.settle()
    #expect(
      fixture.record.lines == ["wrote 2A39 ok", "wrote 2A39 att invalidAttributeValueLength"])
  }

  @Test("writing without response fills a window, drops values beyond it, and reports room")
  func writeWindow() throws {
    let fixture = try PeripheralFixture(mtu: 23)
    let control = try fixture.discoverCharacteristics()[1]
    let before = fixture.host.requests.count
    for _ in 0..<(Limits.writesWithoutResponseMax + 10) {
      fixture.peripheral.writeValue(Data([1]), for: control, type: .withoutResponse)
    }
    #expect(!fixture.peripheral.canSendWriteWithoutResponse)
    #expect(fixture.host.requests.count == before + Limits.writesWithoutResponseMax)
    let tokens = fixture.host.requests.dropFirst(before).compactMap(\.token)
    for token in tokens { fixture.host.deliver(.completed(token, .success(.done))) }
    #expect(fixture.record.lines == ["ready"])
    #expect(fixture.peripheral.canSendWriteWithoutResponse)
    fixture.peripheral.writeValue(Data(count: 21), for: control, type: .withoutResponse)
    #expect(fixture.host.requests.count == before + Limits.writesWithoutResponseMax)
  }

  @Test("subscribing leaves the configuration to the host and keeps the descriptors hidden")
  func subscribes() throws {
    let fixture = try PeripheralFixture()
    let measurement = try fixture.discoverCharacteristics()[0]
    fixture.peripheral.setNotifyValue(true, for: measurement)
    guard case .subscribe(_, let target, _) = fixture.host.requests.last else {
      Issue.record("no subscription")
      return
    }
    #expect(
      target == SubscriptionTarget(valueHandle: 12, endHandle: 14, usesIndications: false))
    fixture.host.answer(.success(.done))
    #expect(measurement.isNotifying)
    #expect(measurement.descriptors == nil)
    fixture.peripheral.setNotifyValue(false, for: measurement)
    fixture.host.answer(.success(.done))
    #expect(!measurement.isNotifying)
    #expect(fixture.record.lines == ["notifying true ok", "notifying false ok"])
  }

  @Test("requests reach the host in the order in which the app made them")
  func keepsOrder() throws {
    let fixture = try PeripheralFixture()
    let found = try fixture.discoverCharacteristics()
    let before = fixture.host.requests.count
    fixture.peripheral.setNotifyValue(true, for: found[0])
    fixture.peripheral.setNotifyValue(false, for: found[0])
    fixture.peripheral.writeValue(Data([1]), for: found[1], type: .withResponse)
    fixture.peripheral.readRSSI()
    #expect(
      fixture.host.requests.dropFirst(before).map(\.name)
        == ["subscribe", "unsubscribe", "gatt", "readRSSI"])
  }

  @Test("subscribing to a characteristic that cannot notify is refused")
  func cannotNotify() throws {
    let fixture = try PeripheralFixture()
    let characteristics = try fixture.discoverCharacteristics()
    fixture.peripheral.setNotifyValue(true, for: characteristics[1])
    fixture.host.settle()
    fixture.peripheral.setNotifyValue(true, for: characteristics[0])
    fixture.host.answer(.failure(.att(.attributeNotFound, handle: 12)))
    #expect(
      fixture.record.lines
        == ["notifying false att requestNotSupported", "notifying false att attributeNotFound"])
  }

  @Test("changed services are reported, leave the list and become invalid")
  func modifiedServices() throws {
    let fixture = try PeripheralFixture()
    let measurement = try fixture.discoverCharacteristics()[0]
    fixture.host.deliver(.servicesChanged(.strap, HandleRange(10, 19)))
    #expect(fixture.peripheral.services?.map(\.uuid.uuidString) == ["180F"])
    fixture.peripheral.readValue(for: measurement)
    fixture.host.settle()
    #expect(fixture.record.lines == ["modified [\"180D\"]", "value 2A37 nil invalidHandle"])
  }

  @Test("a disconnection makes everything that was discovered void")
  func disconnection() throws {
    let fixture = try PeripheralFixture()
    let measurement = try fixture.discoverCharacteristics()[0]
    fixture.host.deliver(
      .disconnected(.strap, .disconnected(HCIStatus(rawValue: 0x13)), reconnecting: false))
    #expect(fixture.peripheral.services == nil)
    #expect(!fixture.peripheral.canSendWriteWithoutResponse)
    fixture.central.manager.connect(fixture.peripheral)
    fixture.host.deliver(.connected(.strap))
    fixture.record.clear()
    fixture.peripheral.readValue(for: measurement)
    fixture.host.settle()
    #expect(fixture.record.lines == ["value 2A37 nil invalidHandle"])
  }

  @Test("an app gets name and strength, and errors for features that no radio here has")
  func rest() throws {
    let fixture = try PeripheralFixture()
    var link = LinkInfo(peer: .strap, role: .central)
    link.name = "Strap"
    link.mtu = 100
    fixture.host.deliver(.linkUpdated(link))
    #expect(fixture.peripheral.name == "Strap")
    #expect(fixture.peripheral.maximumWriteValueLength(for: .withoutResponse) == 97)
    fixture.peripheral.readRSSI()
    fixture.host.answer(.success(.rssi(-40)))
    fixture.peripheral.startChannelSoundingSession(
      CBChannelSoundingSessionConfiguration(role: .initiator))
    fixture.host.settle()
    #expect(
      fixture.record.lines == ["name Strap", "rssi -40 ok", "sounding operationNotSupported"])
  }
}
