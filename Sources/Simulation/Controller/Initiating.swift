import BluetoothWire
import Essentials

// Making connections.

extension SimulatedController {
  static func addConnectionCommands(to table: inout CommandTable) {
    table.status { (controller, command: LECreateConnection) throws(Refusal) in
      guard command.scan.isValidForLegacy else { throw Refusal(.invalidParameters) }
      let timing = try command.timing.checked()
      try controller.checkInitiating(
        command.filterPolicy, command.peer, own: command.ownAddressType)
      let train = controller.scanTrain(command.scan)
      controller.begin(
        Initiator(
          filterPolicy: command.filterPolicy, ownAddressType: command.ownAddressType,
          peer: command.peer, train1M: train, timing: timing))
    }
    table.status { (controller, command: LEExtendedCreateConnection) throws(Refusal) in
      let given = [command.le1M, command.le2M, command.leCoded].compactMap { $0 }
      guard let first = command.le1M ?? command.leCoded, given.allSatisfy({ $0.scan.isValid })
      else { throw Refusal(.invalidParameters) }
      for parameters in given { _ = try parameters.timing.checked() }
      guard command.leCoded == nil || controller.capabilities.hasCoded,
        command.le2M == nil || controller.capabilities.has2M
      else { throw Refusal(.unsupportedFeature) }
      try controller.checkInitiating(
        command.filterPolicy, command.peer, own: command.ownAddressType)
      controller.begin(
        Initiator(
          filterPolicy: command.filterPolicy, ownAddressType: command.ownAddressType,
          peer: command.peer, train1M: command.le1M.map { controller.scanTrain($0.scan) },
          trainCoded: command.leCoded.map { controller.scanTrain($0.scan) },
          timing: first.timing, timing2M: command.le2M?.timing,
          timingCoded: command.leCoded?.timing))
    }
    table.acknowledge { (controller, _: LECreateConnectionCancel) throws(Refusal) in
      guard controller.settings.initiator != nil else { throw Refusal(.commandDisallowed) }
      controller.endInitiating()
      controller.afterAnswer {
        $0.sendConnectionComplete(failed: .unknownConnection, role: .central)
      }
    }
  }

  private func scanTrain(_ timing: ScanTiming) -> ScanTrain {
    ScanTrain(timing, start: world.now.nanoseconds, firstChannel: generator.next())
  }

  private func checkInitiating(
    _ policy: InitiatorFilterPolicy, _ peer: PeerAddress, own: OwnAddressType
  ) throws(Refusal) {
    guard settings.initiator == nil else { throw Refusal(.commandDisallowed) }
    guard endpointCount < capabilities.connectionsMax else {
      throw Refusal(.connectionLimitExceeded)
    }
    _ = try ownAddress(own, random: settings.randomAddress, towards: peer.address)
    let isConnected = endpoints.contains { $0?.peer.address == peer.address }
    if policy == .peerAddress, isConnected { throw Refusal(.connectionAlreadyExists) }
  }

  private func begin(_ initiator: Initiator) {
    settings.initiator = initiator
    // Not before the command is answered.
    afterAnswer { $0.world.listeningDidChange($0) }
  }

  private func endInitiating() {
    settings.initiator = nil
    world.listeningDidChange(self)
  }

  /// A connectable advertisement was heard: connects, if it is the wanted device.
  func initiate(
    _ initiator: Initiator, to advertiser: Advertiser, _ heard: SightedPacket, meanDBm: Double
  ) {
    let isLegacy = advertiser.properties.contains(.legacy)
    guard let address = advertiser.address, isLegacy || settings.usesExtendedCommands == true,
      !isIgnoredForPrivacy(address)
    else { return }
    let peer = peer(behind: address)
    switch initiator.filterPolicy {
    case .peerAddress:
      guard initiator.peer.address == peer.address || initiator.peer.address == address else {
        return
      }
    case .filterAcceptList:
      guard isAccepted(peer.address) else { return }
    }
    if advertiser.properties.contains(.directed), let target = advertiser.target, !isOwn(target) {
      return
    }
    if !isLegacy,
      !hearsAuxiliary(advertiser, meanDBm: meanDBm, at: heard.nanoseconds)
    {
      return
    }
    connect(initiator, to: advertiser, peer, heard, meanDBm: meanDBm)
  }

