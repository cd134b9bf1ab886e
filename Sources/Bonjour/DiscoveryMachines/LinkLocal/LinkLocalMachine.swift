public import ARPWire
public import Essentials

/// Configures one interface with an IPv4 link-local address (RFC 3927).
///
/// It chooses an address, probes it, claims it if there is no conflict, and defends it. The host
/// passes events to it, performs its actions, and calls ``wake(now:into:)`` at ``nextWake``. Each
/// interface needs its own machine.
public struct LinkLocalMachine: Machine, Sendable {
  typealias Constants = LinkLocalConstants

  struct Probing: Sendable {
    var candidate: Inet4Address
    var sentCount = 0
    /// When the next probe is due or, after the last, the address is ours.
    var next: Instant
  }

  struct Claimed: Sendable {
    var address: Inet4Address
    var announcementsLeft = Constants.announcementCount
    var nextAnnouncement: Instant
    /// The time of the last conflict, unless that is forgotten.
    var lastConflict: Instant?
    /// When there was no conflict for so long that earlier ones no longer count.
    var forgetsConflictsAt: Instant
    var reply: PendingReply?
    var nextReply: Instant
  }

  struct PendingReply: Sendable {
    var to: ARPPacket
    var at: Instant
  }

  enum State: Sendable {
    /// The link is down or there is a better address.
    case idle
    case pausing(until: Instant)
    case probing(Probing)
    case claimed(Claimed)
  }

  /// The interface's hardware address.
  public let hardware: MACAddress
  /// Whether the address is defended at the first conflict. If false, it is released at once, which
  /// is allowed for hosts without connections to lose (RFC 3927, §2.5).
  public var defendsAddress = true
  /// Whether the machine answers ARP requests for the address, by broadcast as the RFC requires. If
  /// false, the kernel answers them.
  public var answersRequests = true

  private var addresses: LinkLocalAddresses
  /// What to try next: the remembered address, or one that was held before.
  var preferred: Inet4Address?
  private var rng: SeededGenerator
  var state = State.idle
  var isLinkUp = false
  var hasRoutableAddress = false
  var isShutDown = false
  var conflictCount = 0
  private var lastAttempt: Instant?

  /// Creates a machine for an interface whose link is down.
  ///
  /// - Parameters:
  ///   - hardware: The interface's hardware address, which seeds the sequence of addresses.
  ///   - remembered: The address that an earlier machine of this interface stored.
  ///   - rng: Used for random delays only.
  public init(hardware: MACAddress, remembered: Inet4Address? = nil, rng: SeededGenerator) {
    self.hardware = hardware
    self.rng = rng
    addresses = LinkLocalAddresses(hardware: hardware)
    if let remembered, LinkLocalAddresses.range.contains(remembered) { preferred = remembered }
  }

  /// The current activity of the machine.
  public var status: Status {
    if isShutDown { return .shutDown }
    switch state {
    case .idle: return isLinkUp ? .routableAddress : .linkDown
    case .pausing(let until): return .pausing(until: until)
    case .probing(let probing): return .probing(probing.candidate)
    case .claimed(let claimed): return .claimed(claimed.address)
    }
  }

  /// The time to call ``wake(now:into:)``; nil if no timer is running.
  public var nextWake: Instant? {
    switch state {
    case .idle: nil
    case .pausing(let until): until
    case .probing(let probing): probing.next
    case .claimed(let claimed):
      [claimed.announcementsLeft > 0 ? claimed.nextAnnouncement : nil, claimed.reply?.at]
        .compactMap { $0 }.min()
    }
  }

