import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines
import L2CAPMachines
import PairingMachines

/// One ACL connection, with the machines that work on it.
///
/// The state of one link is in machines of its own, which take received packets and produce
/// outputs: `l2cap`, `gatt`, `security`, `parameterUpdate`. `HostMachine` routes their outputs.
struct Link: Sendable {
  enum Limits {
    /// How long a link that no client uses any more is kept for data on its way out. Longer than a
    /// healthy link needs for all the buffers of a controller.
    static let flushTimeout = TimeSpan.seconds(1)
    /// How long it is kept for the keys of a pairing, without which the bond would be lost, perhaps on
    /// one side only. A healthy link needs six intervals.
    static let keysTimeout = TimeSpan.seconds(5)
    /// How long after the supervision timeout a controller may take to end a link.
    static let disconnectionTimeout = TimeSpan.seconds(2)
  }

  /// How far the connection is. This is the only record of it in the host.
  ///
  /// A controller reports a connection as soon as it has sent, or answered, the request for it. If
  /// the other end missed that, the link ends within six intervals with Connection Failed to be
  /// Established (Core 5.4, Vol 6, Part B, §4.5). Clients are notified of a link only after that.
  enum Stage: Sendable, Equatable {
    /// Reported by the controller, and no packet from the peer yet.
    case unconfirmed(until: Instant)
    /// A packet of the peer was received.
    case open
    /// No client uses it any more, but data for the peer is still queued: a Disconnect would throw
    /// away what the controller has not sent yet (Core 5.4, Vol 4, Part E, §7.1.6). Or the keys of a
    /// pairing are under way.
    case flushing(until: Instant)
    /// Disconnect was sent; the controller owes Disconnection Complete.
    case closing(until: Instant)
  }

  /// What to do when a stage has lasted too long.
  enum StageTimeout: Sendable {
    /// Silence for more than six intervals: the link exists, or its end would have been reported.
    case confirm
    /// Send Disconnect, though data is still queued.
    case disconnect
    /// The controller does not report the end: treat the link as closed.
    case giveUp
  }

  let handle: UInt16
  /// What clients know of it.
  var info: LinkInfo
  private(set) var stage: Stage
  /// Whether clients were notified of the link.
  private(set) var isAnnounced = false
  /// Why the host itself ends the link, where no client asked for that.
  private(set) var closeReason: HostError?

  /// Whether its client wants range in place of speed.
  var prefersCoded = false

  var l2cap: L2CAPLink
  var gatt: GATTClientSession
  var bearers = EnhancedBearers()
  var security: LinkSecurity
  var parameterUpdate = ConnectionParameterUpdate()
  /// The programs that asked for protection of the link: by a request, by a value or a channel that the peer
  /// may not use without it, or by an answer to a prompt.
  var askingPrograms: Set<ProgramID> = []

  /// A link that the controller has just reported.
  init(
    handle: UInt16, info: LinkInfo, addresses: LinkAddresses, mtuMax: Int, now: Instant
  ) {
    self.handle = handle
    self.info = info
    security = LinkSecurity(role: info.role, peer: info.peer, addresses: addresses)
    // Six intervals, one more for the packet that was under way, and what the controller takes.
    stage = .unconfirmed(until: now + info.interval * 7 + .milliseconds(30))
    l2cap = L2CAPLink(role: info.role, attributeMTU: mtuMax)
    gatt = GATTClientSession(mtuMax: mtuMax)
  }

  var peer: DeviceAddress { info.peer }

  /// Whether the link is on its way down on this host's initiative.
  var isClosing: Bool {
    switch stage {
    case .flushing, .closing: true
    case .unconfirmed, .open: false
    }
  }

  /// Whether the peer was heard, or the host stopped waiting for that.
  var isConfirmed: Bool { if case .unconfirmed = stage { false } else { true } }

  /// Why the link ended, where the controller gave no reason.
  var localCloseError: HostError { closeReason ?? .disconnected(.localHostTerminatedConnection) }

