internal import BonjourHost
internal import DiscoveryMachines
internal import Synchronization

/// Collects the events of a query into batches, each of which ends where no more is coming at once.
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

extension [FoundEvent] {
  /// The events without pairs that cancel out: added and removed, or removed and added.
  var coalesced: [FoundEvent] {
    var kept: [FoundEvent?] = []
    var positions: [FoundEvent: Int] = [:]
    for event in self {
      let subject = FoundEvent(
        event: event.event.addition, interface: event.interface, moreComing: false)
      if let position = positions[subject], let earlier = kept[position] {
        guard earlier.event != event.event else { continue }
        kept[position] = nil
        positions[subject] = nil
      } else {
        positions[subject] = kept.count
        kept.append(event)
      }
    }
    return kept.compactMap { $0 }
  }
}

extension QueryEvent {
  /// For a removal, the corresponding addition; otherwise the event itself.
  fileprivate var addition: QueryEvent {
    switch self {
    case .serviceRemoved(let name): .serviceAdded(name)
    case .typeRemoved(let type): .typeAdded(type)
    case .domainRemoved(let name): .domainAdded(name)
    case .recordAdded, .recordRemoved, .recordAbsent, .serviceAdded, .resolved, .addressAdded,
      .addressRemoved, .addressAbsent, .typeAdded, .domainAdded, .failed:
      self
    }
  }
}
