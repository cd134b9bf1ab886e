import DiscoveryMachines
import Essentials
import EventLoop

/// Asks the system's resolver for what queries of a host need. Confined to one event loop.
final class SystemResolver {
  /// Called with the events of a query, and whether more follow immediately.
  typealias Report = (QueryID, QueryEvent, Bool) -> Void

  private let loop: EpollLoop
  private let report: Report
  private var queries: [QueryID: UnicastAddresses] = [:]
  private lazy var timer = loop.makeTimer { [weak self] in self?.wake() }

  init(on loop: EpollLoop, report: @escaping Report) {
    self.loop = loop
    self.report = report
  }

  /// Starts a query. False if it is not for the system's resolver.
  func start(_ id: QueryID, _ request: QueryRequest, _ options: QueryOptions) -> Bool {
    guard let query = UnicastAddresses(request, options) else { return false }
    queries[id] = query
    handle(.begun, of: id)
    return true
  }

  /// Ends a query. False if there is none.
  func stop(_ id: QueryID) -> Bool {
    guard queries.removeValue(forKey: id) != nil else { return false }
    schedule()
    return true
  }

  /// Ends all queries.
  func stopAll() {
    queries = [:]
    schedule()
  }

  private func handle(_ event: UnicastAddresses.Event, of id: QueryID) {
    var actions: [UnicastAddresses.Action] = []
    // It may have ended while the resolver was asked.
    guard queries[id]?.handle(event, now: .now, into: &actions) != nil else { return }
    perform(actions, of: id)
    schedule()
  }

  private func wake() {
    for id in queries.keys {
      var actions: [UnicastAddresses.Action] = []
      queries[id]?.wake(now: .now, into: &actions)
      perform(actions, of: id)
    }
    schedule()
  }

  private func perform(_ actions: [UnicastAddresses.Action], of id: QueryID) {
    for action in actions {
      switch action {
      case .lookUp(let host):
        NameLookup.addresses(of: host, port: 0, on: loop) { [weak self] found in
          let addresses = found?.compactMap(\.internetAddress)
          self?.handle(addresses.map { .answered($0) } ?? .busy, of: id)
        }
      case .deliver(let event, let moreComing):
        if case .failed = event { queries[id] = nil }
        report(id, event, moreComing)
      }
    }
  }

  private func schedule() {
    if let wake = queries.values.compactMap(\.nextWake).min() {
      timer.set(wake)
    } else {
      timer.cancel()
    }
  }
}
