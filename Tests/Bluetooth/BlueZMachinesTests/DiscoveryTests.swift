import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Scans over bluetoothd's discovery.
struct DiscoveryTests {
  @Test func `Two scans share one discovery, which ends with the second`() {
    var bench = BlueZBench()
    bench.start()
    bench.handle(.opened(.second, acknowledgesEvents: false))
    bench.startScan()
    bench.request(.startScan(ScanOptions()), of: .second)
    #expect(bench.calls.isEmpty)
    bench.request(.stopScan)
    #expect(bench.calls.isEmpty)
    bench.handle(.closed(.second))
    bench.reply(to: "StopDiscovery")
    #expect(bench.machine.discovery == .off)
  }

  @Test func `The filter requests every report of LE devices`() {
    var bench = BlueZBench()
    bench.start()
    bench.request(.startScan(ScanOptions()))
    let filter: [String: BusValue] = ["Transport": .string("le"), "DuplicateData": .boolean(true)]
    #expect(bench.call("SetDiscoveryFilter")?.arguments == [.properties(filter)])
  }

  @Test func `A device that bluetoothd only remembers is not reported`() {
    var bench = BlueZBench()
    bench.start([
      adapterPath: [BusName.adapter: BlueZBench.adapterValues],
      devicePath: [BusName.device: BlueZBench.deviceValues],
    ])
    bench.startScan()
    bench.changeDevice(["Connected": .boolean(false), "Name": .string("Old strap")])
    #expect(bench.takeEvents().reports.isEmpty)
    bench.changeDevice(["RSSI": .int16(-50)])
    let reports = bench.takeEvents().reports
    #expect(reports.map(\.address) == [.peer])
    #expect(reports.map(\.rssi) == [-50])
  }

  @Test func `A name that follows in a scan response is reported`() {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    bench.hear()
    bench.changeDevice(["Name": .string("Strap 2")])
    #expect(bench.takeEvents().reports.count == 2)
    bench.changeDevice([:], invalidated: ["RSSI"])
    bench.changeDevice(["Name": .string("Strap 3")])
    #expect(bench.takeEvents().reports.isEmpty)
  }

