package import BluetoothInterface
import BluetoothWire
import Essentials

/// The discovered attributes of a peer. They can be stored after the link.
///
/// The owner stores them for each peer and passes them to the next link's `GATTClient.adopt`, which
/// uses them only if the peer's Database Hash is unchanged (Core 5.4, Vol 3, Part G, §7.3).
package struct RemoteDatabase: Sendable, Hashable {
  /// The peer's Database Hash at the time of the discovery. If nil, the peer has none, and the
  /// database is not used on another link.
  package internal(set) var hash: [UInt8]?
  /// All primary services, once all of them were discovered.
  package internal(set) var services: [RemoteService]?

  var servicesByUUID: [BluetoothUUID: [RemoteService]] = [:]
  var includedServices: [HandleRange: [RemoteService]] = [:]
  var characteristics: [HandleRange: [RemoteCharacteristic]] = [:]
  var descriptors: [HandleRange: [RemoteDescriptor]] = [:]
  /// The peer's Service Changed characteristic; nil before it was searched for.
  var serviceChanged: ServiceChanged?
  /// The handle of the Database Hash; 0 if unknown.
  var hashHandle: UInt16 = 0
  private var entryCount = 0

  /// Whether and where a peer has the Service Changed characteristic.
  enum ServiceChanged: Sendable, Hashable {
    /// It has none: its services are fixed (Part G, §7.1).
    case absent
    /// The handles of the value and of its configuration.
    case present(valueHandle: UInt16, configurationHandle: UInt16)
  }

  /// Creates an empty database.
  package init() {}

  /// The answer to a discovery, if it is known.
  func answer(_ operation: GATTOperation) -> HostReply? {
    switch operation {
    case .discoverServices(nil): return services.map { .services($0) }
    case .discoverServices(let uuids?):
      if let services { return .services(services.filter { uuids.contains($0.uuid) }) }
      var found: [RemoteService] = []
      for uuid in Set(uuids) {
        guard let some = servicesByUUID[uuid] else { return nil }
        found += some
      }
      return .services(found.sorted { $0.range.start < $1.range.start })
    case .discoverIncludedServices(let range):
      return includedServices[range].map { .services($0) }
    case .discoverCharacteristics(let range, let uuids):
      guard let all = characteristics[range] else { return nil }
      return .characteristics(all.filter { uuids?.contains($0.uuid) ?? true })
    case .discoverDescriptors(let range): return descriptors[range].map { .descriptors($0) }
    case .read, .readByUUID, .readMultiple, .write, .reliableWrite, .writeWithoutResponse,
      .signedWrite:
      return nil
    }
  }

  /// Remembers what a discovery found: the unfiltered list, where it was asked for with a filter.
  mutating func learn(_ operation: GATTOperation, _ reply: HostReply) {
    guard entryCount < GATTLimits.rememberedMax else { return }
    switch (operation, reply) {
    case (.discoverServices(nil), .services(let found)):
      services = found
      entryCount += found.count
    case (.discoverServices(let uuids?), .services(let found)):
      for uuid in uuids { servicesByUUID[uuid] = found.filter { $0.uuid == uuid } }
      entryCount += uuids.count + found.count
    case (.discoverIncludedServices(let range), .services(let found)):
      includedServices[range] = found
      entryCount += 1 + found.count
    case (.discoverCharacteristics(let range, _), .characteristics(let found)):
      characteristics[range] = found
      entryCount += 1 + found.count
    case (.discoverDescriptors(let range), .descriptors(let found)):
      descriptors[range] = found
      entryCount += 1 + found.count
    default: break
    }
  }

  /// Every primary service that was discovered, by any search, in the order of their handles.
  var knownServices: [RemoteService] {
    services ?? servicesByUUID.values.joined().sorted { $0.range.start < $1.range.start }
  }

  /// Whether a service was searched for and not found.
  func lacks(_ service: RemoteService) -> Bool {
    if let services { return !services.contains(service) }
    return servicesByUUID[service.uuid].map { !$0.contains(service) } ?? false
  }

  /// Whether the service at this handle is known to be primary or not.
  func isPrimary(_ handle: UInt16) -> Bool? {
    if let services { return services.contains { $0.range.start == handle } }
    let isKnown = servicesByUUID.values.contains { $0.contains { $0.range.start == handle } }
    return isKnown ? true : nil
  }

  /// Forgets everything except the handle of Service Changed.
  mutating func forget() {
    var empty = RemoteDatabase()
    empty.serviceChanged = serviceChanged
    empty.hashHandle = hashHandle
    self = empty
  }
}
