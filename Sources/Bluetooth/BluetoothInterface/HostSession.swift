public import Essentials

/// A client's session with a host: requests out, events in, on a loop with a clock.
///
/// This is the client's only access to its host, so that the host may run in the client's process
/// or in another one. All methods may be called from any thread. Releasing a session closes it.
public protocol HostSession: AnyObject, Sendable {
  /// The loop on which events are delivered.
  var loop: any SessionLoop { get }
  /// Sends a request to the host, and returns at once. Replies are delivered as events.
  func send(_ request: HostRequest)
  /// Acknowledges that the client has handled this number of events, in the order of delivery. For
  /// sessions that were opened to acknowledge events.
  func eventsHandled(_ count: Int)
  /// Notifies the host that the client has work that no event caused. Virtual time calls `settle`,
  /// and so waits for the work, before it advances.
  func hasWork()
  /// Ends the session and all its requests. No event is delivered after this returns, except by a
  /// call that has already begun.
  func close()
}

/// The clock and the serial executor of a session: closures of the client run there before or after
/// an event, never during one.
public protocol SessionLoop: Sendable {
  /// The current time of this loop, which may be virtual. Only on the loop.
  var now: Instant { get }
  /// The calendar time in seconds since 1 January 2001, UTC, for timestamps that apps see. Virtual
  /// time begins on that day. May be called from any thread.
  var calendarTime: Double { get }
  /// Runs a closure soon, after those enqueued earlier. May be called from any thread.
  func execute(_ work: @escaping @Sendable () -> Void)
  /// Creates a timer that calls `onFire` on this loop. Only on the loop.
  func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer
}

/// Opens sessions with a host.
public protocol HostSessionProvider: AnyObject, Sendable {
  /// Whether the radio is simulated. Its peers are new in each run, so that data about them need not
  /// be stored.
  var isSimulated: Bool { get }
  /// Opens a session. Its first events are the links that are open, and then the radio's state.
  ///
  /// - Parameters:
  ///   - name: What the session is for, the same in each run of the app, so that a host that outlives the app
  ///     knows it again. Empty for a session that ends with the app. A host in the process has no use for
  ///     it.
  ///   - acknowledgesEvents: Whether the client calls ``HostSession/eventsHandled(_:)``. Flow control
  ///     then slows peers down that cause more events than the client handles. Otherwise events
  ///     count as handled when `onEvents` returns.
  ///   - settle: Called after events were delivered, before virtual time advances. It must return
  ///     when the client has handled them. A client that passes events to a queue waits for the
  ///     queue here.
  ///   - onEvents: Called on the session's loop with all events of one turn of the loop, in order.
  func openSession(
    name: String, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession
}

extension HostSessionProvider {
  /// Opens a session without a name. See ``openSession(name:acknowledgesEvents:settle:onEvents:)``.
  public func openSession(
    acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    openSession(
      name: "", acknowledgesEvents: acknowledgesEvents, settle: settle, onEvents: onEvents)
  }

  /// Opens a session that gets one event per call. An event counts as handled when `onEvent`
  /// returns. See ``openSession(name:acknowledgesEvents:settle:onEvents:)``.
  public func openSession(
    name: String = "", settle: (@Sendable () -> Void)? = nil,
    onEvent: @escaping @Sendable (HostEvent) -> Void
  ) -> any HostSession {
    openSession(name: name, acknowledgesEvents: false, settle: settle) { $0.forEach(onEvent) }
  }
}

/// The names of sessions. The kind of a session is a part of its name, because a central and a peripheral
/// manager of one app may have the same identifier.
package enum SessionName {
  /// The session of Core Location, which has one for all managers of an app.
  package static let location = "location"

  /// The session of a central manager with this restore identifier; empty without one.
  package static func central(_ restoreIdentifier: String?) -> String {
    name("central", restoreIdentifier)
  }

  /// The session of a peripheral manager with this restore identifier; empty without one.
  package static func peripheral(_ restoreIdentifier: String?) -> String {
    name("peripheral", restoreIdentifier)
  }

  private static func name(_ kind: String, _ identifier: String?) -> String {
    guard let identifier, !identifier.isEmpty else { return "" }
    return "\(kind):\(identifier)"
  }
}
