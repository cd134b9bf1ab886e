import AppLifecycleTesting
import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Synchronization
import Testing

/// The values that the processes of an app have got: as a file would be, they outlive each of them.
private final class ReceivedValues: Sendable {
  private let values = Mutex<[UInt8]>([])

  var all: [UInt8] { values.withLock { $0 } }
  func append(_ value: UInt8) { values.withLock { $0.append(value) } }
}

/// An app that subscribes to a counter and keeps its values.
private final class CounterManager: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  private var central: CBCentralManager?
  private var peripheral: CBPeripheral?
  private let received: ReceivedValues

  init(_ received: ReceivedValues) {
    self.received = received
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
    if let value = characteristic.value?.first { received.append(value) }
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

  private func makeApp(_ received: ReceivedValues, modes: [String]) -> SimulatedApp {
    SimulatedApp("com.example.counter", infoPlist: ["UIBackgroundModes": modes]) { _ in
      CounterManager(received)
    }
  }

  @Test func `Values reach the processes of an app in their order, each one once`() async throws {
    let received = ReceivedValues()
    let counter = makeApp(received, modes: ["bluetooth-central"])
    try await SimulatedPhone.run(seed: 21, apps: [counter]) { phone in
      addCounter(to: phone)
      let app = phone[counter]
      app.open()
      phone.advance(by: .seconds(10))
      #expect(received.all.count > 5)
      app.sendToBackground()
      for _ in 0..<5 {
        phone.advance(by: .seconds(7))
        #expect(app.state == .suspended)
        app.terminate(.memoryPressure)
      }
      phone.advance(by: .seconds(7))
      app.open()
      #expect(received.all.count > 45)
      #expect(received.all == Array(1...UInt8(received.all.count)))
      #expect(app.launches.count == 6)
      #expect(app.unhandledEventCount == 0)
    }
  }

  @Test func `Values wait for an app without the mode, and too many of them end the link`()
    async throws
  {
    let received = ReceivedValues()
    let counter = makeApp(received, modes: [])
    try await SimulatedPhone.run(seed: 22, apps: [counter]) { phone in
      addCounter(to: phone)
      let app = phone[counter]
      app.open()
      phone.advance(by: .seconds(10))
      let before = received.all.count
      app.sendToBackground()
      phone.advance(by: .seconds(100))
      #expect(received.all.count == before)
      #expect(app.waitingEventCount == 100)
      app.open()
      #expect(received.all == Array(1...UInt8(before + 100)))

      app.sendToBackground()
      phone.advance(by: .minutes(20))
      #expect(app.waitingEventCount == 961)
      #expect(app.connectionCount == 0)
      #expect(phone.reports.contains { $0.contains("Too many values waited") })
      app.open()
      #expect(app.callbackNames.last == "didDisconnect")
    }
  }
}
