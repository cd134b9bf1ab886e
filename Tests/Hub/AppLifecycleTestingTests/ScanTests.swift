import AppLifecycleTesting
import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Testing

/// An app that scans, with duplicates.
private final class ScanManager: NSObject, CBCentralManagerDelegate {
  private var central: CBCentralManager?
  private let services: [CBUUID]?

  init(_ services: [CBUUID]?) {
    self.services = services
    super.init()
    central = CBCentralManager(
      delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "scan"])
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {}

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn, !central.isScanning else { return }
    central.scanForPeripherals(
      withServices: services, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi: NSNumber
  ) { AppNotes.write("\(peripheral.identifier)") }
}

@Suite(.serialized)
struct ScanTests {
  private static let modes = ["UIBackgroundModes": ["bluetooth-central"]]
  private static let filtered = SimulatedApp("com.example.scan", infoPlist: modes) { _ in
    ScanManager([CBUUID(string: "FFC0")])
  }
  private static let unfiltered = SimulatedApp("com.example.scan", infoPlist: modes) { _ in
    ScanManager(nil)
  }

  private func addTag(to phone: SimulatedPhone) -> SimulatedDevice {
    phone.addDevice(named: "Tag", at: Position(x: 100_000, y: 0)) { tag in
      tag.addService(0xFFC0).addCharacteristic(0xFFC1, [.read])
    }
  }

  private func discoveryCount(_ app: InstalledApp) -> Int {
    app.callbacks.count { $0.name == "didDiscover" }
  }

  @Test(arguments: isolations)
  func `A discovery launches an app that scans for services, without duplicates`(
    _ isolation: SimulatedPhone.Isolation
  )
    async throws
  {
    try await SimulatedPhone.run(seed: 41, apps: [Self.filtered], isolation: isolation) { phone in
      let app = phone[Self.filtered]
      let tag = addTag(to: phone)
      app.open()
      phone.advance(by: .seconds(5))
      app.sendToBackground()
      phone.advance(by: .seconds(5))
      app.terminate(.memoryPressure)
      phone.advance(by: .hours(1))
      #expect(app.isScanning)
      #expect(app.launches.count == 1)
      phone.radio.withWorld { _ in tag.controller.position = Position(x: 1, y: 0) }
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == 2)
      #expect(app.launches.last?.bluetoothCentrals == ["scan"])
      #expect((1...4).contains(discoveryCount(app)))
      #expect(app.state == .suspended)
      let before = discoveryCount(app)
      app.open()
      phone.advance(by: .seconds(10))
      #expect(discoveryCount(app) > before + 20)
    }
  }

  @Test(arguments: isolations) func `A scan without services finds nothing in the background`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 42, apps: [Self.unfiltered], isolation: isolation) { phone in
      let app = phone[Self.unfiltered]
      let tag = addTag(to: phone)
      phone.radio.withWorld { _ in tag.controller.position = Position(x: 1, y: 0) }
      app.open()
      phone.advance(by: .seconds(5))
      #expect(discoveryCount(app) > 10)
      app.sendToBackground()
      phone.advance(by: .seconds(1))
      let before = discoveryCount(app)
      phone.advance(by: .minutes(10))
      #expect(!app.isScanning)
      #expect(discoveryCount(app) == before)
      app.open()
      phone.advance(by: .seconds(5))
      #expect(discoveryCount(app) > before + 10)
    }
  }

  private static let other = SimulatedApp("com.example.other-scan", infoPlist: modes) { _ in
    ScanManager([CBUUID(string: "FFC9")])
  }

  /// How many of twenty tags, which advertise once a second, are found in their first three seconds.
  private func foundTagCount(
    of app: InstalledApp, _ round: String, on phone: SimulatedPhone
  ) -> Int {
    func names() -> Set<String> { Set(AppNotes.all(of: app, .process)) }
    let before = names()
    for number in 0..<20 {
      _ = phone.addDevice(named: "\(round) \(number)") { tag in
        tag.advertisingInterval = .seconds(1)
        tag.addService(0xFFC0).addCharacteristic(0xFFC1, [.read])
      }
    }
    phone.advance(by: .seconds(3))
    return names().subtracting(before).count
  }

  @Test func `The radio scans less often while all apps that scan are in the background`()
    async throws
  {
    let apps = [Self.filtered, Self.other]
    try await SimulatedPhone.run(seed: 43, apps: apps) { phone in
      let app = phone[Self.filtered]
      app.open()
      phone.advance(by: .seconds(1))
      #expect(foundTagCount(of: app, "foreground", on: phone) >= 18)
      app.sendToBackground()
      phone.advance(by: .seconds(5))
      #expect(foundTagCount(of: app, "background", on: phone) <= 8)
      // Another app that scans in the foreground has the radio scan for both.
      phone[Self.other].open()
      phone.advance(by: .seconds(5))
      #expect(foundTagCount(of: app, "shared", on: phone) >= 18)
      phone[Self.other].sendToBackground()
      phone.advance(by: .seconds(5))
      #expect(foundTagCount(of: app, "background again", on: phone) <= 8)
    }
  }
}
