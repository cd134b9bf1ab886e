import Essentials
import EventLoop
import Glibc
import HubPlaces
import Testing

@testable import BonjourHost

/// A hub at a path of its own, on the interface that every machine has.
@Suite("The file of the socket of a hub's Multicast DNS", .timeLimit(.minutes(5)))
struct HubSocketFileTests {
  private let run = String(UInt32.random(in: 0 ... .max), radix: 36)
  private var path: String { "/tmp/ambit-file-\(run).bonjour" }

  /// A hub that looks for its file every tenth of a second, and what it logs.
  private func startHub() throws -> (hub: BonjourHub, log: AsyncStream<String>) {
    let (lines, line) = AsyncStream.makeStream(of: String.self)
    let hub = try BonjourHub.start(
      at: path, configuration: sharingConfiguration(run), admits: { _ in BonjourAdmission() },
      fileCheckSpan: .milliseconds(100), log: { line.yield($0) })
    return (hub, lines)
  }

  /// Returns when a host uses a hub at the path.
  private func usesHub() async {
    var configuration = sharingConfiguration(run)
    configuration.hubOverride = BonjourPlaces(paths: [path], isNamed: false)
    let (lines, line) = AsyncStream.makeStream(of: String.self)
    let host = BonjourHost(configuration: configuration) { line.yield($0) }
    // On a busy machine the host may leave it first, and come back.
    while await host.settledRole != .client {
      guard await lines.first(where: { $0.contains("hub of this machine answers") }) != nil else {
        break
      }
    }
    await host.close()
  }

  @Test("a hub whose socket is removed listens again, and leaves no socket when it is closed")
  func removed() async throws {
    let (hub, log) = try startHub()
    unlink(path)
    #expect(await log.first { $0.contains("at \(path) again") } != nil)
    await usesHub()
    // Also a second time.
    unlink(path)
    #expect(await log.first { $0.contains("at \(path) again") } != nil)
    await usesHub()
    await hub.close()
    #expect(access(path, F_OK) != 0)
  }

  @Test("a file in the place of a hub's socket is kept and reported once, until it is gone")
  func replaced() async throws {
    let (hub, log) = try startHub()
    // A new name for a file that exists, so that the path never names nothing.
    close(creat(path + ".file", 0o600))
    rename(path + ".file", path)
    var lines = log.makeAsyncIterator()
    while let line = await lines.next(), !line.contains("any more: ") { #expect(line != "") }
    #expect(access(path, F_OK) == 0)
    unlink(path)
    // No second report in between.
    while let line = await lines.next() {
      #expect(!line.contains("any more: "))
      if line.contains("at \(path) again") { break }
    }
    await usesHub()
    await hub.close()
  }

  @Test("a closed hub doesn't remove the socket of another one in its place")
  func otherHub() async throws {
    let (hub, log) = try startHub()
    let address = try #require(OwnerSocketAddress(path: path))
    unlink(path)
    let listener = try? address.bindAndListen()
    if let listener {
      #expect(await log.first { $0.contains("any more: ") } != nil)
      await hub.close()
      #expect(access(path, F_OK) == 0)
      close(listener)
      unlink(path)
    } else {
      // The hub has made its socket again between the two calls.
      await hub.close()
    }
  }
}
