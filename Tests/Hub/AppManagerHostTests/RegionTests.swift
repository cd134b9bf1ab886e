import AppMachines
import AppSessions
import BluetoothWire
import Testing

@testable import AppManagerHost

/// Regions of apps, with real processes.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct RegionTests {
  private static let app = TestManager.services
  private static let shop = BluetoothUUID(high: 0xE2C5_6DB5_DFFB_48D2, low: 0xB060_D0F5_A710_96E0)

  /// Installs an app that monitors a region, and ends it as the system does.
  private static func addTerminated(_ app: String, to manager: TestManager) async throws {
    let folder = try manager.makeServicesApp(app, orders: "regions")
    #expect(try await manager.perform(.install(folder: folder)) == .installed(app, isNew: true))
    try await manager.perform(.open(app, attaches: false))
    try await manager.untilLines(of: app) { $0.contains("monitors shop") }
    try await manager.perform(.background(app))
    try await manager.until(app) { $0.state == .suspended }
    try await manager.perform(.terminate(app))
    try await manager.until(app) { $0.state == .notRunning }
  }

  @Test func `A beacon launches an app that doesn't run, and its delegate gets the entry`()
    async throws
  {
    let manager = try await TestManager.start()
    try await Self.addTerminated(Self.app, to: manager)
    manager.radio.addBeacon(Self.shop)
    let lines = try await manager.untilLines(of: Self.app) { $0.contains("entered shop") }
    #expect(lines.contains("launched in the background for location"))
    #expect(lines.contains("monitors still"))
    let app = try await manager.until(Self.app) { $0.state == .suspended }
    #expect(app.counts.launchCount == 2 && app.counts.reasonCounts == [.region: 1])
    await manager.close()
  }

  @Test func `The next manager monitors the regions of the apps of the last one`() async throws {
    let first = try await TestManager.start()
    try await Self.addTerminated(Self.app, to: first)
    await first.server.close()
    let second = try await TestManager.start(after: first)
    second.radio.addBeacon(Self.shop)
    let lines = try await second.untilLines(of: Self.app) { $0.contains("entered shop") }
    #expect(lines.contains("launched in the background for location"))
    try await second.until(Self.app) { $0.state == .suspended }
    await second.close()
  }

  @Test func `After a force-quit no beacon launches the app, also with the next manager`()
    async throws
  {
    let first = try await TestManager.start()
    try await Self.addTerminated(Self.app, to: first)
    try await Self.addTerminated("com.example.other", to: first)
    try await first.perform(.forceQuit(Self.app))
    await first.server.close()
    let second = try await TestManager.start(after: first)
    #expect(try await second.app(Self.app).isForceQuit)
    second.radio.addBeacon(Self.shop)
    try await second.untilLines(of: "com.example.other") { $0.contains("entered shop") }
    #expect(try await second.app(Self.app).counts.launchCount == 0)
    try await second.perform(.open(Self.app, attaches: false))
    try await second.untilLines(of: Self.app) { $0.contains("monitors still") }
    #expect(try await second.app(Self.app).counts.launchCount == 1)
    await second.close()
  }
}
