import AppLifecycle
import CoreBluetooth

/// An app that unlocks a door when its owner comes near, also days after the system has ended it.
class LockAppDelegate: UIResponder, UIApplicationDelegate {
  var window: UIWindow?
  private(set) var lockManager: LockManager!

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    lockManager = LockManager()
    if let centrals = launchOptions?[UIApplication.LaunchOptionsKey.bluetoothCentrals] as? [String],
      centrals.contains(LockManager.restoreIdentifier)
    {
      lockManager.log.append("launched for Bluetooth")
    }
    return true
  }

  func applicationDidEnterBackground(_ application: UIApplication) {
    lockManager.log.append("background")
  }

  func applicationDidBecomeActive(_ application: UIApplication) {
    lockManager.log.append("active")
  }
}

class LockManager: NSObject {
  static let restoreIdentifier = "com.example.lock.central"
  static let service = CBUUID(string: "1815")
  static let control = CBUUID(string: "2A56")

  var log: [String] = []
  private var central: CBCentralManager!
  private var lock: CBPeripheral?
  private var backgroundTask: UIBackgroundTaskIdentifier = .invalid

  override init() {
    super.init()
    central = CBCentralManager(
      delegate: self, queue: nil,
      options: [CBCentralManagerOptionRestoreIdentifierKey: LockManager.restoreIdentifier])
  }

  private func beginUnlocking() {
    guard backgroundTask == .invalid else { return }
    backgroundTask = UIApplication.shared.beginBackgroundTask(withName: "Unlock") { [weak self] in
      self?.endUnlocking()
    }
  }

  private func endUnlocking() {
    guard backgroundTask != .invalid else { return }
    UIApplication.shared.endBackgroundTask(backgroundTask)
    backgroundTask = UIBackgroundTaskIdentifier.invalid
  }
}

extension LockManager: CBCentralManagerDelegate {
  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    log.append("restored \(restored.count)")
    lock = restored.first
    lock?.delegate = self
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    if let lock = lock {
      if lock.state != .connected { central.connect(lock, options: nil) }
    } else {
      central.scanForPeripherals(withServices: [LockManager.service], options: nil)
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    central.stopScan()
    lock = peripheral
    peripheral.delegate = self
    central.connect(
      peripheral, options: [CBConnectPeripheralOptionNotifyOnConnectionKey: true])
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    beginUnlocking()
    peripheral.discoverServices([LockManager.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?
  ) {
    endUnlocking()
    log.append("left")
    // A connection that is requested has no end: it is established when the lock is near again.
    central.connect(peripheral, options: nil)
  }
}

extension LockManager: CBPeripheralDelegate {
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    for service in peripheral.services ?? [] where service.uuid == LockManager.service {
      peripheral.discoverCharacteristics([LockManager.control], for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?
  ) {
    guard let control = service.characteristics?.first else { return endUnlocking() }
    peripheral.writeValue(Data([1]), for: control, type: .withResponse)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?
  ) {
    let remaining = UIApplication.shared.backgroundTimeRemaining
    let place = UIApplication.shared.applicationState == .background ? "background" : "foreground"
    precondition(place == "background" || remaining == .greatestFiniteMagnitude)
    log.append(error == nil ? "unlocked in the \(place)" : "failed")
    endUnlocking()
  }
}
