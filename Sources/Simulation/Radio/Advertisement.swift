public import BluetoothWire
public import Essentials

/// What a device without a controller sends into the air: an iBeacon for example.
///
/// It takes no HCI traffic and less than one kilobyte.
public struct Advertisement: Hashable, Sendable {
  /// The advertiser's address.
  public var address: DeviceAddress
  /// Which kind of legacy advertising.
  public var type: AdvertisingType = .nonConnectable
  /// Advertising data, at most 31 bytes.
  public var data: [UInt8]
  /// What answers a scan request, at most 31 bytes.
  public var scanResponse: [UInt8] = []
  /// Time between two advertising events, without the random delay.
  public var interval: TimeSpan = .milliseconds(100)
  /// How strong it sends.
  public var powerDBm = 0.0

  /// Non-connectable advertising, ten times a second.
  public init(address: DeviceAddress, data: [UInt8]) {
    self.address = address
    self.data = data
  }
}

/// Names a device that advertises without a controller.
public struct AdvertiserID: Hashable, Sendable {
  let index: Int
  let generation: UInt64
}

extension World {
  /// Lets a device advertise without a controller. If it is connectable, `onConnectionAttempt` is
  /// called each time that a central would connect to it; the device can then replace itself by a
  /// controller that takes the connection at its next advertisement.
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

  /// Lets a device that advertises without a controller send something else from now on.
  public func update(_ id: AdvertiserID, to advertisement: Advertisement) {
    advertiser(id)?.take(advertisement)
  }

  /// Puts a device that advertises without a controller elsewhere.
  public func move(_ id: AdvertiserID, _ motion: Motion) {
    guard let advertiser = advertiser(id) else { return }
    advertiser.site.motion = motion
    siteDidMove(advertiser.site)
  }

  /// Silences a device that advertises without a controller, for ever.
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
