import BeaconMachines
import Essentials
import Foundation
import Testing

@testable import AmbitCLI

@Suite("ambit trace survey", .timeLimit(.minutes(5)))
struct SurveyTests {
  @Test("a place is done when enough receivers have heard enough, within a minute")
  func stop() {
    var stop = SurveyStop(start: .zero, receiverCount: 5)
    #expect(stop.neededCount == 3)
    for receiver in 0..<2 { for _ in 0..<50 { stop.hear(by: receiver) } }
    for _ in 0..<9 { stop.hear(by: 4) }
    #expect(stop.state(at: .zero + .seconds(30)) == .incomplete)
    #expect(stop.state(at: .zero + .seconds(60)) == .sparse)
    stop.hear(by: 4)
    #expect(stop.readyCount == 3 && stop.receptionCount == 110)
    #expect(stop.state(at: .zero + .seconds(9)) == .incomplete)
    #expect(stop.state(at: .zero + .seconds(10)) == .enough)
    #expect(stop.state(at: .zero + .seconds(60)) == .enough)
    #expect(SurveyStop(start: .zero, receiverCount: 1).neededCount == 1)
  }

  @Test("the place that a survey lacks most is the farthest one, in a room")
  func coverage() throws {
    let corners = [(0.0, 0.0), (10, 0), (10, 4), (0, 4)].map { FloorPoint(x: $0, y: $1) }
    let receiver = FloorReceiver(id: "far", position: FloorPoint(x: 30, y: 30))
    let plan = try #require(
      FloorPlan(receivers: [receiver], rooms: [FloorRoom(name: "hall", corners: corners)]))
    #expect(SurveyCoverage(of: plan, by: []) == nil)
    let one = try #require(SurveyCoverage(of: plan, by: [FloorPoint(x: 1, y: 1)]))
    #expect(!one.isEnough && one.farthest.x > 9 && one.farthest.y > 3)
    #expect(abs(one.distance - one.farthest.horizontalDistance(to: FloorPoint(x: 1, y: 1))) < 1e-9)
    let places = [(2.0, 2.0), (5, 2), (8, 2)].map { FloorPoint(x: $0, y: $1) }
    #expect(try #require(SurveyCoverage(of: plan, by: places)).isEnough)
    // A map of two kilometres is looked at as coarsely as it takes.
    let ends = [-1_000.0, 1_000].map {
      FloorReceiver(id: "\($0)", position: FloorPoint(x: $0, y: $0))
    }
    let vast = try #require(FloorPlan(receivers: ends))
    #expect(try #require(SurveyCoverage(of: vast, by: places)).distance > 1_000)
  }

  @Test("a place is two or three numbers with commas or spaces, at the map's height if it has none")
  func places() throws {
    for text in ["3.5,2", "3.5 2", " 3.5 , 2 ", "3.5  2"] {
      let place = try #require(SurveyPlace(argument: text))
      #expect(place.text == "3.5,2,0" && place.point == FloorPoint(x: 3.5, y: 2, z: 0))
      let raised = place.atHeight(1.75)
      #expect(raised.point == FloorPoint(x: 3.5, y: 2, z: 1.75), "\(raised)")
      #expect(SurveyPlace(argument: raised.text) == raised)
    }
    let high = try #require(SurveyPlace(argument: "3.5 2 1.2"))
    #expect(high.atHeight(1.75).text == "3.5,2,1.2")
    for text in ["3", "3,", "3,,2", "3 2 1 0", "a b", "1e9,2", "nan,1"] {
      #expect(SurveyPlace(argument: text) == nil, "\(text)")
    }
  }

  @Test("places are on the map, or at most as far outside as fixes can be")
  func onTheMap() throws {
    let receivers = [(0.0, 0.0), (10, 4)].map {
      FloorReceiver(id: "\($0.0)", position: FloorPoint(x: $0.0, y: $0.1))
    }
    let plan = try #require(FloorPlan(receivers: receivers))
    for (x, y, isOn) in [(5.0, 2.0, true), (-1, 5, true), (11.5, 2, false), (5, -3, false)] {
      #expect(SurveySession.isOn(plan, FloorPoint(x: x, y: y)) == isOn, "\(x), \(y)")
    }
  }

  @Test("a survey that ends at a place reports that one as unfinished, and its places have heights")
  func unfinished() async throws {
    let folder = try TestFolder()
    let file = folder.path + "/survey.csv"
    let map = try folder.file(
      "map.json",
      """
      {"units": "m", "beaconHeight": 1.5, "receivers": [
      {"id": "sim", "x": 0, "y": 0, "z": 2}, {"id": "far", "x": 9, "y": 9, "z": 2}]}
      """)
    let capture = folder.path + "/air.btsnoop"
    let run = try AmbitRun(
      [
        "trace", "survey", file, "--receiver", "sim=sim", "--json", "--map", map,
        "--beacon", "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0/1/2",
      ], environment: ["AMBIT_CAPTURE": capture])
    try run.write("30,2\n3 2\n4,4\n")
    #expect(await run.complaints.next(containing: "30,2 is not on the map") != nil)
    #expect(await run.output.next(containing: "\"place\"") != nil)
    // The second place takes ten seconds. What is received meanwhile is in the capture at once.
    let size = try FileManager.default.attributesOfItem(atPath: capture)[.size] as? UInt64
    try await TestFolder.waitForFile(capture, of: try #require(size) + 6_000)
    run.terminate()
    let end = try #require(await run.output.next(containing: "\"surveyed\""))
    #expect(end.contains("\"places\":1"), "\(end)")
    _ = await run.end()
    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    #expect(lines.contains { $0.hasSuffix(",3.0,2.0,1.5") }, "\(lines)")
    let rest = lines.filter { $0.hasSuffix(",4.0,4.0,1.5") }.count
    #expect(rest > 0 && end.contains("\"unfinished\":{"), "\(end)")
    #expect(end.contains("\"receptions\":\(rest)"), "\(end)")
  }

  @Test("a survey takes places from its input, records each until it is enough, and ends with it")
  func survey() async throws {
    let folder = try TestFolder()
    let file = folder.path + "/survey.csv"
    let run = try AmbitRun([
      "trace", "survey", file, "--radio", "sim", "--json",
      "--beacon", "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0/1/2",
    ])
    try run.write("elsewhere\n3.5,-2\n\n")
    #expect(await run.complaints.next(containing: "is not a place like 3.5,2") != nil)
    let place = try #require(await run.output.next(containing: "\"place\""))
    #expect(place.contains("\"x\":3.5") && place.contains("\"enough\":true"), "\(place)")
    let end = try #require(await run.output.next(containing: "\"surveyed\""))
    #expect(end.contains("\"places\":1"), "\(end)")
    #expect(await run.end().status == 0)
    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    #expect(lines.count >= SurveyStop.readingsEnough)
    #expect(lines.allSatisfy { $0.contains("/1/2@-59,") && $0.hasSuffix(",3.5,-2,0") })
  }

  @Test("a place that was typed wrongly is taken back, with its readings")
  func takingBack() async throws {
    let folder = try TestFolder()
    let file = folder.path + "/survey.csv"
    let run = try AmbitRun([
      "trace", "survey", file, "--radio", "sim", "--json",
      "--beacon", "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0/1/2",
    ])
    try run.write("undo\n35,2\nundo\nundo\n3.5,2\n\n")
    #expect(await run.complaints.next(containing: "No place is left") != nil)
    #expect(await run.output.next(containing: "\"place\"") != nil)
    let back = try #require(await run.output.next(containing: "\"takenBack\""))
    #expect(back.contains("\"x\":35") && back.contains("\"places\":0"), "\(back)")
    #expect(await run.complaints.next(containing: "No place is left") != nil)
    #expect(await run.output.next(containing: "\"place\"") != nil)
    let end = try #require(await run.output.next(containing: "\"surveyed\""))
    #expect(end.contains("\"places\":1"), "\(end)")
    #expect(await run.end().status == 0)
    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    #expect(lines.count >= SurveyStop.readingsEnough)
    #expect(lines.allSatisfy { $0.contains("/1/2@-59,") && $0.hasSuffix(",3.5,2,0") })
    #expect(end.contains("\"receptions\":\(lines.count)"), "\(end)")
  }
}
