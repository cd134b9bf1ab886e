import BluetoothHost
import BluetoothInterface
import Essentials
import SimulatedRadio
import Simulation
import Synchronization
import Testing

// Code below the line is in the styles of apps for Apple's systems: what it names, casts to and
// conforms to must go on compiling.
import CoreBluetooth

// MARK: An app's own protocols, so that it can be tested without a radio

protocol Scanning: AnyObject {
  var state: CBManagerState { get }
  var delegate: (any CBCentralManagerDelegate)? { get set }
  func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]?)
  func stopScan()
  func connect(_ device: any Device, options: [String: Any]?)
}

protocol Device: AnyObject {
  var identifier: UUID { get }
  var name: String? { get }
  var state: CBPeripheralState { get }
  var delegate: (any CBPeripheralDelegate)? { get set }
  func discoverServices(_ serviceUUIDs: [CBUUID]?)
}

extension CBPeripheral: Device {}

extension CBCentralManager: Scanning {
  func connect(_ device: any Device, options: [String: Any]?) {
    if let peripheral = device as? CBPeripheral { connect(peripheral, options: options) }
  }
}

extension CBUUID {
  static let pulseService = CBUUID(string: "180D")
  static let pulseMeasurement = CBUUID(string: "2A37")
  static let pulseControlPoint = CBUUID(string: "2A39")
}

extension CBService {
  subscript(_ uuid: CBUUID) -> CBCharacteristic? {
    characteristics?.first(where: { $0.uuid == uuid })
  }
}

extension CBCharacteristic {
  var notifies: Bool { properties.contains(.notify) || properties.contains(.indicate) }
}

// MARK: A view model on the main actor, its delegates in extensions

@MainActor
final class PulseModel: NSObject {
  private(set) var pulses: [Int] = []
  private(set) var errors: [Int] = []
  private(set) var advertisements: [CBPeripheral: [String: Any]] = [:]
  private(set) var strengths: [UUID: Int] = [:]
  private var seen = Set<CBPeripheral>()
  private var known: [CBUUID: CBCharacteristic] = [:]
  private var strap: CBPeripheral?
  private(set) lazy var manager = CBCentralManager(
    delegate: self, queue: nil, options: [CBCentralManagerOptionShowPowerAlertKey: true])

  func start() { _ = manager.state }
}

extension PulseModel: @preconcurrency CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    switch central.state {
    case .poweredOn:
      central.scanForPeripherals(
        withServices: [.pulseService],
        options: [CBCentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: false)])
    case .unknown, .resetting, .unsupported, .unauthorized, .poweredOff: break
    @unknown default: break
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    // The name comes with the scan response, the second time.
    guard advertisementData[CBAdvertisementDataLocalNameKey] is String else { return }
    guard RSSI.intValue > -90, seen.insert(peripheral).inserted else { return }
    strengths[peripheral.identifier] = RSSI.intValue
    advertisements[peripheral] = advertisementData
    strap = peripheral
    peripheral.delegate = self
    central.stopScan()
    central.connect(
      peripheral, options: [CBConnectPeripheralOptionNotifyOnDisconnectionKey: true])
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([.pulseService])
  }
}

extension PulseModel: @preconcurrency CBPeripheralDelegate {
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] as [CBService] {
      peripheral.discoverCharacteristics(nil, for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    service.characteristics?.forEach { known[$0.uuid] = $0 }
    if let measurement = service[.pulseMeasurement], measurement.notifies {
      peripheral.setNotifyValue(true, for: measurement)
    }
    if let controlPoint = known[.pulseControlPoint] {
      peripheral.writeValue(Data([0x7F]), for: controlPoint, type: .withResponse)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    switch characteristic.uuid {
    case .pulseMeasurement:
      if let value = characteristic.value, value.count > 1 { pulses.append(Int(value[1])) }
    default: break
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    if let error = error as? CBATTError { errors.append(error.errorCode) }
  }
}

// MARK: Central managers of an app's own

final class NeverReady: CBCentralManager, @unchecked Sendable {
  private(set) var scans = 0
  override var state: CBManagerState { .unauthorized }
  override func scanForPeripherals(
    withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil
  ) {
    scans += 1
  }
}

/// Delegate and actor apart, as Swift 6 apps have it.
actor Registry {
  private var peripherals: [UUID: CBPeripheral] = [:]
  func add(_ peripheral: CBPeripheral) { peripherals[peripheral.identifier] = peripheral }
  var names: [String] { peripherals.values.compactMap(\.name).sorted() }
}

final class Feeder: NSObject, CBCentralManagerDelegate, Sendable {
  let registry = Registry()
  let stream: AsyncStream<CBPeripheral>
  private let found: AsyncStream<CBPeripheral>.Continuation
  override init() {
    (stream, found) = AsyncStream.makeStream()
    super.init()
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: nil) }
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    found.yield(peripheral)
  }
}

