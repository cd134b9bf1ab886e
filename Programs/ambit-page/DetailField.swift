import AmbitCLI
import BluetoothWire
import Essentials

/// A fact about an item: a field of its advertisement, a string of its TXT record.
struct DetailField: Identifiable, Hashable, Sendable {
  /// Its place among the fields.
  var id = 0
  var name: String
  var value: String
  /// The bytes behind it, where there are any.
  var bytes = ""

  static func numbered(_ fields: [DetailField]) -> [DetailField] {
    fields.enumerated().map { index, field in
      var field = field
      field.id = index
      return field
    }
  }
}

extension DetailField {
  /// The fields of an advertisement.
  static func all(of sighting: Sighting) -> [DetailField] {
    var fields: [DetailField] = []
    func add(_ name: String, _ value: String?, _ bytes: [UInt8] = []) {
      guard let value else { return }
      fields.append(DetailField(name: name, value: value, bytes: spaced(bytes)))
    }
    add("Name", sighting.name)
    add("Address", sighting.address.map { "\($0)" })
    add("Identifier", sighting.identifier)
    add("Connections", sighting.isConnectable.map { $0 ? "Takes connections" : "Takes none" })
    add("Transmit power", sighting.txPower.map(NearbyRow.text(dBm:)))
    for uuid in sighting.services { add("Service", text(uuid)) }
    for uuid in sighting.solicitedServices { add("Wants a service", text(uuid)) }
    if let data = sighting.manufacturerData, let company = sighting.company {
      let name = AssignedNumbers.companyName(company) ?? "Company \(company)"
      add("Manufacturer data", name, Array(data.dropFirst(2)))
    }
    for data in sighting.serviceData { add("Service data", text(data.uuid), data.data) }
    if let beacon = sighting.beacon { fields += all(of: beacon) }
    return numbered(fields)
  }

  private static func all(of beacon: Beacon) -> [DetailField] {
    var fields: [DetailField] = []
    if case .iBeacon(let beacon) = beacon {
      fields += [
        DetailField(name: "iBeacon UUID", value: beacon.uuid.fullDescription),
        DetailField(name: "Major", value: "\(beacon.major)"),
        DetailField(name: "Minor", value: "\(beacon.minor)"),
      ]
    } else {
      fields.append(DetailField(name: "Beacon", value: beacon.description))
    }
    if let power = beacon.powerAtOneMetre {
      fields.append(DetailField(name: "Power at 1 m", value: NearbyRow.text(dBm: Int(power))))
    }
    return fields
  }

  /// The fields of the services with one name.
  static func all(of row: NetworkTable.Row) -> [DetailField] {
    numbered(
      [DetailField(name: "Name", value: row.name)]
        + row.types.map { DetailField(name: "Type", value: $0) }
        + row.interfaces.map { DetailField(name: "Interface", value: $0) })
  }

  private static func text(_ uuid: BluetoothUUID) -> String {
    AssignedNumbers.serviceName(uuid).map { "\($0) (\(uuid))" } ?? "\(uuid)"
  }

  /// Bytes as people read them: `4C 00 02`.
  static func spaced(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { Hexadecimal.string([$0]).uppercased() }.joined(separator: " ")
  }
}
