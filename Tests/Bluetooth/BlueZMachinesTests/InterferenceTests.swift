import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Another client of bluetoothd that changes what this program uses.
struct InterferenceTests {
  private static let one = RequestToken(rawValue: 1)
  private static let otherAdapterPath = "/org/bluez/hci1"
  private static let otherDevicePath = otherAdapterPath + "/dev_C0_11_22_33_44_55"

  private func connecting() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.request(.connect(.peer, ConnectOptions()))
    return bench
  }

  // MARK: The adapter

  @Test func `A late reply from before the adapter was off and on ends no new attempt`() {
    var bench = connecting()
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(false)])
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(true)])
    #expect(bench.count(of: "Connect") == 2)
    bench.refuse("Connect", "org.bluez.Error.Failed", "le-connection-abort-by-local")
    bench.changeDevice(["Connected": .boolean(true)])
    bench.reply(to: "Connect")
    #expect(bench.takeEvents().last == .connected(.peer))
    // The link is this program's, and ends with it.
    bench.request(.disconnect(.peer))
    #expect(bench.count(of: "Disconnect") == 1)
  }

  @Test func `A read that is open when the adapter is switched off fails, once`() {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    bench.gatt(.read(0x0C), token: 1)
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(false)])
    #expect(bench.takeEvents().result(1) == .failure(.radioNotReady))
    bench.changeDevice(["Connected": .boolean(false)])
    bench.refuse("ReadValue", BlueZErrorName.notConnected)
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(true)])
    #expect(bench.takeEvents() == [.stateChanged(.poweredOn)])
  }

  @Test
  func
    `A discovery that another client stops and an adapter that it makes discoverable change nothing`()
  {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    bench.change(
      adapterPath, BusName.adapter,
      ["Discovering": .boolean(false), "Discoverable": .boolean(true), "Alias": .string("Desk")])
    #expect(bench.calls.isEmpty)
    bench.hear()
    #expect(bench.takeEvents().reports.count == 1)
  }

  // MARK: The device

  @Test func `A device that is removed during an attempt is connected to when it is heard again`() {
    var bench = connecting()
    // bluetoothd may leave the call without a reply.
    bench.remove(devicePath, BusName.device)
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    bench.hear()
    #expect(bench.count(of: "Connect") == 2)
    bench.refuse("Connect", "org.bluez.Error.Failed", "br-connection-canceled")
    bench.changeDevice(["Connected": .boolean(true)])
    bench.reply(to: "Connect")
    #expect(bench.takeEvents().last == .connected(.peer))
  }

  @Test func `A device that is removed after its client has given up leaves nothing behind`() {
    var bench = connecting()
    bench.request(.disconnect(.peer))
    bench.remove(devicePath, BusName.device)
    #expect(bench.machine.links.isEmpty)
    bench.reply(to: "Disconnect")
    bench.refuse("Connect", BlueZErrorName.unknownObject)
    #expect(bench.takeEvents() == [.disconnected(.peer, nil, reconnecting: false)])
  }

  @Test func `An attempt that another client ends is repeated`() {
    var bench = connecting()
    bench.refuse("Connect", "org.bluez.Error.Failed", "br-connection-canceled")
    bench.advance(by: .seconds(8))
    #expect(bench.count(of: "Connect") == 1)
    #expect(bench.takeEvents() == [])
  }

  @Test func `A link that another client ends has the reason that this machine has ended it`() {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    bench.subscribe(token: 2)
    bench.reply(to: "StartNotify")
    bench.gatt(.read(0x0C), token: 1)
    bench.handle(
      .connections([
        ControllerConnection(handle: 1, addressBits: DeviceAddress.peer.bits, isCentral: true)
      ]))
    bench.handle(.controller(.disconnected(handle: 1, .localHostTerminatedConnection)))
    bench.changeDevice(["Connected": .boolean(false)])
    let events = bench.takeEvents()
    let error = HostError.disconnected(.localHostTerminatedConnection)
    #expect(events.result(1) == .failure(error))
    #expect(events.last == .disconnected(.peer, error, reconnecting: false))
    // The link that the other client makes next is not this program's.
    bench.changeDevice(["Connected": .boolean(true)])
    bench.notify([9])
    #expect(bench.takeEvents().values == [])
  }

  @Test func `A device that another client renames keeps the name that it advertises`() {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    bench.hear()
    _ = bench.takeEvents()
    bench.changeDevice(["Alias": .string("Mine")])
    #expect(bench.takeEvents() == [])
    #expect(bench.machine.devices[devicePath]?.name == "Strap")
  }

  @Test func `Another adapter's object of the same device is another one`() {
    var bench = connecting()
    bench.add(
      Self.otherAdapterPath, BusName.adapter,
      ["Address": .string("00:1A:7D:DA:71:14"), "Powered": .boolean(true)])
    bench.add(Self.otherDevicePath, BusName.device, BlueZBench.deviceValues)
    bench.change(Self.otherDevicePath, BusName.device, ["Connected": .boolean(true)])
    #expect(bench.takeEvents() == [])
    bench.refuse("Connect", "org.bluez.Error.Failed", "le-connection-abort-by-local")
    bench.advance(by: .seconds(1))
    #expect(bench.call("Connect")?.path == devicePath)
    // Its turn comes where the first adapter is unplugged.
    bench.remove(adapterPath, BusName.adapter)
    bench.change(Self.otherDevicePath, BusName.device, ["RSSI": .int16(-3)])
    #expect(bench.takeEvents().last == .connected(.peer))
    #expect(bench.machine.links[.peer]?.path == Self.otherDevicePath)
  }

  // MARK: Floods

  @Test func `Ten thousand devices leave a link its reads, and dropped reports are counted`() {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    bench.subscribe(token: 1)
    bench.reply(to: "StartNotify")
    bench.startScan()
    let count = 10_000
    for number in 0..<count {
      let address = DeviceAddress(bits: UInt64(number), kind: .random).description
      bench.add(
        "\(adapterPath)/dev_\(number)", BusName.device,
        ["Address": .string(address), "AddressType": .string("random"), "RSSI": .int16(-1)])
    }
    let room = BlueZLimits.deviceCountMax - 1
    let events = bench.takeEvents()
    #expect(events.reports.count == room)
    #expect(bench.machine.devices.count == BlueZLimits.deviceCountMax)
    #expect(bench.machine.snapshot.droppedReportCount == count - room)
    for number in 0..<count {
      bench.change("\(adapterPath)/dev_\(number)", BusName.device, ["RSSI": .int16(-2)])
      if number % 1_000 == 0 { bench.notify([UInt8(number / 1_000)]) }
    }
    #expect(bench.takeEvents().values == (0..<10).map { [UInt8($0)] })
    #expect(bench.machine.snapshot.droppedReportCount == 2 * (count - room))
    // Of the first one, the hundredth and the ten thousandth.
    #expect(bench.warnings.count == 3)
    #expect(bench.calls.isEmpty)
    bench.gatt(.read(0x0C), token: 3)
    bench.reply(to: "ReadValue", [.bytes([7])])
    #expect(bench.takeEvents().result(3) == .success(.value([7])))
    #expect(bench.machine.violations() == [])
  }
}
