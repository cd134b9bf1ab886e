import BluetoothInterface
import BluetoothWire
import Essentials
import JSONWire

extension PeripheralFile {
  /// The text of the file, which `init(_:)` parses. Equal devices have equal texts. Each attribute
  /// and each notification is on a separate line, so that versions can be compared.
  public var json: String {
    var top: [String] = []
    if let name { top.append(Self.member("name", .text(name))) }
    if let appearance { top.append(Self.member("appearance", .plain("\(appearance)"))) }
    if let address {
      top.append(Self.member("address", .text(address.description)))
      top.append(Self.member("addressType", .text(address.kind == .public ? "public" : "random")))
    }
    if advertisedServices != services.filter(\.isPrimary).map(\.uuid) {
      let list = advertisedServices.map { JSON.quoted($0.description) }.joined(separator: ", ")
      top.append(Self.member("advertise", .plain("[\(list)]")))
    }
    if let advertising { top.append(Self.member("advertising", advertising.json)) }
    if !services.isEmpty {
      let context = WritingContext(file: self, names: CharacteristicNames(services))
      top.append(Self.member("services", .list(services.map { .lines($0.members(in: context)) })))
    }
    if let duration { top.append(Self.member("duration", .plain(duration.jsonSeconds))) }
    if !repeats { top.append(Self.member("repeats", .plain("false"))) }
    return JSONText.lines(top).text + "\n"
  }

  fileprivate static func member(_ key: String, _ value: JSONText) -> String {
    "\"\(key)\": " + value.text
  }

  /// A value as `valueBytes()` reads it: text where all of it can be read, else hexadecimal.
  fileprivate static func value(_ bytes: [UInt8]) -> String {
    if bytes.count >= 2, let text = StandardValue.printable(bytes[...]),
      text.utf8.elementsEqual(bytes)
    {
      return "{ \"text\": \(JSON.quoted(text)) }"
    }
    return "{ \"hex\": \"\(Hexadecimal.string(bytes))\" }"
  }
}

