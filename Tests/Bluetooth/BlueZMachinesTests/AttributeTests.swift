import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Attributes of peers as bluetoothd's objects.
struct AttributeTests {
  private func connected() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    return bench
  }

  @Test func `Services, characteristics and descriptors have the handles of their paths`() {
    var bench = connected()
    bench.gatt(.discoverServices(nil), token: 1)
    bench.gatt(.discoverCharacteristics(in: HandleRange(0x0A, 0xFFFF), nil), token: 2)
    bench.gatt(.discoverDescriptors(in: HandleRange(0x0D, 0x0F)), token: 3)
    let events = bench.takeEvents()
    #expect(
      events.result(1)
        == .success(
          .services([
            RemoteService(
              uuid: BluetoothUUID(0x180D), range: HandleRange(0x0A, 0xFFFF), isPrimary: true)
          ])))
    let properties: CharacteristicProperties = [.read, .write, .writeWithoutResponse, .notify]
    // The same UUID twice.
    #expect(
      events.result(2)
        == .success(
          .characteristics([
            RemoteCharacteristic(
              uuid: BluetoothUUID(0x2A37), declarationHandle: 0x0B, valueHandle: 0x0C,
              endHandle: 0x0F, properties: properties),
            RemoteCharacteristic(
              uuid: BluetoothUUID(0x2A37), declarationHandle: 0x10, valueHandle: 0x11,
              endHandle: 0xFFFF, properties: properties),
          ])))
    #expect(
      events.result(3)
        == .success(.descriptors([RemoteDescriptor(uuid: BluetoothUUID(0x2901), handle: 0x0D)])))
    #expect(bench.machine.links[.peer]?.info.mtu == 185)
  }

  @Test func `A discovery of services waits for bluetoothd's`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.request(.connect(.peer, ConnectOptions()))
    bench.changeDevice(["Connected": .boolean(true)])
    bench.gatt(.discoverServices(nil), token: 1)
    #expect(bench.takeEvents().result(1) == nil)
    // Resolved before the objects are there.
    bench.changeDevice(["ServicesResolved": .boolean(true)])
    #expect(bench.takeEvents().result(1) == nil)
    bench.addService()
    #expect(bench.takeEvents().result(1) != nil)
  }

  @Test func `A device without objects is one without services, three seconds later`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.request(.connect(.peer, ConnectOptions()))
    bench.changeDevice(["Connected": .boolean(true)])
    bench.changeDevice(["ServicesResolved": .boolean(true)])
    bench.gatt(.discoverServices(nil), token: 1)
    bench.advance(by: .seconds(3))
    #expect(bench.takeEvents().result(1) == .success(.services([])))
  }

  @Test func `Services that BlueZ 5_66 hides are not found, and the others are`() {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    bench.gatt(.discoverServices([0x1800]), token: 1)
    bench.gatt(.discoverServices([0x1800, 0x180D]), token: 2)
    let events = bench.takeEvents()
    #expect(events.result(1) == .success(.services([])))
    guard case .success(.services(let found))? = events.result(2) else {
      Issue.record("no services")
      return
    }
    #expect(found.map(\.uuid) == [0x180D])
  }

  @Test func `Services that are never resolved time out`() {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.request(.connect(.peer, ConnectOptions()))
    bench.changeDevice(["Connected": .boolean(true)])
    bench.gatt(.discoverServices(nil), token: 1)
    bench.advance(by: BlueZLimits.procedureMax)
    #expect(bench.takeEvents().result(1) == .failure(.attTimeout))
  }

  @Test func `Operations run one after the other`() {
    var bench = connected()
    bench.gatt(.read(0x0C), token: 1)
    bench.gatt(.write(0x0C, [7]), token: 2)
    bench.gatt(.writeWithoutResponse(0x11, [8]), token: 3)
    #expect(bench.calls.map(\.call.member) == ["ReadValue"])
    #expect(bench.call("ReadValue")?.path == valuePath)
    bench.reply(to: "ReadValue", [.bytes([1, 2])])
    #expect(bench.takeEvents().result(1) == .success(.value([1, 2])))
    #expect(
      bench.call("WriteValue")?.arguments
        == [.bytes([7]), .properties(["type": .string("request")])])
    bench.reply(to: "WriteValue")
    #expect(bench.call("WriteValue")?.path == secondValuePath)
    #expect(bench.call("WriteValue")?.arguments.last == .properties(["type": .string("command")]))
    bench.reply(to: "WriteValue")
    #expect(bench.takeEvents().result(3) == .success(.done))
  }

  @Test func `Errors of bluetoothd are those of the attribute protocol`() {
    for (name, message, code): (String, String, ATTErrorCode) in [
      (
        "org.bluez.Error.Failed", "Operation failed with ATT error: 0x80 (Application Error)",
        ATTErrorCode(rawValue: 0x80)
      ),
      ("org.bluez.Error.NotPermitted", "Read not permitted", .readNotPermitted),
      ("org.bluez.Error.NotPermitted", "Write not permitted", .writeNotPermitted),
      ("org.bluez.Error.NotPermitted", "Not paired", .insufficientAuthentication),
      ("org.bluez.Error.NotAuthorized", "Operation Not Authorized", .insufficientAuthorization),
      ("org.bluez.Error.NotSupported", "Operation is not supported", .requestNotSupported),
      ("org.bluez.Error.InvalidArguments", "Invalid offset", .invalidOffset),
      ("org.bluez.Error.InvalidArguments", "Invalid Length", .invalidAttributeValueLength),
      (BlueZErrorName.unknownObject, "Method doesn't exist", .invalidHandle),
    ] {
      #expect(BusError(name, message).hostError(handle: 3) == .att(code, handle: 3))
    }
    guard case .transport = BusError("org.bluez.Error.Failed", "Odd").hostError(handle: 3) else {
      Issue.record("an unknown error has a code")
      return
    }
  }

  @Test func `A busy attribute is tried again, but not for ever`() {
    var bench = connected()
    bench.gatt(.write(0x0C, [1]), token: 1)
    for _ in 0..<BlueZLimits.inProgressCountMax {
      bench.refuse("WriteValue", BlueZErrorName.inProgress)
      #expect(bench.takeEvents() == [])
      bench.advance(by: .milliseconds(500))
    }
    bench.refuse("WriteValue", BlueZErrorName.inProgress)
    guard case .failure(.limitReached)? = bench.takeEvents().result(1) else {
      Issue.record("no error")
      return
    }
  }

  @Test func `A handle that the peer does not have is an invalid handle`() {
    var bench = connected()
    bench.gatt(.read(0x77), token: 1)
    #expect(bench.takeEvents().result(1) == .failure(.att(.invalidHandle, handle: 0x77)))
  }

  @Test func `Values of one type are read one after the other`() {
    var bench = connected()
    bench.gatt(.readByUUID(BluetoothUUID(0x2A37), in: .all), token: 1)
    bench.reply(to: "ReadValue", [.bytes([1])])
    bench.reply(to: "ReadValue", [.bytes([2])])
    #expect(
      bench.takeEvents().result(1)
        == .success(
          .values([
            AttributeValue(handle: 0x0C, value: [1]), AttributeValue(handle: 0x11, value: [2]),
          ])))
  }

  // MARK: Notifications

  @Test func `Two subscribers share one StartNotify, and each gets each value once`() {
    var bench = connected()
    bench.handle(.opened(.second, acknowledgesEvents: false))
    bench.request(.connect(.peer, ConnectOptions()), of: .second)
    bench.subscribe()
    bench.reply(to: "StartNotify")
    bench.subscribe(of: .second)
    #expect(bench.calls.isEmpty)
    for value in [[1], [1], [2]] as [[UInt8]] { bench.notify(value) }
    bench.notify([9], path: secondValuePath)
    #expect(bench.takeEvents().values == [[1], [1], [2]])
    #expect(bench.takeEvents(of: .second).values == [[1], [1], [2]])
    let target = SubscriptionTarget(valueHandle: 0x0C, endHandle: 0x0C, usesIndications: false)
    bench.request(.unsubscribe(.peer, target, RequestToken(rawValue: 4)))
    #expect(bench.takeEvents().result(4) == .success(.done))
    bench.request(.unsubscribe(.peer, target, RequestToken(rawValue: 5)), of: .second)
    bench.reply(to: "StopNotify")
    #expect(bench.takeEvents(of: .second).result(5) == .success(.done))
  }

  @Test func `Values before the response to a subscription are not lost`() {
    var bench = connected()
    bench.subscribe()
    bench.notify([1])
    bench.notify([2], path: secondValuePath)
    bench.notify([3])
    bench.reply(to: "StartNotify")
    #expect(
      bench.takeEvents() == [
        .completed(RequestToken(rawValue: 90), .success(.done)),
        .valueUpdated(.peer, handle: 0x0C, [1]), .valueUpdated(.peer, handle: 0x0C, [3]),
      ])
  }

  @Test func `The value of a read is not taken for a notification`() {
    var bench = connected()
    bench.subscribe()
    bench.reply(to: "StartNotify")
    _ = bench.takeEvents()
    bench.gatt(.read(0x0C), token: 1)
    bench.notify([1])
    bench.notify([2])
    bench.notify([3])
    bench.reply(to: "ReadValue", [.bytes([3])])
    let events = bench.takeEvents()
    #expect(events.values == [[1], [2]])
    #expect(events.result(1) == .success(.value([3])))
  }

  @Test func `A notification during a read that fails is delivered`() {
    var bench = connected()
    bench.subscribe()
    bench.reply(to: "StartNotify")
    bench.gatt(.read(0x0C), token: 1)
    bench.notify([1])
    bench.refuse("ReadValue", "org.bluez.Error.NotPermitted", "Read not permitted")
    #expect(bench.takeEvents().values == [[1]])
  }

  @Test func `Values that a client is too slow for are counted`() {
    var bench = BlueZBench()
    bench.start()
    bench.handle(.closed(.first))
    bench.handle(.opened(.first, acknowledgesEvents: true))
    bench.connect()
    bench.subscribe()
    bench.reply(to: "StartNotify")
    let count = BlueZLimits.unhandledEventCountMax + 100
    for _ in 0..<count { bench.notify([1]) }
    let delivered = bench.takeEvents().values.count
    bench.handle(.handled(.first, count: count))
    bench.notify([2])
    let events = bench.takeEvents()
    #expect(
      events == [
        .valuesDropped(.peer, handle: 0x0C, count: count - delivered),
        .valueUpdated(.peer, handle: 0x0C, [2]),
      ])
  }

  @Test func `Subscriptions end with the link, in bluetoothd too`() {
    var bench = connected()
    bench.subscribe()
    bench.reply(to: "StartNotify")
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(bench.count(of: "StopNotify") == 1)
    bench.events = [:]
    bench.notify([1])
    #expect(bench.takeEvents() == [])
  }

  @Test func `Removed services and new ones are changes that clients hear of`() {
    var bench = connected()
    bench.remove(servicePath, BusName.service)
    #expect(bench.takeEvents() == [.servicesChanged(.peer, HandleRange(0x0A, 0xFFFF))])
    bench.add(
      devicePath + "/service0020", BusName.service,
      ["UUID": .string("0000180f-0000-1000-8000-00805f9b34fb"), "Primary": .boolean(true)])
    #expect(bench.takeEvents() == [.servicesChanged(.peer, HandleRange(0x20, 0xFFFF))])
  }

  @Test func `A late reply to an operation of an earlier link completes nothing`() {
    var bench = connected()
    bench.gatt(.read(0x0C), token: 1)
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(bench.takeEvents().result(1) == .failure(.disconnected(.unspecifiedError)))
    bench.request(.connect(.peer, ConnectOptions()))
    bench.changeDevice(["Connected": .boolean(true)])
    bench.gatt(.read(0x0C), token: 2)
    bench.reply(to: "ReadValue", [.bytes([1])])
    #expect(bench.takeEvents().result(2) == nil)
    bench.reply(to: "ReadValue", [.bytes([2])])
    #expect(bench.takeEvents().result(2) == .success(.value([2])))
  }

  @Test func `Requests without a link fail, and each is completed once`() {
    var bench = BlueZBench()
    bench.start()
    bench.gatt(.read(0x0C), token: 1)
    #expect(bench.takeEvents() == [.completed(RequestToken(rawValue: 1), .failure(.notConnected))])
  }
}
