import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// A machine that is suspended: its adapter is off or gone for a while, or its links have ended.
struct SuspensionTests {
  private static let otherPath = "/org/bluez/hci1"
  private static let otherDevice = otherPath + "/dev_C0_11_22_33_44_55"

  /// A client that scans, advertises, has a link that it wants again, and waits for another device.
  private func busy() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    bench.request(.startAdvertising(AdvertisingOptions(), RequestToken(rawValue: 1)))
    bench.reply(to: "RegisterAdvertisement")
    bench.hear()
    var options = ConnectOptions()
    options.reconnectsAutomatically = true
    bench.request(.connect(.peer, options))
    bench.changeDevice(["Connected": .boolean(true)])
    bench.reply(to: "Connect")
    _ = bench.takeEvents()
    return bench
  }

  @Test func `An adapter that is gone for a minute gets back all that clients want`() {
    var bench = busy()
    bench.remove(devicePath, BusName.device)
    bench.remove(adapterPath, BusName.adapter)
    let events = bench.takeEvents()
    #expect(events.last == .stateChanged(.poweredOff))
    #expect(
      events.contains { event in
        if case .disconnected(.peer, _, reconnecting: true) = event { true } else { false }
      })
    bench.calls = []
    bench.advance(by: .seconds(60))
    #expect(bench.calls.isEmpty && bench.takeEvents() == [])
    bench.add(Self.otherPath, BusName.adapter, BlueZBench.adapterValues)
    #expect(bench.takeEvents() == [.stateChanged(.poweredOn)])
    #expect(bench.call("RegisterAdvertisement")?.path == Self.otherPath)
    bench.reply(to: "RegisterAdvertisement")
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    bench.add(
      Self.otherDevice, BusName.device,
      BlueZBench.deviceValues.merging(["RSSI": .int16(-60)]) { $1 })
    #expect(bench.takeEvents().reports.map(\.address) == [.peer])
    #expect(bench.call("Connect")?.path == Self.otherDevice)
    bench.change(Self.otherDevice, BusName.device, ["Connected": .boolean(true)])
    #expect(bench.takeEvents().last == .connected(.peer))
  }

  @Test func `A link that ends with a suspension is made again when the device is heard`() {
    var bench = busy()
    // bluetoothd ends links, and the adapter stays on.
    bench.changeDevice(["Connected": .boolean(false), "ServicesResolved": .boolean(false)])
    #expect(
      bench.takeEvents().last
        == .disconnected(.peer, .disconnected(.unspecifiedError), reconnecting: true))
    for _ in 0..<4 {
      bench.advance(by: .seconds(8))
      bench.refuse("Connect", "org.bluez.Error.Failed", "le-connection-abort-by-local")
    }
    bench.changeDevice(["RSSI": .int16(-50)])
    bench.changeDevice(["Connected": .boolean(true)])
    #expect(bench.takeEvents().last == .connected(.peer))
    #expect(bench.machine.discovery == .on)
  }
}
