import BeaconMachines
import Foundation
import PeripheralFiles

/// A floor plan in a file: units, receivers, rooms.
enum FloorMap {
  /// Larger than any map, and than any trace worth keeping in memory.
  private static let byteCountMax = 512 << 20

  /// Reads the map at a path.
  static func load(_ path: String) throws -> FloorPlan {
    let text = try bytes(of: path)
    do throws(FileFault) {
      return try plan(text)
    } catch {
      throw CommandFailure(.badData, "\(path): \(PeripheralFileError(error, in: text))")
    }
  }

  /// The windows of the trace at a path, on a plan.
  static func windows(_ path: String, on plan: FloorPlan) throws -> [ReadingWindow] {
    let text = try bytes(of: path)
    let windows: [ReadingWindow]
    do throws(TraceError) {
      windows = try PositionTrace(text: text[...]).windows(on: plan)
    } catch {
      throw CommandFailure(.badData, "\(path): \(error)")
    }
    guard !windows.isEmpty else {
      throw CommandFailure(.badData, "\(path): there is no reading in the file")
    }
    return windows
  }

  private static func bytes(of path: String) throws -> [UInt8] {
    let url = URL(fileURLWithPath: path == "-" ? "/dev/stdin" : path)
    do {
      let handle = try FileHandle(forReadingFrom: url)
      let data = try handle.read(upToCount: byteCountMax + 1) ?? Data()
      guard data.count <= byteCountMax else {
        throw CommandFailure(.badData, "\(path) has more than \(byteCountMax) bytes")
      }
      return [UInt8](data)
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure(.noInput, "\(path) cannot be read")
    }
  }

  private static func plan(_ text: [UInt8]) throws(FileFault) -> FloorPlan {
    let root = try JSONField(parsing: text)
    let map = try root.object(keys: ["units", "beaconHeight", "receivers", "rooms"])
    let scale = try metres(map.required("units", "\"metres\" or \"feet\""))
    let list = try map.required("receivers", "an array of receivers")
    var receivers: [FloorReceiver] = []
    for field in try list.array(max: FloorPlan.receiversMax, of: "receivers") {
      let object = try field.object(keys: ["id", "x", "y", "z"])
      let id = try object.required("id", "the receiver's name")
      let name = try id.string()
      guard !receivers.contains(where: { $0.id == name }) else {
        throw id.fault("another receiver has this name")
      }
      receivers.append(
        FloorReceiver(
          id: name,
          position: FloorPoint(
            x: try coordinate(object.required("x", "a number"), scale),
            y: try coordinate(object.required("y", "a number"), scale),
            z: try coordinate(object.required("z", "the height"), scale))))
    }
    guard !receivers.isEmpty else { throw list.fault("a map has at least one receiver") }
    var rooms: [FloorRoom] = []
    for field in try map["rooms"]?.array(max: FloorPlan.roomsMax, of: "rooms") ?? [] {
      rooms.append(try room(field, scale))
    }
    var height = 1.75
    if let field = map["beaconHeight"] { height = try coordinate(field, scale) }
    guard let plan = FloorPlan(receivers: receivers, rooms: rooms, beaconHeight: height) else {
      throw root.fault("the map makes no sense as a whole")
    }
    return plan
  }

  private static func room(_ field: JSONField, _ scale: Double) throws(FileFault) -> FloorRoom {
    let object = try field.object(keys: ["name", "corners"])
    let list = try object.required("corners", "an array of [x, y]")
    var corners: [FloorPoint] = []
    for corner in try list.array(max: 1_000, of: "corners") {
      let numbers = try corner.array(max: 2, of: "coordinates of a corner")
      guard numbers.count == 2 else { throw corner.fault("expected [x, y]") }
      corners.append(
        FloorPoint(x: try coordinate(numbers[0], scale), y: try coordinate(numbers[1], scale)))
    }
    guard corners.count >= 3 else { throw list.fault("a room has at least three corners") }
    return FloorRoom(
      name: try object.required("name", "the room's name").string(), corners: corners)
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

  private static func coordinate(_ field: JSONField, _ scale: Double) throws(FileFault) -> Double {
    let value = try field.number() * scale
    guard value.magnitude <= 1_000 else { throw field.fault("expected at most a kilometre") }
    return value
  }
}
