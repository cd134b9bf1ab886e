import BluetoothInterface
import HubWire

extension HostRequest {
  /// The error of a request with a list that is longer than any program needs: the host would go through all of
  /// it at once.
  func listError(_ limits: HubLimits) -> HostError? {
    switch self {
    case .gatt(_, let operation, _):
      guard operation.listCount > limits.procedureListCountMax else { return nil }
      return .limitReached("handles, values or UUIDs of one procedure")
    case .updateValue(handle: _, _, peers: let peers?, _):
      guard peers.count > limits.recipientCountMax else { return nil }
      return .limitReached("recipients of a value")
    default: return nil
    }
  }

  /// Whether a scan looks for more services than it may. It has no token to report that with.
  var hasTooManyServices: Bool {
    guard case .startScan(let options) = self else { return false }
    return options.services.count + options.solicitedServices.count
      > HubProtocol.scanServiceCountMax
  }
}

extension GATTOperation {
  /// The number of elements of its list.
  fileprivate var listCount: Int {
    switch self {
    case .discoverServices(let uuids), .discoverCharacteristics(in: _, let uuids): uuids?.count ?? 0
    case .readMultiple(let handles): handles.count
    case .reliableWrite(let values): values.count
    case .discoverIncludedServices, .discoverDescriptors, .read, .readByUUID, .write,
      .writeWithoutResponse, .signedWrite:
      0
    }
  }
}
