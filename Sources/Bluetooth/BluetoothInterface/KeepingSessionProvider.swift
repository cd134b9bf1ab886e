package import Essentials

/// A provider of sessions that outlive the process: the hub of a machine, or a simulated phone.
///
/// What a session wants of the radio goes on when its process has ended, and a session of the same name in the next
/// process of the app gets it.
package protocol KeepingSessionProvider: HostSessionProvider {
  /// The background modes that the app declares (`UIBackgroundModes`); nil if the provider doesn't know the app's
  /// Info.plist, so that the program looks for its own.
  var backgroundModes: Set<String>? { get }

  /// Opens a session that is kept for a time when this process ends without closing it.
  ///
  /// - Parameters:
  ///   - name: What the session is for, the same in each run of the app.
  ///   - keptFor: For how long it shall be kept; the provider may grant less, or nothing.
  ///   - acknowledgesEvents: Whether the client calls `eventsHandled`.
  ///   - settle: Called after events were delivered, before virtual time advances. See
  ///     ``HostSessionProvider/openSession(name:acknowledgesEvents:settle:onEvents:)``.
  ///   - onAttached: Called on the session's loop, before the first events of each connection with a host that keeps
  ///     sessions. With holdings, the first events are the links that were open when the process ended and the
  ///     radio's state then, and the events that were kept follow. A session gets holdings once: later, it has
  ///     heard the end of everything, and requests again what it wants.
  ///   - onEvents: Called on the session's loop with all events of one turn of the loop.
  func openSession(
    name: String, keptFor: TimeSpan, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onAttached: @escaping @Sendable (SessionAttachment) -> Void,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession
}

extension KeepingSessionProvider {
  package var backgroundModes: Set<String>? { nil }
}

/// The answer of a host that keeps sessions to the opening of one that has a name. It precedes the events of the
/// session.
package struct SessionAttachment: Hashable, Sendable {
  /// Whether the session has its name alone: no other session that is open has it first. Only such a session
  /// has a claim on things that are kept under the name.
  package var holdsName: Bool
  /// How long the host keeps what the session wants, which may be less than the client requested.
  package var keptFor: TimeSpan
  /// What the host has kept since an earlier process ended; nil if it has kept nothing, or the opening has no time
  /// to be kept.
  package var holdings: SessionHoldings?

  /// Creates an answer.
  package init(holdsName: Bool, keptFor: TimeSpan, holdings: SessionHoldings? = nil) {
    self.holdsName = holdsName
    self.keptFor = keptFor
    self.holdings = holdings
  }
}
