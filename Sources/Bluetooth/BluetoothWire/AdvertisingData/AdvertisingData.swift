public import Essentials

/// Advertising data or a scan response, read in place (Core 5.4, Vol 3, Part C, §11).
///
/// A sequence of structures that ends at the first one of length zero or that claims more bytes
/// than are there: what came before is good, what follows is left out. Going through it allocates
/// nothing.
@frozen
public struct AdvertisingData: Hashable, Sendable, Sequence {
  /// The data as it was received.
  public let bytes: ArraySlice<UInt8>

  /// Reads `bytes`; any bytes will do.
  @inlinable
  public init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  /// Goes through the structures in their order.
  @inlinable
  public func makeIterator() -> Iterator { Iterator(bytes) }

  /// Whether a structure is longer than the remaining data.
  public var isMalformed: Bool {
    var iterator = makeIterator()
    while iterator.next() != nil {}
    return iterator.isMalformed
  }

  /// Reads one structure after the other.
  @frozen
  public struct Iterator: IteratorProtocol, Sendable {
    @usableFromInline var reader: ByteReader
    /// Whether the iteration ended at a structure that is longer than the remaining data.
    public internal(set) var isMalformed = false

    @usableFromInline
    init(_ bytes: ArraySlice<UInt8>) { reader = ByteReader(bytes) }

    /// The next structure.
    public mutating func next() -> AdvertisingStructure? {
      do throws(Truncated) {
        guard !isMalformed, !reader.isAtEnd else { return nil }
        let count = Int(try reader.uint8())
        guard count > 0 else {
          _ = reader.rest()
          return nil
        }
        var structure = ByteReader(try reader.slice(count))
        let type = AdvertisingDataType(rawValue: try structure.uint8())
        return AdvertisingStructure(type: type, data: structure.rest())
      } catch {
        isMalformed = true
        return nil
      }
    }
  }

  /// Whether a service UUID is listed, complete or not.
  public func listsService(_ uuid: BluetoothUUID) -> Bool {
    for structure in self {
      if case .services(let list, _) = structure.element, list.contains(uuid) { return true }
    }
    return false
  }

  /// Whether a service UUID is solicited.
  public func solicitsService(_ uuid: BluetoothUUID) -> Bool {
    for structure in self {
      if case .solicitedServices(let list) = structure.element, list.contains(uuid) { return true }
    }
    return false
  }
}

/// A structure of advertising data: a type and data.
@frozen
public struct AdvertisingStructure: Hashable, Sendable {
  /// The type of the data.
  public var type: AdvertisingDataType
  /// The bytes after the type.
  public var data: ArraySlice<UInt8>

  /// A structure from its parts.
  @inlinable
  public init(type: AdvertisingDataType, data: ArraySlice<UInt8>) {
    self.type = type
    self.data = data
  }

  /// The parsed structure; `.unknown` if the type is not known or the bytes don't fit it.
  package var element: AdvertisingElement {
    (try? knownElement()) ?? .unknown(type, data)
  }

  private func knownElement() throws(Truncated) -> AdvertisingElement? {
    var reader = ByteReader(data)
    switch type {
    case .flags: return .flags(AdvertisingFlags(rawValue: try reader.uint8()))
    case .incompleteServices16: return services(2, isComplete: false)
    case .completeServices16: return services(2, isComplete: true)
    case .incompleteServices32: return services(4, isComplete: false)
    case .completeServices32: return services(4, isComplete: true)
    case .incompleteServices128: return services(16, isComplete: false)
    case .completeServices128: return services(16, isComplete: true)
    case .solicitedServices16: return solicited(2)
    case .solicitedServices32: return solicited(4)
    case .solicitedServices128: return solicited(16)
    case .shortenedLocalName: return .localName(data, isComplete: false)
    case .completeLocalName: return .localName(data, isComplete: true)
    case .txPowerLevel: return .txPowerLevel(try reader.int8())
    case .connectionIntervalRange:
      return .connectionIntervalRange(min: try reader.uint16(), max: try reader.uint16())
    case .serviceData16: return try serviceData(2)
    case .serviceData32: return try serviceData(4)
    case .serviceData128: return try serviceData(16)
    case .appearance: return .appearance(try reader.uint16())
    case .manufacturerData:
      return .manufacturerData(company: try reader.uint16(), reader.rest())
    default: return nil
    }
  }

  private func services(_ width: Int, isComplete: Bool) -> AdvertisingElement? {
    AdvertisedUUIDs(bytes: data, byteCountEach: width).map { .services($0, isComplete: isComplete) }
  }

  private func solicited(_ width: Int) -> AdvertisingElement? {
    AdvertisedUUIDs(bytes: data, byteCountEach: width).map { .solicitedServices($0) }
  }

  private func serviceData(_ width: Int) throws(Truncated) -> AdvertisingElement? {
    var reader = ByteReader(data)
    guard let uuid = BluetoothUUID(littleEndian: try reader.slice(width)) else { return nil }
    return .serviceData(uuid, reader.rest())
  }
}

/// The contents of a structure of advertising data.
package enum AdvertisingElement: Hashable, Sendable {
  /// The flags of the device.
  case flags(AdvertisingFlags)
  /// The advertised service UUIDs, and whether the list of their width is complete.
  case services(AdvertisedUUIDs, isComplete: Bool)
  /// Solicited services.
  case solicitedServices(AdvertisedUUIDs)
  /// The name in UTF-8, or its beginning.
  case localName(ArraySlice<UInt8>, isComplete: Bool)
  /// Transmit power in dBm.
  case txPowerLevel(Int8)
  /// The preferred connection intervals in units of 1.25 ms; 0xFFFF for no preference.
  case connectionIntervalRange(min: UInt16, max: UInt16)
  /// Data of a service.
  case serviceData(BluetoothUUID, ArraySlice<UInt8>)
  /// The appearance of the device.
  case appearance(UInt16)
  /// Manufacturer-specific data.
  case manufacturerData(company: UInt16, ArraySlice<UInt8>)
  /// An unknown type, or data that is malformed for its type.
  case unknown(AdvertisingDataType, ArraySlice<UInt8>)
}

/// UUIDs of one width, decoded in place.
package struct AdvertisedUUIDs: Hashable, Sendable, Sequence {
  /// The UUIDs as they were received.
  package let bytes: ArraySlice<UInt8>
  /// 2, 4 or 16.
  package let byteCountEach: Int

  /// Reads whole UUIDs; nil where a part of one is left over.
  init?(bytes: ArraySlice<UInt8>, byteCountEach: Int) {
    guard bytes.count.isMultiple(of: byteCountEach) else { return nil }
    self.bytes = bytes
    self.byteCountEach = byteCountEach
  }

  /// The number of UUIDs.
  package var count: Int { bytes.count / byteCountEach }

  /// Goes through the UUIDs in their order.
  package func makeIterator() -> Iterator {
    Iterator(reader: ByteReader(bytes), byteCountEach: byteCountEach)
  }

  /// Reads one UUID after the other.
  package struct Iterator: IteratorProtocol, Sendable {
    var reader: ByteReader
    let byteCountEach: Int

    /// The next UUID.
    package mutating func next() -> BluetoothUUID? {
      do { return BluetoothUUID(littleEndian: try reader.slice(byteCountEach)) } catch {
        return nil
      }
    }
  }
}
