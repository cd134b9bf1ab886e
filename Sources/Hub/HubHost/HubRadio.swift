package import BluetoothInterface
package import HubMachines
package import HubWire

/// The radio that a hub serves. All methods may be called from any thread.
package protocol HubRadio: HostSessionProvider {
  /// The radio as `--radio` takes it.
  var radioName: String { get }
  /// The reason why the radio does not work, in one sentence; nil if no problem is known.
  var problem: String? { get }
  /// The current problem, or nil, and each change. A slow consumer gets only the latest one.
  func problems() -> AsyncStream<String?>

  /// Whether its time is virtual: it waits for programs before it advances.
  var hasVirtualTime: Bool { get }

  /// Opens a session of a program. It acknowledges events.
  ///
  /// - Parameters:
  ///   - connection: The program's connection: a program answers and hears of the pairings that it causes.
  ///   - identity: The app and the manager of the session.
  ///   - settle: Called before virtual time advances, on the thread that advances it.
  ///   - onEvents: Called on the radio's loop with all events of one turn, in order.
  func openSession(
    of connection: HubConnectionID, _ identity: SessionIdentity, settle: (@Sendable () -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession

  /// The file in which it keeps its bonds; nil where it keeps none itself.
  var bondFile: HubStatus.BondFile? { get }

  /// Reads what the radio does at one moment.
  func readHubSnapshot() async -> any HubRadioSnapshot
}

/// What the radio of a hub does at one moment.
package protocol HubRadioSnapshot: Sendable {
  /// The state of the radio that was last reported to programs.
  var radioState: RadioState { get }
  /// The address that the radio uses, as text; nil without one.
  var radioAddress: String? { get }
  /// What the radio refuses although it works, and is tried again, in sentences; nil if nothing is.
  var radioRefusals: String? { get }

  /// Adds what the radio does for sessions, and its links.
  ///
  /// - Parameters:
  ///   - status: The report.
  ///   - sessions: The sessions of programs.
  ///   - radio: The radio that has opened them.
  func add(
    to status: inout HubHostStatus, _ sessions: [HubSessionKey: any HostSession],
    of radio: any HubRadio)
}

extension HubRadio {
  package var hasVirtualTime: Bool { false }
}

extension HubRadioSnapshot {
  package var radioRefusals: String? { nil }
}
