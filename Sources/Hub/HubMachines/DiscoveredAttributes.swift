import BluetoothInterface
import BluetoothWire

/// What a session has discovered of its peers, as far as there is room for it.
///
/// A peer with more attributes than there is room for has none: a part would look like all of them.
struct DiscoveredAttributes: Sendable {
  /// The maximum number of attributes of all peers together: some 40 KiB of an answer.
  static let countMax = 1_024

  private typealias Service = PeerAttributes.Service

  private var services: [DeviceAddress: [UInt16: Service]] = [:]
  /// Peers whose attributes had no room. They have some again over another link.
  private var large: Set<DeviceAddress> = []
  private(set) var count = 0

  /// By the addresses of the peers.
  var peers: [PeerAttributes] {
    services.sorted { $0.key.bits < $1.key.bits }.map { peer, services in
      PeerAttributes(
        peer: peer, services: services.sorted { $0.key < $1.key }.map(\.value))
    }
  }

  /// The session's link to a peer has ended.
  mutating func remove(_ peer: DeviceAddress) {
    count -= Self.count(services.removeValue(forKey: peer))
    large.remove(peer)
  }

  /// A peer's attributes in a range are no longer valid.
  mutating func changed(_ range: HandleRange, of peer: DeviceAddress) {
    update(peer) { services in
      services = services.filter {
        $0.value.service.range.start > range.end || range.start > $0.value.service.range.end
      }
    }
  }

  /// A procedure has discovered attributes of a connected peer.
  mutating func discovered(
    _ reply: HostReply, by operation: GATTOperation, of peer: DeviceAddress
  ) {
    update(peer) { services in
      switch (operation, reply) {
      case (.discoverServices(let filter), .services(let found)):
        Self.merge(found, into: &services, isComplete: filter == nil)
      case (.discoverIncludedServices(let range), .services(let found)):
        Self.merge(found, includedIn: range, into: &services)
      case (.discoverCharacteristics(let range, let filter), .characteristics(let found)):
        Self.merge(found, in: range, into: &services, isComplete: filter == nil)
      case (.discoverDescriptors(let range), .descriptors(let found)):
        Self.merge(found, in: range, into: &services)
      default: break
      }
    }
  }

  private mutating func update(
    _ peer: DeviceAddress, _ body: (inout [UInt16: Service]) -> Void
  ) {
    guard !large.contains(peer) else { return }
    var found = services[peer] ?? [:]
    count -= Self.count(found)
    body(&found)
    let newCount = Self.count(found)
    if count + newCount > Self.countMax {
      found = [:]
      large.insert(peer)
    } else {
      count += newCount
    }
    services[peer] = found.isEmpty ? nil : found
  }

  private static func count(_ services: [UInt16: Service]?) -> Int {
    (services ?? [:]).values.reduce(0) { count, service in
      count + 1 + (service.includedServices?.count ?? 0)
        + (service.characteristics ?? []).reduce(0) { $0 + 1 + ($1.descriptors?.count ?? 0) }
    }
  }

  // MARK: Merging

  private static func merge(
    _ found: [RemoteService], into services: inout [UInt16: Service], isComplete: Bool
  ) {
    if isComplete {
      let starts = Set(found.map(\.range.start))
      services = services.filter { !$0.value.isListed || starts.contains($0.key) }
    }
    for service in found { merge(service, into: &services, isListed: true) }
  }

  private static func merge(
    _ found: [RemoteService], includedIn range: HandleRange, into services: inout [UInt16: Service]
  ) {
    guard services[range.start] != nil else { return }
    for service in found { merge(service, into: &services, isListed: false) }
    services[range.start]?.includedServices = found.map(\.range.start)
  }

  private static func merge(
    _ found: RemoteService, into services: inout [UInt16: Service], isListed: Bool
  ) {
    if let known = services[found.range.start], known.service.uuid == found.uuid {
      services[found.range.start]?.service = found
      services[found.range.start]?.isListed = known.isListed || isListed
    } else {
      services[found.range.start] = Service(service: found, isListed: isListed)
    }
  }

  private static func merge(
    _ found: [RemoteCharacteristic], in range: HandleRange, into services: inout [UInt16: Service],
    isComplete: Bool
  ) {
    guard let service = services[range.start] else { return }
    let known = service.characteristics ?? []
    let handles = Set(found.map(\.valueHandle))
    let kept = isComplete ? [] : known.filter { !handles.contains($0.characteristic.valueHandle) }
    let merged = found.map { characteristic in
      let before = known.first {
        $0.characteristic.valueHandle == characteristic.valueHandle
          && $0.characteristic.uuid == characteristic.uuid
      }
      return PeerAttributes.Characteristic(
        characteristic: characteristic, descriptors: before?.descriptors)
    }
    services[range.start]?.characteristics = (kept + merged).sorted {
      $0.characteristic.valueHandle < $1.characteristic.valueHandle
    }
  }

  /// The range of descriptors begins behind the value of their characteristic.
  private static func merge(
    _ found: [RemoteDescriptor], in range: HandleRange, into services: inout [UInt16: Service]
  ) {
    for (start, service) in services {
      let index = service.characteristics?.firstIndex {
        HandleRange(
          after: $0.characteristic.valueHandle, through: $0.characteristic.endHandle) == range
      }
      guard let index else { continue }
      services[start]?.characteristics?[index].descriptors = found
      return
    }
  }
}

extension GATTOperation {
  /// Whether it discovers attributes.
  var isDiscovery: Bool {
    switch self {
    case .discoverServices, .discoverIncludedServices, .discoverCharacteristics,
      .discoverDescriptors:
      true
    case .read, .readByUUID, .readMultiple, .write, .reliableWrite, .writeWithoutResponse,
      .signedWrite:
      false
    }
  }
}
