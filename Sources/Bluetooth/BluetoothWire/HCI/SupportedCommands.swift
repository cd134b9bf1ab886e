package import Essentials

extension HCIOpcode {
  /// The assigned name and bit of a known command.
  struct Assignment: Sendable {
    var name: String
    /// Its bit among the supported commands, counted from bit 0 of octet 0.
    var supportBit: Int

    init(_ name: String, octet: Int, bit: Int) {
      self.name = name
      supportBit = octet * 8 + bit
    }
  }

  /// The commands that we know, with their bits in the Supported_Commands bitmap
  /// (Core 5.4, Vol 4, Part E, §6.27).
  static let assigned: [HCIOpcode: Assignment] = [
    .disconnect: Assignment("Disconnect", octet: 0, bit: 5),
    .readRemoteVersionInformation: Assignment("Read Remote Version Information", octet: 2, bit: 7),
    .setEventMask: Assignment("Set Event Mask", octet: 5, bit: 6),
    .reset: Assignment("Reset", octet: 5, bit: 7),
    .readTransmitPowerLevel: Assignment("Read Transmit Power Level", octet: 10, bit: 2),
    .setControllerToHostFlowControl: Assignment(
      "Set Controller To Host Flow Control", octet: 10, bit: 5),
    .hostBufferSize: Assignment("Host Buffer Size", octet: 10, bit: 6),
    .hostNumberOfCompletedPackets: Assignment(
      "Host Number Of Completed Packets", octet: 10, bit: 7),
    .setEventMaskPage2: Assignment("Set Event Mask Page 2", octet: 22, bit: 2),
    .readLEHostSupport: Assignment("Read LE Host Support", octet: 24, bit: 5),
    .writeLEHostSupport: Assignment("Write LE Host Support", octet: 24, bit: 6),
    .readLocalVersionInformation: Assignment("Read Local Version Information", octet: 14, bit: 3),
    .readLocalSupportedCommands: Assignment("Read Local Supported Commands", octet: 14, bit: 4),
    .readLocalSupportedFeatures: Assignment("Read Local Supported Features", octet: 14, bit: 5),
    .readLocalExtendedFeatures: Assignment("Read Local Extended Features", octet: 14, bit: 6),
    .readBufferSize: Assignment("Read Buffer Size", octet: 14, bit: 7),
    .readBDADDR: Assignment("Read BD_ADDR", octet: 15, bit: 1),
    .readRSSI: Assignment("Read RSSI", octet: 15, bit: 5),
    .leSetEventMask: Assignment("LE Set Event Mask", octet: 25, bit: 0),
    .leReadBufferSize: Assignment("LE Read Buffer Size [v1]", octet: 25, bit: 1),
    .leReadLocalSupportedFeatures: Assignment(
      "LE Read Local Supported Features", octet: 25, bit: 2),
    .leSetRandomAddress: Assignment("LE Set Random Address", octet: 25, bit: 4),
    .leSetAdvertisingParameters: Assignment("LE Set Advertising Parameters", octet: 25, bit: 5),
    .leReadAdvertisingPhysicalChannelTxPower: Assignment(
      "LE Read Advertising Physical Channel Tx Power", octet: 25, bit: 6),
    .leSetAdvertisingData: Assignment("LE Set Advertising Data", octet: 25, bit: 7),
    .leSetScanResponseData: Assignment("LE Set Scan Response Data", octet: 26, bit: 0),
    .leSetAdvertisingEnable: Assignment("LE Set Advertising Enable", octet: 26, bit: 1),
    .leSetScanParameters: Assignment("LE Set Scan Parameters", octet: 26, bit: 2),
    .leSetScanEnable: Assignment("LE Set Scan Enable", octet: 26, bit: 3),
    .leCreateConnection: Assignment("LE Create Connection", octet: 26, bit: 4),
    .leCreateConnectionCancel: Assignment("LE Create Connection Cancel", octet: 26, bit: 5),
    .leReadFilterAcceptListSize: Assignment("LE Read Filter Accept List Size", octet: 26, bit: 6),
    .leClearFilterAcceptList: Assignment("LE Clear Filter Accept List", octet: 26, bit: 7),
    .leAddDeviceToFilterAcceptList: Assignment(
      "LE Add Device To Filter Accept List", octet: 27, bit: 0),
    .leRemoveDeviceFromFilterAcceptList: Assignment(
      "LE Remove Device From Filter Accept List", octet: 27, bit: 1),
    .leConnectionUpdate: Assignment("LE Connection Update", octet: 27, bit: 2),
    .leSetHostChannelClassification: Assignment(
      "LE Set Host Channel Classification", octet: 27, bit: 3),
    .leReadChannelMap: Assignment("LE Read Channel Map", octet: 27, bit: 4),
    .leReadRemoteFeatures: Assignment("LE Read Remote Features", octet: 27, bit: 5),
    .leEncrypt: Assignment("LE Encrypt", octet: 27, bit: 6),
    .leRand: Assignment("LE Rand", octet: 27, bit: 7),
    .leEnableEncryption: Assignment("LE Enable Encryption", octet: 28, bit: 0),
    .leLongTermKeyRequestReply: Assignment("LE Long Term Key Request Reply", octet: 28, bit: 1),
    .leLongTermKeyRequestNegativeReply: Assignment(
      "LE Long Term Key Request Negative Reply", octet: 28, bit: 2),
    .leReadSupportedStates: Assignment("LE Read Supported States", octet: 28, bit: 3),
    .leRemoteConnectionParameterRequestReply: Assignment(
      "LE Remote Connection Parameter Request Reply", octet: 33, bit: 4),
    .leRemoteConnectionParameterRequestNegativeReply: Assignment(
      "LE Remote Connection Parameter Request Negative Reply", octet: 33, bit: 5),
    .leSetDataLength: Assignment("LE Set Data Length", octet: 33, bit: 6),
    .leReadSuggestedDefaultDataLength: Assignment(
      "LE Read Suggested Default Data Length", octet: 33, bit: 7),
    .leWriteSuggestedDefaultDataLength: Assignment(
      "LE Write Suggested Default Data Length", octet: 34, bit: 0),
    .leAddDeviceToResolvingList: Assignment("LE Add Device To Resolving List", octet: 34, bit: 3),
    .leRemoveDeviceFromResolvingList: Assignment(
      "LE Remove Device From Resolving List", octet: 34, bit: 4),
    .leClearResolvingList: Assignment("LE Clear Resolving List", octet: 34, bit: 5),
    .leReadResolvingListSize: Assignment("LE Read Resolving List Size", octet: 34, bit: 6),
    .leReadPeerResolvableAddress: Assignment("LE Read Peer Resolvable Address", octet: 34, bit: 7),
    .leReadLocalResolvableAddress: Assignment(
      "LE Read Local Resolvable Address", octet: 35, bit: 0),
    .leSetAddressResolutionEnable: Assignment(
      "LE Set Address Resolution Enable", octet: 35, bit: 1),
    .leSetResolvablePrivateAddressTimeout: Assignment(
      "LE Set Resolvable Private Address Timeout", octet: 35, bit: 2),
    .leReadMaximumDataLength: Assignment("LE Read Maximum Data Length", octet: 35, bit: 3),
    .leReadPHY: Assignment("LE Read PHY", octet: 35, bit: 4),
    .leSetDefaultPHY: Assignment("LE Set Default PHY", octet: 35, bit: 5),
    .leSetPHY: Assignment("LE Set PHY", octet: 35, bit: 6),
    .leSetAdvertisingSetRandomAddress: Assignment(
      "LE Set Advertising Set Random Address", octet: 36, bit: 1),
    .leSetExtendedAdvertisingParameters: Assignment(
      "LE Set Extended Advertising Parameters [v1]", octet: 36, bit: 2),
    .leSetExtendedAdvertisingData: Assignment(
      "LE Set Extended Advertising Data", octet: 36, bit: 3),
    .leSetExtendedScanResponseData: Assignment(
      "LE Set Extended Scan Response Data", octet: 36, bit: 4),
    .leSetExtendedAdvertisingEnable: Assignment(
      "LE Set Extended Advertising Enable", octet: 36, bit: 5),
    .leReadMaximumAdvertisingDataLength: Assignment(
      "LE Read Maximum Advertising Data Length", octet: 36, bit: 6),
    .leReadNumberOfSupportedAdvertisingSets: Assignment(
      "LE Read Number Of Supported Advertising Sets", octet: 36, bit: 7),
    .leRemoveAdvertisingSet: Assignment("LE Remove Advertising Set", octet: 37, bit: 0),
    .leClearAdvertisingSets: Assignment("LE Clear Advertising Sets", octet: 37, bit: 1),
    .leSetExtendedScanParameters: Assignment("LE Set Extended Scan Parameters", octet: 37, bit: 5),
    .leSetExtendedScanEnable: Assignment("LE Set Extended Scan Enable", octet: 37, bit: 6),
    .leExtendedCreateConnection: Assignment("LE Extended Create Connection", octet: 37, bit: 7),
    .leReadTransmitPower: Assignment("LE Read Transmit Power", octet: 38, bit: 7),
    .leReadRFPathCompensation: Assignment("LE Read RF Path Compensation", octet: 39, bit: 0),
    .leWriteRFPathCompensation: Assignment("LE Write RF Path Compensation", octet: 39, bit: 1),
    .leSetPrivacyMode: Assignment("LE Set Privacy Mode", octet: 39, bit: 2),
    .leReadBufferSizeV2: Assignment("LE Read Buffer Size [v2]", octet: 41, bit: 5),
    .leSetHostFeature: Assignment("LE Set Host Feature", octet: 44, bit: 1),
    .leSetDefaultSubrate: Assignment("LE Set Default Subrate", octet: 46, bit: 0),
    .leSubrateRequest: Assignment("LE Subrate Request", octet: 46, bit: 1),
  ]
}

