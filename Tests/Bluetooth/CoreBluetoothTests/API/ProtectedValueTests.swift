import BluetoothHost
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import CoreBluetooth
import Essentials
import SimulatedRadio
import Testing

/// What Core Bluetooth promises of protected values: both sides pair by themselves.
@Suite("§9.10 Values that need encryption")
struct ProtectedValueTests {
  /// A gadget with a value that only an encrypted link reads, writes or subscribes to, and the phone
  /// that has found it.
  private struct Protected {
    let pair: Pair
    let peripheral: CBPeripheral
    let value: CBCharacteristic
    let served: CBMutableCharacteristic

    init(
      phonePolicy: PairingPolicy = .automatic, gadgetConfiguration: HostConfiguration? = nil
    ) throws {
      pair = Pair(phonePolicy: phonePolicy, gadgetConfiguration: gadgetConfiguration)
      served = CBMutableCharacteristic(
        type: CBUUID(string: "0001"), properties: [.read, .write, .notifyEncryptionRequired],
        value: nil, permissions: [.readEncryptionRequired, .writeEncryptionRequired])
      let secret = CBMutableService(type: CBUUID(string: "1234"), primary: true)
      secret.characteristics = [served]
      pair.manager.add(secret)
      pair.gadget.answer = { manager, requests in
        requests[0].value = Data("secret".utf8)
        manager.respond(to: requests[0], withResult: .success)
      }
      peripheral = try pair.connect()
      value = try Self.discover(pair, peripheral)
    }

    static func discover(_ pair: Pair, _ peripheral: CBPeripheral) throws -> CBCharacteristic {
      peripheral.discoverServices([CBUUID(string: "1234")])
      pair.wait(pair.phone.record, for: "services ok")
      let service = try #require(peripheral.services?.first)
      peripheral.discoverCharacteristics(nil, for: service)
      pair.wait(pair.phone.record, for: "characteristics 1234 ok")
      return try #require(service.characteristics?.first)
    }
  }

  @Test("reading pairs by LE Secure Connections, and the value comes without an error")
  func read() async throws {
    let setup = try Protected()
    setup.peripheral.readValue(for: setup.value)
    let isRead = setup.pair.radio.advance(within: .seconds(10)) { setup.value.value != nil }
    #expect(isRead, "\(setup.pair.phone.record.lines)")
    #expect(setup.value.value == Data("secret".utf8))
    #expect(setup.pair.phone.record.lines.allSatisfy { $0.hasSuffix("ok") })
    setup.pair.radio.advance(by: .seconds(1))
    let snapshot = await setup.pair.phoneHost.snapshot()
    #expect(snapshot.links.first?.encryption?.isSecureConnections == true)
    #expect(snapshot.bondCount == 1 && snapshot.pairingCount == 1)
  }

  @Test("writing and subscribing pair, too, and later operations keep their place")
  func writeAndSubscribe() throws {
    let setup = try Protected()
    setup.peripheral.setNotifyValue(true, for: setup.value)
    setup.peripheral.writeValue(Data([1]), for: setup.value, type: .withResponse)
    setup.peripheral.readValue(for: setup.value)
    let isRead = setup.pair.radio.advance(within: .seconds(10)) {
      setup.pair.phone.record.lines.count >= 3
    }
    #expect(isRead)
    let lines = setup.pair.phone.record.lines
    #expect(lines.count == 3 && lines.allSatisfy { $0.hasSuffix("ok") }, "\(lines)")
    #expect(setup.value.isNotifying)
    #expect(setup.pair.manager.updateValue(Data([9]), for: setup.served, onSubscribedCentrals: nil))
    let isNotified = setup.pair.radio.advance(within: .seconds(5)) {
      setup.value.value == Data([9])
    }
    #expect(isNotified)
  }

  @Test("an app whose user forbids pairing gets the peer's error, and the link goes on")
  func forbidden() throws {
    let setup = try Protected(phonePolicy: .never)
    setup.peripheral.readValue(for: setup.value)
    let isRefused = setup.pair.radio.advance(within: .seconds(10)) {
      setup.pair.phone.record.lines.contains { $0.hasPrefix("value 0001 nil att insufficient") }
    }
    #expect(isRefused, "\(setup.pair.phone.record.lines)")
    #expect(setup.pair.gadget.reads.isEmpty)
    #expect(setup.peripheral.state == .connected)
  }

