import CoreBluetooth
import CoreLocation

/// A device that is the beacon of an exhibit, as on iOS: Core Location makes the data, Core Bluetooth
/// advertises it.
class ExhibitBeacon: NSObject, CBPeripheralManagerDelegate {
  private(set) var isAdvertising = false
  private let region: CLBeaconRegion
  private let measuredPower: NSNumber?
  private var peripheralManager: CBPeripheralManager!

  init(room: CLBeaconMajorValue, exhibit: CLBeaconMinorValue, measuredPower: NSNumber? = nil) {
    region = CLBeaconRegion(
      uuid: MuseumGuide.beaconUUID, major: room, minor: exhibit, identifier: "exhibit")
    self.measuredPower = measuredPower
    super.init()
    peripheralManager = CBPeripheralManager(delegate: self, queue: nil, options: nil)
  }

  func stop() {
    peripheralManager.stopAdvertising()
    isAdvertising = false
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let data = region.peripheralData(withMeasuredPower: measuredPower)
    peripheral.startAdvertising(data as? [String: Any])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: Error?) {
    isAdvertising = error == nil
  }
}
