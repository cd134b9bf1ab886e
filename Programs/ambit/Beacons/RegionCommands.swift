import BeaconMachines
import Essentials

/// Orders the commands of regions: those of one region run one after the other, those of different
/// regions side by side (docs/decisions/0186-the-commands-of-a-region-run-in-order.md).
///
/// A command that goes on when the next event of its region has come gets `patience` from then on;
/// then it is to be ended, and killed when it doesn't. So the last event of a region always gets its
/// command, however many commands hang.
struct RegionCommands: Sendable {
  /// What a region's boundary was crossed for.
  enum Event: String, Hashable, Sendable {
    case enter, exit
  }

  /// An event of a region.
  struct Crossing: Hashable, Sendable {
    var region: String
    var event: Event
    /// The beacon that was received last, if one was since this process began.
    var beacon: BeaconIdentity?
  }

  /// What the host is to do, in this order.
  enum Action: Hashable, Sendable {
    /// Start the command. The host reports its end with `ended`, or that it didn't start.
    case start(Crossing)
    /// End the command of the region; forced if it didn't heed the first time.
    case end(region: String, isForced: Bool)
    /// Too many events waited: this many got no command.
    case skipped(region: String, count: Int)
  }

  private struct Region: Sendable {
    var running: Crossing?
    var waiting: [Crossing] = []
    /// When the running command is to be ended, or one that couldn't be started is tried again.
    var deadline: Instant?
    var isEnding = false
  }

  /// How many events of a region wait. Of more, the oldest enter and exit are left out.
  static let waitingMax = 16
  /// How long a command has to end when it was asked to.
  static let endTime = TimeSpan.seconds(5)
  /// How long it is until a command that the system had no room for is started again.
  static let retryTime = TimeSpan.seconds(1)

  private let patience: TimeSpan
  private var regions: [String: Region] = [:]

  /// - Parameter patience: How long a command may go on when the next event of its region waits.
  init(patience: TimeSpan) { self.patience = patience }

  /// A region was entered or left.
  mutating func crossed(_ crossing: Crossing, now: Instant) -> [Action] {
    var region = regions[crossing.region] ?? Region()
    defer { regions[crossing.region] = region }
    region.waiting.append(crossing)
    if region.running == nil, region.deadline == nil { return startNext(&region, now) }
    if region.running != nil, region.deadline == nil { region.deadline = now + patience }
    guard region.waiting.count > Self.waitingMax else { return [] }
    // Events alternate, so that what waits still ends with the last state.
    region.waiting.removeFirst(2)
    return [.skipped(region: crossing.region, count: 2)]
  }

  /// The command of a region has ended, or can't be started at all.
  mutating func ended(region name: String, now: Instant) -> [Action] {
    guard var region = regions[name], region.running != nil else { return [] }
    defer { regions[name] = region }
    return startNext(&region, now)
  }

  /// The system had no room for the command of a region.
  mutating func hadNoRoom(region name: String, now: Instant) {
    guard let running = regions[name]?.running else { return }
    regions[name]?.waiting.insert(running, at: 0)
    regions[name]?.running = nil
    regions[name]?.deadline = now + Self.retryTime
  }

  /// When to call `wake`; nil if nothing is to be done at a time.
  var nextWake: Instant? { regions.values.compactMap(\.deadline).min() }

  /// Ends commands whose time is over, and starts those for which there was no room.
  mutating func wake(now: Instant) -> [Action] {
    var actions: [Action] = []
    for (name, var region) in regions {
      guard let deadline = region.deadline, deadline <= now else { continue }
      if region.running == nil {
        actions += startNext(&region, now)
      } else {
        actions.append(.end(region: name, isForced: region.isEnding))
        region.isEnding = true
        region.deadline = now + Self.endTime
      }
      regions[name] = region
    }
    return actions
  }

  private func startNext(_ region: inout Region, _ now: Instant) -> [Action] {
    region.isEnding = false
    region.running = region.waiting.isEmpty ? nil : region.waiting.removeFirst()
    region.deadline = region.waiting.isEmpty ? nil : now + patience
    return region.running.map { [.start($0)] } ?? []
  }
}
