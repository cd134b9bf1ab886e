import BluetoothInterface
import BluetoothWire
import Essentials

/// The attributes that a host serves (Core 5.4, Vol 3, Part G, §2.5).
struct AttributeDatabase: Sendable {
  /// One attribute.
  struct Attribute: Sendable {
    let handle: UInt16
    let type: BluetoothUUID
    let permissions: AttributePermissions
    let source: Source
    /// The properties of a characteristic, for its value; all of them for other attributes.
    let properties: CharacteristicProperties
    /// The last handle of the service that this attribute declares; else its own handle.
    let groupEnd: UInt16
  }

  /// Where an attribute's value comes from.
  enum Source: Sendable {
    /// It never changes.
    case fixed([UInt8])
    /// The client that published it is asked.
    case owner(ClientID)
    /// A client characteristic configuration: each peer has its own.
    case configuration(Configuration)
    /// Client Supported Features: each peer has its own.
    case clientFeatures
    /// Database Hash.
    case databaseHash

    /// The client that published the attribute; nil for the host's own.
    var owner: ClientID? {
      switch self {
      case .owner(let client): client
      case .configuration(let configuration): configuration.owner
      case .fixed, .clientFeatures, .databaseHash: nil
      }
    }
  }

  /// What a client characteristic configuration configures.
  struct Configuration: Sendable {
    /// The characteristic value that is sent.
    let valueHandle: UInt16
    /// The client that published the characteristic; nil for the host's own Service Changed.
    let owner: ClientID?
    /// The bits that the characteristic's properties allow.
    let allowed: UInt16
  }

  /// One service.
  struct Service: Sendable {
    let uuid: BluetoothUUID
    let range: HandleRange
    let owner: ClientID?
    /// The owner's app; nil for the host's own process.
    let publisher: PublisherID?
    /// The definition without values.
    let layout: ServiceDefinition
  }

  /// All attributes, in the order of their handles.
  private(set) var attributes: [Attribute] = []
  private(set) var services: [Service] = []
  /// The client characteristic configuration of a characteristic value, by the value's handle.
  private(set) var configurationHandles: [UInt16: UInt16] = [:]
  private var knownHash: [UInt8]?
  private var knownOwnershipHash: [UInt8]?
  private var vacated = VacatedHandles()

