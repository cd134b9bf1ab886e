/// The type of an advertising structure (Supplement to the Core Specification v11, Part A, §1;
/// Assigned Numbers, §2.3).
@frozen
public struct AdvertisingDataType: RawRepresentable, Hashable, Sendable {
  /// The byte on the wire.
  public let rawValue: UInt8

  /// Creates a type from its byte. Every byte is allowed.
  @inlinable
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Flags.
  public static let flags = AdvertisingDataType(rawValue: 0x01)
  /// Some 16-bit service UUIDs.
  public static let incompleteServices16 = AdvertisingDataType(rawValue: 0x02)
  /// All 16-bit service UUIDs.
  public static let completeServices16 = AdvertisingDataType(rawValue: 0x03)
  /// Some 32-bit service UUIDs.
  public static let incompleteServices32 = AdvertisingDataType(rawValue: 0x04)
  /// All 32-bit service UUIDs.
  public static let completeServices32 = AdvertisingDataType(rawValue: 0x05)
  /// Some 128-bit service UUIDs.
  public static let incompleteServices128 = AdvertisingDataType(rawValue: 0x06)
  /// All 128-bit service UUIDs.
  public static let completeServices128 = AdvertisingDataType(rawValue: 0x07)
  /// The beginning of the local name.
  public static let shortenedLocalName = AdvertisingDataType(rawValue: 0x08)
  /// The whole local name.
  public static let completeLocalName = AdvertisingDataType(rawValue: 0x09)
  /// Transmit power in dBm.
  public static let txPowerLevel = AdvertisingDataType(rawValue: 0x0A)
  /// The connection intervals that the peripheral prefers.
  public static let connectionIntervalRange = AdvertisingDataType(rawValue: 0x12)
  /// 16-bit UUIDs of solicited services.
  public static let solicitedServices16 = AdvertisingDataType(rawValue: 0x14)
  /// 128-bit UUIDs of solicited services.
  public static let solicitedServices128 = AdvertisingDataType(rawValue: 0x15)
  /// Data of a service with a 16-bit UUID.
  public static let serviceData16 = AdvertisingDataType(rawValue: 0x16)
  /// The appearance of the device.
  public static let appearance = AdvertisingDataType(rawValue: 0x19)
  /// 32-bit UUIDs of solicited services.
  public static let solicitedServices32 = AdvertisingDataType(rawValue: 0x1F)
  /// Data of a service with a 32-bit UUID.
  public static let serviceData32 = AdvertisingDataType(rawValue: 0x20)
  /// Data of a service with a 128-bit UUID.
  public static let serviceData128 = AdvertisingDataType(rawValue: 0x21)
  /// Manufacturer-specific data.
  public static let manufacturerData = AdvertisingDataType(rawValue: 0xFF)
}

/// The Flags of a device (Supplement v11, Part A, §1.3).
package struct AdvertisingFlags: OptionSet, Hashable, Sendable {
  /// The octet on the wire.
  package let rawValue: UInt8

  /// Flags from their octet.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// LE Limited Discoverable Mode: discoverable for a limited time.
  package static let limitedDiscoverable = AdvertisingFlags(rawValue: 0x01)
  /// LE General Discoverable Mode.
  package static let generalDiscoverable = AdvertisingFlags(rawValue: 0x02)
  /// BR/EDR is not supported.
  package static let classicNotSupported = AdvertisingFlags(rawValue: 0x04)
  /// The controller supports LE and BR/EDR simultaneously.
  package static let simultaneousController = AdvertisingFlags(rawValue: 0x08)
}
