public import Essentials

/// How a host finds who owns port 5353 on this machine, or becomes the owner: a race that whoever
/// binds a name first wins, and that begins again when the owner ends.
///
/// There are one or more places where an owner may be, tried in order; the last is the one that the
/// host may take itself. Whoever owns it hands it what happens, performs its actions, and calls
/// ``wake(now:into:)`` at ``nextWake``.
public struct OwnerSearch: Sendable {
  /// What happens.
  public enum Event: Hashable, Sendable {
    /// The search begins.
    case begin
    /// What came of connecting to a place.
    case connected(Outcome)
    /// Whether the last place could be taken.
    case took(TakingOutcome)
    /// The owner welcomed the host.
    case welcomed
    /// The owner does not serve it.
    case turnedAway(OwnerMessage.Refusal)
    /// The owner said anything at all.
    case heard
    /// The connection has ended.
    case lost
    /// The owner, or what it says, is not to be trusted.
    case distrusted
    /// The owner's process was stopped by somebody, or has ended though its sockets have not, and
    /// cannot answer.
    case stopped
  }

  /// What came of connecting.
  public enum Outcome: Hashable, Sendable {
    /// There is an owner, and it may be trusted.
    case isThere
    /// There is none.
    case nobody
    /// There is one that has too much to do just now, or the system has no descriptor for it.
    case busy
    /// A user has the place whom the host has no reason to trust.
    case stranger(userID: UInt32)
    /// The system does not allow it.
    case impossible
  }

  /// What came of taking a place.
  public enum TakingOutcome: Hashable, Sendable {
    /// It is the host's.
    case isOurs
    /// Somebody else was faster.
    case isTaken
    /// The system has no descriptor for it just now.
    case notNow
    /// The system does not allow it.
    case impossible
  }

  /// What is to be done.
  public enum Action: Hashable, Sendable {
    /// Connect to the place of this number.
    case connect(Int)
    /// Take the last place.
    case take
    /// Greet the owner, on the connection there is.
    case greet
    /// Ask the owner whether it still works.
    case ping
    /// Look whether the owner's process is stopped or dead; it has not answered in time.
    case inspect
    /// Close the connection.
    case disconnect
    /// The owner, another process, runs the machines from now on.
    case follow
    /// Run the machines here: for all, or for this host alone, and why. There is no way back.
    case workHere(Solitude?)
  }

  /// Why a host works by itself.
  public enum Solitude: Hashable, Sendable {
    /// A user has the place whom the host has no reason to trust.
    case stranger(userID: UInt32)
    /// The owner does not serve the host.
    case turnedAway(OwnerMessage.Refusal)
    /// The owner does not answer.
    case silence
    /// The owner says what makes no sense.
    case nonsense
    /// The system allows no socket, or the race never ended.
    case impossible
  }

  /// Times and bounds.
  public enum Limits {
    /// How long an owner may take to answer before somebody looks what it is doing.
    public static let patience = TimeSpan.seconds(5)
    /// How often that is done: an owner that works may be slow on a busy machine, the more so where
    /// thousands greet it at once, and each of them working by itself would not make it faster.
    public static let inspectionsMax = 6
    /// After so long a silence the owner is asked whether it still works.
    public static let silence = TimeSpan.seconds(30)
    /// The longest pause before a new owner is looked for: as many clients as there are look at once.
    public static let electionPauseMax = TimeSpan.milliseconds(50)
    /// The longest pause before another attempt where there is no getting through.
    public static let retryPauseMax = TimeSpan.milliseconds(500)
    /// Attempts in a row, before the host works by itself.
    public static let attemptsMax = 30
    /// Attempts at another user's place, before the next is tried: that user may be anybody who lets
    /// nobody through.
    public static let othersAttemptsMax = 5
    /// How often a place that nobody answers at may turn out to be taken: an owner answers as soon
    /// as it has taken it, another user may have no mind to.
    public static let takesMax = 10
    /// Owners lost within ``lossWindow``, before the host works by itself: it may be the one that
    /// owners let go of, because it does not take what it is told.
    public static let lossesMax = 20
    /// See ``lossesMax``.
    public static let lossWindow = TimeSpan.seconds(60)
  }

  private enum State: Sendable {
    case idle
    /// It tries a place.
    case trying(Int)
    case pausing
    case greeting
    case following(isAsked: Bool)
    case workingHere
  }

  private let placeCount: Int
  private var chance: SeededGenerator
  private var state = State.idle
  private var attemptCount = 0
  private var inspectionCount = 0
  private var takeCount = 0
  /// When owners were lost, the latest last.
  private var lossTimes: [Instant] = []

  /// When ``wake(now:into:)`` is to be called; nil if there is nothing to wait for.
  public private(set) var nextWake: Instant?

  /// A search that has not begun.
  ///
  /// - Parameters:
  ///   - placeCount: how many places there are; without any, the host works by itself.
  ///   - chance: decides on pauses only.
  public init(placeCount: Int, chance: SeededGenerator) {
    self.placeCount = placeCount
    self.chance = chance
  }

