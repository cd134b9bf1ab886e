import DNSWire
import Essentials

/// A client that resolves a service, on one interface.
struct Resolving: Hashable, Sendable {
  var query: QueryID
  var interface: InterfaceIndex
}

/// How far a client's resolving has come on one interface.
struct Resolution: Sendable {
  /// The last reported resolution.
  var reported: ServiceResolution?
  /// The service record that was chosen where several are equally good.
  var choice: DNSService?
  /// Until when a text is waited for.
  var textDueAt: Instant?
}

extension Querier {
  /// Reports changed resolutions, once for all records that were processed together.
  mutating func settle(now: Instant, into actions: inout [Action]) {
    guard !unsettled.isEmpty else { return }
    var seen: Set<Resolving> = []
    let waiting = unsettled
    unsettled.removeAll(keepingCapacity: true)
    for resolving in waiting where seen.insert(resolving).inserted {
      settle(resolving, now: now, into: &actions)
    }
  }

  private mutating func settle(
    _ resolving: Resolving, now: Instant, into actions: inout [Action]
  ) {
    guard let client = clients[resolving.query], case .resolve(let name) = client.request,
      let position = position(of: resolving.interface)
    else { return }
    var resolution = client.resolutions[resolving.interface] ?? Resolution()
    defer { clients[existing: resolving.query].resolutions[resolving.interface] = resolution }
    let cache = interfaces[position].cache
    let positions = cache.answers(to: QuestionKey(name.name, .srv)).filter { $0.goodbyeAt == nil }
    guard let service = choose(among: positions, &resolution) else {
      resolution.textDueAt = nil
      return
    }
    let textKey = QuestionKey(name.name, .txt)
    var text = Self.newestText(cache.answers(to: textKey).filter { $0.goodbyeAt == nil })
    if text == nil, !cache.denies(textKey) {
      // A service should have a TXT record, and usually it arrives soon (RFC 6763, §6.1).
      let dueAt = resolution.textDueAt ?? now + QuerierLimits.textTimeout
      if resolution.textDueAt == nil { textWaits.insert(resolving, at: dueAt) }
      resolution.textDueAt = dueAt
      guard dueAt <= now else { return }
    }
    text = text ?? TXTRecord()
    let resolved = ServiceResolution(
      name: name, host: service.target, port: service.port, text: text ?? TXTRecord())
    guard resolved != resolution.reported else { return }
    resolution.reported = resolved
    actions.append(
      .deliver(resolving.query, .resolved(resolved), on: resolving.interface, moreComing: true))
  }

  /// The service record to use: of the lowest priority, random according to weight, and the same
  /// as before while it is among those (RFC 2782). Records that are about to end don't count where
  /// there are others.
  private mutating func choose(
    among entries: [RecordCache.Entry], _ resolution: inout Resolution
  ) -> DNSService? {
    let trusted = entries.filter { !$0.isExpiring }
    let services = (trusted.isEmpty ? entries : trusted).compactMap { entry in
      if case .srv(let service) = entry.record.data { service } else { nil }
    }
    let best = services.map(\.priority).min()
    let candidates = services.filter { $0.priority == best }
    if let choice = resolution.choice, candidates.contains(choice) { return choice }
    resolution.choice = weighted(candidates)
    return resolution.choice
  }

  private mutating func weighted(_ candidates: [DNSService]) -> DNSService? {
    guard candidates.count > 1 else { return candidates.first }
    // Those without weight come first and are chosen rarely, as RFC 2782 describes.
    let ordered = candidates.filter { $0.weight == 0 } + candidates.filter { $0.weight > 0 }
    let sum = ordered.reduce(0) { $0 + UInt64($1.weight) }
    let drawn = rng.next(upperBound: sum + 1)
    var running: UInt64 = 0
    for candidate in ordered {
      running += UInt64(candidate.weight)
      if running >= drawn { return candidate }
    }
    assertionFailure("\(drawn) was drawn of weights of \(sum) in all")
    return ordered.last
  }

  private static func newestText(_ entries: [RecordCache.Entry]) -> TXTRecord? {
    let trusted = entries.filter { !$0.isExpiring }
    let newest = (trusted.isEmpty ? entries : trusted).max { $0.receivedAt < $1.receivedAt }
    if case .txt(let text)? = newest?.record.data { return text }
    return nil
  }
}
