import AppMachines
import BluetoothInterface
import Essentials
import HubClientMachines
import HubMachines
import HubWire
import Synchronization

/// Opens sessions with a simulated phone's radio for one process of an app, as a hub does for a program.
final class AppSessionProvider: KeepingSessionProvider {
  let isSimulated = true
  let backgroundModes: Set<String>?
  private let process: AppProcessID
  private let core: PhoneCore
  private let lastSession = Mutex<UInt64>(0)

  init(_ process: AppProcessID, modes: Set<String>, core: PhoneCore) {
    self.process = process
    self.core = core
    backgroundModes = modes
  }

  func openSession(
    name: String, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    openSession(
      name: name, keptFor: .zero, acknowledgesEvents: acknowledgesEvents, settle: settle,
      onAttached: { _ in }, onEvents: onEvents)
  }

  func openSession(
    name: String, keptFor: TimeSpan, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onAttached: @escaping @Sendable (SessionAttachment) -> Void,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    let (core, process) = (core, process)
    // Under one lock, so that the numbers arrive in their order.
    let slot = lastSession.withLock { last in
      last += 1
      let slot = AppSessionSlot(
        id: HubSessionID(rawValue: last), name: name, keptFor: keptFor,
        acknowledgesEvents: acknowledgesEvents, settle: settle, onAttached: onAttached,
        onEvents: onEvents)
      core.execute { $0.open(slot, of: process) }
      return slot
    }
    return AppHostSession(slot: slot, process: process, core: core)
  }
}

/// A session of a manager.
private final class AppHostSession: HostSession {
  private let slot: AppSessionSlot
  private let process: AppProcessID
  private let core: PhoneCore

  init(slot: AppSessionSlot, process: AppProcessID, core: PhoneCore) {
    self.slot = slot
    self.process = process
    self.core = core
  }

  deinit { close() }

  var loop: any SessionLoop { core.loop }

  func send(_ request: HostRequest) {
    guard slot.isOpen else { return }
    slot.names.noted(request)
    post(.request(slot.id, request))
  }

  func eventsHandled(_ count: Int) {
    if slot.isOpen { post(.eventsHandled(slot.id, count: count)) }
  }

  func hasWork() {
    let (slot, core) = (slot, core)
    core.execute { $0.append(.settle(slot)) }
  }

  func close() {
    if slot.close() { post(.sessionClosed(slot.id)) }
  }

  private func post(_ input: HubClientMachine.Input) {
    let process = process
    core.execute { $0.take(input, of: process) }
  }
}

/// The phone's state of a session.
final class AppSessionSlot: Sendable {
  let id: HubSessionID
  let name: String
  let keptFor: TimeSpan
  let acknowledgesEvents: Bool
  /// Returns when the manager has handled its events.
  let settle: (@Sendable () -> Void)?
  let names = CallbackNames()
  private let onAttached: @Sendable (SessionAttachment) -> Void
  private let onEvents: @Sendable ([HostEvent]) -> Void
  private let isOpenStorage = Atomic(true)

  init(
    id: HubSessionID, name: String, keptFor: TimeSpan, acknowledgesEvents: Bool,
    settle: (@Sendable () -> Void)?,
    onAttached: @escaping @Sendable (SessionAttachment) -> Void,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) {
    self.id = id
    self.name = name
    self.keptFor = keptFor
    self.acknowledgesEvents = acknowledgesEvents
    self.settle = settle
    self.onAttached = onAttached
    self.onEvents = onEvents
  }

  var isOpen: Bool { isOpenStorage.load(ordering: .acquiring) }

  /// Tells the manager the answer to its opening, unless the session was closed.
  func attach(_ attachment: SessionAttachment) {
    if isOpen { onAttached(attachment) }
  }

  /// Delivers events unless the session was closed.
  func deliver(_ events: [HostEvent]) {
    if isOpen { onEvents(events) }
  }

  /// Closes the slot; returns true for the first call.
  func close() -> Bool { isOpenStorage.exchange(false, ordering: .acquiringAndReleasing) }
}
