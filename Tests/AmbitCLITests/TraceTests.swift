import Foundation
import Glibc
import Testing

@testable import AmbitCLI

private let uuid = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"

@Suite("Traces of receivers", .timeLimit(.minutes(5)))
struct TraceTests {
  private static func object(_ line: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  /// Three receivers in a row and a beacon beside the one at 20 m.
  private static func floor(in folder: borrowing TestFolder) throws -> String {
    let receivers = ["west", "middle", "east"].enumerated().map { index, name in
      "{\"id\": \"\(name)\", \"x\": \(index * 10), \"y\": 0, \"z\": 2}"
    }
    return try folder.file(
      "floor.json",
      """
      {"units": "m", "beaconHeight": 1, "receivers": [\(receivers.joined(separator: ",\n"))],
       "rooms": [{"name": "end", "corners": [[15, -3], [23, -3], [23, 3], [15, 3]]}],
       "beacons": [{"uuid": "\(uuid)", "major": 2, "minor": 1, "x": 19, "y": 0, "z": 1},
                   {"uuid": "\(uuid)", "major": 1, "minor": 1, "x": 0, "y": 1, "z": 1}]}
      """)
  }

  /// Serves something at UNIX sockets, and gives their names.
  private static func serve(
    _ arguments: [String], count: Int
  ) async throws -> (server: AmbitRun, radios: [String]) {
    let server = try AmbitRun(arguments + ["--json"])
    var radios: [String] = []
    while radios.count < count {
      let line = try #require(await server.output.next(containing: "\"serving\""))
      radios.append(try #require(try object(line)["radio"] as? String))
    }
    return (server, radios)
  }

  private static func receivers(_ names: [String], _ radios: [String]) -> [String] {
    zip(names, radios).flatMap { ["--receiver", "\($0)=\($1)"] }
  }

  @Test(
    "a trace of several receivers is recorded, located, replayed, and located like the first time")
  func wholeDay() async throws {
    let folder = try TestFolder()
    let floor = try Self.floor(in: folder)
    let names = ["west", "middle", "east"]
    let (air, radios) = try await Self.serve(
      ["radio", "serve", "unix:\(folder.path)/air", "--radio", "sim:\(floor)"], count: 3)
    let day = folder.path + "/day.csv"
    let record = try await AmbitRun(
      ["trace", "record", day, "--json", "--timeout", "13"] + Self.receivers(names, radios)
    ).end()
    #expect(record.status == 0 && record.complaints.isEmpty, "\(record)")
    let receptions = try #require(try Self.object(record.output.last ?? "")["receptions"] as? Int)
    let lines = try String(contentsOfFile: day, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == receptions && receptions > 100)
    #expect(lines.allSatisfy { $0.split(separator: ",").count == 4 })
    air.interrupt()
    _ = await air.end()

    // Both beacons are located, unless one is named.
    let several = try await AmbitRun.end("locate", "--map", floor, day)
    for minor in ["/1/1  ", "/2/1  "] {
      #expect(several.status == 0 && several.output.contains { $0.contains(minor) }, "\(several)")
    }
    let located = try await AmbitRun.end(
      "locate", "--map", floor, day, "--beacon", "\(uuid)/2/1", "--json")
    let fix = try Self.object(try #require(located.output.last { $0.contains("\"fix\"") }))
    #expect(abs(try #require(fix["x"] as? Double) - 19) < 4, "\(located)")
    #expect(located.output.contains { $0.contains("\"entered\"") && $0.contains("\"end\"") })

    // The same day is replayed, on radios that receive the recorded advertisements.
    let (again, heard) = try await Self.serve(
      ["trace", "replay", day, "--listen", "unix:\(folder.path)/again"], count: 3)
    let picture = folder.path + "/now.svg"
    // Receivers of a trace are in the order of their first readings.
    let order = lines.map { String($0.split(separator: ",")[1]) }
    let first = order.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
    let live = try AmbitRun(
      [
        "locate", "--map", floor, "--beacon", "\(uuid)/2/1", "--json", "--explain", "--svg",
        picture,
      ] + Self.receivers(first, heard))
    // A busy machine may lose a second or two; with the readings of a whole second, a fix is good.
    var isGood = false
    while !isGood {
      let fix = try Self.object(try #require(await live.output.next(containing: "\"fix\"")))
      let x = try #require(fix["x"] as? Double)
      isGood =
        (fix["receivers"] as? [Any])?.count == 3 && (fix["readings"] as? Int ?? 0) > 3
        && abs(x - 19) < 4
    }
    live.interrupt()
    let end = await live.end()
    #expect(end.status == ExitStatus.interrupted.rawValue && end.complaints.isEmpty, "\(end)")
    #expect(try String(contentsOfFile: picture, encoding: .utf8).contains("<polyline "))
    #expect(await again.output.next(containing: "\"replayed\"") != nil)
    again.interrupt()
    _ = await again.end()
  }

  @Test("beacons are ranged from a replay with the strengths of the day")
  func ranged() async throws {
    let folder = try TestFolder()
    let lines = (0..<40).map { "\(Double($0) / 10),here,\(uuid)/3/4@-65,-71" }
    let day = try folder.file("day.csv", lines.joined(separator: "\n"))
    let (server, radios) = try await Self.serve(
      ["trace", "replay", day, "--listen", "unix:\(folder.path)/r"], count: 1)
    let run = try AmbitRun(["beacons", "--radio", radios[0], "--json"])
    let object = try Self.object(try #require(await run.output.next(containing: "\"distance\"")))
    #expect(object["rssi"] as? Int == -71 && object["major"] as? Int == 3, "\(object)")
    run.interrupt()
    _ = await run.end()
    server.interrupt()
    _ = await server.end()
  }

  @Test("a capture is recorded, and heard again as the radio of its name")
  func capture() async throws {
    let folder = try TestFolder()
    let file = folder.path + "/flat.btsnoop"
    let recording = try AmbitRun(["trace", "record", file, "--radio", "sim", "--json"])
    try await TestFolder.waitForFile(file, of: 12_000)
    recording.interrupt()
    let record = await recording.end()
    #expect(record.output.contains { $0.contains("\"traced\"") }, "\(record)")
    #expect(record.complaints.isEmpty, "\(record)")
    let server = try AmbitRun([
      "trace", "replay", file, "--listen", "unix:\(folder.path)/r", "--json",
    ])
    let serving = try Self.object(
      try #require(await server.output.next(containing: "\"serving\"")))
    #expect(serving["place"] as? String == "flat")
    // Names are in scan responses: they are heard again, too.
    let radio = try #require(serving["radio"] as? String)
    let scan = await (try AmbitRun(["scan", "--radio", radio, "--timeout", "60", "--json"]))
      .end(after: "\"name\"")
    #expect(scan.complaints.isEmpty, "\(scan)")
    server.interrupt()
    _ = await server.end()
  }

  @Test("traces and recordings are for their user only, and follow no symbolic link")
  func isPrivate() async throws {
    let folder = try TestFolder()
    let (diary, link) = (try folder.file("diary", "Dear Ann,"), folder.path + "/link")
    #expect(symlink(diary, link) == 0)
    for (name, command) in [
      ("trace.csv", ["trace", "record", "--timeout", "4"]),
      ("strap.json", ["record", "Pulse strap", "--listen", "300ms", "--duration", "300ms"]),
    ] {
      let path = folder.path + "/" + name
      let end = try await AmbitRun(command + [path, "--radio", "sim"]).end()
      #expect(end.status == 0, "\(end)")
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
      let refused = try await AmbitRun(command + [link, "--radio", "sim"]).end()
      #expect(refused.status == ExitStatus.cannotCreate.rawValue, "\(refused)")
      #expect(refused.complaints.joined().contains("it is a symbolic link"), "\(refused)")
    }
    #expect(try String(contentsOfFile: diary, encoding: .utf8) == "Dear Ann,")
  }

  @Test("a survey has the place of the beacon in every line")
  func survey() async throws {
    let record = try AmbitRun([
      "trace", "record", "-", "--at", "3.5,-2", "--radio", "sim", "--beacon", "\(uuid)/1/2",
    ])
    let run = await record.end(after: "/1/2@-59,", count: 6)
    #expect(run.status == ExitStatus.interrupted.rawValue, "\(run)")
    #expect(run.output.allSatisfy { $0.contains("/1/2@-59,") && $0.hasSuffix(",3.5,-2,0") })
  }

  @Test("a receiver whose radio goes is reported, and counts again when it is back")
  func gone() async throws {
    let folder = try TestFolder()
    let floor = try Self.floor(in: folder)
    let one = try folder.file(
      "one.json",
      "{\"units\": \"m\", \"beacons\": [{\"uuid\": \"\(uuid)\", \"major\": 2, \"minor\": 1, "
        + "\"x\": 1, \"y\": 0, \"z\": 0}]}")
    func radio(_ name: String) async throws -> AmbitRun {
      try await Self.serve(
        ["radio", "serve", "unix:\(folder.path)/\(name)", "--radio", "sim:\(one)"], count: 1
      ).server
    }
    let (west, east) = (try await radio("west"), try await radio("east"))
    let live = try AmbitRun([
      "locate", "--map", floor, "--beacon", "\(uuid)/2/1", "--json",
      "--receiver", "west=unix:\(folder.path)/west", "--receiver", "east=unix:\(folder.path)/east",
    ])
    #expect(await live.output.next(containing: "\"fix\"") != nil)
    east.interrupt()
    _ = await east.end()
    #expect(await live.complaints.next(containing: "The radio of east does not work") != nil)
    #expect(await live.output.next(containing: "\"fix\"") != nil)
    let back = try await radio("east")
    #expect(await live.complaints.next(containing: "The radio of east is back") != nil)
    #expect(await live.output.next(containing: "\"fix\"") != nil)
    live.interrupt()
    for run in [live, back, west] {
      run.interrupt()
      _ = await run.end()
    }
  }

  @Test(
    "a device that can't be followed is refused before a radio is opened",
    arguments: [
      (["--receiver", "nowhere=sim", "--beacon", "\(uuid)/2/1"], 65, "not on the map"),
      (["--receiver", "west=sim"], 64, "--beacon"),
      (["--receiver", "west=sim", "--beacon", "\(uuid)/2"], 64, "--beacon"),
      ([], 64, "--receiver"),
      (
        ["--receiver", "west=sim", "--receiver", "west=sim", "--beacon", "\(uuid)/2/1"], 64,
        "one name"
      ),
    ] as [([String], Int32, String)])
  func refused(arguments: [String], status: Int32, reason: String) async throws {
    let folder = try TestFolder()
    let floor = try Self.floor(in: folder)
    let run = try await AmbitRun(["locate", "--map", floor] + arguments).end()
    #expect(run.status == status && run.complaints.joined().contains(reason), "\(run)")
  }
}
