import CoreBluetooth.CBCentralManager
import CoreBluetooth.CBUUID

/// Code that follows a strap by observing properties as apps do.
class ObservedStrap: NSObject {
  private let lock = NSLock()
  private var seen: [Int] = []
  private var stateToken: NSKeyValueObservation?

  /// The raw values of the states that were seen.
  var states: [Int] { lock.withLock { seen } }

  /// The identifier, read by key-value coding as in old code.
  func identifier(of peripheral: CBPeripheral) -> NSUUID? {
    peripheral.value(forKey: "identifier") as? NSUUID
  }

  func follow(_ peripheral: CBPeripheral) {
    stateToken = peripheral.observe(\.state, options: [.initial, .new]) {
      [weak self] peripheral, _ in
      guard let self else { return }
      lock.withLock { self.seen.append(peripheral.state.rawValue) }
    }
  }

  func unfollow() {
    stateToken?.invalidate()
    stateToken = nil
  }
}