/// The commands that a controller knows (Core 5.4, Vol 4, Part E, §6.27).
package struct SupportedCommands: HCICodable {
  /// The 64 bytes of the bitmap.
  package private(set) var bitmap: [UInt8]

  /// Just these commands, as far as we know their bits.
  package init(_ commands: some Sequence<HCIOpcode> = []) {
    bitmap = [UInt8](repeating: 0, count: 64)
    for command in commands { insert(command) }
  }

  /// All the commands that we know.
  package static let allKnown = SupportedCommands(HCIOpcode.assigned.keys)

  /// Whether the controller knows `command`; false also for a command whose bit we don't know.
  package func contains(_ command: HCIOpcode) -> Bool {
    guard let bit = HCIOpcode.assigned[command]?.supportBit else { return false }
    return bitmap[bit / 8] & 1 << (bit % 8) != 0
  }

  /// Adds a command. Ignores a command whose bit is unknown, for which `contains` stays false.
  package mutating func insert(_ command: HCIOpcode) {
    guard let bit = HCIOpcode.assigned[command]?.supportBit else { return }
    bitmap[bit / 8] |= 1 << (bit % 8)
  }

  /// Removes a command.
  package mutating func remove(_ command: HCIOpcode) {
    guard let bit = HCIOpcode.assigned[command]?.supportBit else { return }
    bitmap[bit / 8] &= ~(1 << (bit % 8))
  }

  /// Reads the 64 bytes.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    do throws(Truncated) { bitmap = Array(try reader.slice(64)) } catch { throw WireError(error) }
  }

  /// Writes the 64 bytes.
  package func encode(into writer: inout ByteWriter) { writer.append(bitmap) }
}
