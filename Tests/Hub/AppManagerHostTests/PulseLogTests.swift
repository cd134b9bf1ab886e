import AppMachines
import AppSessions
import Essentials
import Foundation
import Testing

@testable import AppManagerHost

/// The recorder of a heart rate with real processes.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct PulseLogTests {
  private static let id = "com.example.pulse"

  private func rows(_ folder: String) -> [[Substring]] {
    let text = (try? String(contentsOfFile: folder + "/pulses.csv", encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map { $0.split(separator: ",") }
  }

  @Test func `A heart rate is recorded in the background, also by an app that was ended`()
    async throws
  {
    let manager = try await TestManager.start()
    manager.radio.addStrap()
    let folder = try manager.makePulseLog()
    try await manager.perform(.install(folder: folder))
    try await manager.perform(.open(Self.id, attaches: false))
    try await manager.untilLines(of: Self.id) { $0.contains("recording") }
    try await manager.perform(.background(Self.id))
    let lines = try await manager.untilLines(of: Self.id) { lines in
      lines.drop { $0 != "in the background" }.contains { $0.hasPrefix("71 beats a minute, ") }
    }
    #expect(lines.last?.hasSuffix(" s of processor time an hour") == true)
    let row = try #require(rows(folder).first)
    #expect(row.dropFirst() == ["60", "71", "71", "71"])

    manager.radio.moveStrap(intoRange: false)
    try await manager.until(Self.id) { $0.state == .suspended && $0.pendingConnectionCount == 1 }
    try await manager.perform(.terminate(Self.id))
    try await manager.until(Self.id) { $0.state == .notRunning }
    let count = rows(folder).count
    manager.radio.moveStrap(intoRange: true)
    try await manager.untilLines(of: Self.id) { lines in
      lines.drop { $0 != "launched for pulse" }.contains { $0.hasPrefix("71 beats a minute, ") }
    }
    #expect(rows(folder).count > count)
    let app = try await manager.app(Self.id)
    #expect(app.counts.launchCount == 2 && app.counts.crashCount == 0)
    #expect(app.counts.overstayCount == 0)
    await manager.close()
  }
}
