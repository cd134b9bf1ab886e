import DiscoveryMachines
import Essentials
import EventLoop

/// Asks the system's resolver for what queries of a host need. Confined to one event loop.
final class SystemResolver {
  /// Called with the events of a query, and whether more follow immediately.
  typealias Report = (QueryID, QueryEvent, Bool) -> Void

  private let loop: EpollLoop
  private let report: Report
  private var queries = UnicastQueries()
  /// What is still to be done. Answers may come, and clients may begin queries, meanwhile.
  private var actions: [UnicastQueries.Action] = []
  private var isPerforming = false
  private lazy var timer = loop.makeTimer { [weak self] in self?.wake() }
  private var timerSetFor: Instant?

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
    guard queries.contains(id) else { return false }
    handle(.stopped(id))
    return true
  }

  /// Ends all queries.
  func stopAll() { handle(.allStopped) }

  private func handle(_ event: UnicastQueries.Event) {
    queries.handle(event, now: .now, into: &actions)
    perform()
  }

  private func wake() {
    timerSetFor = nil
    queries.wake(now: .now, into: &actions)
    perform()
  }

  private func perform() {
    guard !isPerforming else { return }
    isPerforming = true
    var index = 0
    while index < actions.count {
      perform(actions[index])
      index += 1
    }
    actions.removeAll()
    isPerforming = false
    schedule()
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

  private func schedule() {
    guard queries.nextWake != timerSetFor else { return }
    timerSetFor = queries.nextWake
    if let timerSetFor { timer.set(timerSetFor) } else { timer.cancel() }
  }
}
