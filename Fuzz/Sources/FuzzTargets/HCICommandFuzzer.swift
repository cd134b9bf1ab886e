package import BluetoothWire
import Essentials

extension FuzzTarget {
  /// A command's parameters and its return parameters. The first byte selects the command; decoded
  /// parameters must encode, and decode to the same.
  static let hciCommand = FuzzTarget(name: "HCICommand") { bytes in
    guard let choice = bytes.first else { return }
    _ = try? HCICommandHeader(decoding: bytes[1...])
    let command = hciCommands[Int(choice) % hciCommands.count]
    checkCommand(command, bytes[1...])
  }

  private static func checkCommand<Command: HCICommand>(
    _ type: Command.Type, _ bytes: ArraySlice<UInt8>
  ) {
    checkRoundTrip(Command.self, bytes)
    checkRoundTrip(Command.Return.self, bytes)
  }

  private static func checkRoundTrip<Value: HCICodable>(
    _ type: Value.Type, _ bytes: ArraySlice<UInt8>
  ) {
    var reader = ByteReader(bytes)
    guard let value = try? Value(decoding: &reader) else { return }
    var writer = ByteWriter()
    value.encode(into: &writer)
    var again = ByteReader(writer.bytes)
    let copy = try? Value(decoding: &again)
    precondition(copy == value, "\(value) came back as \(String(describing: copy))")
    precondition(again.isAtEnd, "\(value) left bytes behind")
  }

  /// Every command there is; the tests of the codecs go through them too.
  package static let hciCommands: [any HCICommand.Type] = [
    Disconnect.self,
    ReadRemoteVersionInformation.self,
    SetEventMask.self,
    Reset.self,
    ReadTransmitPowerLevel.self,
    SetControllerToHostFlowControl.self,
    HostBufferSize.self,
    SetEventMaskPage2.self,
    ReadLEHostSupport.self,
    WriteLEHostSupport.self,
    ReadLocalVersionInformation.self,
    ReadLocalSupportedCommands.self,
    ReadLocalSupportedFeatures.self,
    ReadLocalExtendedFeatures.self,
    ReadBufferSize.self,
    ReadBDADDR.self,
    ReadRSSI.self,
    LESetAdvertisingParameters.self,
    LEReadAdvertisingPhysicalChannelTxPower.self,
    LESetAdvertisingEnable.self,
    LESetScanParameters.self,
    LESetScanEnable.self,
    LECreateConnection.self,
    LECreateConnectionCancel.self,
    LEConnectionUpdate.self,
    LESetHostChannelClassification.self,
    LEReadChannelMap.self,
    LEReadRemoteFeatures.self,
    LERemoteConnectionParameterRequestReply.self,
    LERemoteConnectionParameterRequestNegativeReply.self,
    LESetDataLength.self,
    LEReadSuggestedDefaultDataLength.self,
    LEWriteSuggestedDefaultDataLength.self,
    LEReadMaximumDataLength.self,
    LEReadPHY.self,
    LESetDefaultPHY.self,
    LESetPHY.self,
    LESetDefaultSubrate.self,
    LESubrateRequest.self,
    LESetEventMask.self,
    LEReadBufferSize.self,
    LEReadBufferSizeV2.self,
    LEReadLocalSupportedFeatures.self,
    LESetHostFeature.self,
    LEReadSupportedStates.self,
    LEEncrypt.self,
    LERand.self,
    LEReadTransmitPower.self,
    LEReadRFPathCompensation.self,
    LEWriteRFPathCompensation.self,
    LEReadMaximumAdvertisingDataLength.self,
    LEReadNumberOfSupportedAdvertisingSets.self,
    LERemoveAdvertisingSet.self,
    LEClearAdvertisingSets.self,
    LESetExtendedScanParameters.self,
    LESetExtendedScanEnable.self,
    LEExtendedCreateConnection.self,
    LEEnableEncryption.self,
    LELongTermKeyRequestReply.self,
    LELongTermKeyRequestNegativeReply.self,
    LEReadFilterAcceptListSize.self,
    LEClearFilterAcceptList.self,
    LEAddDeviceToFilterAcceptList.self,
    LERemoveDeviceFromFilterAcceptList.self,
    LEAddDeviceToResolvingList.self,
    LERemoveDeviceFromResolvingList.self,
    LEClearResolvingList.self,
    LEReadResolvingListSize.self,
    LEReadPeerResolvableAddress.self,
    LEReadLocalResolvableAddress.self,
    LESetAddressResolutionEnable.self,
    LESetResolvablePrivateAddressTimeout.self,
    LESetPrivacyMode.self,
    LESetRandomAddress.self,
    LESetAdvertisingSetRandomAddress.self,
    LESetExtendedAdvertisingParameters.self,
    LESetAdvertisingData.self,
    LESetScanResponseData.self,
    LESetExtendedAdvertisingData.self,
    LESetExtendedScanResponseData.self,
    HostNumberOfCompletedPackets.self,
    LESetExtendedAdvertisingEnable.self,
  ]
}
