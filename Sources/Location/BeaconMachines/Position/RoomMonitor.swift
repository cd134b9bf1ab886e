public import Essentials

/// Detects when a beacon enters and leaves rooms, from position fixes. At most one room at a time.
///
/// A fix has the probability of each room, and near a wall that changes from one second to the
/// next. So a room is entered when several fixes in a row find it probable, and left when it was
/// improbable for some time, or another is entered.
public struct RoomMonitor: Sendable {
  /// How sure it wants to be.
  public struct Settings: Hashable, Sendable {
    /// A room this probable may be entered.
    public var enterProbability = 0.3
    /// The number of fixes in a row after which a room is entered.
    public var enterCount = 9
    /// A room less probable than this may be left.
    public var leaveProbability = 0.003
    /// It was less probable for so long.
    public var leaveTime = TimeSpan.seconds(5)
    /// The time without a reading after which a room is left.
    public var silence = TimeSpan.seconds(30)

    /// The usual ones, for a fix a second. Decision 116 has the table that they were chosen from.
    public init() {}
  }

  /// A change of the room.
  public enum Action: Hashable, Sendable {
    /// The room of this name was entered.
    case entered(String)
    /// The room of this name was left.
    case left(String)
  }

  /// How sure it wants to be.
  public let settings: Settings
  /// The room that the beacon is in, if it is in one.
  public private(set) var room: String?
  /// The room that may be entered, and the number of fixes in a row for it.
  var candidate: (name: String, count: Int)?
  /// Since when the room has been improbable.
  var improbableSince: Instant?
  var lastReading: Instant?

  /// Makes a monitor of a beacon of which nothing is known.
  public init(settings: Settings = Settings()) { self.settings = settings }

  /// When to call `wake`; nil while it is in no room.
  public var nextWake: Instant? {
    guard room != nil, let lastReading else { return nil }
    return lastReading + settings.silence
  }

  /// Takes the next fix. Fixes come in the order of time; an older one is taken as one of now.
  public mutating func handle(_ fix: PositionFix, now: Instant, into actions: inout [Action]) {
    wake(now: now, into: &actions)
    guard fix.readingCount > 0 else { return }
    lastReading = max(now, lastReading ?? now)
    leave(fix, now, into: &actions)
    enter(fix, into: &actions)
    assertInvariants()
  }

  /// Takes note that time has passed.
  public mutating func wake(now: Instant, into actions: inout [Action]) {
    guard let due = nextWake, now >= due else { return }
    end(into: &actions)
    candidate = nil
    assertInvariants()
  }

  private mutating func leave(_ fix: PositionFix, _ now: Instant, into actions: inout [Action]) {
    guard let room else { return }
    let probability = fix.rooms.first { $0.name == room }?.probability ?? 0
    guard probability < settings.leaveProbability else {
      improbableSince = nil
      return
    }
    let since = improbableSince ?? now
    improbableSince = since
    if now - since >= settings.leaveTime { end(into: &actions) }
  }

  private mutating func enter(_ fix: PositionFix, into actions: inout [Action]) {
    guard let best = fix.rooms.max(by: { $0.probability < $1.probability }),
      best.probability >= settings.enterProbability, best.name != room
    else {
      candidate = nil
      return
    }
    let count = candidate.map { $0.name == best.name ? $0.count + 1 : 1 } ?? 1
    candidate = (best.name, count)
    guard count >= settings.enterCount else { return }
    end(into: &actions)
    room = best.name
    candidate = nil
    actions.append(.entered(best.name))
  }

  private mutating func end(into actions: inout [Action]) {
    if let room { actions.append(.left(room)) }
    room = nil
    improbableSince = nil
  }
}
