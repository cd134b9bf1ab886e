import BluetoothWire
import Essentials

// Encryption, the filter accept list, the resolving list.

extension SimulatedController {
  static func addSecurityCommands(to table: inout CommandTable) {
    addEncryptionCommands(to: &table)
    addFilterAcceptListCommands(to: &table)
    addResolvingListCommands(to: &table)
    addPrivacyCommands(to: &table)
  }

  private static func addEncryptionCommands(to table: inout CommandTable) {
    table.complete { (_, command: LEEncrypt) in
      LEEncryptReturn(encrypted: AES128(key: command.key).encrypt(command.plaintext))
    }
    table.status { (controller, command: LEEnableEncryption) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      guard endpoint.role == .central else { throw Refusal(.commandDisallowed) }
      try endpoint.requestEncryption(
        random: command.random, diversifier: command.diversifier, key: command.longTermKey)
    }
    table.acknowledgeLink { (controller, command: LELongTermKeyRequestReply) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      guard endpoint.awaitsLongTermKey else { throw Refusal(.commandDisallowed) }
      endpoint.awaitsLongTermKey = false
      endpoint.giveKey(command.longTermKey)
    }
    table.acknowledgeLink {
      (controller, command: LELongTermKeyRequestNegativeReply) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      guard endpoint.awaitsLongTermKey else { throw Refusal(.commandDisallowed) }
      endpoint.awaitsLongTermKey = false
      endpoint.refuseKey()
    }
  }

  private static func addFilterAcceptListCommands(to table: inout CommandTable) {
    table.complete { (controller, _: LEReadFilterAcceptListSize) in
      ListSizeReturn(count: UInt8(clamping: controller.capabilities.filterAcceptListMax))
    }
    table.acknowledge { (controller, _: LEClearFilterAcceptList) throws(Refusal) in
      try controller.requireUnusedFilterAcceptList()
      controller.settings.filterAcceptList = []
    }
    table.acknowledge { (controller, command: LEAddDeviceToFilterAcceptList) throws(Refusal) in
      try controller.requireUnusedFilterAcceptList()
      let entry = FilterAcceptEntry(address: command.address)
      guard !controller.settings.filterAcceptList.contains(entry) else { return }
      guard
        controller.settings.filterAcceptList.count < controller.capabilities.filterAcceptListMax
      else { throw Refusal(.memoryCapacityExceeded) }
      controller.settings.filterAcceptList.append(entry)
    }
    table.acknowledge { (controller, command: LERemoveDeviceFromFilterAcceptList) throws(Refusal) in
      try controller.requireUnusedFilterAcceptList()
      controller.settings.filterAcceptList.removeAll { $0.address == command.address }
    }
  }

  /// Scanning, initiating and advertising lock the list while they use it (§7.8.15 ... 17).
  private func requireUnusedFilterAcceptList() throws(Refusal) {
    let isScanningByList =
      settings.scan.isEnabled
      && [.basicFiltered, .extendedFiltered].contains(settings.scan.filterPolicy)
    let isInitiatingByList = settings.initiator?.filterPolicy == .filterAcceptList
    let isAdvertisingByList = ([settings.legacySet] + settings.sets).contains {
      $0.isEnabled && $0.parameters?.filterPolicy != .unfiltered
    }
    guard !isScanningByList, !isInitiatingByList, !isAdvertisingByList else {
      throw Refusal(.commandDisallowed)
    }
  }

  private static func addResolvingListCommands(to table: inout CommandTable) {
    table.complete { (controller, _: LEReadResolvingListSize) in
      ListSizeReturn(count: UInt8(clamping: controller.capabilities.resolvingListMax))
    }
    table.acknowledge { (controller, _: LEClearResolvingList) throws(Refusal) in
      try controller.requireUnusedResolvingList()
      controller.settings.resolvingList = []
      controller.resolutions = [:]
    }
    table.acknowledge { (controller, command: LEAddDeviceToResolvingList) throws(Refusal) in
      try controller.requireUnusedResolvingList()
      let list = controller.settings.resolvingList
      guard list.count < controller.capabilities.resolvingListMax else {
        throw Refusal(.memoryCapacityExceeded)
      }
      guard !list.contains(where: { $0.peerIdentity == command.peerIdentity }) else {
        throw Refusal(.invalidParameters)
      }
      controller.settings.resolvingList.append(ResolvingEntry(command))
      controller.resolutions = [:]
    }
    table.acknowledge { (controller, command: LERemoveDeviceFromResolvingList) throws(Refusal) in
      try controller.requireUnusedResolvingList()
      let index = try controller.resolvingIndex(command.peerIdentity)
      controller.settings.resolvingList.remove(at: index)
      controller.resolutions = [:]
    }
    table.complete { (controller, command: LEReadPeerResolvableAddress) throws(Refusal) in
      let entry = controller.settings.resolvingList[
        try controller.resolvingIndex(command.peerIdentity)]
      return ResolvableAddressReturn(
        address: entry.peerAddress ?? DeviceAddress(bits: 0, kind: .random))
    }
    table.complete { (controller, command: LEReadLocalResolvableAddress) throws(Refusal) in
      let entry = controller.settings.resolvingList[
        try controller.resolvingIndex(command.peerIdentity)]
      return ResolvableAddressReturn(
        address: entry.localAddress ?? DeviceAddress(bits: 0, kind: .random))
    }
  }

  private func resolvingIndex(_ identity: DeviceAddress) throws(Refusal) -> Int {
    guard let index = settings.resolvingList.firstIndex(where: { $0.peerIdentity == identity })
    else { throw Refusal(.unknownConnection) }
    return index
  }

  /// Not while addresses are resolved and something is on the air (§7.8.38).
  private func requireUnusedResolvingList() throws(Refusal) {
    guard settings.resolvesAddresses else { return }
    try requireSilence()
  }

  private func requireSilence() throws(Refusal) {
    let isAdvertising = settings.legacySet.isEnabled || settings.sets.contains(where: \.isEnabled)
    guard !isAdvertising, !settings.scan.isEnabled, settings.initiator == nil else {
      throw Refusal(.commandDisallowed)
    }
  }

  private static func addPrivacyCommands(to table: inout CommandTable) {
    table.acknowledge { (controller, command: LESetAddressResolutionEnable) throws(Refusal) in
      try controller.requireSilence()
      controller.settings.resolvesAddresses = command.isEnabled
      controller.resolutions = [:]
    }
    table.acknowledge {
      (controller, command: LESetResolvablePrivateAddressTimeout) throws(Refusal) in
      guard 1...3_600 ~= command.seconds else { throw Refusal(.invalidParameters) }
      controller.settings.privateAddressTimeout = .seconds(Int64(command.seconds))
    }
    table.acknowledge { (controller, command: LESetPrivacyMode) throws(Refusal) in
      try controller.requireUnusedResolvingList()
      let index = try controller.resolvingIndex(command.peerIdentity)
      controller.settings.resolvingList[index].mode = command.mode
    }
  }
}
