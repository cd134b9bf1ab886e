import BluetoothInterface

/// Which of the events that a program acknowledges are the host's.
///
/// The hub completes some requests by itself. Programs acknowledge those events like the others, in the
/// order of delivery, but the host must not count them.
struct EventLedger: Sendable {
  /// The number of events that the program has got.
  private(set) var deliveredCount: UInt64 = 0
  /// The number of those that it has handled.
  private(set) var handledCount: UInt64 = 0
  /// The numbers of the hub's own events that are not handled, in order; from `firstOwn` on.
  private var own: [UInt64] = []
  private var firstOwn = 0

  /// The number of the hub's own events that are not handled.
  var ownCount: Int { own.count - firstOwn }

  /// The number of events that the program has got and not handled.
  var unhandledCount: Int { Int(clamping: deliveredCount - handledCount) }

  /// The host has delivered events.
  mutating func delivered(_ events: [HostEvent]) {
    for event in events {
      switch event {
      // These have a flow control of their own, and are not acknowledged.
      case .channelReceived, .channelClosed: continue
      default: deliveredCount += 1
      }
    }
  }

  /// The hub has made an event.
  mutating func deliveredOwn() {
    deliveredCount += 1
    own.append(deliveredCount)
  }

  /// The program has handled events, and not more than it got; returns how many of them are the host's.
  mutating func handled(_ count: Int) -> Int {
    let before = handledCount
    handledCount += min(UInt64(clamping: count), deliveredCount - handledCount)
    let first = firstOwn
    while firstOwn < own.count, own[firstOwn] <= handledCount { firstOwn += 1 }
    let ownHandledCount = firstOwn - first
    if firstOwn * 2 >= own.count {
      own.removeFirst(firstOwn)
      firstOwn = 0
    }
    return Int(handledCount - before) - ownHandledCount
  }

  /// The program has handled everything that it got; returns how many events of the host that were.
  mutating func handledAll() -> Int { handled(unhandledCount) }

  func violations() -> [String] {
    var found: [String] = []
    if handledCount > deliveredCount { found.append("more events are handled than delivered") }
    let open = own[firstOwn...]
    if open.contains(where: { $0 <= handledCount || $0 > deliveredCount }) {
      found.append("an event of the hub is not between the handled and the delivered ones")
    }
    return found
  }
}
