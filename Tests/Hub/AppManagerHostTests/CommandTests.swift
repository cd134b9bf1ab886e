import AppMachines
import AppSessions
import Essentials
import EventLoop
import Foundation
import Glibc
import Testing

@testable import AppManagerHost

@Suite(.timeLimit(.minutes(5)), .serialized)
struct CommandTests {
  private func failure(_ reply: AppCommandReply) -> AppCommandFailure? {
    if case .failed(let kind, _) = reply { kind } else { nil }
  }

  @Test func `A folder that is no app is refused with the reason`() async throws {
    let manager = try await TestManager.start()
    let missing = manager.folder + "/none"
    #expect(failure(try await manager.perform(.install(folder: missing))) == .unreadable)
    let folder = try manager.makeApp("com.example.a")
    try Data("{}".utf8).write(to: URL(filePath: folder + "/Info.plist"))
    #expect(failure(try await manager.perform(.install(folder: folder))) == .invalid)
    try TestManager.writePlist(["CFBundleIdentifier": "com.example.a"], in: folder)
    #expect(failure(try await manager.perform(.install(folder: folder))) == .invalid)
    try TestManager.writePlist(
      ["CFBundleIdentifier": "com.example.a", "CFBundleExecutable": "gone"], in: folder)
    #expect(failure(try await manager.perform(.install(folder: folder))) == .invalid)
    #expect(
      failure(try await manager.perform(.open("com.example.a", attaches: false))) == .notInstalled)
    await manager.close()
  }

  @Test func `An identifier belongs to one folder until its app is removed`() async throws {
    let manager = try await TestManager.start()
    let first = try manager.makeApp("com.example.a")
    let second = try TestManager.makeApp(
      "com.example.a", in: manager.folder + "/other", script: "exit 0")
    #expect(
      try await manager.perform(.install(folder: first)) == .installed("com.example.a", isNew: true)
    )
    #expect(failure(try await manager.perform(.install(folder: second))) == .identifierTaken)
    #expect(
      try await manager.perform(.install(folder: first))
        == .installed("com.example.a", isNew: false))
    #expect(try await manager.perform(.remove("com.example.a")) == .done)
    #expect(
      try await manager.perform(.install(folder: second))
        == .installed("com.example.a", isNew: true))
    await manager.close()
  }

  @Test func `An app whose folder has vanished is not opened, and the reason is reported`()
    async throws
  {
    let manager = try await TestManager.start()
    let folder = try manager.makeApp("com.example.a")
    try await manager.perform(.install(folder: folder))
    try FileManager.default.removeItem(atPath: folder)
    #expect(
      failure(try await manager.perform(.open("com.example.a", attaches: false))) == .unreadable)
    #expect(try await manager.app("com.example.a").counts.launchCount == 0)
    await manager.close()
  }

  @Test func `An app whose folder vanishes while it is suspended is woken, and launched no more`()
    async throws
  {
    let manager = try await TestManager.start()
    let folder = try manager.makeDoorLock()
    let lock = "com.example.lock"
    try await manager.perform(.install(folder: folder))
    try await manager.perform(.open(lock, attaches: false))
    try await manager.until(lock) { $0.connectionCount == 1 }
    try await manager.perform(.background(lock))
    manager.radio.moveOutOfRange()
    let suspended = try await manager.until(lock) {
      $0.state == .suspended && $0.pendingConnectionCount == 1
    }
    try FileManager.default.removeItem(atPath: folder)
    // The process goes on without it.
    manager.radio.moveIntoRange()
    var openings = manager.radio.openings.makeAsyncIterator()
    #expect(await openings.next() == 1)
    let woken = try await manager.until(lock) { $0.state == .suspended }
    #expect(woken.processID == suspended.processID)
    manager.radio.moveOutOfRange()
    try await manager.until(lock) { $0.state == .suspended && $0.pendingConnectionCount == 1 }
    try await manager.perform(.terminate(lock))
    try await manager.until(lock) { $0.state == .notRunning }
    manager.radio.moveIntoRange()
    try await manager.untilReport { $0.contains("\(lock) can't be started") }
    let app = try await manager.until(lock) { $0.counts.crashCount >= 1 }
    #expect(app.state == .notRunning)
    await manager.close()
  }

  @Test
  func `An app that can't be started is launched by the next manager after the rest of its pause`()
    async throws
  {
    var limits = TestManager.limits
    limits.crashPause = .seconds(600)
    let first = try await TestManager.start(limits: limits)
    let folder = try first.makeDoorLock()
    let lock = "com.example.lock"
    try await first.perform(.install(folder: folder))
    try await first.perform(.open(lock, attaches: false))
    try await first.until(lock) { $0.connectionCount == 1 }
    try await first.perform(.background(lock))
    first.radio.moveOutOfRange()
    try await first.until(lock) { $0.state == .suspended && $0.pendingConnectionCount == 1 }
    try await first.perform(.terminate(lock))
    try await first.until(lock) { $0.state == .notRunning }
    let executable = folder + "/door-lock"
    try FileManager.default.moveItem(atPath: executable, toPath: executable + ".away")
    first.radio.moveIntoRange()
    let failed = try await first.until(lock) { $0.counts.crashCount == 1 }
    #expect(failed.pause.map { $0 > 500 } == true)
    #expect(failed.failure?.hasPrefix("it could not be started: ") == true)
    first.radio.moveOutOfRange()
    await first.server.close()
    let record = try #require(first.store.read().details.first { $0.kind == "failures" })
    #expect(record.app == lock)

    let second = try await TestManager.start(after: first, limits: limits)
    second.radio.moveIntoRange()
    let waiting = try await second.until(lock) { $0.connectionCount == 1 }
    #expect(waiting.counts.launchCount == 0)
    #expect(waiting.pause.map { $0 > 500 } == true)
    #expect(waiting.failure == failed.failure)
    try FileManager.default.moveItem(atPath: executable + ".away", toPath: executable)
    try await second.perform(.open(lock, attaches: false))
    let opened = try await second.until(lock) { $0.state == .active }
    #expect(opened.pause == nil)
    await second.close()
  }

  @Test func `Failures that can't be read are reported, and the app is launched`() async throws {
    let first = try await TestManager.start()
    try await first.perform(.install(folder: first.makeApp("com.example.a")))
    await first.server.close()
    var contents = first.store.read()
    contents.details.append(
      AppDetailRecord(app: "com.example.a", kind: .failures, contents: Array("{}".utf8)))
    first.store.write(contents)
    let second = try await TestManager.start(after: first)
    try await second.untilReport { $0.hasPrefix("the failures of com.example.a can't be read") }
    #expect(try await second.app("com.example.a").pause == nil)
    await second.close()
  }

  @Test func `The list of apps outlives the manager`() async throws {
    let folder = try TestManager.makeFolder()
    let app = try TestManager.makeApp("com.example.a", in: folder, script: "exit 0")
    let store = AppStoreFile(path: folder + "/state/apps.json")
    let record = InstalledAppRecord(
      identifier: "com.example.a", folder: app, description: AppDescription(modes: .voip))
    let contents = AppStoreContents(
      apps: [record], managers: [PreservedManagerRecord(app: "a", manager: "b", holdings: [1])])
    try store.write(contents)
    #expect(try AppStoreFile(path: folder + "/state/apps.json").read() == contents)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `A list of apps that an earlier manager has written is read`() throws {
    let folder = try TestManager.makeFolder()
    let path = folder + "/apps.json"
    let app =
      #"{"identifier":"a","folder":"/a","description":"#
      + #"{"modes":1,"hasScenes":false,"exitsOnSuspend":false}}"#
    let text =
      #"{"apps":[\#(app)],"managers":[{"app":"a","manager":"central:m","holdings":[1,255]}]}"#
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    chmod(path, 0o600)
    let contents = try AppStoreFile(path: path).read()
    #expect(contents.apps.map(\.identifier) == ["a"] && contents.details.isEmpty)
    #expect(contents.managers.map(\.holdings) == [[1, 255]])
    try AppStoreFile(path: path).write(contents)
    #expect(try String(contentsOfFile: path, encoding: .utf8).contains(#""holdings":"Af8=""#))
    #expect(try AppStoreFile(path: path).read() == contents)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `Only one manager listens at a path`() async throws {
    let manager = try await TestManager.start()
    let store = AppStoreFile(path: manager.folder + "/state/other.json")
    await #expect(throws: AppManagerServerError.isTaken(manager.server.path)) {
      try await AppManagerServer.start(at: manager.server.path, manager.radio.host, store: store)
    }
    await manager.close()
  }

  /// The reason for which a command at a path has no reply.
  private func reason(at path: String) async -> AppCommandError? {
    do {
      for try await _ in AppCommandClient.replies(to: .status, at: path) {}
      return nil
    } catch { return error as? AppCommandError }
  }

  @Test func `A command without a reply has the reason`() async throws {
    let folder = try TestManager.makeFolder()
    let path = folder + "/apps"
    #expect(await reason(at: path) == .notRunning)
    let long = path + String(repeating: "a", count: 200)
    #expect(await reason(at: long) == .unreachable(SystemError(number: ENAMETOOLONG)))
    for (answer, expected) in [
      ([], AppCommandError.ended), ([UInt8](repeating: 255, count: 4), .violatesProtocol),
    ] {
      let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      let address = try #require(SocketAddress(path: path))
      try #require(address.with({ bind(listener, $0, $1) }) == 0 && listen(listener, 1) == 0)
      async let found = reason(at: path)
      await TestServer.onThread {
        let connection = accept(listener, nil, nil)
        var request = [UInt8](repeating: 0, count: 4_096)
        _ = read(connection, &request, request.count)
        _ = write(connection, answer, answer.count)
        close(connection)
      }
      #expect(await found == expected)
      close(listener)
      // The socket is left.
      #expect(await reason(at: path) == .notRunning)
      unlink(path)
    }
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `An app connects with its manager while as many commands wait as it takes`()
    async throws
  {
    let manager = try await TestManager.start()
    try await manager.perform(.install(folder: try manager.makeApp("com.example.a")))
    manager.radio.addStrap()
    try await manager.perform(.install(folder: try manager.makePulseLog()))
    var terminals: [AsyncThrowingStream<AppCommandReply, any Error>.Iterator] = []
    for _ in 0..<127 {
      var replies = AppCommandClient.replies(
        to: .open("com.example.a", attaches: true), at: manager.path
      ).makeAsyncIterator()
      #expect(try await replies.next() == .opened)
      terminals.append(replies)
    }
    var lines: [String] = []
    for try await reply in AppCommandClient.replies(
      to: .open("com.example.pulse", attaches: true), at: manager.path)
    {
      if case .output(let line) = reply { lines.append(line) }
      if lines.last == "recording" { break }
    }
    #expect(!lines.contains { $0.contains("isn't installed") })
    #expect(lines.last == "recording")
    terminals = []
    await manager.close()
  }
}
