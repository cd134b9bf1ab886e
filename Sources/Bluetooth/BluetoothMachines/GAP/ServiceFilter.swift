import BluetoothInterface
import BluetoothWire
import Essentials

/// Finds service UUIDs in advertising data where they lie, without building lists.
///
/// Only lists of services count, not service data, as on Apple's systems (Core Specification
/// Supplement, Part A, §1.1 and §1.10), and the overflow area. Malformed structures end the search.
struct ServiceFilter: Sendable {
  /// Services of which one must be advertised.
  var services: [BluetoothUUID]
  /// Services of which one must be solicited.
  var solicited: [BluetoothUUID]

  init(_ options: ScanOptions) {
    services = options.services
    solicited = options.solicitedServices
  }

  /// Whether every advertiser passes.
  var isOpen: Bool { services.isEmpty && solicited.isEmpty }

  /// Whether the advertising data or the scan response contains one of the wanted services.
  func matches(_ data: ArraySlice<UInt8>, _ scanResponse: ArraySlice<UInt8>) -> Bool {
    isOpen || contains(data) || contains(scanResponse)
  }

  private func contains(_ data: ArraySlice<UInt8>) -> Bool {
    var reader = ByteReader(data)
    while let length = try? reader.uint8(), length > 0,
      var structure = (try? reader.slice(Int(length))).map({ ByteReader($0) }),
      let type = try? structure.uint8()
    {
      switch type {
      case 0x02, 0x03: if list(structure, 2, holdsOneOf: services) { return true }
      case 0x04, 0x05: if list(structure, 4, holdsOneOf: services) { return true }
      case 0x06, 0x07: if list(structure, 16, holdsOneOf: services) { return true }
      case 0x14: if list(structure, 2, holdsOneOf: solicited) { return true }
      case 0x1F: if list(structure, 4, holdsOneOf: solicited) { return true }
      case 0x15: if list(structure, 16, holdsOneOf: solicited) { return true }
      case 0xFF: if overflowAreaHoldsOne(structure) { return true }
      default: break
      }
    }
    return false
  }

  private func overflowAreaHoldsOne(_ manufacturerData: ByteReader) -> Bool {
    var reader = manufacturerData
    guard let company = try? reader.uint16(),
      let area = OverflowArea(company: company, data: reader.remaining)
    else { return false }
    return services.contains { area.contains($0) }
  }

  private func list(_ bytes: ByteReader, _ width: Int, holdsOneOf wanted: [BluetoothUUID]) -> Bool {
    guard !wanted.isEmpty else { return false }
    var bytes = bytes
    while let slice = try? bytes.slice(width) {
      if let uuid = BluetoothUUID(littleEndian: slice), wanted.contains(uuid) { return true }
    }
    return false
  }
}
