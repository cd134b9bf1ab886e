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
  private let storage = Mutex<[Entry]>([])

  var entries: [Entry] { storage.withLock { $0 } }

  func removeAll() {
    storage.withLock { $0 = [] }
  }

  func append(_ entry: Entry) {
    storage.withLock { $0.append(entry) }
  }
}
