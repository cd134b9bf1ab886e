import BluetoothWire
import Essentials

// What a controller receives of advertising, and what it reports to its host.

extension SimulatedController {
  /// Receives a packet or not: deafness, fading, noise, loss. Returns its strength in dBm.
  func reception(
    meanDBm: Double, channel: Int, phy: PHY, at nanoseconds: Int64, loss: Double
  ) -> Double? {
    guard nanoseconds >= faults.deafUntil.nanoseconds else { return nil }
    return world.reception(
      meanDBm: meanDBm, channel: channel, phy: phy, at: site, loss: loss, using: &generator)
  }

  /// One advertising event that may be strong enough to be received.
  func hear(_ advertiser: Advertiser, meanDBm: Double, eventStart: Int64) {
    if settings.scan.isEnabled {
      let train =
        advertiser.primaryPHY == .leCoded ? settings.scan.trainCoded : settings.scan.train1M
      if let train,
        let heard = hear(advertiser, meanDBm: meanDBm, eventStart: eventStart, train: train),
        settings.scan.isListening(at: eventStart)
      {
        scanned(advertiser, heard, meanDBm: meanDBm)
      }
    }
    guard let initiator = settings.initiator,
      advertiser.properties.contains(.connectable), advertiser.isActive
    else { return }
    let train = advertiser.primaryPHY == .leCoded ? initiator.trainCoded : initiator.train1M
    guard let train,
      let heard = hear(advertiser, meanDBm: meanDBm, eventStart: eventStart, train: train)
    else { return }
    initiate(initiator, to: advertiser, heard, meanDBm: meanDBm)
  }

  /// A packet that was heard on a primary channel.
  struct SightedPacket {
    var rssi: Double
    var channel: Int
    var nanoseconds: Int64
  }

  private func hear(
    _ advertiser: Advertiser, meanDBm: Double, eventStart: Int64, train: ScanTrain
  ) -> SightedPacket? {
    let duration = advertiser.primaryPacketNanoseconds
    let spacing = advertiser.channelSpacing(in: world)
    var instant = eventStart
    for channel in 0..<3 where advertiser.isUsed(channel) {
      if train.listens(channel: channel, at: instant, duration: duration) {
        let rssi = reception(
          meanDBm: meanDBm, channel: 37 + channel, phy: advertiser.primaryPHY, at: instant,
          loss: world.radio.advertisementLoss)
        if let rssi {
          return SightedPacket(rssi: rssi, channel: 37 + channel, nanoseconds: instant)
        }
      }
      instant += spacing
    }
    return nil
  }

  /// Whether the packets on secondary channels that follow ADV_EXT_IND arrive.
  func hearsAuxiliary(_ advertiser: Advertiser, meanDBm: Double, at nanoseconds: Int64) -> Bool {
    for _ in 0..<advertiser.auxiliaryPacketCount {
      let channel = Int(generator.next() % 37)
      guard
        reception(
          meanDBm: meanDBm, channel: channel, phy: advertiser.secondaryPHY, at: nanoseconds,
          loss: world.radio.advertisementLoss) != nil
      else { return false }
    }
    return true
  }

  private func scanned(_ advertiser: Advertiser, _ heard: SightedPacket, meanDBm: Double) {
    let isLegacy = advertiser.properties.contains(.legacy)
    guard isLegacy || settings.scan.isExtended else { return }
    if !isLegacy {
      guard hearsAuxiliary(advertiser, meanDBm: meanDBm, at: heard.nanoseconds) else { return }
    }
    guard let address = advertiser.address else {
      // Anonymous: without an address, it can't be resolved, filtered by address or scanned.
      guard passesFilter(nil) else { return }
      return report(advertiser, from: nil, rssi: heard.rssi, isScanResponse: false)
    }
    guard !isIgnoredForPrivacy(address) else { return }
    let peer = peer(behind: address)
    guard passesFilter(peer.address), isForUs(advertiser) else { return }
    // Extended scannable advertising carries nothing to report before it is asked.
    let isAsked =
      advertiser.properties.contains(.scannable)
      && settings.scan.type(on: advertiser.primaryPHY) == .active
    if isLegacy || !advertiser.properties.contains(.scannable) || !isAsked {
      report(advertiser, from: peer, rssi: heard.rssi, isScanResponse: false)
    }
    if isAsked { ask(advertiser, peer, heard, meanDBm: meanDBm) }
  }

