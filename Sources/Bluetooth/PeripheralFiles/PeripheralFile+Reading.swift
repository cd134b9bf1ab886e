import BluetoothInterface
import BluetoothWire
import Essentials
import JSONWire

extension PeripheralFile {
  /// Parses a peripheral file from UTF-8 JSON.
  /// - Throws: `PeripheralFileError` with the position of the mistake and the expected value.
  public init(_ text: [UInt8]) throws(PeripheralFileError) {
    guard text.count <= Limits.byteCount else {
      throw PeripheralFileError(reason: "the file is larger than \(Limits.byteCount >> 20) MB")
    }
    do throws(FileFault) {
      try self.init(JSONField(parsing: text))
    } catch {
      throw PeripheralFileError(error, in: text)
    }
  }

  private static let keys = [
    "name", "appearance", "address", "addressType", "advertise", "advertising", "services",
    "duration", "repeats",
  ]

  private init(_ field: JSONField) throws(FileFault) {
    let object = try field.object(keys: Self.keys)
    name = try object["name"].map(Self.name)
    appearance = try object["appearance"].map { field throws(FileFault) in
      UInt16(try field.integer(0...0xFFFF))
    }
    address = try Self.address(object)
    advertising = try object["advertising"].map(Advertising.init)
    duration = try object["duration"].map { field throws(FileFault) in
      try field.seconds(from: Limits.shortestInterval, to: Limits.longestTime)
    }
    repeats = try object["repeats"]?.bool() ?? true
    if let list = object["services"] {
      try readServices(list, isOptional: advertising != nil)
    } else if advertising == nil {
      _ = try object.required("services", "an array of services")
    }
    if let list = object["advertise"] {
      for field in try list.array(max: Limits.serviceCount, of: "services") {
        advertisedServices.append(try Self.uuid(field))
      }
    } else {
      advertisedServices = services.filter(\.isPrimary).map(\.uuid)
    }
    try checkDuration(object)
  }

  private mutating func readServices(
    _ list: JSONField, isOptional: Bool
  ) throws(FileFault) {
    let fields = try list.array(max: Limits.serviceCount, of: "services")
    guard isOptional || !fields.isEmpty else {
      throw list.fault("expected at least one service")
    }
    for field in fields { services.append(try Service(field)) }
    // What refers to others is read when all are known.
    let names = CharacteristicNames(services)
    for (index, field) in fields.enumerated() {
      try readIncludes(of: index, field)
      try readReferences(of: index, field, names)
    }
    if case .circle(let index) = publicationOrder() {
      throw fields[index].fault("the service includes itself, if only through others")
    }
  }

  /// Included services by UUID, or by index where several have the same.
  private mutating func readIncludes(of index: Int, _ field: JSONField) throws(FileFault) {
    guard let list = try field.object(keys: Service.keys)["includes"] else { return }
    for field in try list.array(max: Limits.serviceCount, of: "services") {
      if field.isNumber {
        services[index].includedServices.append(try field.integer(0...services.count - 1))
      } else {
        let uuid = try Self.uuid(field)
        guard let other = services.firstIndex(where: { $0.uuid == uuid }) else {
          throw field.fault("expected the UUID or the index of a service of this file")
        }
        services[index].includedServices.append(other)
      }
    }
  }

  /// Echoes, and the characteristics that answers are notified on.
  private mutating func readReferences(
    of index: Int, _ field: JSONField, _ names: CharacteristicNames
  ) throws(FileFault) {
    let fields = try field.object(keys: Service.keys)["characteristics"]?.array(
      max: Limits.characteristicCount, of: "characteristics in a service")
    for (number, field) in (fields ?? []).enumerated() {
      let object = try field.object(keys: Characteristic.keys)
      if let echo = services[index].characteristics[number].echo {
        let target = services[index].characteristics.first { $0.uuid == echo }
        guard let target, target.isNotified else {
          throw (object["echo"] ?? field).fault(
            "expected the UUID of a characteristic of the same service that notifies or indicates")
        }
      }
      let own = CharacteristicIndex(service: index, characteristic: number)
      for field in try object["answers"]?.array(max: Limits.answerCount, of: "answers") ?? [] {
        let answer = try self.answer(field, of: own, names)
        services[index].characteristics[number].answers.append(answer)
      }
    }
  }

  private func answer(
    _ field: JSONField, of own: CharacteristicIndex, _ names: CharacteristicNames
  ) throws(FileFault) -> Answer {
    let object = try field.object(keys: ["write", "error", "value", "notifications"])
    var answer = Answer(written: try object.required("write", "the written value").valueBytes())
    answer.error = try object["error"].map(Self.error)
    answer.value = try object["value"].map { field throws(FileFault) in try field.valueBytes() }
    let fields = try object["notifications"]?.array(
      max: Limits.notificationCount, of: "notifications")
    for field in fields ?? [] {
      let object = try field.object(keys: ["at", "characteristic", "value"])
      var target: CharacteristicIndex?
      if let field = object["characteristic"] {
        target = try self.target(field, near: own, names)
      }
      guard self[target ?? own].isNotified else {
        throw (object["characteristic"] ?? field).fault(
          "expected a characteristic that notifies or indicates")
      }
      answer.notifications.append(
        Answer.Notification(
          time: try object.required("at", "seconds").seconds(
            from: .zero, to: Limits.longestTime),
          target: target ?? own, value: try object.required("value", "a value").valueBytes()))
    }
    return answer
  }

