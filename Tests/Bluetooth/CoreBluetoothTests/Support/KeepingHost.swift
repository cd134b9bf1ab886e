import BluetoothInterface
import BluetoothWire
import Essentials
import Synchronization

@testable import CoreBluetooth

/// A scripted host that keeps sessions, and answers their openings when a test says so.
final class KeepingHost: KeepingSessionProvider {
  private struct State: Sendable {
    var keptFor: TimeSpan?
    var onAttached: (@Sendable (SessionAttachment) -> Void)?
  }

  let host = ScriptedHost()
  let backgroundModes: Set<String>?
  private let state = Mutex(State())

  init(backgroundModes: Set<String>? = ["bluetooth-central", "bluetooth-peripheral"]) {
    self.backgroundModes = backgroundModes
  }

  var isSimulated: Bool { true }
  /// For how long the session that was opened last shall be kept; nil for one that ends with the process.
  var keptFor: TimeSpan? { state.withLock { $0.keptFor } }

  func openSession(
    name: String, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    state.withLock { $0 = State() }
    return host.openSession(
      name: name, acknowledgesEvents: acknowledgesEvents, settle: settle, onEvents: onEvents)
  }

  func openSession(
    name: String, keptFor: TimeSpan, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onAttached: @escaping @Sendable (SessionAttachment) -> Void,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    state.withLock { $0 = State(keptFor: keptFor, onAttached: onAttached) }
    return host.openSession(
      name: name, acknowledgesEvents: acknowledgesEvents, settle: settle, onEvents: onEvents)
  }

  /// Answers the opening.
  func attach(
    _ holdings: SessionHoldings?, holdsName: Bool = true, keptFor: TimeSpan = .seconds(60)
  ) {
    let attachment = SessionAttachment(holdsName: holdsName, keptFor: keptFor, holdings: holdings)
    state.withLock { $0.onAttached }?(attachment)
  }
}
