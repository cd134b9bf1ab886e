import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Links over bluetoothd.
struct LinkTests {
  private static let abort = "le-connection-abort-by-local"

  @Test func `A device that bluetoothd knows is connected to without a discovery`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.request(.connect(.peer, ConnectOptions()))
    #expect(bench.calls.map(\.call.member) == ["Connect"])
    bench.changeDevice(["Connected": .boolean(true)])
    let events = bench.takeEvents()
    guard case .linkOpened(let info)? = events.first else {
      Issue.record("no link in \(events)")
      return
    }
    #expect(info.name == "Strap")
    #expect(events.last == .connected(.peer))
    bench.reply(to: "Connect")
    #expect(bench.takeEvents() == [])
  }

  @Test func `A device that is not there is connected to when it is heard, however late`() {
    var bench = BlueZBench()
    bench.start()
    bench.request(.connect(.peer, ConnectOptions()))
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    bench.advance(by: .seconds(100))
    #expect(bench.takeEvents() == [])
    bench.hear()
    #expect(bench.count(of: "Connect") == 1)
    bench.changeDevice(["Connected": .boolean(true)])
    bench.reply(to: "Connect")
    #expect(bench.takeEvents().last == .connected(.peer))
    bench.reply(to: "StopDiscovery")
  }

  @Test func `An attempt that bluetoothd gives up is repeated`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.request(.connect(.peer, ConnectOptions()))
    for _ in 0..<6 {
      bench.refuse("Connect", "org.bluez.Error.Failed", Self.abort)
      bench.advance(by: .seconds(8))
    }
    bench.changeDevice(["Connected": .boolean(true)])
    bench.reply(to: "Connect")
    #expect(bench.takeEvents().last == .connected(.peer))
  }

  @Test func `A success without a connection is no success`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.request(.connect(.peer, ConnectOptions()))
    bench.reply(to: "Connect")
    #expect(bench.takeEvents() == [])
    bench.advance(by: .seconds(1))
    #expect(bench.count(of: "Connect") == 1)
  }

  @Test func `A device that is removed before the connection is waited for`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.request(.connect(.peer, ConnectOptions()))
    bench.remove(devicePath, BusName.device)
    bench.refuse("Connect", BlueZErrorName.unknownObject)
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    bench.hear()
    #expect(bench.count(of: "Connect") == 1)
  }

  @Test func `A device of Bluetooth classic is an error with a sentence`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.request(.connect(.peer, ConnectOptions()))
    bench.refuse("Connect", "org.bluez.Error.Failed", "br-connection-profile-unavailable")
    guard case .connectionFailed(.peer, .unsupported(let text))? = bench.takeEvents().last else {
      Issue.record("no failure")
      return
    }
    #expect(text.contains("Bluetooth classic"))
    #expect(bench.machine.links.isEmpty)
  }

  @Test func `A cancelled attempt is ended in bluetoothd, also if it succeeds meanwhile`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.request(.connect(.peer, ConnectOptions()))
    bench.request(.disconnect(.peer))
    #expect(bench.takeEvents() == [.disconnected(.peer, nil, reconnecting: false)])
    bench.reply(to: "Disconnect")
    bench.changeDevice(["Connected": .boolean(true)])
    bench.reply(to: "Connect")
    #expect(bench.count(of: "Disconnect") == 1)
    #expect(bench.takeEvents() == [])
    #expect(bench.machine.links.isEmpty)
  }

  @Test func `A link ends for its last client only`() {
    var bench = BlueZBench()
    bench.start()
    bench.handle(.opened(.second, acknowledgesEvents: false))
    bench.connect()
    bench.request(.connect(.peer, ConnectOptions()), of: .second)
    #expect(bench.takeEvents(of: .second) == [.connected(.peer)])
    bench.request(.disconnect(.peer))
    #expect(bench.takeEvents() == [.disconnected(.peer, nil, reconnecting: false)])
    #expect(bench.count(of: "Disconnect") == 0)
    bench.request(.disconnect(.peer), of: .second)
    bench.reply(to: "Disconnect")
    #expect(bench.takeEvents(of: .second) == [])
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(
      bench.takeEvents(of: .second) == [
        .linkClosed(.peer, .disconnected(.localHostTerminatedConnection)),
        .disconnected(.peer, nil, reconnecting: false),
      ])
  }

  @Test func `A link that another program has made is left to it`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.changeDevice(["Connected": .boolean(true)])
    guard case .linkOpened? = bench.takeEvents().last else {
      Issue.record("the link of another program is not reported")
      return
    }
    bench.request(.connect(.peer, ConnectOptions()))
    #expect(bench.takeEvents() == [.connected(.peer)])
    bench.request(.disconnect(.peer))
    #expect(bench.takeEvents() == [.disconnected(.peer, nil, reconnecting: false)])
    #expect(bench.calls.isEmpty)
  }

  @Test func `A link that ends by itself is made again for a client that wants that`() {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    var options = ConnectOptions()
    options.reconnectsAutomatically = true
    bench.request(.disconnect(.peer))
    bench.request(.connect(.peer, options))
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(bench.takeEvents().last == .disconnected(.peer, nil, reconnecting: true))
    bench.reply(to: "Disconnect")
    bench.advance(by: .seconds(1))
    bench.changeDevice(["Connected": .boolean(true)])
    bench.reply(to: "Connect")
    #expect(bench.takeEvents().last == .connected(.peer))
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(
      bench.takeEvents().last
        == .disconnected(.peer, .disconnected(.unspecifiedError), reconnecting: true))
    bench.advance(by: .seconds(1))
    #expect(bench.count(of: "Connect") == 1)
  }

  @Test func `A device that is removed while it is connected is a link that has ended`() {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    bench.gatt(.read(0x0C), token: 1)
    bench.remove(devicePath, BusName.device)
    let events = bench.takeEvents()
    #expect(events.result(1) == .failure(.disconnected(.unspecifiedError)))
    #expect(
      events.last == .disconnected(.peer, .disconnected(.unspecifiedError), reconnecting: false))
    #expect(bench.machine.links.isEmpty)
  }

  @Test func `A link that bluetoothd does not end is given up after ten seconds`() {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    bench.request(.disconnect(.peer))
    bench.advance(by: BlueZLimits.disconnectionMax)
    #expect(bench.takeEvents().last == .disconnected(.peer, nil, reconnecting: false))
    #expect(bench.warnings.count == 1)
  }

  @Test func `A session that closes ends its links and its discovery`() {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    bench.connect()
    bench.handle(.closed(.first))
    #expect(Set(bench.calls.map(\.call.member)) == ["Disconnect", "StopDiscovery"])
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(bench.machine.links.isEmpty)
  }

  @Test func `A pairing that reveals another address leaves the link and its address alone`() {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    bench.changeDevice([
      "Address": .string("00:11:22:33:44:55"), "AddressType": .string("public"),
      "Paired": .boolean(true),
    ])
    bench.subscribe()
    bench.reply(to: "StartNotify")
    bench.notify([1])
    #expect(bench.takeEvents().values == [[1]])
    // The other address is in use with this link.
    let identity = DeviceAddress(bits: 0x11_2233_4455, kind: .public)
    bench.request(.connect(identity, ConnectOptions()))
    guard case .connectionFailed(identity, .invalidArgument)? = bench.takeEvents().last else {
      Issue.record("a second link to one device")
      return
    }
  }

  @Test func `A pending connection survives an adapter that is off`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.request(.connect(.peer, ConnectOptions()))
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(false)])
    #expect(bench.takeEvents() == [.stateChanged(.poweredOff)])
    bench.refuse("Connect", BlueZErrorName.notReady)
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(true)])
    bench.changeDevice(["Connected": .boolean(true)])
    bench.reply(to: "Connect")
    #expect(bench.takeEvents().last == .connected(.peer))
  }

  /// A link is up when the connection with the bus ends, and is still up in bluetoothd when that is back.
  private func restored() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    bench.handle(.busClosed("the bus has ended."))
    #expect(bench.takeEvents().contains(.linkClosed(.peer, .radioNotReady)))
    bench.calls = []
    bench.advance(by: .seconds(1))
    bench.handle(.busOpened)
    bench.answerMatches()
    bench.reply(to: "GetNameOwner", [.string(daemon)])
    let device = BlueZBench.deviceValues.merging(["Connected": .boolean(true)]) { $1 }
    bench.reply(
      to: "GetManagedObjects",
      [
        .objects([
          adapterPath: [BusName.adapter: BlueZBench.adapterValues],
          devicePath: [BusName.device: device],
        ])
      ])
    return bench
  }

  @Test func `A link that outlives the connection with the bus is ended by its last client`() {
    var bench = restored()
    bench.request(.connect(.peer, ConnectOptions()))
    #expect(bench.takeEvents().last == .connected(.peer))
    bench.advance(by: .seconds(60))
    bench.request(.disconnect(.peer))
    bench.reply(to: "Disconnect")
  }

  @Test func `A link that outlives the connection with the bus and its clients is ended`() {
    var bench = restored()
    bench.advance(by: .seconds(9))
    #expect(bench.calls.isEmpty)
    bench.advance(by: .seconds(1))
    bench.reply(to: "Disconnect")
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(bench.machine.links.isEmpty)
  }

  @Test func `No more connections are attempted at the same time than the bound`() {
    var bench = BlueZBench()
    bench.start()
    let peers = (1...20).map { DeviceAddress(bits: UInt64($0), kind: .random) }
    for peer in peers {
      bench.add(
        "/org/bluez/hci0/dev_\(peer.bits)", BusName.device,
        ["Address": .string(peer.description), "AddressType": .string("random")])
      bench.request(.connect(peer, ConnectOptions()))
    }
    #expect(bench.count(of: "Connect") == BlueZLimits.connectingCountMax)
    bench.refuse("Connect", "org.bluez.Error.Failed", Self.abort)
    bench.advance(by: .milliseconds(500))
    #expect(bench.count(of: "Connect") == BlueZLimits.connectingCountMax)
  }

  @Test func `Links beyond the bound are refused`() {
    var bench = BlueZBench()
    bench.start()
    for number in 0...BlueZLimits.linkCountMax {
      bench.request(.connect(DeviceAddress(bits: UInt64(number), kind: .random), ConnectOptions()))
    }
    guard case .connectionFailed(_, .limitReached)? = bench.takeEvents().last else {
      Issue.record("no bound")
      return
    }
  }

  @Test func `A Connect without an answer is cancelled, and the device is waited for again`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.request(.connect(.peer, ConnectOptions()))
    bench.calls = []
    bench.advance(by: BlueZLimits.connectionMax)
    #expect(bench.call("Disconnect")?.path == devicePath)
    #expect(bench.count(of: "SetDiscoveryFilter") == 1)
    bench.advance(by: .seconds(2))
    #expect(bench.count(of: "Connect") == 1)
    bench.changeDevice(["Connected": .boolean(true)])
    bench.reply(to: "Connect")
    #expect(bench.takeEvents().last == .connected(.peer))
  }

  @Test func `A link that an unanswered Connect makes after all is ended with its last client`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.request(.connect(.peer, ConnectOptions()))
    bench.advance(by: BlueZLimits.connectionMax)
    bench.calls = []
    bench.changeDevice(["Connected": .boolean(true)])
    #expect(bench.takeEvents().last == .connected(.peer))
    bench.request(.disconnect(.peer))
    #expect(bench.count(of: "Disconnect") == 1)
  }
}
