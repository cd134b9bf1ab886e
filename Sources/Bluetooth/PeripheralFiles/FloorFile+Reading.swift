import BluetoothWire
import Essentials
import JSONWire

extension FloorFile {
  /// Parses a floor from UTF-8 JSON.
  ///
  /// - Parameter needsReceivers: Whether a floor without receivers is refused.
  /// - Throws: `PeripheralFileError` with the position of the mistake and the expected value.
  public init(
    _ text: [UInt8], needsReceivers: Bool = false
  ) throws(PeripheralFileError) {
    guard text.count <= Limits.byteCount else {
      throw PeripheralFileError(reason: "a floor's file has at most \(Limits.byteCount >> 20) MB")
    }
    do throws(FileFault) {
      try self.init(JSONField(parsing: text), needsReceivers)
    } catch {
      throw PeripheralFileError(error, in: text)
    }
  }

  private static let keys = [
    "units", "beaconHeight", "receivers", "rooms", "walls", "beacons", "walkers",
  ]

  private init(_ field: JSONField, _ needsReceivers: Bool) throws(FileFault) {
    let object = try field.object(keys: Self.keys)
    let reader = FloorReader(
      scale: try Self.metres(object.required("units", "\"metres\" or \"feet\"")))
    if needsReceivers {
      let list = try object.required("receivers", "an array of receivers")
      guard try !list.array(max: Limits.receiverCount, of: "receivers").isEmpty else {
        throw list.fault("a map has at least one receiver")
      }
    }
    if let height = object["beaconHeight"] { beaconHeight = try reader.length(height) }
    for each in try object["receivers"]?.array(max: Limits.receiverCount, of: "receivers") ?? [] {
      receivers.append(try reader.receiver(each, others: receivers))
    }
    for each in try object["rooms"]?.array(max: Limits.roomCount, of: "rooms") ?? [] {
      rooms.append(try reader.room(each))
    }
    for each in try object["walls"]?.array(max: Limits.wallCount, of: "walls") ?? [] {
      walls.append(try reader.wall(each))
    }
    for each in try object["walkers"]?.array(max: Limits.walkerCount, of: "walkers") ?? [] {
      walkers.append(try reader.walker(each, others: walkers))
    }
    for each in try object["beacons"]?.array(max: Limits.beaconCount, of: "beacons") ?? [] {
      beacons.append(try reader.beacon(each, walkers: walkers))
    }
  }

  /// How many metres one of the units is.
  private static func metres(_ field: JSONField) throws(FileFault) -> Double {
    switch try field.string() {
    case "metres", "meters", "m": return 1
    case "feet", "ft": return 0.3048
    case let other:
      throw field.fault("unknown units \"\(other.prefix(32))\"; known are \"metres\" and \"feet\"")
    }
  }
}

/// Reads the parts of a floor whose units are known.
private struct FloorReader {
  /// Metres of one unit.
  let scale: Double

  func length(_ field: JSONField) throws(FileFault) -> Double {
    let value = try field.number() * scale
    guard value.magnitude <= FloorFile.Limits.metres else {
      throw field.fault("expected at most a kilometre")
    }
    return value
  }

  func receiver(
    _ field: JSONField, others: [FloorFile.Receiver]
  ) throws(FileFault) -> FloorFile.Receiver {
    let object = try field.object(keys: ["id", "x", "y", "z", "gain"])
    let id = try object.required("id", "the receiver's name")
    let name = try self.name(id)
    guard !others.contains(where: { $0.id == name }) else {
      throw id.fault("another receiver has this name")
    }
    return FloorFile.Receiver(
      id: name, place: try place(object), gain: try decibels(object["gain"], -40...40) ?? 0)
  }

  func room(_ field: JSONField) throws(FileFault) -> FloorFile.Room {
    let object = try field.object(keys: ["name", "corners"])
    let list = try object.required("corners", "an array of [x, y]")
    var corners: [FloorFile.Point] = []
    for corner in try list.array(max: FloorFile.Limits.cornerCount, of: "corners") {
      corners.append(try point(corner))
    }
    guard corners.count >= 3 else { throw list.fault("a room has at least three corners") }
    return FloorFile.Room(
      name: try object.required("name", "the room's name").string(), corners: corners)
  }

  func wall(_ field: JSONField) throws(FileFault) -> FloorFile.Wall {
    let object = try field.object(keys: ["from", "to", "attenuation"])
    return FloorFile.Wall(
      from: try point(object.required("from", "[x, y]")),
      to: try point(object.required("to", "[x, y]")),
      attenuation: try decibels(object["attenuation"], 0...100) ?? 6)
  }