  @Test(
    "a bonded gadget that lost its keys: peerRemovedPairingInformation, until the bond is removed here"
  )
  func lostKeys() throws {
    let setup = try Protected()
    setup.peripheral.readValue(for: setup.value)
    _ = setup.pair.radio.advance(within: .seconds(10)) { setup.value.value != nil }
    setup.pair.radio.advance(by: .seconds(1))
    let token = RequestToken(rawValue: 1)
    let gadget = setup.pair.gadgetHost.makeClient { _ in }
    let phone = DeviceAddress(bits: 0xA0B1_0000_0001, kind: .public)
    gadget.send(.removeBond(phone, token))
    setup.pair.radio.advance(by: .seconds(1))
    setup.pair.central.cancelPeripheralConnection(setup.peripheral)
    setup.pair.radio.advance(by: .seconds(2))
    setup.pair.phone.record.clear()
    setup.pair.central.connect(setup.peripheral)
    setup.pair.wait(setup.pair.phone.record, for: "disconnected peerRemovedPairingInformation")
    let owner = setup.pair.phoneHost.makeClient { _ in }
    let address = DeviceAddress(bits: 0x0000_5E00_5302, kind: .public)
    owner.send(.removeBond(address, token))
    setup.pair.radio.advance(by: .seconds(1))
    setup.pair.central.connect(setup.peripheral)
    setup.pair.wait(setup.pair.phone.record, for: "connected")
    let value = try Protected.discover(setup.pair, setup.peripheral)
    setup.peripheral.readValue(for: value)
    let isRead = setup.pair.radio.advance(within: .seconds(10)) {
      value.value == Data("secret".utf8)
    }
    #expect(isRead)
  }

  @Test("a bonded gadget keeps its identifier whatever address it has, and others see it change")
  func identifierAcrossAddresses() throws {
    var configuration = HostConfiguration()
    configuration.usesPrivateAddress = true
    configuration.privateAddressInterval = .seconds(20)
    let setup = try Protected(gadgetConfiguration: configuration)
    let pair = setup.pair
    let identifier = setup.peripheral.identifier
    setup.peripheral.readValue(for: setup.value)
    let isRead = pair.radio.advance(within: .seconds(10)) { setup.value.value != nil }
    #expect(isRead)
    pair.radio.advance(by: .seconds(1))
    pair.central.cancelPeripheralConnection(setup.peripheral)
    pair.wait(pair.phone.record, for: "disconnected ok")
    // A central that was not paired with the gadget, at the same position.
    let strangerHost = pair.radio.makeHost(name: "stranger")
    let stranger = CentralRecorder()
    let strangersCentral = BluetoothHost.$current.withValue(strangerHost) {
      CBCentralManager(delegate: stranger, queue: DispatchQueue(label: "stranger"))
    }
    pair.radio.advance(by: .seconds(1))
    let options = [CBCentralManagerScanOptionAllowDuplicatesKey: true]
    pair.central.scanForPeripherals(withServices: nil, options: options)
    strangersCentral.scanForPeripherals(withServices: nil, options: options)
    pair.radio.advance(by: .seconds(90))
    pair.central.stopScan()
    strangersCentral.stopScan()
    let seen = Set(pair.phone.peripherals.map(\.identifier))
    #expect(seen == [identifier])
    #expect(Set(stranger.peripherals.map(\.identifier)).count >= 4)
    #expect(pair.central.retrievePeripherals(withIdentifiers: [identifier]).count == 1)
    // At an address that it had never had when it was paired with.
    let again = try #require(pair.central.retrievePeripherals(withIdentifiers: [identifier]).first)
    pair.phone.record.clear()
    pair.central.connect(again)
    pair.wait(pair.phone.record, for: "connected")
    #expect(again.identifier == identifier)
    let value = try Protected.discover(pair, again)
    again.readValue(for: value)
    let isReadAgain = pair.radio.advance(within: .seconds(10)) {
      value.value == Data("secret".utf8)
    }
    #expect(isReadAgain)
  }
}
