import AppMachines
import BluetoothInterface
import BluetoothWire
import Essentials
import HubClientMachines
import HubMachines
import HubWire
import Testing

@testable import AppHubMachines

/// A machine with the processes and the host that a test plays.
struct TestSystem {
  /// A process of an app, with one manager.
  struct Process {
    let id: AppProcessID
    var client = HubClientMachine(app: "com.example.lock")
    var events: [HostEvent] = []
    var attachments: [SessionAttachment] = []
    /// Whether it acknowledges what it gets.
    var handles = true
  }

  static let app = AppID("com.example.lock")
  static let peer = DeviceAddress(bits: 7, kind: .public)
  static let session = HubSessionID(rawValue: 1)

  var machine: AppHubMachine
  var now = Instant.zero
  /// The process that runs.
  var process: Process?
  /// How many processes were started.
  private(set) var startCount = 0
  private(set) var lifeActions: [AppMachine.Action] = []
  /// The requests that the host got.
  private(set) var requests: [HostRequest] = []
  /// The host's sessions that are open.
  private(set) var hostSessions: Set<HubSessionKey> = []
  private(set) var acknowledgedCount = 0
  /// Events that the host has sent and the machine has to acknowledge.
  private(set) var sentCount = 0
  private var pending: [AppHubMachine.Event] = []

  init(_ modes: BackgroundModes = .bluetoothCentral) {
    machine = AppHubMachine()
    handle(.life(.installed(Self.app, AppDescription(modes: modes))))
  }

  var state: AppLifeState { machine.life.state(of: Self.app) ?? .notRunning }
  var alertCount: Int { lifeActions.count { if case .alert = $0 { true } else { false } } }
  var hostSession: HubSessionKey? { hostSessions.first }

  mutating func handle(_ event: AppHubMachine.Event) {
    pending.append(event)
    guard pending.count == 1 else { return }
    while let next = pending.first {
      var actions: [AppHubMachine.Action] = []
      machine.handle(next, now: now, into: &actions)
      #expect(machine.violations().isEmpty, "after \(next)")
      for action in actions { perform(action) }
      pending.removeFirst()
    }
  }

  private mutating func perform(_ action: AppHubMachine.Action) {
    switch action {
    case .life(let action): perform(action)
    case .give(let process, _, let number):
      if self.process?.handles == true { handle(.handled(process, number)) }
    case .write(let id, let bytes):
      guard process?.id == id else { return }
      input(.received(bytes))
    case .close: break
    case .openSession(let key, _):
      hostSessions.insert(key)
      host([.stateChanged(.poweredOn)])
    case .send(_, let request):
      requests.append(request)
      if let token = request.token { host([.completed(token, .success(.done))]) }
    case .acknowledge(_, let count): acknowledgedCount += count
    case .closeSession(let key): hostSessions.remove(key)
    }
  }

  private mutating func perform(_ action: AppMachine.Action) {
    lifeActions.append(action)
    switch action {
    case .start(_, let id, _):
      startCount += 1
      process = Process(id: id)
      input(
        .sessionOpened(
          Self.session, name: "central:lock", acknowledgesEvents: true, keptFor: .seconds(1_000)))
      handle(.life(.process(id, .launched)))
    case .kill(let id), .terminate(let id): end(id, .signal(9))
    default: break
    }
  }

  private mutating func end(_ id: AppProcessID, _ exit: AppExit) {
    guard process?.id == id else { return }
    process = nil
    handle(.life(.process(id, .exited(exit, hasOthers: false))))
  }

  mutating func crash() {
    if let id = process?.id { end(id, .signal(11)) }
  }

  /// The process's connection has an input.
  mutating func input(_ input: HubClientMachine.Input) {
    guard let id = process?.id else { return }
    var actions: [HubClientMachine.Action] = []
    process?.client.handle(input, now: .zero, into: &actions)
    var handledCount = 0
    for action in actions {
      switch action {
      case .open:
        handle(.connected(id))
        self.input(.opened)
      case .close: handle(.disconnected(id))
      case .send(let bytes): handle(.received(id, bytes))
      case .deliver(_, let events):
        process?.events += events.filter { $0 != .acknowledgementRequested }
        handledCount += events.count(where: \.isAcknowledged)
      case .attached(_, let attachment): process?.attachments.append(attachment)
      case .failed(let failure): Issue.record("\(failure)")
      case .connected, .lost: break
      }
    }
    if handledCount > 0, process?.handles == true {
      self.input(.eventsHandled(Self.session, count: handledCount))
    }
  }

  mutating func request(_ request: HostRequest) { input(.request(Self.session, request)) }

  /// The host delivers events of its session.
  mutating func host(_ events: [HostEvent]) {
    guard let key = hostSession else { return }
    sentCount += events.count(where: \.isAcknowledged)
    handle(.delivered(key, events))
  }

  mutating func person(_ deed: AppMachine.PersonEvent) { handle(.life(.person(Self.app, deed))) }

  mutating func advance(by span: TimeSpan) {
    let end = now + span
    while let next = machine.nextWake, next <= end {
      now = max(now, next)
      handle(.life(.wake))
    }
    now = end
  }

  mutating func takeRequests() -> [HostRequest] {
    defer { requests = [] }
    return requests
  }

  func value(_ number: UInt8) -> HostEvent {
    .valueUpdated(Self.peer, handle: 3, [number])
  }
}