  /// `2A37` of the same service, `180D/2A37`, or `[0, 1]`: indices of a service and of its
  /// characteristic, where others have the same UUIDs.
  private func target(
    _ field: JSONField, near own: CharacteristicIndex, _ names: CharacteristicNames
  ) throws(FileFault) -> CharacteristicIndex {
    if field.isArray {
      let fields = try field.array(max: 2, of: "indices")
      if fields.count == 2, !services.isEmpty {
        let service = try fields[0].integer(0...services.count - 1)
        let count = services[service].characteristics.count
        if count > 0 {
          return CharacteristicIndex(
            service: service, characteristic: try fields[1].integer(0...count - 1))
        }
      }
      throw field.fault("expected the index of a service and that of a characteristic in it")
    }
    let parts = try field.string().split(separator: "/").map { BluetoothUUID(String($0)) }
    var found: CharacteristicIndex?
    switch (parts.count, parts.first ?? nil, parts.last ?? nil) {
    case (1, let uuid?, _): found = names.find(uuid, inService: own.service)
    case (2, let service?, let uuid?): found = names.find(uuid, inServices: service)
    default: break
    }
    guard let found else {
      throw field.fault(
        "expected the UUID of a characteristic of the same service, or SERVICE/CHARACTERISTIC")
    }
    return found
  }

  private func checkDuration(_ object: JSONObject) throws(FileFault) {
    let all = services.flatMap(\.characteristics).flatMap(\.notifications)
    guard let duration, let last = all.map(\.time).max(), last > duration else { return }
    throw (object["duration"] ?? object.field).fault(
      "the last notification comes later, at \(last.seconds) s")
  }

  private static func name(_ field: JSONField) throws(FileFault) -> String {
    let name = try field.string()
    guard (1...Limits.nameByteCount).contains(name.utf8.count) else {
      throw field.fault("a device name has 1 to \(Limits.nameByteCount) bytes")
    }
    return name
  }

  private static func address(_ object: JSONObject) throws(FileFault) -> DeviceAddress? {
    var kind = DeviceAddress.Kind.random
    if let field = object["addressType"] {
      switch try field.string() {
      case "public": kind = .public
      case "random": kind = .random
      default: throw field.fault("expected \"public\" or \"random\"")
      }
    }
    guard let field = object["address"] else { return nil }
    guard let address = DeviceAddress(try field.string(), kind: kind), address.isIdentityAddress
    else {
      throw field.fault(
        "expected an address like \"C4:12:34:56:78:9A\" that is public or random static")
    }
    return address
  }

  /// A UUID, or the name of a standard service.
  static func uuid(_ field: JSONField) throws(FileFault) -> BluetoothUUID {
    let text = try field.string()
    if let uuid = BluetoothUUID(text) ?? AssignedNumbers.service(named: text) { return uuid }
    throw field.fault(
      "expected a UUID like \"180F\" or the name of a standard service, found "
        + "\"\(text.prefix(64))\"")
  }

  /// An error code of the attribute protocol.
  static func error(_ field: JSONField) throws(FileFault) -> ATTErrorCode {
    ATTErrorCode(rawValue: UInt8(try field.integer(1...255)))
  }
}

extension PeripheralFile.Advertising {
  init(_ field: JSONField) throws(FileFault) {
    typealias Limits = PeripheralFile.Limits
    let object = try field.object(keys: [
      "connectable", "interval", "data", "scanResponse", "rssi", "changes", "duration",
    ])
    isConnectable = try object["connectable"]?.bool() ?? true
    // Core 5.4, Vol 6, Part B, §4.4.2.2: 20 ms to 10485.759375 s.
    interval =
      try object["interval"].map { field throws(FileFault) in
        try field.seconds(from: .milliseconds(20), to: .seconds(10_485))
      } ?? interval
    (data, scanResponse) = try Self.data(object)
    rssi = try object["rssi"].map { field throws(FileFault) in try field.integer(-127...20) }
    duration = try object["duration"].map { field throws(FileFault) in
      try field.seconds(from: Limits.shortestInterval, to: Limits.longestTime)
    }
    let fields = try object["changes"]?.array(
      max: Limits.advertisingChangeCount, of: "changes of advertising")
    for field in fields ?? [] {
      let object = try field.object(keys: ["at", "data", "scanResponse"])
      let time = try object.required("at", "seconds").seconds(
        from: changes.last?.time ?? .zero, to: duration ?? Limits.longestTime)
      let (data, scanResponse) = try Self.data(object)
      changes.append(Change(time: time, data: data, scanResponse: scanResponse))
    }
  }

  /// Both PDUs; legacy ones unless more than fits there is advertised.
  private static func data(_ object: JSONObject) throws(FileFault) -> ([UInt8], [UInt8]) {
    typealias Limits = PeripheralFile.Limits
    let data =
      try object["data"]?.hexadecimal(byteCountMax: Limits.advertisingByteCount) ?? []
    let response =
      try object["scanResponse"]?.hexadecimal(byteCountMax: Limits.advertisingByteCount) ?? []
    let legacy = Limits.legacyAdvertisingByteCount
    if let field = object["scanResponse"], max(data.count, response.count) > legacy,
      !response.isEmpty
    {
      throw field.fault("extended advertising, of more than \(legacy) bytes, has no scan response")
    }
    return (data, response)
  }
}
