import AppLifecycleTesting
import BluetoothWire
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Testing

/// An app with two managers, each of which stays connected with a device of its own, and notes its callbacks.
private final class TwoManagers: NSObject, CBCentralManagerDelegate {
  private var centrals: [String: CBCentralManager] = [:]
  private var peripherals: [ObjectIdentifier: CBPeripheral] = [:]

  override init() {
    super.init()
    for name in ["FFA0", "FFB0"] {
      centrals[name] = CBCentralManager(
        delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: name])
    }
  }

  private func note(_ central: CBCentralManager, _ text: String) {
    let name = centrals.first { $0.value === central }?.key ?? "?"
    AppNotes.write("\(name) \(text)")
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    peripherals[ObjectIdentifier(central)] = restored.first
    note(central, "restored \(restored.map(\.state.rawValue))")
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    note(central, "on \(central.state == .poweredOn)")
    guard central.state == .poweredOn, peripherals[ObjectIdentifier(central)] == nil,
      let name = centrals.first(where: { $0.value === central })?.key
    else { return }
    central.scanForPeripherals(withServices: [CBUUID(string: name)])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    central.stopScan()
    peripherals[ObjectIdentifier(central)] = peripheral
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    note(central, "connected")
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {
    note(central, "disconnected")
    central.connect(peripheral)
  }
}

@Suite(.serialized)
struct ManagersTests {
  private static let app = SimulatedApp(
    "com.example.managers", infoPlist: ["UIBackgroundModes": ["bluetooth-central"]]
  ) { _ in TwoManagers() }

  private static let away = Position(x: 100_000, y: 0)
  private static let near = Position(x: 1, y: 0)

  private func move(_ devices: [SimulatedDevice], to position: Position, on phone: SimulatedPhone) {
    phone.radio.withWorld { _ in for device in devices { device.controller.position = position } }
  }

  @Test(arguments: isolations)
  func `A launch names the manager with something to do, and all managers are restored first`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 51, apps: [Self.app], isolation: isolation) { phone in
      AppNotes.reset()
      let app = phone[Self.app]
      let devices = ["A": 0xFFA0, "B": 0xFFB0].sorted { $0.key < $1.key }.map { name, service in
        phone.addDevice(named: name) { _ = $0.addService(.init(UInt16(service))) }
      }
      app.open()
      try phone.until("connected", limit: .seconds(20)) { app.connectionCount == 2 }
      app.sendToBackground()
      move(devices, to: Self.away, on: phone)
      phone.advance(by: .minutes(1))
      app.terminate(.memoryPressure)
      #expect(app.state == .notRunning && app.pendingConnectionCount == 2)
      func newNotes(_ body: () -> Void) -> [String] {
        let count = AppNotes.all(of: app, isolation).count
        body()
        return Array(AppNotes.all(of: app, isolation).dropFirst(count))
      }

      let connecting = CBPeripheralState.connecting.rawValue
      let launched = newNotes {
        move([devices[1]], to: Self.near, on: phone)
        phone.advance(by: .minutes(1))
      }
      #expect(app.launches.last?.bluetoothCentrals == ["FFB0"])
      for name in ["FFA0", "FFB0"] {
        let own = launched.filter { $0.hasPrefix(name) }.map { $0.dropFirst(5) }
        let expected = ["restored [\(connecting)]", "on true"]
        #expect(own == (name == "FFB0" ? expected + ["connected"] : expected).map { $0[...] })
      }

      // The other one wakes the process that is there.
      let woken = newNotes {
        move([devices[0]], to: Self.near, on: phone)
        phone.advance(by: .minutes(1))
      }
      #expect(woken == ["FFA0 connected"])
      #expect(app.launches.count == 2)
      app.terminate(.memoryPressure)

      // The person opens it: no manager is named, and both have their connections.
      let opened = newNotes {
        app.open()
        phone.advance(by: .seconds(1))
      }
      #expect(app.launches.last?.bluetoothCentrals == nil)
      let connected = CBPeripheralState.connected.rawValue
      #expect(
        opened.sorted()
          == ["FFA0", "FFB0"].flatMap {
            ["\($0) on true", "\($0) restored [\(connected)]"]
          })
    }
  }
}
