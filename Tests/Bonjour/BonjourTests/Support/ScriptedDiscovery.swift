import BonjourHost
import Connections
import DNSWire
import DiscoveryMachines
import Essentials
import Synchronization

@testable import Bonjour

/// A network whose events a test sends, at the time of its choice.
final class ScriptedDiscovery: DiscoveryProvider {
  /// Something that goes on until it is let go of.
  final class Token: DiscoveryRegistration {
    let isLive: Liveness
    private let onUpdate: @Sendable (TXTRecord) -> Void

    init(_ isLive: Liveness, onUpdate: @escaping @Sendable (TXTRecord) -> Void = { _ in }) {
      self.isLive = isLive
      self.onUpdate = onUpdate
    }

    deinit { isLive.end() }

    func update(_ text: TXTRecord) { onUpdate(text) }
  }

  /// Whether a token is still held.
  final class Liveness: Sendable {
    private let value = Mutex(true)
    private let onEnd: @Sendable () -> Void
    init(onEnd: @escaping @Sendable () -> Void = {}) { self.onEnd = onEnd }
    var isLive: Bool { value.withLock { $0 } }
    func end() {
      value.withLock { $0 = false }
      onEnd()
    }
  }

  private struct Search {
    var request: QueryRequest
    var interface: InterfaceIndex?
    var onEvent: @Sendable (FoundEvent) -> Void
    var liveness: Liveness
  }

  struct Published: Sendable {
    var service: ServiceRegistration
    var onEvent: @Sendable (RegistrationEvent) -> Void
    fileprivate var liveness: Liveness
    var texts: [TXTRecord] = []
    var isLive: Bool { liveness.isLive }
  }

  private struct Timer {
    var due: Double
    var call: @Sendable () -> Void
    var liveness: Liveness
  }

  private struct State {
    var searches: [Search] = []
    var published: [Published] = []
    var timers: [Timer] = []
    var now = 0.0
    var onAnnounce: (@Sendable () -> Void)?
    var onEnd: (@Sendable () -> Void)?
    var networkObservers: [(call: @Sendable () -> Void, liveness: Liveness)] = []
    var path: NetworkPath?
  }

  private let state = Mutex(State())

  // MARK: For the API

  var now: Instant { state.withLock { .zero + .nanoseconds(Int64($0.now * 1e9)) } }

  func startQuery(
    _ request: QueryRequest, on interface: InterfaceIndex?,
    onEvent: @escaping @Sendable (FoundEvent) -> Void
  ) -> any Sendable & AnyObject {
    let liveness = Liveness { [weak self] in self?.ended() }
    state.withLock {
      $0.searches.append(
        Search(request: request, interface: interface, onEvent: onEvent, liveness: liveness))
    }
    return Token(liveness)
  }

  func startRegistration(
    _ service: ServiceRegistration, onEvent: @escaping @Sendable (RegistrationEvent) -> Void
  ) -> any DiscoveryRegistration {
    let liveness = Liveness { [weak self] in self?.ended() }
    let index = state.withLock { state in
      state.published.append(Published(service: service, onEvent: onEvent, liveness: liveness))
      return state.published.count - 1
    }
    state.withLock { $0.onAnnounce }?()
    return Token(liveness) { [weak self] text in
      self?.state.withLock { $0.published[index].texts.append(text) }
    }
  }

  func after(seconds: Double, _ call: @escaping @Sendable () -> Void) -> any Sendable & AnyObject {
    let liveness = Liveness()
    state.withLock {
      $0.timers.append(Timer(due: $0.now + seconds, call: call, liveness: liveness))
    }
    return Token(liveness)
  }

  func observeNetwork(_ call: @escaping @Sendable () -> Void) -> any Sendable & AnyObject {
    let liveness = Liveness()
    state.withLock { $0.networkObservers.append((call, liveness)) }
    return Token(liveness)
  }

  func path(to endpoint: SocketEndpoint, on interfaceName: String?) -> NetworkPath {
    state.withLock { $0.path } ?? NetworkPath(to: endpoint, on: interfaceName)
  }

  // MARK: For the tests

  /// Changes the network to `path`, or to the system's if that is nil.
  func changeNetwork(_ path: NetworkPath? = nil) {
    let observers = state.withLock { state in
      state.path = path
      return state.networkObservers.filter(\.liveness.isLive)
    }
    for observer in observers { observer.call() }
  }

  /// How many follow the network.
  var networkObserverCount: Int {
    state.withLock { $0.networkObservers.filter(\.liveness.isLive).count }
  }

  /// Lets time pass once a task waits for the end of a second.
  func passOnceSecondIsAwaited(seconds: Double) async {
    while !isSecondAwaited { await Task.yield() }
    pass(seconds: seconds)
  }

  private var isSecondAwaited: Bool {
    state.withLock { state in
      state.timers.contains { $0.liveness.isLive && $0.due <= state.now + 1 }
    }
  }

  /// The requests of the live queries.
  var requests: [QueryRequest] {
    state.withLock { $0.searches.filter(\.liveness.isLive).map(\.request) }
  }

  /// Where that is looked for.
  var searchedInterfaces: [InterfaceIndex?] {
    state.withLock { $0.searches.filter(\.liveness.isLive).map(\.interface) }
  }

  /// All publications, also those that have ended.
  var published: [Published] { state.withLock { $0.published } }

  /// Has this called whenever something begins to be published.
  func onAnnounce(_ call: @escaping @Sendable () -> Void) {
    state.withLock { $0.onAnnounce = call }
  }

  /// Has this called once, when the next query or publication is let go of.
  func onEnd(_ call: @escaping @Sendable () -> Void) { state.withLock { $0.onEnd = call } }

  private func ended() {
    let call = state.withLock { state in
      defer { state.onEnd = nil }
      return state.onEnd
    }
    call?()
  }

  /// How many timers run.
  var timerCount: Int { state.withLock { $0.timers.filter(\.liveness.isLive).count } }

  /// Sends events one by one to all queries with this request.
  func notify(
    _ request: QueryRequest, _ events: QueryEvent..., on interface: InterfaceIndex? = .first
  ) {
    notify(request, events, on: interface)
  }

  /// Sends events together to all queries with this request.
  func notify(
    _ request: QueryRequest, _ events: [QueryEvent], on interface: InterfaceIndex? = .first
  ) {
    let searches = state.withLock { state in
      state.searches.filter { $0.liveness.isLive && $0.request == request }
    }
    for search in searches {
      for (index, event) in events.enumerated() {
        search.onEvent(
          FoundEvent(event: event, interface: interface, moreComing: index < events.count - 1))
      }
    }
  }

  /// Sends an event to the last publication that is live.
  func notify(_ event: RegistrationEvent) {
    let last = state.withLock { $0.published.last(where: \.isLive) }
    last?.onEvent(event)
  }

  /// Lets time pass.
  func pass(seconds: Double) {
    let due = state.withLock { state in
      state.now += seconds
      let due = state.timers.filter { $0.due <= state.now && $0.liveness.isLive }
      state.timers.removeAll { $0.due <= state.now }
      return due
    }
    for timer in due { timer.call() }
  }
}

extension InterfaceIndex {
  /// The loopback interface, as every machine has it.
  static let first = InterfaceIndex(rawValue: 1)
  static let second = InterfaceIndex(rawValue: 2)
}

extension DNSName {
  static let lampHost: DNSName = "lamp.local."
}

extension ServiceName {
  /// A service in `local.`
  static func lamp(_ name: String = "Desk lamp") throws -> ServiceName {
    try ServiceName(instance: name, type: ServiceType(text: "_lamp._tcp"))
  }
}
