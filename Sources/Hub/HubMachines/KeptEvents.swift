import BluetoothInterface
import BluetoothWire

/// The events of a kept session, until a new process of its program takes them: a bounded number.
///
/// Of a peer's advertising reports only the last one is kept, in the place of the first.
struct KeptEvents: Sendable {
  private(set) var events: [HostEvent] = []
  private(set) var byteCount = 0
  /// The number of events that were removed, so that the places of reports stay valid.
  private var removedCount = 0
  /// The places of advertising reports, counted from the first event ever.
  private var reports: [DeviceAddress: Int] = [:]
  /// How many events were given up.
  private(set) var droppedCount = 0

  /// Counts an event that is not kept.
  mutating func drop() { droppedCount += 1 }

  /// Appends an event. Returns the oldest ones, which have no room any more.
  mutating func append(_ event: HostEvent, _ limits: HubLimits) -> [HostEvent] {
    let event = event.withOwnStorage
    if case .discovered(let report) = event {
      if let place = reports[report.address] {
        byteCount += event.keptByteCount - events[place - removedCount].keptByteCount
        events[place - removedCount] = event
        return removeOldest(limits)
      }
      guard reports.count < limits.keptReportCountMax else {
        drop()
        return []
      }
      reports[report.address] = removedCount + events.count
    }
    events.append(event)
    byteCount += event.keptByteCount
    return removeOldest(limits)
  }

  private mutating func removeOldest(_ limits: HubLimits) -> [HostEvent] {
    var removed: [HostEvent] = []
    while removed.count < events.count {
      guard
        events.count - removed.count > limits.keptEventCountMax
          || byteCount > limits.keptEventByteCountMax
      else { break }
      let event = events[removed.count]
      removed.append(event)
      byteCount -= event.keptByteCount
      if case .discovered(let report) = event { reports[report.address] = nil }
    }
    events.removeFirst(removed.count)
    removedCount += removed.count
    droppedCount += removed.count
    return removed
  }

  func violations(_ limits: HubLimits) -> [String] {
    var found: [String] = []
    if byteCount != events.reduce(0, { $0 + $1.keptByteCount }) {
      found.append("the bytes of kept events are miscounted")
    }
    if events.count > limits.keptEventCountMax || byteCount > limits.keptEventByteCountMax {
      found.append("more events are kept than may")
    }
    let places = events.enumerated().compactMap { index, event -> (DeviceAddress, Int)? in
      guard case .discovered(let report) = event else { return nil }
      return (report.address, index + removedCount)
    }
    if places.count != reports.count || !places.allSatisfy({ reports[$0.0] == $0.1 }) {
      found.append("the places of kept reports are wrong")
    }
    return found
  }
}

extension HostEvent {
  /// About how much memory the event takes.
  fileprivate var keptByteCount: Int {
    switch self {
    case .valueUpdated(_, handle: _, let value): 64 + value.count
    case .discovered(let report): 128 + report.data.count + report.scanResponse.count
    case .linkOpened(let info), .linkUpdated(let info):
      256 + 32 * info.services.count + (info.name?.utf8.count ?? 0)
    default: 64
    }
  }

  /// The event without the storage of the packet in which it came.
  fileprivate var withOwnStorage: HostEvent {
    switch self {
    case .valueUpdated(let peer, let handle, let value):
      return .valueUpdated(peer, handle: handle, ArraySlice(Array(value)))
    case .discovered(var report):
      report.data = ArraySlice(Array(report.data))
      report.scanResponse = ArraySlice(Array(report.scanResponse))
      return .discovered(report)
    default: return self
    }
  }
}