  /// Processes an event and appends the resulting actions.
  public mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    guard !isShutDown else { return }
    if case .claimed(let claimed) = state, now >= claimed.forgetsConflictsAt { conflictCount = 0 }
    switch event {
    case .linkUp:
      release(.linkChanged, into: &actions)
      isLinkUp = true
      startIfWanted(now: now)
    case .linkDown:
      isLinkUp = false
      release(.linkChanged, into: &actions)
    case .routableAddress(let isThere):
      guard isThere != hasRoutableAddress else { return }
      hasRoutableAddress = isThere
      if isThere { release(.routableAddress, into: &actions) } else { startIfWanted(now: now) }
    case .received(let packet):
      received(packet, now: now, into: &actions)
    case .shutDown:
      release(.shutDown, into: &actions)
      isShutDown = true
    }
    wake(now: now, into: &actions)
  }

  /// Performs the work that is due at `now`.
  public mutating func wake(now: Instant, into actions: inout [Action]) {
    switch state {
    case .idle: break
    case .pausing(let until):
      if now >= until { attempt(now: now) }
    case .probing(let probing):
      if now >= probing.next { probe(probing, now: now, into: &actions) }
    case .claimed(var claimed):
      if claimed.announcementsLeft > 0, now >= claimed.nextAnnouncement {
        claimed.announcementsLeft -= 1
        claimed.nextAnnouncement = now + Constants.announceInterval
        actions.append(.broadcast(.announcement(of: claimed.address, from: hardware)))
      }
      if let reply = claimed.reply, now >= reply.at {
        claimed.reply = nil
        claimed.nextReply = now + Constants.replyInterval
        actions.append(.broadcast(answer(to: reply.to, from: claimed.address)))
      }
      state = .claimed(claimed)
    }
    assertInvariants()
  }

  // MARK: Getting an address

  private mutating func startIfWanted(now: Instant) {
    guard isLinkUp, !hasRoutableAddress else { return }
    if let earliest = earliestAttempt(now: now), earliest > now {
      state = .pausing(until: earliest)
    } else {
      attempt(now: now)
    }
  }

  /// When the next address may be tried, if there were too many conflicts. The pause before the
  /// first probe counts, so that the probes keep the interval too.
  private func earliestAttempt(now: Instant) -> Instant? {
    guard conflictCount >= Constants.conflictsMax, let lastAttempt else { return nil }
    return lastAttempt + Constants.rateLimitInterval + Constants.probeWait
  }

  private mutating func attempt(now: Instant) {
    assert(isLinkUp && !hasRoutableAddress, "an address is tried without need")
    lastAttempt = now
    let candidate = preferred ?? addresses.next()
    preferred = candidate
    let wait = rng.span(.zero, Constants.probeWait)
    state = .probing(Probing(candidate: candidate, next: now + wait))
  }

  /// The pause before a probe, or before the claim, is over.
  private mutating func probe(
    _ probing: Probing, now: Instant, into actions: inout [Action]
  ) {
    var probing = probing
    guard probing.sentCount < Constants.probeCount else {
      return claim(probing.candidate, now: now, into: &actions)
    }
    actions.append(.broadcast(.probe(for: probing.candidate, from: hardware)))
    probing.sentCount += 1
    let wait =
      probing.sentCount == Constants.probeCount
      ? Constants.announceWait
      : rng.span(Constants.probeIntervalMin, Constants.probeIntervalMax)
    probing.next = now + wait
    state = .probing(probing)
  }

  private mutating func claim(_ address: Inet4Address, now: Instant, into actions: inout [Action]) {
    assert(isLinkUp && !hasRoutableAddress, "\(address) is claimed without need")
    state = .claimed(
      Claimed(
        address: address, nextAnnouncement: now,
        forgetsConflictsAt: now + Constants.rateLimitInterval, nextReply: now))
    actions.append(.claim(address))
    actions.append(.remember(address))
    wake(now: now, into: &actions)
  }

  /// Stops probing, announcing and pausing. An address that is held will be tried first.
  private mutating func release(_ reason: ReleaseReason, into actions: inout [Action]) {
    if case .claimed(let claimed) = state {
      actions.append(.release(claimed.address, reason))
    }
    state = .idle
  }

  // MARK: Packets

  private mutating func received(
    _ packet: ARPPacket, now: Instant, into actions: inout [Action]
  ) {
    // Our own packets come back from some switches, access points and packet sockets.
    guard packet.senderHardware != hardware else { return }
    switch state {
    case .idle, .pausing: break
    case .probing(let probing):
      let isUsed = packet.senderAddress == probing.candidate
      let isProbedFor = packet.isProbe && packet.targetAddress == probing.candidate
      guard isUsed || isProbedFor else { return }
      actions.append(.conflicted(probing.candidate, with: packet.senderHardware))
      tryAnother(now: now)
    case .claimed(var claimed):
      if packet.senderAddress == claimed.address {
        disputed(claimed, by: packet.senderHardware, now: now, into: &actions)
      } else if answersRequests, packet.operation == .request,
        packet.targetAddress == claimed.address, claimed.reply == nil
      {
        claimed.reply = PendingReply(to: packet, at: max(now, claimed.nextReply))
        state = .claimed(claimed)
      }
    }
  }

  /// Another host uses our address.
  private mutating func disputed(
    _ claimed: Claimed, by other: MACAddress, now: Instant, into actions: inout [Action]
  ) {
    var claimed = claimed
    let isFirst = claimed.lastConflict.map { now >= $0 + Constants.defendInterval } ?? true
    if defendsAddress, isFirst {
      claimed.lastConflict = now
      claimed.forgetsConflictsAt = now + Constants.rateLimitInterval
      state = .claimed(claimed)
      actions.append(.broadcast(.announcement(of: claimed.address, from: hardware)))
      actions.append(.defended(claimed.address, against: other))
    } else {
      actions.append(.resetConnections(claimed.address))
      release(.conflict(with: other), into: &actions)
      tryAnother(now: now)
    }
  }

  private mutating func tryAnother(now: Instant) {
    conflictCount += 1
    let refused = preferred
    var candidate = addresses.next()
    while candidate == refused { candidate = addresses.next() }
    preferred = candidate
    startIfWanted(now: now)
  }

  private func answer(to request: ARPPacket, from address: Inet4Address) -> ARPPacket {
    ARPPacket(
      .reply, senderHardware: hardware, senderAddress: address,
      targetHardware: request.senderHardware, targetAddress: request.senderAddress)
  }
}
