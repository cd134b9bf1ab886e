import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Services of this program, which bluetoothd reads and calls.
struct ServerTests {
  private static let one = RequestToken(rawValue: 1)
  private static let root = BlueZMachine.serviceRoot + "1"
  private static let service = root + "/service"
  private static let value = service + "/char0000"
  private static let fixed = service + "/char0001"
  private static let device: BusValue = .path(devicePath)

  private static func definition(
    _ properties: CharacteristicProperties = [.read, .write, .notify]
  ) -> ServiceDefinition {
    ServiceDefinition(
      uuid: BluetoothUUID(0x180D),
      characteristics: [
        CharacteristicDefinition(
          uuid: BluetoothUUID(0x2A37), properties: properties,
          permissions: [.readable, .writeable],
          descriptors: [DescriptorDefinition(uuid: BluetoothUUID(0x2901), value: [0x61, 0x62])]),
        CharacteristicDefinition(
          uuid: BluetoothUUID(0x2A38), properties: .read, permissions: .readable, value: [1, 2, 3]),
      ])
  }

  /// A radio with a device that has connected as a central, and a published service.
  private func published(
    _ properties: CharacteristicProperties = [.read, .write, .notify]
  ) -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    bench.hear()
    bench.changeDevice(["Connected": .boolean(true)])
    bench.handle(
      .connections([
        ControllerConnection(handle: 1, addressBits: DeviceAddress.peer.bits, isCentral: false)
      ]))
    bench.request(.addService(Self.definition(properties), Self.one))
    choose(&bench)
    bench.reply(to: "RegisterApplication")
    return bench
  }

  /// bluetoothd sets the handles that it has chosen.
  private func choose(_ bench: inout BlueZBench) {
    for (path, interface, handle) in [
      (Self.service, BusName.service, 0x20 as UInt16),
      (Self.value, BusName.characteristic, 0x22), (Self.fixed, BusName.characteristic, 0x26),
    ] {
      bench.call(
        path, BusName.properties, "Set",
        [.string(interface), .string("Handle"), .uint16(handle)])
    }
  }

  @Test func `A service has the handles that bluetoothd has chosen`() {
    var bench = published()
    #expect(
      bench.takeEvents().result(1)
        == .success(
          .published(
            PublishedService(
              range: HandleRange(0x20, 0x26),
              characteristics: [
                PublishedCharacteristic(valueHandle: 0x22, configurationHandle: 0x23),
                PublishedCharacteristic(valueHandle: 0x26, configurationHandle: nil),
              ]))))
    let objects = bench.call(Self.root, BusName.objectManager, "GetManagedObjects")
    guard case .success(let values)? = bench.answers[objects], let all = values.first?.objects
    else {
      Issue.record("bluetoothd gets no objects")
      return
    }
    #expect(
      all.keys.sorted() == [
        Self.service, Self.value, Self.value + "/desc0000", Self.fixed,
      ])
    #expect(
      all[Self.value]?[BusName.characteristic]?["Flags"] == .strings(["read", "write", "notify"]))
    // Where bluetoothd comes back, the same handles are wanted.
    #expect(all[Self.value]?[BusName.characteristic]?["Handle"] == .uint16(0x22))
  }

  @Test func `A service without handles is an error, and is taken back`() {
    var bench = BlueZBench()
    bench.start()
    bench.request(.addService(Self.definition(), Self.one))
    bench.reply(to: "RegisterApplication")
    guard case .failure(.transport)? = bench.takeEvents().result(1) else {
      Issue.record("published")
      return
    }
    #expect(bench.call("UnregisterApplication")?.arguments == [.path(Self.root)])
  }

  @Test func `Security is in the flags that bluetoothd knows`() {
    let secret = CharacteristicDefinition(
      uuid: BluetoothUUID(0x2A37), properties: [.read, .write, .writeWithoutResponse, .indicate],
      permissions: [.readEncryptionRequired, .writeAuthenticationRequired],
      subscribingRequiresEncryption: true)
    #expect(
      secret.flags == [
        "encrypt-read", "encrypt-authenticated-write", "write-without-response", "encrypt-indicate",
      ])
  }

  @Test func `A read goes to the client with its offset and its device, and the answer back`() {
    var bench = published()
    _ = bench.takeEvents()
    let call = bench.call(
      Self.value, BusName.characteristic, "ReadValue",
      [.properties(["device": Self.device, "offset": .uint16(5), "mtu": .uint16(185)])])
    guard case .serverRequest(let request)? = bench.takeEvents().last else {
      Issue.record("no request")
      return
    }
    #expect(request.peer == .peer)
    #expect(request.kind == .read(handle: 0x22, offset: 5))
    #expect(bench.machine.links[.peer]?.info.mtu == 185)
    #expect(bench.answers[call] == nil)
    // Another client can't answer.
    bench.handle(.opened(.second, acknowledgesEvents: false))
    bench.request(.respond(request.id, .success([9])), of: .second)
    #expect(bench.answers[call] == nil)
    bench.request(.respond(request.id, .success([7, 8])))
    #expect(bench.answers[call] == .success([.bytes([7, 8])]))
  }

  @Test func `Fixed values and descriptors are answered without the client`() {
    var bench = published()
    _ = bench.takeEvents()
    for (path, interface, offset, expected) in [
      (Self.fixed, BusName.characteristic, 0, [1, 2, 3]),
      (Self.fixed, BusName.characteristic, 3, []),
      (Self.value + "/desc0000", BusName.descriptor, 1, [0x62]),
    ] as [(String, String, UInt16, [UInt8])] {
      let call = bench.call(
        path, interface, "ReadValue",
        [.properties(["device": Self.device, "offset": .uint16(offset)])])
      #expect(bench.answers[call] == .success([.bytes(expected)]))
    }
    let beyond = bench.call(
      Self.fixed, BusName.characteristic, "ReadValue", [.properties(["offset": .uint16(4)])])
    #expect(bench.answers[beyond] == .failure(ATTErrorCode.invalidOffset.busError))
    #expect(bench.takeEvents() == [])
  }

  @Test func `Errors of a client are codes that bluetoothd passes on`() {
    for (code, name, message) in [
      (ATTErrorCode(rawValue: 0x85), "org.bluez.Error.Failed", "0x85"),
      (.invalidOffset, "org.bluez.Error.InvalidOffset", "invalid offset"),
      (.writeNotPermitted, "org.bluez.Error.NotPermitted", "not permitted"),
    ] {
      var bench = published()
      let call = bench.call(
        Self.value, BusName.characteristic, "WriteValue",
        [.bytes([1]), .properties(["device": Self.device])])
      guard case .serverRequest(let request)? = bench.takeEvents().last else {
        Issue.record("no request")
        return
      }
      #expect(
        request.kind
          == .write([ServerRequest.Write(handle: 0x22, offset: 0, value: [1])]))
      bench.request(.respond(request.id, .failure(code)))
      #expect(bench.answers[call] == .failure(BusError(name, message)))
    }
  }

  @Test func `A write to a value that takes commands has its answer at once`() {
    var bench = published([.write, .writeWithoutResponse])
    let call = bench.call(
      Self.value, BusName.characteristic, "WriteValue",
      [.bytes([1]), .properties(["device": Self.device])])
    #expect(bench.answers[call] == .success([]))
    guard case .serverRequest(let request)? = bench.takeEvents().last else {
      Issue.record("no request")
      return
    }
    #expect(!request.needsResponse)
  }

  @Test func `A request that its client does not answer has an error before bluetoothd's limit`() {
    var bench = published()
    let call = bench.call(
      Self.value, BusName.characteristic, "ReadValue", [.properties(["device": Self.device])])
    _ = bench.takeEvents()
    bench.advance(by: .milliseconds(4_500))
    #expect(bench.answers[call] == .failure(ATTErrorCode.unlikelyError.busError))
    #expect(bench.takeEvents() == [.requestsExpired(.peer, handle: 0x22, count: 1)])
  }

  @Test func `A peer's commands that a client is too slow for are counted`() {
    var bench = BlueZBench()
    bench.start()
    bench.handle(.closed(.first))
    bench.handle(.opened(.first, acknowledgesEvents: true))
    bench.hear()
    bench.changeDevice(["Connected": .boolean(true)])
    bench.request(.addService(Self.definition([.writeWithoutResponse]), Self.one))
    choose(&bench)
    bench.reply(to: "RegisterApplication")
    func write(_ bench: inout BlueZBench) {
      bench.call(
        Self.value, BusName.characteristic, "WriteValue",
        [.bytes([1]), .properties(["device": Self.device])])
    }
    for _ in 0..<BlueZLimits.unhandledEventCountMax + 50 { write(&bench) }
    let delivered = bench.takeEvents().count {
      if case .serverRequest = $0 { true } else { false }
    }
    bench.handle(.handled(.first, count: BlueZLimits.unhandledEventCountMax))
    write(&bench)
    #expect(
      bench.takeEvents().first
        == .writesDropped(
          .peer, handle: 0x22, count: BlueZLimits.unhandledEventCountMax + 50 - delivered))
  }

  // MARK: Subscribers

  @Test func `A subscriber is the device that is connected as a central`() {
    var bench = published()
    _ = bench.takeEvents()
    bench.call(Self.value, BusName.characteristic, "StartNotify")
    #expect(bench.takeEvents() == [.subscribed(.peer, handle: 0x22)])
    bench.request(.updateValue(handle: 0x22, [4], peers: nil, RequestToken(rawValue: 2)))
    #expect(bench.signals.last?.destination == daemon)
    #expect(bench.signals.last?.path == Self.value)
    #expect(
      bench.signals.last?.arguments[1] == .properties(["Value": .bytes([4])]))
    bench.reply(to: "Ping")
    #expect(bench.takeEvents().result(2) == .success(.done))
    bench.call(Self.value, BusName.characteristic, "StopNotify")
    #expect(bench.takeEvents() == [.unsubscribed(.peer, handle: 0x22)])
  }

  @Test func `Two connected centrals are both subscribers, and get one signal, until each is gone`()
  {
    var bench = published()
    let second = DeviceAddress(bits: 0xC011_2233_4466, kind: .random)
    let values: [String: BusValue] = [
      "Address": .string(second.description), "Connected": .boolean(true),
    ]
    bench.add(
      adapterPath + "/dev_C0_11_22_33_44_66", BusName.device,
      BlueZBench.deviceValues.merging(values) { $1 })
    let addresses = [DeviceAddress.peer, second]
    bench.handle(
      .connections(
        zip(1..., addresses).map {
          ControllerConnection(handle: $0, addressBits: $1.bits, isCentral: false)
        }))
    _ = bench.takeEvents()
    // bluetoothd 5.66 calls it for each of them, without a device.
    for _ in addresses { bench.call(Self.value, BusName.characteristic, "StartNotify") }
    #expect(bench.takeEvents() == addresses.map { .subscribed($0, handle: 0x22) })
    let signalCount = bench.signals.count
    bench.request(.updateValue(handle: 0x22, [4], peers: nil, RequestToken(rawValue: 2)))
    #expect(bench.signals.count == signalCount + 1)
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(bench.takeEvents().contains(.unsubscribed(.peer, handle: 0x22)))
    bench.call(Self.value, BusName.characteristic, "StopNotify")
    #expect(bench.takeEvents() == [.unsubscribed(second, handle: 0x22)])
  }

  @Test func `A subscription ends with its link`() {
    var bench = published()
    bench.call(Self.value, BusName.characteristic, "StartNotify")
    _ = bench.takeEvents()
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(bench.takeEvents().contains(.unsubscribed(.peer, handle: 0x22)))
  }

  @Test func `An indication is done when it is confirmed, and fails after thirty seconds`() {
    var bench = published([.indicate])
    bench.call(Self.value, BusName.characteristic, "StartNotify")
    for token in [2, 3] as [UInt64] {
      bench.request(.updateValue(handle: 0x22, [4], peers: nil, RequestToken(rawValue: token)))
    }
    #expect(bench.takeEvents().result(2) == nil)
    bench.call(Self.value, BusName.characteristic, "Confirm")
    #expect(bench.takeEvents() == [.completed(RequestToken(rawValue: 2), .success(.done))])
    bench.advance(by: .seconds(30))
    #expect(bench.takeEvents().result(3) == .failure(.attTimeout))
  }

  @Test func `A value for some of the subscribers is not supported`() {
    var bench = published()
    bench.call(Self.value, BusName.characteristic, "StartNotify")
    bench.request(.updateValue(handle: 0x22, [4], peers: [], RequestToken(rawValue: 2)))
    guard case .failure(.unsupported)? = bench.takeEvents().result(2) else {
      Issue.record("sent to all")
      return
    }
    #expect(bench.signals.isEmpty)
  }

  // MARK: The end

  @Test func `A bluetoothd that comes back gets the service anew, with its handles`() {
    var bench = published()
    let call = bench.call(
      Self.value, BusName.characteristic, "ReadValue", [.properties(["device": Self.device])])
    bench.ownerChanged(to: "")
    #expect(bench.answers[call] == .failure(ATTErrorCode.unlikelyError.busError))
    bench.ownerChanged(to: daemon)
    bench.reply(
      to: "GetManagedObjects",
      [.objects([adapterPath: [BusName.adapter: BlueZBench.adapterValues]])])
    #expect(bench.count(of: "RegisterApplication") == 1)
    bench.reply(to: "RegisterApplication")
    #expect(bench.machine.services[Self.root]?.phase == .registered)
  }

  @Test func `An adapter that is plugged in again gets services and advertisements anew`() {
    var bench = published()
    bench.request(.startAdvertising(AdvertisingOptions(), RequestToken(rawValue: 2)))
    bench.reply(to: "RegisterAdvertisement")
    bench.remove(adapterPath, BusName.adapter)
    bench.add(adapterPath, BusName.adapter, BlueZBench.adapterValues)
    #expect(bench.count(of: "RegisterApplication") == 1)
    #expect(bench.count(of: "RegisterAdvertisement") == 1)
  }

  @Test func `A session that closes takes its services back, and answers for them`() {
    var bench = published()
    let call = bench.call(
      Self.value, BusName.characteristic, "ReadValue", [.properties(["device": Self.device])])
    bench.handle(.closed(.first))
    #expect(bench.answers[call] == .failure(ATTErrorCode.unlikelyError.busError))
    #expect(bench.count(of: "UnregisterApplication") == 1)
    #expect(bench.machine.services.isEmpty)
  }

  @Test func `A service that is removed before it is registered is cancelled`() {
    var bench = BlueZBench()
    bench.start()
    bench.request(.addService(Self.definition(), Self.one))
    bench.request(.removeAllServices)
    #expect(bench.takeEvents().result(1) == .failure(.cancelled))
    bench.reply(to: "RegisterApplication")
    #expect(bench.takeEvents() == [])
  }

  @Test func `What bluetoothd can't serve is refused`() {
    var bench = BlueZBench()
    bench.start()
    var included = Self.definition()
    included.includedServices = [1]
    bench.request(.addService(included, Self.one))
    guard case .failure(.unsupported)? = bench.takeEvents().result(1) else {
      Issue.record("included")
      return
    }
    bench.request(.addService(Self.definition([]), RequestToken(rawValue: 2)))
    guard case .failure(.invalidArgument)? = bench.takeEvents().result(2) else {
      Issue.record("published without a property")
      return
    }
    #expect(bench.calls.isEmpty)
  }
}
