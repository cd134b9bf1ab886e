import AppMachines
import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import AppHubMachines

/// What outlives a system that is started again.
@Suite struct PreservingTests {
  private static var scan: ScanOptions {
    var scan = ScanOptions()
    scan.services = [BluetoothUUID(0xFFF0 as UInt16)]
    return scan
  }

  /// An app in the foreground that scans, and is connected.
  private static func connected(_ modes: BackgroundModes = .bluetoothCentral) -> TestSystem {
    var system = TestSystem(modes)
    system.person(.opened)
    system.request(.connect(TestSystem.peer, ConnectOptions()))
    system.request(.startScan(scan))
    system.host([.connected(TestSystem.peer)])
    return system
  }

  @Test func `A scan and a connection of a central manager are preserved, and launch the app`()
    throws
  {
    let first = Self.connected()
    let kept = try #require(first.machine.preservedManagers.first)
    #expect(first.machine.preservedManagers.count == 1)
    #expect(kept.manager == "central:lock" && kept.holdings.scan == Self.scan)
    #expect(kept.holdings.links.map(\.isConnected) == [false])
    let bytes = try #require(kept.bytes)
    #expect(PreservedManager(app: kept.app, manager: kept.manager, bytes: bytes) == kept)
    #expect(
      PreservedManager(app: kept.app, manager: kept.manager, bytes: Array(bytes.dropLast())) == nil)

    var second = TestSystem()
    second.handle(.preserved(kept))
    #expect(second.state == .notRunning && second.startCount == 0)
    let requests = second.takeRequests()
    #expect(requests.contains(.connect(TestSystem.peer, ConnectOptions())))
    #expect(requests.contains { if case .startScan = $0 { true } else { false } })
    #expect(second.machine.radioUse(of: TestSystem.app).pendingConnections.count == 1)
    #expect(second.machine.preservedManagers == [kept])
    second.host([.connected(TestSystem.peer)])
    #expect(second.startCount == 1)
    let attachment = try #require(second.process?.attachments.first)
    #expect(attachment.holdings?.links.map(\.peer) == [TestSystem.peer])
    #expect(second.process?.events.last == .connected(TestSystem.peer))
    #expect(second.state == .suspended)
  }

  @Test func `Nothing is preserved of an app without the background mode, or after a force-quit`() {
    #expect(Self.connected([]).machine.preservedManagers.isEmpty)
    var system = Self.connected()
    let count = system.machine.preservedChangeCount
    system.person(.forceQuit)
    #expect(system.machine.preservedManagers.isEmpty)
    #expect(system.machine.preservedChangeCount > count)
  }

  @Test
  func `A frozen process is woken by the next system for its connection, which it hears of once`()
    throws
  {
    var first = Self.connected()
    first.host([.disconnected(TestSystem.peer, .attTimeout, reconnecting: false)])
    first.request(.connect(TestSystem.peer, ConnectOptions()))
    first.person(.sentToBackground)
    #expect(first.state == .suspended)

    var second = first.killed(isFrozen: true)
    let process = try #require(second.process?.id)
    #expect(second.state == .suspended && second.startCount == 0)
    #expect(second.machine.radioUse(of: TestSystem.app).pendingConnections.count == 1)
    second.process?.events = []
    second.host([.connected(TestSystem.peer)])
    #expect(second.lifeActions.last == .thaw(process))
    second.findSystem(isInForeground: false)
    // The session of the earlier system is closed, and the process requests again what it wants.
    let session = try #require(second.hostSession)
    #expect(second.hostSessions == [session])
    #expect(second.requests.last == .connect(TestSystem.peer, ConnectOptions()))
    #expect(second.process?.events.contains(.connected(TestSystem.peer)) == false)
    #expect(second.state == .suspended)
    second.host([.connected(TestSystem.peer)])
    #expect(second.process?.events.count { $0 == .connected(TestSystem.peer) } == 1)
    #expect(second.startCount == 0 && second.state == .suspended)
    #expect(second.machine.preservedManagers.count == 1)
  }

  @Test func `A process that wants nothing any more after a restart of the system has no wishes`() {
    var first = Self.connected()
    first.request(.stopScan)
    var second = first.killed(isFrozen: false)
    #expect(second.machine.preservedManagers.count == 1)
    second.findSystem(isInForeground: true)
    #expect(second.state == .active)
    // The client has heard that its link has ended.
    #expect(second.machine.preservedManagers.isEmpty)
    #expect(second.machine.life.wants(of: TestSystem.app, .central("lock")).isEmpty)
  }

  @Test func `A manager is not given back to an app that runs, or that is not installed`() throws {
    let kept = try #require(Self.connected().machine.preservedManagers.first)
    var system = TestSystem()
    system.person(.opened)
    let sessions = system.hostSessions
    system.handle(.preserved(kept))
    #expect(system.hostSessions == sessions)
    var removed = TestSystem()
    removed.handle(.life(.removed(TestSystem.app)))
    removed.handle(.preserved(kept))
    #expect(removed.hostSessions.isEmpty)
  }
}