/// A piece of JSON with its layout.
private indirect enum JSONText {
  /// Written without quotes and escapes.
  case plain(String)
  case text(String)
  /// An object of these members, a line each.
  case lines([String])
  /// An array, a line for each element.
  case list([JSONText])

  var text: String {
    switch self {
    case .plain(let text): return text
    case .text(let text): return JSON.quoted(text)
    case .lines(let members): return Self.block("{", members, "}")
    case .list(let elements): return Self.block("[", elements.map { $0.text }, "]")
    }
  }

  private static func block(_ open: String, _ parts: [String], _ close: String) -> String {
    guard !parts.isEmpty else { return open + close }
    // Bytes, because a recording has megabytes; line feeds within texts are escaped.
    var bytes = Array(open.utf8)
    for (number, part) in parts.enumerated() {
      bytes += Array((number > 0 ? ",\n  " : "\n  ").utf8)
      for byte in part.utf8 {
        bytes.append(byte)
        if byte == UInt8(ascii: "\n") { bytes += [0x20, 0x20] }
      }
    }
    bytes += Array("\n\(close)".utf8)
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension TimeSpan {
  /// Seconds with as many digits as it takes.
  fileprivate var jsonSeconds: String {
    let text = DecimalText.string(nanoseconds, exponent: -9)
    let digits = text.reversed().drop { $0 == "0" }
    let trimmed = digits.first == "." ? digits.dropFirst() : digits
    return String(trimmed.reversed())
  }
}

extension PeripheralFile.Advertising {
  fileprivate var json: JSONText {
    var members: [String] = []
    if !isConnectable { members.append("\"connectable\": false") }
    members.append("\"interval\": \(interval.jsonSeconds)")
    members.append("\"data\": \"\(Hexadecimal.string(data))\"")
    if !scanResponse.isEmpty {
      members.append("\"scanResponse\": \"\(Hexadecimal.string(scanResponse))\"")
    }
    if let rssi { members.append("\"rssi\": \(rssi)") }
    if !changes.isEmpty {
      let lines = changes.map { change in
        let data = Hexadecimal.string(change.data)
        let response = Hexadecimal.string(change.scanResponse)
        return JSONText.plain(
          "{ \"at\": \(change.time.jsonSeconds), \"data\": \"\(data)\""
            + (response.isEmpty ? "" : ", \"scanResponse\": \"\(response)\"") + " }")
      }
      members.append("\"changes\": " + JSONText.list(lines).text)
    }
    if let duration { members.append("\"duration\": \(duration.jsonSeconds)") }
    return .lines(members)
  }
}

/// The file whose parts are written.
private struct WritingContext {
  let file: PeripheralFile
  let names: CharacteristicNames

  /// `"180D/2A37"`; `[0, 1]` where the UUIDs mean another characteristic, which comes before.
  func name(of target: PeripheralFile.CharacteristicIndex) -> String {
    let (service, characteristic) = (file.services[target.service].uuid, file[target].uuid)
    guard names.find(characteristic, inServices: service) == target else {
      return "[\(target.service), \(target.characteristic)]"
    }
    return "\"\(service)/\(characteristic)\""
  }
}

extension PeripheralFile.Service {
  fileprivate func members(in context: WritingContext) -> [String] {
    var members = ["\"uuid\": \"\(uuid)\""]
    if !isPrimary { members.append("\"primary\": false") }
    if !includedServices.isEmpty {
      members.append("\"includes\": [\(includedServices.map(String.init).joined(separator: ", "))]")
    }
    if !characteristics.isEmpty {
      let list = characteristics.map { JSONText.lines($0.members(in: context)) }
      members.append("\"characteristics\": " + JSONText.list(list).text)
    }
    return members
  }
}

extension PeripheralFile.Characteristic {
  private var needs: [(key: String, isNeeded: Bool)] {
    [
      ("readNeedsEncryption", readNeedsEncryption), ("writeNeedsEncryption", writeNeedsEncryption),
      ("notifyNeedsEncryption", notifyNeedsEncryption),
      ("readNeedsAuthentication", readNeedsAuthentication),
      ("writeNeedsAuthentication", writeNeedsAuthentication),
      ("notifyNeedsAuthentication", notifyNeedsAuthentication),
    ]
  }

  fileprivate func members(in context: WritingContext) -> [String] {
    let names = PropertyNames.names(properties).map { "\"\($0)\"" }
    var members = [
      "\"uuid\": \"\(uuid)\"", "\"properties\": [\(names.joined(separator: ", "))]",
    ]
    if values.count == 1 {
      members.append("\"value\": \(PeripheralFile.value(values[0]))")
    } else if !values.isEmpty {
      let list = JSONText.list(values.map { .plain(PeripheralFile.value($0)) })
      members.append("\"values\": " + list.text)
    }
    if let interval { members.append("\"every\": \(interval.jsonSeconds)") }
    if let readError { members.append("\"readError\": \(readError.rawValue)") }
    members += needs.filter { $0.isNeeded }.map { "\"\($0.key)\": true" }
    if !descriptors.isEmpty {
      let list = descriptors.map {
        JSONText.plain("{ \"uuid\": \"\($0.uuid)\", \"value\": \(PeripheralFile.value($0.value)) }")
      }
      members.append("\"descriptors\": " + JSONText.list(list).text)
    }
    if let echo { members.append("\"echo\": \"\(echo)\"") }
    if longest != PeripheralFile.Limits.valueByteCount {
      members.append("\"longest\": \(longest)")
    }
    if !notifications.isEmpty {
      let list = notifications.map {
        JSONText.plain(
          "{ \"at\": \($0.time.jsonSeconds), \"value\": \(PeripheralFile.value($0.value)) }")
      }
      members.append("\"notifications\": " + JSONText.list(list).text)
    }
    if !answers.isEmpty {
      let list = JSONText.list(answers.map { .lines($0.members(in: context)) })
      members.append("\"answers\": " + list.text)
    }
    return members
  }
}

extension PeripheralFile.Answer {
  fileprivate func members(in context: WritingContext) -> [String] {
    var members = ["\"write\": \(PeripheralFile.value(written))"]
    if let error { members.append("\"error\": \(error.rawValue)") }
    if let value { members.append("\"value\": \(PeripheralFile.value(value))") }
    if !notifications.isEmpty {
      let list = notifications.map { notification in
        let target = context.name(of: notification.target)
        return JSONText.plain(
          "{ \"at\": \(notification.time.jsonSeconds), \"characteristic\": \(target), "
            + "\"value\": \(PeripheralFile.value(notification.value)) }")
      }
      members.append("\"notifications\": " + JSONText.list(list).text)
    }
    return members
  }
}
