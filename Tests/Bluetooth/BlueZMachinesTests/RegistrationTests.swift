import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Services and advertisements that bluetoothd releases, or refuses to take again.
struct RegistrationTests {
  private static let one = RequestToken(rawValue: 1)
  private static let objects: [BusValue] = [
    .objects([adapterPath: [BusName.adapter: BlueZBench.adapterValues]])
  ]

  /// A client with a service.
  private func serving() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    let value = CharacteristicDefinition(
      uuid: 0x2A37, properties: [.read], permissions: .readable, value: [1])
    bench.request(
      .addService(ServiceDefinition(uuid: 0x180D, characteristics: [value]), Self.one))
    let root = BlueZMachine.serviceRoot + "1"
    for (path, interface, handle) in [
      (root + "/service", BusName.service, 0x20 as UInt16),
      (root + "/service/char0000", BusName.characteristic, 0x22),
    ] {
      bench.call(
        path, BusName.properties, "Set",
        [.string(interface), .string("Handle"), .uint16(handle)])
    }
    bench.reply(to: "RegisterApplication")
    _ = bench.takeEvents()
    return bench
  }

  private func advertising() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    bench.request(.startAdvertising(AdvertisingOptions(), Self.one))
    bench.reply(to: "RegisterAdvertisement")
    _ = bench.takeEvents()
    return bench
  }

  /// bluetoothd ends and comes back.
  private func restart(_ bench: inout BlueZBench) {
    bench.ownerChanged(to: "")
    // Its calls get no reply.
    bench.calls = []
    bench.ownerChanged(to: daemon)
    bench.reply(to: "GetManagedObjects", Self.objects)
    _ = bench.takeEvents()
  }

  @Test func `An advertisement that bluetoothd releases is registered again`() {
    var bench = advertising()
    let path = BlueZMachine.advertisementRoot + "1"
    bench.call(path, BusName.advertisement, "Release")
    #expect(bench.calls.isEmpty)
    bench.advance(by: .seconds(1))
    #expect(bench.count(of: "RegisterAdvertisement") == 1)
    // Meanwhile, another client has all instances.
    bench.refuse("RegisterAdvertisement", "org.bluez.Error.NotPermitted")
    for _ in 0..<3 {
      bench.advance(by: .seconds(8))
      bench.refuse("RegisterAdvertisement", "org.bluez.Error.NotPermitted")
    }
    #expect(bench.warnings.count == 1)
    #expect(
      bench.machine.snapshot.refusals == [
        "bluetoothd does not take an advertisement again: org.bluez.Error.NotPermitted."
      ])
    bench.advance(by: .seconds(8))
    bench.reply(to: "RegisterAdvertisement")
    #expect(bench.machine.snapshot.refusals == [])
    bench.advance(by: .seconds(100))
    #expect(bench.calls.isEmpty)
    bench.request(.stopAdvertising)
    #expect(bench.count(of: "UnregisterAdvertisement") == 1)
  }

  @Test func `A service that can't be resumed at first is tried again`() {
    var bench = serving()
    restart(&bench)
    bench.refuse("RegisterApplication", "org.bluez.Error.Failed")
    bench.reply(to: "UnregisterApplication")
    #expect(bench.warnings.count == 1)
    bench.advance(by: .seconds(1))
    bench.reply(to: "RegisterApplication")
    #expect(bench.machine.services[BlueZMachine.serviceRoot + "1"]?.phase == .registered)
  }

  @Test
  func `A client whose service is always refused is reset, and gets the error of the next one`() {
    var bench = serving()
    bench.handle(.opened(.second, acknowledgesEvents: false))
    restart(&bench)
    _ = bench.takeEvents(of: .second)
    for _ in 1..<BlueZLimits.registrationCountMax {
      bench.refuse("RegisterApplication", "org.bluez.Error.Failed", "No room.")
      bench.reply(to: "UnregisterApplication")
      #expect(bench.takeEvents() == [])
      bench.advance(by: .seconds(8))
    }
    bench.refuse("RegisterApplication", "org.bluez.Error.Failed", "No room.")
    #expect(bench.takeEvents() == [.stateChanged(.resetting), .stateChanged(.poweredOn)])
    #expect(bench.takeEvents(of: .second) == [])
    #expect(bench.machine.services.isEmpty)
    #expect(bench.warnings.count == 2)
    #expect(bench.warnings.last?.hasSuffix("reset: No room (org.bluez.Error.Failed).") == true)
    bench.reply(to: "UnregisterApplication")
    bench.advance(by: .seconds(100))
    #expect(bench.calls.isEmpty)
    // As an app does when the radio is on again.
    bench.request(.addService(ServiceDefinition(uuid: 0x180D), RequestToken(rawValue: 2)))
    bench.refuse("RegisterApplication", "org.bluez.Error.Failed", "No room.")
    let error = HostError.transport(
      "bluetoothd takes no service: No room (org.bluez.Error.Failed).")
    #expect(bench.takeEvents().result(2) == .failure(error))
  }

  @Test func `A client whose advertisement is always refused is reset`() {
    var bench = advertising()
    restart(&bench)
    for _ in 0..<BlueZLimits.registrationCountMax {
      #expect(bench.takeEvents() == [])
      bench.refuse(
        "RegisterAdvertisement", "org.bluez.Error.NotPermitted", "Maximum advertisements")
      bench.advance(by: .seconds(8))
    }
    #expect(bench.takeEvents() == [.stateChanged(.resetting), .stateChanged(.poweredOn)])
    #expect(bench.machine.advertisements.isEmpty)
    #expect(bench.calls.isEmpty)
  }

  @Test func `A new bluetoothd has all attempts again`() {
    var bench = advertising()
    restart(&bench)
    for _ in 0..<3 {
      for _ in 1..<BlueZLimits.registrationCountMax {
        bench.refuse("RegisterAdvertisement", "org.bluez.Error.NotPermitted")
        bench.advance(by: .seconds(8))
      }
      restart(&bench)
    }
    #expect(bench.machine.advertisements.count == 1)
    #expect(bench.count(of: "RegisterAdvertisement") == 1)
  }

  @Test
  func
    `A discovery that is refused for ever is logged now and then, and is in the report of the state`()
  {
    var bench = BlueZBench()
    bench.start()
    bench.request(.startScan(ScanOptions()))
    for _ in 0..<BlueZLimits.loggedFailureCount + 10 {
      bench.refuse("SetDiscoveryFilter", BlueZErrorName.notReady, "Resource Not Ready")
      bench.advance(by: .seconds(8))
    }
    #expect(bench.warnings.count == 2)
    #expect(
      bench.machine.snapshot.refusals == [
        "bluetoothd does not start a discovery: Resource Not Ready (org.bluez.Error.NotReady)."
      ])
    bench.reply(to: "SetDiscoveryFilter")
    bench.reply(to: "StartDiscovery")
    #expect(bench.machine.snapshot.refusals == [])
  }

  @Test func `Refusals of a discovery end with the adapter that refused it`() {
    var bench = BlueZBench()
    bench.start()
    bench.request(.startScan(ScanOptions()))
    for _ in 0..<BlueZLimits.pauses.count {
      bench.refuse("SetDiscoveryFilter", BlueZErrorName.notReady, "Resource Not Ready")
      bench.advance(by: .seconds(8))
    }
    #expect(bench.machine.snapshot.refusals.count == 1)
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(false)])
    bench.request(.stopScan)
    bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(true)])
    #expect(bench.machine.snapshot.refusals == [])
  }

  @Test
  func `A connection that bluetoothd always refuses is logged, and one to an absent device is not`()
  {
    for (message, count) in [("le-connection-abort-by-local", 0), ("Input/output error", 1)] {
      var bench = BlueZBench()
      bench.start()
      bench.startScan()
      bench.hear()
      _ = bench.takeEvents()
      bench.request(.connect(.peer, ConnectOptions()))
      for _ in 0..<20 {
        bench.refuse("Connect", "org.bluez.Error.Failed", message)
        bench.advance(by: .seconds(8))
      }
      #expect(bench.warnings.count == count)
      #expect(bench.takeEvents() == [])
    }
  }
}
