/// The mask of events that a controller sends, as far as they apply to LE (Core 5.4, Vol 4, Part E,
/// §7.3.1).
package struct EventMask: OptionSet, HCICodable {
  /// The bits.
  package let rawValue: UInt64

  /// Creates a set from its bits; unknown bits are preserved.
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Disconnection Complete.
  package static let disconnectionComplete = EventMask(rawValue: 1 << 4)
  /// Encryption Change [v1].
  package static let encryptionChange = EventMask(rawValue: 1 << 7)
  /// Read Remote Version Information Complete.
  package static let readRemoteVersionInformationComplete = EventMask(rawValue: 1 << 11)
  /// Hardware Error.
  package static let hardwareError = EventMask(rawValue: 1 << 15)
  /// Data Buffer Overflow.
  package static let dataBufferOverflow = EventMask(rawValue: 1 << 25)
  /// Encryption Key Refresh Complete.
  package static let encryptionKeyRefreshComplete = EventMask(rawValue: 1 << 47)
  /// All LE events, as far as LE Set Event Mask lets them through.
  package static let leMeta = EventMask(rawValue: 1 << 61)

  /// The default mask after a reset; without LE events.
  package static let `default` = EventMask(rawValue: 0x1FFF_FFFF_FFFF)
}

/// The mask of LE events that a controller sends (Core 5.4, Vol 4, Part E, §7.8.1).
package struct LEEventMask: OptionSet, HCICodable {
  /// The bits.
  package let rawValue: UInt64

  /// Creates a set from its bits; unknown bits are preserved.
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// LE Connection Complete.
  package static let connectionComplete = LEEventMask(rawValue: 1 << 0)
  /// LE Advertising Report.
  package static let advertisingReport = LEEventMask(rawValue: 1 << 1)
  /// LE Connection Update Complete.
  package static let connectionUpdateComplete = LEEventMask(rawValue: 1 << 2)
  /// LE Read Remote Features Complete.
  package static let readRemoteFeaturesComplete = LEEventMask(rawValue: 1 << 3)
  /// LE Long Term Key Request.
  package static let longTermKeyRequest = LEEventMask(rawValue: 1 << 4)
  /// LE Remote Connection Parameter Request.
  package static let remoteConnectionParameterRequest = LEEventMask(rawValue: 1 << 5)
  /// LE Data Length Change.
  package static let dataLengthChange = LEEventMask(rawValue: 1 << 6)
  /// LE Read Local P-256 Public Key Complete.
  package static let readLocalP256PublicKeyComplete = LEEventMask(rawValue: 1 << 7)
  /// LE Generate DHKey Complete [v1].
  package static let generateDHKeyComplete = LEEventMask(rawValue: 1 << 8)
  /// LE Enhanced Connection Complete [v1].
  package static let enhancedConnectionComplete = LEEventMask(rawValue: 1 << 9)
  /// LE Directed Advertising Report.
  package static let directedAdvertisingReport = LEEventMask(rawValue: 1 << 10)
  /// LE PHY Update Complete.
  package static let phyUpdateComplete = LEEventMask(rawValue: 1 << 11)
  /// LE Extended Advertising Report.
  package static let extendedAdvertisingReport = LEEventMask(rawValue: 1 << 12)
  /// LE Periodic Advertising Sync Established [v1].
  package static let periodicAdvertisingSyncEstablished = LEEventMask(rawValue: 1 << 13)
  /// LE Periodic Advertising Report [v1].
  package static let periodicAdvertisingReport = LEEventMask(rawValue: 1 << 14)
  /// LE Periodic Advertising Sync Lost.
  package static let periodicAdvertisingSyncLost = LEEventMask(rawValue: 1 << 15)
  /// LE Scan Timeout.
  package static let scanTimeout = LEEventMask(rawValue: 1 << 16)
  /// LE Advertising Set Terminated.
  package static let advertisingSetTerminated = LEEventMask(rawValue: 1 << 17)
  /// LE Scan Request Received.
  package static let scanRequestReceived = LEEventMask(rawValue: 1 << 18)
  /// LE Channel Selection Algorithm.
  package static let channelSelectionAlgorithm = LEEventMask(rawValue: 1 << 19)
  /// LE Subrate Change.
  package static let subrateChange = LEEventMask(rawValue: 1 << 34)

  /// The default mask after a reset: the first five events.
  package static let `default` = LEEventMask(rawValue: 0x1F)
}
