#if BlueZ
  import BlueZMachines
  import BluetoothInterface
  import BluetoothWire
  import EventLoop
  import Foundation
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