  /// Takes what happened and appends what is to be done.
  public mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    switch (event, state) {
    case (.begin, .idle): tryPlace(0, into: &actions)
    case (.connected(let outcome), .trying(let place)):
      connected(outcome, to: place, now: now, into: &actions)
    case (.took(let outcome), .trying): took(outcome, now: now, into: &actions)
    case (.welcomed, .greeting):
      state = .following(isAsked: false)
      (attemptCount, inspectionCount) = (0, 0)
      nextWake = now + Limits.silence
      actions.append(.follow)
    case (.heard, .following):
      state = .following(isAsked: false)
      inspectionCount = 0
      nextWake = now + Limits.silence
    case (.turnedAway(let refusal), .greeting), (.turnedAway(let refusal), .following):
      actions.append(.disconnect)
      workHere(.turnedAway(refusal), into: &actions)
    case (.distrusted, .greeting), (.distrusted, .following):
      actions.append(.disconnect)
      workHere(.nonsense, into: &actions)
    case (.stopped, .greeting), (.stopped, .following(isAsked: true)):
      actions.append(.disconnect)
      workHere(.silence, into: &actions)
    case (.lost, .greeting): pause(now: now, into: &actions)
    case (.lost, .following): lost(now: now, into: &actions)
    case (.begin, _), (.connected, _), (.took, _), (.welcomed, _), (.turnedAway, _), (.heard, _),
      (.lost, _), (.distrusted, _), (.stopped, _):
      break
    }
  }

  /// Does what is due by now.
  public mutating func wake(now: Instant, into actions: inout [Action]) {
    guard let due = nextWake, due <= now else { return }
    nextWake = nil
    switch state {
    case .idle, .trying, .workingHere: break
    case .pausing: tryPlace(0, into: &actions)
    case .following(isAsked: false):
      state = .following(isAsked: true)
      nextWake = now + Limits.patience
      actions.append(.ping)
    case .greeting, .following(isAsked: true):
      inspectionCount += 1
      guard inspectionCount < Limits.inspectionsMax else {
        actions.append(.disconnect)
        return workHere(.silence, into: &actions)
      }
      nextWake = now + Limits.patience
      actions.append(.inspect)
    }
  }

  // MARK: Steps

  private mutating func tryPlace(_ place: Int, into actions: inout [Action]) {
    nextWake = nil
    guard place < placeCount else { return workHere(.impossible, into: &actions) }
    state = .trying(place)
    actions.append(.connect(place))
  }

  private mutating func connected(
    _ outcome: Outcome, to place: Int, now: Instant, into actions: inout [Action]
  ) {
    let isLast = place == placeCount - 1
    switch outcome {
    case .isThere:
      state = .greeting
      (inspectionCount, takeCount) = (0, 0)
      nextWake = now + Limits.patience
      actions.append(.greet)
    case .nobody where isLast: actions.append(.take)
    case .busy where isLast || attemptCount < Limits.othersAttemptsMax:
      pause(now: now, into: &actions)
    case .stranger(let userID) where isLast: workHere(.stranger(userID: userID), into: &actions)
    case .impossible where isLast: workHere(.impossible, into: &actions)
    case .nobody, .busy, .stranger, .impossible: tryPlace(place + 1, into: &actions)
    }
  }

  private mutating func took(
    _ outcome: TakingOutcome, now: Instant, into actions: inout [Action]
  ) {
    switch outcome {
    case .isOurs: workHere(nil, into: &actions)
    case .isTaken:
      takeCount += 1
      guard takeCount < Limits.takesMax else { return workHere(.impossible, into: &actions) }
      pause(now: now, into: &actions)
    case .notNow: pause(now: now, into: &actions)
    case .impossible: workHere(.impossible, into: &actions)
    }
  }

  private mutating func lost(now: Instant, into actions: inout [Action]) {
    lossTimes = lossTimes.suffix(Limits.lossesMax - 1) + [now]
    if lossTimes.count == Limits.lossesMax, let first = lossTimes.first,
      now <= first + Limits.lossWindow
    {
      return workHere(.impossible, into: &actions)
    }
    state = .pausing
    nextWake = now + span(upTo: Limits.electionPauseMax)
  }

  /// Tries again a little later, and later each time.
  private mutating func pause(now: Instant, into actions: inout [Action]) {
    attemptCount += 1
    guard attemptCount < Limits.attemptsMax else { return workHere(.impossible, into: &actions) }
    let longest = min(Limits.electionPauseMax * Int64(attemptCount), Limits.retryPauseMax)
    state = .pausing
    nextWake = now + span(upTo: longest)
  }

  private mutating func workHere(_ solitude: Solitude?, into actions: inout [Action]) {
    state = .workingHere
    nextWake = nil
    actions.append(.workHere(solitude))
  }

  private mutating func span(upTo longest: TimeSpan) -> TimeSpan {
    .nanoseconds(Int64(chance.next(upperBound: UInt64(longest.nanoseconds))) + 1)
  }
}
