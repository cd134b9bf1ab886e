import Essentials

/// The code of a command: a group in the top six bits, the command in the others
/// (Core 5.4, Vol 4, Part E, §5.4.1).
@frozen
public struct HCIOpcode: RawRepresentable, Hashable, Sendable {
  /// The code on the wire.
  public let rawValue: UInt16

  /// An opcode from its code; every code is valid, known or not.
  @inlinable
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The opcode group field (OGF).
  @inlinable
  public var group: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 10) }

  /// No command; a Command Complete with it only updates how many commands may be sent.
  public static let none = HCIOpcode(rawValue: 0)
  /// Disconnect.
  public static let disconnect = HCIOpcode(rawValue: 0x0406)
  /// Read Remote Version Information.
  public static let readRemoteVersionInformation = HCIOpcode(rawValue: 0x041D)
  /// Set Event Mask.
  public static let setEventMask = HCIOpcode(rawValue: 0x0C01)
  /// Reset.
  public static let reset = HCIOpcode(rawValue: 0x0C03)
  /// Read Transmit Power Level.
  public static let readTransmitPowerLevel = HCIOpcode(rawValue: 0x0C2D)
  /// Set Controller To Host Flow Control.
  public static let setControllerToHostFlowControl = HCIOpcode(rawValue: 0x0C31)
  /// Host Buffer Size.
  public static let hostBufferSize = HCIOpcode(rawValue: 0x0C33)
  /// Host Number Of Completed Packets.
  public static let hostNumberOfCompletedPackets = HCIOpcode(rawValue: 0x0C35)
  /// Set Event Mask Page 2.
  public static let setEventMaskPage2 = HCIOpcode(rawValue: 0x0C63)
  /// Read LE Host Support.
  public static let readLEHostSupport = HCIOpcode(rawValue: 0x0C6C)
  /// Write LE Host Support.
  public static let writeLEHostSupport = HCIOpcode(rawValue: 0x0C6D)
  /// Read Local Version Information.
  public static let readLocalVersionInformation = HCIOpcode(rawValue: 0x1001)
  /// Read Local Supported Commands.
  public static let readLocalSupportedCommands = HCIOpcode(rawValue: 0x1002)
  /// Read Local Supported Features.
  public static let readLocalSupportedFeatures = HCIOpcode(rawValue: 0x1003)
  /// Read Local Extended Features.
  public static let readLocalExtendedFeatures = HCIOpcode(rawValue: 0x1004)
  /// Read Buffer Size.
  public static let readBufferSize = HCIOpcode(rawValue: 0x1005)
  /// Read BD_ADDR.
  public static let readBDADDR = HCIOpcode(rawValue: 0x1009)
  /// Read RSSI.
  public static let readRSSI = HCIOpcode(rawValue: 0x1405)
  /// LE Set Event Mask.
  public static let leSetEventMask = HCIOpcode(rawValue: 0x2001)
  /// LE Read Buffer Size [v1].
  public static let leReadBufferSize = HCIOpcode(rawValue: 0x2002)
  /// LE Read Local Supported Features.
  public static let leReadLocalSupportedFeatures = HCIOpcode(rawValue: 0x2003)
  /// LE Set Random Address.
  public static let leSetRandomAddress = HCIOpcode(rawValue: 0x2005)
  /// LE Set Advertising Parameters.
  public static let leSetAdvertisingParameters = HCIOpcode(rawValue: 0x2006)
  /// LE Read Advertising Physical Channel Tx Power.
  public static let leReadAdvertisingPhysicalChannelTxPower = HCIOpcode(rawValue: 0x2007)
  /// LE Set Advertising Data.
  public static let leSetAdvertisingData = HCIOpcode(rawValue: 0x2008)
  /// LE Set Scan Response Data.
  public static let leSetScanResponseData = HCIOpcode(rawValue: 0x2009)
  /// LE Set Advertising Enable.
  public static let leSetAdvertisingEnable = HCIOpcode(rawValue: 0x200A)
  /// LE Set Scan Parameters.
  public static let leSetScanParameters = HCIOpcode(rawValue: 0x200B)
  /// LE Set Scan Enable.
  public static let leSetScanEnable = HCIOpcode(rawValue: 0x200C)
  /// LE Create Connection.
  public static let leCreateConnection = HCIOpcode(rawValue: 0x200D)
  /// LE Create Connection Cancel.
  public static let leCreateConnectionCancel = HCIOpcode(rawValue: 0x200E)
  /// LE Read Filter Accept List Size.
  public static let leReadFilterAcceptListSize = HCIOpcode(rawValue: 0x200F)
  /// LE Clear Filter Accept List.
  public static let leClearFilterAcceptList = HCIOpcode(rawValue: 0x2010)
  /// LE Add Device To Filter Accept List.
  public static let leAddDeviceToFilterAcceptList = HCIOpcode(rawValue: 0x2011)
  /// LE Remove Device From Filter Accept List.
  public static let leRemoveDeviceFromFilterAcceptList = HCIOpcode(rawValue: 0x2012)
  /// LE Connection Update.
  public static let leConnectionUpdate = HCIOpcode(rawValue: 0x2013)
  /// LE Set Host Channel Classification.
  public static let leSetHostChannelClassification = HCIOpcode(rawValue: 0x2014)
  /// LE Read Channel Map.
  public static let leReadChannelMap = HCIOpcode(rawValue: 0x2015)
  /// LE Read Remote Features.
  public static let leReadRemoteFeatures = HCIOpcode(rawValue: 0x2016)
  /// LE Encrypt.
  public static let leEncrypt = HCIOpcode(rawValue: 0x2017)
  /// LE Rand.
  public static let leRand = HCIOpcode(rawValue: 0x2018)
  /// LE Enable Encryption.
  public static let leEnableEncryption = HCIOpcode(rawValue: 0x2019)
  /// LE Long Term Key Request Reply.
  public static let leLongTermKeyRequestReply = HCIOpcode(rawValue: 0x201A)
  /// LE Long Term Key Request Negative Reply.
  public static let leLongTermKeyRequestNegativeReply = HCIOpcode(rawValue: 0x201B)
  /// LE Read Supported States.
  public static let leReadSupportedStates = HCIOpcode(rawValue: 0x201C)
  /// LE Remote Connection Parameter Request Reply.
  public static let leRemoteConnectionParameterRequestReply = HCIOpcode(rawValue: 0x2020)
  /// LE Remote Connection Parameter Request Negative Reply.
  public static let leRemoteConnectionParameterRequestNegativeReply = HCIOpcode(rawValue: 0x2021)
  /// LE Set Data Length.
  public static let leSetDataLength = HCIOpcode(rawValue: 0x2022)
  /// LE Read Suggested Default Data Length.
  public static let leReadSuggestedDefaultDataLength = HCIOpcode(rawValue: 0x2023)
  /// LE Write Suggested Default Data Length.
  public static let leWriteSuggestedDefaultDataLength = HCIOpcode(rawValue: 0x2024)
  /// LE Add Device To Resolving List.
  public static let leAddDeviceToResolvingList = HCIOpcode(rawValue: 0x2027)
  /// LE Remove Device From Resolving List.
  public static let leRemoveDeviceFromResolvingList = HCIOpcode(rawValue: 0x2028)
  /// LE Clear Resolving List.
  public static let leClearResolvingList = HCIOpcode(rawValue: 0x2029)
  /// LE Read Resolving List Size.
  public static let leReadResolvingListSize = HCIOpcode(rawValue: 0x202A)
  /// LE Read Peer Resolvable Address.
  public static let leReadPeerResolvableAddress = HCIOpcode(rawValue: 0x202B)
  /// LE Read Local Resolvable Address.
  public static let leReadLocalResolvableAddress = HCIOpcode(rawValue: 0x202C)
  /// LE Set Address Resolution Enable.
  public static let leSetAddressResolutionEnable = HCIOpcode(rawValue: 0x202D)
  /// LE Set Resolvable Private Address Timeout.
  public static let leSetResolvablePrivateAddressTimeout = HCIOpcode(rawValue: 0x202E)
  /// LE Read Maximum Data Length.
  public static let leReadMaximumDataLength = HCIOpcode(rawValue: 0x202F)
  /// LE Read PHY.
  public static let leReadPHY = HCIOpcode(rawValue: 0x2030)
  /// LE Set Default PHY.
  public static let leSetDefaultPHY = HCIOpcode(rawValue: 0x2031)
  /// LE Set PHY.
  public static let leSetPHY = HCIOpcode(rawValue: 0x2032)
  /// LE Set Advertising Set Random Address.
  public static let leSetAdvertisingSetRandomAddress = HCIOpcode(rawValue: 0x2035)
  /// LE Set Extended Advertising Parameters [v1].
  public static let leSetExtendedAdvertisingParameters = HCIOpcode(rawValue: 0x2036)
  /// LE Set Extended Advertising Data.
  public static let leSetExtendedAdvertisingData = HCIOpcode(rawValue: 0x2037)
  /// LE Set Extended Scan Response Data.
  public static let leSetExtendedScanResponseData = HCIOpcode(rawValue: 0x2038)
  /// LE Set Extended Advertising Enable.
  public static let leSetExtendedAdvertisingEnable = HCIOpcode(rawValue: 0x2039)
  /// LE Read Maximum Advertising Data Length.
  public static let leReadMaximumAdvertisingDataLength = HCIOpcode(rawValue: 0x203A)
  /// LE Read Number Of Supported Advertising Sets.
  public static let leReadNumberOfSupportedAdvertisingSets = HCIOpcode(rawValue: 0x203B)
  /// LE Remove Advertising Set.
  public static let leRemoveAdvertisingSet = HCIOpcode(rawValue: 0x203C)
  /// LE Clear Advertising Sets.
  public static let leClearAdvertisingSets = HCIOpcode(rawValue: 0x203D)
  /// LE Set Extended Scan Parameters.
  public static let leSetExtendedScanParameters = HCIOpcode(rawValue: 0x2041)
  /// LE Set Extended Scan Enable.
  public static let leSetExtendedScanEnable = HCIOpcode(rawValue: 0x2042)
  /// LE Extended Create Connection.
  public static let leExtendedCreateConnection = HCIOpcode(rawValue: 0x2043)
  /// LE Read Transmit Power.
  public static let leReadTransmitPower = HCIOpcode(rawValue: 0x204B)
  /// LE Read RF Path Compensation.
  public static let leReadRFPathCompensation = HCIOpcode(rawValue: 0x204C)
  /// LE Write RF Path Compensation.
  public static let leWriteRFPathCompensation = HCIOpcode(rawValue: 0x204D)
  /// LE Set Privacy Mode.
  public static let leSetPrivacyMode = HCIOpcode(rawValue: 0x204E)
  /// LE Read Buffer Size [v2].
  public static let leReadBufferSizeV2 = HCIOpcode(rawValue: 0x2060)
  /// LE Set Host Feature.
  public static let leSetHostFeature = HCIOpcode(rawValue: 0x2074)
  /// LE Set Default Subrate.
  public static let leSetDefaultSubrate = HCIOpcode(rawValue: 0x207D)
  /// LE Subrate Request.
  public static let leSubrateRequest = HCIOpcode(rawValue: 0x207E)
}

extension HCIOpcode: CustomStringConvertible {
  /// The command's name in the specification; `command 0x1234` for one that we don't know.
  public var description: String {
    if let name = HCIOpcode.assigned[self]?.name { return name }
    let code = [UInt8(truncatingIfNeeded: rawValue >> 8), UInt8(truncatingIfNeeded: rawValue)]
    return "command 0x\(Hexadecimal.string(code))"
  }
}
