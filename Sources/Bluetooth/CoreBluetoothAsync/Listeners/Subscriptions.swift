internal import CoreBluetooth
internal import Synchronization

/// The characteristics whose values streams and runs observe.
final class Subscriptions: Sendable {
  private struct Entry: Sendable {
    var observerCount = 0
    /// Whether notifications are on, as far as this side turned them on.
    var isOn = false
    /// Whether they are being turned on, or off.
    var change: Bool?
  }

  private let entries = Mutex<[CBCharacteristic: Entry]>([:])

  /// Adds an observer, or removes it, and turns notifications on or off if need be.
  func change(
    _ characteristic: CBCharacteristic, observerCount change: Int, of peripheral: CBPeripheral
  ) {
    entries.withLock { $0[characteristic, default: Entry()].observerCount += change }
    turn(characteristic, of: peripheral)
  }

  /// Starts one change at a time; when it has ended, compares with the number of observers again.
  private func turn(_ characteristic: CBCharacteristic, of peripheral: CBPeripheral) {
    let mustBeOn = entries.withLock { entries -> Bool? in
      guard let entry = entries[characteristic], entry.change == nil else { return nil }
      let mustBeOn = entry.observerCount > 0
      guard mustBeOn != entry.isOn, peripheral.state == .connected else {
        if !mustBeOn { entries[characteristic] = nil }
        return nil
      }
      entries[characteristic]?.change = mustBeOn
      return mustBeOn
    }
    if let mustBeOn { peripheral.setNotifyValue(mustBeOn, for: characteristic) }
  }

  /// Notifications were turned on or off, or could not be.
  func changed(
    _ characteristic: CBCharacteristic, of peripheral: CBPeripheral
  ) {
    let isOwn = entries.withLock { entries in
      guard let change = entries[characteristic]?.change else { return false }
      entries[characteristic]?.change = nil
      // What could not be turned off is not tried again.
      entries[characteristic]?.isOn = change && characteristic.isNotifying
      return true
    }
    // Observers that failed because of the error are removed by now.
    if isOwn { turn(characteristic, of: peripheral) }
  }

  /// A connection has ended, and the subscriptions with it. Over the next one the same characteristic
  /// is another object.
  func reset(of peripheral: CBPeripheral) {
    entries.withLock { entries in
      for (characteristic, entry) in entries where !peripheral.hasDiscovered(characteristic) {
        entries[characteristic] =
          entry.observerCount > 0 ? Entry(observerCount: entry.observerCount) : nil
      }
    }
  }
}
