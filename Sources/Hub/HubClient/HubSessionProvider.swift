package import BluetoothInterface
package import Essentials
package import EventLoop
import Glibc
import HubClientMachines
package import HubPlaces
import HubWire
package import Logging
import Synchronization

/// Opens sessions with the Bluetooth host of the machine's hub. They share one connection, which lasts while
/// there are sessions.
///
/// To its clients, a hub that is gone is a radio that is gone and comes back. All methods may be called from any
/// thread; events are delivered on the loop. After fork(2), the child has no loop, as with a host in the process:
/// sessions work in the process that opened them, and a child must execute a program, whereby the socket is
/// closed.
package final class HubSessionProvider: KeepingSessionProvider {
  private let driver: HubDriver

  /// How long ``isSimulated`` waits for the hub's answer at most.
  private let answerMilliseconds: Int
  /// Whether that has been waited for in vain, which is not done again.
  private let hasWaited = Atomic(false)

  /// The usual limit; a hub takes less than a millisecond.
  package static let answerMillisecondsMax = 500

  /// Creates a provider that connects when the first session is opened.
  ///
  /// - Parameters:
  ///   - path: Where the hub listens: a UNIX socket.
  ///   - app: The name by which the hub knows this app, the same in each run.
  ///   - reportsSilence: Whether a hub that doesn't answer is noticed within five seconds also while nothing is
  ///     wanted of it, as programs need that report it to people; else within about a minute.
  ///   - loop: The loop on which events are delivered.
  ///   - logger: Gets the reason why the hub can't be used, one sentence each.
  ///   - answerMilliseconds: How long ``isSimulated`` waits for the hub's answer at most.
  package convenience init(
    path: String, app: String = ThisProgram.name, reportsSilence: Bool = false,
    loop: EpollLoop = .shared,
    logger: Logger = Logger(label: "ambit.hub"),
    answerMilliseconds: Int = HubSessionProvider.answerMillisecondsMax
  ) {
    self.init(
      HubDriver(
        path: path, app: app, problem: nil, reportsSilence: reportsSilence, loop: loop,
        logger: logger), answerMilliseconds)
  }

  /// Creates a provider of sessions whose radio can't be used, for this reason.
  package convenience init(
    problem: HostError, loop: EpollLoop = .shared, logger: Logger = Logger(label: "ambit.hub")
  ) {
    self.init(HubDriver(path: "", app: "", problem: problem, loop: loop, logger: logger), 0)
  }

  private init(_ driver: HubDriver, _ answerMilliseconds: Int) {
    self.driver = driver
    self.answerMilliseconds = answerMilliseconds
  }

  deinit { driver.stop() }

  /// The provider that a setting names; nil for `off`.
  package static func provider(for setting: HubSetting) -> HubSessionProvider? {
    switch setting {
    case .off: nil
    case .path(let path): HubSessionProvider(path: path)
    case .invalid(let reason): HubSessionProvider(problem: .unsupported(reason))
    }
  }

  /// A provider with a connection of its own to the same hub, which logs nothing. Its sessions hear of ended links, and of
  /// no other state of the radio, while the hub is away for a time: apps that it serves keep scans and pending connections
  /// when the hub is started again.
  package func outlastingHub(for time: TimeSpan) -> HubSessionProvider {
    let logger = Logger(label: "ambit.hub") { _ in SwiftLogNoOpLogHandler() }
    let driver = HubDriver(
      path: driver.path, app: driver.app, problem: nil, outage: time, loop: driver.loop,
      logger: logger)
    return HubSessionProvider(driver, answerMilliseconds)
  }

  /// The reason why the hub can't be used, in one sentence; nil if no problem is known.
  package var problem: String? { driver.problem }

  /// Whether the hub's radio is simulated. Connects to the hub if that is not known, and waits for its answer for
  /// half a second at most, except on the loop; without an answer, it is not.
  package var isSimulated: Bool {
    waitForAnswer()
    return driver.welcome?.isSimulated ?? false
  }

  /// Whether this program may not use the hub, because its rules deny it, or the system does. Waits as
  /// ``isSimulated`` does; without an answer it is false. A later answer, of a session that connects again, changes
  /// it before the session's state.
  package var isDenied: Bool {
    waitForAnswer()
    return driver.isDenied
  }

  private func waitForAnswer() {
    guard !driver.isDecided, !driver.loop.isCurrent, !hasWaited.load(ordering: .acquiring) else {
      return
    }
    driver.post(.wanted)
    for _ in 0..<answerMilliseconds where !driver.isDecided { poll(nil, 0, 1) }
    hasWaited.store(true, ordering: .releasing)
  }

  /// Opens a session through the hub. `settle` is called where the time of the hub's radio is virtual.
  package func openSession(
    name: String, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    openSession(
      name: name, keptFor: .zero, acknowledgesEvents: acknowledgesEvents, settle: settle,
      onAttached: { _ in }, onEvents: onEvents)
  }

  /// Opens a session that the hub keeps for a time when this process ends without closing it. See
  /// ``KeepingSessionProvider``. `settle` is called on a thread of its own.
  package func openSession(
    name: String, keptFor: TimeSpan, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onAttached: @escaping @Sendable (SessionAttachment) -> Void,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    HubSession(
      provider: self, driver: driver,
      slot: driver.open(
        name: name, keptFor: keptFor, acknowledgesEvents: acknowledgesEvents, settle: settle,
        onAttached: onAttached, onEvents: onEvents))
  }

  /// Ends the connection and all sessions for good. Clients get no more events when this returns.
  package func close() async {
    await withCheckedContinuation { continuation in driver.stop { continuation.resume() } }
  }
}

/// A session through the hub.
private final class HubSession: HostSession {
  /// Lives at least as long as its sessions.
  private let provider: HubSessionProvider
  private let driver: HubDriver
  private let slot: HubSessionSlot

  init(provider: HubSessionProvider, driver: HubDriver, slot: HubSessionSlot) {
    self.provider = provider
    self.driver = driver
    self.slot = slot
  }

  deinit { close() }

  var loop: any SessionLoop { HubLoop(loop: driver.loop, clock: driver.clock) }

  func send(_ request: HostRequest) {
    if slot.isOpen { driver.post(.request(slot.id, request)) }
  }

  func eventsHandled(_ count: Int) {
    if slot.isOpen { driver.post(.eventsHandled(slot.id, count: count)) }
  }

  /// Only virtual time waits for the work.
  func hasWork() { driver.hasWork(slot) }

  func close() {
    if slot.close() { driver.post(.sessionClosed(slot.id)) }
  }
}
