import BluetoothWire

/// The capabilities of a simulated controller, as in the data sheet of a chip.
public struct ControllerCapabilities: Hashable, Sendable {
  /// Whether it supports extended advertising: advertising sets, secondary channels, long
  /// advertising data. Otherwise those commands are unknown.
  public var hasExtendedAdvertising = true
  /// Whether it supports the LE 2M PHY.
  public var has2M = true
  /// Whether it supports the LE Coded PHY.
  public var hasCoded = true
  /// Whether it supports link-layer packets of up to 251 bytes instead of 27.
  public var hasDataLengthExtension = true
  /// Whether it supports connection subrating.
  public var hasSubrating = true
  /// Whether it supports privacy: it resolves private addresses of peers, and generates its own.
  /// Otherwise those commands are unknown.
  public var hasPrivacy = true
  /// The maximum payload of an ACL packet in bytes.
  public var aclPacketLength: UInt16 = 251
  /// The number of ACL packets that it can buffer.
  public var aclPacketCount: UInt8 = 32
  /// The maximum number of advertising sets.
  public var advertisingSetsMax = 8
  /// The size of the filter accept list.
  public var filterAcceptListMax = 32
  /// The size of the resolving list.
  public var resolvingListMax = 32
  /// The maximum number of connections.
  public var connectionsMax = 128
  /// The transmit power in dBm, unless an advertising set has its own.
  public var powerDBm: Int8 = 0
  /// Core version in HCI numbers; 13 is 5.4 (Assigned Numbers, §2.1).
  public var version: UInt8 = 13
  /// The manufacturer's company identifier; 0xFFFF means none.
  public var company: UInt16 = 0xFFFF
  /// The controller's subversion.
  public var subversion: UInt16 = 1

  /// Creates the capabilities of a controller that supports all simulated features.
  public init() {}

  /// A controller of the first LE generation (4.0): legacy advertising, 27-byte packets.
  public static var basic: ControllerCapabilities {
    var capabilities = ControllerCapabilities()
    capabilities.hasExtendedAdvertising = false
    capabilities.has2M = false
    capabilities.hasCoded = false
    capabilities.hasDataLengthExtension = false
    capabilities.hasSubrating = false
    capabilities.hasPrivacy = false
    capabilities.aclPacketLength = 27
    capabilities.version = 6
    return capabilities
  }

  var features: LEFeatures {
    var features: LEFeatures = [
      .encryption, .connectionParametersRequest, .extendedReject, .peripheralFeatureExchange,
      .ping, .channelSelection2,
    ]
    if hasPrivacy { features.insert(.privacy) }
    if hasDataLengthExtension { features.insert(.dataLengthExtension) }
    if has2M { features.insert(.le2M) }
    if hasCoded { features.insert(.leCoded) }
    if hasSubrating { features.insert(.connectionSubrating) }
    if hasExtendedAdvertising { features.insert(.extendedAdvertising) }
    return features
  }

  var phys: PHYSet {
    var phys: PHYSet = .le1M
    if has2M { phys.insert(.le2M) }
    if hasCoded { phys.insert(.leCoded) }
    return phys
  }

  /// Longest link-layer payload, in bytes.
  var dataLengthMax: UInt16 { hasDataLengthExtension ? 251 : 27 }

  /// Commands that need a capability which this controller lacks.
  func lacks(_ opcode: HCIOpcode) -> Bool {
    if !hasExtendedAdvertising, HCIOpcode.extendedCommands.contains(opcode) { return true }
    if !hasDataLengthExtension, HCIOpcode.dataLengthCommands.contains(opcode) { return true }
    if !hasSubrating, HCIOpcode.subratingCommands.contains(opcode) { return true }
    if !hasPrivacy, HCIOpcode.privacyCommands.contains(opcode) { return true }
    if !has2M && !hasCoded, HCIOpcode.phyCommands.contains(opcode) { return true }
    return false
  }
}

extension HCIOpcode {
  /// Commands of which a host uses these or `legacyCommands`, never both
  /// (Core 5.4, Vol 4, Part E, §3.1.1).
  static let extendedCommands: Set<HCIOpcode> = [
    .leSetAdvertisingSetRandomAddress, .leSetExtendedAdvertisingParameters,
    .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData,
    .leSetExtendedAdvertisingEnable, .leReadMaximumAdvertisingDataLength,
    .leReadNumberOfSupportedAdvertisingSets, .leRemoveAdvertisingSet, .leClearAdvertisingSets,
    .leSetExtendedScanParameters, .leSetExtendedScanEnable, .leExtendedCreateConnection,
  ]
  static let legacyCommands: Set<HCIOpcode> = [
    .leSetAdvertisingParameters, .leReadAdvertisingPhysicalChannelTxPower, .leSetAdvertisingData,
    .leSetScanResponseData, .leSetAdvertisingEnable, .leSetScanParameters, .leSetScanEnable,
    .leCreateConnection,
  ]
  static let dataLengthCommands: Set<HCIOpcode> = [
    .leSetDataLength, .leReadSuggestedDefaultDataLength, .leWriteSuggestedDefaultDataLength,
    .leReadMaximumDataLength,
  ]
  static let privacyCommands: Set<HCIOpcode> = [
    .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList, .leClearResolvingList,
    .leReadResolvingListSize, .leReadPeerResolvableAddress, .leReadLocalResolvableAddress,
    .leSetAddressResolutionEnable, .leSetResolvablePrivateAddressTimeout, .leSetPrivacyMode,
  ]
  static let subratingCommands: Set<HCIOpcode> = [.leSetDefaultSubrate, .leSubrateRequest]
  static let phyCommands: Set<HCIOpcode> = [.leReadPHY, .leSetDefaultPHY, .leSetPHY]
}
