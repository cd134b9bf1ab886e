import BluetoothWire
import Essentials

// Control PDUs as they are on the air (Core 5.4, Vol 6, Part B, §2.4.2).

extension LinkControl {
  /// The first byte of a control PDU.
  enum Opcode: UInt8 {
    case connectionUpdate = 0x00
    case channelMap = 0x01
    case terminate = 0x02
    case encryptionRequest = 0x03
    case encryptionResponse = 0x04
    case startEncryptionRequest = 0x05
    case startEncryptionResponse = 0x06
    case featureRequest = 0x08
    case featureResponse = 0x09
    case pauseEncryptionRequest = 0x0A
    case pauseEncryptionResponse = 0x0B
    case version = 0x0C
    case peripheralFeatureRequest = 0x0E
    case connectionParameterRequest = 0x0F
    case rejectExtended = 0x11
    case lengthRequest = 0x14
    case lengthResponse = 0x15
    case phyRequest = 0x16
    case phyResponse = 0x17
    case phyUpdate = 0x18
    case subrateRequest = 0x26
    case subrateIndication = 0x27
  }

  /// The payload, opcode included.
  ///
  /// - Parameters:
  ///   - role: The sender's role: the opcode of a feature request depends on it.
  ///   - instant: The connection event at which a change takes place.
  func encoded(from role: LinkRole, instant: UInt16) -> [UInt8] {
    var writer = ByteWriter(capacity: byteCount)
    writer.uint8(opcode(from: role).rawValue)
    switch self {
    case .featureRequest(let features), .featureResponse(let features):
      writer.uint64(features.rawValue)
    case .version(let version, let company, let subversion):
      writer.uint8(version)
      writer.uint16(company)
      writer.uint16(subversion)
    case .lengthRequest(let length), .lengthResponse(let length):
      writer.uint16(length.rxOctets)
      writer.uint16(length.rxTimeMicroseconds)
      writer.uint16(length.txOctets)
      writer.uint16(length.txTimeMicroseconds)
    case .phyRequest(let preference), .phyResponse(let preference):
      // No preference: all PHYs are allowed.
      writer.uint8(preference.transmit?.rawValue ?? 7)
      writer.uint8(preference.receive?.rawValue ?? 7)
    case .phyUpdate(let centralToPeripheral, let peripheralToCentral):
      writer.uint8(1 << (centralToPeripheral.rawValue - 1))
      writer.uint8(1 << (peripheralToCentral.rawValue - 1))
      writer.uint16(instant)
    case .connectionParameterRequest(let request):
      Self.encode(request, into: &writer)
    case .connectionUpdate(let timing):
      // A transmit window of 1.25 ms, right away.
      writer.uint8(1)
      writer.uint16(0)
      writer.uint16(timing.intervalUnits1250us)
      writer.uint16(timing.latency)
      writer.uint16(timing.timeoutUnits10ms)
      writer.uint16(instant)
    case .channelMap(let channels):
      writer.littleEndian(channels.bits, count: 5)
      writer.uint16(instant)
    case .subrateRequest(let request): request.encode(into: &writer)
    case .subrateIndication(let subrate):
      Self.encode(subrate, at: instant, into: &writer)
    case .encryptionRequest(let request):
      writer.uint64(request.random)
      writer.uint16(request.diversifier)
      Self.encode(request.half, into: &writer)
    case .encryptionResponse(let half):
      Self.encode(half, into: &writer)
    case .startEncryptionRequest, .startEncryptionResponse, .pauseEncryptionRequest,
      .pauseEncryptionResponse:
      break
    case .reject(let opcode, let status):
      writer.uint8(opcode.rawValue)
      writer.uint8(status.rawValue)
    case .terminate(let status):
      writer.uint8(status.rawValue)
    }
    assert(
      writer.count == byteCount, "the length of a control PDU differs from its declared length")
    return writer.bytes
  }

  private static func encode(_ half: LinkCipher.SessionHalf, into writer: inout ByteWriter) {
    writer.uint64(half.keyDiversifier)
    writer.uint32(half.initializationVector)
  }

  private static func encode(_ subrate: Subrate, at instant: UInt16, into writer: inout ByteWriter)
  {
    writer.uint16(subrate.factor)
    writer.uint16(instant)
    writer.uint16(subrate.latency)
    writer.uint16(subrate.continuationNumber)
    writer.uint16(subrate.timeoutUnits10ms)
  }

  /// Without preferred periodicity and offsets.
  private static func encode(_ request: ConnectionTimingRequest, into writer: inout ByteWriter) {
    writer.uint16(request.intervalMinUnits1250us)
    writer.uint16(request.intervalMaxUnits1250us)
    writer.uint16(request.latency)
    writer.uint16(request.timeoutUnits10ms)
    writer.append([0, 0, 0])
    for _ in 0..<6 { writer.uint16(0xFFFF) }
  }

  private func opcode(from role: LinkRole) -> Opcode {
    switch self {
    case .featureRequest: role == .central ? .featureRequest : .peripheralFeatureRequest
    case .featureResponse: .featureResponse
    case .version: .version
    case .lengthRequest: .lengthRequest
    case .lengthResponse: .lengthResponse
    case .phyRequest: .phyRequest
    case .phyResponse: .phyResponse
    case .phyUpdate: .phyUpdate
    case .connectionParameterRequest: .connectionParameterRequest
    case .connectionUpdate: .connectionUpdate
    case .channelMap: .channelMap
    case .subrateRequest: .subrateRequest
    case .subrateIndication: .subrateIndication
    case .encryptionRequest: .encryptionRequest
    case .encryptionResponse: .encryptionResponse
    case .startEncryptionRequest: .startEncryptionRequest
    case .startEncryptionResponse: .startEncryptionResponse
    case .pauseEncryptionRequest: .pauseEncryptionRequest
    case .pauseEncryptionResponse: .pauseEncryptionResponse
    case .reject: .rejectExtended
    case .terminate: .terminate
    }
  }
}
