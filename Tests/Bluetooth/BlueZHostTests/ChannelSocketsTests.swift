#if BlueZ
  import BlueZMachines
  import BluetoothInterface
  import BluetoothWire
  import EventLoop
  import Foundation
  import Glibc
  import Testing

  @testable import BlueZHost

  /// Sockets of L2CAP. Their work with a peer is tested in the virtual machine (Interop/test_bluez_central.py).
  struct ChannelSocketsTests {
    /// A kernel lists its families of sockets where it has the one of Bluetooth.
    private static let hasBluetooth =
      ((try? String(contentsOfFile: "/proc/net/protocols", encoding: .utf8)) ?? "")
      .contains("L2CAP")

    private let own = DeviceAddress(bits: 0x001A_7DDA_7113, kind: .public)
    private let id = ChannelID(rawValue: 1)

    @Test(.enabled(if: !hasBluetooth, "this kernel has L2CAP"))
    func `Where the kernel has no L2CAP, channels and listening are errors with the reason`() {
      let sockets = ChannelSockets(on: .shared) { _, _ in }
      let remote = L2CAPSocketAddress(own, psm: 0x80)
      for action: ChannelAction in [
        .open(id, from: own, to: remote),
        .listen(id, on: own, psm: nil, requiresEncryption: false),
      ] {
        let events = sockets.perform(action).map(\.1)
        guard events.count == 1, case .ended(.isUnavailable(let reason)) = events[0] else {
          Issue.record("\(events)")
          continue
        }
        #expect(!reason.isEmpty)
      }
    }

    /// Three SDUs of a peer that closes the channel before a send: what the owner of the socket gets.
    private static func events(
      hasUnsent: Bool, on loop: EpollLoop
    ) throws -> [ChannelSocketEvent] {
      var pair: [Int32] = [0, 0]
      let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
      try #require(socketpair(AF_UNIX, type, 0, &pair) == 0)
      let socket = try ChannelSocket(pair[0], .open(mtu: 64), on: loop)
      defer { socket.close() }
      while hasUnsent, socket.send([UInt8](repeating: 1, count: 64)) != [] {}
      for byte in UInt8(1)...3 { #expect(write(pair[1], [byte], 1) == 1) }
      close(pair[1])
      guard hasUnsent else { return socket.send([9]) }
      // What waits leaves when the loop reports that there is room.
      var events: [ChannelSocketEvent] = []
      socket.onReport = { if case .event(let event) = $0 { events.append(event) } }
      socket.ready([.writable, .readable])
      return events
    }

    @Test(arguments: [false, true])
    func `A send that fails hides nothing of what the peer sent before it closed`(
      hasUnsent: Bool
    ) async throws {
      let events = try await withCheckedThrowingContinuation { continuation in
        let loop = EpollLoop.shared
        loop.execute {
          continuation.resume(with: Result { try Self.events(hasUnsent: hasUnsent, on: loop) })
        }
      }
      #expect(events == [.received([1]), .received([2]), .received([3]), .ended(.closedByPeer)])
    }

    @Test func `Actions on sockets that have ended do nothing, and closing has an end`() {
      let sockets = ChannelSockets(on: .shared) { _, _ in }
      #expect(sockets.perform(.send(id, [1])).isEmpty)
      #expect(sockets.perform(.setReading(id, true)).isEmpty)
      #expect(sockets.perform(.close(id)).isEmpty)
      var isClosed = false
      sockets.closeAll { isClosed = true }
      #expect(isClosed)
    }
  }
#endif
