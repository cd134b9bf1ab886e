import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// The states of bluetoothd's radio.
struct RadioTests {
  @Test func `A session hears that the radio is on when bluetoothd has an adapter that is`() {
    var bench = BlueZBench()
    bench.handle(.opened(.first, acknowledgesEvents: false))
    #expect(bench.openings == 1)
    #expect(bench.takeEvents() == [.stateChanged(.unknown)])
    bench.handle(.busOpened)
    bench.answerMatches()
    bench.reply(to: "GetNameOwner", [.string(daemon)])
    bench.reply(
      to: "GetManagedObjects",
      [.objects([adapterPath: [BusName.adapter: BlueZBench.adapterValues]])])
    #expect(bench.takeEvents() == [.stateChanged(.poweredOn)])
    #expect(bench.problem == nil)
  }

  @Test func `A bluetoothd that can't be started is a sentence with a remedy`() {
    var bench = BlueZBench()
    bench.handle(.opened(.first, acknowledgesEvents: false))
    bench.handle(.busOpened)
    bench.answerMatches()
    bench.refuse("GetNameOwner", BlueZErrorName.noOwner)
    bench.refuse(
      "StartServiceByName", "org.freedesktop.DBus.Error.ServiceUnknown", "No such service")
    #expect(bench.takeEvents().last == .stateChanged(.poweredOff))
    #expect(bench.problem?.contains("No such service. Install the package bluez") == true)
    // It is started by hand later.
    bench.ownerChanged(to: daemon)
    bench.reply(
      to: "GetManagedObjects",
      [.objects([adapterPath: [BusName.adapter: BlueZBench.adapterValues]])])
    #expect(bench.takeEvents() == [.stateChanged(.poweredOn)])
    #expect(bench.problem == nil)
  }

  @Test func `A bus policy that denies bluetoothd makes the radio unauthorized`() {
    var bench = BlueZBench()
    bench.handle(.opened(.first, acknowledgesEvents: false))
    bench.handle(.busOpened)
    bench.answerMatches()
    bench.reply(to: "GetNameOwner", [.string(daemon)])
    bench.refuse("GetManagedObjects", BlueZErrorName.accessDenied, "Rejected send message.")
    #expect(bench.takeEvents().last == .stateChanged(.unauthorized))
    #expect(bench.problem?.hasPrefix("This user may not use bluetoothd: Rejected") == true)
  }

  @Test func `A bus that can't be reached is tried again`() {
    var bench = BlueZBench()
    bench.handle(.opened(.first, acknowledgesEvents: false))
    bench.handle(.busClosed("no such file."))
    #expect(bench.takeEvents().last == .stateChanged(.poweredOff))
    #expect(bench.problem?.hasSuffix("no such file.") == true)
    bench.advance(by: .seconds(1))
    #expect(bench.openings == 2)
  }