  @Test func `A report has the advertising data that bluetoothd took apart`() throws {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    bench.add(
      devicePath, BusName.device,
      BlueZBench.deviceValues.merging([
        "RSSI": .int16(-200), "TxPower": .int16(4), "Appearance": .uint16(0x0341),
        "ManufacturerData": .numbered([0x004C: .bytes([2, 21])]),
        "ServiceData": .properties(["0000feaa-0000-1000-8000-00805f9b34fb": .bytes([0x10])]),
      ]) { $1 })
    let report = try #require(bench.takeEvents().reports.first)
    #expect(report.rssi == -128)
    #expect(
      Array(report.data) == [
        3, 0x03, 0x0D, 0x18, 6, 0x09, 0x53, 0x74, 0x72, 0x61, 0x70, 2, 0x0A, 4, 3, 0x19, 0x41, 0x03,
        5, 0xFF, 0x4C, 0x00, 2, 21, 4, 0x16, 0xAA, 0xFE, 0x10,
      ])
  }

  @Test func `Without duplicates only changed data is reported`() {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    bench.hear()
    bench.changeDevice(["RSSI": .int16(-61)])
    #expect(bench.takeEvents().reports.count == 1)
    bench.changeDevice(["ManufacturerData": .numbered([1: .bytes([1])])])
    #expect(bench.takeEvents().reports.count == 1)
    var options = ScanOptions()
    options.allowsDuplicates = true
    bench.request(.startScan(options))
    bench.changeDevice(["RSSI": .int16(-62)])
    bench.changeDevice(["RSSI": .int16(-63)])
    #expect(bench.takeEvents().reports.count == 2)
  }

  @Test func `A device is not reported again because an app goes to the background`() {
    var bench = BlueZBench()
    bench.start()
    var options = ScanOptions()
    bench.startScan(options)
    bench.hear()
    #expect(bench.takeEvents().reports.count == 1)
    options.isInBackground = true
    bench.request(.startScan(options))
    bench.changeDevice(["RSSI": .int16(-62)])
    #expect(bench.takeEvents().reports.isEmpty)
    bench.request(.startScan(options))
    bench.changeDevice(["RSSI": .int16(-63)])
    #expect(bench.takeEvents().reports.count == 1)
  }

  @Test func `A scan for services does not report what another program's filter lets through`() {
    var bench = BlueZBench()
    bench.start()
    var options = ScanOptions()
    options.services = [BluetoothUUID(0x1809)]
    bench.startScan(options)
    bench.hear()
    #expect(bench.takeEvents().reports.isEmpty)
    options.services = [BluetoothUUID(0x180D)]
    bench.request(.startScan(options))
    bench.changeDevice(["RSSI": .int16(-62)])
    #expect(bench.takeEvents().reports.count == 1)
  }

  @Test func `A discovery that is refused is tried again, after a stop`() {
    var bench = BlueZBench()
    bench.start()
    bench.request(.startScan(ScanOptions()))
    for _ in 0..<4 {
      bench.reply(to: "SetDiscoveryFilter")
      bench.refuse("StartDiscovery", BlueZErrorName.inProgress, "Operation already in progress")
      bench.refuse("StopDiscovery", "org.bluez.Error.Failed", "No discovery started")
      bench.advance(by: .seconds(8))
    }
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    #expect(bench.machine.discovery == .on)
    #expect(bench.warnings.isEmpty)
  }

  @Test func `A discovery that is refused for long is logged`() {
    var bench = BlueZBench()
    bench.start()
    bench.request(.startScan(ScanOptions()))
    for _ in 0..<7 {
      bench.refuse("SetDiscoveryFilter", BlueZErrorName.notReady, "Resource Not Ready")
      bench.advance(by: .seconds(8))
    }
    #expect(bench.warnings.count == 1)
  }

  @Test func `A discovery that can't be stopped counts as stopped`() {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    bench.request(.stopScan)
    bench.refuse("StopDiscovery", "org.bluez.Error.Failed", "No discovery started")
    bench.startScan()
    #expect(bench.machine.discovery == .on)
  }

  @Test func `A discovery in which nothing is heard for two minutes is started anew`() {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    bench.hear()
    bench.advance(by: .seconds(119))
    bench.changeDevice(["RSSI": .int16(-62)])
    bench.advance(by: .seconds(119))
    #expect(bench.calls.isEmpty)
    bench.advance(by: .seconds(1))
    bench.reply(to: "StopDiscovery")
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
  }

  @Test func `A device that was removed is reported when it is heard again`() {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    bench.hear()
    bench.remove(devicePath, BusName.device)
    bench.hear()
    #expect(bench.takeEvents().reports.count == 2)
  }

  @Test func `A scan goes on when the adapter was off and is on again`() {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(false)])
    #expect(bench.takeEvents() == [.stateChanged(.poweredOff)])
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(true)])
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    bench.hear()
    #expect(bench.takeEvents().reports.count == 1)
  }

  @Test func `A client that handles no events gets no more reports than its bound`() {
    var bench = BlueZBench()
    bench.start()
    bench.handle(.closed(.first))
    bench.handle(.opened(.first, acknowledgesEvents: true))
    var options = ScanOptions()
    options.allowsDuplicates = true
    bench.startScan(options)
    bench.hear()
    for number in 0..<20_000 { bench.changeDevice(["RSSI": .int16(Int16(-(number % 90)))]) }
    #expect(bench.takeEvents().count == BlueZLimits.unhandledEventCountMax)
    bench.handle(.handled(.first, count: 10))
    bench.changeDevice(["RSSI": .int16(-1)])
    #expect(bench.takeEvents().count == 1)
  }

  @Test func `Devices beyond the bound are left out with a warning`() {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    for number in 0..<BlueZLimits.deviceCountMax + 10 {
      let address = DeviceAddress(bits: UInt64(number), kind: .random).description
      bench.add(
        "/org/bluez/hci0/dev_\(number)", BusName.device,
        ["Address": .string(address), "RSSI": .int16(-1)])
    }
    #expect(bench.takeEvents().reports.count == BlueZLimits.deviceCountMax)
    #expect(bench.warnings.count == 1)
  }

  /// A bluetoothd that has as many devices as are remembered, and a device without room.
  private func full() -> BlueZBench {
    var objects = [adapterPath: [BusName.adapter: BlueZBench.adapterValues]]
    for number in 0..<BlueZLimits.deviceCountMax {
      let address = DeviceAddress(bits: UInt64(number), kind: .random).description
      objects["\(adapterPath)/dev_\(number)"] = [
        BusName.device: ["Address": .string(address), "AddressType": .string("random")]
      ]
    }
    var bench = BlueZBench()
    bench.start(objects)
    bench.hear()
    #expect(bench.machine.devices.count == BlueZLimits.deviceCountMax)
    #expect(bench.warnings.count == 1)
    return bench
  }

  @Test func `A device that a client waits for has room where others have none`() {
    var bench = full()
    bench.changeDevice(["RSSI": .int16(-2)])
    #expect(bench.count(of: "GetAll") == 0)
    bench.request(.connect(.peer, ConnectOptions()))
    bench.changeDevice(["RSSI": .int16(-3)])
    bench.reply(to: "GetAll", [.properties(BlueZBench.deviceValues)])
    #expect(bench.machine.devices.count == BlueZLimits.deviceCountMax)
    bench.changeDevice(["RSSI": .int16(-4)])
    #expect(bench.call("Connect")?.path == devicePath)
    // The next one is wanted before it appears.
    let other = DeviceAddress(bits: 0xC011_2233_4466, kind: .random)
    bench.request(.connect(other, ConnectOptions()))
    let path = adapterPath + "/dev_C0_11_22_33_44_66"
    bench.add(
      path, BusName.device,
      [
        "Address": .string("C0:11:22:33:44:66"), "AddressType": .string("random"),
        "RSSI": .int16(-3),
      ])
    #expect(bench.calls.last?.call.path == path && bench.count(of: "Connect") == 2)
  }

  @Test func `A device for which there was no room is read when it is heard and there is some`() {
    var bench = full()
    bench.startScan()
    bench.changeDevice(["RSSI": .int16(-2)])
    #expect(bench.count(of: "GetAll") == 0)
    bench.remove("\(adapterPath)/dev_0", BusName.device)
    for rssi in [-3, -4] as [Int16] { bench.changeDevice(["RSSI": .int16(rssi)]) }
    #expect(bench.count(of: "GetAll") == 1)
    #expect(bench.call("GetAll")?.path == devicePath)
    bench.reply(
      to: "GetAll",
      [.properties(BlueZBench.deviceValues.merging(["RSSI": .int16(-4)]) { $1 })])
    #expect(bench.takeEvents().reports.map(\.address) == [.peer])
  }
}
