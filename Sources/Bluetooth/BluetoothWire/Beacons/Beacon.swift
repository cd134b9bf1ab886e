import Essentials

/// What a beacon says in its advertising data.
public enum Beacon: Hashable, Sendable {
  /// Apple's iBeacon.
  case iBeacon(IBeacon)
  /// Eddystone-UID: a namespace of 10 and an instance of 6 bytes, with the power at 0 m in dBm.
  case eddystoneUID(namespace: [UInt8], instance: [UInt8], powerAtZeroMetres: Int8)
  /// Eddystone-URL, expanded.
  case eddystoneURL(String, powerAtZeroMetres: Int8)
  /// Eddystone-TLM: how the beacon itself is doing.
  case eddystoneTelemetry(EddystoneTelemetry)
  /// Eddystone-EID: an identifier that only its owner can resolve.
  case eddystoneEphemeral([UInt8], powerAtZeroMetres: Int8)

  /// Which company's manufacturer data can hold an iBeacon.
  public static let appleCompany: UInt16 = 0x004C
  /// The service whose service data holds Eddystone frames.
  public static let eddystoneService: BluetoothUUID = 0xFEAA

  /// Reads an iBeacon from manufacturer data, company identifier included; nil for anything else.
  public init?(manufacturerData: ArraySlice<UInt8>) {
    var reader = ByteReader(manufacturerData)
    guard manufacturerData.count == 25 else { return nil }
    do throws(Truncated) {
      guard try reader.uint16() == Self.appleCompany, try reader.uint16() == 0x1502 else {
        return nil
      }
      let high = try reader.bigEndian(8)
      self = .iBeacon(
        IBeacon(
          uuid: BluetoothUUID(high: high, low: try reader.bigEndian(8)),
          major: UInt16(truncatingIfNeeded: try reader.bigEndian(2)),
          minor: UInt16(truncatingIfNeeded: try reader.bigEndian(2)),
          powerAtOneMetre: try reader.int8()))
    } catch {
      return nil
    }
  }

  /// Reads an Eddystone frame from the service data of `service`; nil for anything else.
  public init?(serviceData: ArraySlice<UInt8>, of service: BluetoothUUID) {
    guard service == Self.eddystoneService else { return nil }
    var reader = ByteReader(serviceData)
    do throws(Truncated) {
      switch try reader.uint8() {
      case 0x00:
        let power = try reader.int8()
        let namespace = Array(try reader.slice(10))
        self = .eddystoneUID(
          namespace: namespace, instance: Array(try reader.slice(6)), powerAtZeroMetres: power)
      case 0x10:
        let power = try reader.int8()
        guard let url = Self.expandedURL(reader.rest()) else { return nil }
        self = .eddystoneURL(url, powerAtZeroMetres: power)
      case 0x20:
        guard try reader.uint8() == 0 else { return nil }
        self = .eddystoneTelemetry(
          EddystoneTelemetry(
            batteryMillivolts: UInt16(truncatingIfNeeded: try reader.bigEndian(2)),
            temperature256ths: Int16(truncatingIfNeeded: try reader.bigEndian(2)),
            advertisementCount: UInt32(truncatingIfNeeded: try reader.bigEndian(4)),
            uptimeTenths: UInt32(truncatingIfNeeded: try reader.bigEndian(4))))
      case 0x30:
        let power = try reader.int8()
        self = .eddystoneEphemeral(Array(try reader.slice(8)), powerAtZeroMetres: power)
      default: return nil
      }
    } catch {
      return nil
    }
  }

  /// Scheme prefix and domain codes become text (Eddystone-URL specification).
  private static func expandedURL(_ bytes: ArraySlice<UInt8>) -> String? {
    let schemes = ["http://www.", "https://www.", "http://", "https://"]
    let domains = [".com", ".org", ".edu", ".net", ".info", ".biz", ".gov"]
    guard let first = bytes.first, Int(first) < schemes.count else { return nil }
    var url = schemes[Int(first)]
    for byte in bytes.dropFirst() {
      switch byte {
      case 0...6: url += domains[Int(byte)] + "/"
      case 7...13: url += domains[Int(byte) - 7]
      case 0x21...0x7E: url.unicodeScalars.append(Unicode.Scalar(byte))
      default: return nil
      }
    }
    return url
  }
}

/// The 21 bytes that identify an iBeacon and tell its strength.
public struct IBeacon: Hashable, Sendable {
  /// Whose beacons these are.
  public var uuid: BluetoothUUID
  /// Which group of them.
  public var major: UInt16
  /// Which one of the group.
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
}

/// How an Eddystone beacon is doing.
public struct EddystoneTelemetry: Hashable, Sendable {
  /// Battery voltage; 0 where it isn't measured.
  public var batteryMillivolts: UInt16
  /// Temperature in 1/256 °C; -32768 where it isn't measured.
  public var temperature256ths: Int16
  /// Frames sent since it was switched on.
  public var advertisementCount: UInt32
  /// Time since it was switched on, in units of 0.1 s.
  public var uptimeTenths: UInt32
}

extension Beacon: CustomStringConvertible {
  /// `iBeacon 2F234454-CF6D-4A0F-ADF2-F4911BA9FFA6 major 1 minor 2`.
  public var description: String {
    switch self {
    case .iBeacon(let beacon):
      return "iBeacon \(beacon.uuid.fullDescription) major \(beacon.major) minor \(beacon.minor)"
    case .eddystoneUID(let namespace, let instance, _):
      return "Eddystone \(Hexadecimal.string(namespace)) \(Hexadecimal.string(instance))"
    case .eddystoneURL(let url, _): return "Eddystone \(url)"
    case .eddystoneTelemetry(let telemetry):
      let temperature = DecimalText.string(
        Int64(telemetry.temperature256ths) * 100 / 256, exponent: -2)
      return "Eddystone telemetry \(telemetry.batteryMillivolts) mV, \(temperature) °C"
    case .eddystoneEphemeral(let identifier, _):
      return "Eddystone ephemeral \(Hexadecimal.string(identifier))"
    }
  }
}
