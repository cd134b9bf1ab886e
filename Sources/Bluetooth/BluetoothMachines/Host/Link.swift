import BluetoothWire
import Essentials

/// One connection with everything that hangs on it.
struct Link: Sendable {
  /// Whether the peer was heard, so that the link is known to exist.
  ///
  /// A controller reports a connection as soon as it has sent, or answered, the request for it. If
  /// the other end missed that, the link ends within six intervals with Connection Failed to be
  /// Established (Core 5.4, Vol 6, Part B, §4.5). Clients hear of it only after that.
  enum Stage: Sendable, Equatable {
    case unconfirmed(until: Instant)
    case open
    /// Nobody wants it any more, but the peer is still owed data: a Disconnect would throw away what
    /// the controller has not sent yet (Core 5.4, Vol 4, Part E, §7.1.6).
    case emptying(until: Instant)
    /// Disconnect was sent; the controller owes the end of the link.
    case closing(until: Instant)
  }

  let handle: UInt16
  var info: LinkInfo
  var stage: Stage
  /// Why the host itself ends the link, where it is not a client's wish.
  var closeReason: HostError?
  var l2cap: L2CAPLink
  var gatt: GATTClient
  var subscriptions: [Subscription] = []
  /// Who waits for other connection parameters.
  var parameterWaiters: [Waiter] = []
  /// Until when the controller may be at work on other connection parameters; nil if it isn't.
  var timingDue: Instant?
  /// Whether the link was announced to clients.
  var isAnnounced = false
  /// Whether the MTU exchange and the reading of the name were begun.
  var isIntroduced = false

  var peer: DeviceAddress { info.peer }
  /// Whether the link is on its way down, wanted by nobody on this side.
  var isClosing: Bool {
    switch stage {
    case .emptying, .closing: true
    case .unconfirmed, .open: false
    }
  }
  var isConfirmed: Bool { if case .unconfirmed = stage { false } else { true } }

  /// When something of this link is due.
  var nextWake: Instant? {
    var wake = Instant.distantFuture
    switch stage {
    case .unconfirmed(let until), .emptying(let until), .closing(let until): wake = until
    case .open: break
    }
    if let timingDue { wake = min(wake, timingDue) }
    if let due = l2cap.nextWake { wake = min(wake, due) }
    if let due = gatt.nextWake { wake = min(wake, due) }
    return wake == .distantFuture ? nil : wake
  }
}

// How long to wait for a link. What a controller tells of its timing is bounded by what any link can
// have (Core 5.4, Vol 4, Part E, §7.8.12), so that a lie makes nobody wait for minutes.
extension LinkInfo {
  /// The time from one connection event to the next, at most 4 s.
  var interval: TimeSpan { .microseconds(1_250) * Int64(min(intervalUnits, 3_200)) }
  /// How long the peer may be silent, at most 32 s.
  var supervisionTimeout: TimeSpan { .milliseconds(10) * Int64(min(timeoutUnits, 3_200)) }
}

/// A link that clients know to be closed and that the controller would not end.
struct Orphan: Sendable {
  let handle: UInt16
  var retryAt: Instant
  /// How often the controller must still say that it has no such link to be believed.
  var denialsLeft: Int
}

/// A client's request that waits.
struct Waiter: Sendable, Equatable {
  var client: ClientID
  var token: RequestToken
}

/// Everybody's interest in one characteristic of a peer.
struct Subscription: Sendable {
  struct Wish: Sendable {
    var waiter: Waiter
    var isOn: Bool
  }

  var target: SubscriptionTarget
  /// Who gets the values.
  var clients: [ClientID] = []
  /// Who waits to hear that the configuration was written.
  var wishes: [Wish] = []
  /// What the peer's configuration descriptor says, as far as we know.
  var isOn = false
  /// What is being written to it.
  var writing: Bool?

  init(_ target: SubscriptionTarget) { self.target = target }
}

/// A client's interest in a link.
struct Hold: Sendable {
  enum State: Sendable, Equatable {
    /// The link is wanted and not there.
    case pending
    /// The client has the link.
    case connected
    /// The client gave it up and waits for its end; with options if it wants it again already.
    case leaving(again: ConnectOptions?)
  }

  let client: ClientID
  let peer: DeviceAddress
  var options: ConnectOptions
  var state: State
}