  /// Something that was heard on another day, as strongly as then.
  func hearAgain(_ advertiser: Advertiser, rssi: Double, isScanResponse: Bool) {
    guard isPoweredOn, settings.scan.isEnabled, settings.scan.train1M != nil,
      world.now >= faults.deafUntil, let address = advertiser.address,
      !isIgnoredForPrivacy(address)
    else { return }
    let peer = peer(behind: address)
    guard passesFilter(peer.address) else { return }
    if isScanResponse, settings.scan.type(on: .le1M) != .active { return }
    report(advertiser, from: peer, rssi: rssi, isScanResponse: isScanResponse)
  }

  private func passesFilter(_ peer: DeviceAddress?) -> Bool {
    switch settings.scan.filterPolicy {
    case .basicUnfiltered, .extendedUnfiltered: true
    case .basicFiltered, .extendedFiltered: isAccepted(peer)
    }
  }

  private func isForUs(_ advertiser: Advertiser) -> Bool {
    guard advertiser.properties.contains(.directed), let target = advertiser.target else {
      return true
    }
    if isOwn(target) { return true }
    switch settings.scan.filterPolicy {
    case .basicUnfiltered, .basicFiltered: return false
    case .extendedUnfiltered, .extendedFiltered:
      return target.randomKind == .resolvable
    }
  }

  /// Sends a scan request and, if it arrives and the answer too, reports that.
  private func ask(
    _ advertiser: Advertiser, _ peer: PeerAddress, _ heard: SightedPacket, meanDBm: Double
  ) {
    let own = try? ownAddress(
      settings.scan.ownAddressType, random: settings.randomAddress, towards: peer.address)
    guard let own,
      advertiser.hears(
        self, from: own, meanDBm: meanDBm, heard: heard,
        onlyListed: [.filteredScanRequests, .filtered].contains(advertiser.filterPolicy))
    else { return }
    if advertiser.notifiesScanRequests, let owner = advertiser.owner {
      owner.send(
        LEScanRequestReceived(set: advertiser.ownerSet, scanner: owner.peer(behind: own)))
    }
    let rssi = reception(
      meanDBm: meanDBm, channel: heard.channel, phy: advertiser.primaryPHY,
      at: heard.nanoseconds, loss: world.radio.advertisementLoss)
    if let rssi { report(advertiser, from: peer, rssi: rssi, isScanResponse: true) }
  }
}

extension Advertiser {
  /// Whether a request from a scanner or initiator arrives and is taken.
  func hears(
    _ sender: SimulatedController, from address: DeviceAddress, meanDBm: Double,
    heard: SimulatedController.SightedPacket, onlyListed: Bool
  ) -> Bool {
    // The way back is as long; only the powers differ.
    let mean = meanDBm - powerDBm + Double(sender.capabilities.powerDBm)
    let world = sender.world
    guard let owner else {
      return world.reception(
        meanDBm: mean, channel: heard.channel, phy: primaryPHY, at: site,
        loss: world.radio.advertisementLoss, using: &sender.generator) != nil
    }
    if onlyListed, !owner.isAccepted(owner.peer(behind: address).address) { return false }
    if properties.contains(.directed), let target, target != address,
      owner.peer(behind: address).address != targetPeer
    {
      return false
    }
    return owner.reception(
      meanDBm: mean, channel: heard.channel, phy: primaryPHY, at: heard.nanoseconds,
      loss: world.radio.advertisementLoss) != nil
  }
}

extension World {
  /// Whether a receiver at a site understands a packet, and how strong it finds it, in dBm.
  func reception(
    meanDBm: Double, channel: Int, phy: PHY, at site: Site, loss: Double,
    using generator: inout SeededGenerator
  ) -> Double? {
    var strength = meanDBm
    if radio.fadingDB > 0 { strength += radio.fadingDB * HashedRandom.normal(generator.next()) }
    var floor = radio.sensitivityDBm - AirTime.sensitivityGainDB(phy)
    if !radio.jamming.isEmpty {
      let position = site.motion.position(at: now)
      for jamming in radio.jamming {
        floor += jamming.noise(channel: channel, at: position, time: now)
      }
    }
    guard strength >= floor else { return nil }
    let anyLoss = loss + radio.dropProbability - loss * radio.dropProbability
    if anyLoss > 0, generator.unit() < anyLoss { return nil }
    return strength
  }
}
