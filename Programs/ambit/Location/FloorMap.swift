import BeaconMachines
import Foundation
import JSONWire
import PeripheralFiles

/// A floor plan in a file: units, receivers, rooms.
enum FloorMap {
  /// Larger than any map, and than any trace worth keeping in memory.
  private static let byteCountMax = 512 << 20

  /// Reads the map at a path.
  static func load(_ path: String) throws -> FloorPlan {
    let floor: FloorFile
    let text = try bytes(of: path)
    do throws(PeripheralFileError) {
      floor = try FloorFile(text, needsReceivers: true)
    } catch { throw CommandFailure(.badData, "\(path): \(error)") }
    guard let plan = FloorPlan(floor) else {
      throw CommandFailure(.badData, "\(path): the map is inconsistent")
    }
    return plan
  }

  /// The windows of the trace at a path, on a plan.
  ///
  /// - Parameters:
  ///   - beacon: The beacon that is meant; nil where the trace has one only.
  ///   - output: Reports the lines that were left out.
  static func windows(
    _ path: String, on plan: FloorPlan, beacon: String? = nil, reportingTo output: Output
  ) throws -> [ReadingWindow] {
    let text = try bytes(of: path)
    let windows: [ReadingWindow]
    do {
      var trace = try PositionTrace(text: text[...])
      trace.reportQuality(of: path, to: output)
      if let beacon { trace = trace.filtered { RecordedBeacon(name: $0).isMeant(by: beacon) } }
      let beacons = trace.beacons
      if beacons.count > 1 {
        let names = beacons.prefix(5).map { Fit.safe($0) }.joined(separator: ", ")
        let rest = beacons.count > 5 ? ", …" : ""
        throw CommandFailure(
          .badData, "\(path) has \(beacons.count) beacons; name one with --beacon: \(names)\(rest)")
      }
      windows = try trace.windows(on: plan)
    } catch let error as TraceError {
      throw CommandFailure(.badData, "\(path): \(error)")
    }
    guard !windows.isEmpty else {
      throw CommandFailure(.badData, "\(path): the file has no readings")
    }
    return windows
  }

  static func bytes(of path: String) throws -> [UInt8] {
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
}

extension FloorPlan {
  /// The receivers, rooms and walls of a floor's file.
  init?(_ floor: FloorFile) {
    self.init(
      receivers: floor.receivers.map {
        FloorReceiver(id: $0.id, position: FloorPoint($0.place))
      },
      rooms: floor.rooms.map {
        FloorRoom(name: $0.name, corners: $0.corners.map(FloorPoint.init))
      },
      walls: floor.walls.map {
        FloorWall(
          from: FloorPoint($0.from), to: FloorPoint($0.to), attenuation: $0.attenuation)
      },
      beaconHeight: floor.beaconHeight)
  }
}

extension FloorPoint {
  init(_ point: FloorFile.Point) { self.init(x: point.x, y: point.y, z: point.z) }
}

extension PositionTrace {
  /// Reports how many lines of the trace were left out for want of a plausible RSSI; nothing if none
  /// was.
  func reportQuality(of path: String, to output: Output) {
    guard unmeasuredCount + implausibleCount > 0 else { return }
    if output.isJSON {
      output.object(
        .object([
          "event": .string("quality"), "file": .string(path),
          "readings": .integer(Int64(readings.count)),
          "unmeasured": .integer(Int64(unmeasuredCount)),
          "implausible": .integer(Int64(implausibleCount)),
        ]))
    } else {
      output.note(
        "\(Fit.safe(path)): \(unmeasuredCount + implausibleCount) lines were left out, "
          + "\(unmeasuredCount) without an RSSI and \(implausibleCount) with an impossible one")
    }
  }
}