  // MARK: Stages

  /// The peer was heard. Returns whether clients are to be notified of the link now.
  mutating func confirm() -> Bool {
    guard case .unconfirmed = stage else { return false }
    stage = .open
    isAnnounced = true
    return true
  }

  /// Ends the link on this host's initiative: with an error, or without one when no client uses it
  /// any more. Returns whether Disconnect is to be sent now; else it is on its way down already, or
  /// waits until its data has left (`isBusy`), and the keys of a pairing.
  mutating func close(because error: HostError?, isBusy: Bool, now: Instant) -> Bool {
    guard !isClosing else { return false }
    closeReason = error
    if error == nil, stage == .open, isBusy || security.awaitsKeys {
      let limit = security.awaitsKeys ? Limits.keysTimeout : Limits.flushTimeout
      stage = .flushing(until: now + limit)
      return false
    }
    disconnectSent(now: now)
    return true
  }

  /// Disconnect is being sent.
  mutating func disconnectSent(now: Instant) {
    stage = .closing(until: now + info.supervisionTimeout + Limits.disconnectionTimeout)
  }

  /// What to do about a stage that has lasted too long at `now`.
  func expiredStage(now: Instant) -> StageTimeout? {
    switch stage {
    case .unconfirmed(let until): until <= now ? .confirm : nil
    case .flushing(let until): until <= now ? .disconnect : nil
    case .closing(let until): until <= now ? .giveUp : nil
    case .open: nil
    }
  }

  /// When something of this link is due.
  var nextWake: Instant? {
    var wake = parameterUpdate.deadline ?? .distantFuture
    switch stage {
    case .unconfirmed(let until), .flushing(let until), .closing(let until):
      wake = min(wake, until)
    case .open: break
    }
    if let due = l2cap.nextWake { wake = min(wake, due) }
    if let due = gatt.nextWake { wake = min(wake, due) }
    if let due = bearers.retryAt { wake = min(wake, due) }
    if let due = security.nextWake { wake = min(wake, due) }
    return wake == .distantFuture ? nil : wake
  }
}

extension Link {
  /// How the link contradicts itself; a sentence for each contradiction.
  func violations() -> [String] {
    var found: [String] = []
    if stage == .open, !isAnnounced { found.append("an open link is not announced") }
    if !isConfirmed, isAnnounced { found.append("an unconfirmed link is announced") }
    if closeReason != nil, !isClosing { found.append("a close reason without an end") }
    if info.encryption != security.encryption {
      found.append("clients were notified of another encryption")
    }
    if info.mtu != gatt.mtu { found.append("clients were notified of another MTU") }
    if !isClosing, bearers.open != gatt.enhancedBearers {
      found.append("the client was notified of other bearers")
    }
    return found + gatt.violations()
  }
}

// How long to wait for a link. What a controller reports of its timing is bounded by what any link
// can have (Core 5.4, Vol 4, Part E, §7.8.12), so that a wrong report delays nothing for minutes.
extension LinkInfo {
  /// The time from one connection event to the next, at most 4 s.
  var interval: TimeSpan { .microseconds(1_250) * Int64(min(intervalUnits, 3_200)) }
  /// How long the peer may be silent, at most 32 s.
  var supervisionTimeout: TimeSpan { .milliseconds(10) * Int64(min(timeoutUnits, 3_200)) }
}

extension ConnectionParameters {
  /// Whether a link can have them (Core 5.4, Vol 4, Part E, §7.8.12): every field in its range, and
  /// a timeout longer than two intervals of the silence that the latency allows.
  var isValid: Bool {
    intervalUnits.lowerBound >= 6 && intervalUnits.upperBound <= 3200 && latency <= 499
      && (10...3200).contains(timeoutUnits)
      && Int(timeoutUnits) * 4 > (1 + Int(latency)) * Int(intervalUnits.upperBound)
  }
}
