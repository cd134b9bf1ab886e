import AppMachines
import AppSessions
import Essentials
import Foundation
import Glibc
import Testing

@testable import AppManagerHost

/// Remote notifications, alerts and background tasks, with real processes.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct ServiceTests {
  private static let app = TestManager.services

  /// Installs and opens an app, and waits for a line of it.
  private static func open(
    _ manager: TestManager, orders: String, modes: [String] = [], tasks: [String] = [],
    until line: String
  ) async throws {
    let folder = try manager.makeServicesApp(orders: orders, modes: modes, tasks: tasks)
    #expect(try await manager.perform(.install(folder: folder)) == .installed(app, isNew: true))
    try await manager.perform(.open(app, attaches: false))
    try await manager.untilLines(of: app) { $0.contains(line) }
  }

  private static func push(_ payload: String, to target: AppPush.Target = .app(app)) -> AppPush {
    AppPush(to: target, payload: payload, identifier: "1")
  }

  private static func silent(_ text: String) -> String {
    #"{"aps":{"content-available":1},"text":"\#(text)"}"#
  }

  // MARK: Remote notifications

  @Test func `A silent notification wakes an app, launches it, and finds it by its token`()
    async throws
  {
    let manager = try await TestManager.start()
    try await Self.open(
      manager, orders: "push", modes: ["remote-notification"], until: "token of 32 bytes")
    let delivered = AppCommandReply.pushed(Self.app, .delivered)
    #expect(try await manager.perform(.push(Self.push(Self.silent("a")))) == delivered)
    try await manager.untilLines(of: Self.app) { $0.contains("got a") }
    try await manager.perform(.background(Self.app))
    try await manager.until(Self.app) { $0.state == .suspended }
    #expect(try await manager.perform(.push(Self.push(Self.silent("b")))) == delivered)
    try await manager.untilLines(of: Self.app) { $0.contains("got b") }
    let suspended = try await manager.until(Self.app) { $0.state == .suspended }
    #expect(suspended.counts.reasonCounts == [.notification: 1])

    try await manager.perform(.terminate(Self.app))
    try await manager.until(Self.app) { $0.state == .notRunning }
    let token = try #require(try await manager.app(Self.app).deviceToken)
    let third = Self.push(Self.silent("c"), to: .token(token))
    #expect(try await manager.perform(.push(third)) == delivered)
    let lines = try await manager.untilLines(of: Self.app) { $0.contains("got c") }
    #expect(lines.contains("launched in the background"))

    try await manager.perform(.forceQuit(Self.app))
    try await manager.until(Self.app) { $0.state == .notRunning }
    let refused = AppCommandReply.pushed(Self.app, .forceQuit)
    #expect(try await manager.perform(.push(Self.push(Self.silent("d")))) == refused)
    #expect(try await manager.app(Self.app).counts.launchCount == 2)
    await manager.close()
  }

  @Test
  func `A notification that is malformed, or for a token of no app, is refused with the reason`()
    async throws
  {
    let manager = try await TestManager.start()
    func failure(_ push: AppPush) async throws -> AppCommandFailure? {
      if case .failed(let kind, _) = try await manager.perform(.push(push)) { kind } else { nil }
    }
    #expect(try await failure(Self.push("{}")) == .invalid)
    #expect(try await failure(Self.push(Self.silent("a"))) == .notInstalled)
    #expect(try await failure(Self.push(Self.silent("a"), to: .token("x"))) == .invalid)
    let token = String(repeating: "0f", count: 32)
    #expect(try await failure(Self.push(Self.silent("a"), to: .token(token))) == .notInstalled)
    await manager.close()
  }

  // MARK: Alerts

  @Test func `An alert is shown by a command, and the person opens the app from it`() async throws {
    let folder = try TestManager.makeFolder()
    let command = folder + "/alert"
    try "#!/bin/sh\nprintf '%s\\n' \"$@\" > \(folder)/shown\necho open\n".write(
      toFile: command, atomically: true, encoding: .utf8)
    chmod(command, 0o755)
    let manager = try await TestManager.start(alerts: .command(path: command))
    try await Self.open(manager, orders: "notify", until: "may notify true")
    try await manager.perform(.background(Self.app))
    let lines = try await manager.untilLines(of: Self.app) { $0.contains("opened from News") }
    #expect(lines.filter { $0.hasPrefix("launched") } == ["launched"])
    let shown = try String(contentsOfFile: folder + "/shown", encoding: .utf8)
    #expect(shown == "com.example.services\nNews\nSomething happened.\n")
    #expect(try await manager.app(Self.app).alerts.isEmpty)
    await manager.close()
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `An alert without a desktop is listed, and the app is launched from it`() async throws
  {
    let manager = try await TestManager.start()
    try await Self.open(manager, orders: "notify", until: "may notify true")
    try await manager.perform(.background(Self.app))
    try await manager.until(Self.app) { $0.state == .suspended && $0.alerts.count == 1 }
    try await manager.perform(.terminate(Self.app))
    let app = try await manager.until(Self.app) { $0.state == .notRunning }
    #expect(app.alerts.map(\.text) == [AppAlertText(title: "News", body: "Something happened.")])
    let none = try await manager.perform(.openAlert(Self.app, 1_000))
    if case .failed(.wrongState, _) = none {} else { Issue.record("\(none)") }
    #expect(try await manager.perform(.openAlert(Self.app, nil)) == .done)
    try await manager.untilLines(of: Self.app) { $0.contains("opened from News") }
    #expect(try await manager.app(Self.app).counts.launchCount == 2)
    await manager.close()
  }

  // MARK: Background tasks

  @Test func `A refresh task is launched when the app has left the foreground`() async throws {
    let manager = try await TestManager.start()
    try await Self.open(
      manager, orders: "task", modes: ["fetch"], tasks: ["refresh"], until: "submitted")
    #expect(try await manager.app(Self.app).tasks.map(\.identifier) == ["refresh"])
    try await manager.perform(.background(Self.app))
    try await manager.untilLines(of: Self.app) { $0.contains("refreshes") }
    let app = try await manager.until(Self.app) { $0.state == .suspended }
    #expect(app.tasks.isEmpty)
    await manager.close()
  }

  @Test func `The next manager launches the task of an app that ran with the last one`()
    async throws
  {
    let first = try await TestManager.start()
    try await Self.open(
      first, orders: "task", modes: ["fetch"], tasks: ["refresh"], until: "submitted")
    await first.server.close()
    let second = try await TestManager.start(after: first)
    let lines = try await second.untilLines(of: Self.app) { $0.contains("refreshes") }
    #expect(lines.contains("launched in the background"))
    let app = try await second.until(Self.app) { $0.state == .suspended }
    #expect(app.counts.reasonCounts == [.refresh: 1])
    await second.close()
  }

  @Test func `A task that is not completed is expired, and its process ended`() async throws {
    var isExpired = false
    // A process that is ended before it ran, as on a busy machine, gets more time in the next attempt.
    for seconds: Int64 in [1, 5, 25] where !isExpired {
      var limits = TestManager.limits
      limits.expirationNotice = .seconds(seconds)
      limits.refreshTime = limits.expirationNotice + .milliseconds(300)
      let manager = try await TestManager.start(limits: limits)
      try await Self.open(
        manager, orders: "task", modes: ["fetch"], tasks: ["refresh"], until: "submitted")
      try Data().write(to: URL(filePath: "\(manager.folder)/\(Self.app)/hangs"))
      try await manager.perform(.background(Self.app))
      let app = try await manager.until(Self.app) { $0.state == .notRunning }
      #expect(app.counts.crashCount == 1)
      isExpired = try await manager.lines(of: Self.app).contains("expired")
      await manager.close()
    }
    #expect(isExpired)
  }
}
