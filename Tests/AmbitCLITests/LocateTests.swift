import BeaconMachines
import Essentials
import Foundation
import Glibc
import Testing

@testable import AmbitCLI

@Suite("ambit locate and ambit trace", .timeLimit(.minutes(5)))
struct LocateTests {
  private static let data =
    URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Benchmarks/Data/BLE-RSSI").standardizedFileURL.path + "/"
  private static let map = data + "map.json"

  private static func object(_ line: String) throws -> [String: Any] {
    let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
    return try #require(object as? [String: Any])
  }

  @Test("a score has a line for each track and for each estimator")
  func score() async throws {
    let run = try await AmbitRun.end(
      "trace", "score", "--json", Self.data + "straight-01.csv", Self.data + "straight-03.csv",
      "--train", Self.data + "zigzagging-without-rotation.csv")
    #expect(run.status == 0 && run.complaints.isEmpty && run.output.count == 6, "\(run)")
    let all = try #require(try run.output.map(Self.object).first { $0["track"] == nil })
    #expect(all["estimator"] as? String == "filter" && all["windows"] as? Int == 106)
    #expect(try #require(all["median"] as? Double) < 2)
  }

  @Test("one trace alone has nothing to learn from")
  func alone() async throws {
    let run = try await AmbitRun.end("trace", "score", Self.data + "straight-01.csv")
    #expect(run.status == 64 && run.complaints.joined().contains("--train"), "\(run)")
  }