  /// The position of the first attribute whose handle is not below `handle`.
  func position(atOrAfter handle: UInt16) -> Int {
    // Handles are dense unless services were removed, so the first guess is mostly right.
    let guess = Int(handle) - 1
    if attributes.indices.contains(guess), attributes[guess].handle == handle { return guess }
    var low = 0
    var high = attributes.count
    while low < high {
      let middle = (low + high) / 2
      if attributes[middle].handle < handle { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The attributes in a range, in order.
  func attributes(in range: HandleRange) -> ArraySlice<Attribute> {
    let first = position(atOrAfter: range.start)
    return attributes[first...].prefix { $0.handle <= range.end }
  }

  /// The attribute with this handle.
  func attribute(_ handle: UInt16) -> Attribute? {
    let position = position(atOrAfter: handle)
    guard position < attributes.count, attributes[position].handle == handle else { return nil }
    return attributes[position]
  }

  // MARK: Change

  /// Adds a service: with the handles that the same one of this publisher had, or else behind the last one; in a gap
  /// where no handles are left there.
  mutating func add(
    _ definition: ServiceDefinition, owner: ClientID?, publisher: PublisherID? = nil
  ) throws(HostError) -> PublishedService {
    let count = definition.attributeCount
    guard attributes.count + count <= GATTLimits.attributesMax else {
      throw .limitReached("attributes")
    }
    try check(definition)
    let layout = definition.layout
    let formerStart = vacated.take(layout, of: publisher)
    guard let start = formerStart ?? room(for: count) else { throw .limitReached("attributes") }
    let range = HandleRange(start, start + UInt16(count - 1))
    var builder = ServiceBuilder(owner: owner, range: range)
    builder.declare(definition, including: services)
    let position = position(atOrAfter: start)
    attributes.insert(contentsOf: builder.attributes, at: position)
    services.append(
      Service(
        uuid: definition.uuid, range: range, owner: owner, publisher: publisher, layout: layout))
    for characteristic in builder.published {
      configurationHandles[characteristic.valueHandle] = characteristic.configurationHandle
    }
    if formerStart == nil, Int(start) <= highestHandle { vacated.remove(range) }
    highestHandle = max(highestHandle, Int(range.end))
    knownHash = nil
    knownOwnershipHash = nil
    return PublishedService(range: range, characteristics: builder.published)
  }

  /// Removes the service that begins at this handle, if it is the owner's; returns its range.
  mutating func remove(_ start: UInt16, owner: ClientID) -> HandleRange? {
    guard
      let index = services.firstIndex(where: { $0.range.start == start && $0.owner == owner })
    else { return nil }
    let service = services.remove(at: index)
    let range = service.range
    vacated.add(service.layout, range, of: service.publisher)
    for attribute in attributes(in: range) {
      configurationHandles.removeValue(forKey: attribute.handle)
    }
    attributes.removeAll { range.contains($0.handle) }
    knownHash = nil
    knownOwnershipHash = nil
    return range
  }

  private func check(_ definition: ServiceDefinition) throws(HostError) {
    for handle in definition.includedServices
    where !services.contains(where: { $0.range.start == handle }) {
      throw .invalidArgument("No service begins at handle \(handle), so none can be included.")
    }
    let longest = GATTLimits.valueByteCountMax
    for characteristic in definition.characteristics {
      guard characteristic.value?.count ?? 0 <= longest,
        characteristic.descriptors.allSatisfy({ $0.value.count <= longest })
      else { throw .invalidArgument("A value is longer than \(longest) bytes.") }
      guard characteristic.descriptors.allSatisfy({ !Self.ownDescriptors.contains($0.uuid) })
      else { throw .invalidArgument("The host adds descriptors 2900 and 2902 by itself.") }
      let types = [characteristic.uuid] + characteristic.descriptors.map(\.uuid)
      guard types.allSatisfy({ !Self.declarations.contains($0) })
      else { throw .invalidArgument("2800 to 2803 are reserved for declarations.") }
    }
  }

  /// Characteristic Extended Properties and Client Characteristic Configuration.
  private static let ownDescriptors: [BluetoothUUID] = [0x2900, 0x2902]
  /// What peers discover services and characteristics by: one that a client made up would send them
  /// astray, and its value would have no place in the answer.
  private static let declarations: [BluetoothUUID] = [0x2800, 0x2801, 0x2802, 0x2803]

  /// The highest handle that was ever assigned.
  private var highestHandle = 0

  /// The first handle of a free range for this number of attributes; nil if there is none. Handles
  /// of removed services are not reused for others while more are free, because a peer may have cached them.
  private func room(for count: Int) -> UInt16? {
    if highestHandle + count <= 0xFFFF { return UInt16(highestHandle + 1) }
    let ranges = services.map(\.range)
    return gap(for: count, between: ranges + vacated.ranges) ?? gap(for: count, between: ranges)
  }

  private func gap(for count: Int, between ranges: [HandleRange]) -> UInt16? {
    var free = 1
    for range in ranges.sorted(by: { $0.start < $1.start }) {
      if Int(range.start) - free >= count { return UInt16(free) }
      free = Int(range.end) + 1
    }
    return 0x1_0000 - free >= count ? UInt16(free) : nil
  }

  // MARK: Hash

  /// The Database Hash in wire order (Core 5.4, Vol 3, Part G, §7.3.1).
  mutating func hash() -> [UInt8] {
    if let knownHash { return knownHash }
    var writer = ByteWriter(capacity: attributes.count * 8)
    for attribute in attributes {
      guard let type = attribute.type.short else { continue }
      switch type {
      case 0x2800...0x2803, 0x2900:
        guard case .fixed(let value) = attribute.source else { continue }
        writer.uint16(attribute.handle)
        writer.uint16(type)
        writer.append(value)
      case 0x2901...0x2905:
        writer.uint16(attribute.handle)
        writer.uint16(type)
      default: continue
      }
    }
    let hash = Self.hash(of: writer.bytes)
    knownHash = hash
    return hash
  }

  /// A hash of the database and of its publishers, with which what bonded peers have configured is stored: after a
  /// restart of the hub, programs with equal services may have one another's handles, in a database of the same hash.
  /// It is the Database Hash where all services are of the host's own process.
  mutating func ownershipHash() -> [UInt8] {
    if let knownOwnershipHash { return knownOwnershipHash }
    var hash = hash()
    let published = services.filter { $0.publisher != nil }
    if !published.isEmpty {
      var writer = ByteWriter(capacity: published.count * 32)
      writer.append(hash)
      for service in published.sorted(by: { $0.range.start < $1.range.start }) {
        guard let publisher = service.publisher else { continue }
        writer.uint16(service.range.start)
        writer.uint32(publisher.userID)
        for name in [publisher.app, publisher.manager] {
          writer.uint16(UInt16(clamping: name.utf8.count))
          writer.append(Array(name.utf8))
        }
      }
      hash = Self.hash(of: writer.bytes)
    }
    knownOwnershipHash = hash
    return hash
  }

  private static func hash(of bytes: [UInt8]) -> [UInt8] {
    AES128(key: [UInt8](repeating: 0, count: 16)).cmac(bytes).reversed()
  }
}

/// Lays out the attributes of one service (Core 5.4, Vol 3, Part G, §3).
private struct ServiceBuilder {
  let owner: ClientID?
  let range: HandleRange
  var attributes: [AttributeDatabase.Attribute] = []
  var published: [PublishedCharacteristic] = []

  init(owner: ClientID?, range: HandleRange) {
    self.owner = owner
    self.range = range
  }

  private var nextHandle: UInt16 { range.start + UInt16(attributes.count) }

  private mutating func add(
    _ type: BluetoothUUID, _ source: AttributeDatabase.Source,
    _ permissions: AttributePermissions = .readable,
    properties: CharacteristicProperties = [.read, .write, .writeWithoutResponse],
    groupEnd: UInt16? = nil
  ) {
    let handle = nextHandle
    attributes.append(
      AttributeDatabase.Attribute(
        handle: handle, type: type, permissions: permissions, source: source,
        properties: properties, groupEnd: groupEnd ?? handle))
  }

  mutating func declare(
    _ definition: ServiceDefinition, including services: [AttributeDatabase.Service]
  ) {
    var uuid = ByteWriter(capacity: 16)
    definition.uuid.append(to: &uuid)
    add(
      definition.isPrimary ? 0x2800 : 0x2801, .fixed(uuid.bytes), groupEnd: range.end)
    for start in definition.includedServices {
      guard let service = services.first(where: { $0.range.start == start }) else { continue }
      var value = ByteWriter(capacity: 6)
      value.uint16(service.range.start)
      value.uint16(service.range.end)
      if service.uuid.width == .bits16 { service.uuid.append(to: &value) }
      add(0x2802, .fixed(value.bytes))
    }
    for characteristic in definition.characteristics { declare(characteristic) }
  }

  private mutating func declare(_ definition: CharacteristicDefinition) {
    var declaration = ByteWriter(capacity: 19)
    declaration.uint8(definition.properties.rawValue)
    declaration.uint16(nextHandle + 1)
    definition.uuid.append(to: &declaration)
    add(0x2803, .fixed(declaration.bytes))

    let valueHandle = nextHandle
    add(
      definition.uuid, source(of: definition), definition.permissions,
      properties: definition.properties)
    if definition.properties.contains(.extendedProperties) {
      // Reliable writes are taken; the user description cannot be written.
      add(0x2900, .fixed([1, 0]))
    }
    var configurationHandle: UInt16?
    if definition.hasConfiguration {
      configurationHandle = nextHandle
      let allowed: UInt16 =
        (definition.properties.contains(.notify) ? 1 : 0)
        | (definition.properties.contains(.indicate) ? 2 : 0)
      var permissions: AttributePermissions = [.readable, .writeable]
      if definition.subscribingRequiresEncryption {
        permissions.insert(.writeEncryptionRequired)
      }
      if definition.subscribingRequiresAuthentication {
        permissions.insert(.writeAuthenticationRequired)
      }
      add(
        0x2902,
        .configuration(.init(valueHandle: valueHandle, owner: owner, allowed: allowed)),
        permissions)
    }
    for descriptor in definition.descriptors { add(descriptor.uuid, .fixed(descriptor.value)) }
    published.append(
      PublishedCharacteristic(valueHandle: valueHandle, configurationHandle: configurationHandle))
  }

  private func source(of definition: CharacteristicDefinition) -> AttributeDatabase.Source {
    if let value = definition.value { return .fixed(value) }
    if let owner { return .owner(owner) }
    // The host's own characteristics, distinguished by their types.
    switch definition.uuid.short {
    case 0x2B29: return .clientFeatures
    case 0x2B2A: return .databaseHash
    default: return .fixed([])
    }
  }
}

extension ServiceDefinition {
  /// The Generic Access service (Core 5.4, Vol 3, Part C, §12).
  static func genericAccess(name: String, appearance: UInt16) -> ServiceDefinition {
    ServiceDefinition(
      uuid: 0x1800,
      characteristics: [
        CharacteristicDefinition(
          uuid: 0x2A00, properties: .read, permissions: .readable,
          // At most 248 bytes (§12.1).
          value: Array(Array(name.utf8).utf8Prefix(248))),
        CharacteristicDefinition(
          uuid: 0x2A01, properties: .read, permissions: .readable,
          value: [UInt8(truncatingIfNeeded: appearance), UInt8(appearance >> 8)]),
      ])
  }

  /// The Generic Attribute service (Core 5.4, Vol 3, Part G, §7).
  static func genericAttribute(takesEnhancedBearers: Bool) -> ServiceDefinition {
    ServiceDefinition(
      uuid: 0x1801,
      characteristics: [
        CharacteristicDefinition(uuid: 0x2A05, properties: .indicate, permissions: []),
        CharacteristicDefinition(
          uuid: 0x2B29, properties: [.read, .write], permissions: [.readable, .writeable]),
        CharacteristicDefinition(uuid: 0x2B2A, properties: .read, permissions: .readable),
        // Server Supported Features (§7.4).
        CharacteristicDefinition(
          uuid: 0x2B3A, properties: .read, permissions: .readable,
          value: [takesEnhancedBearers ? 1 : 0]),
      ])
  }
}
