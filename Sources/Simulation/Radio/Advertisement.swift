public import BluetoothWire
public import Essentials

/// The advertising of a device without a controller, such as an iBeacon.
///
/// It needs no HCI traffic and less than one kilobyte.
public struct Advertisement: Hashable, Sendable {
  /// The advertiser's address.
  public var address: DeviceAddress
  /// The kind of legacy advertising.
  public var type: AdvertisingType = .nonConnectable
  /// The advertising data, at most 31 bytes.
  public var data: [UInt8]
  /// The scan response data, at most 31 bytes.
  public var scanResponse: [UInt8] = []
  /// The interval of advertising events, without the random delay.
  public var interval: TimeSpan = .milliseconds(100)
  /// The transmit power in dBm.
  public var powerDBm = 0.0

  /// Creates non-connectable advertising, ten times a second.
  public init(address: DeviceAddress, data: [UInt8]) {
    self.address = address
    self.data = data
  }
}

/// The identifier of a device that advertises without a controller.
public struct AdvertiserID: Hashable, Sendable {
  let index: Int
  let generation: UInt64
}

extension World {
  /// Adds a device that advertises without a controller. If it is connectable,
  /// `onConnectionAttempt` is called each time that a central would connect to it. The device can
  /// then replace itself with a controller, which accepts the connection at its next advertisement.
  public func advertise(
    _ advertisement: Advertisement, at motion: Motion,
    onConnectionAttempt: (() -> Void)? = nil
  ) -> AdvertiserID {
    precondition(
      advertisement.data.count <= 31 && advertisement.scanResponse.count <= 31,
      "legacy advertising data has 31 bytes at most")
    let ownSeed = HashedRandom.mix(seed, HashedRandom.mix(0xAD, advertisement.address.bits))
    let advertiser = addAdvertiser(site: makeSite(seed: ownSeed, motion: motion), seed: ownSeed)
    advertiser.onConnectionAttempt = onConnectionAttempt
    advertiser.take(advertisement)
    advertiser.start(in: self)
    return AdvertiserID(index: advertiser.index, generation: advertiser.generation)
  }

  /// Changes the advertising of a device without a controller.
  public func update(_ id: AdvertiserID, to advertisement: Advertisement) {
    advertiser(id)?.take(advertisement)
  }

  /// Moves a device without a controller.
  public func move(_ id: AdvertiserID, _ motion: Motion) {
    guard let advertiser = advertiser(id) else { return }
    advertiser.site.motion = motion
    siteDidMove(advertiser.site)
  }

  /// Removes a device without a controller.
  public func remove(_ id: AdvertiserID) {
    guard let advertiser = advertiser(id) else { return }
    remove(advertiser.site)
    removeAdvertiser(advertiser)
  }

  private func advertiser(_ id: AdvertiserID) -> Advertiser? {
    guard let advertiser = advertisers[id.index], advertiser.generation == id.generation else {
      return nil
    }
    return advertiser
  }

  func addAdvertiser(site: Site, seed: UInt64) -> Advertiser {
    let index = freeAdvertisers.popLast() ?? advertisers.count
    let advertiser = Advertiser(
      index: index, generation: nextNumber(), site: site, seed: seed)
    if index == advertisers.count {
      advertisers.append(advertiser)
    } else {
      advertisers[index] = advertiser
    }
    return advertiser
  }

  func removeAdvertiser(_ advertiser: Advertiser) {
    advertiser.stop()
    advertisers[advertiser.index] = nil
    freeAdvertisers.append(advertiser.index)
  }
}
