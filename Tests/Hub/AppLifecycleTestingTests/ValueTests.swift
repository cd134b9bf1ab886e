import AppLifecycleTesting
import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Testing

/// An app that subscribes to a counter and notes its values.
private final class CounterManager: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  private var central: CBCentralManager?
  private var peripheral: CBPeripheral?

  override init() {
    super.init()
    central = CBCentralManager(
      delegate: self, queue: DispatchQueue(label: "counter"),
      options: [CBCentralManagerOptionRestoreIdentifierKey: "counter"])
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    peripheral = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first
    peripheral?.delegate = self
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn, peripheral == nil else { return }
    central.scanForPeripherals(withServices: [CBUUID(string: "FFE0")])
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
    peripheral.discoverServices(nil)
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) { AppNotes.write("ended \((error as? CBError)?.code.rawValue ?? 0)") }

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
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    if let value = characteristic.value?.first { AppNotes.write("\(value)") }
  }
}

@Suite(.serialized)
struct ValueTests {
  /// A device that sends a number each second, one higher than the last.
  private func addCounter(to phone: SimulatedPhone) {
    _ = phone.addDevice(named: "Counter") { device in
      var count: UInt8 = 0
      let value = device.addService(0xFFE0).addCharacteristic(0xFFE1, [.notify])
      device.every(.seconds(1)) {
        guard !value.subscribers.isEmpty else { return }
        count &+= 1
        value.notify([count])
      }
    }
  }

  private static let counter = SimulatedApp(
    "com.example.counter", infoPlist: ["UIBackgroundModes": ["bluetooth-central"]]
  ) { _ in CounterManager() }
  private static let foregroundCounter = SimulatedApp("com.example.counter") { _ in
    CounterManager()
  }

  private func values(of app: InstalledApp, _ isolation: SimulatedPhone.Isolation) -> [UInt8] {
    AppNotes.all(of: app, isolation).compactMap { UInt8($0) }
  }

  @Test(arguments: isolations)
  func `Values reach the processes of an app in their order, each one once`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 21, apps: [Self.counter], isolation: isolation) { phone in
      AppNotes.reset()
      addCounter(to: phone)
      let app = phone[Self.counter]
      app.open()
      phone.advance(by: .seconds(10))
      #expect(values(of: app, isolation).count > 5)
      app.sendToBackground()
      for _ in 0..<5 {
        phone.advance(by: .seconds(7))
        #expect(app.state == .suspended)
        app.terminate(.memoryPressure)
      }
      phone.advance(by: .seconds(7))
      app.open()
      let received = values(of: app, isolation)
      #expect(received.count > 45)
      #expect(received == Array(1...UInt8(received.count)))
      #expect(app.launches.count == 6)
      #expect(app.unhandledEventCount == 0)
    }
  }

  @Test(arguments: isolations)
  func `Values wait for an app without the mode, and too many of them end the link`(
    _ isolation: SimulatedPhone.Isolation
  )
    async throws
  {
    try await SimulatedPhone.run(seed: 22, apps: [Self.foregroundCounter], isolation: isolation) {
      phone in
      AppNotes.reset()
      addCounter(to: phone)
      let app = phone[Self.foregroundCounter]
      app.open()
      phone.advance(by: .seconds(10))
      let before = values(of: app, isolation).count
      app.sendToBackground()
      phone.advance(by: .seconds(100))
      #expect(values(of: app, isolation).count == before)
      #expect(app.waitingEventCount == 100)
      app.open()
      #expect(values(of: app, isolation) == Array(1...UInt8(before + 100)))

      app.sendToBackground()
      phone.advance(by: .minutes(20))
      #expect(app.waitingEventCount == 961)
      #expect(app.connectionCount == 0)
      #expect(phone.reports.contains { $0.contains("Too many values waited") })
      app.open()
      #expect(app.callbackNames.last == "didDisconnect")
      let code = CBError.Code.leGattExceededBackgroundNotificationLimit.rawValue
      #expect(AppNotes.all(of: app, isolation).last == "ended \(code)")
    }
  }
}
