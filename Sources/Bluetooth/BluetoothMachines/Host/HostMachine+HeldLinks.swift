import BluetoothInterface
import BluetoothWire
import Essentials
import PairingMachines

// New links of bonded peers that have a link already: held until it is clear whose they are.

extension HostMachine {
  /// Whether a new link must not take the place of the one that its peer has.
  func mustHold(because old: Int) -> Bool {
    links.entries[old].security.hasProvedBond && !links.entries[old].isClosing
  }

  mutating func hold(
    _ report: LinkReport, of peer: DeviceAddress, because old: Int, now: Instant,
    into actions: inout [Action]
  ) {
    let oldTimeout = TimeSpan.milliseconds(Int64(links.entries[old].info.timeoutUnits) * 10)
    // A link that this host made would be encrypted by it; its clients have the old one.
    guard report.role == .peripheral,
      heldLinks.hold(report, of: peer, oldTimeout: oldTimeout, now: now)
    else { return refuse(report.handle, now: now, into: &actions) }
    due(heldLinks.nextWake)
    // Others may connect meanwhile.
    needsCommands = true
  }

  /// Keeps a packet of a held link; false if it is of none.
  mutating func keepForHeldLink(
    _ packet: HCIPacket, handle: UInt16, now: Instant, into actions: inout [Action]
  ) -> Bool {
    guard let index = heldLinks.index(handle: handle) else { return false }
    if !heldLinks.keep(packet, at: index) {
      _ = heldLinks.remove(handle)
      refuse(handle, now: now, into: &actions)
    }
    return true
  }

  /// Takes an event about a held link; false if it is about none.
  mutating func keepForHeldLink(
    _ event: HCIEvent, _ bytes: ArraySlice<UInt8>, now: Instant, into actions: inout [Action]
  ) -> Bool {
    if case .leLongTermKeyRequest(let request) = event,
      let index = heldLinks.index(handle: request.handle)
    {
      longTermKeyRequested(request, ofHeldLink: index, now: now, into: &actions)
      return true
    }
    guard let handle = event.peersHandle, heldLinks.contains(handle) else { return false }
    let packet = HCIPacket(kind: .event, bytes: bytes)
    _ = keepForHeldLink(packet, handle: handle, now: now, into: &actions)
    if case .encryptionChange(let change) = event, change.status == .success,
      change.encryption != .off
    {
      heldLinkEncrypted(handle, now: now, into: &actions)
    }
    return true
  }

  /// The central of a held link encrypts it, if it is given the key: only the bonded peer can go on with
  /// that.
  private mutating func longTermKeyRequested(
    _ event: LELongTermKeyRequest, ofHeldLink index: Int, now: Instant,
    into actions: inout [Action]
  ) {
    let bond = security.bond(
      of: heldLinks[index].peer, random: event.random, diversifier: event.diversifier)
    guard let bond, let key = bond.peripheralKey else {
      let reply = LELongTermKeyRequestNegativeReply(handle: event.handle)
      send(reply.packet, link: heldLinks[index].handle, now: now, into: &actions)
      return
    }
    heldLinks[index].bond = bond
    let reply = LELongTermKeyRequestReply(handle: event.handle, longTermKey: key.value.number)
    send(reply.packet, link: heldLinks[index].handle, now: now, into: &actions)
  }

  /// A held link was encrypted with the key of its bond: the peer is back, and the old link is lost.
  private mutating func heldLinkEncrypted(
    _ handle: UInt16, now: Instant, into actions: inout [Action]
  ) {
    guard let held = heldLinks.remove(handle) else { return }
    // The user may have forgotten the bond since.
    guard let key = held.bond?.peripheralKey,
      security.usableBond(of: held.peer)?.peripheralKey == key
    else {
      return refuse(handle, now: now, into: &actions)
    }
    if let old = links.index(peer: held.peer) { replaceLink(old, now: now, into: &actions) }
    refuseRivals(of: held.peer, now: now, into: &actions)
    open(held, now: now, into: &actions)
  }

  /// Opens held links whose old ones have ended by themselves.
  mutating func openHeldLinks(now: Instant, into actions: inout [Action]) {
    while let waiting = heldLinks.links.last(where: { links.index(peer: $0.peer) == nil }) {
      guard let held = heldLinks.remove(waiting.handle) else { return }
      refuseRivals(of: held.peer, now: now, into: &actions)
      open(held, now: now, into: &actions)
    }
  }

  mutating func wakeHeldLinks(now: Instant, into actions: inout [Action]) {
    for held in heldLinks.takeExpired(now: now) {
      routing.unprovenLinks += 1
      refuse(held.handle, now: now, into: &actions)
    }
  }

  private mutating func open(
    _ held: HeldLinks.HeldLink, now: Instant, into actions: inout [Action]
  ) {
    admitLink(held.report, to: held.peer, now: now, into: &actions)
    guard let index = links.index(handle: held.handle) else { return }
    if let bond = held.bond { links.entries[index].security.keyGiven(of: bond) }
    for packet in held.packets { receive(packet, now: now, into: &actions) }
  }

  private mutating func refuseRivals(
    of peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    for held in heldLinks.take(of: peer) { refuse(held.handle, now: now, into: &actions) }
  }

  /// Ends a link that no client has learnt of.
  mutating func refuse(_ handle: UInt16, now: Instant, into actions: inout [Action]) {
    send(Disconnect(handle: handle).packet, now: now, into: &actions)
    addOrphan(handle, now: now)
  }
}

extension HCIEvent {
  /// The connection handle of an event about a link whose peer causes it; nil for others.
  var peersHandle: UInt16? {
    switch self {
    case .leConnectionUpdateComplete(let event): event.handle
    case .encryptionChange(let event): event.handle
    case .encryptionKeyRefreshComplete(let event): event.handle
    case .leRemoteConnectionParameterRequest(let event): event.handle
    default: nil
    }
  }
}
