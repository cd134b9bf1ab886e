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

  /// The name of the session of the app's manager.
  let manager: String
  /// The state of the radio.
  var radio = RadioState.poweredOn
  /// The first handle of the next service.
  var nextHandle: UInt16
  /// Whether the host answers requests when it gets them.
  var answers = true
  private var unanswered: [(key: HubSessionKey, request: HostRequest)] = []
  /// What the host answers a request with; nil for what it has done.
  var refusal: @Sendable (HostRequest) -> HostError? = { _ in nil }
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
  private(set) var hostSessions: [HubSessionKey] = []
  private(set) var acknowledgedCount = 0
  /// Events that the host has sent and the machine has to acknowledge.
  private(set) var sentCount = 0
  private var pending: [AppHubMachine.Event] = []

  init(
    _ modes: BackgroundModes = .bluetoothCentral, manager: String = "central:lock",
    firstHandle: UInt16 = 40
  ) {
    self.manager = manager
    nextHandle = firstHandle
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
      if answers { answerAdvertising() }
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
      hostSessions.append(key)
      host([.stateChanged(radio)], at: key)
    case .send(let key, let request):
      requests.append(request)
      if Self.isOfAdvertising(request) { cancelAdvertising(of: key) }
      if answers, !Self.isOfAdvertising(request) {
        answer(request, of: key)
      } else {
        unanswered.append((key, request))
      }
    case .acknowledge(_, let count): acknowledgedCount += count
    case .closeSession(let key): hostSessions.removeAll { $0 == key }
    }
  }

  private static func isOfAdvertising(_ request: HostRequest) -> Bool {
    switch request {
    case .startAdvertising, .stopAdvertising: true
    default: false
    }
  }

  /// As each host, which begins to advertise later than it gets the request.
  private mutating func answerAdvertising() {
    let due = unanswered.filter { Self.isOfAdvertising($0.request) }
    unanswered.removeAll { Self.isOfAdvertising($0.request) }
    for (key, request) in due { answer(request, of: key) }
  }

  /// As each host, where a request for advertising is replaced or stopped.
  private mutating func cancelAdvertising(of key: HubSessionKey) {
    let due = unanswered.filter { $0.key == key && Self.isOfAdvertising($0.request) }
    unanswered.removeAll { $0.key == key && Self.isOfAdvertising($0.request) }
    for token in due.compactMap(\.request.token) {
      host([.completed(token, .failure(.cancelled))], at: key)
    }
  }

  /// The host answers the requests that it has not answered.
  mutating func answerRequests() {
    let due = unanswered
    unanswered = []
    for (key, request) in due { answer(request, of: key) }
  }

  private mutating func answer(_ request: HostRequest, of key: HubSessionKey) {
    guard let token = request.token else { return }
    if let error = refusal(request) { return host([.completed(token, .failure(error))], at: key) }
    let result: Result<HostReply, HostError> =
      switch request {
      case .startAdvertising where radio != .poweredOn: .failure(.radioNotReady)
      case .addService where radio == .unknown: .failure(.radioNotReady)
      case .addService(let definition, _): .success(.published(published(definition)))
      case .publishChannel(let psm, _, _): .success(.psm(psm ?? 0x80))
      default: .success(.done)
      }
    host([.completed(token, result)], at: key)
  }

  /// The handles that the host gives a service.
  mutating func published(_ definition: ServiceDefinition) -> PublishedService {
    let start = nextHandle
    nextHandle += UInt16(10)
    return PublishedService(
      range: HandleRange(start, start + 9),
      characteristics: definition.characteristics.indices.map {
        PublishedCharacteristic(valueHandle: start + 2 + UInt16($0) * 3, configurationHandle: nil)
      })
  }

  private mutating func perform(_ action: AppMachine.Action) {
    lifeActions.append(action)
    switch action {
    case .start(_, let id, _):
      startCount += 1
      process = Process(id: id)
      input(
        .sessionOpened(
          Self.session, name: manager, acknowledgesEvents: true, keptFor: .seconds(1_000)))
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
      case .failed(let failure): if failure != .ended { Issue.record("\(failure)") }
      case .connected, .lost, .time, .settle: break
      }
    }
    if handledCount > 0, process?.handles == true {
      self.input(.eventsHandled(Self.session, count: handledCount))
    }
  }

  /// The next system, after this one was killed: it takes over the process and the preserved state.
  func killed(isFrozen: Bool) -> TestSystem {
    var next = TestSystem(
      machine.modes[Self.app] ?? [], manager: manager, firstHandle: nextHandle)
    next.process = process
    if let id = process?.id {
      let adoption = AppMachine.AppAdoption(isFrozen: isFrozen, isInForeground: !isFrozen)
      next.handle(.life(.adopted(Self.app, id, adoption)))
    }
    for manager in machine.preservedManagers { next.handle(.preserved(manager)) }
    return next
  }

  /// The process runs, and finds the next system: at once as an app, and a moment later as a program of a hub.
  mutating func findSystem(isInForeground: Bool) {
    guard let id = process?.id else { return }
    handle(.life(.process(id, .resumed(isInForeground: isInForeground))))
    input(.closed(.ended))
    var actions: [HubClientMachine.Action] = []
    guard let due = process?.client.nextWake else { return }
    process?.client.wake(now: due, into: &actions)
    #expect(actions.contains(.open))
    handle(.connected(id))
    input(.opened)
  }

  mutating func request(_ request: HostRequest) { input(.request(Self.session, request)) }

  /// The host delivers events of its first session.
  mutating func host(_ events: [HostEvent]) {
    if let key = hostSession { host(events, at: key) }
  }

  private mutating func host(_ events: [HostEvent], at key: HubSessionKey) {
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

  /// Whether the machine has reported something of a kind.
  func reportCount(_ isCounted: (AppReport) -> Bool) -> Int {
    lifeActions.count { if case .report(let report) = $0 { isCounted(report) } else { false } }
  }

  func value(_ number: UInt8) -> HostEvent {
    .valueUpdated(Self.peer, handle: 3, [number])
  }
}