  func walker(
    _ field: JSONField, others: [FloorFile.Walker]
  ) throws(FileFault) -> FloorFile.Walker {
    let object = try field.object(keys: [
      "name", "path", "speed", "repeats", "attenuation", "phone",
    ])
    let id = try object.required("name", "the name that other entries refer to")
    let name = try self.name(id)
    guard !others.contains(where: { $0.name == name }) else {
      throw id.fault("another walker has this name")
    }
    let list = try object.required("path", "an array of { \"x\", \"y\", \"stay\" }")
    var path: [FloorFile.Walker.Stop] = []
    for stop in try list.array(max: FloorFile.Limits.stopCount, of: "stops") {
      let object = try stop.object(keys: ["x", "y", "stay"])
      path.append(
        FloorFile.Walker.Stop(
          place: FloorFile.Point(
            x: try length(object.required("x", "a number")),
            y: try length(object.required("y", "a number"))),
          stay: try object["stay"]?.seconds(from: .zero, to: .seconds(86_400)) ?? .zero))
    }
    guard !path.isEmpty else { throw list.fault("a way has at least one stop") }
    let speed = try object["speed"].map { field throws(FileFault) -> Double in
      let speed = try length(field)
      guard 0.01...20 ~= speed else { throw field.fault("expected 0.01 to 20 metres a second") }
      return speed
    }
    return FloorFile.Walker(
      name: name, path: path, speed: speed ?? 1, repeats: try object["repeats"]?.bool() ?? true,
      attenuation: try decibels(object["attenuation"], 0...100) ?? 8,
      hasPhone: try object.flag("phone"))
  }

  func beacon(
    _ field: JSONField, walkers: [FloorFile.Walker]
  ) throws(FileFault) -> FloorFile.Beacon {
    let object = try field.object(keys: [
      "uuid", "major", "minor", "measuredPower", "error", "interval", "x", "y", "z", "carriedBy",
    ])
    let uuidField = try object.required("uuid", "a UUID")
    let text = try uuidField.string()
    guard text.utf8.count == 36, let uuid = BluetoothUUID(text) else {
      throw uuidField.fault("expected a UUID like \"E2C56DB5-DFFB-48D2-B060-D0F5A71096E0\"")
    }
    let power = try object["measuredPower"]?.integer(-127...20) ?? -59
    return FloorFile.Beacon(
      advertisement: IBeacon(
        uuid: uuid,
        major: UInt16(try object.required("major", "a number").integer(0...0xFFFF)),
        minor: UInt16(try object.required("minor", "a number").integer(0...0xFFFF)),
        powerAtOneMetre: Int8(power)),
      interval: try object["interval"]?.seconds(from: .milliseconds(20), to: .seconds(60))
        ?? .milliseconds(100),
      error: try decibels(object["error"], -40...40) ?? 0,
      place: try beaconPlace(object, walkers))
  }

  private func beaconPlace(
    _ object: JSONObject, _ walkers: [FloorFile.Walker]
  ) throws(FileFault) -> FloorFile.Beacon.Place {
    guard let carrier = object["carriedBy"] else { return .at(try place(object)) }
    for key in ["x", "y", "z"] {
      if let field = object[key] {
        throw field.fault("a carried beacon has no position of its own")
      }
    }
    let name = try carrier.string()
    guard let walker = walkers.firstIndex(where: { $0.name == name }) else {
      throw carrier.fault("no walker is called \"\(name.prefix(64))\"")
    }
    return .carried(by: walker)
  }

  private func place(_ object: JSONObject) throws(FileFault) -> FloorFile.Point {
    FloorFile.Point(
      x: try length(object.required("x", "a number")),
      y: try length(object.required("y", "a number")),
      z: try length(object.required("z", "the height")))
  }

  private func point(_ field: JSONField) throws(FileFault) -> FloorFile.Point {
    let numbers = try field.array(max: 2, of: "coordinates")
    guard numbers.count == 2 else { throw field.fault("expected [x, y]") }
    return FloorFile.Point(x: try length(numbers[0]), y: try length(numbers[1]))
  }

  /// A name that fits into a line of a trace.
  private func name(_ field: JSONField) throws(FileFault) -> String {
    let name = try field.string()
    guard 1...64 ~= name.utf8.count, !name.contains(where: { $0 == "," || $0.isNewline }) else {
      throw field.fault("expected a name of 1 to 64 bytes without commas")
    }
    return name
  }

  private func decibels(
    _ field: JSONField?, _ range: ClosedRange<Double>
  ) throws(FileFault) -> Double? {
    guard let field else { return nil }
    let value = try field.number()
    guard range.contains(value) else {
      throw field.fault(
        "expected decibels from \(Int(range.lowerBound)) to \(Int(range.upperBound))")
    }
    return value
  }
}
