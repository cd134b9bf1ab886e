import Essentials

/// The contents of a beacon's advertising data.
package enum Beacon: Hashable, Sendable {
  /// Apple's iBeacon.
  case iBeacon(IBeacon)
  /// An AltBeacon.
  case altBeacon(AltBeacon)
  /// Eddystone-UID: a namespace of 10 and an instance of 6 bytes, with the power at 0 m in dBm.
  case eddystoneUID(namespace: [UInt8], instance: [UInt8], powerAtZeroMetres: Int8)
  /// Eddystone-URL, expanded.
  case eddystoneURL(String, powerAtZeroMetres: Int8)
  /// Eddystone-TLM: how the beacon itself is doing.
  case eddystoneTelemetry(EddystoneTelemetry)
  /// Eddystone-EID: an identifier that only its owner can resolve.
  case eddystoneEphemeral([UInt8], powerAtZeroMetres: Int8)

  /// The result of reading advertising data as a beacon.
  package enum Reading: Hashable, Sendable {
    /// A beacon.
    case beacon(Beacon)
    /// The data begins like a beacon, but it is too short, too long or contains an invalid value.
    case malformed
    /// The data is not a beacon.
    case foreign
  }

  /// The service of Eddystone service data.
  package static let eddystoneService: BluetoothUUID = 0xFEAA

  /// The path loss of an Eddystone beacon from 0 m to 1 m, in dB (Eddystone-UID specification, Tx
  /// Power).
  package static let eddystoneLossOverFirstMetre: Int8 = 41

  /// Reads a beacon from manufacturer data, company identifier included; nil for anything else.
  package init?(manufacturerData: ArraySlice<UInt8>) {
    guard case .beacon(let beacon) = Self.read(manufacturerData: manufacturerData) else {
      return nil
    }
    self = beacon
  }

  /// Reads an Eddystone frame from the service data of `service`; nil for anything else.
  package init?(serviceData: ArraySlice<UInt8>, of service: BluetoothUUID) {
    guard case .beacon(let beacon) = Self.read(serviceData: serviceData, of: service) else {
      return nil
    }
    self = beacon
  }

  /// Decodes the first beacon in advertising data. Returns `.malformed` if there is only a
  /// malformed one.
  package static func read(_ data: AdvertisingData) -> Reading {
    var reading = Reading.foreign
    for structure in data {
      let next: Reading
      switch structure.type {
      case .manufacturerData: next = read(manufacturerData: structure.data)
      case .serviceData16, .serviceData32, .serviceData128:
        guard case .serviceData(let service, let bytes) = structure.element else { continue }
        next = read(serviceData: bytes, of: service)
      default: continue
      }
      if case .beacon = next { return next }
      if next == .malformed { reading = .malformed }
    }
    return reading
  }

  /// Reads manufacturer data, company identifier included.
  package static func read(manufacturerData data: ArraySlice<UInt8>) -> Reading {
    var reader = ByteReader(data)
    do throws(Truncated) {
      let company = try reader.uint16()
      let (first, second) = (try reader.uint8(), try reader.uint8())
      if company == IBeacon.company, first == IBeacon.type {
        guard second == IBeacon.length, let beacon = try? IBeacon(decoding: reader.rest()) else {
          return .malformed
        }
        return .beacon(.iBeacon(beacon))
      }
      guard UInt64(first) << 8 | UInt64(second) == AltBeacon.code else { return .foreign }
      guard let beacon = try? AltBeacon(decoding: data) else { return .malformed }
      return .beacon(.altBeacon(beacon))
    } catch {
      return .foreign
    }
  }

  /// Reads the service data of `service`.
  package static func read(
    serviceData: ArraySlice<UInt8>, of service: BluetoothUUID
  ) -> Reading {
    guard service == eddystoneService else { return .foreign }
    var reader = ByteReader(serviceData)
    do throws(Truncated) {
      switch try reader.uint8() {
      case 0x00:
        let power = try reader.int8()
        let namespace = Array(try reader.slice(10))
        let instance = Array(try reader.slice(6))
        return .beacon(
          .eddystoneUID(namespace: namespace, instance: instance, powerAtZeroMetres: power))
      case 0x10:
        let power = try reader.int8()
        guard let url = expandedURL(reader.rest()) else { return .malformed }
        return .beacon(.eddystoneURL(url, powerAtZeroMetres: power))
      case 0x20:
        // Other versions are encrypted.
        guard try reader.uint8() == 0 else { return .foreign }
        return .beacon(
          .eddystoneTelemetry(
            EddystoneTelemetry(
              batteryMillivolts: UInt16(truncatingIfNeeded: try reader.bigEndian(2)),
              temperature256ths: Int16(truncatingIfNeeded: try reader.bigEndian(2)),
              advertisementCount: UInt32(truncatingIfNeeded: try reader.bigEndian(4)),
              uptimeTenths: UInt32(truncatingIfNeeded: try reader.bigEndian(4)))))
      case 0x30:
        let power = try reader.int8()
        return .beacon(
          .eddystoneEphemeral(Array(try reader.slice(8)), powerAtZeroMetres: power))
      default: return .foreign
      }
    } catch {
      return .malformed
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

  /// Strength that a receiver one metre away measures, in dBm; nil if the frame lacks it.
  package var powerAtOneMetre: Int8? {
    switch self {
    case .iBeacon(let beacon): beacon.powerAtOneMetre
    case .altBeacon(let beacon): beacon.powerAtOneMetre
    case .eddystoneUID(_, _, let power), .eddystoneURL(_, let power),
      .eddystoneEphemeral(_, let power):
      Int8(clamping: Int(power) - Int(Self.eddystoneLossOverFirstMetre))
    case .eddystoneTelemetry: nil
    }
  }
}

extension Beacon: CustomStringConvertible {
  /// `iBeacon 2F234454-CF6D-4A0F-ADF2-F4911BA9FFA6 major 1 minor 2`.
  package var description: String {
    switch self {
    case .iBeacon(let beacon):
      return "iBeacon \(beacon.uuid.fullDescription) major \(beacon.major) minor \(beacon.minor)"
    case .altBeacon(let beacon):
      return "AltBeacon \(Hexadecimal.string(beacon.identifier))"
    case .eddystoneUID(let namespace, let instance, _):
      return "Eddystone \(Hexadecimal.string(namespace)) \(Hexadecimal.string(instance))"
    case .eddystoneURL(let url, _): return "Eddystone \(url)"
    case .eddystoneTelemetry(let telemetry):
      let battery =
        [0, .max].contains(telemetry.batteryMillivolts)
        ? "battery unknown" : "\(telemetry.batteryMillivolts) mV"
      let temperature = DecimalText.string(
        Int64(telemetry.temperature256ths) * 100 / 256, exponent: -2)
      return "Eddystone telemetry \(battery), \(temperature) °C"
    case .eddystoneEphemeral(let identifier, _):
      return "Eddystone ephemeral \(Hexadecimal.string(identifier))"
    }
  }
}