// MARK: Errors, as apps tell them apart

func sort(_ error: any Error) -> String {
  do {
    throw error
  } catch CBError.peripheralDisconnected {
    return "gone"
  } catch let error as CBError where error.code == .connectionTimeout {
    return "silent"
  } catch CBATTError.insufficientEncryption {
    return "pair"
  } catch let error as CBATTError {
    switch error.code {
    case .success: return "ok"
    case .writeNotPermitted, .readNotPermitted: return "forbidden"
    default: return "att \(error.code.rawValue)"
    }
  } catch {
    let error = error as NSError
    return "\(error.domain) \(error.code)"
  }
}

@Suite("Code written for Apple's Core Bluetooth")
struct SourceCompatibilityTests {
  @Test(
    "errors are distinguished by code, by pattern and by type",
    arguments: [
      (CBError(.peripheralDisconnected) as any Error, "gone"),
      (CBError(.connectionTimeout, userInfo: [:]), "silent"),
      (CBATTError(.insufficientEncryption), "pair"),
      (CBATTError(.writeNotPermitted), "forbidden"),
      (CBATTError(.other(0x80)), "att 128"),
      (CBError(.connectionLimitReached), "CBErrorDomain 11"),
    ])
  func errors(_ error: any Error, _ expected: String) {
    #expect(sort(error) == expected)
  }

  @Test("errors are casts, patterns and NSErrors")
  func errorCasts() {
    let error: (any Error)? = CBError(.connectionFailed)
    let code = (error as? CBError)?.code
    #expect(code == .connectionFailed)
    let converted = error.map { $0 as NSError }
    #expect(converted?.domain == CBErrorDomain)
    #expect(converted?.code == CBError.connectionFailed.rawValue)
    #expect(CBError.Code(rawValue: 10) == .connectionFailed)
    if case CBError.connectionFailed? = error {} else { Issue.record("the pattern does not match") }
  }

  @Test("UUIDs are keys, members, patterns, copies and numbers' texts")
  func uuids() {
    let names: [CBUUID: String] = [.pulseService: "Heart Rate"]
    #expect(names[CBUUID(string: "0000180D-0000-1000-8000-00805F9B34FB")] == "Heart Rate")
    #expect(Set([CBUUID.pulseService, CBUUID(data: Data([0x18, 0x0D]))]).count == 1)
    #expect(CBUUID(string: "180d").uuidString == "180D")
    #expect(CBUUID.pulseService.isEqual(CBUUID(string: "180D")))
    #expect(CBUUID.pulseService.copy() as? CBUUID == .pulseService)
    #expect(NSDictionary(object: 1, forKey: CBUUID.pulseService).count == 1)
  }

