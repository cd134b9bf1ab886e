import BluetoothInterface
import BluetoothWire
import Essentials
import Synchronization

@testable import CoreBluetooth

/// A host whose events a test writes and whose requests it reads.
final class ScriptedHost: HostSession, HostSessionProvider {
  private struct State: Sendable {
    var name: String?
    var requests: [HostRequest] = []
    var handledCount = 0
    var onEvents: (@Sendable ([HostEvent]) -> Void)?
    var settle: (@Sendable () -> Void)?
    var isClosed = false
    /// Barriers that a test has not completed.
    var barriers: [RequestToken] = []
    var completesBarriers = true
  }

  private let state = Mutex(State())

  /// Called when a session was opened, before its client has it.
  private let onOpen: (@Sendable (ScriptedHost) -> Void)?

  init(onOpen: (@Sendable (ScriptedHost) -> Void)? = nil) { self.onOpen = onOpen }

  var isSimulated: Bool { true }

  func openSession(
    name: String, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    state.withLock {
      $0.name = name
      $0.settle = settle
      $0.onEvents = onEvents
    }
    onOpen?(self)
    return self
  }

  /// The name of the session that was opened last.
  var name: String? { state.withLock { $0.name } }
  var requests: [HostRequest] { state.withLock { $0.requests } }
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Whether barriers are completed as soon as they are asked for, as a host that has nothing else to
  /// report does.
  var completesBarriers: Bool {
    get { state.withLock { $0.completesBarriers } }
    set { state.withLock { $0.completesBarriers = newValue } }
  }

  func send(_ request: HostRequest) {
    if case .barrier(let token) = request {
      state.withLock { $0.barriers.append(token) }
      if completesBarriers { completeBarriers() }
    } else {
      state.withLock { $0.requests.append(request) }
    }
  }

  func completeBarriers() {
    let (tokens, onEvents) = state.withLock { state in
      defer { state.barriers = [] }
      return (state.barriers, state.onEvents)
    }
    onEvents?(tokens.map { .completed($0, .success(.done)) })
  }

  /// How many events the manager has acknowledged.
  var handledCount: Int { state.withLock { $0.handledCount } }
  func eventsHandled(_ count: Int) { state.withLock { $0.handledCount += count } }
  func hasWork() {}
  let scriptedLoop = ScriptedLoop()
  var loop: any SessionLoop { scriptedLoop }
  func close() { state.withLock { $0.isClosed = true } }

  /// Delivers events and waits until the manager has dealt with them.
  func deliver(_ events: HostEvent...) {
    state.withLock { $0.onEvents }?(events)
    settle()
  }

  /// Delivers events.
  func post(_ events: HostEvent...) {
    state.withLock { $0.onEvents }?(events)
  }

  func settle() { state.withLock { $0.settle }?() }

  /// Answers the newest request that has a token.
  func answer(_ result: Result<HostReply, HostError>) {
    if let token = requests.compactMap(\.token).last { deliver(.completed(token, result)) }
  }

  /// Answers the oldest of these requests, counted from `index`.
  func answer(at index: Int, _ result: Result<HostReply, HostError>) {
    let tokens = requests.compactMap(\.token)
    if tokens.indices.contains(index) { deliver(.completed(tokens[index], result)) }
  }
}

/// A loop whose time a test lets pass. Closures run at once.
final class ScriptedLoop: SessionLoop {
  private struct State: Sendable {
    var now = Instant.zero
    var timers: [ScriptedTimer] = []
  }

  private let state = Mutex(State())

  var now: Instant { state.withLock { $0.now } }
  var calendarTime: Double { 1_000 }
  func execute(_ work: @escaping @Sendable () -> Void) { work() }

  func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer {
    let timer = ScriptedTimer(onFire)
    state.withLock { $0.timers.append(timer) }
    return timer
  }

  /// Lets time pass, and fires the timers that are due then.
  func pass(_ span: TimeSpan) {
    let (now, timers) = state.withLock { state in
      state.now = state.now + span
      return (state.now, state.timers)
    }
    for timer in timers { timer.fire(at: now) }
  }

  private final class ScriptedTimer: LoopTimer, Sendable {
    private let time = Mutex<Instant?>(nil)
    private let onFire: @Sendable () -> Void

    init(_ onFire: @escaping @Sendable () -> Void) { self.onFire = onFire }

    func set(_ time: Instant) { self.time.withLock { $0 = time } }
    func cancel() { time.withLock { $0 = nil } }

    func fire(at now: Instant) {
      let isDue = time.withLock { time in
        guard let due = time, due <= now else { return false }
        time = nil
        return true
      }
      if isDue { onFire() }
    }
  }
}

extension HostRequest {
  var token: RequestToken? {
    switch self {
    case .startAdvertising(_, let token), .readRSSI(_, let token),
      .updateParameters(_, _, let token), .gatt(_, _, let token), .subscribe(_, _, let token),
      .unsubscribe(_, _, let token), .addService(_, let token),
      .updateValue(_, _, _, let token), .publishChannel(_, _, let token),
      .openChannel(_, _, let token), .sendOnChannel(_, _, let token):
      token
    default: nil
    }
  }

  /// The procedure, if it is one.
  var operation: GATTOperation? {
    if case .gatt(_, let operation, _) = self { operation } else { nil }
  }

  /// What it is, without what it carries.
  var name: String { String(String(describing: self).prefix { $0 != "(" }) }
}

extension DeviceAddress {
  static let strap = DeviceAddress(bits: 0xC000_0000_0001, kind: .random)
  static let phone = DeviceAddress(bits: 0x0000_5E00_5301, kind: .public)
}

extension UUID {
  static let strap = PeerIdentifier.uuid(of: .strap)
}
