import ArgumentParser
import BeaconMachines
import Essentials
import Foundation
import JSONWire

/// Traces: what receivers heard.
struct Trace: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Record advertisements of beacons, replay them, or score position estimates.",
    discussion: """
      EXAMPLES:
        ambit trace record day.csv --receiver hall=tcp:pi-1:9100
        ambit trace survey survey.csv --beacon E2C56DB5-DFFB-48D2-B060-D0F5A71096E0/2/1
        ambit trace replay day.csv
        ambit trace score *.mbd
      """,
    subcommands: [TraceScore.self, TraceRecord.self, TraceSurvey.self, TraceReplay.self],
    defaultSubcommand: TraceScore.self)
}

/// Scores estimates against true positions.
struct TraceScore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "score",
    abstract: "Score each trace after learning from the others.",
    discussion: """
      Windows of a second with at least three receptions are scored; the error is the horizontal \
      distance to the mean true position. The scored trace is not used for learning. Files are those \
      of the Position-Annotated BLE RSSI Dataset (.mbd), or CSV with the same first seven fields; \
      without --map, the receivers have the positions of that dataset.

      EXAMPLES:
        ambit trace score *.mbd
        ambit trace score new.mbd --train a.mbd --train b.mbd
        ambit trace score monday.csv tuesday.csv --map map.json --json
      """)

  @Option(help: ArgumentHelp("The map: units, receivers, rooms.", valueName: "file"))
  var map: String?

  @Option(
    help: ArgumentHelp("A trace to learn from that is not scored itself.", valueName: "file"))
  var train: [String] = []

  @Flag(help: "Write one JSON object per line; docs/json.md lists the keys.")
  var json = false

  @Argument(help: "The traces, with true positions.")
  var files: [String]

  func run() async throws {
    guard files.count + train.count > 1 else {
      throw CommandFailure(
        .usage, "one trace alone has nothing to learn from; name others, or some with --train")
    }
    let plan = try map.map { try FloorMap.load($0) } ?? PublicDataset.plan()
    let output = Output(isJSON: json)
    let tracks = try files.map { try Self.track($0, plan, output) }
    let training = try train.map { try Self.track($0, plan, output) }
    let clock = MonotonicClock()
    let report = ScoreReport(output: output)
    var all = PositionScoring()
    let start = clock.now
    let scores = PositionScoring.leavingOneOut(tracks, training: training, plan: plan)
    let spent = (clock.now - start).seconds
    for (file, score) in zip(files, scores) {
      report.tell(PositionScore(errors: score.filter), "filter", of: file)
      all.add(score)
    }
    report.tell(
      PositionScore(errors: all.filter), "filter",
      milliseconds: spent * 1_000 / Double(tracks.reduce(0) { $0 + $1.count }))
    for comparison in PositionComparison.allCases {
      report.tell(
        PositionScore(errors: all.comparisons[comparison] ?? []), Self.name(comparison))
    }
  }

  private static func track(
    _ file: String, _ plan: FloorPlan, _ output: Output
  ) throws -> [ReadingWindow] {
    let windows = try FloorMap.track(file, on: plan, reportingTo: output).windows
    guard windows.contains(where: { $0.truth != nil }) else {
      throw CommandFailure(.badData, "\(file) has no true positions")
    }
    return windows
  }

  private static func name(_ comparison: PositionComparison) -> String {
    switch comparison {
    case .nearestReceiver: "nearest receiver"
    case .centroid: "centroid"
    case .leastSquares: "least squares"
    }
  }
}

/// Scores as lines or objects.
private struct ScoreReport {
  let output: Output

  /// Milliseconds include learning, and the estimators that are compared.
  func tell(
    _ score: PositionScore, _ estimator: String, of track: String? = nil,
    milliseconds: Double? = nil
  ) {
    guard output.isJSON else {
      let numbers = [score.median, score.mean, score.percentile(90)].map(FixReport.text)
      let time = milliseconds.map { String(format: ", %.2f ms a fix with learning", $0) } ?? ""
      let windows = "\(score.errors.count) windows"
      return output.line(
        "\(Fit.column(estimator, 17)) median \(numbers[0])  mean \(numbers[1])  "
          + "90 % \(numbers[2]) m  \(windows)  \(track.map(Fit.safe) ?? "all")\(time)")
    }
    output.object(
      .object([
        "event": .string("score"), "track": track.map(JSON.string),
        "estimator": .string(estimator), "windows": .integer(Int64(score.errors.count)),
        "median": .number(score.median), "mean": .number(score.mean),
        "p90": .number(score.percentile(90)), "millisecondsPerFix": milliseconds.map(JSON.number),
      ]))
  }
}

/// Where the Position-Annotated BLE RSSI Dataset (Daniş et al., CC0) has its receivers.
enum PublicDataset {
  private static let receivers: [(id: String, x: Double, y: Double, z: Double)] = [
    ("b827eb4521b4", 7.00, 7.09, 1.22), ("000000000101", 7.18, 0.68, 2.30),
    ("000000000102", 0.71, 6.16, 2.30), ("b827eb917e19", 7.25, 11.36, 1.22),
    ("000000000201", 0.76, 12.13, 2.30), ("000000000202", 7.18, 17.64, 2.30),
    ("b827ebf7d096", 13.14, 12.33, 1.22), ("000000000301", 12.82, 16.83, 2.30),
    ("000000000302", 18.12, 11.93, 2.30), ("b827ebfd7811", 13.01, 5.51, 1.22),
    ("000000000401", 17.77, 6.33, 2.30), ("000000000402", 12.76, 0.27, 2.30),
  ]

  static func plan() throws -> FloorPlan {
    let all = receivers.map {
      FloorReceiver(id: $0.id, position: FloorPoint(x: $0.x, y: $0.y, z: $0.z))
    }
    guard let plan = FloorPlan(receivers: all) else {
      preconditionFailure("the table has receivers with names and positions")
    }
    return plan
  }
}
