import Essentials
import Testing

@testable import AppMachines

/// The two machines of an app with held sockets, and the sockets of a kernel: a test plays the process and the peers.
struct HeldSocketPhone {
  /// A connection as the kernel has it.
  struct Socket {
    var received: UInt64 = 0
    var read: UInt64 = 0
    var hasEnded = false
    /// The system's duplicate is open.
    var isHeld = true
    var isWatched = false
    var isShutDown = false
    /// When the last bytes came; nil in a kernel that doesn't report it.
    var receivedAt: Instant?

    func reading(at now: Instant) -> HeldSocketReading {
      HeldSocketReading(
        receivedCount: received, readCount: read, hasEnded: hasEnded,
        sinceReceived: receivedAt.map { now - $0 })
    }
  }

  var phone: TestPhone
  var sockets: HeldSocketMachine
  var kernel: [HeldSocketID: Socket] = [:]
  var given: [HeldSocketID] = []
  var refusals: [HeldSocketRefusal] = []
  var unclaimed: [String] = []
  private var takenActionCount = 0
  private var lastTicket: UInt64 = 0

  init(
    _ modes: BackgroundModes = .voip, limits: HeldSocketLimits = HeldSocketLimits(),
    seed: UInt64 = 1
  ) {
    phone = TestPhone(modes)
    sockets = HeldSocketMachine(limits: limits, seed: seed)
  }

  // MARK: The machines

  mutating func handle(_ event: HeldSocketMachine.Event) {
    var actions: [HeldSocketMachine.Action] = []
    sockets.handle(event, now: phone.now, into: &actions)
    let violations = sockets.violations()
    #expect(violations.isEmpty, "after \(event)")
    for action in actions { perform(action) }
  }

  private mutating func perform(_ action: HeldSocketMachine.Action) {
    switch action {
    case .held(_, let id): kernel[id] = Socket()
    case .reconnecting: break
    case .refused(_, let refusal): refusals.append(refusal)
    case .give(_, let id, _): given.append(id)
    case .none: break
    case .watch(let id):
      kernel[id]?.isWatched = true
      report(id)
    case .unwatch(let id): kernel[id]?.isWatched = false
    case .look(let id):
      if let socket = kernel[id] { handle(.looked(id, socket.reading(at: phone.now))) }
    case .shutDown(let id):
      kernel[id]?.isHeld = false
      kernel[id]?.isShutDown = true
    case .close(let id): kernel[id]?.isHeld = false
    case .life(let event): life(event)
    case .unclaimed(_, let description): unclaimed.append(description.identifier)
    }
  }

  /// Has the machine of apps handle an event, and the sockets' machine what follows.
  mutating func life(_ event: AppMachine.Event) {
    phone.handle(event)
    let new = phone.actions.dropFirst(takenActionCount)
    takenActionCount = phone.actions.count
    for action in new {
      switch action {
      case .freeze(let process): handle(.suspended(process))
      case .thaw(let process): handle(.resumed(process))
      case .release(_, .heldSocket(let number)):
        handle(.released(HeldSocketID(rawValue: number)))
      default: break
      }
    }
    switch event {
    case .process(let process, .opened(.heldSocket(let number))):
      handle(.opened(process, HeldSocketID(rawValue: number)))
    case .process(let process, .closed(.heldSocket(let number))):
      handle(.closed(process, HeldSocketID(rawValue: number)))
    case .process(let process, .launched): handle(.launched(TestPhone.app, process))
    case .process(let process, .exited(_, hasOthers: false)): handle(.ended(process))
    case .person(let app, .forceQuit), .removed(let app): handle(.quit(app))
    default: break
    }
  }

  mutating func advance(by seconds: Int64) {
    let end = phone.now + .seconds(seconds)
    while let next = [phone.machine.nextWake, sockets.nextWake].compactMap(\.self).min(),
      next <= end
    {
      phone.now = max(phone.now, next)
      life(.wake)
      handle(.wake)
    }
    phone.now = end
  }

  // MARK: The process

  mutating func process(_ event: AppMachine.ProcessEvent) {
    life(.process(phone.process, event))
  }

  mutating func person(_ deed: AppMachine.PersonEvent) { life(.person(TestPhone.app, deed)) }

  mutating func acknowledgeAll() {
    let count = phone.machine.apps[TestPhone.app]?.process?.handed.count ?? 0
    if count > 0 { process(.acknowledged(count)) }
  }

  /// The app is opened, and holds a socket.
  mutating func run(holding identifiers: [String] = ["chat"]) {
    person(.opened)
    process(.launched)
    acknowledgeAll()
    for identifier in identifiers { hold(identifier) }
  }

  mutating func hold(_ identifier: String, hasMode: Bool = true, opens: Bool = true) {
    lastTicket += 1
    handle(
      .hold(
        HeldSocketTicket(rawValue: lastTicket), TestPhone.app, phone.process,
        HeldSocketDescription(identifier: identifier), hasMode: hasMode))
    if opens, let id = self[identifier] { process(.opened(id.receiver)) }
  }

  /// The process has no connection, and wants one.
  mutating func reconnect(_ identifier: String = "chat") {
    lastTicket += 1
    handle(
      .reconnect(
        HeldSocketTicket(rawValue: lastTicket), TestPhone.app, phone.process,
        identifier: identifier, hasMode: true))
    if let id = self[identifier] { process(.opened(id.receiver)) }
  }

  mutating func take(_ identifier: String) {
    lastTicket += 1
    let ticket = HeldSocketTicket(rawValue: lastTicket)
    let before = given.count
    handle(.take(ticket, TestPhone.app, phone.process, identifier: identifier))
    if given.count > before { process(.opened(given[given.count - 1].receiver)) }
  }

  mutating func suspend() {
    person(.sentToBackground)
    acknowledgeAll()
    let state = phone.state
    #expect(state == .suspended)
  }

  mutating func terminate() {
    life(.memoryPressure(.critical))
    process(.exited(.signal(9), hasOthers: false))
  }

  subscript(_ identifier: String) -> HeldSocketID? {
    sockets.entries.first { $0.value.description.identifier == identifier }?.key
  }

  // MARK: The kernel

  mutating func receive(_ count: UInt64, _ id: HeldSocketID) {
    kernel[id]?.received += count
    report(id)
  }

  mutating func endPeer(_ id: HeldSocketID) {
    kernel[id]?.hasEnded = true
    report(id)
  }

  private mutating func report(_ id: HeldSocketID) {
    guard let socket = kernel[id], socket.isWatched, socket.isHeld else { return }
    guard socket.received > socket.read || socket.hasEnded else { return }
    handle(.readable(id, socket.reading(at: phone.now)))
  }

  var wakeCount: Int { phone.counts.wakeCount }
  var launchCount: Int { phone.counts.launchCount }
}
