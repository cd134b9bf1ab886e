import BluetoothWire
import Essentials
import Foundation

/// A GATT database that a file describes; `docs/peripheral-file.md` documents the format.
struct PeripheralFile: Hashable, Sendable {
  /// Bounds of what a file may ask for.
  enum Limits {
    /// A description is written by people; a megabyte is none.
    static let byteCount = 1 << 20
    /// Attribute handles are 16 bits; a real device has a dozen services.
    static let serviceCount = 64
    /// Likewise.
    static let characteristicCount = 64
    /// An attribute value's longest length (Core 5.4, Vol 3, Part F, §3.2.9).
    static let valueByteCount = 512
    /// Enough for an hour at one a second.
    static let valueCount = 3_600
    /// Notifications follow each other no faster than connection events do.
    static let shortestInterval = TimeSpan.milliseconds(10)
  }

  /// The name to advertise.
  var name: String?
  /// The services to advertise; all primary ones unless the file says which.
  var advertisedServices: [BluetoothUUID]
  var services: [Service]

  struct Service: Hashable, Sendable {
    var uuid: BluetoothUUID
    var isPrimary: Bool
    var characteristics: [Characteristic]
  }

  struct Characteristic: Hashable, Sendable {
    var uuid: BluetoothUUID
    /// The value, or the values that follow one another.
    var values: [[UInt8]]
    var isReadable: Bool
    var isWriteable: Bool
    var isWriteableWithoutResponse: Bool
    var notifies: Bool
    var indicates: Bool
    var readNeedsEncryption: Bool
    var writeNeedsEncryption: Bool
    var notifyNeedsEncryption: Bool
    /// The time between values.
    var interval: TimeSpan?
    var description: String?
    /// Where written values are notified.
    var echo: BluetoothUUID?
    /// The longest value that may be written.
    var longest: Int
  }
}

extension PeripheralFile {
  /// Reads a description.
  /// - Throws: `CommandFailure` that says which key is wrong and what was expected.
  init(_ data: Data) throws {
    guard data.count <= Limits.byteCount else {
      throw CommandFailure(.badData, "the file is larger than a megabyte")
    }
    let value: JSONValue
    do {
      value = try JSONDecoder().decode(JSONValue.self, from: data)
    } catch {
      throw CommandFailure(.badData, "not JSON\(Self.place(of: error))")
    }
    let object = try JSONField(path: "", value: value).object(keys: [
      "name", "advertise", "services",
    ])
    name = try object["name"].map(Self.name)
    let fields = try object.required("services", "an array of services").array()
    guard !fields.isEmpty else {
      throw CommandFailure(.badData, "services: expected at least one service")
    }
    guard fields.count <= Limits.serviceCount else {
      throw CommandFailure(.badData, "services: at most \(Limits.serviceCount) services")
    }
    services = try fields.map(Service.init)
    let primary = services.filter(\.isPrimary).map(\.uuid)
    advertisedServices = try object["advertise"].map { try $0.array().map(Self.uuid) } ?? primary
    try checkEchoes()
  }

  private static func name(_ field: JSONField) throws -> String {
    let name = try field.string()
    guard (1...248).contains(name.utf8.count) else {
      throw field.failure("a device name has 1 to 248 bytes")
    }
    return name
  }

  /// A UUID, or the name of a standard service.
  static func uuid(_ field: JSONField) throws -> BluetoothUUID {
    let text = try field.string()
    if let uuid = BluetoothUUID(text) ?? AssignedNumbers.service(named: text) { return uuid }
    throw field.failure(
      "expected a UUID like \"180F\" or the name of a standard service, found \"\(text)\"")
  }

  private func checkEchoes() throws {
    for (index, service) in services.enumerated() {
      for (number, characteristic) in service.characteristics.enumerated() {
        guard let echo = characteristic.echo else { continue }
        let target = service.characteristics.first { $0.uuid == echo }
        guard let target, target.notifies || target.indicates else {
          throw CommandFailure(
            .badData,
            "services[\(index)].characteristics[\(number)].echo: expected the UUID of a "
              + "characteristic of the same service that notifies or indicates")
        }
      }
    }
  }

  /// Where the syntax is wrong, as far as the parser says.
  private static func place(of error: any Error) -> String {
    guard case DecodingError.dataCorrupted(let context) = error,
      let cause = context.underlyingError as? NSError,
      let detail = cause.userInfo["NSDebugDescription"] as? String
    else { return "" }
    return ": " + detail.trimmingSuffix(".")
  }
}

extension PeripheralFile.Service {
  init(_ field: JSONField) throws {
    let object = try field.object(keys: ["uuid", "primary", "characteristics"])
    uuid = try PeripheralFile.uuid(try object.required("uuid", "a UUID like \"180F\""))
    isPrimary = try object["primary"]?.bool() ?? true
    let fields = try object["characteristics"]?.array() ?? []
    guard fields.count <= PeripheralFile.Limits.characteristicCount else {
      throw field.failure(
        "at most \(PeripheralFile.Limits.characteristicCount) characteristics in a service")
    }
    characteristics = try fields.map(PeripheralFile.Characteristic.init)
  }
}

