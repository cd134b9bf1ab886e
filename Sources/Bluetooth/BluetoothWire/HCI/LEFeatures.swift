/// The features of a link layer (Core 5.4, Vol 6, Part B, §4.6).
package struct LEFeatures: OptionSet, HCICodable {
  /// The bits.
  package let rawValue: UInt64

  /// Creates a set from its bits; unknown bits are preserved.
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// LE Encryption.
  package static let encryption = LEFeatures(rawValue: 1 << 0)
  /// Connection Parameters Request Procedure.
  package static let connectionParametersRequest = LEFeatures(rawValue: 1 << 1)
  /// Extended Reject Indication: names the rejected procedure.
  package static let extendedReject = LEFeatures(rawValue: 1 << 2)
  /// Peripheral-initiated Features Exchange.
  package static let peripheralFeatureExchange = LEFeatures(rawValue: 1 << 3)
  /// LE Ping.
  package static let ping = LEFeatures(rawValue: 1 << 4)
  /// LE Data Packet Length Extension: packets of more than 27 bytes.
  package static let dataLengthExtension = LEFeatures(rawValue: 1 << 5)
  /// LL Privacy: resolves private addresses.
  package static let privacy = LEFeatures(rawValue: 1 << 6)
  /// Extended Scanner Filter Policies: reports advertising directed to unresolvable private
  /// addresses.
  package static let extendedScannerFilterPolicies = LEFeatures(rawValue: 1 << 7)
  /// LE 2M PHY.
  package static let le2M = LEFeatures(rawValue: 1 << 8)
  /// Stable Modulation Index - Transmitter.
  package static let stableModulationTransmitter = LEFeatures(rawValue: 1 << 9)
  /// Stable Modulation Index - Receiver.
  package static let stableModulationReceiver = LEFeatures(rawValue: 1 << 10)
  /// LE Coded PHY.
  package static let leCoded = LEFeatures(rawValue: 1 << 11)
  /// LE Extended Advertising, which includes extended scanning.
  package static let extendedAdvertising = LEFeatures(rawValue: 1 << 12)
  /// LE Periodic Advertising.
  package static let periodicAdvertising = LEFeatures(rawValue: 1 << 13)
  /// Channel Selection Algorithm #2.
  package static let channelSelection2 = LEFeatures(rawValue: 1 << 14)
  /// LE Power Class 1: transmits with more than 10 dBm.
  package static let powerClass1 = LEFeatures(rawValue: 1 << 15)
  /// Minimum Number of Used Channels Procedure.
  package static let minimumUsedChannels = LEFeatures(rawValue: 1 << 16)
  /// Connection CTE Request: requests constant tone extensions in connections.
  package static let cteRequest = LEFeatures(rawValue: 1 << 17)
  /// Connection CTE Response: answers with constant tone extensions in connections.
  package static let cteResponse = LEFeatures(rawValue: 1 << 18)
  /// Connectionless CTE Transmitter: sends constant tone extensions in periodic advertising.
  package static let connectionlessCTETransmitter = LEFeatures(rawValue: 1 << 19)
  /// Connectionless CTE Receiver: receives constant tone extensions in periodic advertising.
  package static let connectionlessCTEReceiver = LEFeatures(rawValue: 1 << 20)
  /// Antenna Switching During CTE Transmission (AoD).
  package static let antennaSwitchingTransmit = LEFeatures(rawValue: 1 << 21)
  /// Antenna Switching During CTE Reception (AoA).
  package static let antennaSwitchingReceive = LEFeatures(rawValue: 1 << 22)
  /// Receiving Constant Tone Extensions.
  package static let constantToneReceive = LEFeatures(rawValue: 1 << 23)
  /// Periodic Advertising Sync Transfer - Sender.
  package static let syncTransferSender = LEFeatures(rawValue: 1 << 24)
  /// Periodic Advertising Sync Transfer - Recipient.
  package static let syncTransferRecipient = LEFeatures(rawValue: 1 << 25)
  /// Sleep Clock Accuracy Updates.
  package static let sleepClockAccuracyUpdates = LEFeatures(rawValue: 1 << 26)
  /// Remote Public Key Validation.
  package static let remotePublicKeyValidation = LEFeatures(rawValue: 1 << 27)
  /// Connected Isochronous Stream - Central.
  package static let cisCentral = LEFeatures(rawValue: 1 << 28)
  /// Connected Isochronous Stream - Peripheral.
  package static let cisPeripheral = LEFeatures(rawValue: 1 << 29)
  /// Isochronous Broadcaster.
  package static let isochronousBroadcaster = LEFeatures(rawValue: 1 << 30)
  /// Synchronized Receiver: receives isochronous broadcasts.
  package static let synchronizedReceiver = LEFeatures(rawValue: 1 << 31)
  /// Connected Isochronous Stream (Host Support).
  package static let connectedIsochronousHostSupport = LEFeatures(rawValue: 1 << 32)
  /// LE Power Control Request.
  package static let powerControlRequest = LEFeatures(rawValue: 1 << 33)
  /// LE Power Change Indication.
  package static let powerChangeIndication = LEFeatures(rawValue: 1 << 34)
  /// LE Path Loss Monitoring.
  package static let pathLossMonitoring = LEFeatures(rawValue: 1 << 35)
  /// Periodic Advertising ADI support: identifies periodic advertising data.
  package static let periodicAdvertisingADI = LEFeatures(rawValue: 1 << 36)
  /// Connection Subrating: uses a part of the connection events.
  package static let connectionSubrating = LEFeatures(rawValue: 1 << 37)
  /// Connection Subrating (Host Support).
  package static let connectionSubratingHostSupport = LEFeatures(rawValue: 1 << 38)
  /// Channel Classification: reports to the central which channels are usable.
  package static let channelClassification = LEFeatures(rawValue: 1 << 39)
  /// Advertising Coding Selection.
  package static let advertisingCodingSelection = LEFeatures(rawValue: 1 << 40)
  /// Advertising Coding Selection (Host Support).
  package static let advertisingCodingSelectionHostSupport = LEFeatures(rawValue: 1 << 41)
  /// Periodic Advertising with Responses - Advertiser.
  package static let periodicAdvertisingResponsesAdvertiser = LEFeatures(rawValue: 1 << 43)
  /// Periodic Advertising with Responses - Scanner.
  package static let periodicAdvertisingResponsesScanner = LEFeatures(rawValue: 1 << 44)
}

/// The LMP features, page 0; only those that LE needs (Core 5.4, Vol 2, Part C, §3.3).
package struct LMPFeatures: OptionSet, HCICodable {
  /// The bits.
  package let rawValue: UInt64

  /// Creates a set from its bits; unknown bits are preserved.
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// BR/EDR is not supported.
  package static let brEDRNotSupported = LMPFeatures(rawValue: 1 << 37)
  /// The controller supports LE.
  package static let leSupported = LMPFeatures(rawValue: 1 << 38)
}
