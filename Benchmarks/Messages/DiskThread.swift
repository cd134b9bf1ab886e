import Foundation
import MessagingHost
import Synchronization
import XMPPMachines

/// Writes one transaction of a store at a time, while its caller does something else.
final class DiskThread: Sendable {
  private let store: MessageStore
  private let queue = DispatchQueue(label: "disk")
  private let failure = Mutex<StoreError?>(nil)

  init(_ store: MessageStore) { self.store = store }

  func write(_ changes: [MessageChange]) {
    queue.async { [self] in
      do throws(StoreError) {
        try store.apply(changes)
      } catch {
        failure.withLock { $0 = error }
      }
    }
  }

  /// Returns when everything is on the disk.
  func finish() throws(StoreError) {
    queue.sync {}
    if let error = failure.withLock({ $0 }) { throw error }
  }
}
