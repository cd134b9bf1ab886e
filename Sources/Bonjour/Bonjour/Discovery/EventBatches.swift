internal import BonjourHost
internal import Synchronization

/// Hands on what a query is told in batches: all that came together at once.
final class EventBatches: Sendable {
  private let pending = Mutex<[FoundEvent]>([])
  private let onBatch: @Sendable ([FoundEvent]) -> Void

  /// - Parameter onBatch: Called where the events come from, with one event at least.
  init(onBatch: @escaping @Sendable ([FoundEvent]) -> Void) { self.onBatch = onBatch }

  func take(_ event: FoundEvent) {
    let batch = pending.withLock { pending -> [FoundEvent]? in
      pending.append(event)
      // One that never ends is handed on in parts.
      guard !event.moreComing || pending.count >= Self.batchCountMax else { return nil }
      defer { pending = [] }
      return pending
    }
    if let batch { onBatch(batch) }
  }

  private static let batchCountMax = 10_000
}
