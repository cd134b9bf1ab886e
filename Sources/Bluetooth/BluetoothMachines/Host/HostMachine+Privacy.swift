import BluetoothInterface
import BluetoothWire
import Essentials
import PairingMachines

// Private addresses: this host's own, and those of its peers, which it or the controller resolves.

extension HostMachine {
  /// The address that this host has on the air.
  var addressOnAir: DeviceAddress { privateAddress.address ?? abilities.address }

  /// Pauses scanning, connecting and advertising while this host's address or the controller's
  /// resolving list changes, and resumes them afterwards.
  mutating func pauseForPrivacy(now: Instant) {
    privateAddress.expire(now: now)
    chooseResolvedPeers()
    let needsListing = resolvingList.needsSilence(now: now)
    let needsSilence = privateAddress.needsSilence || needsListing
    scanner.isPaused = needsSilence
    connector.isPaused = needsSilence
    if advertiser.isPaused != needsSilence { advertiser.isPaused = needsSilence }
  }

  mutating func addressSet(
    _ status: HCIStatus, now: Instant, into actions: inout [Action]
  ) {
    guard privateAddress.commandCompleted(status, now: now) else {
      guard privateAddress.isRefused else { return }
      let error = HostError.transport("The controller refused LE Set Random Address: \(status).")
      return controllerFailed(error, now: now, into: &actions)
    }
    scanner.ownAddressChanged(.random)
    connector.ownAddressChanged(.random)
    advertiser.ownAddressChanged(addressOnAir)
  }

  /// Does what needs silence on the air.
  mutating func useSilence(now: Instant, into actions: inout [Action]) {
    if privateAddress.isDue, let address = security.newPrivateAddress() {
      send(privateAddress.set(address), for: .settingAddress, now: now, into: &actions)
    }
    if let packet = resolvingList.nextCommand() {
      send(packet, for: .listing, now: now, into: &actions)
    }
  }

  // MARK: Peers

  /// What the choice of the peers that the controller is to resolve was made by.
  struct ResolvingChoice: Sendable, Equatable {
    let bonds: UInt64
    let wanted: UInt64
    let targets: UInt64
  }

  /// Chooses the peers that the controller is to resolve: those that are wanted, then the others.
  private mutating func chooseResolvedPeers() {
    let choice = ResolvingChoice(
      bonds: security.bonds.version, wanted: connector.version, targets: advertiser.targetVersion)
    guard resolvingList.capacity > 0, listedFor != choice else { return }
    listedFor = choice
    let wanted = Set(connector.privatePeers)
    let targets = advertiser.targetIdentities
    var urgent: [Bond] = []
    var others: [Bond] = []
    for bond in security.bonds.resolvablePeers {
      let isUrgent = wanted.contains(bond.knownAddress) || targets.contains(bond.identity)
      if isUrgent { urgent.append(bond) } else { others.append(bond) }
    }
    resolvingList.want(
      urgent + others, urgentCount: urgent.count,
      localKey: configuration.usesPrivateAddress ? security.identity?.resolvingKey : nil)
    resolvingChanged()
  }

  /// The controller resolves the addresses of other peers than before, or was seen to do so.
  mutating func resolvingChanged() {
    connector.resolvingChanged(resolvingList)
    advertiser.resolvedPeers = Set(
      resolvingList.entries.map(\.identity).filter { resolvingList.resolves($0) })
  }

  /// The address that clients know an advertiser by, which may have a private one.
  mutating func knownAddress(
    of advertiser: PeerAddress, isConnectable: Bool, now: Instant
  ) -> DeviceAddress {
    let address = advertiser.address
    if advertiser.isIdentity || resolvingList.hides(address),
      let known = security.bonds.knownAddress(ofResolved: address)
    {
      if advertiser.isIdentity, resolvingList.addressResolved() { resolvingProved() }
      return known
    }
    let known = security.bonds.knownAddress(of: address)
    if resolvingList.trust == .untested, address.randomKind == .resolvable,
      let identity = security.bonds.identity(ofKnown: known),
      resolvingList.addressLeftUnresolved(of: identity)
    {
      resolvingProved()
    }
    if isConnectable, connector.isSearching, connector.heard(known, at: address, now: now) {
      needsCommands = true
    }
    return known
  }

  /// It is clear by now what the controller does with its list.
  mutating func resolvingProved() {
    resolvingChanged()
    needsCommands = true
  }
}
