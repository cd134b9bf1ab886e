import BluetoothInterface

/// Requests of the GATT client and the GATT server. A number never changes.
enum AttributeRequestNumber: UInt8, CaseIterable {
  case gatt = 0xB0
  case subscribe = 0xB1
  case unsubscribe = 0xB2
  case addService = 0xC0
  case removeService = 0x41
  case removeAllServices = 0x42
  case respond = 0x43
  case updateValue = 0xC4

  /// Writes or reads the fields of the request with this number.
  func coded<C: HubCoder>(
    _ request: HostRequest?, _ token: RequestToken, by coder: inout C
  ) throws(HubWireError) -> HostRequest {
    switch self {
    case .gatt:
      return try coder.fields(request, token, HostRequest.gatt) {
        if case .gatt(let peer, let operation, _) = $0 { (peer, operation) } else { nil }
      }
    case .subscribe:
      return try coder.fields(request, token, HostRequest.subscribe) {
        if case .subscribe(let peer, let target, _) = $0 { (peer, target) } else { nil }
      }
    case .unsubscribe:
      return try coder.fields(request, token, HostRequest.unsubscribe) {
        if case .unsubscribe(let peer, let target, _) = $0 { (peer, target) } else { nil }
      }
    case .addService:
      return try coder.fields(request, token, HostRequest.addService) {
        if case .addService(let definition, _) = $0 { definition } else { nil }
      }
    case .removeService:
      return try coder.fields(request, HostRequest.removeService) {
        if case .removeService(let handle) = $0 { handle } else { nil }
      }
    case .removeAllServices: return .removeAllServices
    case .respond:
      return try coder.fields(request, HostRequest.respond) {
        if case .respond(let id, let result) = $0 { (id, result) } else { nil }
      }
    case .updateValue:
      return try coder.fields(request, token, HostRequest.updateValue) {
        if case .updateValue(handle: let handle, let value, peers: let peers, _) = $0 {
          (handle, value, peers)
        } else {
          nil
        }
      }
    }
  }
}
