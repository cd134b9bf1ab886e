import BluetoothInterface
import BluetoothWire

// Addresses, identifiers, codes and keys.

/// Whether it is public or random in one byte, then six bytes.
extension DeviceAddress: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let number = try coder.byte(value?.kind.rawValue)
    guard let kind = Kind(rawValue: number) else {
      throw .unknownNumber(of: "DeviceAddress.Kind", number: number)
    }
    return DeviceAddress(bits: try coder.fixed(value?.bits, byteCount: 6), kind: kind)
  }
}

/// The number of bytes of its shortest form, then these, least significant first.
extension BluetoothUUID: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let byteCount = try coder.byte(value?.width.rawValue)
    guard let width = Width(rawValue: byteCount) else {
      throw .invalidValue(of: "BluetoothUUID.Width", number: UInt64(byteCount))
    }
    if width == .bits128 {
      let low = try coder.fixed(value?.low, byteCount: 8)
      return BluetoothUUID(high: try coder.fixed(value?.high, byteCount: 8), low: low)
    }
    let short = try coder.fixed((value?.high).map { $0 >> 32 }, byteCount: Int(byteCount))
    return BluetoothUUID(UInt32(truncatingIfNeeded: short))
  }
}

extension HandleRange: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try HandleRange(coder.field(value) { $0.start }, coder.field(value) { $0.end })
  }
}

extension RequestToken: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    RequestToken(rawValue: try coder.field(value) { $0.rawValue })
  }
}

extension ServerRequestID: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    ServerRequestID(rawValue: try coder.field(value) { $0.rawValue })
  }
}

extension ChannelID: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    ChannelID(rawValue: try coder.field(value) { $0.rawValue })
  }
}

extension PairingPromptID: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    PairingPromptID(rawValue: try coder.field(value) { $0.rawValue })
  }
}

/// A number of one byte that the specification, or an API, defines.
protocol HubByte: HubCodable, RawRepresentable where RawValue == UInt8 {
  /// The value in place of one that only a later version knows; nil to skip what contains it.
  static var substitute: Self? { get }
}

extension HubByte {
  static var substitute: Self? { nil }

  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let byte = try coder.byte(value?.rawValue)
    if let known = Self(rawValue: byte) ?? substitute { return known }
    throw .unknownNumber(of: "\(Self.self)", number: byte)
  }
}

extension HCIStatus: HubByte {}
extension ATTErrorCode: HubByte {}
extension SMPFailureReason: HubByte {}
extension SMPIOCapability: HubByte {}
/// An app must learn of a link also if its PHY is of a later version.
extension PHY: HubByte {
  static var substitute: PHY? { .le1M }
}
extension PHYSet: HubByte {}
extension CharacteristicProperties: HubByte {}
extension AttributePermissions: HubByte {}

/// Its halves, the more significant one first; each least significant byte first.
extension SMPValue: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let high = try coder.fixed(
      value.map { UInt64(truncatingIfNeeded: $0.number >> 64) }, byteCount: 8)
    let low = try coder.fixed(value.map { UInt64(truncatingIfNeeded: $0.number) }, byteCount: 8)
    return SMPValue(number: UInt128(high) << 64 | UInt128(low))
  }
}
