import BluetoothInterface
import BluetoothWire
import Essentials

/// Reads the Database Hash, wherever it is (Core 5.4, Vol 3, Part G, §7.3): one value, or none.
struct ReadDatabaseHash: GATTProcedure {
  mutating func start(mtu: Int) -> GATTStep {
    .request(.readByTypeRequest(start: 1, end: 0xFFFF, type: 0x2B2A))
  }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    guard case .readByTypeResponse(let list) = response,
      let hash = list.first(where: { $0.handle > 0 && $0.value.count == 16 })
    else { return .done(.values([])) }
    return .done(.values([AttributeValue(handle: hash.handle, value: Array(hash.value))]))
  }
}

/// Finds the peer's Generic Attribute service, subscribes to Service Changed and reads the Database
/// Hash (Core 5.4, Vol 3, Part G, §7.1 and §7.3), so that discovered attributes can be cached.
///
/// It never fails: if the peer refuses a step, less is cached.
struct WatchServices: GATTProcedure {
  private enum Stage {
    case service, characteristics, configuration, subscription, hash
  }

  private var stage = Stage.service
  private var characteristics = DiscoverCharacteristics(.all)
  private var valueHandle: UInt16 = 0
  private var configurationHandle: UInt16 = 0
  private var hashHandle: UInt16 = 0
  private var outcome = RemoteDatabase.ServiceChanged.absent

  /// Starts from the cached attributes of a peer.
  init(_ known: RemoteDatabase) {
    hashHandle = known.hashHandle
    guard case .present(let valueHandle, let configurationHandle) = known.serviceChanged else {
      return
    }
    self.valueHandle = valueHandle
    self.configurationHandle = configurationHandle
    stage = .subscription
  }

  mutating func start(mtu: Int) -> GATTStep {
    if case .subscription = stage { return subscribe() }
    // 0x1801, Generic Attribute.
    return .request(
      .findByTypeValueRequest(start: 1, end: 0xFFFF, type: 0x2800, value: [0x01, 0x18]))
  }

  private func subscribe() -> GATTStep {
    .request(.writeRequest(handle: configurationHandle, value: [2, 0]))
  }

  private mutating func readHash() -> GATTStep {
    stage = .hash
    guard hashHandle != 0 else { return .watching(outcome, hashHandle: hashHandle, hash: nil) }
    return .request(.readRequest(handle: hashHandle))
  }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    switch stage {
    case .service:
      guard case .findByTypeValueResponse(let list) = response,
        let service = list.first(where: { $0.start > 0 && $0.end >= $0.start })
      else {
        return response.isNotFound
          ? .watching(.absent, hashHandle: 0, hash: nil) : .unusable(response)
      }
      stage = .characteristics
      characteristics = DiscoverCharacteristics(HandleRange(service.start, service.end))
      return characteristics.start(mtu: mtu)
    case .characteristics:
      let step = characteristics.received(response, mtu: mtu)
      guard case .done(.characteristics(let found)) = step else { return step }
      return chose(from: found)
    case .configuration:
      guard case .findInformationResponse(let list) = response,
        let descriptor = list.first(where: { $0.type == 0x2902 && $0.handle > valueHandle })
      else { return .unusable(response) }
      configurationHandle = descriptor.handle
      stage = .subscription
      return subscribe()
    case .subscription:
      guard case .writeResponse = response else { return .unusable(response) }
      outcome = .present(valueHandle: valueHandle, configurationHandle: configurationHandle)
      return readHash()
    case .hash:
      guard case .readResponse(let value) = response, value.count == 16 else {
        return .watching(outcome, hashHandle: hashHandle, hash: nil)
      }
      return .watching(outcome, hashHandle: hashHandle, hash: Array(value))
    }
  }

  private mutating func chose(from found: [RemoteCharacteristic]) -> GATTStep {
    hashHandle = found.first { $0.uuid == 0x2B2A }?.valueHandle ?? 0
    guard let changed = found.first(where: { $0.uuid == 0x2A05 }) else { return readHash() }
    guard changed.valueHandle < changed.endHandle else { return .failed(.invalidResponse) }
    valueHandle = changed.valueHandle
    stage = .configuration
    return .request(
      .findInformationRequest(start: changed.valueHandle + 1, end: changed.endHandle))
  }
}
