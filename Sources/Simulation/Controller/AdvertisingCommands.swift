import BluetoothWire
import Essentials

// Legacy advertising, and what both generations share.

extension SimulatedController {
  static func addAdvertisingCommands(to table: inout CommandTable) {
    table.acknowledge { (controller, command: LESetRandomAddress) throws(Refusal) in
      let settings = controller.settings
      // Not while legacy advertising, scanning or initiating use it (§7.8.4).
      guard !settings.legacySet.isEnabled, !settings.scan.isEnabled, settings.initiator == nil
      else { throw Refusal(.commandDisallowed) }
      controller.settings.randomAddress = command.address
    }
    table.acknowledge { (controller, command: LESetAdvertisingParameters) throws(Refusal) in
      guard !controller.settings.legacySet.isEnabled else { throw Refusal(.commandDisallowed) }
      controller.settings.legacySet.parameters = try legacyParameters(command)
    }
    table.complete { (controller, _: LEReadAdvertisingPhysicalChannelTxPower) in
      LEReadAdvertisingPhysicalChannelTxPowerReturn(dBm: controller.capabilities.powerDBm)
    }
    table.acknowledge { (controller, command: LESetAdvertisingData) in
      controller.settings.legacySet.data = command.data
      controller.settings.legacySet.advertiser?.replace(data: command.data)
    }
    table.acknowledge { (controller, command: LESetScanResponseData) in
      controller.settings.legacySet.scanResponse = command.data
      controller.settings.legacySet.advertiser?.replace(scanResponse: command.data)
    }
    table.acknowledge { (controller, command: LESetAdvertisingEnable) throws(Refusal) in
      if command.isEnabled {
        try controller.startLegacyAdvertising()
      } else {
        controller.stop(&controller.settings.legacySet)
      }
    }
  }

  private static func legacyParameters(
    _ command: LESetAdvertisingParameters
  ) throws(Refusal) -> LESetExtendedAdvertisingParameters {
    let properties = AdvertisingEventProperties(legacy: command.type)
    // High duty cycle advertising has no interval to choose (§7.8.5).
    if command.type != .directedHighDutyCycle {
      guard 0x20...0x4000 ~= command.intervalMinUnits625us,
        0x20...0x4000 ~= command.intervalMaxUnits625us,
        command.intervalMinUnits625us <= command.intervalMaxUnits625us
      else { throw Refusal(.invalidParameters) }
    }
    guard !command.channels.isEmpty, command.channels.isSubset(of: .all) else {
      throw Refusal(.invalidParameters)
    }
    return LESetExtendedAdvertisingParameters(
      set: AdvertisingSet.legacyHandle, properties: properties,
      intervalMinUnits625us: UInt32(command.intervalMinUnits625us),
      intervalMaxUnits625us: UInt32(command.intervalMaxUnits625us), channels: command.channels,
      ownAddressType: command.ownAddressType, peer: command.peer,
      filterPolicy: command.filterPolicy)
  }

  private func startLegacyAdvertising() throws(Refusal) {
    if settings.legacySet.parameters == nil {
      settings.legacySet.parameters = try SimulatedController.legacyParameters(
        LESetAdvertisingParameters())
    }
    guard !settings.legacySet.isEnabled else { return }
    settings.legacySet.randomAddress = settings.randomAddress
    settings.legacySet = try started(
      settings.legacySet, entry: LESetExtendedAdvertisingEnable.Entry(set: 0))
  }

  /// Starts to send one set; returns it as it then is.
  func started(
    _ set: AdvertisingSet, entry: LESetExtendedAdvertisingEnable.Entry
  ) throws(Refusal) -> AdvertisingSet {
    var set = set
    guard let parameters = set.parameters else { throw Refusal(.commandDisallowed) }
    if parameters.properties.contains(.connectable), endpointCount >= capabilities.connectionsMax {
      throw Refusal(.connectionLimitExceeded)
    }
    let address = try ownAddress(
      parameters.ownAddressType, random: set.randomAddress, towards: parameters.peer)
    let advertiser = world.addAdvertiser(site: site, seed: generator.next())
    advertiser.owner = self
    advertiser.ownerSet = set.handle
    advertiser.take(parameters, address: address, defaultPower: capabilities.powerDBm)
    if parameters.properties.contains(.directed) {
      advertiser.target = targetAddress(parameters)
      advertiser.targetPeer = parameters.peer
    }
    advertiser.data = set.data
    advertiser.scanResponse = set.scanResponse
    advertiser.eventsLeft = entry.eventCountMax == 0 ? nil : Int(entry.eventCountMax)
    set.advertiser = advertiser
    set.sentEventsStart = Int(entry.eventCountMax)
    set.enableCount = world.nextNumber()
    advertiser.start(in: world)
    var duration = Int64(entry.durationUnits10ms) * 10_000_000
    if parameters.properties.contains(.highDutyCycle) {
      duration = min(duration == 0 ? .max : duration, Limits.directedAdvertisingNanoseconds)
    }
    if duration > 0 { stop(set.handle, enabling: set.enableCount, after: duration) }
    if address != set.randomAddress, address.randomKind == .resolvable {
      rotateAddress(of: set.handle, enabling: set.enableCount)
    }
    return set
  }

