internal import BonjourHost
internal import DNSWire
internal import DiscoveryMachines
internal import Essentials
internal import Synchronization

/// The services of one type, with interfaces and TXT records. Releasing it ends the search.
final class ServiceCatalogue: Sendable {
  /// The present results, and the changes since the previous snapshot.
  struct Snapshot: Sendable {
    var results: Set<NWBrowser.Result>
    var changes: Set<NWBrowser.Result.Change>
  }

  private struct Entry {
    var interfaces: Set<InterfaceIndex> = []
    var text: TXTRecord?
    var textQuery: (any Sendable & AnyObject)?
    var textTimer: (any Sendable & AnyObject)?
    /// Whether it is reported although its TXT record is not known.
    var isDue = false
    /// The last reported result.
    var reported: NWBrowser.Result?
  }

  private struct State {
    var entries: [ServiceName: Entry] = [:]
    var results: Set<NWBrowser.Result> = []
    var query: (any Sendable & AnyObject)?
  }

  private let discovery: any DiscoveryProvider
  private let wantsText: Bool
  private let required: InterfaceIndex?
  private let prohibited: Set<InterfaceIndex>
  private let outbox: Outbox<Result<Snapshot, NWError>>
  private let state = Mutex(State())

  /// - Parameter onChange: Called with all results after each change, serially.
  init(
    _ request: QueryRequest, wantsText: Bool, _ parameters: NWParameters,
    _ discovery: any DiscoveryProvider,
    onChange: @escaping @Sendable (Result<Snapshot, NWError>) -> Void
  ) {
    self.discovery = discovery
    self.wantsText = wantsText
    outbox = Outbox(onValue: onChange)
    required = InterfaceIndex(parameters.requiredInterface)
    prohibited = parameters.prohibitedIndices
    let batches = EventBatches { [weak self] in self?.take($0) }
    let query = discovery.startQuery(request, on: required) { batches.take($0) }
    state.withLock { $0.query = query }
  }

  private func take(_ events: [FoundEvent]) {
    var new: [ServiceName] = []
    var old: [Entry?] = []
    state.withLock { state in
      var touched: [ServiceName] = []
      for event in events {
        switch event.event {
        case .failed(let error): outbox.put(.failure(NWError(error)))
        case .serviceAdded(let name):
          guard let index = event.interface, !prohibited.contains(index) else { continue }
          if wantsText, state.entries[name] == nil { new.append(name) }
          state.entries[name, default: Entry()].interfaces.insert(index)
          touched.append(name)
        case .serviceRemoved(let name):
          guard let index = event.interface else { continue }
          state.entries[name]?.interfaces.remove(index)
          touched.append(name)
        default: continue
        }
      }
      notify(of: touched, &state)
      for name in touched where state.entries[name]?.interfaces.isEmpty == true {
        // Released outside the lock.
        old.append(state.entries.removeValue(forKey: name))
      }
    }
    outbox.send()
    for name in new { follow(name) }
  }

  /// Queries the TXT record of a service.
  private func follow(_ name: ServiceName) {
    let query = discovery.startQuery(.records(name.name, .txt), on: required) { [weak self] event in
      guard case .recordAdded(let record) = event.event, case .txt(let text) = record.data else {
        return
      }
      self?.change(name) { $0.text = text }
    }
    let timer = discovery.after(seconds: QuerierLimits.textTimeout.seconds) { [weak self] in
      self?.change(name) { $0.isDue = true }
    }
    state.withLock { state in
      state.entries[name]?.textQuery = query
      state.entries[name]?.textTimer = timer
    }
  }

  private func change(_ name: ServiceName, _ change: (inout Entry) -> Void) {
    state.withLock { state in
      guard var entry = state.entries[name] else { return }
      change(&entry)
      state.entries[name] = entry
      notify(of: [name], &state)
    }
    outbox.send()
  }

  /// Adds the changes since the last report to the outbox.
  private func notify(of names: [ServiceName], _ state: inout State) {
    var changes: Set<NWBrowser.Result.Change> = []
    for name in names {
      let old = state.entries[name]?.reported
      let new = state.entries[name].flatMap { result(name, $0) }
      guard old != new else { continue }
      if let old { state.results.remove(old) }
      if let new { state.results.insert(new) }
      state.entries[name]?.reported = new
      changes.insert(NWBrowser.Result.Change(between: old, new))
    }
    guard !changes.isEmpty else { return }
    outbox.put(.success(Snapshot(results: state.results, changes: changes)))
  }

  private func result(_ name: ServiceName, _ entry: Entry) -> NWBrowser.Result? {
    guard !entry.interfaces.isEmpty, !wantsText || entry.text != nil || entry.isDue else {
      return nil
    }
    return NWBrowser.Result(
      endpoint: NWEndpoint(name, on: nil),
      interfaces: entry.interfaces.sorted().compactMap { NWInterface($0) },
      metadata: entry.text.map { .bonjour(NWTXTRecord($0)) } ?? .none)
  }
}
