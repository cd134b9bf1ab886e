import CoreBluetooth
import CoreBluetoothAsync
import Reactive
import Testing

@testable import CoreBluetoothReactive

/// An app's delegate of a central manager.
private final class CentralDelegate: NSObject, CBCentralManagerDelegate, Sendable {
  private let name: String
  private let log: Log
  /// Becomes the delegate when a peripheral has connected.
  private let successor: CentralDelegate?

  init(_ name: String, in log: Log, successor: CentralDelegate? = nil) {
    self.name = name
    self.log = log
    self.successor = successor
    super.init()
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {}

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    log.add("\(name) connected")
    if let successor { central.delegate = successor }
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) { log.add("\(name) disconnected") }
}

@Suite("Delegates beside producers")
struct DelegateTests {
  private let pair = Pair()

  /// Ends the connection, and returns the lines since the last call of `take()`.
  private func disconnect(_ peripheral: CBPeripheral) -> [String] {
    pair.central.cancelPeripheralConnection(peripheral)
    pair.wait(for: "connection completed")
    return pair.log.take()
  }

  @Test("a delegate that is set during a run is called before the run, and also after its end")
  func setDuringRun() throws {
    let (peripheral, run) = try pair.connect()
    let delegate = CentralDelegate("app", in: pair.log)
    pair.central.delegate = delegate
    #expect(pair.central.delegate === delegate)
    #expect(disconnect(peripheral) == ["app disconnected", "connection completed"])
    run.dispose()
    #expect(pair.central.delegateProxy == nil)
    #expect(pair.central.delegate === delegate)
    pair.central.connect(peripheral)
    pair.wait(for: "app connected")
    withExtendedLifetime(delegate) {}
  }

  @Test("only the last delegate that was set is called, and none after nil was set")
  func setTwice() throws {
    let first = CentralDelegate("first", in: pair.log)
    let second = CentralDelegate("second", in: pair.log)
    let (peripheral, run) = try pair.connect()
    pair.central.delegate = first
    pair.central.delegate = second
    #expect(disconnect(peripheral) == ["second disconnected", "connection completed"])
    run.dispose()
    let (again, next) = try pair.connect()
    #expect(pair.central.delegate === second)
    pair.central.delegate = nil
    #expect(disconnect(again) == ["connection completed"])
    next.dispose()
    #expect(pair.central.delegate == nil)
    pair.expectNoListeners(of: again)
    withExtendedLifetime((first, second)) {}
  }

  @Test("a delegate that sets another one when it is called is followed by it")
  func setInCall() throws {
    let second = CentralDelegate("second", in: pair.log)
    let first = CentralDelegate("first", in: pair.log, successor: second)
    pair.central.delegate = first
    let (peripheral, run) = try pair.connect()
    #expect(pair.central.delegate === second)
    #expect(disconnect(peripheral) == ["second disconnected", "connection completed"])
    run.dispose()
    #expect(pair.central.delegate === second)
    withExtendedLifetime(first) {}
  }

  @Test("a run retains no delegate, and goes on when it is released")
  func released() throws {
    let (peripheral, run) = try pair.connect()
    weak var released: CentralDelegate?
    do {
      let delegate = CentralDelegate("app", in: pair.log)
      released = delegate
      pair.central.delegate = delegate
      #expect(pair.central.delegate === delegate)
    }
    #expect(released == nil)
    #expect(pair.central.delegate == nil)
    #expect(disconnect(peripheral) == ["connection completed"])
    run.dispose()
  }

  @Test("a peripheral's delegate that is set during a run is called before the run")
  func peripheral() throws {
    final class Delegate: NSObject, CBPeripheralDelegate, Sendable {
      let log: Log
      init(_ log: Log) {
        self.log = log
        super.init()
      }
      func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
        error: (any Error)?
      ) { log.add("app: \(Array(characteristic.value ?? Data()))") }
    }
    let (peripheral, run) = try pair.connect()
    let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
    let values = peripheral.reactive.values(of: reading).record("values", in: pair.log) {
      "\(Array($0))"
    }
    pair.wait(pair.gadgetLog, for: ["subscribed: true"])
    let delegate = Delegate(pair.log)
    peripheral.delegate = delegate
    _ = pair.manager.reactive.updateValue(Data([7]), for: pair.reading)
      .record("update", in: pair.gadgetLog)
    pair.wait(for: "values: [7]")
    #expect(pair.log.take() == ["app: [7]", "values: [7]"])
    values.dispose()
    peripheral.readValue(for: reading)
    pair.wait(for: "app: [21]")
    run.dispose()
    #expect(peripheral.delegate === delegate)
  }

  @Test("a peripheral manager's delegate that is set during runs is called before them")
  func peripheralManager() throws {
    final class Delegate: NSObject, CBPeripheralManagerDelegate, Sendable {
      let log: Log
      init(_ log: Log) {
        self.log = log
        super.init()
      }
      func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
      func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral,
        didSubscribeTo characteristic: CBCharacteristic
      ) { log.add("app subscribed") }
    }
    let delegate = Delegate(pair.gadgetLog)
    pair.manager.delegate = delegate
    #expect(pair.manager.delegate === delegate)
    let (peripheral, run) = try pair.connect()
    let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
    _ = pair.gadgetLog.take()
    let values = peripheral.reactive.values(of: reading).record("values", in: pair.log)
    pair.wait(pair.gadgetLog, for: ["subscribed: true"])
    #expect(pair.gadgetLog.lines == ["app subscribed", "subscribed: true"])
    values.dispose()
    run.dispose()
    #expect(pair.manager.delegate === delegate)
  }
}
