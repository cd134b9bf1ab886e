import BluetoothHost
import CoreBluetooth
import Essentials
import SimulatedRadio
import Testing
import class CoreBluetooth.CBUUID

/// An app's manager class.
private final class AppManager: CBCentralManager, @unchecked Sendable {}

@Suite("Observed properties")
struct ObservedPropertyTests {
  @Test("a peripheral's state is observed from connecting to disconnected, before the delegate")
  func peripheralState() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    let record = pair.phone.record
    let token = peripheral.observe(\.state, options: [.old, .new]) { peripheral, change in
      #expect(change.newValue == peripheral.state)
      record.add("\(change.oldValue!.rawValue)>\(change.newValue!.rawValue)")
    }
    pair.central.cancelPeripheralConnection(peripheral)
    #expect(record.lines == ["2>3"], "on the caller's thread")
    pair.radio.advance(by: .seconds(2))
    #expect(record.take() == ["2>3", "3>0", "disconnected ok"])
    pair.central.connect(peripheral)
    pair.wait(record, for: "connected")
    token.invalidate()
    pair.central.cancelPeripheralConnection(peripheral)
    pair.radio.advance(by: .seconds(2))
    #expect(record.take() == ["disconnected ok"])
  }

  @Test("a connection's state is reported before didConnect")
  func connecting() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    pair.central.cancelPeripheralConnection(peripheral)
    pair.wait(pair.phone.record, for: "disconnected ok")
    let record = pair.phone.record
    let token = peripheral.observe(\.state) { peripheral, _ in
      record.add("\(peripheral.state.rawValue)")
    }
    pair.central.connect(peripheral)
    #expect(pair.radio.advance(within: .seconds(40)) { record.lines.contains("connected") })
    #expect(record.lines.prefix(3) == ["1", "2", "connected"])
    withExtendedLifetime(token) {}
  }

  @Test("scanning, the radio's state and advertising are observed")
  func managers() {
    let record = Record()
    let pair = Pair()
    let tokens = [
      pair.central.observe(\.isScanning, options: [.initial, .new]) { _, change in
        record.add("scanning \(change.newValue!)")
      },
      pair.central.observe(\.state) { central, _ in record.add("state \(central.state)") },
      pair.manager.observe(\.isAdvertising) { manager, _ in
        record.add("advertising \(manager.isAdvertising)")
      },
    ]
    pair.central.scanForPeripherals(withServices: nil)
    pair.central.scanForPeripherals(withServices: [])
    pair.central.stopScan()
    pair.manager.stopAdvertising()
    #expect(
      record.take() == [
        "scanning false", "scanning true", "scanning false", "advertising false",
      ])
    withExtendedLifetime(tokens) {}
  }

  @Test("an app's subclass of a manager is observed, and may be gone before the observation")
  func subclass() {
    let record = Record()
    let radio = Pair().radio
    let host = radio.makeHost(name: "another")
    var token: NSKeyValueObservation?
    do {
      let manager = BluetoothHost.$current.withValue(host) {
        AppManager(delegate: nil, queue: DispatchQueue(label: "app"))
      }
      token = manager.observe(\.state) { _, _ in record.add("state") }
      radio.advance(by: .seconds(1))
      #expect(manager.state == .poweredOn)
    }
    #expect(record.lines == ["state"])
    token?.invalidate()
    token = nil
  }

  @Test("a connected peripheral whose manager ends is observed as disconnected")
  func managerEnds() throws {
    let pair = Pair()
    let record = Record()
    let host = pair.radio.makeHost(name: "short-lived")
    var manager: CBCentralManager? = BluetoothHost.$current.withValue(host) {
      CBCentralManager(delegate: nil, queue: DispatchQueue(label: "short-lived"))
    }
    pair.radio.advance(by: .seconds(1))
    let peripheral = try #require(
      manager?.retrievePeripherals(withIdentifiers: [pair.gadgetIdentifier]).first)
    let token = peripheral.observe(\.state) { peripheral, _ in
      record.add("\(peripheral.state.rawValue)")
    }
    manager?.connect(peripheral)
    #expect(record.lines == ["1"])
    manager = nil
    #expect(record.lines == ["1", "0"])
    withExtendedLifetime(token) {}
  }
}

@Suite("Properties by name")
struct KeyValueCodingTests {
  @Test("a peripheral's properties have the types that apps cast them to")
  func peripheral() throws {
    let pair = Pair()
    let peripheral = try pair.connect()
    let identifier = peripheral.value(forKey: "identifier")
    #expect((identifier as? NSUUID)?.uuidString == pair.gadgetIdentifier.uuidString)
    #expect(identifier as? UUID == pair.gadgetIdentifier)
    #expect(peripheral.value(forKey: "name") as? String == peripheral.name)
    #expect(peripheral.value(forKey: "state") as? Int == 2)
    #expect((peripheral.value(forKey: "state") as? NSNumber)?.intValue == 2)
    let mtu = try #require(peripheral.value(forKey: "mtuLength") as? NSNumber)
    #expect(mtu.intValue == 517)
    #expect(peripheral.value(forKey: "services") as? [CBService] == nil)
    #expect(peripheral.value(forKey: "delegate") as? CentralRecorder === pair.phone)
  }

  @Test("a manager's properties are there by name")
  func managers() {
    let pair = Pair()
    #expect(pair.central.value(forKey: "state") as? Int == CBManagerState.poweredOn.rawValue)
    #expect(pair.central.value(forKey: "isScanning") as? Bool == false)
    #expect(pair.manager.value(forKey: "isAdvertising") as? Bool == true)
    #expect(pair.manager.value(forKey: "authorization") as? Int == 3)
  }

  @Test("a key that a class does not have gives nil, or the subclass's value")
  func unknownKeys() {
    final class Lenient: CBCentralManager, @unchecked Sendable {
      override func value(forUndefinedKey key: String) -> Any? { "no \(key)" }
    }
    let pair = Pair()
    #expect(pair.central.value(forKey: "nonsense") == nil)
    let manager = BluetoothHost.$current.withValue(pair.phoneHost) {
      Lenient(delegate: nil, queue: nil)
    }
    #expect(manager.value(forKey: "nonsense") as? String == "no nonsense")
  }
}
