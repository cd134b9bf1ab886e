import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// What an unprivileged HCI socket adds to D-Bus.
struct ControllerTests {
  private static let connection = ControllerConnection(
    handle: 0x40, addressBits: DeviceAddress.peer.bits, isCentral: true)

  private func connected() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    bench.handle(.connections([Self.connection]))
    return bench
  }

  // MARK: Bytes

  @Test func `The kernel's list of links is decoded, without classic ones and without a cut one`() {
    let one: [UInt8] = [
      0x40, 0, 0x55, 0x44, 0x33, 0x22, 0x11, 0xC0, 0x80, 1, 1, 0, 0x01, 0, 0, 0,
    ]
    var classic = one
    classic[8] = 0x01
    #expect(ControllerConnection.list((classic + one)[...]) == [Self.connection])
    for count in 0..<16 { #expect(ControllerConnection.list(one.prefix(count)) == []) }
  }

  @Test func `Ends of links and RSSIs are decoded, and everything else is left alone`() {
    let end: [UInt8] = [0x04, 0x05, 0x04, 0x00, 0x40, 0x00, 0x13]
    #expect(
      ControllerReport(packet: end[...])
        == .disconnected(handle: 0x40, .remoteUserTerminatedConnection))
    let rssi: [UInt8] = [0x04, 0x0E, 0x07, 0x01, 0x05, 0x14, 0x00, 0x40, 0x00, 0xC4]
    #expect(ControllerReport(packet: rssi[...]) == .rssi(handle: 0x40, -60))
    var unknown = rssi
    unknown[9] = 127
    #expect(ControllerReport(packet: unknown[...]) == .rssi(handle: 0x40, nil))
    for (packet, indices) in [(end, [0, 1, 2, 3]), (rssi, [0, 1, 2, 4, 5])] {
      for count in 0..<packet.count {
        #expect(ControllerReport(packet: packet.prefix(count)) == nil)
      }
      for index in indices {
        var other = packet
        other[index] ^= 0x70
        #expect(ControllerReport(packet: other[...]) == nil, "byte \(index) of \(packet)")
      }
    }
  }

  @Test func `No bytes from the kernel crash the decoders`() {
    var random = SeededGenerator(seed: 36)
    for _ in 0..<20_000 {
      let count = Int.random(in: 0..<40, using: &random)
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) & 0x1F }
      _ = ControllerReport(packet: bytes[...])
      _ = ControllerConnection.list(bytes[...])
    }
  }

  // MARK: The machine

  @Test func `The controller is watched while the radio is on`() {
    var bench = connected()
    #expect(bench.controller == "hci0")
    #expect(bench.connectionReadCount == 1)
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(false)])
    #expect(bench.controller == nil)
  }

  @Test func `A disconnection has the controller's reason`() {
    var bench = connected()
    bench.handle(.controller(.disconnected(handle: 0x40, .connectionTimeout)))
    #expect(bench.takeEvents() == [])
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(
      bench.takeEvents().last
        == .disconnected(.peer, .disconnected(.connectionTimeout), reconnecting: false))
  }

  @Test func `The reason of another link's end is not taken for this one's`() {
    var bench = connected()
    bench.handle(.controller(.disconnected(handle: 0x41, .connectionTimeout)))
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(
      bench.takeEvents().last
        == .disconnected(.peer, .disconnected(.unspecifiedError), reconnecting: false))
  }

  @Test func `A link that the device has made is one in which it is the central`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.changeDevice(["Connected": .boolean(true)])
    var connection = Self.connection
    connection.isCentral = false
    bench.handle(.connections([connection]))
    guard case .linkUpdated(let info)? = bench.takeEvents().last else {
      Issue.record("the link was not updated")
      return
    }
    #expect(info.role == .peripheral)
  }

  @Test func `Requests for the RSSI share one command, and each is answered`() {
    var bench = connected()
    for token in 1...3 as ClosedRange<UInt64> {
      bench.request(.readRSSI(.peer, RequestToken(rawValue: token)))
    }
    #expect(bench.rssiHandles == [0x40])
    bench.handle(.controller(.rssi(handle: 0x40, -71)))
    let events = bench.takeEvents()
    for token in 1...3 as ClosedRange<UInt64> {
      #expect(events.result(token) == .success(.rssi(-71)))
    }
    bench.request(.readRSSI(.peer, RequestToken(rawValue: 4)))
    #expect(bench.rssiHandles == [0x40, 0x40])
  }

  @Test func `A controller that reports no RSSI is an error after five seconds`() {
    var bench = connected()
    bench.request(.readRSSI(.peer, RequestToken(rawValue: 1)))
    bench.advance(by: BlueZLimits.rssiMax)
    guard case .failure(.transport)? = bench.takeEvents().result(1) else {
      Issue.record("the request did not fail")
      return
    }
  }

  @Test func `A request for the RSSI ends with its link, and with its client's use of it`() {
    var bench = connected()
    bench.request(.readRSSI(.peer, RequestToken(rawValue: 1)))
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(bench.takeEvents().result(1) == .failure(.disconnected(.unspecifiedError)))
    bench = connected()
    bench.request(.readRSSI(.peer, RequestToken(rawValue: 2)))
    bench.request(.disconnect(.peer))
    #expect(bench.takeEvents().result(2) == .failure(.cancelled))
  }

  @Test func `Without the kernel's socket, the RSSI of a link is not supported`() {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    bench.request(.readRSSI(.peer, RequestToken(rawValue: 1)))
    guard case .failure(.unsupported)? = bench.takeEvents().result(1) else {
      Issue.record("no typed error")
      return
    }
  }
}
