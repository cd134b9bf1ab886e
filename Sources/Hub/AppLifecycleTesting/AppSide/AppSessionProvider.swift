import BluetoothInterface
import Essentials
import HubClientMachines
import HubWire
import Synchronization

/// The way of a process's managers to the phone's hub. Calls have their effect in their order.
protocol HubLink: Sendable {
  var loop: any SessionLoop { get }
  func open(_ slot: AppSessionSlot)
  func take(_ input: HubClientMachine.Input)
  /// A manager has work that no event caused: time waits for its `settle`.
  func hasWork(_ slot: AppSessionSlot)
}

/// Opens sessions with a simulated phone's radio for one process of an app, as a hub does for a program.
final class AppSessionProvider: KeepingSessionProvider {
  let isSimulated = true
  let backgroundModes: Set<String>?
  private let link: any HubLink
  private let lastSession = Mutex<UInt64>(0)

  init(_ link: any HubLink, modes: Set<String>) {
    self.link = link
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
    // Under one lock, so that the numbers arrive in their order.
    let slot = lastSession.withLock { last in
      last += 1
      let slot = AppSessionSlot(
        id: HubSessionID(rawValue: last), name: name, keptFor: keptFor,
        acknowledgesEvents: acknowledgesEvents, settle: settle, onAttached: onAttached,
        onEvents: onEvents)
      link.open(slot)
      return slot
    }
    return AppHostSession(slot: slot, link: link)
  }
}

/// A session of a manager.
private final class AppHostSession: HostSession {
  private let slot: AppSessionSlot
  private let link: any HubLink

  init(slot: AppSessionSlot, link: any HubLink) {
    self.slot = slot
    self.link = link
  }

  deinit { close() }

  var loop: any SessionLoop { link.loop }

  func send(_ request: HostRequest) {
    guard slot.isOpen else { return }
    slot.names.noted(request)
    link.take(.request(slot.id, request))
  }

  func eventsHandled(_ count: Int) {
    if slot.isOpen { link.take(.eventsHandled(slot.id, count: count)) }
  }

  func hasWork() { link.hasWork(slot) }

  func close() {
    if slot.close() { link.take(.sessionClosed(slot.id)) }
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
  let names: CallbackNames
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
    names = CallbackNames(isOfLocation: name == SessionName.location)
    self.onAttached = onAttached
    self.onEvents = onEvents
  }

  /// What opens it.
  var opening: HubClientMachine.Input {
    .sessionOpened(id, name: name, acknowledgesEvents: acknowledgesEvents, keptFor: keptFor)
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
