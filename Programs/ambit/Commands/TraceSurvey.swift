import ArgumentParser
import BeaconMachines
import Essentials
import Foundation
import JSONWire

/// Records what receivers hear of a beacon in one place after the other.
struct TraceSurvey: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "survey",
    abstract: "Record a beacon in several places, for locate --train.",
    discussion: """
      Put the beacon down, type its place in metres, and wait: a place is done when three receivers \
      have ten readings each, after ten seconds at the earliest and a minute at the latest. Then \
      comes the next place; "undo" takes the last one back, which may be repeated, and an empty line \
      or the end of the input ends the survey. With --map, each place is followed by the one that the \
      survey lacks most, and the end by the error with which the places are found by what the others \
      taught.

      EXAMPLES:
        ambit trace survey survey.csv --beacon E2C56DB5-DFFB-48D2-B060-D0F5A71096E0/2/1 \\
          --map map.json --receiver hall=tcp:pi-1:9100 --receiver cellar=tcp:pi-2:9100
        printf '1,1\\n4,2.5\\n' | ambit trace survey survey.csv --beacon UUID/2/1 --json
      """)

  @OptionGroup var options: GlobalOptions

  @Option(
    help: ArgumentHelp(
      "A receiver and its radio; may be given several times.", valueName: "name=radio"))
  var receiver: [ReceiverArgument] = []

  @Option(help: ArgumentHelp("The beacon.", valueName: "uuid/major/minor"))
  var beacon: BeaconRegionArgument

  @Option(help: ArgumentHelp("The map: units, receivers, rooms.", valueName: "file"))
  var map: String?

  @Argument(help: "The file to write.", completion: .file())
  var file: String

  func validate() throws {
    guard beacon.constraint.minor != nil else {
      throw ValidationError("A survey is made with one beacon: UUID/MAJOR/MINOR.")
    }
    guard file != "-" else { throw ValidationError("A survey needs a file.") }
  }

  /// An earlier survey is hours of walking: it is not replaced.
  private static func checkIsNew(_ file: String) throws {
    let attributes = try? FileManager.default.attributesOfItem(atPath: file)
    guard attributes?[.type] as? FileAttributeType == .typeRegular,
      (attributes?[.size] as? NSNumber)?.intValue != 0
    else { return }
    throw CommandFailure(.cannotCreate, "\(Fit.safe(file)) exists; name another file")
  }

  func run() async throws {
    let receivers = try TraceRecord.receivers(receiver, options)
    try Self.checkIsNew(file)
    let plan = try map.map { try FloorMap.load($0) }
    for receiver in receivers {
      if let plan, plan.index(ofReceiver: receiver.name) == nil {
        throw CommandFailure(
          .badData, "receiver \"\(Fit.safe(receiver.name))\" is not on the map")
      }
    }
    let session = SurveySession(
      writer: try TraceWriter(file), receivers: receivers.map(\.name), plan: plan,
      output: Output(isJSON: options.json))
    let constraint = beacon.constraint
    let result: Result<Void, any Error>
    do {
      try await ReceiverRadios.with(receivers, options) { radios in
        try await radios.receivers.first?.session.untilTime {
          try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
              await radios.hear { heard in
                guard let identity = heard.beacon.iBeacon.map({ BeaconIdentity($0) }),
                  constraint.matches(identity)
                else { return }
                session.hear(heard)
              } onChange: { _, _ in
              }
            }
            group.addTask { try await session.run() }
            try await group.next()
            group.cancelAll()
          }
        }
      }
      result = .success(())
    } catch { result = .failure(error) }
    try session.end(file)
    try result.get()
  }
}

/// The places of a survey, one after the other.
final class SurveySession: Sendable {
  /// A place that is done.
  private struct Done: Sendable {
    var place: SurveyPlace
    /// If there is a map.
    var readings: [TraceReading]
    var receptionCount: Int
    /// The file before it.
    var mark: TraceWriter.Mark?
  }

  private struct State: Sendable {
    /// The place where the beacon lies now; nil on the way.
    var current: (place: SurveyPlace, stop: SurveyStop)?
    var done: [Done] = []
    /// Those of the current place.
    var readings: [TraceReading] = []
    var receptionCount = 0

    var points: [FloorPoint] { done.map(\.place.point) }

