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

  /// The most beacons that are followed at the same time: their fixes take a second of computing.
  static let beaconsMax = 50

  /// The windows of each beacon of the trace at a path, on a plan.
  ///
  /// - Parameters:
  ///   - beacons: The beacons that are meant; empty for all.
  ///   - countMax: How many there may be.
  ///   - output: Reports the lines that were left out.
  static func tracks(
    _ path: String, on plan: FloorPlan, beacons: [String] = [], countMax: Int = beaconsMax,
    reportingTo output: Output
  ) throws -> [BeaconTrack] {
    let text = try bytes(of: path)
    do {
      var trace = try PositionTrace(text: text[...])
      let first = trace.readings.first
      trace.leaveOutReceivers(notOn: plan)
      if trace.readings.isEmpty, let first {
        throw CommandFailure(
          .badData,
          "\(path): line \(first.line): receiver \"\(Fit.safe(first.receiver))\" is not on the map, "
            + "nor is any other of the file")
      }
      trace.reportQuality(of: path, to: output)
      let known = trace.beacons.map(RecordedBeacon.init(name:))
      if let missing = beacons.first(where: { text in !known.contains { $0.isMeant(by: text) } }) {
        throw CommandFailure(.badData, "\(path) has no beacon \(Fit.safe(missing))")
      }
      if !beacons.isEmpty {
        trace = trace.filtered { name in
          beacons.contains { RecordedBeacon(name: name).isMeant(by: $0) }
        }
      }
      // A beacon whose power was changed has two names.
      let groups = Dictionary(grouping: trace.readings) {
        RecordedBeacon(name: $0.beacon).identity
      }
      guard groups.count <= countMax else {
        let names = groups.keys.sorted().prefix(5).map { Fit.safe(String($0)) }
        let rest = groups.count > 5 ? ", …" : ""
        throw CommandFailure(
          .badData,
          "\(path) has \(groups.count) beacons, more than \(countMax); "
            + "name some with --beacon: \(names.joined(separator: ", "))\(rest)")
      }
      let tracks = try groups.values.map { readings in
        BeaconTrack(
          beacon: RecordedBeacon(name: mostFrequentName(of: readings)),
          windows: try PositionTrace(readings).windows(on: plan))
      }
      guard !tracks.isEmpty else {
        throw CommandFailure(.badData, "\(path): the file has no readings")
      }
      return tracks.sorted { $0.beacon.name < $1.beacon.name }
    } catch let error as TraceError {
      throw CommandFailure(.badData, "\(path): \(error)")
    }
  }

  /// Of one beacon. A single reading with another power, which anyone may send, changes nothing.
  private static func mostFrequentName(of readings: [TraceReading]) -> String {
    let counts = Dictionary(readings.map { ($0.beacon, 1) }, uniquingKeysWith: +)
    return counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? ""
  }

  /// The windows of the only beacon of the trace at a path.
  static func track(
    _ path: String, on plan: FloorPlan, reportingTo output: Output
  ) throws -> BeaconTrack {
    let tracks = try tracks(path, on: plan, countMax: 1, reportingTo: output)
    guard let track = tracks.first else {
      throw CommandFailure(.badData, "\(path): the file has no readings")
    }
    return track
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
  /// Reports how many lines of the trace were left out, and why; nothing if none was.
  func reportQuality(of path: String, to output: Output) {
    guard !leftOut.isEmpty else { return }
    guard output.isJSON else {
      return output.note("\(Fit.safe(path)): \(Self.text(leftOut))")
    }
    output.object(
      .object([
        "event": .string("quality"), "file": .string(path),
        "readings": .integer(Int64(readings.count)),
        "unmeasured": .integer(Int64(leftOutCount(.unmeasured))),
        "implausible": .integer(Int64(leftOutCount(.implausible))),
        "leftOut": .array(
          leftOut.map {
            .object([
              "reason": .string($0.reason.rawValue), "lines": .integer(Int64($0.count)),
              "firstLine": .integer(Int64($0.firstLine)), "explanation": .string($0.explanation),
            ])
          }),
      ]))
  }

  /// A sentence without a full stop about lines that were left out.
  static func text(_ leftOut: [TraceLinesLeftOut]) -> String {
    let count = leftOut.reduce(0) { $0 + $1.count }
    let reasons = leftOut.map { lines in
      let first = lines.count == 1 ? "line" : "the first is line"
      return "\(lines.count) \(phrase(lines.reason)) "
        + "(\(first) \(lines.firstLine): \(Fit.safe(lines.explanation)))"
    }
    return "\(count) \(count == 1 ? "line was" : "lines were") left out, "
      + reasons.joined(separator: ", ")
  }

  private static func phrase(_ reason: TraceLinesLeftOut.Reason) -> String {
    switch reason {
    case .fields: "with too few fields"
    case .text: "with unreadable text"
    case .time: "with a wrong time"
    case .name: "without a name"
    case .rssi: "with a wrong RSSI"
    case .unmeasured: "without an RSSI"
    case .implausible: "with an impossible RSSI"
    case .position: "with a wrong position"
    case .receiver: "from an unknown receiver"
    }
  }
}
