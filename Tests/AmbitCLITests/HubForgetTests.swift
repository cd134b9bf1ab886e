import BluetoothInterface
import Essentials
import Foundation
import Glibc
import HubWire
import Testing

@testable import AmbitCLI

@Suite("The command that ends what a hub keeps", .serialized, .timeLimit(.minutes(5)))
struct HubForgetTests {
  /// Has an app that scans end, with a session that the hub keeps.
  private static func keep(_ app: String, in hub: ServedHub) async throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: hub.path.utf8) }
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(status == 0)
    let session = HubSessionID(rawValue: 1)
    let opening = SessionOpening(
      id: session, acknowledgesEvents: true, manager: "central:lock", keptFor: .seconds(3_600))
    var writer = HubFrameWriter()
    try writer.append(
      AppMessage.greeting(
        HubGreeting(app: app, abilities: [.bluetooth, .identity], openings: [opening])))
    try writer.append(AppMessage.request(session, .known(.startScan(ScanOptions()))))
    let bytes = writer.takeBytes()
    try #require(send(descriptor, bytes, bytes.count, 0) == bytes.count)
    #expect(await hub.server.output.next(containing: "\"programConnected\"") != nil)
    close(descriptor)
    #expect(await hub.server.output.next(containing: "\"programDisconnected\"") != nil)
  }

  @Test("the sessions of one app end, and then those of all others, each reported by the hub")
  func forget() async throws {
    let folder = try TestFolder()
    let hub = try await ServedHub("sim:empty", at: folder.path + "/hub")
    for app in ["lock", "lamp", "tv\u{1B}[2J"] { try await Self.keep(app, in: hub) }
    let place = ["--socket", hub.path]
    let lock = try await AmbitRun.end(["hub", "forget", "lock"] + place) { _ in true }
    #expect(lock.status == 0 && lock.output == ["Forgot 1 kept session of lock"], "\(lock)")
    let report = await hub.server.output.next(containing: "\"sessionsForgotten\"")
    #expect(report?.contains("\"sessions\":1") == true)
    let status = try await AmbitRun.end(["hub", "status"] + place) { $0.status == 0 }
    #expect(!status.output.contains { $0.hasPrefix("lock ") }, "\(status)")
    #expect(status.output.contains { $0.hasPrefix("lamp ") })

    let again = try await AmbitRun.end(["hub", "forget", "lock"] + place) { _ in true }
    #expect(again.status == AmbitCLI.ExitStatus.notFound.rawValue)
    #expect(again.complaints.first?.contains("keeps nothing of lock") == true, "\(again)")
    let all = try await AmbitRun.end(["hub", "forget", "--all", "--json"] + place) { _ in true }
    let object = try JSONSerialization.jsonObject(with: Data((all.output.first ?? "").utf8))
    let members = try #require(object as? [String: Any])
    #expect(members["event"] as? String == "sessionsForgotten" && members["sessions"] as? Int == 2)
    hub.server.terminate()
    _ = await hub.server.end()
  }

  @Test("a command without an app, with two ways to name it, or of an unknown user is a mistake")
  func mistakes() async throws {
    for arguments in [[], ["lock", "--all"], ["lock", "--user", "no such user"]] {
      let end = try await AmbitRun.end(
        ["hub", "forget", "--socket", "/nowhere"] + arguments
      ) { _ in true }
      #expect(end.status == AmbitCLI.ExitStatus.usage.rawValue, "\(end)")
    }
    let absent = try await AmbitRun.end(
      ["hub", "forget", "lock", "--socket", "/nowhere/hub"]) { _ in true }
    #expect(absent.status == AmbitCLI.ExitStatus.radioUnavailable.rawValue, "\(absent)")
  }
}