    /// A place with receptions that wasn't done when the survey was ended.
    var unfinished: (place: SurveyPlace, receptionCount: Int)? {
      guard let current, current.stop.receptionCount > 0 else { return nil }
      return (current.place, current.stop.receptionCount)
    }
  }

  private let writer: TraceWriter
  private let receivers: [String]
  private let plan: FloorPlan?
  private let output: Output
  private let clock = MonotonicClock()
  private let state = Guarded(State())
  private let input = LineReader { readLine() }
  private static let tick = Duration.milliseconds(250)

  init(writer: TraceWriter, receivers: [String], plan: FloorPlan?, output: Output) {
    self.writer = writer
    self.receivers = receivers
    self.plan = plan
    self.output = output
  }

  /// Handles an advertisement of the beacon, on any thread. On the way between places it is ignored.
  func hear(_ heard: HeardBeacon) {
    let (now, name) = (clock.now, receivers[heard.receiver])
    state.update { state in
      guard let place = state.current?.place else { return }
      state.current?.stop.hear(by: heard.receiver)
      state.receptionCount += 1
      if plan != nil {
        state.readings.append(
          TraceReading(
            time: now, receiver: name, beacon: heard.beacon.name, rssi: heard.rssi,
            truth: place.point, line: state.receptionCount))
      }
      // Here, so that nothing of a place is added after it was taken back.
      writer.add(heard, by: name, place)
    }
  }

  /// Reads places until there are no more.
  func run() async throws {
    while true {
      output.note(
        "Put the beacon down and type its place, x,y in metres, or x,y,z with its height. "
          + "\"undo\" takes the last one back; an empty line ends.")
      guard let line = await input.next() else { return }
      let text = line.trimmingCharacters(in: .whitespaces)
      if text.isEmpty { return }
      if text.lowercased() == "undo" {
        try takeBack()
        continue
      }
      guard let place = SurveyPlace(argument: text) else {
        output.note("\"\(Fit.safe(text))\" is not a place like 3.5,2.")
        continue
      }
      guard let plan else {
        try await stay(at: place)
        continue
      }
      guard Self.isOn(plan, place.point) else {
        output.note(
          "\(Fit.safe(text)) is not on the map, which is from \(Self.text(plan.bounds.low)) to "
            + "\(Self.text(plan.bounds.high)); nothing is recorded.")
        continue
      }
      try await stay(at: place.atHeight(plan.beaconHeight))
    }
  }

  /// Whether fixes can be there: at most as far outside of receivers and rooms as those of `locate`.
  static func isOn(_ plan: FloorPlan, _ point: FloorPoint) -> Bool {
    let (low, high) = plan.bounds
    let margin = PositionEstimator.Settings().margin
    return (low.x - margin...high.x + margin).contains(point.x)
      && (low.y - margin...high.y + margin).contains(point.y)
  }

  private static func text(_ point: FloorPoint) -> String {
    FixReport.text(point.x) + "," + FixReport.text(point.y)
  }

  /// Takes the last place back, with its readings.
  private func takeBack() throws {
    guard let last = state.value.done.last else {
      return output.note("No place is left that could be taken back.")
    }
    guard let mark = last.mark else {
      return output.note("What was written into a pipe can't be taken back.")
    }
    try writer.takeBack(to: mark)
    let points = state.update { state in
      state.done.removeLast()
      state.receptionCount -= last.receptionCount
      return state.points
    }
    guard !output.isJSON else {
      return output.object(
        .object([
          "event": .string("takenBack"), "x": .number(last.place.point.x),
          "y": .number(last.place.point.y), "places": .integer(Int64(points.count)),
        ]))
    }
    output.line("\(last.place.text) is taken back, with \(last.receptionCount) receptions")
    let coverage = plan.flatMap { SurveyCoverage(of: $0, by: points) }
    if let coverage { output.note(Self.advice(coverage)) }
  }

