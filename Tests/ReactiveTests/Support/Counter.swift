import Reactive
import Synchronization

/// Counts from any thread.
final class Counter: Sendable {
  private let count = Synchronization.Atomic(0)

  var value: Int { count.load(ordering: .sequentiallyConsistent) }

  func increment() {
    count.wrappingAdd(1, ordering: .sequentiallyConsistent)
  }
}

/// Collects from any thread.
final class Log<Entry: Sendable>: Sendable {
  private let storage = LockedValue<[Entry]>([])

  var entries: [Entry] { storage.value }

  func removeAll() {
    storage.value = []
  }

  func append(_ entry: Entry) {
    storage.modify { $0.append(entry) }
  }
}
