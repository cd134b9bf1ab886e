import BluetoothInterface
import BluetoothWire
import Essentials
import JSONWire

extension PeripheralFile.Service {
  static let keys = ["uuid", "primary", "includes", "characteristics"]

  init(_ field: JSONField) throws(FileFault) {
    let object = try field.object(keys: Self.keys)
    self.init(
      uuid: try PeripheralFile.uuid(try object.required("uuid", "a UUID like \"180F\"")))
    isPrimary = try object["primary"]?.bool() ?? true
    let fields = try object["characteristics"]?.array(
      max: PeripheralFile.Limits.characteristicCount, of: "characteristics in a service")
    for field in fields ?? [] {
      characteristics.append(try PeripheralFile.Characteristic(field))
    }
  }
}

extension PeripheralFile.Characteristic {
  static let keys = [
    "uuid", "properties", "value", "values", "every", "readError", "readable", "writeable",
    "writeableWithoutResponse", "notifies", "indicates", "readNeedsEncryption",
    "writeNeedsEncryption", "notifyNeedsEncryption", "readNeedsAuthentication",
    "writeNeedsAuthentication", "notifyNeedsAuthentication", "description", "descriptors", "echo",
    "longest", "notifications", "answers",
  ]
  /// The keys that are equivalent to elements of `properties`.
  private static let flags: [(key: String, property: CharacteristicProperties)] = [
    ("readable", .read), ("writeable", .write),
    ("writeableWithoutResponse", .writeWithoutResponse), ("notifies", .notify),
    ("indicates", .indicate),
  ]

  /// Whether others can subscribe to it.
  var isNotified: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }

  init(_ field: JSONField) throws(FileFault) {
    let object = try field.object(keys: Self.keys)
    let values = try Self.values(field, object)
    let readError = try object["readError"].map(PeripheralFile.error)
    self.init(
      uuid: try Self.uuid(try object.required("uuid", "a UUID like \"2A19\"")),
      properties: try Self.properties(object, isRead: !values.isEmpty || readError != nil))
    self.values = values
    self.readError = readError
    readNeedsEncryption = try object.flag("readNeedsEncryption")
    writeNeedsEncryption = try object.flag("writeNeedsEncryption")
    notifyNeedsEncryption = try object.flag("notifyNeedsEncryption")
    readNeedsAuthentication = try object.flag("readNeedsAuthentication")
    writeNeedsAuthentication = try object.flag("writeNeedsAuthentication")
    notifyNeedsAuthentication = try object.flag("notifyNeedsAuthentication")
    interval = try object["every"].map { field throws(FileFault) in
      try field.seconds(
        from: PeripheralFile.Limits.shortestInterval, to: PeripheralFile.Limits.longestTime)
    }
    descriptors = try Self.descriptors(object)
    echo = try object["echo"].map(Self.uuid)
    longest =
      try object["longest"]?.integer(0...PeripheralFile.Limits.valueByteCount) ?? longest
    notifications = try Self.notifications(object)
    try check(field, listsProperties: object["properties"] != nil)
  }

  private func check(_ field: JSONField, listsProperties: Bool) throws(FileFault) {
    if values.count > 1, interval == nil {
      throw field.fault("several values need the key \"every\": the seconds between them")
    }
    // A recorded device may have a characteristic without properties; its file has an empty list.
    if properties.isEmpty, !listsProperties {
      throw field.fault(
        "nothing can be done with it; expected \"value\", \"properties\", or one of "
          + "\"readable\", \"writeable\", \"writeableWithoutResponse\", \"notifies\", "
          + "\"indicates\"")
    }
    if interval != nil, !isNotified, values.count < 2 {
      throw field.fault("\"every\" needs \"notifies\", \"indicates\" or several \"values\"")
    }
    if !notifications.isEmpty, !isNotified {
      throw field.fault("\"notifications\" need the property \"notify\" or \"indicate\"")
    }
  }

  private static func properties(
    _ object: JSONObject, isRead: Bool
  ) throws(FileFault) -> CharacteristicProperties {
    var properties: CharacteristicProperties = []
    guard let list = object["properties"] else {
      for (key, property) in flags {
        let isSet = try object[key]?.bool() ?? (property == .read && isRead)
        if isSet { properties.insert(property) }
      }
      return properties
    }
    if let (key, _) = flags.first(where: { object[$0.key] != nil }) {
      throw list.fault("\"properties\" and \"\(key)\" exclude each other")
    }
    for field in try list.array(max: PropertyNames.all.count, of: "properties") {
      let name = try field.string()
      guard let known = PropertyNames.all.first(where: { $0.name == name }) else {
        let names = PropertyNames.all.map(\.name).joined(separator: ", ")
        throw field.fault("expected one of \(names), found \"\(name.prefix(64))\"")
      }
      properties.insert(known.property)
    }
    return properties
  }

  private static func uuid(_ field: JSONField) throws(FileFault) -> BluetoothUUID {
    let text = try field.string()
    if let uuid = BluetoothUUID(text) ?? AssignedNumbers.characteristic(named: text) {
      return uuid
    }
    throw field.fault(
      "expected a UUID like \"2A19\" or the name of a standard characteristic, found "
        + "\"\(text.prefix(64))\"")
  }

  private static func values(
    _ field: JSONField, _ object: JSONObject
  ) throws(FileFault) -> [[UInt8]] {
    switch (object["value"], object["values"]) {
    case (.some, .some): throw field.fault("\"value\" and \"values\" exclude each other")
    case (let value?, nil): return [try value.valueBytes()]
    case (nil, let list?):
      let fields = try list.array(max: PeripheralFile.Limits.valueCount, of: "values")
      guard !fields.isEmpty else { throw list.fault("expected at least one value") }
      var values: [[UInt8]] = []
      for field in fields { values.append(try field.valueBytes()) }
      return values
    case (nil, nil): return []
    }
  }

  private static func descriptors(
    _ object: JSONObject
  ) throws(FileFault) -> [PeripheralFile.Descriptor] {
    var descriptors: [PeripheralFile.Descriptor] = []
    if let text = try object["description"]?.string() {
      descriptors.append(PeripheralFile.Descriptor(uuid: 0x2901, value: Array(text.utf8)))
    }
    let fields = try object["descriptors"]?.array(
      max: PeripheralFile.Limits.descriptorCount, of: "descriptors")
    for field in fields ?? [] {
      let object = try field.object(keys: ["uuid", "value"])
      let name = try object.required("uuid", "a UUID like \"2904\"")
      guard let uuid = BluetoothUUID(try name.string()) else {
        throw name.fault("expected a UUID like \"2904\"")
      }
      guard uuid != 0x2902 else {
        throw name.fault("2902 follows from the properties and is not listed")
      }
      descriptors.append(
        PeripheralFile.Descriptor(uuid: uuid, value: try object["value"]?.valueBytes() ?? []))
    }
    return descriptors
  }

  private static func notifications(
    _ object: JSONObject
  ) throws(FileFault) -> [PeripheralFile.TimedValue] {
    let fields = try object["notifications"]?.array(
      max: PeripheralFile.Limits.notificationCount, of: "notifications")
    var notifications: [PeripheralFile.TimedValue] = []
    for field in fields ?? [] {
      let object = try field.object(keys: ["at", "value"])
      let time = try object.required("at", "seconds").seconds(
        from: notifications.last?.time ?? .zero, to: PeripheralFile.Limits.longestTime)
      let value = try object.required("value", "a value").valueBytes()
      notifications.append(PeripheralFile.TimedValue(time: time, value: value))
    }
    return notifications
  }
}