  private func connect(
    _ initiator: Initiator, to advertiser: Advertiser, _ peer: PeerAddress, _ heard: SightedPacket,
    meanDBm: Double
  ) {
    guard let owner = advertiser.owner else {
      advertiser.onConnectionAttempt?()
      return
    }
    let own = try? ownAddress(
      initiator.ownAddressType, random: settings.randomAddress, towards: peer.address)
    guard let own, owner.endpointCount < owner.capabilities.connectionsMax else { return }
    let isLegacy = advertiser.properties.contains(.legacy)
    let arrives = advertiser.hears(
      self, from: own, meanDBm: meanDBm, heard: heard,
      onlyListed: [.filteredConnectionRequests, .filtered].contains(advertiser.filterPolicy))
    // Extended advertisers answer the request, so both know; legacy ones don't, and a lost request
    // makes a connection that fails to be established.
    guard arrives || isLegacy else { return }
    let phy = isLegacy ? PHY.le1M : advertiser.secondaryPHY
    let timing =
      switch phy {
      case .le1M: initiator.timing
      case .le2M: initiator.timing2M ?? initiator.timing
      case .leCoded: initiator.timingCoded ?? initiator.timing
      }
    endInitiating()
    world.connect(
      LinkPlan(
        central: self, peripheral: owner, centralAddress: own, peer: peer,
        advertiser: advertiser, isHeard: arrives, phy: phy, timing: timing))
  }

  func sendConnectionComplete(failed status: HCIStatus, role: LinkRole) {
    sendConnectionComplete(
      status: status, handle: 0, role: role,
      peer: PeerAddress(DeviceAddress(bits: 0, kind: .public)), own: nil, peerPrivate: nil,
      timing: ConnectionTiming(intervalUnits1250us: 0, latency: 0, timeoutUnits10ms: 0))
  }

  /// The enhanced event if the host asked for it, else the plain one (§7.7.65.10).
  func sendConnectionComplete(
    status: HCIStatus, handle: UInt16, role: LinkRole, peer: PeerAddress, own: DeviceAddress?,
    peerPrivate: DeviceAddress?, timing: ConnectionTiming
  ) {
    if settings.leEventMask.contains(.enhancedConnectionComplete) {
      send(
        LEEnhancedConnectionComplete(
          status: status, handle: handle, role: role, peer: peer,
          localPrivateAddress: own?.randomKind == .resolvable ? own : nil,
          peerPrivateAddress: peer.isIdentity ? peerPrivate : nil, timing: timing))
    } else {
      send(
        LEConnectionComplete(
          status: status, handle: handle, role: role, peer: PeerAddress(peer.address),
          timing: timing))
    }
  }
}

extension ConnectionTimingRequest {
  /// Throws unless the values are allowed and fit each other (Core 5.4, Vol 4, Part E, §7.8.12).
  func checked() throws(Refusal) -> ConnectionTimingRequest {
    guard 6...3_200 ~= intervalMinUnits1250us, 6...3_200 ~= intervalMaxUnits1250us,
      intervalMinUnits1250us <= intervalMaxUnits1250us, latency <= 499,
      10...3_200 ~= timeoutUnits10ms, eventLengthMinUnits625us <= eventLengthMaxUnits625us,
      // The timeout is longer than two effective intervals.
      Int(timeoutUnits10ms) * 4 > (1 + Int(latency)) * Int(intervalMaxUnits1250us)
    else { throw Refusal(.invalidParameters) }
    return self
  }

  /// What a controller makes of it: the shortest interval that is allowed.
  var chosen: ConnectionTiming {
    ConnectionTiming(
      intervalUnits1250us: intervalMinUnits1250us, latency: latency,
      timeoutUnits10ms: timeoutUnits10ms)
  }
}
