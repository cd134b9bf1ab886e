import AppLifecycle
import AppLifecycleTesting
import BluetoothHost
import BluetoothWire
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Testing

@testable import AppDelegates
@testable import DoorLock

/// An app as in questions about restoration: it subscribes to a sensor, and notes its callbacks.
private final class SensorManager: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate,
  @unchecked Sendable
{
  // Sendable because everything that changes is used on its queue only.
  static let service = CBUUID(string: "FFE0")
  private let queue: DispatchQueue
  private let abortsOnce: Bool
  private var central: CBCentralManager?
  private var peripheral: CBPeripheral?

  /// - Parameters:
  ///   - queue: The queue of the manager, which is made on it, after the launch.
  ///   - abortsOnce: Whether the app crashes when it is restored for the first time.
  init(on queue: DispatchQueue = DispatchQueue(label: "sensor"), abortsOnce: Bool = false) {
    self.queue = queue
    self.abortsOnce = abortsOnce
    super.init()
    // A phone waits for the main queue, and not for a queue that has no manager yet.
    DispatchQueue.main.async { [self] in
      queue.sync {
        central = CBCentralManager(
          delegate: self, queue: queue,
          options: [CBCentralManagerOptionRestoreIdentifierKey: "sensor"])
      }
    }
  }

  private func note(_ text: String) {
    dispatchPrecondition(condition: .onQueue(queue))
    AppNotes.write(text)
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let wasAborted = UserDefaults.standard.bool(forKey: "aborted")
    if abortsOnce, !wasAborted {
      UserDefaults.standard.set(true, forKey: "aborted")
      UserDefaults.standard.synchronize()
      abort()
    }
    peripheral = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first
    peripheral?.delegate = self
    let characteristic = peripheral?.services?.first?.characteristics?.first
    note("restored, notifying \(characteristic?.isNotifying ?? false)")
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn, peripheral == nil else { return }
    central.scanForPeripherals(withServices: [Self.service])
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
    note("connected")
    peripheral.discoverServices([Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {
    note("disconnected")
    central.connect(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] {
      peripheral.discoverCharacteristics(nil, for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    for characteristic in service.characteristics ?? [] {
      peripheral.setNotifyValue(true, for: characteristic)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { note("subscribed \(characteristic.isNotifying)") }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { note("value \(characteristic.value?.first ?? 0)") }

  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidated: [CBService]) {
    note("modified \(invalidated.map(\.uuid.uuidString))")
    peripheral.discoverServices([Self.service])
  }
}

/// A manager in a global, as in many apps, which the app uses first after its launch.
private enum SensorApp {
  static let shared = SensorManager(on: DispatchQueue(label: "sensor", qos: .background))
}

/// A sensor of the test's process, whose services can be replaced.
private final class Sensor: NSObject, CBPeripheralManagerDelegate {
  private let host: BluetoothHost
  private let characteristic = CBMutableCharacteristic(
    type: CBUUID(string: "FFE1"), properties: .notify, value: nil, permissions: .readable)
  private let service = CBMutableService(type: SensorManager.service, primary: true)
  private var manager: CBPeripheralManager?

  init(of phone: SimulatedPhone) {
    host = phone.radio.makeHost(name: "sensor")
    super.init()
    service.characteristics = [characteristic]
    manager = BluetoothHost.$current.withValue(host) {
      CBPeripheralManager(delegate: self, queue: DispatchQueue(label: "peripheral"))
    }
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    peripheral.add(service)
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [SensorManager.service]])
  }

  func send(_ number: UInt8) {
    manager?.updateValue(Data([number]), for: characteristic, onSubscribedCentrals: nil)
  }

  /// As after an update of its firmware.
  func replaceService() {
    manager?.remove(service)
    manager?.add(service)
  }

  func move(to x: Double, of phone: SimulatedPhone) {
    phone.radio.withController(of: host) { $0.position = Position(x: x, y: 0) }
  }
}

extension SimulatedApp {
  private static let central = ["UIBackgroundModes": ["bluetooth-central"]]

  fileprivate static let firstVersion = SimulatedApp("com.example.door", infoPlist: central) { _ in
    LockManager(restoreIdentifier: "first")
  }
  fileprivate static let secondVersion = SimulatedApp("com.example.door", infoPlist: central) { _ in
    LockManager(restoreIdentifier: "second")
  }
  fileprivate static let sensor = SimulatedApp("com.example.sensor", infoPlist: central) { _ in
    SensorApp.shared
  }
  fileprivate static let aborting = SimulatedApp("com.example.sensor", infoPlist: central) { _ in
    SensorManager(abortsOnce: true)
  }
  fileprivate static let shop = SimulatedApp(
    "com.example.app-shop", delegate: { ShopAppDelegate() })
}

/// What developers report about restoration on iOS, as tests of such apps.
@Suite(.serialized)
struct RestorationReportTests {
  /// Opens the sensor's app, and lets the system end it while it is subscribed.
  private func terminate(_ app: InstalledApp, on phone: SimulatedPhone) throws {
    app.open()
    try phone.until("subscribed", limit: .seconds(20)) {
      app.output.contains { $0.line == "subscribed true" }
    }
    app.sendToBackground()
    phone.advance(by: .seconds(10))
    #expect(app.state == .suspended)
    app.terminate(.memoryPressure)
  }

  private func notes(_ app: InstalledApp) -> [String] {
    app.output.filter { $0.launchNumber == app.launches.count }.map(\.line)
  }

  @Test func `An update with another identifier is launched once, and works when it is opened`()
    async throws
  {
    try await SimulatedPhone.run(seed: 81, apps: [.firstVersion]) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.firstVersion]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      phone.advance(by: .seconds(1))
      app.sendToBackground()
      lock.moveOutOfRange()
      phone.advance(by: .minutes(1))
      app.terminate(.memoryPressure)
      phone.install(.secondVersion)
      for _ in 0..<3 {
        lock.moveIntoRange()
        phone.advance(by: .minutes(10))
        lock.moveOutOfRange()
        phone.advance(by: .minutes(10))
      }
      #expect(app.launches.count == 2)
      #expect(app.launches.last?.bluetoothCentrals == ["first"])
      #expect(phone.reports.contains { $0.contains("a manager that it didn't make") })
      lock.moveIntoRange()
      app.open()
      phone.advance(by: .seconds(20))
      #expect(lock.isConnected)
      #expect(app.state == .active)
    }
  }

  @Test func `An app that crashes in willRestoreState is restored by the next event`() async throws
  {
    try await SimulatedPhone.run(seed: 82, apps: [.aborting]) { phone in
      let sensor = Sensor(of: phone)
      let app = phone[.aborting]
      try terminate(app, on: phone)
      sensor.send(1)
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == 2)
      #expect(app.exits.map(\.signal) == [SIGABRT])
      #expect(app.unhandledEventCount == 1)
      sensor.send(2)
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == 3)
      #expect(notes(app) == ["restored, notifying true", "value 2"])
      #expect(app.state == .suspended)
    }
  }

  @Test func `A manager in a global on its own queue is restored, and gets its values in order`()
    async throws
  {
    try await SimulatedPhone.run(seed: 83, apps: [.sensor]) { phone in
      let sensor = Sensor(of: phone)
      let app = phone[.sensor]
      try terminate(app, on: phone)
      for number in 1...5 { sensor.send(UInt8(number)) }
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == 2)
      #expect(notes(app) == ["restored, notifying true"] + (1...5).map { "value \($0)" })
    }
  }

  @Test func `A peripheral whose services changed meanwhile is reported, and subscribed again`()
    async throws
  {
    try await SimulatedPhone.run(seed: 84, apps: [.sensor]) { phone in
      let sensor = Sensor(of: phone)
      let app = phone[.sensor]
      try terminate(app, on: phone)
      sensor.replaceService()
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == 2)
      #expect(notes(app).first?.hasPrefix("restored") == true)
      #expect(notes(app).dropFirst().first?.hasPrefix("modified") == true)
      #expect(notes(app).last == "subscribed true")
      sensor.send(7)
      phone.advance(by: .minutes(1))
      #expect(notes(app).last == "value 7")
      #expect(app.state == .suspended)
    }
  }

  @Test func `A subscription ends with its connection, and the app makes it again in each process`()
    async throws
  {
    try await SimulatedPhone.run(seed: 85, apps: [.sensor]) { phone in
      let sensor = Sensor(of: phone)
      let app = phone[.sensor]
      try terminate(app, on: phone)
      sensor.move(to: 100_000, of: phone)
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == 2)
      #expect(notes(app).last == "disconnected")
      app.terminate(.memoryPressure)
      sensor.move(to: 1, of: phone)
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == 3)
      #expect(
        notes(app) == ["restored, notifying false", "connected", "subscribed true"])
      app.terminate(.memoryPressure)
      sensor.send(9)
      phone.advance(by: .minutes(1))
      #expect(notes(app) == ["restored, notifying true", "value 9"])
    }
  }

  @Test func `The unchanged delegate of a shop greets a visitor whose app doesn't run`()
    async throws
  {
    try await SimulatedPhone.run(seed: 86, apps: [.shop]) { phone in
      let app = phone[.shop]
      let uuid = BluetoothUUID(high: 0x8D84_7D20_0116_435F, low: 0x9A21_2FA7_9A70_6D9E)
      phone.radio.withWorld {
        _ = $0.addBeacon(uuid: uuid, major: 1, minor: 1, at: Position(x: 1, y: 0))
      }
      phone.position = Position(x: 100_000, y: 0)
      app.open()
      phone.advance(by: .seconds(10))
      app.sendToBackground()
      phone.advance(by: .minutes(1))
      app.terminate(.memoryPressure)
      phone.position = Position(x: 0, y: 0)
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == 2)
      #expect(app.launchOptions?[.location] as? Bool == true)
      #expect(app.callbackNames.contains("didEnterRegion"))
      #expect(app.alerts.count == 1)
      #expect(app.state == .suspended)
      let alert = try #require(app.alerts.first)
      app.open(alert)
      phone.position = Position(x: 100_000, y: 0)
      phone.advance(by: .minutes(5))
      #expect(app.callbackNames.contains("didReceive(response)"))
      // Its goodbye.
      #expect(
        app.callbackNames.suffix(3) == [
          "didExitRegion", "didDetermineState", "willPresent(notification)",
        ])
      #expect(app.callbackNames.count { $0 == "didExitRegion" } == 1)
    }
  }
}