  /// Gives a set another private address whenever its time is over.
  private func rotateAddress(of handle: UInt8, enabling: UInt64) {
    world.schedule(at: world.now + settings.privateAddressTimeout) { [weak self] in
      guard let self, let set = self.set(handle), set.enableCount == enabling,
        let advertiser = set.advertiser, let parameters = set.parameters
      else { return }
      let address = try? self.ownAddress(
        parameters.ownAddressType, random: set.randomAddress, towards: parameters.peer)
      advertiser.address = address ?? advertiser.address
      if parameters.properties.contains(.directed) {
        advertiser.target = self.targetAddress(parameters)
      }
      self.rotateAddress(of: handle, enabling: enabling)
    }
  }

  private func stop(_ handle: UInt8, enabling: UInt64, after nanoseconds: Int64) {
    world.schedule(at: world.now + .nanoseconds(nanoseconds)) { [weak self] in
      guard let self, let set = self.set(handle), set.isEnabled, set.enableCount == enabling
      else { return }
      self.advertisingDidEnd(set: handle, status: .advertisingTimeout)
    }
  }

  func stop(_ set: inout AdvertisingSet) {
    guard let advertiser = set.advertiser else { return }
    set.advertiser = nil
    world.removeAdvertiser(advertiser)
  }

  func stopAdvertisers() {
    stop(&settings.legacySet)
    for index in settings.sets.indices { stop(&settings.sets[index]) }
  }

  func set(_ handle: UInt8) -> AdvertisingSet? {
    if handle == AdvertisingSet.legacyHandle { return settings.legacySet }
    return settings.sets.first { $0.handle == handle }
  }

  /// Advertising ended by itself: time or count ran out, or a central connected.
  func advertisingDidEnd(set handle: UInt8, status: HCIStatus, connection: UInt16 = 0) {
    if handle == AdvertisingSet.legacyHandle {
      stop(&settings.legacySet)
      // Only high duty cycle advertising times out; it is reported like a failed connection.
      if status == .advertisingTimeout {
        sendConnectionComplete(failed: status, role: .peripheral)
      }
      return
    }
    guard let index = settings.sets.firstIndex(where: { $0.handle == handle }) else { return }
    let counted = settings.sets[index].sentEventsStart
    let left = settings.sets[index].advertiser?.eventsLeft ?? counted
    stop(&settings.sets[index])
    if status == .advertisingTimeout,
      settings.sets[index].parameters?.properties.contains(.highDutyCycle) == true
    {
      sendConnectionComplete(failed: status, role: .peripheral)
    }
    send(
      LEAdvertisingSetTerminated(
        status: status, set: handle, handle: connection,
        completedEventCount: UInt8(clamping: counted - left)))
  }
}

extension Advertiser {
  func take(
    _ parameters: LESetExtendedAdvertisingParameters, address: DeviceAddress, defaultPower: Int8
  ) {
    properties = parameters.properties
    self.address = properties.contains(.anonymous) ? nil : address
    // Low end of what the host allows; high duty cycle advertising comes every 3.75 ms.
    intervalNanoseconds =
      properties.contains(.highDutyCycle)
      ? 3_750_000 : Int64(parameters.intervalMinUnits625us) * 625_000
    channels = parameters.channels
    powerDBm = Double(parameters.powerDBm ?? defaultPower)
    primaryPHY = parameters.primaryPHY
    secondaryPHY = parameters.secondaryPHY
    setID = parameters.setID
    filterPolicy = parameters.filterPolicy
    notifiesScanRequests = parameters.notifiesScanRequests
  }

  func replace(data: [UInt8]) {
    self.data = data
    dataID &+= 1
  }

  func replace(scanResponse: [UInt8]) {
    self.scanResponse = scanResponse
    dataID &+= 1
  }
}
