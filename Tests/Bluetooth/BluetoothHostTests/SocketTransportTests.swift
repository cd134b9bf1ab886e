import BluetoothInterface
import BluetoothWire
import Testing

@testable import BluetoothHost

@Suite("Sockets to a controller", .timeLimit(.minutes(5)))
struct SocketTransportTests {
  static let event = HCIPacket(kind: .event, bytes: [0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00])
  static let data = HCIPacket(kind: .acl, bytes: [0x40, 0x20, 0x03, 0x00, 0xAA, 0xBB, 0xCC])

  @Test("packets go both ways, a batch in one write")
  func bothWays() async throws {
    let controller = try await FakeController()
    let harness = await TransportHarness(controller.radio)
    #expect(await harness.next() == .opened)
    let connection = try #require(await controller.accept())

    let reset = HCIPacket(kind: .command, bytes: [0x03, 0x0C, 0x00])
    harness.send([reset, Self.data])
    let expected = reset.h4Bytes + Self.data.h4Bytes
    #expect(await connection.read(expected.count) == expected)

    await connection.write(Self.event.h4Bytes + Self.data.h4Bytes)
    #expect(await harness.packets(2) == [Self.event, Self.data])
    harness.close()
    await controller.stop()
  }

  @Test("packets that come byte by byte are put together")
  func halfPackets() async throws {
    let controller = try await FakeController()
    let harness = await TransportHarness(controller.radio)
    #expect(await harness.next() == .opened)
    let connection = try #require(await controller.accept())
    for byte in Self.event.h4Bytes + Self.data.h4Bytes { await connection.write([byte]) }
    #expect(await harness.packets(2) == [Self.event, Self.data])
    harness.close()
    await controller.stop()
  }

  @Test("garbage ends the connection with a sentence; what came before it counts")
  func garbage() async throws {
    let controller = try await FakeController()
    let harness = await TransportHarness(controller.radio)
    #expect(await harness.next() == .opened)
    let connection = try #require(await controller.accept())
    await connection.write(Self.event.h4Bytes + [0x77, 0x01, 0x02])
    #expect(await harness.next() == .packets([Self.event]))
    #expect(
      await harness.next()
        == .closed(.transport("The radio \(controller.radio) sent bytes that are no HCI packet.")))
    #expect(await connection.read(1) == [])
    await controller.stop()
  }

  @Test("a controller that goes away is reported once")
  func peerCloses() async throws {
    let controller = try await FakeController()
    let harness = await TransportHarness(controller.radio)
    #expect(await harness.next() == .opened)
    try await #require(await controller.accept()).close()
    #expect(
      await harness.next()
        == .closed(.transport("The radio \(controller.radio) closed the connection.")))
    #expect(await harness.next() == nil)
    await controller.stop()
  }

  @Test("a port where nothing listens is reported")
  func nobodyListens() async throws {
    let controller = try await FakeController()
    await controller.stop()
    let harness = await TransportHarness(controller.radio)
    #expect(await harness.next() == .closed(.transport("Nothing listens at \(controller.radio).")))
  }

  @Test("a missing UNIX socket is reported as such")
  func noSocket() async throws {
    let harness = await TransportHarness(.unix(path: "/nonexistent/radio"))
    #expect(
      await harness.next()
        == .closed(.transport("There is no socket at unix:/nonexistent/radio.")))
  }

  @Test("closing while connecting is quiet")
  func closeWhileConnecting() async throws {
    let controller = try await FakeController()
    let harness = await TransportHarness(controller.radio)
    harness.close()
    let connection = try #require(await controller.accept())
    #expect(await connection.read(1) == [])
    await controller.stop()
  }
}
