import BluetoothInterface

/// Events of the radio, of scans and of requests. A number never changes.
enum RadioEventNumber: UInt8, CaseIterable {
  case stateChanged = 0x01
  case completed = 0x02
  case discovered = 0x03
  case acknowledgementRequested = 0x04

  /// Writes or reads the fields of the event with this number.
  func coded<C: HubCoder>(
    _ event: HostEvent?, by coder: inout C
  ) throws(HubWireError) -> HostEvent {
    switch self {
    case .stateChanged:
      return try coder.fields(event, HostEvent.stateChanged) {
        if case .stateChanged(let state) = $0 { state } else { nil }
      }
    case .completed:
      return try coder.fields(
        event, { (token: RequestToken, end: Completion) in .completed(token, end.result) }
      ) {
        if case .completed(let token, let result) = $0 {
          (token, Completion(result: result))
        } else {
          nil
        }
      }
    case .discovered:
      return try coder.fields(event, HostEvent.discovered) {
        if case .discovered(let report) = $0 { report } else { nil }
      }
    case .acknowledgementRequested: return .acknowledgementRequested
    }
  }
}
