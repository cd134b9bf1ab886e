import AppMachines
import AppSessions
import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Testing

@testable import AppManagerHost

/// Apps with services that don't run, with real processes.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct PeripheralTests {
  private static let app = TestManager.services
  private static let (service, value) = (
    BluetoothUUID(0xFF00 as UInt16), BluetoothUUID(0xFF01 as UInt16)
  )

  /// Starts a manager with an app that has services, and ends the app as the system does.
  private static func start() async throws -> TestManager {
    let manager = try await TestManager.start()
    let folder = try manager.makeServicesApp(orders: "bell", modes: ["bluetooth-peripheral"])
    try await manager.perform(.install(folder: folder))
    try await manager.perform(.open(app, attaches: false))
    try await manager.untilLines(of: app) { $0.contains("advertises") }
    try await manager.perform(.background(app))
    try await manager.until(app) { $0.state == .suspended }
    try await manager.perform(.terminate(app))
    try await manager.until(app) { $0.state == .notRunning }
    try await manager.untilWritten()
    return manager
  }

  @Test
  func `A service of an app that was ended is found after a restart of the manager, and read`()
    async throws
  {
    let first = try await Self.start()
    await first.server.close(leavesApps: true)
    let second = try await TestManager.start(after: first)
    let status = try await second.app(Self.app)
    #expect(status.state == .notRunning)

    let central = try Central(second.radio.path)
    let peer = try #require(await central.connect(to: Self.service))
    let read = GATTOperation.readByUUID(Self.value, in: HandleRange(1, 0xFFFF))
    guard case .values(let values) = try await central.run(read, on: peer) else {
      return #expect(Bool(false), "the value was not read")
    }
    #expect(values.map(\.value) == [[42]])
    let lines = try await second.lines(of: Self.app)
    #expect(lines.contains("launched in the background"))
    #expect(lines.contains("restored 1, advertises true"))
    let app = try await second.until(Self.app) { $0.state == .suspended }
    #expect(app.counts.launchCount == 1 && app.counts.unacknowledgedCount == 0)
    await central.close()
    await second.close()
  }
}

/// A central with a radio of its own.
private actor Central {
  private let host: BluetoothHost
  private let session: any HostSession
  private var events: AsyncStream<HostEvent>.Iterator
  private var lastToken: UInt64 = 0

  init(_ path: String) throws {
    host = try BluetoothHost(radio: .unix(path: path))
    let (events, event) = AsyncStream.makeStream(of: HostEvent.self)
    session = host.openSession { event.yield($0) }
    self.events = events.makeAsyncIterator()
  }

  func close() async {
    session.close()
    await host.close()
  }

  private func next() async -> HostEvent? {
    var iterator = events
    let event = await iterator.next(isolation: #isolation)
    events = iterator
    return event
  }

  /// Connects to the first device that advertises a service.
  func connect(to service: BluetoothUUID) async -> DeviceAddress? {
    var options = ScanOptions()
    options.services = [service]
    session.send(.startScan(options))
    while let event = await next() {
      switch event {
      case .stateChanged(.poweredOn): session.send(.startScan(options))
      case .discovered(let report):
        session.send(.stopScan)
        session.send(.connect(report.address, ConnectOptions()))
      case .connected(let peer): return peer
      default: break
      }
    }
    return nil
  }

  func run(
    _ operation: GATTOperation, on peer: DeviceAddress
  ) async throws(HostError) -> HostReply? {
    lastToken += 1
    let token = RequestToken(rawValue: lastToken)
    session.send(.gatt(peer, operation, token))
    while let event = await next() {
      if case .completed(token, let result) = event { return try result.get() }
    }
    return nil
  }
}
