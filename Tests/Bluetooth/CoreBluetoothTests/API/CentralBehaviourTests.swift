import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Essentials
import SimulatedRadio
import Simulation
import Testing

@testable import CoreBluetooth

// What Apple's headers and documentation promise and apps rely on, by the numbers of the
// compatibility checklist; §9.12 to §9.17 are in `PeripheralBehaviourTests`.

/// Writes down on which queue it is called.
private final class QueueWatcher: NSObject, CBCentralManagerDelegate, Sendable {
  static let key = DispatchSpecificKey<String>()
  let record = Record()
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    record.add(DispatchQueue.getSpecific(key: Self.key) ?? "?")
  }
}

@Suite("Promised behaviour of a central")
struct CentralBehaviourTests {
  @Test("§9.1 below poweredOn scans and links end; another controller makes peripherals invalid")
  func states() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connected()
    fixture.manager.scanForPeripherals(withServices: nil)
    fixture.host.deliver(.stateChanged(.poweredOff), .stateChanged(.poweredOn))
    #expect(!fixture.manager.isScanning)
    #expect(
      fixture.record.take() == [
        "state poweredOff", "disconnected peripheralDisconnected", "state poweredOn",
      ])
    fixture.manager.connect(peripheral)
    fixture.host.deliver(.connected(.strap))
    #expect(fixture.record.take() == ["connected"])

    fixture.host.deliver(.stateChanged(.resetting))
    #expect(fixture.record.take() == ["state resetting", "disconnected peripheralDisconnected"])
    #expect(peripheral.state == .disconnected)
    fixture.host.deliver(.stateChanged(.poweredOn))
    fixture.record.clear()
    let sent = fixture.host.requests.count
    fixture.manager.connect(peripheral)
    fixture.manager.cancelPeripheralConnection(peripheral)
    fixture.host.settle()
    #expect(fixture.host.requests.count == sent)
    #expect(fixture.record.take() == ["failed unknownDevice"])
    #expect(peripheral.state == .disconnected)
    let anew = try #require(fixture.manager.retrievePeripherals(withIdentifiers: [.strap]).first)
    #expect(anew !== peripheral)
    fixture.manager.connect(anew)
    fixture.host.deliver(.connected(.strap))
    #expect(fixture.record.lines == ["connected"])
    #expect(anew.state == .connected)
    // The invalid object can't cancel the link of the one that replaced it.
    fixture.manager.cancelPeripheralConnection(peripheral)
    #expect(fixture.host.requests.last?.name == "connect")
    #expect(peripheral.state == .disconnected)
    #expect(anew.state == .connected)
  }

  @Test("§9.1 a peripheral that outlives its manager is disconnected")
  func outlivesManager() throws {
    let host = ScriptedHost()
    let peripheral: CBPeripheral
    do {
      let manager = CBCentralManager(
        delegate: nil, queue: DispatchQueue(label: "test"), host: host)
      host.deliver(.stateChanged(.poweredOn))
      peripheral = try #require(manager.retrievePeripherals(withIdentifiers: [.strap]).first)
      manager.connect(peripheral)
      host.deliver(.connected(.strap))
      #expect(peripheral.state == .connected)
    }
    #expect(host.isClosed)
    #expect(peripheral.state == .disconnected)
    peripheral.discoverServices(nil)
    #expect(host.requests.map(\.name) == ["connect"])
  }

  @Test("§9.2 the first state comes later, and on the queue that was given")
  func queue() {
    let radio = VirtualRadio(seed: 3)
    let watcher = QueueWatcher()
    let queue = DispatchQueue(label: "given")
    queue.setSpecific(key: QueueWatcher.key, value: "given")
    let manager = BluetoothHost.$current.withValue(radio.makeHost(name: "phone")) {
      queue.sync {
        let manager = CBCentralManager(delegate: watcher, queue: queue)
        #expect(watcher.record.lines.isEmpty)
        return manager
      }
    }
    radio.advance(by: .seconds(1))
    #expect(manager.state == .poweredOn)
    #expect(watcher.record.lines == ["given"])
  }

  @Test("§9.2 the main queue is used if no queue is given")
  func mainQueue() async {
    DispatchQueue.main.setSpecific(key: QueueWatcher.key, value: "main")
    let radio = VirtualRadio(seed: 3)
    let watcher = QueueWatcher()
    let manager = BluetoothHost.$current.withValue(radio.makeHost(name: "phone")) {
      CBCentralManager(delegate: watcher, queue: nil)
    }
    await MainActor.run { radio.advance(by: .seconds(1)) }
    withExtendedLifetime(manager) { #expect(watcher.record.lines == ["main"]) }
  }

  @Test("§9.3 a connection is waited for as long as it takes")
  func connectNeverTimesOut() throws {
    let radio = VirtualRadio(seed: 3)
    let phone = CentralRecorder()
    let central = BluetoothHost.$current.withValue(radio.makeHost(name: "phone")) {
      CBCentralManager(delegate: phone, queue: DispatchQueue(label: "phone"))
    }
    radio.advance(by: .seconds(1))
    let peripheral = try #require(
      central.retrievePeripherals(withIdentifiers: [PeerIdentifier.uuid(of: .phone)]).first)
    central.connect(peripheral)
    radio.advance(by: .seconds(3_600))
    #expect(phone.record.lines == ["state poweredOn"])
    #expect(peripheral.state == .connecting)
    let gadget = PeripheralManagerRecorder()
    let manager = BluetoothHost.$current.withValue(radio.makeHost(name: "late", address: .phone)) {
      CBPeripheralManager(delegate: gadget, queue: DispatchQueue(label: "late"))
    }
    radio.advance(by: .seconds(1))
    manager.startAdvertising(nil)
    #expect(radio.advance(within: .seconds(10)) { phone.record.lines.last == "connected" })
  }

  @Test("§9.3 a cancellation ends without error, and no call of the peripheral's delegate follows")
  func cancel() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    let reading = try pair.discover(peripheral)[0]
    peripheral.setNotifyValue(true, for: reading)
    pair.wait(pair.phone.record, for: "notifying true ok")
    peripheral.readValue(for: reading)
    pair.central.cancelPeripheralConnection(peripheral)
    pair.manager.updateValue(Data([1]), for: pair.reading, onSubscribedCentrals: nil)
    pair.radio.advance(by: .seconds(5))
    let end = try #require(pair.phone.record.lines.firstIndex(of: "disconnected ok"))
    #expect(end == pair.phone.record.lines.count - 1)
    #expect(peripheral.state == .disconnected)
    // A wish that never came true ends in the same way.
    pair.phone.record.clear()
    pair.manager.stopAdvertising()
    pair.central.connect(peripheral)
    pair.radio.advance(by: .seconds(5))
    pair.central.cancelPeripheralConnection(peripheral)
    pair.wait(pair.phone.record, for: "disconnected ok")
  }

  @Test("§9.4 dropping a peripheral cancels its pending connect and its link")
  func dropped() throws {
    let pair = Pair()
    let services = [CBUUID(string: "181A")]
    func retrieve() throws -> CBPeripheral {
      try #require(
        pair.central.retrievePeripherals(withIdentifiers: [pair.gadgetIdentifier]).first)
    }
    pair.manager.stopAdvertising()
    pair.radio.advance(by: .seconds(1))
    do { pair.central.connect(try retrieve()) }
    pair.manager.startAdvertising(nil)
    pair.radio.advance(by: .seconds(10))
    #expect(!pair.phone.record.lines.contains("connected"))

    do {
      let held = try retrieve()
      held.delegate = pair.phone
      pair.central.connect(held)
      pair.wait(pair.phone.record, for: "connected")
      _ = try pair.discover(held)
      #expect(pair.central.retrieveConnectedPeripherals(withServices: services) == [held])
    }
    pair.radio.advance(by: .seconds(5))
    #expect(pair.central.retrieveConnectedPeripherals(withServices: services).isEmpty)
  }

  @Test("a manager whose radio is on retrieves what another manager of the host is connected to")
  func retrievesWhenPoweredOn() throws {
    final class Retriever: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
      // Unchecked: written on the manager's queue, read after it has settled.
      var found: [[CBPeripheral]] = []
      var names: [String?] = []
      func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn else { return }
        let connected = central.retrieveConnectedPeripherals(
          withServices: [CBUUID(string: "181A")])
        found.append(connected)
        names += connected.map(\.name)
      }
    }
    let pair = Pair()
    let peripheral = try pair.connect()
    _ = try pair.discover(peripheral)
    let retriever = Retriever()
    let second = BluetoothHost.$current.withValue(pair.phoneHost) {
      CBCentralManager(delegate: retriever, queue: DispatchQueue(label: "second"))
    }
    pair.radio.advance(by: .seconds(1))
    #expect(retriever.found.map { $0.map(\.identifier) } == [[peripheral.identifier]])
    #expect(retriever.names == [peripheral.name])
    withExtendedLifetime(second) {}
  }

  @Test("§9.5 without duplicates a peripheral is reported as the same object when its data change")
  func duplicates() throws {
    let pair = Pair()
    pair.phone.record.clear()
    pair.central.scanForPeripherals(withServices: nil)
    pair.radio.advance(by: .seconds(30))
    let coalesced = pair.phone.record.take().filter { $0.hasPrefix("discovered") }
    #expect((1...2).contains(coalesced.count), "\(coalesced)")
    pair.manager.stopAdvertising()
    pair.manager.startAdvertising([CBAdvertisementDataLocalNameKey: "Renamed"])
    pair.radio.advance(by: .seconds(10))
    #expect(pair.phone.record.take().contains { $0.hasPrefix("discovered Renamed") })
    #expect(pair.phone.peripherals.count == 1)
    pair.central.scanForPeripherals(
      withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
    pair.radio.advance(by: .seconds(10))
    #expect(pair.phone.record.lines.count > 20)
    #expect(pair.phone.peripherals.count == 1)
    let known = pair.central.retrievePeripherals(withIdentifiers: [pair.gadgetIdentifier])
    #expect(known.first === pair.phone.peripherals.first)
  }

  @Test("§9.6 an identifier is the same in every run, and enough to connect again")
  func identifiers() throws {
    let identifiers = try [UInt64(5), 6].map { seed in
      let pair = Pair(seed: seed)
      let identifier = try pair.connect().identifier
      pair.phone.peripherals = []
      pair.radio.advance(by: .seconds(5))
      let again = try #require(
        pair.central.retrievePeripherals(withIdentifiers: [identifier]).first)
      pair.central.connect(again)
      pair.wait(pair.phone.record, for: "connected")
      return identifier
    }
    #expect(identifiers[0] == identifiers[1])
  }

  @Test("§9.7 the attributes are nil before discovery, merged by filters, void after modification")
  func discovery() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    #expect(peripheral.services == nil)
    peripheral.discoverServices([CBUUID(string: "181A")])
    pair.wait(pair.phone.record, for: "services ok")
    let service = try #require(peripheral.services?.first)
    #expect(service.characteristics == nil)
    for uuid in ["2A6F", "2A6E"] {
      peripheral.discoverCharacteristics([CBUUID(string: uuid)], for: service)
      pair.wait(pair.phone.record, for: "characteristics 181A ok")
    }
    let found = try #require(service.characteristics)
    #expect(found.map(\.uuid.uuidString) == ["2A6E", "2A6F"])
    #expect(found[0].descriptors == nil)
    pair.radio.advance(by: .seconds(10))
    pair.manager.remove(pair.service)
    pair.wait(pair.phone.record, for: "modified [\"181A\"]")
    peripheral.readValue(for: found[0])
    pair.wait(pair.phone.record, for: "value 2A6E nil invalidHandle")
  }

  @Test("§9.7 the services that the system uses itself are not found, unless asked for specially")
  func systemServices() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    peripheral.discoverServices(nil)
    pair.wait(pair.phone.record, for: "services ok")
    #expect(peripheral.services?.map(\.uuid.uuidString) == ["181A"])
    peripheral.discoverServices([CBUUID(string: "1800")])
    pair.wait(pair.phone.record, for: "services ok")
    #expect(peripheral.services?.map(\.uuid.uuidString) == ["181A"])

    let tool = CentralRecorder()
    let central = CBCentralManager(
      delegate: tool, queue: DispatchQueue(label: "tool"), host: pair.phoneHost,
      showsSystemServices: true)
    pair.radio.advance(by: .seconds(1))
    let same = try #require(
      central.retrievePeripherals(withIdentifiers: [pair.gadgetIdentifier]).first)
    same.delegate = tool
    central.connect(same)
    pair.wait(tool.record, for: "connected")
    same.discoverServices(nil)
    pair.wait(tool.record, for: "services ok")
    #expect(same.services?.map(\.uuid.uuidString) == ["1800", "1801", "181A"])
  }

  @Test("§9.8 reads of any length and notifications arrive in one method, with typed errors")
  func values() throws {
    let pair = Pair()
    let long = Data((0..<400).map { UInt8(truncatingIfNeeded: $0) })
    pair.gadget.answer = { manager, requests in
      requests[0].value = Data(long.dropFirst(requests[0].offset))
      manager.respond(to: requests[0], withResult: .success)
    }
    let peripheral = try pair.connect()
    let reading = try pair.discover(peripheral)[0]
    peripheral.readValue(for: reading)
    #expect(pair.radio.advance(within: .seconds(10)) { reading.value == long })
    peripheral.setNotifyValue(true, for: reading)
    pair.wait(pair.phone.record, for: "notifying true ok")
    pair.manager.updateValue(Data([9]), for: pair.reading, onSubscribedCentrals: nil)
    pair.wait(pair.phone.record, for: "value 2A6E 9 ok")
    pair.gadget.answer = { $0.respond(to: $1[0], withResult: .insufficientAuthorization) }
    peripheral.readValue(for: reading)
    pair.wait(pair.phone.record, for: "value 2A6E 9 att insufficientAuthorization")
  }

  @Test("§9.9 a write with response takes 512 bytes; one without takes what fits in one PDU")
  func writes() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    let setPoint = try pair.discover(peripheral)[1]
    pair.gadget.answer = { $0.respond(to: $1[0], withResult: .success) }
    #expect(peripheral.maximumWriteValueLength(for: .withResponse) == 512)
    peripheral.writeValue(Data(repeating: 7, count: 512), for: setPoint, type: .withResponse)
    pair.wait(pair.phone.record, for: "wrote 2A6F ok")
    #expect(pair.gadget.writes.first?.compactMap(\.value).reduce(0) { $0 + $1.count } == 512)
    pair.gadget.writes = []
    let room = peripheral.maximumWriteValueLength(for: .withoutResponse)
    #expect((20...512).contains(room))
    peripheral.writeValue(Data(count: room + 1), for: setPoint, type: .withoutResponse)
    peripheral.writeValue(Data(count: room), for: setPoint, type: .withoutResponse)
    pair.radio.advance(by: .seconds(2))
    #expect(pair.gadget.writes.map { $0[0].value?.count } == [room])
  }

  @Test("§9.11 the MTU grows without anybody asking")
  func mtu() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    pair.radio.advance(by: .seconds(2))
    #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) >= 182)
  }

  @Test("§9.18 a lost link that is to be reconnected is reported so, and is reconnected")
  func reconnects() throws {
    final class Watcher: NSObject, CBCentralManagerDelegate, Sendable {
      let record = Record()
      func centralManagerDidUpdateState(_ central: CBCentralManager) {}
      func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        record.add("connected")
      }
      func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
        timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
      ) {
        record.add("lost \(text(error)), reconnecting: \(isReconnecting)")
      }
    }
    let pair = Pair()
    let watcher = Watcher()
    pair.central.delegate = watcher
    let peripheral = try #require(
      pair.central.retrievePeripherals(withIdentifiers: [pair.gadgetIdentifier]).first)
    pair.central.connect(
      peripheral, options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
    pair.wait(watcher.record, for: "connected")
    pair.radio.withController(of: pair.gadgetHost) { $0.position = Position(x: 100_000, y: 0) }
    pair.wait(watcher.record, for: "lost connectionTimeout, reconnecting: true")
    #expect(peripheral.state == .connecting)
    pair.radio.withController(of: pair.gadgetHost) { $0.position = Position(x: 2, y: 0) }
    pair.manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [pair.service.uuid]])
    pair.wait(watcher.record, for: "connected")
    pair.central.cancelPeripheralConnection(peripheral)
    pair.wait(watcher.record, for: "lost ok, reconnecting: false")
  }
}
