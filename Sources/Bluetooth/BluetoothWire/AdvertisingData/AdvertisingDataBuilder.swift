import Essentials

/// Builds advertising data of limited length.
///
/// Each `append` adds the whole structure, or returns false if it doesn't fit.
public struct AdvertisingDataBuilder: Sendable {
  /// The maximum size of legacy advertising data, or of a legacy scan response (Core 5.4, Vol 6,
  /// Part B, §2.3.1).
  public static let legacyByteCountMax = 31

  /// The advertising data built so far.
  public private(set) var bytes: [UInt8] = []
  /// The maximum size in bytes.
  public let byteCountMax: Int

  /// Creates a builder without data.
  public init(byteCountMax: Int = legacyByteCountMax) { self.byteCountMax = byteCountMax }

  /// The maximum size of another structure's data in bytes.
  public var room: Int { max(0, min(byteCountMax - bytes.count - 2, 254)) }

  /// Adds a structure.
  @discardableResult
  public mutating func append(_ type: AdvertisingDataType, _ data: some Collection<UInt8>) -> Bool {
    guard data.count <= room, bytes.count + 2 <= byteCountMax else { return false }
    bytes.append(UInt8(data.count + 1))
    bytes.append(type.rawValue)
    bytes.append(contentsOf: data)
    return true
  }

  /// Adds the flags.
  @discardableResult
  package mutating func append(_ flags: AdvertisingFlags) -> Bool {
    append(.flags, CollectionOfOne(flags.rawValue))
  }

  /// Adds the transmit power in dBm.
  @discardableResult
  public mutating func append(txPowerLevel: Int8) -> Bool {
    append(.txPowerLevel, CollectionOfOne(UInt8(bitPattern: txPowerLevel)))
  }

  /// Adds the appearance.
  @discardableResult
  public mutating func append(appearance: UInt16) -> Bool {
    append(.appearance, [UInt8(truncatingIfNeeded: appearance), UInt8(appearance >> 8)])
  }

  /// Adds a company's data.
  @discardableResult
  public mutating func append(manufacturer company: UInt16, _ data: some Collection<UInt8>) -> Bool
  {
    append(
      .manufacturerData, [UInt8(truncatingIfNeeded: company), UInt8(company >> 8)] + Array(data))
  }

  /// Adds a service's data.
  @discardableResult
  public mutating func append(serviceData uuid: BluetoothUUID, _ data: some Collection<UInt8>)
    -> Bool
  {
    var writer = ByteWriter()
    uuid.append(to: &writer, allowing32Bits: true)
    writer.append(data)
    switch uuid.width {
    case .bits16: return append(.serviceData16, writer.bytes)
    case .bits32: return append(.serviceData32, writer.bytes)
    case .bits128: return append(.serviceData128, writer.bytes)
    }
  }

  /// Adds as much of a name as fits, truncated between characters and then marked as shortened.
  ///
  /// Returns false if not even the first character fits.
  @discardableResult
  public mutating func append(localName: String) -> Bool {
    if append(.completeLocalName, Array(localName.utf8)) { return true }
    var cut = Substring(localName)
    while !cut.isEmpty, cut.utf8.count > room { cut.removeLast() }
    return !cut.isEmpty && append(.shortenedLocalName, Array(cut.utf8))
  }

  /// Adds as many service UUIDs as fit, with a structure for each width, shortest first, and
  /// returns those that don't fit. A structure is marked incomplete if UUIDs of its width are left
  /// over.
  @discardableResult
  public mutating func append(services: [BluetoothUUID]) -> [BluetoothUUID] {
    append(
      services,
      types: [
        .bits16: (.completeServices16, .incompleteServices16),
        .bits32: (.completeServices32, .incompleteServices32),
        .bits128: (.completeServices128, .incompleteServices128),
      ])
  }

  /// Adds as many UUIDs of solicited services as fit and returns those that don't.
  @discardableResult
  public mutating func append(solicitedServices services: [BluetoothUUID]) -> [BluetoothUUID] {
    append(
      services,
      types: [
        .bits16: (.solicitedServices16, .solicitedServices16),
        .bits32: (.solicitedServices32, .solicitedServices32),
        .bits128: (.solicitedServices128, .solicitedServices128),
      ])
  }

  private mutating func append(
    _ uuids: [BluetoothUUID],
    types: [BluetoothUUID.Width: (complete: AdvertisingDataType, incomplete: AdvertisingDataType)]
  ) -> [BluetoothUUID] {
    var leftOver: [BluetoothUUID] = []
    for width in [BluetoothUUID.Width.bits16, .bits32, .bits128] {
      let some = uuids.filter { $0.width == width }
      guard let (complete, incomplete) = types[width], !some.isEmpty else { continue }
      let fitting = some.prefix(room / Int(width.rawValue))
      var writer = ByteWriter()
      for uuid in fitting { uuid.append(to: &writer, allowing32Bits: true) }
      if !fitting.isEmpty {
        append(fitting.count == some.count ? complete : incomplete, writer.bytes)
      }
      leftOver += some.dropFirst(fitting.count)
    }
    return leftOver
  }
}
