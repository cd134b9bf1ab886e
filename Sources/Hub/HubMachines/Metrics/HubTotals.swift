import BluetoothInterface
import HubWire

/// What a hub has done since it was started. The numbers only grow.
struct HubTotals: Hashable, Sendable {
  /// Programs that were served.
  var programCount = 0
  /// Sessions that were opened.
  var sessionCount = 0
  /// Requests of programs that were passed to the host.
  var requestCount = 0
  /// Connections that were refused, or ended for a reason of the hub, by the reason.
  var refusalCounts: [HubRefusal.Reason: Int] = [:]
  /// Events of the host that were passed to programs.
  var eventCount = 0
  /// Values of peers' characteristics among them, each for one program.
  var valueCount = 0
  /// Advertising reports among them, each for one program.
  var reportCount = 0
  /// Sessions whose program requested to keep them for longer than it may.
  var shortenedKeepingCount = 0
  /// Sessions that were to be kept, and were closed with their program for lack of room.
  var unkeptSessionCount = 0

  /// A session's events are passed to its program.
  mutating func passed(_ events: [HostEvent]) {
    eventCount += events.count
    for event in events {
      switch event {
      case .valueUpdated: valueCount += 1
      case .discovered: reportCount += 1
      default: break
      }
    }
  }

  /// A connection was refused, or ended for a reason of the hub.
  mutating func refused(_ reason: HubRefusal.Reason) { refusalCounts[reason, default: 0] += 1 }
}
