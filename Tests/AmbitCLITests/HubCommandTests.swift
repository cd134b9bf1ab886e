import ArgumentParser
import Foundation
import Glibc
import Testing

@testable import AmbitCLI

@Suite("The command that serves a hub", .serialized, .timeLimit(.minutes(5)))
struct HubCommandTests {
  @Test("a hub reports that its radio is simulated, ends on SIGTERM, and leaves no socket")
  func serving() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let run = try AmbitRun([
      "hub", "--no-network", "--radio", "sim:empty", "--socket", path, "--json",
    ])
    let line = try #require(await run.output.next(containing: "serving"))
    #expect(line.contains("\"simulated\":true") && line.contains(path.suffix(20)))
    #expect(FileManager.default.fileExists(atPath: path))
    #expect(!FileManager.default.fileExists(atPath: path + ".bonjour"))
    run.send(SIGTERM)
    let end = await run.end()
    #expect(end.isSignalled && end.complaints.isEmpty, "\(end)")
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func `A hub that is ended twice by SIGTERM leaves no socket`() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let run = try AmbitRun(["hub", "--radio", "sim:empty", "--socket", path, "--json"])
    _ = try #require(await run.output.next(containing: "serving"))
    for _ in 0..<2 { run.send(SIGTERM) }
    let end = await run.end()
    #expect(end.isSignalled && end.status == 128 + SIGTERM, "\(end)")
    for suffix in ["", ".bonjour", ".metrics"] {
      #expect(!FileManager.default.fileExists(atPath: path + suffix), "hub\(suffix)")
    }
  }

  @Test(arguments: [
    "127.0.0.1:9100", "localhost:9100", ":9100", "[::1]:9100", "http://hub:9100/metrics",
  ])
  func `An address of the network is no path of a socket`(address: String) throws {
    for option in ["--metrics", "--socket"] {
      let words = ["hub", "run", "--radio", "sim", option, address]
      let error = #expect(throws: (any Error).self) { try Ambit.parseAsRoot(words) }
      let message = Ambit.message(for: try #require(error))
      #expect(message.contains("\(option) takes the path of a UNIX socket"))
    }
  }

  @Test(arguments: ["hub.metrics", "/run/ambit/hub:9100", "./a:1", "off", "odd:name"])
  func `A path of a socket may have a colon`(path: String) throws {
    _ = try Ambit.parseAsRoot(["hub", "run", "--radio", "sim", "--metrics", path])
  }

  @Test("a hub runs Multicast DNS beside its socket, and leaves nothing there")
  func network() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let run = try AmbitRun(["hub", "--radio", "sim:empty", "--socket", path, "--json"])
    let line = try #require(await run.output.next(containing: "serving"))
    let serving = try #require(
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(serving["bonjour"] as? String == path + ".bonjour")
    #expect(FileManager.default.fileExists(atPath: path + ".bonjour"))
    run.send(SIGTERM)
    #expect(await run.end().isSignalled)
    #expect(!FileManager.default.fileExists(atPath: path + ".bonjour"))
  }

  @Test("a hub whose output can't be written serves")
  func outputIsLost() async throws {
    let folder = try TestFolder()
    let manager = try NotifySocket(at: folder.path + "/notify")
    let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
    let run = try AmbitRun(
      ["hub", "--no-network", "--radio", "sim:empty", "--socket", folder.path + "/hub"],
      environment: ["NOTIFY_SOCKET": manager.path], writingTo: full)
    // The hub has printed that it serves before it sends this.
    #expect(await manager.next() == "READY=1")
    run.send(SIGTERM)
    let end = await run.end()
    #expect(end.isSignalled && end.complaints.isEmpty, "\(end)")
  }

  @Test("a hub that may have few files open serves programs, and reports that they are few")
  func fewFiles() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let run = try AmbitRun(
      ["hub", "--no-network", "--radio", "sim:empty", "--socket", path, "--json"],
      shell: "ulimit -n 48")
    #expect(await run.output.next(containing: "serving") != nil)
    let status = try await AmbitRun.end(["hub", "status", "--socket", path, "--json"]) {
      $0.status != ExitStatus.timedOut.rawValue
    }
    #expect(status.status == ExitStatus.success.rawValue, "\(status)")
    run.send(SIGTERM)
    let end = await run.end()
    let sentence = "at a time, because this process may have only 48 open files (ulimit -Hn)"
    #expect(end.complaints.count == 1 && end.complaints[0].contains(sentence), "\(end)")
  }

  @Test("a hub serves while the reader of its output takes nothing")
  func stuckReader() async throws {
    let folder = try TestFolder()
    let manager = try NotifySocket(at: folder.path + "/notify")
    let reader = StuckReader()
    let run = try AmbitRun(
      ["hub", "--no-network", "--radio", "sim:empty", "--socket", folder.path + "/hub"],
      environment: ["NOTIFY_SOCKET": manager.path], writingTo: reader.pipe.fileHandleForWriting)
    // It comes behind the first line, which the reader doesn't take.
    #expect(await manager.next() == "READY=1")
    run.terminate()
    let end = await run.processEnd()
    #expect(end.isSignalled && end.status == 128 + SIGTERM, "\(end)")
    withExtendedLifetime(reader.pipe) {}
  }

  @Test(
    "a second hub at the same path ends with a sentence, and the first one after a kill is replaced"
  )
  func twice() async throws {
    let folder = try TestFolder()
    let command = [
      "hub", "--no-network", "--radio", "sim:empty", "--socket", folder.path + "/hub", "--json",
    ]
    let first = try AmbitRun(command)
    #expect(await first.output.next(containing: "serving") != nil)
    let second = try await AmbitRun(command).end()
    #expect(second.status == ExitStatus.radioUnavailable.rawValue)
    #expect(second.complaints.count == 1 && second.complaints[0].contains("Another hub runs at"))
    first.send(SIGKILL)
    _ = await first.end()
    let third = try AmbitRun(command)
    #expect(await third.output.next(containing: "serving") != nil)
    third.send(SIGTERM)
    _ = await third.end()
  }

  @Test(
    "a hub with damaged, missing or unsafe rules ends with a sentence and a status, and makes no socket"
  )
  func rules() async throws {
    let folder = try TestFolder()
    let damaged = try folder.file("damaged.json", "{\"rules\": [{\"access\": \"permit\"}]}")
    let unsafe = try folder.file("unsafe.json", "{\"rules\": []}")
    #expect(chmod(unsafe, 0o666) == 0)
    // With any umask of this process.
    #expect(chmod(folder.path, 0o700) == 0 && chmod(damaged, 0o600) == 0)
    for (file, status, text) in [
      (damaged, ExitStatus.badData, "rules[0].access: expected \"allow\" or \"deny\""),
      (unsafe, .badData, "other users may write to the file"),
      (folder.path + "/none.json", .noInput, "can't be read"),
    ] {
      let path = folder.path + "/hub"
      let end = try await AmbitRun(
        [
          "hub", "--no-network", "--radio", "sim:empty", "--socket", path, "--rules", file,
          "--json",
        ]
      ).end()
      #expect(end.status == status.rawValue)
      #expect(end.complaints.count == 1 && end.complaints[0].contains(text), "\(end.complaints)")
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test("a hub with rules that may allow other users lets them connect to its socket")
  func permissions() async throws {
    let folder = try TestFolder()
    let rules = try folder.file(
      "rules.json", "{\"rules\": [{\"access\": \"allow\", \"group\": 54321}]}")
    // With any umask of this process.
    #expect(chmod(folder.path, 0o700) == 0 && chmod(rules, 0o600) == 0)
    let path = folder.path + "/hub"
    let run = try AmbitRun([
      "hub", "--no-network", "--radio", "sim:empty", "--socket", path, "--rules", rules, "--json",
    ])
    #expect(await run.output.next(containing: "serving") != nil)
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o666)
    run.send(SIGTERM)
    _ = await run.end()
  }

  @Test("a service manager gets the beginning, reports of a loop that works, and the end")
  func notifications() async throws {
    let folder = try TestFolder()
    let manager = try NotifySocket(at: folder.path + "/notify")
    let run = try AmbitRun(
      ["hub", "--no-network", "--radio", "sim:empty", "--socket", folder.path + "/hub"],
      // A report comes in half the time. The socket has room for ten, beyond which the end would be lost.
      environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "4000000"])
    #expect(await manager.next() == "READY=1")
    for _ in 0..<2 { #expect(await manager.next() == "WATCHDOG=1") }
    run.send(SIGTERM)
    var last = await manager.next()
    while last == "WATCHDOG=1" { last = await manager.next() }
    #expect(last == "STOPPING=1")
    #expect(await run.end().isSignalled)
  }
}

/// The socket of a service manager (sd_notify(3)).
private final class NotifySocket: Sendable {
  let path: String
  private let descriptor: Int32

  init(at path: String) throws {
    self.path = path
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(status == 0)
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    try #require(setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size) == 0)
  }

  deinit { close(descriptor) }

  /// Waits for a message, for a minute at most; then it is empty.
  func next() async -> String {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [self] in
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        continuation.resume(returning: String(decoding: bytes.prefix(max(0, count)), as: UTF8.self))
      }
    }
  }
}
