public import Essentials

/// A client's session with a host: requests out, events in, on a loop with a clock.
///
/// A client knows its host by nothing else, so that the host may run in the client's process or in
/// another one. All methods may be called from any thread. A session that is released is closed.
public protocol HostSession: AnyObject, Sendable {
  /// The loop on which events are delivered.
  var loop: any SessionLoop { get }
  /// Sends a request to the host; returns at once. Answers arrive as events.
  func send(_ request: HostRequest)
  /// Acknowledges that the client has handled this number of events, in the order of delivery. For
  /// sessions that were opened to acknowledge events.
  func eventsHandled(_ count: Int)
  /// Notifies the host that the client has work that no event caused. Virtual time calls `settle`,
  /// and so waits for the work, before it goes on.
  func hasWork()
  /// Ends the session and all its requests. No event is delivered after this returns, except those
  /// that are being delivered just now.
  func close()
}

/// The event loop of a session, and its clock: what a client does there happens before or after an
/// event, never during one.
public protocol SessionLoop: Sendable {
  /// The time by this loop, which may be virtual. On the loop only.
  var now: Instant { get }
  /// The calendar time in seconds since 1 January 2001, UTC, for time stamps that apps see. Virtual
  /// time begins on that day. From any thread.
  var calendarTime: Double { get }
  /// Runs the work soon, after work that was handed over before. From any thread.
  func execute(_ work: @escaping @Sendable () -> Void)
  /// Makes a timer that calls `onFire` on this loop. On the loop only.
  func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer
}

/// Opens sessions with a host.
public protocol HostSessionProvider: AnyObject, Sendable {
  /// Whether the radio is simulated and its peers are new each time, so that nothing that is known
  /// of them is worth keeping.
  var isSimulated: Bool { get }
  /// Opens a session. Its first event is the radio's state.
  ///
  /// - Parameters:
  ///   - acknowledgesEvents: Whether the client calls ``HostSession/eventsHandled(_:)``. Peers that
  ///     cause more events than it handles are then held back. Otherwise events count as handled
  ///     when `onEvents` returns.
  ///   - settle: Called after events were delivered and before virtual time goes on; returns when
  ///     the client has handled them. A client that passes events to a queue waits for the queue
  ///     here.
  ///   - onEvents: Takes the host's events, in order, on the session's loop: those of one turn of
  ///     the loop together.
  func openSession(
    acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession
}

extension HostSessionProvider {
  /// Opens a session that takes events one after the other; each counts as handled when `onEvent`
  /// returns. See ``openSession(acknowledgesEvents:settle:onEvents:)``.
  public func openSession(
    settle: (@Sendable () -> Void)? = nil, onEvent: @escaping @Sendable (HostEvent) -> Void
  ) -> any HostSession {
    openSession(acknowledgesEvents: false, settle: settle) { $0.forEach(onEvent) }
  }
}
