import ArgumentParser
import BeaconMachines
import Essentials
import Foundation
import JSONWire

/// Says where a beacon was, as receivers on a map heard it.
struct Locate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say where a beacon was among several receivers on a map.",
    discussion: """
      The trace has a line for each reception: time, receiver, beacon, RSSI, and where it is known \
      the true x, y and z. docs/locate.md describes it and the map.

      EXAMPLES:
        ambit locate --map map.json walk.csv
        ambit locate --map map.json --train surveyed.csv walk.csv --svg walk.svg
        ambit locate --map map.json walk.csv --json --explain
      """)

  @Option(help: ArgumentHelp("The map: units, receivers, rooms.", valueName: "file"))
  var map: String

  @Option(help: ArgumentHelp("A trace with true places to learn from.", valueName: "file"))
  var train: [String] = []

  @Option(help: ArgumentHelp("Draw the way on the map into this file.", valueName: "file"))
  var svg: String?

  @Flag(help: "Say what each receiver had to do with each fix.")
  var explain = false

  @Flag(help: "Write one JSON object per line; docs/json.md lists the keys.")
  var json = false

  @Argument(help: "The trace; - is standard input.")
  var file: String

  func run() async throws {
    let plan = try FloorMap.load(map)
    let walk = try FloorMap.windows(file, on: plan)
    let known = try train.flatMap { try FloorMap.windows($0, on: plan) }
    if !train.isEmpty, known.allSatisfy({ $0.truth == nil }) {
      throw CommandFailure(.badData, "\(train[0]) has no true places to learn from")
    }
    var estimator = PositionEstimator(
      plan: plan, calibration: PositionCalibration(learning: known, on: plan))
    let report = FixReport(output: Output(isJSON: json), start: walk.first?.end ?? .zero)
    var fixes: [PositionFix] = []
    for window in walk {
      let fix = estimator.update(window)
      fixes.append(fix)
      report.tell(fix, explain ? estimator.explanation : nil)
    }
    guard let svg else { return }
    do {
      try Data(FloorPicture.svg(plan, fixes: fixes).utf8).write(to: URL(fileURLWithPath: svg))
    } catch { throw CommandFailure(.cannotCreate, "\(svg) cannot be written") }
  }
}

/// Fixes as lines or objects.
struct FixReport {
  let output: Output
  /// When the first window ended; a window takes a second.
  let start: Instant

  func tell(_ fix: PositionFix, _ explanation: PositionExplanation?) {
    let seconds = (fix.time - start).seconds + 1
    guard output.isJSON else {
      let place = Self.text(fix.position.x) + ", " + Self.text(fix.position.y)
      let room = fix.rooms.first.map { "  \(Fit.safe($0.name)) \(Int($0.probability * 100)) %" }
      output.line("\(Self.text(seconds)) s  \(place)  ± \(Self.text(fix.radius)) m\(room ?? "")")
      for part in explanation?.parts ?? [] { output.line(Self.text(part)) }
      return
    }
    let covariance = fix.covariance
    output.object(
      .object([
        "event": .string("fix"), "seconds": .number(seconds), "x": .number(fix.position.x),
        "y": .number(fix.position.y), "radius": .number(fix.radius),
        "covariance": .array([covariance.xx, covariance.xy, covariance.yy].map(JSON.number)),
        "readings": .integer(Int64(fix.readingCount)),
        "rooms": .array(
          fix.rooms.map {
            .object(["name": .string($0.name), "probability": .number($0.probability)])
          }),
        "receivers": explanation.map { .array($0.parts.map(Self.json)) },
      ]))
  }

  static func text(_ metres: Double) -> String { String(format: "%.2f", metres) }

  private static func text(_ part: PositionExplanation.Part) -> String {
    let heard = part.rssi.map { String(format: "%.1f dBm", $0) } ?? "nothing"
    return "  \(Fit.column(Fit.safe(part.receiver), 16)) heard \(heard), expected "
      + String(
        format: "%.1f ± %.1f dBm from %.1f m, weight %.0f %%", part.expected, part.spread,
        part.distance, part.weight * 100)
  }

  private static func json(_ part: PositionExplanation.Part) -> JSON {
    .object([
      "id": .string(part.receiver), "rssi": part.rssi.map(JSON.number),
      "count": .integer(Int64(part.count)), "distance": .number(part.distance),
      "expected": .number(part.expected), "offset": .number(part.offset),
      "correction": .number(part.correction), "spread": .number(part.spread),
      "weight": .number(part.weight),
    ])
  }
}
