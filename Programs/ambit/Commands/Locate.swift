import ArgumentParser
import BeaconMachines
import Essentials
import Foundation
import JSONWire

/// Locates a beacon with receivers on a map, live or from a trace.
struct Locate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "Estimate the position of a beacon from several receivers on a map, live or in a trace.",
    discussion: """
      Without a trace, scans with the receivers' radios until Ctrl-C or --timeout, and prints a fix \
      every second. A trace has a line for each reception: time, receiver, beacon, RSSI, and the \
      true x, y and z if they are known. docs/locate.md describes it and the map.

      EXAMPLES:
        ambit locate --map map.json walk.csv
        ambit locate --map map.json --train surveyed.csv walk.csv --svg walk.svg
        ambit locate --map map.json walk.csv --json --explain
        ambit locate --map map.json --beacon E2C56DB5-DFFB-48D2-B060-D0F5A71096E0/2/1 \\
          --receiver hall=tcp:pi-1:9100 --receiver cellar=tcp:pi-2:9100 --svg now.svg
      """)

  @OptionGroup var options: GlobalOptions

  @Option(help: ArgumentHelp("The map: units, receivers, rooms.", valueName: "file"))
  var map: String

  @Option(help: ArgumentHelp("A trace with true positions to learn from.", valueName: "file"))
  var train: [String] = []

  @Option(
    help: ArgumentHelp(
      "A receiver of the map and its radio; may be given several times.", valueName: "name=radio"))
  var receiver: [ReceiverArgument] = []

  @Option(
    help: ArgumentHelp(
      "The beacon: UUID/MAJOR/MINOR, or its name in the trace. Required if there are several.",
      valueName: "beacon"))
  var beacon: String?

  @Option(help: ArgumentHelp("Draw the track on the map into this file.", valueName: "file"))
  var svg: String?

  @Flag(help: "Show the contribution of each receiver to each fix.")
  var explain = false

  @Argument(help: "The trace; - is standard input.")
  var file: String?

  func run() async throws {
    let plan = try FloorMap.load(map)
    let output = Output(isJSON: options.json)
    let known = try train.flatMap { try FloorMap.windows($0, on: plan, reportingTo: output) }
    if !train.isEmpty, known.allSatisfy({ $0.truth == nil }) {
      throw CommandFailure(.badData, "\(train[0]) has no true positions to learn from")
    }
    let calibration = PositionCalibration(learning: known, on: plan)
    if let file {
      guard receiver.isEmpty else {
        throw CommandFailure(.usage, "name a trace or receivers, not both")
      }
      try locate(in: file, plan, calibration)
    } else {
      try await locateNow(plan, calibration)
    }
  }

  private func locate(
    in file: String, _ plan: FloorPlan, _ calibration: PositionCalibration
  ) throws {
    let output = Output(isJSON: options.json)
    let walk = try FloorMap.windows(file, on: plan, beacon: beacon, reportingTo: output)
    let report = FixReport(
      output: output, start: walk.first?.end ?? .zero, firstSecond: 1)
    var follower = PositionFollower(plan: plan, calibration: calibration)
    for window in walk {
      var rooms: [RoomMonitor.Action] = []
      let fix = follower.take(window, rooms: &rooms)
      for action in rooms { report.tell(action, fix) }
      report.tell(fix, explain ? follower.explanation : nil)
    }
    if let svg { try FloorPicture.write(plan, follower.fixes, to: svg) }
  }

  private func locateNow(_ plan: FloorPlan, _ calibration: PositionCalibration) async throws {
    guard !receiver.isEmpty else {
      throw CommandFailure(.usage, "name a trace, or the receivers' radios with --receiver")
    }
    guard let text = beacon, let region = BeaconRegionArgument(argument: text),
      region.constraint.minor != nil
    else {
      throw CommandFailure(.usage, "name the beacon to follow: --beacon UUID/MAJOR/MINOR")
    }
    guard Set(receiver.map(\.name)).count == receiver.count else {
      throw CommandFailure(.usage, "two receivers have one name")
    }
    let places = try receiver.map { receiver in
      guard let place = plan.index(ofReceiver: receiver.name) else {
        throw CommandFailure(.badData, "receiver \"\(Fit.safe(receiver.name))\" is not on the map")
      }
      return place
    }
    let (svg, explain, isJSON) = (svg, explain, options.json)
    try await ReceiverRadios.with(receiver, options) { radios in
      let locator = LiveLocator(
        plan: plan, radios: radios, places: places, beacon: region.constraint,
        report: FixReport(
          output: Output(isJSON: isJSON), start: .zero, firstSecond: 0),
        explains: explain, picturePath: svg)
      try await radios.receivers.first?.session.untilTime { try await locator.run(calibration) }
    }
  }
}

/// Fixes as lines or objects.
struct FixReport: Sendable {
  let output: Output
  /// What seconds count from.
  let start: Instant
  /// What they count from there.
  let firstSecond: Double

  func tell(_ fix: PositionFix, _ explanation: PositionExplanation?) {
    let seconds = seconds(fix)
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
        "shift": explanation.map { .number($0.shift) },
        "receivers": explanation.map { .array($0.parts.map(Self.json)) },
      ]))
  }

  /// A room that was entered or left with a fix.
  func tell(_ action: RoomMonitor.Action, _ fix: PositionFix) {
    let (event, room) =
      switch action {
      case .entered(let room): ("entered", room)
      case .left(let room): ("left", room)
      }
    guard output.isJSON else {
      return output.line("\(Self.text(seconds(fix))) s  \(event) \(Fit.safe(room))")
    }
    output.object(
      .object([
        "event": .string(event), "seconds": .number(seconds(fix)), "room": .string(room),
      ]))
  }

  private func seconds(_ fix: PositionFix) -> Double { (fix.time - start).seconds + firstSecond }

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
