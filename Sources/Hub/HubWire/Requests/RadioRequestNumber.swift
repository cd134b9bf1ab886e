import BluetoothInterface

/// Requests for scans and advertising, and the barrier. A number never changes.
enum RadioRequestNumber: UInt8, CaseIterable {
  case startScan = 0x01
  case stopScan = 0x02
  case startAdvertising = 0x83
  case stopAdvertising = 0x04
  case barrier = 0x85

  /// Writes or reads the fields of the request with this number.
  func coded<C: HubCoder>(
    _ request: HostRequest?, _ token: RequestToken, by coder: inout C
  ) throws(HubWireError) -> HostRequest {
    switch self {
    case .startScan:
      return try coder.fields(request, HostRequest.startScan) {
        if case .startScan(let options) = $0 { options } else { nil }
      }
    case .stopScan: return .stopScan
    case .startAdvertising:
      return try coder.fields(request, token, HostRequest.startAdvertising) {
        if case .startAdvertising(let options, _) = $0 { options } else { nil }
      }
    case .stopAdvertising: return .stopAdvertising
    case .barrier: return .barrier(token)
    }
  }
}
