import BluetoothHost
import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import Essentials
import Reactive
import RunLoopSupport
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@testable import CoreBluetoothAsync
@testable import CoreBluetoothReactive

/// Lines that several observers write.
final class Log: Sendable {
  private let storage = Mutex<[String]>([])
  var lines: [String] { storage.withLock { $0 } }
  func add(_ line: String) { storage.withLock { $0.append(line) } }
  /// The lines since the last call.
  func take() -> [String] {
    storage.withLock { lines in
      defer { lines = [] }
      return lines
    }
  }
}

func text(_ error: BluetoothError) -> String {
  let cause = error.cause.map { "\($0.code)" }
  return switch error.code {
  case .disconnected: "disconnected \(cause ?? "here")"
  case .attribute: "attribute \(error.attributeErrorCode ?? 0)"
  case .notAvailable: "not available, \(error.state ?? .unknown)"
  case .connectionFailed: "connection failed, \(cause ?? "")"
  case .refused: "refused, \(cause ?? "")"
  case .notFound: "not found, \(error.uuid?.uuidString ?? "")"
  default: "\(error)"
  }
}

extension SignalProducer where Value: Sendable {
  /// Writes down every event, behind a name.
  func record(
    _ name: String, in log: Log, _ describe: @escaping @Sendable (Value) -> String = { "\($0)" }
  ) -> any Disposable {
    start { event in
      switch event {
      case .value(let value): log.add("\(name): \(describe(value))")
      case .failed(let error):
        log.add("\(name) failed: \((error as? BluetoothError).map(text) ?? "\(error)")")
      case .completed: log.add("\(name) completed")
      case .interrupted: log.add("\(name) interrupted")
      }
    }
  }
}

/// A phone with a central manager and a gadget with a peripheral manager, two metres apart, in
/// virtual time.
final class Pair: Sendable {
  static let serviceUUID = CBUUID(string: "181A")
  static let readingUUID = CBUUID(string: "2A6E")
  static let setPointUUID = CBUUID(string: "2A6F")
  static let makerUUID = CBUUID(string: "2A29")

  let radio: VirtualRadio
  let phone: BluetoothHost
  let gadget: BluetoothHost
  let central: CBCentralManager
  let manager: CBPeripheralManager
  let log = Log()
  /// What the gadget hears.
  let gadgetLog = Log()
  /// What the phone wrote.
  let written = Mutex<[Data]>([])
  /// How the gadget answers requests; nil for not at all.
  let answer = Mutex<CBATTError.Code?>(.success)

  let service = CBMutableService(type: serviceUUID, primary: true)
  let reading = CBMutableCharacteristic(
    type: readingUUID, properties: [.read, .notify], value: nil, permissions: .readable)
  let setPoint = CBMutableCharacteristic(
    type: setPointUUID, properties: [.read, .write, .writeWithoutResponse], value: nil,
    permissions: [.readable, .writeable])
  let maker = CBMutableCharacteristic(
    type: makerUUID, properties: .read, value: Data("Ambit".utf8), permissions: .readable)
  /// What the gadget does, until the pair goes.
  private let gadgetRuns = CompositeDisposable()

  init(seed: UInt64 = 7) {
    let radio = VirtualRadio(seed: seed)
    self.radio = radio
    phone = radio.makeHost(name: "phone")
    gadget = radio.makeHost(name: "gadget", at: Position(x: 2, y: 0))
    central = BluetoothHost.$current.withValue(phone) {
      CBCentralManager(delegate: nil, queue: DispatchQueue(label: "phone"))
    }
    manager = BluetoothHost.$current.withValue(gadget) {
      CBPeripheralManager(delegate: nil, queue: DispatchQueue(label: "gadget"))
    }
    service.characteristics = [reading, setPoint, maker]
    play()
    #expect(wait(gadgetLog, for: ["service: 181A", "advertising: on"]))
  }

  deinit { gadgetRuns.dispose() }

