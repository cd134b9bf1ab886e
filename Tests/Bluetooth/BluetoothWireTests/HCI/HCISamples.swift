import BluetoothWire
import Essentials
import FuzzTargets

/// Every command, event and return value, for tests that hold for all of them.
enum HCISamples {
  static let commands = FuzzTarget.hciCommands

  static let events: [any HCIEventParameters.Type] = [
    CommandStatus.self,
    DisconnectionComplete.self,
    EncryptionChange.self,
    EncryptionKeyRefreshComplete.self,
    ReadRemoteVersionInformationComplete.self,
    HardwareError.self,
    DataBufferOverflow.self,
    LEAdvertisingSetTerminated.self,
    LEScanRequestReceived.self,
    LEScanTimeout.self,
    LEConnectionComplete.self,
    LEConnectionUpdateComplete.self,
    LEReadRemoteFeaturesComplete.self,
    LELongTermKeyRequest.self,
    LERemoteConnectionParameterRequest.self,
    LEDataLengthChange.self,
    LEPHYUpdateComplete.self,
    LESubrateChange.self,
    LEChannelSelectionAlgorithm.self,
    LEEnhancedConnectionComplete.self,
    CommandComplete.self,
    NumberOfCompletedPackets.self,
    LEAdvertisingReports.self,
    LEExtendedAdvertisingReports.self,
    LEDirectedAdvertisingReports.self,
  ]

  static let others: [any HCICodable.Type] = [
    ReadTransmitPowerLevelReturn.self,
    ReadLEHostSupportReturn.self,
    ReadLocalVersionInformationReturn.self,
    ReadLocalSupportedFeaturesReturn.self,
    ReadLocalExtendedFeaturesReturn.self,
    ReadBufferSizeReturn.self,
    ReadRSSIReturn.self,
    LEReadAdvertisingPhysicalChannelTxPowerReturn.self,
    LEReadChannelMapReturn.self,
    ConnectionHandleReturn.self,
    LESuggestedDataLength.self,
    LEMaximumDataLength.self,
    LEReadPHYReturn.self,
    LEReadBufferSizeReturn.self,
    LEReadBufferSizeV2Return.self,
    LEReadLocalSupportedFeaturesReturn.self,
    LEReadSupportedStatesReturn.self,
    LEEncryptReturn.self,
    LERandReturn.self,
    LEReadTransmitPowerReturn.self,
    LERFPathCompensation.self,
    LESetExtendedAdvertisingParametersReturn.self,
    LEReadMaximumAdvertisingDataLengthReturn.self,
    LEReadNumberOfSupportedAdvertisingSetsReturn.self,
    ExtendedScanParameters.self,
    InitiatingParameters.self,
    ListSizeReturn.self,
    LEDirectedAdvertisingReport.self,
    CompletedPackets.self,
    ScanTiming.self,
    ConnectionTiming.self,
    ConnectionTimingRequest.self,
    SubrateRequest.self,
    Subrate.self,
    ReadBDADDRReturn.self,
    ResolvableAddressReturn.self,
    SupportedCommands.self,
    PHYPreference.self,
    PeerAddress.self,
    ChannelMap.self,
    LEAdvertisingReport.self,
    LEExtendedAdvertisingReport.self,
  ]

  static let all: [any HCICodable.Type] = commands + events + others

  /// Bytes that are likely to be valid parameters: many small numbers, so that enumerations and
  /// counts make sense, and some of any size.
  static func bytes(_ count: Int, using generator: inout SeededGenerator) -> [UInt8] {
    (0..<count).map { _ in
      Int.random(in: 0..<10, using: &generator) < 7
        ? UInt8.random(in: 0...3, using: &generator)
        : UInt8.random(in: 0...255, using: &generator)
    }
  }

  /// Some value of the type: the first that the decoder accepts from random bytes.
  static func value<Value: HCICodable>(
    _ type: Value.Type, using generator: inout SeededGenerator
  ) -> Value? {
    for _ in 0..<10_000 {
      var reader = ByteReader(bytes(252, using: &generator))
      // What takes "the rest" should not become longer than a packet.
      reader.remaining = reader.remaining.prefix(
        Value.self is CommandComplete.Type ? Int.random(in: 3...60, using: &generator) : 252)
      if let value = try? Value(decoding: &reader), encoded(value).count <= 250 { return value }
    }
    return nil
  }

  static func encoded(_ value: some HCICodable) -> [UInt8] {
    var writer = ByteWriter()
    value.encode(into: &writer)
    return writer.bytes
  }
}
