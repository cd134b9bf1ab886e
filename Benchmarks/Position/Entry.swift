import BeaconMachines
import BenchmarkSupport
import Essentials
import Foundation

/// What the program does; `Benchmarks/run position` explains.
@main
struct Entry {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.allSatisfy({ $0 == "--smoke" }) else {
      say("There are no parts; --smoke is the only option.")
      exit(2)
    }
    do {
      var table = try Table(suite: "position", isSmoke: arguments.contains("--smoke"))
      try measure(&table)
      guard table.finish(isComplete: true) else { exit(1) }
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }

  private static func measure(_ table: inout Table) throws {
    let (plan, tracks) = try PublicTracks.load()
    var all = PositionScoring()
    for each in PositionScoring.leavingOneOut(tracks, plan: plan) { all.add(each) }
    table.heading("Errors on \(all.filter.count) windows of \(tracks.count) tracks", "")
    var curves: [(String, PositionScore)] = []
    for (name, comparison) in [
      ("nearest receiver", PositionComparison.nearestReceiver), ("centroid", .centroid),
      ("least squares", .leastSquares),
    ] {
      curves.append((name, PositionScore(errors: all.comparisons[comparison] ?? [])))
    }
    curves.append(("filter", PositionScore(errors: all.filter)))
    for (name, score) in curves {
      table.add("\(name), median", score.median, "m")
      table.add("\(name), mean", score.mean, "m")
      table.add("\(name), 90th percentile", score.percentile(90), "m")
    }
    table.add("filter, within its radius", 100 * all.insideShare, "%")
    try measureOthers(&table, tracks, plan)
    table.add("filter, a fix", millisecondsPerFix(tracks, plan), "ms")
    let picture = PublicTracks.root.appending(path: "docs/images/position-errors.svg")
    try Data(ErrorPicture.svg(curves).utf8).write(to: picture)
  }

  /// The same tracks, as if they were of other beacons than the surveyed one.
  private static func measureOthers(
    _ table: inout Table, _ tracks: [[ReadingWindow]], _ plan: FloorPlan
  ) throws {
    table.heading("The same by a beacon that is louder than the surveyed one", "")
    for difference in [-12.0, -6, -3, 0, 3, 6, 12] {
      for (name, offset) in [
        ("known as such", BeaconOffset.unknown), ("taken for it", .surveyedBefore),
        ("not", .surveyed),
      ] {
        var all = PositionScoring()
        for left in tracks.indices {
          let others = tracks.indices.filter { $0 != left }.flatMap { tracks[$0] }
          all.add(
            tracks[left].map { $0.louder(by: difference) }, plan: plan,
            calibration: PositionCalibration(learning: others, on: plan), offset: offset)
        }
        let title = "\(Int(difference)) dB, \(name)"
        table.add("\(title), median", PositionScore(errors: all.filter).median, "m")
        table.add("\(title), within the radius", 100 * all.insideShare, "%")
      }
    }
  }

  /// Processor time of one thread, without making the estimator.
  private static func millisecondsPerFix(_ tracks: [[ReadingWindow]], _ plan: FloorPlan) -> Double {
    let calibration = PositionCalibration(learning: tracks.flatMap(\.self), on: plan)
    var spent = 0.0
    for track in tracks {
      var estimator = PositionEstimator(plan: plan, calibration: calibration)
      let start = clock()
      for window in track { _ = estimator.update(window) }
      spent += Double(clock() - start) / Double(CLOCKS_PER_SEC)
    }
    return spent * 1_000 / Double(tracks.reduce(0) { $0 + $1.count })
  }
}

extension ReadingWindow {
  /// The readings of a louder beacon, without those below the sensitivity of receivers.
  fileprivate func louder(by difference: Double) -> ReadingWindow {
    var window = self
    for index in window.heard.indices { window.heard[index].rssi += difference }
    window.heard.removeAll { $0.rssi < -100 }
    return window
  }
}

/// The tracks in Benchmarks/Data.
enum PublicTracks {
  private struct Map: Decodable {
    struct Receiver: Decodable {
      var id: String
      var x, y, z: Double
    }
    var receivers: [Receiver]
  }

  static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../..").standardizedFileURL

  static func load() throws -> (FloorPlan, [[ReadingWindow]]) {
    let folder = root.appending(path: "Benchmarks/Data/BLE-RSSI")
    let map = try JSONDecoder().decode(
      Map.self, from: Data(contentsOf: folder.appending(path: "map.json")))
    let receivers = map.receivers.map {
      FloorReceiver(id: $0.id, position: FloorPoint(x: $0.x, y: $0.y, z: $0.z))
    }
    guard let plan = FloorPlan(receivers: receivers) else { throw CocoaError(.fileReadCorruptFile) }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".csv") }.sorted()
    return (
      plan,
      try names.map { name in
        let data = try Data(contentsOf: folder.appending(path: name))
        return try PositionTrace(text: [UInt8](data)[...]).windows(on: plan)
      }
    )
  }
}
