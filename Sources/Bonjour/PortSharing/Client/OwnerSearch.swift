package import Essentials

/// Finds the owner of port 5353 on this machine, or becomes the owner: the first process that binds
/// a socket name owns the port, and the search begins again when the owner ends.
///
/// There are one or more addresses of owners, tried in order; the last is the one that the host may
/// bind itself. The engine passes events to it, performs its actions, and calls ``wake(now:into:)``
/// at ``nextWake``.
package struct OwnerSearch: Sendable {
  /// Input of the machine.
  package enum Event: Hashable, Sendable {
    /// The search begins.
    case begin
    /// The result of connecting to an address.
    case connected(Outcome)
    /// The result of binding the last address.
    case bound(BindOutcome)
    /// The owner welcomed the host.
    case welcomed
    /// The owner rejected the host.
    case rejected(OwnerMessage.RejectionReason)
    /// The owner sent a message of any kind.
    case messageReceived
    /// The owner has informed the host of its own registrations.
    case informed
    /// The connection has ended.
    case lost
    /// The owner is not trusted, or it sent invalid messages.
    case distrusted
    /// The owner's process was stopped, or it has ended although its sockets are still open. It
    /// can't answer.
    case stopped
  }

  /// The result of connecting to an address.
  package enum Outcome: Hashable, Sendable {
    /// Connected to an owner that the host trusts.
    case isThere
    /// No process has bound the address.
    case noOwner
    /// The owner's queue of connections is full, or no descriptor is free.
    case busy
    /// The address is bound by a user that the host does not trust.
    case untrustedUser(userID: UInt32)
    /// The operating system refuses to connect.
    case impossible
  }

  /// The result of binding an address.
  package enum BindOutcome: Hashable, Sendable {
    /// The host has bound the address.
    case isOurs
    /// Another process has bound it.
    case isTaken
    /// No descriptor is free at the moment.
    case notNow
    /// The operating system refuses to bind the address.
    case impossible
  }

  /// Output of the machine: work for the engine.
  package enum Action: Hashable, Sendable {
    /// Connect to the address with this index.
    case connect(Int)
    /// Bind the last address.
    case bind
    /// Send a greeting on the connection.
    case greet
    /// Send a ping, which the owner must answer.
    case ping
    /// Check whether the owner's process, which has not answered in time, is stopped or dead.
    case inspect
    /// Close the connection.
    case disconnect
    /// The owner, another process, runs the machines from now on.
    case follow
    /// Fail all requests: the owner has too many clients. The search begins again with
    /// ``Event/begin``.
    case refuse
    /// Run the machines in this process: as the owner, or standalone with the reason. This is final.
    case runLocally(StandaloneReason?)
  }

  /// The reason why a host runs standalone.
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
    /// The time an owner has to answer before the state of its process is inspected.
    package static let responseTimeout = TimeSpan.seconds(5)
    /// The maximum number of inspections. A working owner may be slow on a busy machine, especially
    /// if thousands of clients greet it at once; it would not become faster if each of them ran
    /// standalone.
    package static let inspectionsMax = 6
    /// The silence after which a ping is sent.
    package static let silence = TimeSpan.seconds(30)
    /// The maximum delay before the search for a new owner, as all clients of the old one begin at
    /// once.
    package static let electionPauseMax = informedPauseMax * 2
    /// The maximum delay of clients that know the owner's registrations, and can send goodbye
    /// records for them; the minimum delay of other clients.
    package static let informedPauseMax = TimeSpan.milliseconds(25)
    /// The maximum delay before another attempt after a failed one.
    package static let retryPauseMax = TimeSpan.milliseconds(500)
    /// The maximum number of consecutive attempts before the host runs standalone.
    package static let attemptsMax = 30
    /// The maximum number of attempts at another user's address before the next address is tried,
    /// as that user's process may never accept.
    package static let othersAttemptsMax = 5
    /// The maximum number of times that an address can refuse connections and be bound
    /// nevertheless. An owner listens as soon as it has bound the address; a process of another
    /// user may never listen.
    package static let bindAttemptsMax = 10
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
  var inspectionCount = 0
  var bindAttemptCount = 0
  private var isInformed = false
  /// The address at which there was an owner.
  var followedAddress: Int?
  /// Whether the owner has ended: no process has bound its address. A disconnection is not
  /// sufficient, as an owner may disconnect a client.
  package private(set) var hasOwnerEnded = false
  /// When owners were lost, the latest last.
  var lossTimes: [Instant] = []

  /// The time to call ``wake(now:into:)``; nil if no timer is running.
  package private(set) var nextWake: Instant?

  /// Creates a search that has not begun.
  ///
  /// - Parameters:
  ///   - addressCount: The number of addresses; without any, the host runs standalone.
  ///   - rng: Used for random delays only.
  package init(addressCount: Int, rng: SeededGenerator) {
    precondition(addressCount >= 0, "\(addressCount) addresses")
    self.addressCount = addressCount
    self.rng = rng
  }

  /// Processes an event and appends the resulting actions.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    defer { assertInvariants() }
    switch (event, state) {
    case (.begin, .idle): tryAddress(0, into: &actions)
    case (.begin, .refused):
      (attemptCount, inspectionCount, bindAttemptCount) = (0, 0, 0)
      tryAddress(0, into: &actions)
    case (.connected(let outcome), .trying(let address)):
      connected(outcome, to: address, now: now, into: &actions)
    case (.bound(let outcome), .trying(let address)):
      assert(address == addressCount - 1, "address \(address) is not the host's own")
      bound(outcome, now: now, into: &actions)
    case (.welcomed, .greeting):
      state = .following(isAsked: false)
      (attemptCount, inspectionCount) = (0, 0)
      nextWake = now + Limits.silence
      actions.append(.follow)
    case (.messageReceived, .following):
      state = .following(isAsked: false)
      inspectionCount = 0
      nextWake = now + Limits.silence
    case (.informed, .following): isInformed = true
    case (.rejected(.tooManyClients), .greeting), (.rejected(.tooManyClients), .following):
      actions.append(.disconnect)
      refuse(into: &actions)
    case (.rejected(let reason), .greeting), (.rejected(let reason), .following):
      actions.append(.disconnect)
      runLocally(.rejected(reason), into: &actions)
    case (.distrusted, .greeting), (.distrusted, .following):
      actions.append(.disconnect)
      runLocally(.invalidMessages, into: &actions)
    case (.stopped, .greeting), (.stopped, .following(isAsked: true)):
      actions.append(.disconnect)
      runLocally(.silence, into: &actions)
    case (.lost, .greeting): pause(now: now, into: &actions)
    case (.lost, .following): lost(now: now, into: &actions)
    case (.begin, _), (.connected, _), (.bound, _), (.welcomed, _), (.rejected, _),
      (.messageReceived, _), (.informed, _), (.lost, _), (.distrusted, _),
      (.stopped, _):
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
    case .pausing: tryAddress(0, into: &actions)
    case .following(isAsked: false):
      state = .following(isAsked: true)
      nextWake = now + Limits.responseTimeout
      actions.append(.ping)
    case .greeting, .following(isAsked: true):
      inspectionCount += 1
      guard inspectionCount < Limits.inspectionsMax else {
        actions.append(.disconnect)
        return runLocally(.silence, into: &actions)
      }
      nextWake = now + Limits.responseTimeout
      actions.append(.inspect)
    }
  }

  // MARK: Steps

  private mutating func tryAddress(_ address: Int, into actions: inout [Action]) {
    nextWake = nil
    guard address < addressCount else { return runLocally(.impossible, into: &actions) }
    state = .trying(address)
    actions.append(.connect(address))
  }

  private mutating func connected(
    _ outcome: Outcome, to address: Int, now: Instant, into actions: inout [Action]
  ) {
    let isLast = address == addressCount - 1
    if case .noOwner = outcome, address == followedAddress { hasOwnerEnded = true }
    switch outcome {
    case .isThere:
      (state, isInformed) = (.greeting, false)
      (followedAddress, hasOwnerEnded) = (address, false)
      (inspectionCount, bindAttemptCount) = (0, 0)
      nextWake = now + Limits.responseTimeout
      actions.append(.greet)
    case .noOwner where isLast: actions.append(.bind)
    case .busy where isLast || attemptCount < Limits.othersAttemptsMax:
      pause(now: now, isOwnerBusy: true, into: &actions)
    case .untrustedUser(let userID) where isLast:
      runLocally(.untrustedUser(userID: userID), into: &actions)
    case .impossible where isLast: runLocally(.impossible, into: &actions)
    case .noOwner, .busy, .untrustedUser, .impossible: tryAddress(address + 1, into: &actions)
    }
  }

  private mutating func bound(
    _ outcome: BindOutcome, now: Instant, into actions: inout [Action]
  ) {
    switch outcome {
    case .isOurs: runLocally(nil, into: &actions)
    case .isTaken:
      bindAttemptCount += 1
      guard bindAttemptCount < Limits.bindAttemptsMax else {
        return runLocally(.impossible, into: &actions)
      }
      pause(now: now, into: &actions)
    case .notNow: pause(now: now, into: &actions)
    case .impossible: runLocally(.impossible, into: &actions)
    }
  }

  private mutating func lost(now: Instant, into actions: inout [Action]) {
    assert(followedAddress != nil, "an owner is lost that had no address")
    lossTimes = lossTimes.suffix(Limits.lossesMax - 1) + [now]
    if lossTimes.count == Limits.lossesMax, let first = lossTimes.first,
      now <= first + Limits.lossWindow
    {
      return runLocally(.impossible, into: &actions)
    }
    state = .pausing
    let begin = isInformed ? now : now + Limits.informedPauseMax
    nextWake = begin + span(upTo: Limits.informedPauseMax)
  }

  /// Tries again a little later, and later each time.
  private mutating func pause(
    now: Instant, isOwnerBusy: Bool = false, into actions: inout [Action]
  ) {
    assert(attemptCount < Limits.attemptsMax, "an attempt follows the last one")
    attemptCount += 1
    guard attemptCount < Limits.attemptsMax else {
      return isOwnerBusy ? refuse(into: &actions) : runLocally(.impossible, into: &actions)
    }
    let longest = min(Limits.electionPauseMax * Int64(attemptCount), Limits.retryPauseMax)
    state = .pausing
    nextWake = now + span(upTo: longest)
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
