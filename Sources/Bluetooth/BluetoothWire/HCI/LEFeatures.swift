/// The features of a link layer (Core 5.4, Vol 6, Part B, §4.6).
public struct LEFeatures: OptionSet, HCICodable {
  /// The bits.
  public let rawValue: UInt64

  /// Creates a set from its bits; unknown bits are preserved.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// LE Encryption.
  public static let encryption = LEFeatures(rawValue: 1 << 0)
  /// Connection Parameters Request Procedure.
  public static let connectionParametersRequest = LEFeatures(rawValue: 1 << 1)
  /// Extended Reject Indication: names the rejected procedure.
  public static let extendedReject = LEFeatures(rawValue: 1 << 2)
  /// Peripheral-initiated Features Exchange.
  public static let peripheralFeatureExchange = LEFeatures(rawValue: 1 << 3)
  /// LE Ping.
  public static let ping = LEFeatures(rawValue: 1 << 4)
  /// LE Data Packet Length Extension: packets of more than 27 bytes.
  public static let dataLengthExtension = LEFeatures(rawValue: 1 << 5)
  /// LL Privacy: resolves private addresses.
  public static let privacy = LEFeatures(rawValue: 1 << 6)
  /// Extended Scanner Filter Policies: reports advertising directed to unresolvable private
  /// addresses.
  public static let extendedScannerFilterPolicies = LEFeatures(rawValue: 1 << 7)
  /// LE 2M PHY.
  public static let le2M = LEFeatures(rawValue: 1 << 8)
  /// Stable Modulation Index - Transmitter.
  public static let stableModulationTransmitter = LEFeatures(rawValue: 1 << 9)
  /// Stable Modulation Index - Receiver.
  public static let stableModulationReceiver = LEFeatures(rawValue: 1 << 10)
  /// LE Coded PHY.
  public static let leCoded = LEFeatures(rawValue: 1 << 11)
  /// LE Extended Advertising, which includes extended scanning.
  public static let extendedAdvertising = LEFeatures(rawValue: 1 << 12)
  /// LE Periodic Advertising.
  public static let periodicAdvertising = LEFeatures(rawValue: 1 << 13)
  /// Channel Selection Algorithm #2.
  public static let channelSelection2 = LEFeatures(rawValue: 1 << 14)
  /// LE Power Class 1: transmits with more than 10 dBm.
  public static let powerClass1 = LEFeatures(rawValue: 1 << 15)
  /// Minimum Number of Used Channels Procedure.
  public static let minimumUsedChannels = LEFeatures(rawValue: 1 << 16)
  /// Connection CTE Request: requests constant tone extensions in connections.
  public static let cteRequest = LEFeatures(rawValue: 1 << 17)
  /// Connection CTE Response: answers with constant tone extensions in connections.
  public static let cteResponse = LEFeatures(rawValue: 1 << 18)
  /// Connectionless CTE Transmitter: sends constant tone extensions in periodic advertising.
  public static let connectionlessCTETransmitter = LEFeatures(rawValue: 1 << 19)
  /// Connectionless CTE Receiver: receives constant tone extensions in periodic advertising.
  public static let connectionlessCTEReceiver = LEFeatures(rawValue: 1 << 20)
  /// Antenna Switching During CTE Transmission (AoD).
  public static let antennaSwitchingTransmit = LEFeatures(rawValue: 1 << 21)
  /// Antenna Switching During CTE Reception (AoA).
  public static let antennaSwitchingReceive = LEFeatures(rawValue: 1 << 22)
  /// Receiving Constant Tone Extensions.
  public static let constantToneReceive = LEFeatures(rawValue: 1 << 23)
  /// Periodic Advertising Sync Transfer - Sender.
  public static let syncTransferSender = LEFeatures(rawValue: 1 << 24)
  /// Periodic Advertising Sync Transfer - Recipient.
  public static let syncTransferRecipient = LEFeatures(rawValue: 1 << 25)
  /// Sleep Clock Accuracy Updates.
  public static let sleepClockAccuracyUpdates = LEFeatures(rawValue: 1 << 26)
  /// Remote Public Key Validation.
  public static let remotePublicKeyValidation = LEFeatures(rawValue: 1 << 27)
  /// Connected Isochronous Stream - Central.
  public static let cisCentral = LEFeatures(rawValue: 1 << 28)
  /// Connected Isochronous Stream - Peripheral.
  public static let cisPeripheral = LEFeatures(rawValue: 1 << 29)
  /// Isochronous Broadcaster.
  public static let isochronousBroadcaster = LEFeatures(rawValue: 1 << 30)
  /// Synchronized Receiver: receives isochronous broadcasts.
  public static let synchronizedReceiver = LEFeatures(rawValue: 1 << 31)
  /// Connected Isochronous Stream (Host Support).
  public static let connectedIsochronousHostSupport = LEFeatures(rawValue: 1 << 32)
  /// LE Power Control Request.
  public static let powerControlRequest = LEFeatures(rawValue: 1 << 33)
  /// LE Power Change Indication.
  public static let powerChangeIndication = LEFeatures(rawValue: 1 << 34)
  /// LE Path Loss Monitoring.
  public static let pathLossMonitoring = LEFeatures(rawValue: 1 << 35)
  /// Periodic Advertising ADI support: identifies periodic advertising data.
  public static let periodicAdvertisingADI = LEFeatures(rawValue: 1 << 36)
  /// Connection Subrating: uses a part of the connection events.
  public static let connectionSubrating = LEFeatures(rawValue: 1 << 37)
  /// Connection Subrating (Host Support).
  public static let connectionSubratingHostSupport = LEFeatures(rawValue: 1 << 38)
  /// Channel Classification: reports to the central which channels are usable.
  public static let channelClassification = LEFeatures(rawValue: 1 << 39)
  /// Advertising Coding Selection.
  public static let advertisingCodingSelection = LEFeatures(rawValue: 1 << 40)
  /// Advertising Coding Selection (Host Support).
  public static let advertisingCodingSelectionHostSupport = LEFeatures(rawValue: 1 << 41)
  /// Periodic Advertising with Responses - Advertiser.
  public static let periodicAdvertisingResponsesAdvertiser = LEFeatures(rawValue: 1 << 43)
  /// Periodic Advertising with Responses - Scanner.
  public static let periodicAdvertisingResponsesScanner = LEFeatures(rawValue: 1 << 44)
}

/// The LMP features, page 0; only those that LE needs (Core 5.4, Vol 2, Part C, §3.3).
public struct LMPFeatures: OptionSet, HCICodable {
  /// The bits.
  public let rawValue: UInt64

  /// Creates a set from its bits; unknown bits are preserved.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// BR/EDR is not supported.
  public static let brEDRNotSupported = LMPFeatures(rawValue: 1 << 37)
  /// The controller supports LE.
  public static let leSupported = LMPFeatures(rawValue: 1 << 38)
}
