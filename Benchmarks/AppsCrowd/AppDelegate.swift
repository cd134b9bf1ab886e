import AppLifecycle
import Bonjour
import CoreBluetooth
import CoreLocation
import Foundation

/// One of many apps of a benchmark: it holds five connections, monitors five regions, and restores its pending
/// connections to devices.
@main
final class AppDelegate: UIResponder, UIApplicationDelegate, @MainActor CBCentralManagerDelegate {
  private var central: CBCentralManager?
  private var peripherals: [CBPeripheral] = []
  private var connections: [NWConnection] = []
  private let location = CLLocationManager()

  private static let uuid = UUID(uuidString: "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0")

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    guard let text = try? String(contentsOfFile: "server", encoding: .utf8),
      let number = UInt16(text), let port = NWEndpoint.Port(rawValue: number), let uuid = Self.uuid
    else { return false }
    central = CBCentralManager(
      delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "crowd"])
    location.requestAlwaysAuthorization()
    for number in 0..<5 {
      let parameters = NWParameters.tcp
      parameters.restoreIdentifier = "\(number)"
      let connection = NWConnection(host: "127.0.0.1", port: port, using: parameters)
      connections.append(connection)
      connection.start(queue: .main)
      connection.receive(minimumIncompleteLength: 1, maximumLength: 1) { _, _, _, _ in }
      location.startMonitoring(
        for: CLBeaconRegion(uuid: uuid, major: UInt16(number), identifier: "\(number)"))
    }
    return true
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {}
}
