/// Names of the numbers that the Bluetooth SIG assigned: services, characteristics, descriptors,
/// companies and appearances.
package enum AssignedNumbers {
  /// The service's name, such as `Heart Rate`; nil for a UUID that is not assigned.
  package static func serviceName(_ uuid: BluetoothUUID) -> String? {
    name(of: uuid, short: serviceRows, long: longServiceRows)
  }

  /// The characteristic's name, such as `Heart Rate Measurement`.
  package static func characteristicName(_ uuid: BluetoothUUID) -> String? {
    name(of: uuid, short: characteristicRows, long: longCharacteristicRows)
  }

  /// The descriptor's name, such as `Client Characteristic Configuration`.
  package static func descriptorName(_ uuid: BluetoothUUID) -> String? {
    name(of: uuid, short: descriptorRows, long: "")
  }

  /// The name of the company with this identifier: `Apple, Inc.` for 0x004C.
  package static func companyName(_ identifier: UInt16) -> String? {
    AssignedNumberTable(rows: companyRows, keyLength: 4)[key(identifier)]
  }

  /// The name of an appearance: `Heart Rate Belt`; that of the category if the subcategory has no
  /// name (Assigned Numbers, §2.6).
  package static func appearanceName(_ appearance: UInt16) -> String? {
    let table = AssignedNumberTable(rows: appearanceRows, keyLength: 4)
    return table[key(appearance)] ?? table[key(appearance & 0xFFC0)]
  }

  /// The version of the Core Specification of an HCI version: `5.4` for 13 (Assigned Numbers,
  /// §2.1); nil if the version is newer than this table.
  package static func coreVersion(_ hciVersion: UInt8) -> String? {
    let versions = [
      "1.0b", "1.1", "1.2", "2.0", "2.1", "3.0", "4.0", "4.1", "4.2", "5.0", "5.1", "5.2", "5.3",
      "5.4", "6.0", "6.1", "6.2",
    ]
    return versions.indices.contains(Int(hciVersion)) ? versions[Int(hciVersion)] : nil
  }

  /// The service with this name, compared without regard to case: `heart rate` is 180D.
  package static func service(named name: String) -> BluetoothUUID? {
    uuid(named: name, short: serviceRows, long: longServiceRows)
  }

  /// The characteristic with this name, compared without regard to case: `battery level` is 2A19.
  package static func characteristic(named name: String) -> BluetoothUUID? {
    uuid(named: name, short: characteristicRows, long: longCharacteristicRows)
  }

  private static func name(of uuid: BluetoothUUID, short: String, long: String) -> String? {
    if let number = uuid.short {
      return AssignedNumberTable(rows: short, keyLength: 4)[key(number)]
    }
    return AssignedNumberTable(rows: long, keyLength: 36)[uuid.fullDescription]
  }

  private static func uuid(named name: String, short: String, long: String) -> BluetoothUUID? {
    let key =
      AssignedNumberTable(rows: short, keyLength: 4).key(named: name)
      ?? AssignedNumberTable(rows: long, keyLength: 36).key(named: name)
    return key.flatMap { BluetoothUUID($0) }
  }

  private static func key(_ number: UInt16) -> String { BluetoothUUID(number).description }
}

/// Rows of text, `KEY Name` each, sorted by keys of one length, searched where they lie: nothing is
/// parsed or copied when a program starts.
struct AssignedNumberTable {
  let rows: String
  let keyLength: Int

  /// The name beside `key`; nil where there is no such row.
  subscript(key: String) -> String? {
    let bytes = rows.utf8
    let newline = UInt8(ascii: "\n")
    var low = bytes.startIndex
    var high = bytes.endIndex
    while low < high {
      var start = bytes.index(low, offsetBy: bytes.distance(from: low, to: high) / 2)
      while start > low, bytes[bytes.index(before: start)] != newline {
        start = bytes.index(before: start)
      }
      let end = bytes[start..<high].firstIndex(of: newline) ?? high
      let row = bytes[start..<end]
      if row.starts(with: key.utf8) { return String(rows[start..<end].dropFirst(keyLength + 1)) }
      if row.lexicographicallyPrecedes(key.utf8) {
        low = end < high ? bytes.index(after: end) : high
      } else {
        high = start
      }
    }
    return nil
  }

  /// The key of the first row with this name, compared without regard to case.
  func key(named name: String) -> String? {
    let wanted = name.lowercased()
    for row in rows.split(separator: "\n") where row.utf8.count == keyLength + 1 + wanted.utf8.count
    {
      if row.dropFirst(keyLength + 1).lowercased() == wanted {
        return String(row.prefix(keyLength))
      }
    }
    return nil
  }
}
