import Essentials

/// The 21 bytes with the identity and the measured power of an iBeacon.
public struct IBeacon: Hashable, Sendable {
  /// The company identifier of an iBeacon's manufacturer-specific data: Apple's.
  public static let company: UInt16 = 0x004C
  /// The size of an iBeacon in bytes, as in the value of `kCBAdvDataAppleBeaconKey` for
  /// `CBPeripheralManager.startAdvertising`.
  public static let byteCount = 21

  /// What Apple's manufacturer data begins with where it is an iBeacon: a type, and a length.
  static let type: UInt8 = 0x02
  static let length: UInt8 = 0x15

  /// The UUID of the beacon's owner or app.
  public var uuid: BluetoothUUID
  /// The group of beacons.
  public var major: UInt16
  /// The beacon within the group.
  public var minor: UInt16
  /// Strength that a receiver one metre away measures, in dBm.
  public var powerAtOneMetre: Int8

  /// A beacon's numbers and strength.
  public init(uuid: BluetoothUUID, major: UInt16, minor: UInt16, powerAtOneMetre: Int8) {
    self.uuid = uuid
    self.major = major
    self.minor = minor
    self.powerAtOneMetre = powerAtOneMetre
  }

  /// Reads the 21 bytes.
  public init(decoding bytes: ArraySlice<UInt8>) throws(WireError) {
    guard bytes.count <= Self.byteCount else {
      throw .trailingBytes(count: bytes.count - Self.byteCount)
    }
    var reader = ByteReader(bytes)
    self = try decoding { () throws(Truncated) in
      IBeacon(
        uuid: BluetoothUUID(high: try reader.bigEndian(8), low: try reader.bigEndian(8)),
        major: UInt16(truncatingIfNeeded: try reader.bigEndian(2)),
        minor: UInt16(truncatingIfNeeded: try reader.bigEndian(2)),
        powerAtOneMetre: try reader.int8())
    }
  }

  /// The 21 bytes: UUID, major and minor number, most significant byte first, and the strength.
  public var bytes: [UInt8] {
    var writer = ByteWriter(capacity: Self.byteCount)
    writer.bigEndian(uuid.high, count: 8)
    writer.bigEndian(uuid.low, count: 8)
    writer.bigEndian(UInt64(major), count: 2)
    writer.bigEndian(UInt64(minor), count: 2)
    writer.int8(powerAtOneMetre)
    return writer.bytes
  }

  /// The manufacturer data, company identifier included: 25 bytes.
  public var manufacturerData: [UInt8] {
    var writer = ByteWriter(capacity: 4 + Self.byteCount)
    writer.uint16(Self.company)
    writer.uint8(Self.type)
    writer.uint8(Self.length)
    writer.append(bytes)
    return writer.bytes
  }

  /// The advertising data of a beacon without other data: flags and manufacturer data, 30 bytes.
  public var advertisingData: [UInt8] {
    var writer = ByteWriter(capacity: 31)
    let flags: AdvertisingFlags = [.generalDiscoverable, .classicNotSupported]
    writer.append([2, AdvertisingDataType.flags.rawValue, flags.rawValue])
    let data = manufacturerData
    writer.append([UInt8(data.count + 1), AdvertisingDataType.manufacturerData.rawValue])
    writer.append(data)
    return writer.bytes
  }
}
