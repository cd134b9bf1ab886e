import BluetoothInterface

/// Requests for links. A number never changes.
enum LinkRequestNumber: UInt8, CaseIterable {
  case connect = 0x10
  case disconnect = 0x11
  case readRSSI = 0x92
  case updateParameters = 0x93
  case setPHY = 0x94
  case setSubrate = 0x95

  /// Writes or reads the fields of the request with this number.
  func coded<C: HubCoder>(
    _ request: HostRequest?, _ token: RequestToken, by coder: inout C
  ) throws(HubWireError) -> HostRequest {
    switch self {
    case .connect:
      return try coder.fields(request, HostRequest.connect) {
        if case .connect(let peer, let options) = $0 { (peer, options) } else { nil }
      }
    case .disconnect:
      return try coder.fields(request, HostRequest.disconnect) {
        if case .disconnect(let peer) = $0 { peer } else { nil }
      }
    case .readRSSI:
      return try coder.fields(request, token, HostRequest.readRSSI) {
        if case .readRSSI(let peer, _) = $0 { peer } else { nil }
      }
    case .updateParameters:
      return try coder.fields(request, token, HostRequest.updateParameters) {
        if case .updateParameters(let peer, let parameters, _) = $0 {
          (peer, parameters)
        } else {
          nil
        }
      }
    case .setPHY:
      return try coder.fields(request, token, HostRequest.setPHY) {
        if case .setPHY(let peer, let preference, _) = $0 { (peer, preference) } else { nil }
      }
    case .setSubrate:
      return try coder.fields(request, token, HostRequest.setSubrate) {
        if case .setSubrate(let peer, let subrate, _) = $0 { (peer, subrate) } else { nil }
      }
    }
  }
}