  private func stay(at place: SurveyPlace) async throws {
    let start = clock.now
    let mark = writer.mark
    state.update {
      $0.current = (place, SurveyStop(start: start, receiverCount: receivers.count))
    }
    while true {
      try await Task.sleep(for: Self.tick)
      let now = clock.now
      guard let stop = state.value.current?.stop else { return }
      let seconds = Int((now - start).seconds)
      let end = stop.state(at: now)
      guard end != .incomplete else {
        output.progress(
          "\(place.text): \(seconds) s, \(stop.receptionCount) receptions, "
            + "\(stop.readyCount) of \(stop.neededCount) receivers have "
            + "\(SurveyStop.readingsEnough) …")
        continue
      }
      let all = state.update { state in
        let known = state.current?.stop ?? stop
        if known.receptionCount > 0 {
          state.done.append(
            Done(
              place: place, readings: state.readings, receptionCount: known.receptionCount,
              mark: mark))
        }
        state.current = nil
        state.readings = []
        return known
      }
      try writer.flush()
      return report(place, all, seconds: seconds, isSparse: end == .sparse)
    }
  }

  private func report(_ place: SurveyPlace, _ stop: SurveyStop, seconds: Int, isSparse: Bool) {
    let coverage = plan.flatMap { SurveyCoverage(of: $0, by: state.value.points) }
    guard output.isJSON else {
      output.line(
        "\(place.text): \(seconds) s, \(stop.receptionCount) receptions, "
          + "\(stop.readyCount) receivers with \(SurveyStop.readingsEnough) or more")
      if stop.receptionCount == 0 {
        output.note("Nothing was heard of the beacon here; the place is not counted.")
      } else if isSparse {
        output.note(
          "Fewer than \(stop.neededCount) receivers hear it well here; a fix will be vague.")
      }
      if let coverage { output.note(Self.advice(coverage)) }
      return
    }
    let point = place.point
    output.object(
      .object([
        "event": .string("place"), "x": .number(point.x), "y": .number(point.y),
        "seconds": .integer(Int64(seconds)), "receptions": .integer(Int64(stop.receptionCount)),
        "receivers": .integer(Int64(stop.readyCount)), "enough": .bool(!isSparse),
        "lacking": coverage.flatMap(Self.json),
      ]))
  }

  private static func advice(_ coverage: SurveyCoverage) -> String {
    let distance = FixReport.text(coverage.distance)
    guard !coverage.isEnough else {
      return "No place on the map is more than \(distance) m from a surveyed one: that is enough."
    }
    let (x, y) = (FixReport.text(coverage.farthest.x), FixReport.text(coverage.farthest.y))
    return "Next, perhaps: \(x),\(y) is \(distance) m from the nearest surveyed place."
  }

  private static func json(_ coverage: SurveyCoverage) -> JSON? {
    coverage.isEnough
      ? nil
      : .object([
        "x": .number(coverage.farthest.x), "y": .number(coverage.farthest.y),
        "distance": .number(coverage.distance),
      ])
  }

  /// Writes the rest, and reports the survey as a whole.
  func end(_ file: String) throws {
    try writer.flush()
    let state = state.value
    let score = score(state.done.map(\.readings))
    let unfinished = state.unfinished
    guard !output.isJSON else {
      return output.object(
        .object([
          "event": .string("surveyed"), "file": .string(file),
          "places": .integer(Int64(state.done.count)),
          "receptions": .integer(Int64(state.receptionCount)),
          "unfinished": unfinished.map {
            .object([
              "x": .number($0.place.point.x), "y": .number($0.place.point.y),
              "receptions": .integer(Int64($0.receptionCount)),
            ])
          },
          "median": score.map { .number($0.median) },
        ]))
    }
    let count = state.done.count
    let rest = unfinished.map {
      "; \($0.receptionCount) of them are from \($0.place.text), which is not finished"
    }
    output.note(
      "\(file) holds \(state.receptionCount) receptions, and \(count) "
        + "\(count == 1 ? "place is" : "places are") finished\(rest ?? "").")
    if let score {
      output.note(
        "Each is found by what the others taught with a median error of "
          + "\(FixReport.text(score.median)) m.")
    }
  }

  /// The errors at each place after learning from the others; nil with too few places, or no map.
  private func score(_ places: [[TraceReading]]) -> PositionScore? {
    guard let plan, places.count >= 3 else { return nil }
    let tracks = places.compactMap { try? PositionTrace($0).windows(on: plan) }
    let errors = PositionScoring.leavingOneOut(tracks, plan: plan).flatMap(\.filter)
    return errors.isEmpty ? nil : PositionScore(errors: errors)
  }
}
