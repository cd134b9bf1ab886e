package import BluetoothWire
import Essentials
import Foundation
import JSONWire

/// The contents of one advertisement.
package struct Sighting: Hashable, Sendable {
  /// The identifier that Core Bluetooth gives to the device, in capitals.
  package var identifier: String
  /// The device's address, if the identifier contains it.
  package var address: DeviceAddress?
  package var name: String?
  /// Strength in dBm; nil if it is not available.
  package var rssi: Int?
  package var txPower: Int?
  package var isConnectable: Bool?
  package var services: [BluetoothUUID] = []
  package var solicitedServices: [BluetoothUUID] = []
  /// Company identifier first.
  package var manufacturerData: [UInt8]?
  package var serviceData: [ServiceData] = []

  /// The service data of one service.
  package struct ServiceData: Hashable, Sendable {
    package var uuid: BluetoothUUID
    package var data: [UInt8]
  }

  package init(identifier: String) { self.identifier = identifier }

  /// The beacon in the data, if it is one.
  package var beacon: Beacon? {
    if case .beacon(let beacon) = beaconReading { beacon } else { nil }
  }

  /// What the data has of a beacon: the first one, else whether one is malformed.
  var beaconReading: Beacon.Reading {
    var reading = Beacon.Reading.foreign
    let readings =
      (manufacturerData.map { [Beacon.read(manufacturerData: $0[...])] } ?? [])
      + serviceData.lazy.map { Beacon.read(serviceData: $0.data[...], of: $0.uuid) }
    for next in readings {
      if case .beacon = next { return next }
      if next == .malformed { reading = next }
    }
    return reading
  }

  /// Whose manufacturer data it carries.
  package var company: UInt16? {
    guard let data = manufacturerData else { return nil }
    var reader = ByteReader(data)
    return try? reader.uint16()
  }

  /// A summary for a narrow column: service names, else the kind of beacon, else the manufacturer.
  package var summary: String {
    let names = services.map { AssignedNumbers.serviceName($0) ?? Self.short($0) }
    if !names.isEmpty { return names.joined(separator: ", ") }
    if let beacon { return Self.short(beacon) }
    if let data = serviceData.first {
      return AssignedNumbers.serviceName(data.uuid) ?? Self.short(data.uuid)
    }
    if let company { return AssignedNumbers.companyName(company) ?? "company \(company)" }
    return ""
  }

  private static func short(_ uuid: BluetoothUUID) -> String {
    let text = uuid.description
    return text.count > 8 ? text.prefix(8) + "…" : text
  }

  private static func short(_ beacon: Beacon) -> String {
    guard case .iBeacon(let fields) = beacon else { return beacon.description }
    return "iBeacon \(short(fields.uuid)) \(fields.major)/\(fields.minor)"
  }

  /// The object that `--json` writes for it.
  /// - Parameter time: When it was heard or connected.
  func json(event: String, at time: Date) -> JSON {
    .object([
      "event": .string(event),
      "time": .time(time),
      "id": .string(identifier),
      "address": address.map { .string($0.description) },
      "addressType": address.map { .string($0.kind == .public ? "public" : "random") },
      "name": name.map { .string($0) },
      "rssi": rssi.map { .integer(Int64($0)) },
      "txPower": txPower.map { .integer(Int64($0)) },
      "connectable": isConnectable.map { .bool($0) },
      "services": .array(services.map(JSON.service)),
      "solicitedServices": solicitedServices.isEmpty
        ? nil : .array(solicitedServices.map(JSON.service)),
      "manufacturer": manufacturerJSON,
      "serviceData": serviceData.isEmpty ? nil : .array(serviceData.map(Self.json)),
      "beacon": beacon.map { .string($0.description) },
    ])
  }

  private var manufacturerJSON: JSON? {
    guard let company, let data = manufacturerData else { return nil }
    return .object([
      "company": .integer(Int64(company)),
      "companyName": AssignedNumbers.companyName(company).map { .string($0) },
      "data": .string(Hexadecimal.string(data.dropFirst(2))),
    ])
  }

  private static func json(_ data: ServiceData) -> JSON {
    .object([
      "uuid": .string(data.uuid.description),
      "name": AssignedNumbers.serviceName(data.uuid).map { .string($0) },
      "data": .string(Hexadecimal.string(data.data)),
    ])
  }
}

extension JSON {
  /// A service's UUID with its name.
  static func service(_ uuid: BluetoothUUID) -> JSON {
    .object([
      "uuid": .string(uuid.description),
      "name": AssignedNumbers.serviceName(uuid).map { .string($0) },
    ])
  }
}
