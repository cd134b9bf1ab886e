import Foundation
import Testing

@testable import AmbitCLI

@Suite("A floor on the simulated radio", .timeLimit(.minutes(5)))
struct FloorTests {
  private static let museum =
    URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Examples/floors/museum.json").standardizedFileURL.path

  @Test("beacons of a floor are heard by a host that has joined it")
  func beacons() async throws {
    let run = try AmbitRun(["beacons", "--radio", "sim:" + Self.museum, "--json"])
    let line = try #require(await run.output.next(containing: "\"major\":2"))
    #expect(line.contains("E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"))
    run.interrupt()
    #expect(await run.end().complaints.isEmpty)
  }

  @Test("each receiver has an address of its own, and hears what is near it")
  func receivers() async throws {
    let folder = try TestFolder()
    let floor = try folder.file(
      "floor.json",
      """
      {"units": "m", "receivers": [{"id": "near", "x": 1, "y": 0, "z": 1}, {"id": "far", "x": 30, "y": 0, "z": 1}],
       "beacons": [{"uuid": "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0", "major": 1, "minor": 1,
                    "x": 0, "y": 0, "z": 1}]}
      """)
    let server = try AmbitRun([
      "radio", "serve", "unix:\(folder.path)/r", "--radio", "sim:\(floor)", "--json",
    ])
    for place in ["near", "far"] {
      let line = try #require(await server.output.next(containing: "\"serving\""))
      #expect(line.contains("\"place\":\"\(place)\""), "\(line)")
    }
    var levels: [Double] = []
    for radio in ["unix:\(folder.path)/r", "unix:\(folder.path)/r-2"] {
      let run = try AmbitRun(["beacons", "--radio", radio, "--json"])
      let line = try #require(await run.output.next(containing: "\"distance\""))
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      levels.append(try #require(object?["level"] as? Double ?? object?["rssi"] as? Double))
      run.interrupt()
      _ = await run.end()
    }
    // One metre and thirty: 32 dB and what chance adds.
    #expect(levels[0] - levels[1] > 15, "\(levels)")
  }

  @Test("a floor that makes no sense is refused with its line, before there is a radio")
  func mistake() async throws {
    let folder = try TestFolder()
    let floor = try folder.file(
      "floor.json", "{\"units\": \"m\",\n\"walls\": [{\"from\": [0, 0], \"to\": [1]}]}")
    let run = try await AmbitRun.end("beacons", "--radio", "sim:\(floor)", "--timeout", "5")
    #expect(run.status == 65, "\(run)")
    #expect(run.complaints.joined().contains("line 2") == true, "\(run)")
  }
}