  @Test("a tree of mutable attributes is built, changed and described")
  func mutableTree() {
    let measurement = CBMutableCharacteristic(
      type: .pulseMeasurement, properties: [.notify, .read], value: nil,
      permissions: [.readable, .readEncryptionRequired])
    measurement.descriptors = [
      CBMutableDescriptor(
        type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: "Pulse")
    ]
    measurement.properties.insert(.indicate)
    measurement.permissions.formUnion(.writeable)
    measurement.value = Data([0, 72])
    let service = CBMutableService(type: .pulseService, primary: true)
    service.characteristics = [measurement]
    service.characteristics?.append(
      CBMutableCharacteristic(
        type: CBUUID(nsuuid: UUID()), properties: [.writeWithoutResponse], value: nil,
        permissions: .writeable))
    #expect(service.characteristics?.count == 2)
    #expect(measurement.service === service)
    #expect((service.characteristics?.first as? CBMutableCharacteristic)?.permissions.rawValue == 7)
    #expect(measurement.descriptors?.first?.characteristic == measurement)
    #expect(measurement.descriptors?.first?.value as? String == "Pulse")
    #expect("\(service)" == "<CBService: isPrimary = YES, UUID = 180D>")
    #expect(
      "\(measurement)"
        == "<CBCharacteristic: UUID = 2A37, properties = 0x32, value = 0x0048, notifying = NO>")
    #expect("\(measurement.descriptors ?? [])" == "[<CBDescriptor: UUID = 2901, value = Pulse>]")
  }

  @Test("a view model on the main actor scans, connects, subscribes and hears errors")
  func viewModel() async throws {
    let radio = VirtualRadio(seed: 1)
    _ = radio.withWorld { $0.addHeartRateStrap(at: Position(x: 1, y: 0)) }
    let host = radio.makeHost(name: "phone")
    let model = await MainActor.run { PulseModel() }
    await MainActor.run { BluetoothHost.$current.withValue(host) { model.start() } }
    radio.advance(by: .seconds(15))
    try await MainActor.run {
      #expect(!model.pulses.isEmpty)
      #expect(model.pulses.allSatisfy { 40...180 ~= $0 })
      #expect(model.errors == [0x80])
      let (peripheral, advertisement) = try #require(model.advertisements.first)
      #expect(peripheral.name == "Pulse strap")
      #expect(peripheral.state == .connected)
      #expect((model.strengths[peripheral.identifier] ?? 0) < 0)
      checkCasts(advertisement)
    }
  }

  /// What apps cast the entries of an advertisement to.
  private func checkCasts(_ advertisement: [String: Any]) {
    let connectable = advertisement[CBAdvertisementDataIsConnectable]
    #expect(connectable as? Bool == true)
    #expect(connectable as? NSNumber == 1)
    #expect((connectable as? NSNumber)?.boolValue == true)
    #expect(connectable as? Int == 1)
    let services = advertisement[CBAdvertisementDataServiceUUIDsKey]
    #expect((services as? [CBUUID])?.contains(.pulseService) == true)
    #expect((services as? NSArray)?.count == 2)
    let name = advertisement[CBAdvertisementDataLocalNameKey]
    #expect(name as? String == "Pulse strap")
    #expect(name as? NSString == "Pulse strap")
    #expect(advertisement["kCBAdvDataLocalName"] as? String == "Pulse strap")
    let dictionary = advertisement as NSDictionary
    #expect(dictionary.object(forKey: CBAdvertisementDataLocalNameKey) as? String != nil)
  }

  @Test("an app's subclass of the manager is used like one")
  func subclass() {
    let radio = VirtualRadio(seed: 1)
    let manager = BluetoothHost.$current.withValue(radio.makeHost(name: "phone")) {
      NeverReady(delegate: nil, queue: DispatchQueue(label: "never"))
    }
    let scanning: any Scanning = manager
    scanning.scanForPeripherals(withServices: nil, options: nil)
    #expect(scanning.state == .unauthorized)
    #expect(manager.scans == 1)
    #expect((manager as CBManager).state == CBManagerState.unauthorized)
  }

  @Test("peripherals cross to an actor through a stream")
  func actors() async {
    let radio = VirtualRadio(seed: 1)
    _ = radio.withWorld { $0.addHeartRateStrap(at: Position(x: 1, y: 0)) }
    let feeder = Feeder()
    let queue: dispatch_queue_t = DispatchQueue(label: "feeder")
    let manager = BluetoothHost.$current.withValue(radio.makeHost(name: "phone")) {
      CBCentralManager(delegate: feeder, queue: queue)
    }
    radio.advance(by: .seconds(5))
    for await peripheral in feeder.stream {
      await feeder.registry.add(peripheral)
      break
    }
    #expect(await feeder.registry.names == ["Pulse strap"])
    manager.stopScan()
  }
}