  @Test func `An adapter that is off and one that rfkill blocks have different sentences`() {
    var bench = BlueZBench()
    bench.start([
      adapterPath: [
        BusName.adapter: ["Address": .string("00:1A:7D:DA:71:13"), "Powered": .boolean(false)]
      ]
    ])
    #expect(bench.problem?.hasPrefix("The adapter hci0 is off.") == true)
    #expect(bench.blockQuestions == ["hci0"])
    bench.handle(.block(.soft))
    #expect(bench.problem?.contains("rfkill unblock bluetooth") == true)
    bench.handle(.block(.hard))
    #expect(bench.problem == "The adapter hci0 is blocked by a switch of this machine.")
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(true)])
    #expect(bench.problem == nil)
    #expect(bench.takeEvents() == [.stateChanged(.poweredOn)])
  }

  @Test func `BlueZ 5_82 itself reports that an adapter is blocked`() {
    var bench = BlueZBench()
    bench.start([
      adapterPath: [
        BusName.adapter: ["Powered": .boolean(false), "PowerState": .string("off-blocked")]
      ]
    ])
    #expect(bench.problem?.contains("blocked by software") == true)
  }

  @Test func `A machine without an adapter uses one that is plugged in`() {
    var bench = BlueZBench()
    bench.start([:])
    #expect(bench.problem?.hasPrefix("bluetoothd has no Bluetooth adapter.") == true)
    bench.add(adapterPath, BusName.adapter, BlueZBench.adapterValues)
    #expect(bench.takeEvents() == [.stateChanged(.poweredOn)])
  }

  @Test func `A named adapter is used although another one is on`() {
    var bench = BlueZBench(adapter: "hci1")
    bench.start()
    #expect(bench.problem?.contains("no Bluetooth adapter hci1") == true)
    bench.add("/org/bluez/hci1", BusName.adapter, ["Powered": .boolean(true)])
    #expect(bench.takeEvents() == [.stateChanged(.poweredOn)])
    #expect(bench.machine.adapter == "/org/bluez/hci1")
  }

  @Test func `An adapter is known again under another number`() {
    var bench = BlueZBench(adapter: "hci0")
    bench.start()
    bench.remove(adapterPath, BusName.adapter)
    #expect(bench.takeEvents() == [.stateChanged(.poweredOff)])
    bench.add("/org/bluez/hci1", BusName.adapter, BlueZBench.adapterValues)
    #expect(bench.takeEvents() == [.stateChanged(.poweredOn)])
    #expect(bench.machine.adapter == "/org/bluez/hci1")
  }

  @Test func `Another adapter resets the clients before it is on`() {
    var bench = BlueZBench()
    bench.start()
    bench.remove(adapterPath, BusName.adapter)
    bench.add(
      "/org/bluez/hci1", BusName.adapter,
      ["Address": .string("00:1A:7D:DA:71:14"), "Powered": .boolean(true)])
    #expect(
      bench.takeEvents() == [
        .stateChanged(.poweredOff), .stateChanged(.resetting), .stateChanged(.poweredOn),
      ])
  }

  @Test func `Another adapter that is on takes over the scans of one that is unplugged`() {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    bench.add(
      "/org/bluez/hci1", BusName.adapter,
      ["Address": .string("00:1A:7D:DA:71:14"), "Powered": .boolean(true)])
    #expect(bench.takeEvents() == [])
    bench.remove(adapterPath, BusName.adapter)
    #expect(bench.takeEvents() == [.stateChanged(.resetting), .stateChanged(.poweredOn)])
    #expect(bench.call("SetDiscoveryFilter")?.path == "/org/bluez/hci1")
  }

  @Test func `A restart of bluetoothd is a radio that is gone and back, with its scans`() {
    var bench = BlueZBench()
    bench.start()
    bench.startScan()
    bench.connect()
    bench.gatt(.read(0x0C), token: 5)
    bench.ownerChanged(to: "")
    let events = bench.takeEvents()
    #expect(events.result(5) == .failure(.radioNotReady))
    #expect(events.contains(.linkClosed(.peer, .radioNotReady)))
    #expect(events.contains(.disconnected(.peer, .radioNotReady, reconnecting: false)))
    #expect(events.last == .stateChanged(.poweredOff))
    bench.calls = []
    bench.ownerChanged(to: ":1.99")
    bench.reply(
      to: "GetManagedObjects",
      [.objects([adapterPath: [BusName.adapter: BlueZBench.adapterValues]])])
    #expect(bench.takeEvents() == [.stateChanged(.poweredOn)])
    #expect(bench.call("SetDiscoveryFilter")?.destination == ":1.99")
  }

  @Test func `A restart of bluetoothd that numbers adapters anew keeps the one that was used`() {
    var bench = BlueZBench()
    bench.start()
    bench.ownerChanged(to: "")
    bench.calls = []
    bench.ownerChanged(to: ":1.99")
    let other: [String: BusValue] = [
      "Address": .string("00:1A:7D:DA:71:14"), "Powered": .boolean(true),
    ]
    bench.reply(
      to: "GetManagedObjects",
      [
        .objects([
          adapterPath: [BusName.adapter: other],
          "/org/bluez/hci1": [BusName.adapter: BlueZBench.adapterValues],
        ])
      ])
    #expect(bench.takeEvents() == [.stateChanged(.poweredOff), .stateChanged(.poweredOn)])
    #expect(bench.machine.adapter == "/org/bluez/hci1")
  }

  @Test func `The bus delivers bluetoothd's own signals only, of the interfaces in use`() {
    var bench = BlueZBench()
    bench.handle(.opened(.first, acknowledgesEvents: false))
    bench.handle(.busOpened)
    let rules = bench.calls.map(\.call).filter { $0.member == "AddMatch" }
      .compactMap { $0.arguments.first?.text }
    #expect(rules.count == 4)
    let changes = rules.filter { $0.contains("PropertiesChanged") }
    #expect(
      changes.allSatisfy {
        $0.contains("sender='org.bluez'") && $0.contains("path_namespace='/org/bluez'")
      })
    let interfaces = ["Adapter1", "Device1"]
    #expect(
      Set(changes.map { String($0.split(separator: "'").last ?? "") })
        == Set(interfaces.map { "org.bluez." + $0 }))
  }

  @Test func `More calls than dbus-daemon allows a program wait until others have a reply`() {
    var bench = BlueZBench()
    var objects: [String: [String: [String: BusValue]]] = [
      adapterPath: [BusName.adapter: BlueZBench.adapterValues]
    ]
    for number in 0..<200 {
      objects[adapterPath + "/dev_\(number)"] = [
        BusName.device: [
          "Address": .string(DeviceAddress(bits: UInt64(number), kind: .random).description),
          "AddressType": .string("random"), "Paired": .boolean(true),
        ]
      ]
    }
    bench.start(objects)
    for number in 0..<200 {
      let peer = DeviceAddress(bits: UInt64(number), kind: .random)
      bench.request(.removeBond(peer, RequestToken(rawValue: UInt64(number))))
    }
    #expect(bench.count(of: "RemoveDevice") == BlueZLimits.pendingCallCountMax)
    for _ in 0..<200 { bench.reply(to: "RemoveDevice") }
    #expect(bench.takeEvents().count { if case .completed = $0 { true } else { false } } == 200)
  }

  @Test func `Signals of other programs are ignored`() {
    var bench = BlueZBench()
    bench.start()
    bench.signal(
      BusName.objectManager, "InterfacesRemoved",
      [.path(adapterPath), .strings([BusName.adapter])], from: ":1.66")
    #expect(bench.takeEvents() == [])
  }

  @Test func `A bluetoothd that does not answer is left and tried again`() {
    var bench = BlueZBench()
    bench.handle(.opened(.first, acknowledgesEvents: false))
    bench.handle(.busOpened)
    bench.answerMatches()
    bench.reply(to: "GetNameOwner", [.string(daemon)])
    bench.advance(by: BlueZLimits.answerMax)
    #expect(bench.problem?.contains("did not answer in time") == true)
    #expect(bench.closings == 1)
    bench.advance(by: .seconds(10))
    #expect(bench.openings == 2)
  }

  @Test func `Requests that BlueZ has no call for fail with a sentence`() {
    var bench = BlueZBench()
    bench.start()
    let token = RequestToken(rawValue: 1)
    for request: HostRequest in [
      .updateParameters(.peer, .default, token),
      .attendAllPairings(token), .createOutOfBandData(token),
    ] {
      bench.request(request)
      guard case .failure(.unsupported(let sentence)) = bench.takeEvents().result(1) else {
        Issue.record("\(request) did not fail")
        continue
      }
      #expect(sentence.hasSuffix("."))
    }
  }

  @Test func `A bluetoothd that ends at once is started again after growing pauses, five times`() {
    var bench = BlueZBench()
    bench.handle(.opened(.first, acknowledgesEvents: false))
    bench.handle(.busOpened)
    bench.answerMatches()
    bench.refuse("GetNameOwner", BlueZErrorName.noOwner)
    for pause in BlueZLimits.pauses {
      bench.reply(to: "StartServiceByName", [.uint32(1)])
      bench.refuse("GetNameOwner", BlueZErrorName.noOwner)
      #expect(bench.calls.isEmpty)
      bench.advance(by: .milliseconds(400))
      #expect(bench.calls.isEmpty)
      bench.advance(by: pause)
    }
    #expect(bench.takeEvents().last == .stateChanged(.poweredOff))
    #expect(bench.problem?.contains("it has ended at once") == true)
    bench.reply(to: "StartServiceByName", [.uint32(1)])
    bench.refuse("GetNameOwner", BlueZErrorName.noOwner)
    bench.advance(by: .seconds(100))
    #expect(bench.calls.isEmpty)
    // A start by another program is noticed nevertheless.
    bench.ownerChanged(to: daemon)
    #expect(bench.count(of: "GetManagedObjects") == 1)
  }
}
