import ArgumentParser
import BeaconMachines
import Essentials
import Foundation
import JSONWire

/// Locates beacons with receivers on a map, live or from a trace.
struct Locate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "Estimate the positions of beacons from several receivers on a map, live or in a trace.",
    discussion: """
      Without a trace, scans with the receivers' radios until Ctrl-C or --timeout, and prints a fix \
      of each beacon every second. Beacons may be louder or fainter than those of --train: the \
      difference is taken from the measured power in their names, and estimated. A trace has a line for each reception: time, receiver, beacon, RSSI, and the \
      true x, y and z if they are known. docs/locate.md describes it and the map.

      EXAMPLES:
        ambit locate --map map.json walk.csv
        ambit locate --map map.json --train surveyed.csv walk.csv --svg walk.svg
        ambit locate --map map.json walk.csv --json --explain
        ambit locate --map map.json --train surveyed.csv badges.csv --svg badges.svg
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
      "A beacon: UUID/MAJOR/MINOR, or its name in the trace; may be given several times.",
      valueName: "beacon"))
  var beacon: [String] = []

  @Option(help: ArgumentHelp("Draw the track on the map into this file.", valueName: "file"))
  var svg: String?

  @Flag(help: "Show the contribution of each receiver to each fix.")
  var explain = false

  @Argument(help: "The trace; - is standard input.")
  var file: String?

  func run() async throws {
    if let svg { try FloorPicture.checkWritable(svg) }
    let plan = try FloorMap.load(map)
    let output = Output(isJSON: options.json)
    var surveyed = SurveyedBeacons()
    var known: [ReadingWindow] = []
    for file in train {
      known += surveyed.add(try FloorMap.track(file, on: plan, reportingTo: output))
    }
    if !train.isEmpty, known.allSatisfy({ $0.truth == nil }) {
      throw CommandFailure(.badData, "\(train[0]) has no true positions to learn from")
    }
    let calibration = PositionCalibration(learning: known, on: plan)
    if let file {
      guard receiver.isEmpty else {
        throw CommandFailure(.usage, "name a trace or receivers, not both")
      }
      try locate(in: file, plan, calibration, surveyed)
    } else {
      try await locateNow(plan, calibration, surveyed)
    }
  }

  private func locate(
    in file: String, _ plan: FloorPlan, _ calibration: PositionCalibration,
    _ surveyed: SurveyedBeacons
  ) throws {
    let output = Output(isJSON: options.json)
    let tracks = try FloorMap.tracks(file, on: plan, beacons: beacon, reportingTo: output)
    let estimator = PositionEstimator(plan: plan, calibration: calibration, offset: .unknown)
    var followers = tracks.map { track in
      PositionFollower(estimator.ofAnotherBeacon(offset: surveyed.offset(of: track.beacon)))
    }
    let walk = tracks.enumerated().flatMap { index, track in track.windows.map { (index, $0) } }
      .sorted { ($0.1.end, $0.0) < ($1.1.end, $1.0) }
    let report = FixReport(
      output: output, start: walk.first?.1.end ?? .zero, firstSecond: 1,
      isOfSeveral: tracks.count > 1)
    for (index, window) in walk {
      let name = String(tracks[index].beacon.identity)
      var rooms: [RoomMonitor.Action] = []
      let fix = followers[index].take(window, rooms: &rooms)
      for action in rooms { report.tell(action, fix, of: name) }
      report.tell(fix, explain ? followers[index].explanation : nil, of: name)
    }
    if let svg {
      let ways = zip(tracks, followers).map { track, follower in
        FloorPicture.Way(
          name: tracks.count > 1 ? track.beacon.shortName : nil, fixes: follower.fixes)
      }
      try FloorPicture.write(plan, ways, to: svg)
    }
  }

  private func locateNow(
    _ plan: FloorPlan, _ calibration: PositionCalibration, _ surveyed: SurveyedBeacons
  ) async throws {
    guard !receiver.isEmpty else {
      throw CommandFailure(.usage, "name a trace, or the receivers' radios with --receiver")
    }
    let constraints = beacon.compactMap { BeaconRegionArgument(argument: $0)?.constraint }
      .filter { $0.minor != nil }
    guard !beacon.isEmpty, constraints.count == beacon.count else {
      throw CommandFailure(.usage, "name the beacons to follow: --beacon UUID/MAJOR/MINOR")
    }
    guard Set(constraints).count == constraints.count, constraints.count <= FloorMap.beaconsMax
    else {
      throw CommandFailure(
        .usage, "a beacon is named twice, or more than \(FloorMap.beaconsMax) are")
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
        plan: plan, radios: radios, places: places, beacons: constraints, surveyed: surveyed,
        report: FixReport(
          output: Output(isJSON: isJSON), start: .zero, firstSecond: 0,
          isOfSeveral: constraints.count > 1),
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
  /// Whether lines name the beacon.
  let isOfSeveral: Bool

  func tell(_ fix: PositionFix, _ explanation: PositionExplanation?, of beacon: String) {
    let seconds = seconds(fix)
    let offset = fix.beaconOffset
    guard output.isJSON else {
      let place = Self.text(fix.position.x) + ", " + Self.text(fix.position.y)
      let room = fix.rooms.first.map { "  \(Fit.safe($0.name)) \(Int($0.probability * 100)) %" }
      output.line(
        "\(Self.text(seconds)) s  \(prefix(beacon))\(place)  ± \(Self.text(fix.radius)) m\(room ?? "")"
      )
      if explanation != nil, offset != .surveyed {
        output.line(
          String(
            format: "  the beacon is %+.1f ± %.1f dB louder than the surveyed one", offset.mean,
            offset.spread))
      }
      for part in explanation?.parts ?? [] { output.line(Self.text(part)) }
      return
    }
    let covariance = fix.covariance
    output.object(
      .object([
        "event": .string("fix"), "beacon": .string(beacon), "seconds": .number(seconds),
        "x": .number(fix.position.x),
        "y": .number(fix.position.y), "radius": .number(fix.radius),
        "covariance": .array([covariance.xx, covariance.xy, covariance.yy].map(JSON.number)),
        "readings": .integer(Int64(fix.readingCount)),
        "offset": offset == .surveyed
          ? nil : .object(["mean": .number(offset.mean), "spread": .number(offset.spread)]),
        "rooms": .array(
          fix.rooms.map {
            .object(["name": .string($0.name), "probability": .number($0.probability)])
          }),
        "shift": explanation.map { .number($0.shift) },
        "receivers": explanation.map { .array($0.parts.map(Self.json)) },
      ]))
  }

  /// A room that was entered or left with a fix.
  func tell(_ action: RoomMonitor.Action, _ fix: PositionFix, of beacon: String) {
    let (event, room) =
      switch action {
      case .entered(let room): ("entered", room)
      case .left(let room): ("left", room)
      }
    guard output.isJSON else {
      return output.line(
        "\(Self.text(seconds(fix))) s  \(prefix(beacon))\(event) \(Fit.safe(room))")
    }
    output.object(
      .object([
        "event": .string(event), "beacon": .string(beacon), "seconds": .number(seconds(fix)),
        "room": .string(room),
      ]))
  }

  private func prefix(_ beacon: String) -> String {
    isOfSeveral ? Fit.safe(beacon) + "  " : ""
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
