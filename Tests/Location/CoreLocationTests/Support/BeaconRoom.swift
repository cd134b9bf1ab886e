import BluetoothHost
import CoreBluetooth
import CoreLocation
import Essentials
import SimulatedRadio
import Simulation
import Synchronization

/// What a location manager's delegate was called with, a line each.
final class LocationRecorder: NSObject, CLLocationManagerDelegate, Sendable {
  private let storage = Mutex<[String]>([])
  let beacons = Mutex<[[CLBeacon]]>([])

  var lines: [String] { storage.withLock { $0 } }

  /// The lines since the last call.
  func take() -> [String] {
    storage.withLock { lines in
      defer { lines = [] }
      return lines
    }
  }

  private func add(_ line: String) { storage.withLock { $0.append(line) } }

  private func text(_ error: any Error) -> String {
    (error as? CLError).map { "\($0.code)" } ?? "\(error)"
  }

  func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
    add("authorization \(manager.authorizationStatus)")
  }
  func locationManager(_ manager: CLLocationManager, didStartMonitoringFor region: CLRegion) {
    add("monitoring \(region.identifier)")
  }
  func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
    add("entered \(region.identifier)")
  }
  func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion) {
    add("exited \(region.identifier)")
  }
  func locationManager(
    _ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion
  ) { add("\(state) \(region.identifier)") }
  func locationManager(
    _ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?,
    withError error: any Error
  ) { add("failed \(region?.identifier ?? "?") \(text(error))") }
  func locationManager(
    _ manager: CLLocationManager, didRange beacons: [CLBeacon],
    satisfying beaconConstraint: CLBeaconIdentityConstraint
  ) {
    self.beacons.withLock { $0.append(beacons) }
    add("ranged \(beacons.map { $0.minor.intValue })")
  }
  func locationManager(
    _ manager: CLLocationManager, didFailRangingFor beaconConstraint: CLBeaconIdentityConstraint,
    error: any Error
  ) { add("ranging failed \(text(error))") }
  func locationManager(
    _ manager: CLLocationManager, didRangeBeacons beacons: [CLBeacon], in region: CLBeaconRegion
  ) { add("ranged \(beacons.map { $0.minor.intValue }) in \(region.identifier)") }
  func locationManager(
    _ manager: CLLocationManager, rangingBeaconsDidFailFor region: CLBeaconRegion,
    withError error: any Error
  ) { add("ranging failed \(text(error)) in \(region.identifier)") }
  func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error) {
    add("failed \(text(error))")
  }
}

/// A phone, and beacons around it, in virtual time.
final class BeaconRoom {
  static let uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

  let radio: VirtualRadio
  let phone: BluetoothHost
  private(set) var beacons: [CBPeripheralManager] = []

  init(seed: UInt64 = 11) {
    var model = RadioModel()
    model.shadowingDB = 0
    model.fadingDB = 0
    model.advertisementLoss = 0
    radio = VirtualRadio(seed: seed, model: model)
    phone = radio.makeHost(name: "phone")
  }

  /// A manager on the phone, on a queue, whose authorization was reported.
  func makeManager(
    _ recorder: LocationRecorder?, policy: LocationPolicy = .always
  ) -> CLLocationManager {
    let manager = BluetoothHost.$current.withValue(phone) {
      LocationPolicy.$override.withValue(policy) {
        CLLocationManager(queue: DispatchQueue(label: "location"))
      }
    }
    manager.delegate = recorder
    radio.advance(by: .seconds(1))
    return manager
  }

  /// A beacon that advertises from now on.
  @discardableResult
  func addBeacon(
    major: UInt16 = 1, minor: UInt16, metres: Double = 2, uuid: UUID = BeaconRoom.uuid
  ) -> CBPeripheralManager {
    let host = radio.makeHost(name: "beacon", at: Position(x: metres, y: 0))
    let beacon = BluetoothHost.$current.withValue(host) {
      CBPeripheralManager(delegate: nil, queue: DispatchQueue(label: "beacon"))
    }
    beacons.append(beacon)
    radio.advance(by: .milliseconds(100))
    let region = CLBeaconRegion(uuid: uuid, major: major, minor: minor, identifier: "beacon")
    beacon.startAdvertising(region.peripheralData(withMeasuredPower: -59) as? [String: Any])
    radio.advance(by: .milliseconds(10))
    return beacon
  }
}
