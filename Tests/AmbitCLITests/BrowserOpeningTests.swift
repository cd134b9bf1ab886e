import Foundation
import Testing

@testable import AmbitPage

@Suite("The browser that the page opens")
struct BrowserOpeningTests {
  private static let address = "http://127.0.0.1:8080/?token=own"
  private static let printed = "http://127.0.0.1:8080/?token=printed"

  /// Opens an address with a script in place of the desktop's opener.
  ///
  /// - Returns: The first warning.
  private static func warning(
    of script: String?, patience: Double = 600, isPossible: Bool = true
  ) async throws -> String? {
    let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let opener = folder.appending(path: "opener").path
    if let script {
      try "#!/bin/sh\n\(script)\n".write(toFile: opener, atomically: true, encoding: .utf8)
      #expect(chmod(opener, 0o700) == 0)
    }
    let (warnings, input) = AsyncStream<String>.makeStream()
    BrowserOpening(opener: opener, patience: patience, isPossible: isPossible) { input.yield($0) }
      .open(address, orAsk: printed)
    return await warnings.first { _ in true }
  }

  @Test
  func `An opener that fails is reported with the address that users can open`() async throws {
    let warning = try #require(try await Self.warning(of: "exit 3"))
    #expect(warning.hasSuffix("has failed with status 3: open \(Self.printed) in a browser"))
  }

  @Test
  func `An opener that is missing or killed, and a machine without a desktop, are told apart`()
    async throws
  {
    let missing = try #require(try await Self.warning(of: nil))
    #expect(missing.hasSuffix("is not installed: open \(Self.printed) in a browser"))
    let killed = try #require(try await Self.warning(of: "kill -9 $$"))
    #expect(killed.hasSuffix("was ended by signal 9: open \(Self.printed) in a browser"))
    #expect(
      try await Self.warning(of: "exit 0", isPossible: false)
        == "there is no desktop session: open \(Self.printed) in a browser")
  }

  @Test
  func `An opener that hangs is reported after a while`() async throws {
    // It waits for a line, which the test writes at its end. Opened for both, the pipe makes neither wait
    // for the other.
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
    #expect(mkfifo(path, 0o600) == 0)
    let pipe = open(path, O_RDWR | O_CLOEXEC)
    defer {
      try? FileManager.default.removeItem(atPath: path)
      close(pipe)
    }
    let warning = try #require(try await Self.warning(of: "read x < '\(path)'", patience: 0))
    #expect(
      warning.hasSuffix(
        "hasn't ended after 0 seconds: if no browser has opened, open \(Self.printed)"))
    let count = write(pipe, "x\n", 2)
    #expect(count == 2)
  }
}
