import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Foundation
import Glibc
import Testing

@testable import AmbitCLI

/// A peer with a radio of its own, which reads by handles.
private actor Peer {
  private let host: BluetoothHost
  private let session: any HostSession
  private var events: AsyncStream<HostEvent>.Iterator
  private var lastToken: UInt64 = 0

  init(_ radio: String) throws {
    host = try BluetoothHost(radio: RadioChoice(parsing: radio))
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

  /// Connects to the first device that advertises.
  func connect() async -> DeviceAddress? {
    session.send(.startScan(ScanOptions()))
    while let event = await next() {
      switch event {
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

@Suite(
  "A peripheral of a hub that is killed and started again", .serialized, .timeLimit(.minutes(5)))
struct RestartedPeripheralTests {
  private static func lamp(_ characteristic: String) -> String {
    #"""
    {"name": "Lamp", "services": [{"uuid": "180F", "characteristics": [
      {"uuid": "2A19", "value": {"uint8": 80}}, \#(characteristic)]}]}
    """#
  }

  private static func start(_ file: String, _ hub: ServedHub) async throws -> AmbitRun {
    let run = try AmbitRun(["peripheral", file, "--json"], environment: hub.environment)
    #expect(await run.output.next(containing: "\"advertising\"") != nil)
    return run
  }

  private static func kill(_ run: AmbitRun, _ hub: ServedHub) async {
    run.send(SIGKILL)
    _ = await run.processEnd()
    #expect(await hub.server.output.next(containing: "\"programDisconnected\"") != nil)
  }

  @Test(
    "peers' handles are valid after a restart if the services are the same, and else change")
  func handles() async throws {
    let folder = try TestFolder()
    let file = try folder.file("lamp.json", Self.lamp(#"{"uuid": "2A1A", "value": {"uint8": 1}}"#))
    let other = try folder.file(
      "other.json", Self.lamp(#"{"uuid": "2A1B", "value": {"uint8": 1}}"#))
    let radio = try await ServedRadio("sim:empty")
    let hub = try await ServedHub(radio.name, at: folder.path + "/hub")
    let first = try await Self.start(file, hub)
    let peer = try Peer(radio.name)
    let lamp = try #require(await peer.connect())
    let found = try await peer.run(.readByUUID(0x2A19, in: .all), on: lamp)
    guard case .values(let values) = found, let handle = values.first?.handle else {
      Issue.record("there is no value: \(String(describing: found))")
      return
    }
    #expect(values.map(\.value) == [[80]])

    await Self.kill(first, hub)
    // Nothing of the ended program is served on the link, which is the hub's.
    await #expect(throws: HostError.att(.invalidHandle, handle: handle)) {
      try await peer.run(.read(handle), on: lamp)
    }
    let second = try await Self.start(file, hub)
    #expect(try await peer.run(.read(handle), on: lamp) == .value([80]))

    await Self.kill(second, hub)
    let third = try await Self.start(other, hub)
    await #expect(throws: HostError.att(.invalidHandle, handle: handle)) {
      try await peer.run(.read(handle), on: lamp)
    }
    let again = try await peer.run(.readByUUID(0x2A19, in: .all), on: lamp)
    guard case .values(let changed) = again, let changedHandle = changed.first?.handle else {
      Issue.record("there is no value: \(String(describing: again))")
      return
    }
    #expect(changedHandle > handle)
    third.terminate()
    _ = await third.end()
    await peer.close()
  }
}
