import AppLifecycle
import AppLifecycleTesting
import BluetoothHost
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Testing

private let service = CBUUID(string: "FFC0")

/// An app that serves a bell: a value that is written, and told to subscribers.
private final class BellManager: NSObject, CBPeripheralManagerDelegate {
  private var manager: CBPeripheralManager?
  private var bell: CBMutableCharacteristic?

  override init() {
    super.init()
    manager = CBPeripheralManager(
      delegate: self, queue: nil,
      options: [CBPeripheralManagerOptionRestoreIdentifierKey: "bell"])
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService]
    bell = services?.first?.characteristics?.first as? CBMutableCharacteristic
    AppNotes.write("restored, subscribers \(bell?.subscribedCentrals?.count ?? 0)")
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn, bell == nil else { return }
    let new = CBMutableService(type: service, primary: true)
    let bell = CBMutableCharacteristic(
      type: CBUUID(string: "FFC1"), properties: [.write, .notify], value: nil,
      permissions: .writeable)
    new.characteristics = [bell]
    self.bell = bell
    peripheral.add(new)
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service]])
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]
  ) {
    AppNotes.write("written \(requests.map { $0.value?.first ?? 0 })")
    if let first = requests.first { peripheral.respond(to: first, withResult: .success) }
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) {
    guard let bell else { return }
    let isSent = peripheral.updateValue(Data([7]), for: bell, onSubscribedCentrals: [central])
    AppNotes.write("subscribed, sent \(isSent)")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didUnsubscribeFrom characteristic: CBCharacteristic
  ) { AppNotes.write("unsubscribed") }
}

/// A central of the test's process, near the phone.
private final class Visitor: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate,
  @unchecked Sendable
{
  // Sendable because everything that changes is used on its queue only.
  private let queue = DispatchQueue(label: "visitor")
  private var central: CBCentralManager?
  private var peripheral: CBPeripheral?
  private var bell: CBCharacteristic?
  private var heard: [String] = []

  init(near phone: SimulatedPhone) {
    super.init()
    let host = phone.radio.makeHost(name: "visitor", at: Position(x: 2, y: 0))
    central = BluetoothHost.$current.withValue(host) {
      CBCentralManager(delegate: self, queue: queue)
    }
  }

  var isReady: Bool { queue.sync { bell != nil } }

  /// What it has heard since the last call.
  func takeHeard() -> [String] {
    queue.sync {
      defer { heard = [] }
      return heard
    }
  }

  func write(_ number: UInt8) {
    queue.sync {
      guard let bell else { return }
      peripheral?.writeValue(Data([number]), for: bell, type: .withResponse)
    }
  }

  func setSubscribed(_ isSubscribed: Bool) {
    queue.sync {
      guard let bell else { return }
      peripheral?.setNotifyValue(isSubscribed, for: bell)
    }
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [service]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    central.stopScan()
    self.peripheral = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([service])
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] {
      peripheral.discoverCharacteristics(nil, for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) { bell = service.characteristics?.first }

  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { heard.append(error == nil ? "taken" : "refused") }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { heard.append("notifying \(characteristic.isNotifying)") }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { heard.append("value \(characteristic.value?.first ?? 0)") }
}

@Suite(.serialized)
struct ServerWakeTests {
  private static let bell = SimulatedApp(
    "com.example.bell", infoPlist: ["UIBackgroundModes": ["bluetooth-peripheral"]]
  ) { _ in BellManager() }

  /// An app whose visitor is connected, and which was suspended since.
  private static func run(
    _ body: @Sendable (SimulatedPhone, InstalledApp, Visitor) throws -> Void
  ) async throws {
    try await SimulatedPhone.run(seed: 95, apps: [bell]) { phone in
      let app = phone[bell]
      app.open()
      phone.advance(by: .seconds(2))
      let visitor = Visitor(near: phone)
      try phone.until("discovered", limit: .seconds(20)) { visitor.isReady }
      app.sendToBackground()
      phone.advance(by: .minutes(1))
      #expect(app.state == .suspended)
      try body(phone, app, visitor)
      #expect(app.state == .suspended && app.unhandledEventCount == 0)
    }
  }

  private static func notes(_ app: InstalledApp) -> [String] {
    app.output.filter { $0.launchNumber == app.launches.count }.map(\.line)
  }

  @Test func `A write and a subscription wake a suspended app that serves them`() async throws {
    try await Self.run { phone, app, visitor in
      visitor.write(1)
      phone.advance(by: .minutes(1))
      visitor.setSubscribed(true)
      phone.advance(by: .minutes(1))
      #expect(visitor.takeHeard().sorted() == ["notifying true", "taken", "value 7"])
      #expect(Self.notes(app) == ["written [1]", "subscribed, sent true"])
      #expect(app.launches.count == 1)
    }
  }

  @Test func `A write launches an app that was ended, with its services, and is taken`()
    async throws
  {
    try await Self.run { phone, app, visitor in
      app.terminate(.memoryPressure)
      visitor.write(2)
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == 2)
      #expect(app.launchOptions?[.bluetoothPeripherals] as? [String] == ["bell"])
      #expect(Self.notes(app) == ["restored, subscribers 0", "written [2]"])
      #expect(visitor.takeHeard() == ["taken"])
    }
  }

  @Test func `A subscription and its end launch an app that was ended, which has its subscribers`()
    async throws
  {
    try await Self.run { phone, app, visitor in
      app.terminate(.memoryPressure)
      visitor.setSubscribed(true)
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == 2)
      #expect(Self.notes(app) == ["restored, subscribers 0", "subscribed, sent true"])
      #expect(visitor.takeHeard().sorted() == ["notifying true", "value 7"])
      app.terminate(.memoryPressure)
      visitor.setSubscribed(false)
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == 3)
      #expect(Self.notes(app) == ["restored, subscribers 1", "unsubscribed"])
      #expect(visitor.takeHeard() == ["notifying false"])
    }
  }

  @Test func `A write to an app that its person has ended is refused, and launches nothing`()
    async throws
  {
    try await SimulatedPhone.run(seed: 96, apps: [Self.bell]) { phone in
      let app = phone[Self.bell]
      app.open()
      phone.advance(by: .seconds(2))
      let visitor = Visitor(near: phone)
      try phone.until("discovered", limit: .seconds(20)) { visitor.isReady }
      app.forceQuit()
      visitor.write(3)
      phone.advance(by: .minutes(1))
      #expect(app.state == .notRunning && app.launches.count == 1)
      #expect(!visitor.takeHeard().contains("taken"))
    }
  }
}