  /// Publishes, advertises and answers, all of it by producers.
  private func play() {
    let reactive = manager.reactive
    gadgetRuns += reactive.publication(of: service).record("service", in: gadgetLog) {
      $0.uuid.uuidString
    }
    gadgetRuns += reactive.advertising([
      CBAdvertisementDataLocalNameKey: "Gadget",
      CBAdvertisementDataServiceUUIDsKey: [Self.serviceUUID],
    ]).record("advertising", in: gadgetLog) { "on" }
    gadgetRuns += reactive.subscriptionChanges.record("subscribed", in: gadgetLog) {
      "\($0.isSubscribed)"
    }
    gadgetRuns += reactive.readRequests.startWithValues { [weak self] request in
      self?.gadgetLog.add("read")
      guard let self, let code = answer.withLock({ $0 }) else { return }
      request.value = Data([21])
      manager.respond(to: request, withResult: code)
    }
    gadgetRuns += reactive.writeRequests.startWithValues { [weak self] requests in
      self?.gadgetLog.add("write")
      guard let self, let first = requests.first, let code = answer.withLock({ $0 }) else { return }
      written.withLock { $0 += requests.compactMap(\.value) }
      manager.respond(to: first, withResult: code)
    }
  }

  /// Lets time pass until all of these have been written down.
  @discardableResult
  func wait(_ log: Log, for lines: [String]) -> Bool {
    let isThere = radio.advance(within: .seconds(60)) {
      let known = log.lines
      return lines.allSatisfy(known.contains)
    }
    if !isThere { Issue.record("waited for \(lines), got \(log.lines)") }
    return isThere
  }

  func wait(for lines: String...) { wait(log, for: lines) }

  func advance(seconds: Int64) { radio.advance(by: .seconds(seconds)) }

  func move(metres: Double) {
    radio.withController(of: gadget) { $0.position = Position(x: metres, y: 0) }
  }

  func crash(_ host: BluetoothHost) { radio.withController(of: host) { $0.crash() } }

  /// The gadget, discovered.
  func discover() throws -> CBPeripheral {
    let found = Mutex<CBPeripheral?>(nil)
    let run = central.reactive.discoveries(withServices: [Self.serviceUUID])
      .startWithResult { result in
        if case .success(let discovery) = result { found.withLock { $0 = discovery.peripheral } }
      }
    defer { run.dispose() }
    #expect(radio.advance(within: .seconds(20)) { found.withLock { $0 != nil } })
    return try #require(found.withLock { $0 })
  }

  /// The gadget, connected for as long as the disposable isn't disposed of.
  func connect() throws -> (CBPeripheral, any Disposable) {
    let peripheral = try discover()
    let run = central.reactive.connection(to: peripheral).record("connection", in: log) { _ in
      "connected"
    }
    wait(for: "connection: connected")
    _ = log.take()
    return (peripheral, run)
  }

  func characteristic(_ uuid: CBUUID, of peripheral: CBPeripheral) throws -> CBCharacteristic {
    let found = Mutex<CBCharacteristic?>(nil)
    peripheral.reactive.characteristic(uuid, of: Self.serviceUUID).startWithResult { result in
      if case .success(let characteristic) = result { found.withLock { $0 = characteristic } }
    }
    #expect(radio.advance(within: .seconds(20)) { found.withLock { $0 != nil } })
    return try #require(found.withLock { $0 })
  }

  /// Expects that neither a producer nor a sequence observes the phone any more.
  func expectNoListeners(of peripheral: CBPeripheral) {
    #expect(CentralListener.all.useCount(for: central) == 0)
    #expect(PeripheralListener.all.useCount(for: peripheral) == 0)
    #expect(central.delegateProxy == nil)
    #expect(peripheral.delegateProxy == nil)
    #expect(central.keyValueObservers.count == 0)
    #expect(peripheral.keyValueObservers.count == 0)
  }
}
