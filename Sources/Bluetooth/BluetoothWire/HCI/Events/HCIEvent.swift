import Essentials

/// The code of an event, and of the LE event inside an LE Meta event.
package struct HCIEventCode: Hashable, Sendable {
  /// The event.
  package var event: UInt8
  /// The LE event, where `event` is LE Meta.
  package var subevent: UInt8?

  /// An event that is not of LE alone.
  init(_ event: UInt8) { self.event = event }

  /// LE Meta (Core 5.4, Vol 4, Part E, §7.7.65).
  package static let leMeta: UInt8 = 0x3E

  /// The LE event `subevent`.
  static func le(_ subevent: UInt8) -> HCIEventCode {
    var code = HCIEventCode(leMeta)
    code.subevent = subevent
    return code
  }
}

/// The parameters of an event from controller to host (Core 5.4, Vol 4, Part E, §5.4.4).
package protocol HCIEventParameters: HCICodable {
  /// The event code.
  static var code: HCIEventCode { get }
}

extension HCIEventParameters {
  /// The whole packet: code, length, parameters.
  package var packet: HCIPacket {
    var writer = ByteWriter(capacity: 40)
    writer.uint8(Self.code.event)
    writer.uint8(0)
    if let subevent = Self.code.subevent { writer.uint8(subevent) }
    encode(into: &writer)
    precondition(writer.count <= 257, "an event takes at most 255 bytes of parameters")
    writer.bytes[1] = UInt8(truncatingIfNeeded: writer.count - 2)
    return HCIPacket(kind: .event, bytes: writer.bytes)
  }
}

