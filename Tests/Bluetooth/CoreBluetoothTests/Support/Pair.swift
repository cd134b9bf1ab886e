import BluetoothHost
import BluetoothMachines
import BluetoothWire
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Testing

/// A phone with a central manager and a gadget with a peripheral manager, two metres apart.
struct Pair {
  let radio: VirtualRadio
  let phoneHost: BluetoothHost
  let gadgetHost: BluetoothHost
  /// The gadget, as the phone knows it.
  let gadgetIdentifier: UUID
  let phone = CentralRecorder()
  let gadget = PeripheralManagerRecorder()
  let central: CBCentralManager
  let manager: CBPeripheralManager
  let service = CBMutableService(type: CBUUID(string: "181A"), primary: true)
  let reading = CBMutableCharacteristic(
    type: CBUUID(string: "2A6E"), properties: [.read, .notify], value: nil,
    permissions: .readable)
  let setPoint = CBMutableCharacteristic(
    type: CBUUID(string: "2A6F"), properties: [.read, .write, .writeWithoutResponse, .indicate],
    value: nil, permissions: [.readable, .writeable])
  let maker = CBMutableCharacteristic(
    type: CBUUID(string: "2A29"), properties: .read, value: Data("Ambit".utf8),
    permissions: .readable)

  init(
    seed: UInt64 = 7, mtuMax: Int = 517, phoneIgnores: Set<HCIOpcode> = [],
    phonePolicy: PairingPolicy = .automatic, gadgetConfiguration: HostConfiguration? = nil
  ) {
    radio = VirtualRadio(seed: seed)
    var configuration = HostConfiguration()
    configuration.mtuMax = mtuMax
    configuration.pairingPolicy = phonePolicy
    phoneHost = radio.makeHost(name: "phone", configuration: configuration)
    radio.withController(of: phoneHost) { $0.faults.ignoredCommands = phoneIgnores }
    let address = DeviceAddress(bits: 0x0000_5E00_5302, kind: .public)
    gadgetIdentifier = PeerIdentifier.uuid(of: address)
    gadgetHost = radio.makeHost(
      name: "gadget", at: Position(x: 2, y: 0), address: address,
      configuration: gadgetConfiguration ?? HostConfiguration())
    let (phone, gadget) = (phone, gadget)
    central = BluetoothHost.$current.withValue(phoneHost) {
      CBCentralManager(delegate: phone, queue: DispatchQueue(label: "phone"))
    }
    manager = BluetoothHost.$current.withValue(gadgetHost) {
      CBPeripheralManager(delegate: gadget, queue: DispatchQueue(label: "gadget"))
    }
    maker.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2901"), value: "Maker")]
    service.characteristics = [reading, setPoint, maker]
    radio.advance(by: .seconds(1))
    manager.add(service)
    manager.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Gadget",
      CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "181A")],
    ])
    radio.advance(by: .seconds(1))
  }

  /// Lets time pass until the delegate has recorded this line, and clears the record.
  @discardableResult
  func wait(_ record: Record, for line: String) -> Bool {
    let isThere = radio.advance(within: .seconds(40)) { record.lines.contains(line) }
    #expect(isThere, "waited for '\(line)', got \(record.lines)")
    record.clear()
    return isThere
  }

  func connect() throws -> CBPeripheral {
    central.scanForPeripherals(withServices: [CBUUID(string: "181A")])
    #expect(radio.advance(within: .seconds(10)) { !phone.peripherals.isEmpty })
    central.stopScan()
    let peripheral = try #require(phone.peripherals.first)
    central.connect(peripheral)
    wait(phone.record, for: "connected")
    radio.advance(by: .seconds(1))
    phone.record.clear()
    return peripheral
  }

  func discover(_ peripheral: CBPeripheral) throws -> [CBCharacteristic] {
    peripheral.discoverServices([CBUUID(string: "181A")])
    wait(phone.record, for: "services ok")
    let service = try #require(peripheral.services?.first)
    peripheral.discoverCharacteristics(nil, for: service)
    wait(phone.record, for: "characteristics 181A ok")
    return try #require(service.characteristics)
  }
}
