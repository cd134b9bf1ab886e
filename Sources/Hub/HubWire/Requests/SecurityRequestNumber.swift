import BluetoothInterface

/// Requests for pairings and bonds. A number never changes.
enum SecurityRequestNumber: UInt8, CaseIterable {
  case pair = 0xA0
  case setPairingAgent = 0x21
  case answerPairing = 0x22
  case createOutOfBandData = 0xA3
  case setOutOfBandData = 0xA4
  case removeBond = 0xA5
  case attendAllPairings = 0xA6

  /// Writes or reads the fields of the request with this number.
  func coded<C: HubCoder>(
    _ request: HostRequest?, _ token: RequestToken, by coder: inout C
  ) throws(HubWireError) -> HostRequest {
    switch self {
    case .pair:
      return try coder.fields(request, token, HostRequest.pair) {
        if case .pair(let peer, _) = $0 { peer } else { nil }
      }
    case .setPairingAgent:
      return try coder.fields(request, HostRequest.setPairingAgent) {
        if case .setPairingAgent(let capability) = $0 { capability } else { nil }
      }
    case .answerPairing:
      return try coder.fields(request, HostRequest.answerPairing) {
        if case .answerPairing(let prompt, let answer) = $0 { (prompt, answer) } else { nil }
      }
    case .createOutOfBandData: return .createOutOfBandData(token)
    case .setOutOfBandData:
      return try coder.fields(request, token, HostRequest.setOutOfBandData) {
        if case .setOutOfBandData(let peer, let data, _) = $0 { (peer, data) } else { nil }
      }
    case .removeBond:
      return try coder.fields(request, token, HostRequest.removeBond) {
        if case .removeBond(let peer, _) = $0 { peer } else { nil }
      }
    case .attendAllPairings: return .attendAllPairings(token)
    }
  }
}