  @Test("a fix comes for every second, with reasons, and a picture of the way")
  func locate() async throws {
    let folder = try TestFolder()
    let picture = folder.path + "/way.svg"
    let run = try await AmbitRun.end(
      "locate", "--map", Self.map, "--train", Self.data + "straight-03.csv",
      Self.data + "straight-01.csv", "--json", "--explain", "--svg", picture)
    #expect(run.status == 0 && run.complaints.isEmpty && run.output.count == 59, "\(run)")
    let first = try Self.object(try #require(run.output.first))
    #expect(first["event"] as? String == "fix" && first["seconds"] as? Double == 1)
    #expect((first["receivers"] as? [Any])?.count == 12)
    #expect((first["covariance"] as? [Double])?.count == 3)
    let drawing = try String(contentsOfFile: picture, encoding: .utf8)
    #expect(drawing.hasPrefix("<svg ") && drawing.contains("<polyline "))
  }

  @Test("the picture of a way is for its user only, and follows no symbolic link")
  func privatePicture() async throws {
    let folder = try TestFolder()
    let (diary, link) = (try folder.file("diary", "Dear Ann,"), folder.path + "/link")
    #expect(symlink(diary, link) == 0)
    // One that others may read, as earlier versions wrote it, is replaced.
    let picture = try folder.file("way.svg", "")
    #expect(chmod(picture, 0o644) == 0)
    func draw(_ path: String) async throws -> AmbitRun.End {
      try await AmbitRun.end(
        "locate", "--map", Self.map, "--train", Self.data + "straight-03.csv",
        Self.data + "straight-01.csv", "--json", "--svg", path)
    }
    #expect(try await draw(picture).status == 0)
    let attributes = try FileManager.default.attributesOfItem(atPath: picture)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(try String(contentsOfFile: picture, encoding: .utf8).hasPrefix("<svg "))
    let refused = try await draw(link)
    #expect(refused.status == AmbitCLI.ExitStatus.cannotCreate.rawValue)
    #expect(refused.output.isEmpty)
    #expect(refused.complaints.joined().contains("it is a symbolic link"), "\(refused)")
    #expect(try String(contentsOfFile: diary, encoding: .utf8) == "Dear Ann,")
  }

  /// The first public track, carried by two badges, of which one is fainter.
  private static func trackOfBadges(in folder: borrowing TestFolder) throws -> String {
    let lines = try String(contentsOfFile: data + "straight-01.csv", encoding: .utf8)
      .split(separator: "\n").filter { !$0.hasPrefix("#") }
    let both = lines.flatMap { line -> [String] in
      var fields = line.split(separator: ",").map(String.init)
      guard fields.count > 3, let rssi = Int(fields[3]) else { return [] }
      fields[2] = "faint"
      fields[3] = String(rssi - 7)
      return [String(line), fields.joined(separator: ",")]
    }
    return try folder.file("badges.csv", both.joined(separator: "\n"))
  }

  @Test("several badges are followed at once, also a fainter one than that of the survey")
  func badges() async throws {
    let folder = try TestFolder()
    let path = try Self.trackOfBadges(in: folder)
    let picture = folder.path + "/badges.svg"
    let run = try await AmbitRun.end(
      "locate", "--map", Self.map, "--train", Self.data + "straight-03.csv",
      "--train", Self.data + "zigzagging-without-rotation.csv", path, "--json", "--svg", picture)
    #expect(run.status == 0 && run.complaints.isEmpty, "\(run)")
    var places: [String: [(x: Double, y: Double)]] = [:]
    var offset: [String: Double]?
    for object in try run.output.map(Self.object) where object["event"] as? String == "fix" {
      let name = try #require(object["beacon"] as? String)
      let (x, y) = (try #require(object["x"] as? Double), try #require(object["y"] as? Double))
      places[name, default: []].append((x, y))
      let its = try #require(object["offset"] as? [String: Double])
      if name == "faint" { offset = its } else { #expect(abs(its["mean"] ?? 9) < 2, "\(its)") }
    }
    let surveyed = try #require(places["e78f135624ce"])
    let faint = try #require(places["faint"])
    #expect(surveyed.count == 59 && faint.count == 59)
    let distances = zip(surveyed, faint).map { hypot($0.x - $1.x, $0.y - $1.y) }.sorted()
    #expect(distances[29] < 1, "\(distances)")
    #expect(abs(try #require(offset?["mean"]) + 7) < 2.5, "\(String(describing: offset))")
    let drawing = try String(contentsOfFile: picture, encoding: .utf8)
    #expect(drawing.components(separatedBy: "<polyline ").count == 3)
    #expect(drawing.contains(">faint</text>"))
  }

  @Test("some of the badges are chosen, in lines that name them")
  func chosenBadges() async throws {
    let folder = try TestFolder()
    let path = try Self.trackOfBadges(in: folder)
    let one = try await AmbitRun.end("locate", "--map", Self.map, path, "--beacon", "faint")
    #expect(one.status == 0 && one.output.count == 59, "\(one)")
    #expect(!one.output.joined().contains("faint"))
    let both = try await AmbitRun.end(
      "locate", "--map", Self.map, path, "--beacon", "faint", "--beacon", "e78f135624ce")
    #expect(both.output.filter { $0.contains("faint") }.count == 59, "\(both)")
    let none = try await AmbitRun.end("locate", "--map", Self.map, path, "--beacon", "other")
    #expect(none.status == 65 && none.complaints.joined().contains("no beacon other"), "\(none)")
    let train = try await AmbitRun.end("locate", "--map", Self.map, "--train", path, path)
    #expect(train.status == 65 && train.complaints.joined().contains("2 beacons"), "\(train)")
  }

  @Test("a beacon is compared to the surveyed ones by its name and its measured power")
  func offsets() {
    let identity = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0/2/1"
    func beacon(_ name: String) -> RecordedBeacon { RecordedBeacon(name: name) }
    #expect(beacon(identity + "@-65").power == -65 && beacon(identity).power == nil)
    for name in ["@0", "@20", "@127", "@", "@-200", "@loud"] {
      #expect(beacon(identity + name).power == nil, "\(name)")
    }
    var surveyed = SurveyedBeacons()
    #expect(surveyed.offset(of: beacon("badge")) == .unknown)
    #expect(surveyed.offset(of: beacon("a@-65")) == BeaconOffset(mean: -6, spread: 6))
    let window = ReadingWindow(
      end: .zero, heard: [ReadingWindow.Heard(receiver: 0, rssi: -70, count: 1)])
    #expect(
      surveyed.add(BeaconTrack(beacon: beacon("a@-59"), windows: [window])) == [window])
    let second = surveyed.add(BeaconTrack(beacon: beacon("b@-65"), windows: [window]))
    #expect(second.first?.heard.first?.rssi == -64)
    #expect(surveyed.offset(of: beacon("a@-59")) == .surveyedBefore)
    #expect(surveyed.offset(of: beacon("A")) == .surveyedBefore)
    // Its power was changed since the survey.
    #expect(surveyed.offset(of: beacon("a@-71")) == .advertised(-71, surveyed: -59))
    // Its survey was converted to the power of the first.
    #expect(surveyed.offset(of: beacon("b@-65")) == .advertised(-65, surveyed: -59))
    #expect(surveyed.offset(of: beacon("c@-71")) == .advertised(-71, surveyed: -59))
    #expect(surveyed.offset(of: beacon("c")) == .unknown)
  }

  @Test("readings that no receiver can have measured are left out and counted")
  func quality() async throws {
    let folder = try TestFolder()
    var lines = try String(contentsOfFile: Self.data + "straight-01.csv", encoding: .utf8)
      .split(separator: "\n").map(String.init)
    let reading = try #require(lines.first { !$0.hasPrefix("#") })
    let fields = reading.split(separator: ",").map(String.init)
    for rssi in ["42", "29", "127", "loud"] {
      lines.append((fields.prefix(3) + [rssi] + fields.dropFirst(4)).joined(separator: ","))
    }
    let path = try folder.file("walk.csv", lines.joined(separator: "\n"))
    let text = try await AmbitRun.end("locate", "--map", Self.map, path)
    #expect(text.status == 0 && text.output.count > 50, "\(text)")
    #expect(
      text.complaints.joined().hasSuffix(
        "1 with a wrong RSSI (line \(lines.count): \"loud\" is not an RSSI in dBm)"), "\(text)")
    #expect(text.complaints.joined().contains("4 lines were left out, 2 with an impossible RSSI"))
    let json = try await AmbitRun.end("locate", "--map", Self.map, path, "--json")
    let quality = try Self.object(try #require(json.output.first))
    #expect(quality["event"] as? String == "quality" && quality["file"] as? String == path)
    #expect(quality["unmeasured"] as? Int == 1 && quality["implausible"] as? Int == 2)
    let reasons = try #require(quality["leftOut"] as? [[String: Any]])
    #expect(reasons.compactMap { $0["lines"] as? Int } == [2, 1, 1])
    #expect(reasons.last?["reason"] as? String == "rssi")
    #expect(reasons.last?["firstLine"] as? Int == lines.count)
    let replay = try AmbitRun([
      "trace", "replay", path, "--listen", "unix:\(folder.path)/r", "--json",
    ])
    let report = try #require(await replay.output.next(containing: "\"quality\""))
    #expect(try Self.object(report)["implausible"] as? Int == 2)
    replay.interrupt()
    _ = await replay.end()
  }

  @Test(
    "a map that makes no sense is refused with its line",
    arguments: [
      ("{\n\"units\": \"miles\",\n\"receivers\": []}", "line 2", "unknown units \"miles\""),
      ("{\"units\": \"m\"\n}", "line 1", "\"receivers\" is missing"),
      ("{\"units\": \"m\",\n\"receivers\": []}", "line 2", "at least one receiver"),
      (
        "{\"units\": \"m\", \"receivers\": [\n{\"id\": \"a\", \"x\": 1, \"y\": 2}]}", "line 2",
        "\"z\" is missing"
      ),
    ])
  func maps(text: String, line: String, reason: String) async throws {
    let folder = try TestFolder()
    let path = folder.path + "/map.json"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    let run = try await AmbitRun.end("locate", "--map", path, Self.data + "straight-01.csv")
    let complaint = run.complaints.joined()
    #expect(run.status == 65 && complaint.contains(line) && complaint.contains(reason), "\(run)")
  }

  @Test("a damaged line, or one of an unknown receiver, is left out of walks, surveys and scores")
  func lines() async throws {
    let folder = try TestFolder()
    let good = try String(contentsOfFile: Self.data + "straight-01.csv", encoding: .utf8)
    for bad in ["1,b827eb4521b4,b", "0,elsewhere,e78f135624ce,-60"] {
      let path = try folder.file("walk.csv", good + bad + "\n")
      let number = good.split(separator: "\n", omittingEmptySubsequences: false).count
      let commands: [[String]] = [
        ["locate", "--map", Self.map, path],
        ["locate", "--map", Self.map, "--train", path, Self.data + "straight-03.csv"],
        ["trace", "score", path, Self.data + "straight-03.csv"],
      ]
      for command in commands {
        let started = try AmbitRun(command)
        started.closeInput()
        let run = await started.end()
        #expect(run.status == 0 && !run.output.isEmpty, "\(run)")
        let complaint = run.complaints.joined()
        #expect(complaint.contains("1 line was left out, 1 "), "\(run)")
        #expect(complaint.contains("(line \(number): "), "\(run)")
      }
    }
  }

  @Test("a file of another format, or of other receivers, is refused")
  func otherFormats() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/walk.csv"
    for text in ["0,b827eb4521b4,b,-60\n1;r;b;-60\n2;r;b;-60", "\n0,elsewhere,b,-60\n"] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      let run = try await AmbitRun.end("locate", "--map", Self.map, path)
      #expect(run.status == 65 && run.complaints.joined().contains("line 2"), "\(run)")
    }
    let missing = try await AmbitRun.end("locate", "--map", Self.map, path + ".none")
    #expect(missing.status == 66, "\(missing)")
  }
}