/// An event from controller to host (Core 5.4, Vol 4, Part E, §7.7).
package enum HCIEvent: Hashable, Sendable {
  /// A command is done.
  case commandComplete(CommandComplete)
  /// A command began, or did not.
  case commandStatus(CommandStatus)
  /// A connection ended.
  case disconnectionComplete(DisconnectionComplete)
  /// The controller has buffers free again.
  case numberOfCompletedPackets(NumberOfCompletedPackets)
  /// A connection was encrypted, or could not be.
  case encryptionChange(EncryptionChange)
  /// An encrypted connection got a new key.
  case encryptionKeyRefreshComplete(EncryptionKeyRefreshComplete)
  /// The controller failed.
  case hardwareError(HardwareError)
  /// The host sent too much.
  case dataBufferOverflow(DataBufferOverflow)
  /// The versions of a peer's controller.
  case readRemoteVersionInformationComplete(ReadRemoteVersionInformationComplete)
  /// A connection was made, or could not be.
  case leConnectionComplete(LEConnectionComplete)
  /// The same, with the private addresses in use.
  case leEnhancedConnectionComplete(LEEnhancedConnectionComplete)
  /// Legacy advertising was received.
  case leAdvertisingReport(LEAdvertisingReports)
  /// Advertising was received by extended scanning.
  case leExtendedAdvertisingReport(LEExtendedAdvertisingReports)
  /// Advertising directed to a private address was received.
  case leDirectedAdvertisingReport(LEDirectedAdvertisingReports)
  /// A connection's timing changed, or could not be changed.
  case leConnectionUpdateComplete(LEConnectionUpdateComplete)
  /// The features of a peer.
  case leReadRemoteFeaturesComplete(LEReadRemoteFeaturesComplete)
  /// The controller requests a key.
  case leLongTermKeyRequest(LELongTermKeyRequest)
  /// The peer requests other connection parameters.
  case leRemoteConnectionParameterRequest(LERemoteConnectionParameterRequest)
  /// A connection's packets may have another length.
  case leDataLengthChange(LEDataLengthChange)
  /// A connection's PHYs changed, or could not be changed.
  case lePHYUpdateComplete(LEPHYUpdateComplete)
  /// A connection's subrating changed, or could not be changed.
  case leSubrateChange(LESubrateChange)
  /// An advertising set ended.
  case leAdvertisingSetTerminated(LEAdvertisingSetTerminated)
  /// A scan request was received.
  case leScanRequestReceived(LEScanRequestReceived)
  /// The channel selection algorithm of a new connection.
  case leChannelSelectionAlgorithm(LEChannelSelectionAlgorithm)
  /// Extended scanning ended.
  case leScanTimeout(LEScanTimeout)
  /// An event that we don't know.
  case unknown(code: UInt8, parameters: ArraySlice<UInt8>)
  /// An LE event that we don't know.
  case unknownLE(subevent: UInt8, parameters: ArraySlice<UInt8>)

  /// Reads an event packet, from the event code on.
  ///
  /// Bytes after the parameters that we know are ignored: later specifications may add some.
  package init(decoding packet: ArraySlice<UInt8>) throws(WireError) {
    var reader = ByteReader(packet)
    let code: UInt8 = try reader.value()
    var parameters = ByteReader(try reader.counted())
    guard reader.isAtEnd else { throw .trailingBytes(count: reader.count) }
    if code == HCIEventCode.leMeta {
      self = try HCIEvent.le(subevent: try parameters.value(), &parameters)
    } else {
      self = try HCIEvent.general(code: code, &parameters)
    }
  }

  private static func general(
    code: UInt8, _ reader: inout ByteReader
  ) throws(WireError) -> HCIEvent {
    switch HCIEventCode(code) {
    case CommandComplete.code: .commandComplete(try reader.value())
    case CommandStatus.code: .commandStatus(try reader.value())
    case DisconnectionComplete.code: .disconnectionComplete(try reader.value())
    case NumberOfCompletedPackets.code: .numberOfCompletedPackets(try reader.value())
    case EncryptionChange.code: .encryptionChange(try reader.value())
    case EncryptionKeyRefreshComplete.code: .encryptionKeyRefreshComplete(try reader.value())
    case HardwareError.code: .hardwareError(try reader.value())
    case DataBufferOverflow.code: .dataBufferOverflow(try reader.value())
    case ReadRemoteVersionInformationComplete.code:
      .readRemoteVersionInformationComplete(try reader.value())
    default: .unknown(code: code, parameters: reader.rest())
    }
  }

  private static func le(
    subevent: UInt8, _ reader: inout ByteReader
  ) throws(WireError) -> HCIEvent {
    switch HCIEventCode.le(subevent) {
    case LEConnectionComplete.code: .leConnectionComplete(try reader.value())
    case LEEnhancedConnectionComplete.code: .leEnhancedConnectionComplete(try reader.value())
    case LEAdvertisingReports.code: .leAdvertisingReport(try reader.value())
    case LEExtendedAdvertisingReports.code: .leExtendedAdvertisingReport(try reader.value())
    case LEDirectedAdvertisingReports.code: .leDirectedAdvertisingReport(try reader.value())
    case LEConnectionUpdateComplete.code: .leConnectionUpdateComplete(try reader.value())
    case LEReadRemoteFeaturesComplete.code: .leReadRemoteFeaturesComplete(try reader.value())
    case LELongTermKeyRequest.code: .leLongTermKeyRequest(try reader.value())
    case LERemoteConnectionParameterRequest.code:
      .leRemoteConnectionParameterRequest(try reader.value())
    case LEDataLengthChange.code: .leDataLengthChange(try reader.value())
    case LEPHYUpdateComplete.code: .lePHYUpdateComplete(try reader.value())
    case LESubrateChange.code: .leSubrateChange(try reader.value())
    case LEAdvertisingSetTerminated.code: .leAdvertisingSetTerminated(try reader.value())
    case LEScanRequestReceived.code: .leScanRequestReceived(try reader.value())
    case LEChannelSelectionAlgorithm.code: .leChannelSelectionAlgorithm(try reader.value())
    case LEScanTimeout.code: .leScanTimeout(try reader.value())
    default: .unknownLE(subevent: subevent, parameters: reader.rest())
    }
  }

  /// The whole packet: code, length, parameters.
  package var packet: HCIPacket {
    switch self {
    case .commandComplete(let event): event.packet
    case .commandStatus(let event): event.packet
    case .disconnectionComplete(let event): event.packet
    case .numberOfCompletedPackets(let event): event.packet
    case .encryptionChange(let event): event.packet
    case .encryptionKeyRefreshComplete(let event): event.packet
    case .hardwareError(let event): event.packet
    case .dataBufferOverflow(let event): event.packet
    case .readRemoteVersionInformationComplete(let event): event.packet
    case .leConnectionComplete(let event): event.packet
    case .leEnhancedConnectionComplete(let event): event.packet
    case .leAdvertisingReport(let event): event.packet
    case .leExtendedAdvertisingReport(let event): event.packet
    case .leDirectedAdvertisingReport(let event): event.packet
    case .leConnectionUpdateComplete(let event): event.packet
    case .leReadRemoteFeaturesComplete(let event): event.packet
    case .leLongTermKeyRequest(let event): event.packet
    case .leRemoteConnectionParameterRequest(let event): event.packet
    case .leDataLengthChange(let event): event.packet
    case .lePHYUpdateComplete(let event): event.packet
    case .leSubrateChange(let event): event.packet
    case .leAdvertisingSetTerminated(let event): event.packet
    case .leScanRequestReceived(let event): event.packet
    case .leChannelSelectionAlgorithm(let event): event.packet
    case .leScanTimeout(let event): event.packet
    case .unknown(let code, let parameters):
      HCIEvent.packet(code: code, parameters: parameters)
    case .unknownLE(let subevent, let parameters):
      HCIEvent.packet(code: HCIEventCode.leMeta, parameters: [subevent] + parameters)
    }
  }

  private static func packet(code: UInt8, parameters: ArraySlice<UInt8>) -> HCIPacket {
    precondition(parameters.count <= 255, "an event takes at most 255 bytes of parameters")
    let length = UInt8(truncatingIfNeeded: parameters.count)
    return HCIPacket(kind: .event, bytes: [code, length] + parameters)
  }
}
