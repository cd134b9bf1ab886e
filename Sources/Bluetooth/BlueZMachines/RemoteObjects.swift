import BluetoothInterface
import BluetoothWire

/// The attributes of a device, by the paths of their objects.
struct RemoteObjects: Sendable {
  struct Service: Sendable {
    var handle: UInt16
    var uuid: BluetoothUUID
    var isPrimary: Bool
    var includes: [String]
  }

  struct Characteristic: Sendable {
    /// The handle of the declaration; that of the value follows.
    var handle: UInt16
    var uuid: BluetoothUUID
    var properties: CharacteristicProperties
    var valueHandle: UInt16 { handle &+ 1 }
  }

  struct Descriptor: Sendable {
    var handle: UInt16
    var uuid: BluetoothUUID
  }

  private(set) var services: [String: Service] = [:]
  private(set) var characteristics: [String: Characteristic] = [:]
  private(set) var descriptors: [String: Descriptor] = [:]
  /// The paths of values, by their handles.
  private(set) var paths: [UInt16: String] = [:]
  /// The largest MTU that a characteristic has reported.
  private(set) var mtu = 0

  /// What a client may read without an effect after a write: a configuration, a description or a format, else a value
  /// that can't be read, which the peer refuses, else the written value.
  func probeHandle(after written: UInt16) -> UInt16 {
    let uuids = ([0x2902, 0x2901, 0x2904] as [UInt16]).map { BluetoothUUID($0) }
    let known = descriptors.values.filter { uuids.contains($0.uuid) }.map(\.handle).min()
    if let known { return known }
    if characteristic(withValue: written)?.properties.contains(.read) == false { return written }
    return characteristics.values.filter { !$0.properties.contains(.read) }.map(\.valueHandle).min()
      ?? written
  }

  private func characteristic(withValue handle: UInt16) -> Characteristic? {
    paths[handle].flatMap { characteristics[$0] }
  }

  var isEmpty: Bool { services.isEmpty }
  var count: Int { services.count + characteristics.count + descriptors.count }

  /// Adds an object; false for one that isn't an attribute, or whose path or UUID is malformed.
  mutating func add(_ path: String, _ interfaces: [String: [String: BusValue]]) -> Bool {
    guard let handle = ObjectPath.handle(in: path), handle > 0,
      count < BlueZLimits.attributeCountMax
    else { return false }
    if let values = interfaces[BusName.service], let uuid = Self.uuid(values) {
      services[path] = Service(
        handle: handle, uuid: uuid, isPrimary: values["Primary"]?.boolean ?? true,
        includes: values["Includes"]?.paths ?? [])
    } else if let values = interfaces[BusName.characteristic], let uuid = Self.uuid(values),
      handle < .max
    {
      let characteristic = Characteristic(
        handle: handle, uuid: uuid, properties: Self.properties(values["Flags"]?.strings ?? []))
      characteristics[path] = characteristic
      paths[characteristic.valueHandle] = path
      mtu = max(mtu, Int(values["MTU"]?.uint16 ?? 0))
    } else if let values = interfaces[BusName.descriptor], let uuid = Self.uuid(values) {
      descriptors[path] = Descriptor(handle: handle, uuid: uuid)
      paths[handle] = path
    } else {
      return false
    }
    return true
  }

  /// Removes an object. Returns the handles of a removed service.
  mutating func remove(_ path: String) -> HandleRange? {
    if let service = services[path] {
      let end = Self.end(after: service.handle, starts)
      services[path] = nil
      return HandleRange(service.handle, end)
    }
    if let characteristic = characteristics.removeValue(forKey: path) {
      paths[characteristic.valueHandle] = nil
    } else if let descriptor = descriptors.removeValue(forKey: path) {
      paths[descriptor.handle] = nil
    }
    return nil
  }

  mutating func update(mtu: UInt16) { self.mtu = max(self.mtu, Int(mtu)) }

  private static func uuid(_ values: [String: BusValue]) -> BluetoothUUID? {
    values["UUID"]?.text.flatMap { BluetoothUUID($0) }
  }

  private static func properties(_ flags: [String]) -> CharacteristicProperties {
    flags.reduce(into: []) { properties, flag in
      switch flag {
      case "broadcast": properties.insert(.broadcast)
      case "read": properties.insert(.read)
      case "write-without-response": properties.insert(.writeWithoutResponse)
      case "write": properties.insert(.write)
      case "notify": properties.insert(.notify)
      case "indicate": properties.insert(.indicate)
      case "authenticated-signed-writes": properties.insert(.authenticatedSignedWrites)
      case "extended-properties", "reliable-write", "writable-auxiliaries":
        properties.insert(.extendedProperties)
      default: break
      }
    }
  }

  // MARK: Procedures of discovery

  /// The first handles of all services, ascending.
  private var starts: [UInt16] { services.values.map(\.handle).sorted() }

  /// The last handle before the next service.
  private static func end(after handle: UInt16, _ starts: [UInt16]) -> UInt16 {
    var (low, high) = (0, starts.count)
    while low < high {
      let middle = (low + high) / 2
      if starts[middle] > handle { high = middle } else { low = middle + 1 }
    }
    return low < starts.count ? starts[low] - 1 : .max
  }

  private static func remote(_ service: Service, _ starts: [UInt16]) -> RemoteService {
    RemoteService(
      uuid: service.uuid, range: HandleRange(service.handle, end(after: service.handle, starts)),
      isPrimary: service.isPrimary)
  }

  /// In the order of their handles.
  func primaryServices(_ wanted: [BluetoothUUID]?) -> [RemoteService] {
    let starts = starts
    return services.values.filter { $0.isPrimary && (wanted?.contains($0.uuid) ?? true) }
      .sorted { $0.handle < $1.handle }.map { Self.remote($0, starts) }
  }

  func includedServices(in range: HandleRange) -> [RemoteService] {
    let starts = starts
    return services.values.filter { range.contains($0.handle) }.flatMap(\.includes)
      .compactMap { services[$0] }.sorted { $0.handle < $1.handle }
      .map { Self.remote($0, starts) }
  }

  func characteristics(in range: HandleRange, _ wanted: [BluetoothUUID]?) -> [RemoteCharacteristic]
  {
    let starts = starts
    let sorted = characteristics.values.filter { range.contains($0.handle) }
      .sorted { $0.handle < $1.handle }
    return sorted.indices.compactMap { index in
      let characteristic = sorted[index]
      guard wanted?.contains(characteristic.uuid) ?? true else { return nil }
      let next = index + 1 < sorted.count ? sorted[index + 1].handle - 1 : range.end
      let end = min(next, Self.end(after: characteristic.handle, starts))
      return RemoteCharacteristic(
        uuid: characteristic.uuid, declarationHandle: characteristic.handle,
        valueHandle: characteristic.valueHandle, endHandle: max(characteristic.valueHandle, end),
        properties: characteristic.properties)
    }
  }

  func descriptors(in range: HandleRange) -> [RemoteDescriptor] {
    descriptors.values.filter { range.contains($0.handle) }.sorted { $0.handle < $1.handle }
      .map { RemoteDescriptor(uuid: $0.uuid, handle: $0.handle) }
  }

  /// The values of characteristics, and descriptors, with a type, in the order of their handles.
  func valueHandles(of uuid: BluetoothUUID, in range: HandleRange) -> [UInt16] {
    let values = characteristics.values.filter { $0.uuid == uuid }.map(\.valueHandle)
    let others = descriptors.values.filter { $0.uuid == uuid }.map(\.handle)
    return (values + others).filter { range.contains($0) }.sorted()
  }
}
