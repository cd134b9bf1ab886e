internal import BonjourHost
internal import DiscoveryMachines
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

extension [FoundEvent] {
  /// What it comes to: without what came and went, or went and came back.
  var withoutDetours: [FoundEvent] {
    var kept: [FoundEvent?] = []
    var places: [FoundEvent: Int] = [:]
    for event in self {
      let subject = FoundEvent(
        event: event.event.addition, interface: event.interface, moreComing: false)
      if let place = places[subject], let earlier = kept[place] {
        guard earlier.event != event.event else { continue }
        kept[place] = nil
        places[subject] = nil
      } else {
        places[subject] = kept.count
        kept.append(event)
      }
    }
    return kept.compactMap { $0 }
  }
}

extension QueryEvent {
  /// The event by which what is gone was there; any other event itself.
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
