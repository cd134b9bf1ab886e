import BluetoothHost
import Foundation
import HubHost
import HubMachines
import HubPlaces
import HubWire
import SimulatedRadio
import Testing

@Suite("A program that knows of no hub", .timeLimit(.minutes(5)))
struct ProgramTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
  private let path: String

  init() throws {
    SimulatedRadio.install()
    path = try #require(HubPath.user(runtimeFolder: folder.path))
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  }

  private func startHub(_ host: BluetoothHost) async throws -> HubServer {
    try await HubServer.start(at: .ownFolder(path: path), host)
  }

  @Test("a program uses the hub that runs in its user's folder, also after that was restarted")
  func foundHub() async throws {
    let host = try BluetoothHost(radio: .standard)
    var hub = try await startHub(host)
    let run = try ProgramRun("radio-states", ["XDG_RUNTIME_DIR": folder.path])
    for _ in 0..<2 {
      #expect(await run.next() == "poweredOn")
      #expect(await hub.counts().sessionCount == 1)
      await hub.close()
      #expect(await run.next() == "poweredOff")
      hub = try await startHub(host)
    }
    #expect(await run.next() == "poweredOn")
    #expect(await run.end() == 0)
    await hub.close()
    await host.close()
    try FileManager.default.removeItem(at: folder)
  }

  @Test(
    "a program doesn't use the hub that runs if a radio of its own or no hub is named",
    arguments: [["AMBIT_RADIO": "sim"], ["AMBIT_RADIO": "sim", "AMBIT_HUB": "off"]])
  func ownRadio(_ environment: [String: String]) async throws {
    let host = try BluetoothHost(radio: .standard)
    let hub = try await startHub(host)
    let run = try ProgramRun(
      "radio-states", environment.merging(["XDG_RUNTIME_DIR": folder.path]) { $1 })
    #expect(await run.next() == "poweredOn")
    let counts = await hub.counts()
    #expect(counts.sessionCount == 0 && counts.connectionCount == 0)
    #expect(await run.end() == 0)
    await hub.close()
    await host.close()
    try FileManager.default.removeItem(at: folder)
  }
}
