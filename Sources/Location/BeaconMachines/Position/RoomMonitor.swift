public import Essentials

/// Detects when a beacon enters and leaves rooms, from position fixes. The beacon is in at most one
/// room at a time.
///
/// Near a wall, the probability of a room changes from one second to the next. So a room is entered
/// when it was probable in several fixes in a row, and left when it was improbable for some time,
/// or when another is entered.
public struct RoomMonitor: Machine, Sendable {
  /// The thresholds of entering and leaving.
  public struct Settings: Hashable, Sendable {
    /// The probability from which a room can be entered.
    public var enterProbability = 0.3
    /// The number of fixes in a row after which a room is entered.
    public var enterCount = 9
    /// The probability below which a room can be left.
    public var leaveProbability = 0.003
    /// The time after which a room with a lower probability is left.
    public var leaveTime = TimeSpan.seconds(5)
    /// The time without a reading after which a room is left.
    public var silence = TimeSpan.seconds(30)

    /// Creates the default settings, for one fix per second. Decision 116 has the table that they
    /// were chosen from.
    public init() {}
  }

  /// A change of the room.
  public enum Action: Hashable, Sendable {
    /// The room of this name was entered.
    case entered(String)
    /// The room of this name was left.
    case left(String)
  }

  /// The thresholds of this monitor.
  public let settings: Settings
  /// The room that the beacon is in, if it is in one.
  public private(set) var room: String?
  /// The room that may be entered, and the number of fixes in a row for it.
  var candidate: (name: String, count: Int)?
  /// Since when the room has been improbable.
  var improbableSince: Instant?
  var lastReading: Instant?

  /// Creates a monitor of a beacon that is in no room.
  public init(settings: Settings = Settings()) { self.settings = settings }

  /// The time to call `wake`; nil while the beacon is in no room.
  public var nextWake: Instant? {
    guard room != nil, let lastReading else { return nil }
    return lastReading + settings.silence
  }

  /// Handles the next fix. Fixes must be in order of time; an older one is treated as one of now.
  public mutating func handle(_ fix: PositionFix, now: Instant, into actions: inout [Action]) {
    wake(now: now, into: &actions)
    guard fix.readingCount > 0 else { return }
    lastReading = max(now, lastReading ?? now)
    leave(fix, now, into: &actions)
    enter(fix, into: &actions)
    assertInvariants()
  }

  /// Leaves the room if the beacon was silent for too long.
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
