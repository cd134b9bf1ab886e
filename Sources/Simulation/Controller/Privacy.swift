import BluetoothWire
import Essentials

/// A peer whose private addresses the controller knows how to read and to make
/// (Core 5.4, Vol 6, Part B, §6).
struct ResolvingEntry {
  var peerIdentity: DeviceAddress
  /// Identity resolving keys; nil where all zero.
  var peerKey: AES128?
  var localKey: AES128?
  var mode: PrivacyMode = .network
  var localAddress: DeviceAddress?
  var localAddressSince: Instant = .zero
  /// The private address that the peer was last heard with.
  var peerAddress: DeviceAddress?

  init(_ command: LEAddDeviceToResolvingList) {
    peerIdentity = command.peerIdentity
    peerKey = command.peerKey == 0 ? nil : AES128(key: command.peerKey)
    localKey = command.localKey == 0 ? nil : AES128(key: command.localKey)
  }
}

extension SimulatedController {
  /// The address to use in a procedure (Core 5.4, Vol 4, Part E, §7.8.5, Own_Address_Type).
  func ownAddress(
    _ type: OwnAddressType, random: DeviceAddress?, towards peer: DeviceAddress?
  ) throws(Refusal) -> DeviceAddress {
    if type == .resolvableOrPublic || type == .resolvableOrRandom, let peer,
      let index = settings.resolvingList.firstIndex(where: { $0.peerIdentity == peer }),
      let address = localPrivateAddress(index)
    {
      return address
    }
    switch type {
    case .public, .resolvableOrPublic:
      guard address.kind == .public else { throw Refusal(.invalidParameters) }
      return address
    case .random, .resolvableOrRandom:
      guard let random else { throw Refusal(.invalidParameters) }
      return random
    }
  }

  /// Our private address for one entry of the resolving list; made anew when its time is over.
  private func localPrivateAddress(_ index: Int) -> DeviceAddress? {
    let entry = settings.resolvingList[index]
    guard let key = entry.localKey else { return nil }
    if let address = entry.localAddress,
      world.now - entry.localAddressSince < settings.privateAddressTimeout
    {
      return address
    }
    let address = DeviceAddress.resolvable(identityResolvingKey: key, random: generator.next())
    settings.resolvingList[index].localAddress = address
    settings.resolvingList[index].localAddressSince = world.now
    return address
  }

  /// The target of a set's directed advertising: the peer's identity, or a private address of it.
  func targetAddress(_ parameters: LESetExtendedAdvertisingParameters) -> DeviceAddress {
    let usesPrivacy =
      parameters.ownAddressType == .resolvableOrPublic
      || parameters.ownAddressType == .resolvableOrRandom
    guard usesPrivacy,
      let entry = settings.resolvingList.first(where: { $0.peerIdentity == parameters.peer }),
      let key = entry.peerKey
    else { return parameters.peer }
    return DeviceAddress.resolvable(identityResolvingKey: key, random: generator.next())
  }

  /// The peer with an address: its identity from the resolving list, or else the address itself.
  func peer(behind address: DeviceAddress) -> PeerAddress {
    guard let index = resolvingIndex(of: address) else { return PeerAddress(address) }
    settings.resolvingList[index].peerAddress = address
    return PeerAddress(
      settings.resolvingList[index].peerIdentity, isIdentity: !faults.hidesResolution)
  }

  private func resolvingIndex(of address: DeviceAddress) -> Int? {
    guard settings.resolvesAddresses, !faults.resolvesNothing, !settings.resolvingList.isEmpty,
      address.randomKind == .resolvable
    else { return nil }
    if let known = resolutions[address.bits] { return known < 0 ? nil : known }
    if resolutions.count >= Limits.resolutionCacheMax { resolutions = [:] }
    let index = settings.resolvingList.firstIndex { entry in
      entry.peerKey.map(address.isMade(withIdentityResolvingKey:)) ?? false
    }
    resolutions[address.bits] = index ?? -1
    return index
  }

  /// Whether a device must be ignored because it should have used a private address
  /// (network privacy mode; Core 5.4, Vol 6, Part B, §6.2).
  func isIgnoredForPrivacy(_ address: DeviceAddress) -> Bool {
    settings.resolvesAddresses && !faults.resolvesNothing
      && settings.resolvingList.contains {
        $0.peerIdentity == address && $0.peerKey != nil && $0.mode == .network
      }
  }

  /// Whether an address is one of ours.
  func isOwn(_ target: DeviceAddress) -> Bool {
    if target == address || target == settings.randomAddress { return true }
    return settings.resolvesAddresses && !faults.resolvesNothing
      && settings.resolvingList.contains {
        $0.localKey.map(target.isMade(withIdentityResolvingKey:)) ?? false
      }
  }

  func isAccepted(_ peer: DeviceAddress?) -> Bool {
    settings.filterAcceptList.contains(FilterAcceptEntry(address: peer))
  }
}
