import DiscoveryMachines
import Essentials
import EventLoop
import PortSharing

// Whether the machines work that work for a host.

extension BonjourEngine {
  /// A ping that waits for the answer of another process, the owner, with its caller.
  struct AvailabilityWait {
    /// Its number.
    let ping: UInt64
    /// When it gets a result in any case.
    var endsAt: Instant
    /// Whether it was given more time, as this process had been stopped.
    var isExtended = false
    let body: @Sendable (BonjourHost.Availability) -> Void
  }

  /// Calls back with whether the machines that work for this host do so now: where its owner is
  /// another process, when that has answered, has ended, or is left, in five seconds at most.
  func whenAvailable(_ body: @escaping @Sendable (BonjourHost.Availability) -> Void) {
    switch state {
    case .alone, .owning: body(doubted(.works))
    case .following(let owner):
      ping(owner, body)
    case .searching:
      let isChanging = answers.wasServed(now: .now) || answers.isBehind(now: .now)
      body(isChanging ? doubted(.works) : .silent)
    case .refused: body(answers.wasServed(now: .now) ? doubted(.works) : .refused)
    case .stopping, .ended: body(.silent)
    }
  }

  /// Gives all callers that wait their result.
  func answered(_ availability: BonjourHost.Availability) {
    let waiting = awaitingAvailability
    awaitingAvailability = []
    availabilityTimer.cancel()
    for wait in waiting { wait.body(doubted(availability)) }
  }

  /// Machines that have taken over from silent ones have only begun.
  private func doubted(_ availability: BonjourHost.Availability) -> BonjourHost.Availability {
    availability == .works && answers.isBehind(now: .now) ? .recovering : availability
  }

  // MARK: Pings

  /// Sends a ping, after all that was sent before, and waits for its answer.
  func ping(
    _ owner: OwnerConnection,
    _ body: @escaping @Sendable (BonjourHost.Availability) -> Void = { _ in }
  ) {
    answers.pinged(now: .now)
    _ = owner.connection.send(ClientMessage.ping)
    owner.connection.flush()
    awaitingAvailability.append(
      AvailabilityWait(
        ping: answers.lastPing, endsAt: .now + OwnerSearch.Limits.searchTimeout, body: body))
    setAvailabilityTimer()
  }

  /// Sends what was given to the owner's connection, and a ping, the answer to which tells that
  /// requests were handled.
  func flush(_ requests: some Collection<DiscoveryRequest>, to owner: OwnerConnection) {
    if requests.contains(where: \.isBeginning), answers.requested() { return ping(owner) }
    owner.connection.flush()
  }

  /// The owner has answered the first ping that had no answer.
  func takePong() {
    guard case .following(let owner) = state else { return }
    if answers.answered(now: .now) { ping(owner) }
    let answered = awaitingAvailability.filter { answers.isAnswered($0.ping) }
    awaitingAvailability.removeAll { answers.isAnswered($0.ping) }
    setAvailabilityTimer()
    for wait in answered { wait.body(doubted(.works)) }
  }

  private func setAvailabilityTimer() {
    if let end = awaitingAvailability.map(\.endsAt).min() {
      availabilityTimer.set(end)
    } else {
      availabilityTimer.cancel()
    }
  }

  /// Ends the waits that are due, and leaves the owner, although it may send other messages.
  func wakeAvailability() {
    // The answer may have arrived while this process did not run.
    state.otherOwner?.connection.readNow()
    let now = Instant.now
    var unanswered: [AvailabilityWait] = []
    for index in awaitingAvailability.indices.reversed()
    where awaitingAvailability[index].endsAt <= now {
      let wait = awaitingAvailability[index]
      if !wait.isExtended, now - wait.endsAt >= OwnerSearch.Limits.delayMax {
        // This process was stopped, perhaps together with the owner.
        awaitingAvailability[index].isExtended = true
        awaitingAvailability[index].endsAt = now + OwnerSearch.Limits.responseTimeout
      } else {
        unanswered.append(awaitingAvailability.remove(at: index))
      }
    }
    setAvailabilityTimer()
    for wait in unanswered.reversed() { wait.body(.silent) }
    if !unanswered.isEmpty { handle(OwnerSearch.Event.unanswered) }
  }
}

extension DiscoveryRequest {
  /// Whether it begins something whose results are waited for.
  fileprivate var isBeginning: Bool {
    switch self {
    case .startQuery, .registerService, .registerRecord: true
    case .stopQuery, .reconfirm, .updateText, .updateRecord, .setRecord, .unregister: false
    }
  }
}