extension PeripheralFile.Characteristic {
  private static let keys = [
    "uuid", "value", "values", "every", "readable", "writeable", "writeableWithoutResponse",
    "notifies", "indicates", "readNeedsEncryption", "writeNeedsEncryption",
    "notifyNeedsEncryption", "description", "echo", "longest",
  ]

  init(_ field: JSONField) throws {
    let object = try field.object(keys: Self.keys)
    uuid = try Self.uuid(try object.required("uuid", "a UUID like \"2A19\""))
    values = try Self.values(field, object)
    isWriteable = try object["writeable"]?.bool() ?? false
    isWriteableWithoutResponse = try object["writeableWithoutResponse"]?.bool() ?? false
    notifies = try object["notifies"]?.bool() ?? false
    indicates = try object["indicates"]?.bool() ?? false
    isReadable = try object["readable"]?.bool() ?? !values.isEmpty
    readNeedsEncryption = try object["readNeedsEncryption"]?.bool() ?? false
    writeNeedsEncryption = try object["writeNeedsEncryption"]?.bool() ?? false
    notifyNeedsEncryption = try object["notifyNeedsEncryption"]?.bool() ?? false
    interval = try object["every"].map(Self.interval)
    description = try object["description"]?.string()
    echo = try object["echo"].map(Self.uuid)
    longest = try object["longest"].map(Self.longest) ?? PeripheralFile.Limits.valueByteCount
    if values.count > 1, interval == nil {
      throw field.failure("several values need the key \"every\": the seconds between them")
    }
    if !isReadable, !isWriteable, !isWriteableWithoutResponse, !notifies, !indicates {
      throw field.failure(
        "nothing can be done with it; expected \"value\", or one of \"readable\", "
          + "\"writeable\", \"writeableWithoutResponse\", \"notifies\", \"indicates\"")
    }
    if interval != nil, !notifies, !indicates, values.count < 2 {
      throw field.failure("\"every\" needs \"notifies\", \"indicates\" or several \"values\"")
    }
  }

  private static func uuid(_ field: JSONField) throws -> BluetoothUUID {
    let text = try field.string()
    if let uuid = BluetoothUUID(text) ?? AssignedNumbers.characteristic(named: text) {
      return uuid
    }
    throw field.failure(
      "expected a UUID like \"2A19\" or the name of a standard characteristic, found \"\(text)\"")
  }

  private static func values(_ field: JSONField, _ object: JSONObject) throws -> [[UInt8]] {
    switch (object["value"], object["values"]) {
    case (.some, .some): throw field.failure("\"value\" and \"values\" exclude each other")
    case (let value?, nil): return [try value.valueBytes()]
    case (nil, let values?):
      let fields = try values.array()
      guard (1...PeripheralFile.Limits.valueCount).contains(fields.count) else {
        throw values.failure("expected 1 to \(PeripheralFile.Limits.valueCount) values")
      }
      return try fields.map { try $0.valueBytes() }
    case (nil, nil): return []
    }
  }

  private static func interval(_ field: JSONField) throws -> TimeSpan {
    let seconds = try field.number()
    let shortest = PeripheralFile.Limits.shortestInterval
    guard seconds >= shortest.seconds, seconds <= 86_400 else {
      throw field.failure("expected seconds from \(shortest.seconds) to 86400")
    }
    return .nanoseconds(Int64(seconds * 1e9))
  }

  private static func longest(_ field: JSONField) throws -> Int {
    let range = 0...PeripheralFile.Limits.valueByteCount
    guard let count = Int(exactly: try field.number()), range.contains(count) else {
      throw field.failure("expected a whole number from 0 to \(range.upperBound)")
    }
    return count
  }
}

extension JSONField {
  /// `{"uint8": 87}`, `{"hex": "01ff"}`, `{"text": "hello"}`, or an array of these, joined.
  func valueBytes() throws -> [UInt8] {
    let bytes: [UInt8]
    if case .array = value {
      bytes = try array().flatMap { try $0.singleValueBytes() }
    } else {
      bytes = try singleValueBytes()
    }
    guard bytes.count <= PeripheralFile.Limits.valueByteCount else {
      throw failure("a value has at most \(PeripheralFile.Limits.valueByteCount) bytes")
    }
    return bytes
  }

  private func singleValueBytes() throws -> [UInt8] {
    let names = ValueFormat.allCases.map(\.rawValue)
    let object = try object(keys: names)
    guard object.members.count == 1, let key = object.members.keys.first,
      let format = ValueFormat(rawValue: key), let field = object[key]
    else {
      throw failure("expected one of the keys \(names.joined(separator: ", "))")
    }
    switch format {
    case .text: return Array(try field.string().utf8)
    case .hex:
      guard let bytes = Hexadecimal.bytes(try field.string()) else {
        throw field.failure("expected hexadecimal digits in pairs, as in \"01ff\"")
      }
      return bytes
    case .uint8, .uint16, .uint32, .int8, .int16, .int32:
      guard let number = Int64(exactly: try field.number()), let bytes = format.bytes(number)
      else {
        throw field.failure(
          "expected a whole number from \(format.range.lowerBound) to \(format.range.upperBound)")
      }
      return bytes
    }
  }
}
