import BluetoothWire
import Essentials

// Extended advertising.

extension SimulatedController {
  static func addExtendedAdvertisingCommands(to table: inout CommandTable) {
    table.acknowledge { (controller, command: LESetAdvertisingSetRandomAddress) throws(Refusal) in
      let index = try controller.setIndex(command.set)
      let set = controller.settings.sets[index]
      // Not while connectable advertising uses it (§7.8.52).
      if set.isEnabled, set.parameters?.properties.contains(.connectable) == true {
        throw Refusal(.commandDisallowed)
      }
      controller.settings.sets[index].randomAddress = command.address
      if set.parameters?.ownAddressType == .random {
        set.advertiser?.address = command.address
      }
    }
    table.complete { (controller, command: LESetExtendedAdvertisingParameters) throws(Refusal) in
      try controller.setParameters(command)
      return LESetExtendedAdvertisingParametersReturn(
        dBm: command.powerDBm ?? controller.capabilities.powerDBm)
    }
    table.acknowledge { (controller, command: LESetExtendedAdvertisingData) throws(Refusal) in
      try controller.setData(command)
    }
    table.acknowledge { (controller, command: LESetExtendedScanResponseData) throws(Refusal) in
      try controller.setScanResponse(command)
    }
    table.acknowledge { (controller, command: LESetExtendedAdvertisingEnable) throws(Refusal) in
      try controller.enable(command)
    }
    table.complete { (_, _: LEReadMaximumAdvertisingDataLength) in
      LEReadMaximumAdvertisingDataLengthReturn(byteCount: UInt16(Limits.advertisingDataMax))
    }
    table.complete { (controller, _: LEReadNumberOfSupportedAdvertisingSets) in
      LEReadNumberOfSupportedAdvertisingSetsReturn(
        count: UInt8(clamping: controller.capabilities.advertisingSetsMax))
    }
    table.acknowledge { (controller, command: LERemoveAdvertisingSet) throws(Refusal) in
      let index = try controller.setIndex(command.set)
      guard !controller.settings.sets[index].isEnabled else { throw Refusal(.commandDisallowed) }
      controller.settings.sets.remove(at: index)
    }
    table.acknowledge { (controller, _: LEClearAdvertisingSets) throws(Refusal) in
      guard !controller.settings.sets.contains(where: \.isEnabled) else {
        throw Refusal(.commandDisallowed)
      }
      controller.settings.sets = []
    }
  }

  private func setIndex(_ handle: UInt8) throws(Refusal) -> Int {
    guard let index = settings.sets.firstIndex(where: { $0.handle == handle }) else {
      throw Refusal(.unknownAdvertisingIdentifier)
    }
    return index
  }

  private func setParameters(
    _ command: LESetExtendedAdvertisingParameters
  ) throws(Refusal) {
    try validate(command)
    if let index = settings.sets.firstIndex(where: { $0.handle == command.set }) {
      let set = settings.sets[index]
      guard !set.isEnabled else { throw Refusal(.commandDisallowed) }
      // Data that the set has must fit its new kind (§7.8.53).
      let lacksRoom =
        command.properties.contains(.legacy) && max(set.data.count, set.scanResponse.count) > 31
      guard !lacksRoom else { throw Refusal(.invalidParameters) }
      settings.sets[index].parameters = command
    } else {
      guard settings.sets.count < capabilities.advertisingSetsMax else {
        throw Refusal(.memoryCapacityExceeded)
      }
      var set = AdvertisingSet(handle: command.set)
      set.parameters = command
      settings.sets.append(set)
    }
  }

  private func validate(_ command: LESetExtendedAdvertisingParameters) throws(Refusal) {
    let properties = command.properties
    let isLegacy = properties.contains(.legacy)
    let legacyKinds: [AdvertisingEventProperties] = [
      .init(legacy: .connectable), .init(legacy: .directedHighDutyCycle),
      .init(legacy: .scannable), .init(legacy: .nonConnectable),
      .init(legacy: .directedLowDutyCycle),
    ]
    let isPossible =
      isLegacy
      ? legacyKinds.contains(properties.subtracting(.includesPower))
      // Extended advertising is never both, and high duty cycle is for legacy only.
      : !(properties.contains(.connectable) && properties.contains(.scannable))
        && !properties.contains(.highDutyCycle)
    guard isPossible, command.set <= 0xEF, command.setID <= 0x0F,
      properties.contains(.highDutyCycle)
        || (command.intervalMinUnits625us >= 0x20
          && command.intervalMinUnits625us <= command.intervalMaxUnits625us),
      !command.channels.isEmpty, command.channels.isSubset(of: .all),
      command.primaryPHY != .le2M
    else { throw Refusal(.invalidParameters) }
    let phys = [command.primaryPHY, command.secondaryPHY]
    guard !phys.contains(.leCoded) || capabilities.hasCoded,
      command.secondaryPHY != .le2M || capabilities.has2M
    else { throw Refusal(.unsupportedFeature) }
    if isLegacy, command.primaryPHY != .le1M { throw Refusal(.invalidParameters) }
  }

