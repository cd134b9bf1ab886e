import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Subscriptions that end while bluetoothd begins them, and writes that bluetoothd queues.
struct SubscriptionTests {
  private func connected() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    return bench
  }

  @Test func `A subscription whose session closes before the reply is stopped`() {
    var bench = connected()
    bench.handle(.opened(.second, acknowledgesEvents: false))
    bench.request(.connect(.peer, ConnectOptions()), of: .second)
    bench.subscribe()
    bench.handle(.closed(.first))
    bench.reply(to: "StartNotify")
    #expect(bench.call("StopNotify")?.path == valuePath)
  }

  @Test func `A subscription that another client waits for is not stopped`() {
    var bench = connected()
    bench.handle(.opened(.second, acknowledgesEvents: false))
    bench.request(.connect(.peer, ConnectOptions()), of: .second)
    bench.subscribe()
    bench.subscribe(of: .second)
    bench.handle(.closed(.first))
    bench.reply(to: "StartNotify")
    #expect(bench.count(of: "StopNotify") == 0)
    bench.reply(to: "StartNotify")
    bench.notify([7])
    #expect(bench.takeEvents(of: .second).values == [[7]])
  }

  @Test func `A subscription whose link ends before the reply is stopped`() {
    var bench = connected()
    bench.subscribe()
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(bench.count(of: "StopNotify") == 0)
    bench.reply(to: "StartNotify")
    #expect(bench.call("StopNotify")?.path == valuePath)
  }

  @Test func `A subscription without an answer is stopped`() {
    var bench = connected()
    bench.subscribe(token: 1)
    bench.advance(by: BlueZLimits.procedureMax)
    #expect(bench.takeEvents().result(1) == .failure(.attTimeout))
    #expect(bench.count(of: "StopNotify") == 1)
  }

  @Test func `A refused subscription is not stopped`() {
    var bench = connected()
    bench.subscribe(token: 1)
    bench.refuse("StartNotify", "org.bluez.Error.NotPermitted", "Not paired")
    #expect(bench.count(of: "StopNotify") == 0)
  }

  @Test func `A subscription is StartNotify, and acquires no socket that a refusal would break`() {
    var bench = connected()
    bench.subscribe(token: 1)
    bench.reply(to: "StartNotify")
    bench.gatt(.writeWithoutResponse(0x0C, [1]), token: 2)
    #expect(bench.calls.map(\.call.member) == ["WriteValue"])
  }

  // MARK: Writes without response

  @Test func `Every 32 writes without response, a read proves that bluetoothd has sent them`() {
    var bench = connected()
    for token in 1...UInt64(BlueZLimits.commandCountMax) {
      bench.gatt(.writeWithoutResponse(0x0C, [UInt8(token)]), token: token)
    }
    for token in 1..<UInt64(BlueZLimits.commandCountMax) {
      bench.reply(to: "WriteValue")
      #expect(bench.takeEvents().result(token) == .success(.done))
    }
    bench.reply(to: "WriteValue")
    #expect(bench.takeEvents() == [])
    #expect(bench.call("ReadValue")?.path == valuePath + "/desc000d")
    // Its error is an answer, too.
    bench.refuse("ReadValue", "org.bluez.Error.NotPermitted", "Read not permitted")
    let last = UInt64(BlueZLimits.commandCountMax)
    #expect(bench.takeEvents().result(last) == .success(.done))
  }

  /// Writes without response up to the one that a read follows.
  private func writeToTheProbe(_ bench: inout BlueZBench, _ handle: UInt16) {
    for token in 1...UInt64(BlueZLimits.commandCountMax) {
      bench.gatt(.writeWithoutResponse(handle, [1]), token: token)
      bench.reply(to: "WriteValue")
    }
  }

  @Test func `Without a descriptor, a value that can't be read is read, for its refusal`() {
    var bench = connected()
    bench.remove(valuePath + "/desc000d", BusName.descriptor)
    let path = servicePath + "/char0020"
    bench.add(
      path, BusName.characteristic,
      [
        "UUID": .string("0000ab12-5d4e-4f3a-9b1c-0e2d3c4b5a69"),
        "Flags": .strings(["write-without-response"]),
      ])
    writeToTheProbe(&bench, 0x21)
    #expect(bench.call("ReadValue")?.path == path)
    let last = UInt64(BlueZLimits.commandCountMax)
    #expect(bench.takeEvents().result(last) == nil)
    bench.refuse("ReadValue", "org.bluez.Error.NotPermitted", "Read not permitted")
    #expect(bench.takeEvents().result(last) == .success(.done))
  }

  @Test func `Without both, the written value is read, and that is no notification`() {
    var bench = connected()
    bench.remove(valuePath + "/desc000d", BusName.descriptor)
    bench.subscribe(token: 80)
    bench.reply(to: "StartNotify")
    writeToTheProbe(&bench, 0x0C)
    #expect(bench.call("ReadValue")?.path == valuePath)
    _ = bench.takeEvents()
    bench.notify([7])
    bench.notify([8])
    bench.reply(to: "ReadValue", [.bytes([8])])
    let events = bench.takeEvents()
    #expect(events.values == [[7]])
    #expect(events.result(UInt64(BlueZLimits.commandCountMax)) == .success(.done))
  }

  // MARK: What the bus delivers

  @Test
  func
    `The bus delivers changes of characteristics while something is subscribed, and not for reads`()
  {
    var bench = connected()
    #expect(bench.valueRuleCalls == ["AddMatch", "RemoveMatch"])
    bench.gatt(.read(0x0C), token: 1)
    bench.reply(to: "ReadValue", [.bytes([1])])
    #expect(bench.takeEvents().result(1) == .success(.value([1])))
    #expect(!bench.hasValueRule && bench.valueRuleCalls.count == 2)
    bench.subscribe()
    bench.notify([2])
    bench.reply(to: "StartNotify")
    bench.subscribe(0x11, token: 91)
    bench.reply(to: "StartNotify")
    #expect(bench.takeEvents().values == [[2]])
    for (handle, token) in [(0x0C, 92), (0x11, 93)] as [(UInt16, UInt64)] {
      #expect(bench.hasValueRule)
      let target = SubscriptionTarget(
        valueHandle: handle, endHandle: handle, usesIndications: false)
      bench.request(.unsubscribe(.peer, target, RequestToken(rawValue: token)))
      bench.reply(to: "StopNotify")
    }
    #expect(bench.valueRuleCalls == ["AddMatch", "RemoveMatch", "AddMatch", "RemoveMatch"])
  }

  @Test func `A refused subscription, and a link that ends with one, need no changes any more`() {
    var bench = connected()
    bench.subscribe()
    bench.refuse("StartNotify", "org.bluez.Error.NotSupported")
    #expect(!bench.hasValueRule)
    bench.subscribe(token: 91)
    bench.reply(to: "StartNotify")
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(!bench.hasValueRule)
  }

  @Test func `The MTU of a link to a device whose objects bluetoothd has kept is heard`() {
    var bench = connected()
    bench.changeDevice(["Connected": .boolean(false), "ServicesResolved": .boolean(false)])
    bench.request(.connect(.peer, ConnectOptions()))
    bench.changeDevice(["Connected": .boolean(true)])
    bench.change(valuePath, BusName.characteristic, ["MTU": .uint16(247)])
    bench.changeDevice(["ServicesResolved": .boolean(true)])
    #expect(bench.machine.links[.peer]?.info.mtu == 247)
    #expect(!bench.hasValueRule)
  }

  @Test
  func `A new bluetoothd, and a new connection with the bus, have the rule where it is needed`() {
    var bench = connected()
    bench.subscribe()
    bench.reply(to: "StartNotify")
    bench.handle(.busClosed("It has ended."))
    bench.advance(by: .seconds(1))
    bench.calls = []
    bench.hasValueRule = false
    bench.handle(.busOpened)
    bench.answerMatches()
    bench.reply(to: "GetNameOwner", [.string(daemon)])
    bench.reply(
      to: "GetManagedObjects",
      [.objects([adapterPath: [BusName.adapter: BlueZBench.adapterValues]])])
    bench.connect()
    bench.subscribe(token: 91)
    bench.notify([3])
    bench.reply(to: "StartNotify")
    #expect(bench.takeEvents().values == [[3]])
  }

  @Test func `A refused rule costs no link, is reported once, and is tried again after a pause`() {
    var bench = connected()
    bench.valueRuleReply = .failure(BusError("org.freedesktop.DBus.Error.LimitsExceeded", "full"))
    bench.subscribe()
    bench.reply(to: "StartNotify")
    bench.notify([1])
    #expect(bench.takeEvents().result(90) == .success(.done))
    bench.advance(by: .milliseconds(500))
    #expect(bench.closings == 0 && bench.machine.state == .poweredOn)
    #expect(bench.machine.links[.peer]?.phase == .open)
    #expect(bench.warnings.count == 1 && bench.machine.refusals.count == 1)
    bench.valueRuleReply = .success([])
    bench.advance(by: .milliseconds(999))
    bench.notify([2])
    #expect(bench.takeEvents().values == [])
    bench.advance(by: .milliseconds(1))
    bench.notify([3])
    #expect(bench.takeEvents().values == [[3]])
    #expect(bench.warnings.count == 1 && bench.machine.refusals == [])
    #expect(
      bench.valueRuleCalls.suffix(5)
        == ["AddMatch", "RemoveMatch", "AddMatch", "RemoveMatch", "AddMatch"])
  }

  @Test func `A refused rule is not tried again while nothing needs it`() {
    var bench = connected()
    bench.valueRuleReply = .failure(BusError("org.freedesktop.DBus.Error.LimitsExceeded", "full"))
    bench.subscribe()
    bench.refuse("StartNotify", "org.bluez.Error.NotSupported")
    let count = bench.valueRuleCalls.count
    bench.advance(by: .seconds(60))
    #expect(bench.valueRuleCalls.count == count && bench.machine.refusals == [])
    bench.valueRuleReply = .success([])
    bench.subscribe(token: 91)
    #expect(bench.hasValueRule)
  }

  @Test func `A rule without an answer costs no link, and is removed and added again`() {
    var bench = connected()
    bench.valueRuleReply = nil
    bench.subscribe()
    bench.reply(to: "StartNotify")
    bench.advance(by: BlueZLimits.answerMax)
    #expect(bench.closings == 0 && bench.machine.state == .poweredOn)
    #expect(bench.machine.links[.peer]?.phase == .open)
    #expect(bench.valueRuleCalls.suffix(2) == ["AddMatch", "RemoveMatch"])
    bench.valueRuleReply = .success([])
    bench.advance(by: .milliseconds(500))
    bench.notify([3])
    #expect(bench.takeEvents().values == [[3]])
  }

  @Test func `A rule without an answer is added again, also if bluetoothd came back meanwhile`() {
    var bench = connected()
    bench.valueRuleReply = nil
    bench.subscribe()
    bench.ownerChanged(to: ":1.9")
    bench.request(.connect(.peer, ConnectOptions()))
    let device = BlueZBench.deviceValues.merging(["Connected": .boolean(true)]) { $1 }
    let objects = [
      adapterPath: [BusName.adapter: BlueZBench.adapterValues],
      devicePath: [BusName.device: device],
    ]
    bench.reply(to: "GetManagedObjects", [.objects(objects)])
    #expect(bench.machine.links[.peer]?.phase == .open)
    #expect(bench.valueRuleCalls.last == "AddMatch")
    bench.valueRuleReply = .success([])
    bench.advance(by: BlueZLimits.answerMax + .milliseconds(500))
    #expect(bench.valueRuleCalls.suffix(3) == ["AddMatch", "RemoveMatch", "AddMatch"])
    #expect(bench.hasValueRule && bench.closings == 0)
  }
}
