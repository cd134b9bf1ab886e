import Essentials

/// A signalling command with its identifier: the payload of a frame on the signalling channel.
package struct L2CAPSignalPDU: Hashable, Sendable {
  /// The size of the header before a command's data, in bytes.
  package static let headerByteCount = 4

  /// Pairs a response with its request; never zero in a command that makes sense.
  package var identifier: UInt8
  /// The command.
  package var signal: L2CAPSignal

  /// A command with its identifier.
  package init(identifier: UInt8, signal: L2CAPSignal) {
    self.identifier = identifier
    self.signal = signal
  }

  /// Reads a whole C-frame: on LE exactly one command (Core 5.4, Vol 3, Part A, §4).
  ///
  /// Data after the fields of a known command is an error; the data of an unknown one is skipped.
  package init(decoding payload: ArraySlice<UInt8>) throws(WireError) {
    var reader = ByteReader(payload)
    let code = try decoding { () throws(Truncated) in try reader.uint8() }
    identifier = try decoding { () throws(Truncated) in try reader.uint8() }
    let length = Int(try decoding { () throws(Truncated) in try reader.uint16() })
    guard identifier != 0 else { throw .invalidValue(field: "identifier", value: 0) }
    guard length == reader.count else { throw .invalidLength(length) }
    do {
      signal = try L2CAPSignal(code: code, data: &reader)
    } catch {
      throw WireError(error)
    }
    if case .unknown = signal { return }
    guard reader.isAtEnd else { throw .trailingBytes(count: reader.count) }
  }

  /// The payload of a frame on the signalling channel.
  package var bytes: [UInt8] {
    var writer = ByteWriter(capacity: 26)
    writer.uint8(signal.code)
    writer.uint8(identifier)
    writer.uint16(0)
    signal.encodeData(into: &writer)
    let length = writer.count - L2CAPSignalPDU.headerByteCount
    writer.bytes[2] = UInt8(truncatingIfNeeded: length)
    writer.bytes[3] = UInt8(truncatingIfNeeded: length >> 8)
    return writer.bytes
  }
}

extension L2CAPSignal {
  fileprivate init(code: UInt8, data: inout ByteReader) throws(Truncated) {
    switch code {
    case 0x01:
      self = .commandReject(try L2CAPRejectReason(decoding: &data))
    case 0x06:
      self = .disconnectionRequest(destination: try data.uint16(), source: try data.uint16())
    case 0x07:
      self = .disconnectionResponse(destination: try data.uint16(), source: try data.uint16())
    case 0x12:
      self = .connectionParameterUpdateRequest(
        L2CAPConnectionParameters(
          intervalMinUnits: try data.uint16(), intervalMaxUnits: try data.uint16(),
          latency: try data.uint16(), timeoutUnits: try data.uint16()))
    case 0x13:
      self = .connectionParameterUpdateResponse(accepted: try data.uint16() == 0)
    case 0x14:
      self = .creditBasedConnectionRequest(
        L2CAPCreditBasedConnectionRequest(
          spsm: try data.uint16(), source: try data.uint16(), mtu: try data.uint16(),
          mps: try data.uint16(), initialCredits: try data.uint16()))
    case 0x15:
      self = .creditBasedConnectionResponse(
        L2CAPCreditBasedConnectionResponse(
          destination: try data.uint16(), mtu: try data.uint16(), mps: try data.uint16(),
          initialCredits: try data.uint16(), result: L2CAPResult(rawValue: try data.uint16())))
    case 0x16:
      self = .flowControlCredit(source: try data.uint16(), credits: try data.uint16())
    case 0x17...0x1A:
      try self.init(enhancedCode: code, data: &data)
    default:
      self = .unknown(code: code)
    }
  }

  private init(enhancedCode code: UInt8, data: inout ByteReader) throws(Truncated) {
    switch code {
    case 0x17:
      self = .enhancedConnectionRequest(
        L2CAPEnhancedConnectionRequest(
          spsm: try data.uint16(), mtu: try data.uint16(), mps: try data.uint16(),
          initialCredits: try data.uint16(), sources: try data.channels()))
    case 0x18:
      self = .enhancedConnectionResponse(
        L2CAPEnhancedConnectionResponse(
          mtu: try data.uint16(), mps: try data.uint16(), initialCredits: try data.uint16(),
          result: L2CAPResult(rawValue: try data.uint16()), destinations: try data.channels()))
    case 0x19:
      self = .reconfigureRequest(
        mtu: try data.uint16(), mps: try data.uint16(), sources: try data.channels())
    default:
      self = .reconfigureResponse(L2CAPReconfigureResult(rawValue: try data.uint16()))
    }
  }

  fileprivate func encodeData(into writer: inout ByteWriter) {
    switch self {
    case .commandReject(let reason):
      reason.encode(into: &writer)
    case .disconnectionRequest(let destination, let source),
      .disconnectionResponse(let destination, let source):
      writer.uint16(destination, source)
    case .connectionParameterUpdateRequest(let parameters):
      writer.uint16(
        parameters.intervalMinUnits, parameters.intervalMaxUnits, parameters.latency,
        parameters.timeoutUnits)
    case .connectionParameterUpdateResponse(let accepted):
      writer.uint16(accepted ? 0 : 1)
    case .creditBasedConnectionRequest(let request):
      writer.uint16(
        request.spsm, request.source, request.mtu, request.mps, request.initialCredits)
    case .creditBasedConnectionResponse(let response):
      writer.uint16(
        response.destination, response.mtu, response.mps, response.initialCredits,
        response.result.rawValue)
    case .flowControlCredit(let source, let credits):
      writer.uint16(source, credits)
    case .enhancedConnectionRequest(let request):
      writer.uint16(request.spsm, request.mtu, request.mps, request.initialCredits)
      for source in request.sources { writer.uint16(source) }
    case .enhancedConnectionResponse(let response):
      writer.uint16(
        response.mtu, response.mps, response.initialCredits, response.result.rawValue)
      for destination in response.destinations { writer.uint16(destination) }
    case .reconfigureRequest(let mtu, let mps, let sources):
      writer.uint16(mtu, mps)
      for source in sources { writer.uint16(source) }
    case .reconfigureResponse(let result):
      writer.uint16(result.rawValue)
    case .unknown:
      break
    }
  }
}

extension L2CAPRejectReason {
  fileprivate init(decoding data: inout ByteReader) throws(Truncated) {
    switch try data.uint16() {
    case 0: self = .commandNotUnderstood
    case 1: self = .signallingMTUExceeded(try data.uint16())
    case 2: self = .invalidCID(local: try data.uint16(), remote: try data.uint16())
    case let reason:
      _ = data.rest()
      self = .other(reason)
    }
  }

  fileprivate func encode(into writer: inout ByteWriter) {
    switch self {
    case .commandNotUnderstood: writer.uint16(0)
    case .signallingMTUExceeded(let mtu): writer.uint16(1, mtu)
    case .invalidCID(let local, let remote): writer.uint16(2, local, remote)
    case .other(let reason): writer.uint16(reason)
    }
  }
}

extension ByteReader {
  /// Takes CIDs up to the end. The signalling MTU bounds how many there are.
  fileprivate mutating func channels() throws(Truncated) -> [UInt16] {
    var channels: [UInt16] = []
    while !isAtEnd { channels.append(try uint16()) }
    return channels
  }
}

extension ByteWriter {
  fileprivate mutating func uint16(_ values: UInt16...) {
    for value in values { uint16(value) as Void }
  }
}
