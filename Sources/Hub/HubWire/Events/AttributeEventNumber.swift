import BluetoothInterface

/// Events of the GATT client and the GATT server. A number never changes.
enum AttributeEventNumber: UInt8, CaseIterable {
  case valueUpdated = 0x30
  case valuesDropped = 0x31
  case servicesChanged = 0x32
  case serverRequest = 0x40
  case writesDropped = 0x41
  case requestsExpired = 0x42
  case subscribed = 0x43
  case unsubscribed = 0x44

  /// Writes or reads the fields of the event with this number.
  func coded<C: HubCoder>(
    _ event: HostEvent?, by coder: inout C
  ) throws(HubWireError) -> HostEvent {
    switch self {
    case .valueUpdated:
      return try coder.fields(event, HostEvent.valueUpdated) {
        if case .valueUpdated(let peer, handle: let handle, let value) = $0 {
          (peer, handle, value)
        } else {
          nil
        }
      }
    case .valuesDropped:
      return try coder.fields(event, HostEvent.valuesDropped) {
        if case .valuesDropped(let peer, handle: let handle, count: let count) = $0 {
          (peer, handle, count)
        } else {
          nil
        }
      }
    case .servicesChanged:
      return try coder.fields(event, HostEvent.servicesChanged) {
        if case .servicesChanged(let peer, let range) = $0 { (peer, range) } else { nil }
      }
    case .serverRequest:
      return try coder.fields(event, HostEvent.serverRequest) {
        if case .serverRequest(let request) = $0 { request } else { nil }
      }
    case .writesDropped:
      return try coder.fields(event, HostEvent.writesDropped) {
        if case .writesDropped(let peer, handle: let handle, count: let count) = $0 {
          (peer, handle, count)
        } else {
          nil
        }
      }
    case .requestsExpired:
      return try coder.fields(event, HostEvent.requestsExpired) {
        if case .requestsExpired(let peer, handle: let handle, count: let count) = $0 {
          (peer, handle, count)
        } else {
          nil
        }
      }
    case .subscribed:
      return try coder.fields(event, HostEvent.subscribed) {
        if case .subscribed(let peer, handle: let handle) = $0 { (peer, handle) } else { nil }
      }
    case .unsubscribed:
      return try coder.fields(event, HostEvent.unsubscribed) {
        if case .unsubscribed(let peer, handle: let handle) = $0 { (peer, handle) } else { nil }
      }
    }
  }
}
