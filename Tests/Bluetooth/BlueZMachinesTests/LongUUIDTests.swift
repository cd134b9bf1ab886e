import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Services, characteristics and descriptors whose UUIDs are none of the assigned numbers.
struct LongUUIDTests {
  private static let serviceText = "0000ab10-5d4e-4f3a-9b1c-0e2d3c4b5a69"
  private static let valueText = "0000ab11-5d4e-4f3a-9b1c-0e2d3c4b5a69"
  private static let descriptorText = "0000ab12-5d4e-4f3a-9b1c-0e2d3c4b5a69"

  private let service: BluetoothUUID
  private let value: BluetoothUUID
  private let descriptor: BluetoothUUID

  init() throws {
    service = try #require(BluetoothUUID(Self.serviceText))
    value = try #require(BluetoothUUID(Self.valueText))
    descriptor = try #require(BluetoothUUID(Self.descriptorText))
  }

  private static func addService(
    to bench: inout BlueZBench, handle: String = "000a", uuid: String = serviceText
  ) {
    let path = devicePath + "/service" + handle
    bench.add(
      path, BusName.service, ["UUID": .string(uuid), "Primary": .boolean(true)])
    bench.add(
      path + "/char000b", BusName.characteristic,
      ["UUID": .string(valueText), "Flags": .strings(["read", "notify"]), "MTU": .uint16(185)])
    for (handle, uuid) in [
      ("000d", descriptorText), ("000e", "00002901-0000-1000-8000-00805f9b34fb"),
    ] {
      bench.add(path + "/char000b/desc" + handle, BusName.descriptor, ["UUID": .string(uuid)])
    }
  }

  private static func connected() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    bench.add(devicePath, BusName.device, BlueZBench.deviceValues)
    bench.request(.connect(.peer, ConnectOptions()))
    bench.changeDevice(["Connected": .boolean(true)])
    bench.reply(to: "Connect")
    addService(to: &bench)
    bench.changeDevice(["ServicesResolved": .boolean(true)])
    bench.events = [:]
    return bench
  }

  @Test func `An advertisement has services and service data in their own widths`() throws {
    var bench = BlueZBench()
    bench.start()
    var options = ScanOptions()
    options.services = [service]
    bench.startScan(options)
    bench.hear()
    #expect(bench.takeEvents().reports.isEmpty)
    let short = "0000180d-0000-1000-8000-00805f9b34fb"
    bench.changeDevice([
      "RSSI": .int16(-40), "Name": .string("S"),
      // In the letters that a client may have registered.
      "UUIDs": .strings([short, Self.serviceText.uppercased()]),
      "ServiceData": .properties([
        short: .bytes([1]), Self.serviceText: .bytes([2, 3]),
        "12345678-0000-1000-8000-00805f9b34fb": .bytes([4]),
      ]),
    ])
    let report = try #require(bench.takeEvents().reports.first)
    let fields = AdvertisingFields(report.data, scanResponse: [])
    #expect(Set(fields.services) == [0x180D, service])
    #expect(fields.serviceData[service] == [2, 3] && fields.serviceData[0x180D] == [1])
    let types = AdvertisingData(report.data).map(\.type.rawValue)
    // Lists of 16-bit and 128-bit UUIDs, the name, and service data of all three widths.
    #expect(Set(types) == [0x03, 0x07, 0x09, 0x16, 0x20, 0x21])
  }

  @Test func `They are discovered by themselves, and read by their types`() {
    var bench = Self.connected()
    bench.gatt(.discoverServices([service]), token: 1)
    bench.gatt(.discoverServices([0x180D]), token: 2)
    bench.gatt(.discoverCharacteristics(in: .all, [value]), token: 3)
    bench.gatt(.discoverDescriptors(in: HandleRange(0x0D, 0x0E)), token: 4)
    let events = bench.takeEvents()
    let range = HandleRange(0x0A, 0xFFFF)
    #expect(
      events.result(1)
        == .success(.services([RemoteService(uuid: service, range: range, isPrimary: true)])))
    #expect(events.result(2) == .success(.services([])))
    #expect(
      events.result(3)
        == .success(
          .characteristics([
            RemoteCharacteristic(
              uuid: value, declarationHandle: 0x0B, valueHandle: 0x0C, endHandle: 0xFFFF,
              properties: [.read, .notify])
          ])))
    #expect(
      events.result(4)
        == .success(
          .descriptors([
            RemoteDescriptor(uuid: descriptor, handle: 0x0D),
            RemoteDescriptor(uuid: 0x2901, handle: 0x0E),
          ])))
    for (uuid, handle, token) in [
      (value, 0x0C, 5), (descriptor, 0x0D, 6), (0x2901, 0x0E, 7),
    ] as [(BluetoothUUID, UInt16, UInt64)] {
      bench.gatt(.readByUUID(uuid, in: .all), token: token)
      bench.reply(to: "ReadValue", [.bytes([UInt8(handle)])])
      #expect(
        bench.takeEvents().result(token)
          == .success(.values([AttributeValue(handle: handle, value: [UInt8(handle)])])))
    }
    bench.gatt(.readByUUID(value, in: HandleRange(0x0D, 0xFFFF)), token: 8)
    #expect(bench.takeEvents().result(8) == .failure(.att(.attributeNotFound, handle: 0x0D)))
  }

  @Test func `A service that is removed and comes back elsewhere is a change, and is found there`()
  {
    var bench = Self.connected()
    bench.remove(servicePath, BusName.service)
    #expect(bench.takeEvents() == [.servicesChanged(.peer, HandleRange(0x0A, 0xFFFF))])
    bench.gatt(.discoverServices([service]), token: 1)
    // bluetoothd has no service any more, and may be about to add some.
    bench.advance(by: BlueZLimits.objectsMax)
    #expect(bench.takeEvents().result(1) == .success(.services([])))
    Self.addService(to: &bench, handle: "0020")
    let range = HandleRange(0x20, 0xFFFF)
    #expect(bench.takeEvents() == [.servicesChanged(.peer, range)])
    bench.gatt(.discoverServices([service]), token: 2)
    #expect(
      bench.takeEvents().result(2)
        == .success(.services([RemoteService(uuid: service, range: range, isPrimary: true)])))
  }

  @Test func `Malformed UUIDs of bluetoothd are no attributes`() {
    var bench = Self.connected()
    for text in ["", "180D-", "0000ab10-5d4e-4f3a-9b1c-0e2d3c4b5a6", "{\(Self.serviceText)}"] {
      Self.addService(to: &bench, handle: "0030", uuid: text)
    }
    bench.gatt(.discoverServices(nil), token: 1)
    guard case .success(.services(let found))? = bench.takeEvents().result(1) else {
      Issue.record("no services")
      return
    }
    #expect(found.map(\.uuid) == [service])
  }
}
