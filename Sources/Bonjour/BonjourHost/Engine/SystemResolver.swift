import DiscoveryMachines
import Essentials
import EventLoop

/// Asks the system's resolver for what queries of a host need. Confined to one event loop.
final class SystemResolver {
  /// Called with the events of a query, and whether more follow immediately.
  typealias Report = (QueryID, QueryEvent, Bool) -> Void

  private let loop: EpollLoop
  private let report: Report
  private var runner = MachineRunner(UnicastQueries())
  private var isPerforming = false

  init(on loop: EpollLoop, report: @escaping Report) {
    self.loop = loop
    self.report = report
  }

  /// Starts a query. False if it is not for the system's resolver.
  func start(_ id: QueryID, _ request: QueryRequest, _ options: QueryOptions) -> Bool {
    guard let query = UnicastAddresses(request, options) else { return false }
    handle(.started(id, query))
    return true
  }

  /// Ends a query. False if there is none.
  func stop(_ id: QueryID) -> Bool {
    guard runner.machine.contains(id) else { return false }
    handle(.stopped(id))
    return true
  }

  /// Ends all queries.
  func stopAll() { handle(.allStopped) }

  private func handle(_ event: UnicastQueries.Event) {
    runner.handle(event, now: .now)
    perform()
  }

  private func wake() {
    runner.wake(now: .now)
    perform()
  }

  private func perform() {
    guard !isPerforming else { return }
    isPerforming = true
    // Answers may come, and clients may begin queries, meanwhile.
    while case let actions = runner.takeActions(), !actions.isEmpty {
      for action in actions { perform(action) }
    }
    isPerforming = false
    runner.setTimer(now: .now, loop.makeTimer { [weak self] in self?.wake() })
  }

  private func perform(_ action: UnicastQueries.Action) {
    switch action {
    case .lookUp(let host, let id):
      NameLookup.addresses(of: host, port: 0, on: loop) { [weak self] found in
        let addresses = found?.compactMap(\.internetAddress)
        self?.handle(addresses.map { .answered(id, $0) } ?? .busy(id))
      }
    case .deliver(let id, let event, let moreComing): report(id, event, moreComing)
    }
  }
}