  private func setData(_ command: LESetExtendedAdvertisingData) throws(Refusal) {
    let index = try setIndex(command.set)
    let set = settings.sets[index]
    if command.operation == .unchanged {
      // Only changes the data identifier of the current data (§7.8.54).
      guard let advertiser = set.advertiser, !set.data.isEmpty else {
        throw Refusal(.invalidParameters)
      }
      return advertiser.replace(data: set.data)
    }
    let data = try assembled(
      command.data, command.operation, onto: set.data, isPartial: set.isDataPartial, set: set)
    settings.sets[index].data = data
    let isPartial = command.operation == .first || command.operation == .intermediate
    settings.sets[index].isDataPartial = isPartial
    if !isPartial { set.advertiser?.replace(data: data) }
  }

  private func setScanResponse(_ command: LESetExtendedScanResponseData) throws(Refusal) {
    let index = try setIndex(command.set)
    let set = settings.sets[index]
    guard command.operation != .unchanged else { throw Refusal(.invalidParameters) }
    guard set.parameters?.properties.contains(.scannable) == true || command.data.isEmpty else {
      throw Refusal(.invalidParameters)
    }
    let data = try assembled(
      command.data, command.operation, onto: set.scanResponse,
      isPartial: set.isScanResponsePartial, set: set)
    settings.sets[index].scanResponse = data
    let isPartial = command.operation == .first || command.operation == .intermediate
    settings.sets[index].isScanResponsePartial = isPartial
    if !isPartial { set.advertiser?.replace(scanResponse: data) }
  }

  /// Puts a fragment of data behind those that came before (§7.8.54).
  private func assembled(
    _ fragment: [UInt8], _ operation: AdvertisingDataOperation, onto earlier: [UInt8],
    isPartial: Bool, set: AdvertisingSet
  ) throws(Refusal) -> [UInt8] {
    let isContinuing = operation == .intermediate || operation == .last
    guard !isContinuing || isPartial else { throw Refusal(.invalidParameters) }
    // Data of an enabled set can only be replaced as a whole.
    guard !set.isEnabled || operation == .complete else { throw Refusal(.commandDisallowed) }
    let data = isContinuing ? earlier + fragment : fragment
    if set.parameters?.properties.contains(.legacy) == true, data.count > 31 {
      throw Refusal(.invalidParameters)
    }
    guard data.count <= Limits.advertisingDataMax else {
      throw Refusal(.memoryCapacityExceeded)
    }
    return data
  }

  private func enable(_ command: LESetExtendedAdvertisingEnable) throws(Refusal) {
    if !command.isEnabled, command.sets.isEmpty {
      for index in settings.sets.indices { stop(&settings.sets[index]) }
      return
    }
    guard !command.sets.isEmpty, Set(command.sets.map(\.set)).count == command.sets.count else {
      throw Refusal(.invalidParameters)
    }
    // All or none.
    for entry in command.sets { try check(entry, isEnabling: command.isEnabled) }
    for entry in command.sets {
      let index = try setIndex(entry.set)
      stop(&settings.sets[index])
      guard command.isEnabled else { continue }
      settings.sets[index] = try started(settings.sets[index], entry: entry)
    }
  }

  private func check(
    _ entry: LESetExtendedAdvertisingEnable.Entry, isEnabling: Bool
  ) throws(Refusal) {
    let set = settings.sets[try setIndex(entry.set)]
    guard isEnabling, let parameters = set.parameters else { return }
    guard !set.isDataPartial, !set.isScanResponsePartial else {
      throw Refusal(.commandDisallowed)
    }
    let properties = parameters.properties
    // An extended scannable set has nothing but its scan response to send (§7.8.56).
    if properties.contains(.scannable), !properties.contains(.legacy), set.scanResponse.isEmpty {
      throw Refusal(.commandDisallowed)
    }
    _ = try ownAddress(
      parameters.ownAddressType, random: set.randomAddress, towards: parameters.peer)
    if properties.contains(.connectable), endpointCount >= capabilities.connectionsMax {
      throw Refusal(.connectionLimitExceeded)
    }
  }
}
