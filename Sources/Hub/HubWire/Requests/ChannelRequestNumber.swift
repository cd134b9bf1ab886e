import BluetoothInterface

/// Requests for connection-oriented channels. A number never changes.
enum ChannelRequestNumber: UInt8, CaseIterable {
  case publishChannel = 0xD0
  case unpublishChannel = 0x51
  case openChannel = 0xD2
  case sendOnChannel = 0xD3
  case consumedFromChannel = 0x54
  case closeChannel = 0x55

  /// Writes or reads the fields of the request with this number.
  func coded<C: HubCoder>(
    _ request: HostRequest?, _ token: RequestToken, by coder: inout C
  ) throws(HubWireError) -> HostRequest {
    switch self {
    case .publishChannel:
      return try coder.fields(request, token, HostRequest.publishChannel) {
        if case .publishChannel(psm: let psm, requiresEncryption: let isSecure, _) = $0 {
          (psm, isSecure)
        } else {
          nil
        }
      }
    case .unpublishChannel:
      return try coder.fields(request, HostRequest.unpublishChannel) {
        if case .unpublishChannel(psm: let psm) = $0 { psm } else { nil }
      }
    case .openChannel:
      return try coder.fields(request, token, HostRequest.openChannel) {
        if case .openChannel(let peer, psm: let psm, _) = $0 { (peer, psm) } else { nil }
      }
    case .sendOnChannel:
      return try coder.fields(request, token, HostRequest.sendOnChannel) {
        if case .sendOnChannel(let channel, let bytes, _) = $0 { (channel, bytes) } else { nil }
      }
    case .consumedFromChannel:
      return try coder.fields(request, HostRequest.consumedFromChannel) {
        if case .consumedFromChannel(let channel, byteCount: let byteCount) = $0 {
          (channel, byteCount)
        } else {
          nil
        }
      }
    case .closeChannel:
      return try coder.fields(request, HostRequest.closeChannel) {
        if case .closeChannel(let channel) = $0 { channel } else { nil }
      }
    }
  }
}
