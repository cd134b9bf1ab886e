package import Essentials

/// Finds a hub of this machine that runs Multicast DNS: the owner of port 5353. The search begins again
/// when the owner ends.
///
/// Hubs may listen at several addresses, tried in order. If none listens, the search is over at once; a hub
/// that has ended is waited for as long as a silent one. The engine passes events to it, performs its
/// actions, and calls ``wake(now:into:)`` at ``nextWake``.
package struct OwnerSearch: Sendable {
  /// Input of the machine.
  package enum Event: Hashable, Sendable {
    /// The search begins.
    case begin
    /// The result of connecting to an address.
    case connected(Outcome)
    /// The owner welcomed the host.
    case welcomed
    /// The owner rejected the host.
    case rejected(OwnerMessage.RejectionReason)
    /// The owner sent a message of any kind.
    case messageReceived
    /// The connection has ended.
    case lost
    /// The owner is not trusted, or it sent invalid messages.
    case distrusted
    /// Everything that the owner had sent before ``Action/check`` was read.
    case checked
    /// The owner has left a ping without an answer for ``Limits/searchTimeout``, in spite of other messages.
    case unanswered
    /// Whether the host has requests that the owner works for.
    case needed(Bool)
  }

  /// The result of connecting to an address.
  package enum Outcome: Hashable, Sendable {
    /// Connected to an owner that the host trusts.
    case connected
    /// No process has bound the address.
    case noOwner
    /// The owner's queue of connections is full: it does not accept any.
    case busy
    /// This process has no free descriptor, which tells nothing about the owner.
    case noDescriptor
    /// The address is bound by a user that the host does not trust.
    case untrustedUser(userID: UInt32)
    /// The operating system refuses to connect.
    case impossible
  }

  /// Output of the machine: work for the engine.
  package enum Action: Hashable, Sendable {
    /// Connect to the address with this index.
    case connect(Int)
    /// Send a greeting on the connection.
    case greet
    /// Send a ping, which the owner must answer.
    case ping
    /// Read what the owner has sent, and pass ``Event/checked`` after it: the answer may have
    /// arrived while this process did not run.
    case check
    /// Close the connection.
    case disconnect
    /// Inform the owner that the host goes on without it, so that it doesn't withdraw what the host
    /// has registered, and close the connection.
    case leave
    /// Report that this process has no free descriptor. The search goes on.
    case reportShortage
    /// The owner, another process, runs the machines from now on.
    case follow
    /// Fail all requests: the owner has too many clients. The search begins again with
    /// ``Event/begin``.
    case refuse
    /// Run the machines in this process, with the reason; without a reason, no hub was there. This is
    /// final.
    case runLocally(StandaloneReason?)
  }

  /// The reason why a host does without a hub that was there.
  package enum StandaloneReason: Hashable, Sendable {
    /// The address is bound by a user that the host does not trust.
    case untrustedUser(userID: UInt32)
    /// The owner rejected the host.
    case rejected(OwnerMessage.RejectionReason)
    /// The owner does not answer.
    case silence
    /// The owner sent invalid messages.
    case invalidMessages
    /// The operating system allows no socket, or too many attempts failed.
    case impossible
  }

  /// Times and limits.
  package enum Limits {
    /// The time in which a search must find an owner that answers, however many owners there are
    /// and in any way in which they are silent.
    package static let searchTimeout = TimeSpan.seconds(5)
    /// The silence after which a ping is sent to an owner that works for the host. Together with
    /// ``responseTimeout`` it is the time after which a frozen owner is left.
    package static let silence = TimeSpan.seconds(2)
    /// The silence after which a ping is sent to an owner that has nothing to do for the host.
    package static let idleSilence = TimeSpan.seconds(30)
    /// The time an owner has to answer a ping.
    package static let responseTimeout = TimeSpan.seconds(3)
    /// The delay of a timer from which on this process must have been stopped itself, perhaps
    /// together with the owner, which then gets more time.
    package static let delayMax = TimeSpan.seconds(1)
    /// The maximum delay before the search for a new owner, as all clients of the old one begin at
    /// once.
    package static let lossPauseMax = TimeSpan.milliseconds(50)
    /// The maximum delay before another attempt after a failed one.
    package static let retryPauseMax = TimeSpan.milliseconds(500)
    /// The maximum number of consecutive attempts before the host runs standalone.
    package static let attemptsMax = 30
    /// The maximum number of attempts at another user's address before the next address is tried,
    /// as that user's process may never accept.
    package static let othersAttemptsMax = 5
    /// The maximum number of owners lost within ``lossWindow`` before the host runs standalone:
    /// owners may be disconnecting this host because it does not read.
    package static let lossesMax = 20
    /// See ``lossesMax``.
    package static let lossWindow = TimeSpan.seconds(60)
  }

  enum State: Sendable {
    case idle
    /// Connecting to the address with this index.
    case trying(Int)
    case pausing
    case greeting
    case following(isAsked: Bool)
    case refused
    case runningLocally
  }

  let addressCount: Int
  private var rng: SeededGenerator
  var state = State.idle
  var attemptCount = 0
  /// When the present search has to be over.
  private var endsAt = Instant.zero
  /// When the address was begun to be tried.
  private var triedAt = Instant.zero
  /// Whether the search, or the owner, was given more time, as this process had been stopped.
  private var isExtended = false
  private var isNeeded = false
  /// When ``Action/check`` was given out; distant future while the owner still has time.
  private var checkedFrom = Instant.distantFuture
  private var isShortageReported = false
  /// Whether an owner was found.
  var hasFoundOwner = false
  /// When owners were lost, the latest last.
  var lossTimes: [Instant] = []

  /// The time to call ``wake(now:into:)``; nil if no timer is running.
  package private(set) var nextWake: Instant?

  /// Creates a search that has not begun.
  ///
  /// - Parameters:
  ///   - addressCount: The number of addresses, at least one.
  ///   - rng: Used for random delays only.
  package init(addressCount: Int, rng: SeededGenerator) {
    precondition(addressCount > 0, "\(addressCount) addresses")
    self.addressCount = addressCount
    self.rng = rng
  }

  /// Processes an event and appends the resulting actions.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    defer { assertInvariants() }
    switch (event, state) {
    case (.begin, .idle), (.begin, .refused):
      begin(now: now)
      tryAddress(0, now: now, into: &actions)
    case (.connected(let outcome), .trying(let address)):
      _ = extends(since: triedAt, now: now)
      connected(outcome, to: address, now: now, into: &actions)
    case (.welcomed, .greeting):
      heard(now: now)
      actions.append(.follow)
    case (.messageReceived, .following): heard(now: now)
    case (.needed(let isNeeded), _): needed(isNeeded, now: now)
    case (.rejected(.tooManyClients), .greeting), (.rejected(.tooManyClients), .following):
      actions.append(.disconnect)
      refuse(into: &actions)
    case (.rejected(let reason), .greeting), (.rejected(let reason), .following):
      leave(.rejected(reason), into: &actions)
    case (.distrusted, .greeting), (.distrusted, .following):
      leave(.invalidMessages, into: &actions)
    case (.checked, .greeting), (.checked, .following(isAsked: true)):
      if now >= checkedFrom { leave(.silence, into: &actions) }
    case (.unanswered, .following): leave(.silence, into: &actions)
    case (.lost, .greeting):
      _ = extends(since: nextWake ?? now, now: now)
      pause(now: now, into: &actions)
    case (.lost, .following): lost(now: now, into: &actions)
    case (.begin, _), (.connected, _), (.welcomed, _), (.rejected, _), (.messageReceived, _),
      (.lost, _), (.distrusted, _), (.checked, _), (.unanswered, _):
      break
    }
  }

  /// Performs the work that is due at `now`.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    guard let due = nextWake, due <= now else { return }
    defer { assertInvariants() }
    nextWake = nil
    switch state {
    case .idle, .trying, .refused, .runningLocally: break
    case .pausing:
      _ = extends(since: due, now: now)
      tryAddress(0, now: now, into: &actions)
    case .following(isAsked: false): ask(now: now, into: &actions)
    case .greeting, .following(isAsked: true):
      if extends(since: due, now: now) {
        nextWake = now + Limits.responseTimeout
        return
      }
      checkedFrom = now
      nextWake = now + Limits.responseTimeout
      actions.append(.check)
    }
  }

  // MARK: An owner

  private mutating func ask(now: Instant, into actions: inout [Action]) {
    (state, isExtended, checkedFrom) = (.following(isAsked: true), false, .distantFuture)
    nextWake = now + Limits.responseTimeout
    actions.append(.ping)
  }

  /// The owner works.
  private mutating func heard(now: Instant) {
    state = .following(isAsked: false)
    attemptCount = 0
    nextWake = now + (isNeeded ? Limits.silence : Limits.idleSilence)
  }

  private mutating func needed(_ isNeeded: Bool, now: Instant) {
    self.isNeeded = isNeeded
    guard case .following(isAsked: false) = state, isNeeded else { return }
    nextWake = min(nextWake ?? .distantFuture, now + Limits.silence)
  }

  private mutating func leave(_ reason: StandaloneReason, into actions: inout [Action]) {
    actions.append(.leave)
    runLocally(reason, into: &actions)
  }

  // MARK: Steps

  private mutating func begin(now: Instant) {
    (attemptCount, isShortageReported, isExtended) = (0, false, false)
    endsAt = now + Limits.searchTimeout
  }

  /// Gives the owner more time, once, if this process must have been stopped since `due`, perhaps
  /// together with the owner: that time is none that the owner was silent in.
  private mutating func extends(since due: Instant, now: Instant) -> Bool {
    guard !isExtended, now - due >= Limits.delayMax else { return false }
    isExtended = true
    endsAt = max(endsAt, now + Limits.responseTimeout)
    return true
  }

  private mutating func tryAddress(_ address: Int, now: Instant, into actions: inout [Action]) {
    nextWake = nil
    guard address < addressCount else { return runLocally(.impossible, into: &actions) }
    (state, triedAt) = (.trying(address), now)
    actions.append(.connect(address))
  }

  private mutating func connected(
    _ outcome: Outcome, to address: Int, now: Instant, into actions: inout [Action]
  ) {
    let isLast = address == addressCount - 1
    switch outcome {
    case .connected:
      (state, hasFoundOwner, checkedFrom) = (.greeting, true, .distantFuture)
      nextWake = max(endsAt, now)
      actions.append(.greet)
    case .noOwner where isLast && hasFoundOwner: pause(now: now, into: &actions)
    case .noOwner where isLast: runLocally(nil, into: &actions)
    case .busy where isLast || attemptCount < Limits.othersAttemptsMax:
      pause(now: now, isOwnerBusy: true, into: &actions)
    case .noDescriptor: waitForDescriptor(now: now, into: &actions)
    case .untrustedUser(let userID) where isLast:
      runLocally(.untrustedUser(userID: userID), into: &actions)
    case .impossible where isLast: runLocally(.impossible, into: &actions)
    case .noOwner, .busy, .untrustedUser, .impossible:
      tryAddress(address + 1, now: now, into: &actions)
    }
  }

  private mutating func lost(now: Instant, into actions: inout [Action]) {
    assert(hasFoundOwner, "an owner is lost that was never found")
    lossTimes = lossTimes.suffix(Limits.lossesMax - 1) + [now]
    if lossTimes.count == Limits.lossesMax, let first = lossTimes.first,
      now <= first + Limits.lossWindow
    {
      return runLocally(.impossible, into: &actions)
    }
    begin(now: now)
    state = .pausing
    nextWake = now + span(upTo: Limits.lossPauseMax)
  }

  /// Tries again a little later, and later each time.
  private mutating func pause(
    now: Instant, isOwnerBusy: Bool = false, into actions: inout [Action]
  ) {
    assert(attemptCount < Limits.attemptsMax, "an attempt follows the last one")
    attemptCount += 1
    guard attemptCount < Limits.attemptsMax, now < endsAt else {
      return runLocally(isOwnerBusy ? .silence : .impossible, into: &actions)
    }
    let longest = min(Limits.lossPauseMax * Int64(attemptCount), Limits.retryPauseMax)
    state = .pausing
    nextWake = min(now + span(upTo: longest), max(endsAt, now))
  }

  /// Tries again until a descriptor is free. Without any, this process can't have sockets of its
  /// own either, and no owner is at fault: none loses any of its time.
  private mutating func waitForDescriptor(now: Instant, into actions: inout [Action]) {
    if !isShortageReported { actions.append(.reportShortage) }
    isShortageReported = true
    endsAt = now + Limits.searchTimeout
    state = .pausing
    nextWake = now + span(upTo: Limits.retryPauseMax)
  }

  /// An owner that has too many clients would not have fewer if each spoke Multicast DNS itself.
  private mutating func refuse(into actions: inout [Action]) {
    state = .refused
    nextWake = nil
    actions.append(.refuse)
  }

  private mutating func runLocally(_ reason: StandaloneReason?, into actions: inout [Action]) {
    state = .runningLocally
    nextWake = nil
    actions.append(.runLocally(reason))
  }

  private mutating func span(upTo longest: TimeSpan) -> TimeSpan {
    precondition(longest > .zero, "no pause is shorter than \(longest)")
    return .nanoseconds(Int64(rng.next(upperBound: UInt64(longest.nanoseconds))) + 1)
  }
}
