/// What a link layer can do (Core 5.4, Vol 6, Part B, §4.6).
public struct LEFeatures: OptionSet, HCICodable {
  /// One bit each.
  public let rawValue: UInt64

  /// A set from its bits; bits that we don't know are kept.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Encrypts links.
  public static let encryption = LEFeatures(rawValue: 1 << 0)
  /// Negotiates connection parameters in the link layer.
  public static let connectionParametersRequest = LEFeatures(rawValue: 1 << 1)
  /// Extended Reject Indication: names the rejected procedure.
  public static let extendedReject = LEFeatures(rawValue: 1 << 2)
  /// The peripheral may also request features.
  public static let peripheralFeatureExchange = LEFeatures(rawValue: 1 << 3)
  /// Sends LE pings.
  public static let ping = LEFeatures(rawValue: 1 << 4)
  /// Sends packets of more than 27 bytes.
  public static let dataLengthExtension = LEFeatures(rawValue: 1 << 5)
  /// Resolves private addresses.
  public static let privacy = LEFeatures(rawValue: 1 << 6)
  /// Reports advertising directed to unresolvable private addresses.
  public static let extendedScannerFilterPolicies = LEFeatures(rawValue: 1 << 7)
  /// Knows the LE 2M PHY.
  public static let le2M = LEFeatures(rawValue: 1 << 8)
  /// Sends with a stable modulation index.
  public static let stableModulationTransmitter = LEFeatures(rawValue: 1 << 9)
  /// Receives with a stable modulation index.
  public static let stableModulationReceiver = LEFeatures(rawValue: 1 << 10)
  /// Knows the LE Coded PHY.
  public static let leCoded = LEFeatures(rawValue: 1 << 11)
  /// Knows extended advertising and scanning.
  public static let extendedAdvertising = LEFeatures(rawValue: 1 << 12)
  /// Knows periodic advertising.
  public static let periodicAdvertising = LEFeatures(rawValue: 1 << 13)
  /// Knows channel selection algorithm #2.
  public static let channelSelection2 = LEFeatures(rawValue: 1 << 14)
  /// Sends with more than 10 dBm.
  public static let powerClass1 = LEFeatures(rawValue: 1 << 15)
  /// Negotiates a minimum of channels.
  public static let minimumUsedChannels = LEFeatures(rawValue: 1 << 16)
  /// Connection CTE Request: requests constant tone extensions in connections.
  public static let cteRequest = LEFeatures(rawValue: 1 << 17)
  /// Answers with constant tone extensions in connections.
  public static let cteResponse = LEFeatures(rawValue: 1 << 18)
  /// Sends constant tone extensions in periodic advertising.
  public static let connectionlessCTETransmitter = LEFeatures(rawValue: 1 << 19)
  /// Receives constant tone extensions in periodic advertising.
  public static let connectionlessCTEReceiver = LEFeatures(rawValue: 1 << 20)
  /// Switches antennas while it sends.
  public static let antennaSwitchingTransmit = LEFeatures(rawValue: 1 << 21)
  /// Switches antennas while it receives.
  public static let antennaSwitchingReceive = LEFeatures(rawValue: 1 << 22)
  /// Receives constant tone extensions.
  public static let constantToneReceive = LEFeatures(rawValue: 1 << 23)
  /// Hands periodic advertising trains to others.
  public static let syncTransferSender = LEFeatures(rawValue: 1 << 24)
  /// Takes periodic advertising trains from others.
  public static let syncTransferRecipient = LEFeatures(rawValue: 1 << 25)
  /// Tells of changes of its sleep clock.
  public static let sleepClockAccuracyUpdates = LEFeatures(rawValue: 1 << 26)
  /// Checks public keys.
  public static let remotePublicKeyValidation = LEFeatures(rawValue: 1 << 27)
  /// Carries connected isochronous streams as central.
  public static let cisCentral = LEFeatures(rawValue: 1 << 28)
  /// Carries connected isochronous streams as peripheral.
  public static let cisPeripheral = LEFeatures(rawValue: 1 << 29)
  /// Broadcasts isochronous streams.
  public static let isochronousBroadcaster = LEFeatures(rawValue: 1 << 30)
  /// Receives isochronous broadcasts.
  public static let synchronizedReceiver = LEFeatures(rawValue: 1 << 31)
  /// The host does connected isochronous streams.
  public static let connectedIsochronousHostSupport = LEFeatures(rawValue: 1 << 32)
  /// Requests a change of the peer's power.
  public static let powerControlRequest = LEFeatures(rawValue: 1 << 33)
  /// Tells the peer of changes of its power.
  public static let powerChangeIndication = LEFeatures(rawValue: 1 << 34)
  /// Watches the path loss.
  public static let pathLossMonitoring = LEFeatures(rawValue: 1 << 35)
  /// Tells periodic advertising data apart by an identifier.
  public static let periodicAdvertisingADI = LEFeatures(rawValue: 1 << 36)
  /// Uses a part of the connection events.
  public static let connectionSubrating = LEFeatures(rawValue: 1 << 37)
  /// The host does connection subrating.
  public static let connectionSubratingHostSupport = LEFeatures(rawValue: 1 << 38)
  /// Tells the central which channels are of use.
  public static let channelClassification = LEFeatures(rawValue: 1 << 39)
  /// Chooses the coding of advertising.
  public static let advertisingCodingSelection = LEFeatures(rawValue: 1 << 40)
  /// The host chooses the coding of advertising.
  public static let advertisingCodingSelectionHostSupport = LEFeatures(rawValue: 1 << 41)
  /// Takes responses to periodic advertising.
  public static let periodicAdvertisingResponsesAdvertiser = LEFeatures(rawValue: 1 << 43)
  /// Responds to periodic advertising.
  public static let periodicAdvertisingResponsesScanner = LEFeatures(rawValue: 1 << 44)
}

/// What a classic link manager can do, page 0; only what LE needs (Core 5.4, Vol 2, Part C, §3.3).
public struct LMPFeatures: OptionSet, HCICodable {
  /// One bit each.
  public let rawValue: UInt64

  /// A set from its bits; bits that we don't know are kept.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// There is no classic Bluetooth at all.
  public static let brEDRNotSupported = LMPFeatures(rawValue: 1 << 37)
  /// The controller does LE.
  public static let leSupported = LMPFeatures(rawValue: 1 << 38)
}
