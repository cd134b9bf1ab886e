import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// L2CAP channels over the kernel's sockets.
struct ChannelTests {
  private let own = DeviceAddress(bits: 0x001A_7DDA_7113, kind: .public)
  private let first = ChannelID(rawValue: 1)
  private let accepted = ChannelID(rawValue: 1 << 63 | 1)

  private func token(_ number: UInt64) -> RequestToken { RequestToken(rawValue: number) }

  private func connected() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    return bench
  }

  private func opened() -> BlueZBench {
    var bench = connected()
    bench.request(.openChannel(.peer, psm: 0x80, token(1)))
    bench.handle(.channel(first, .opened(peerMTU: 512)))
    bench.channelActions = []
    bench.events = [:]
    return bench
  }

  @Test func `A channel is opened from the adapter's address to the device's PSM`() {
    var bench = connected()
    bench.request(.openChannel(.peer, psm: 0x80, token(1)))
    #expect(
      bench.channelActions == [
        .open(first, from: own, to: L2CAPSocketAddress(.peer, psm: 0x80))
      ])
    #expect(bench.takeEvents().result(1) == nil)
    bench.handle(.channel(first, .opened(peerMTU: 512)))
    let info = ChannelInfo(id: first, peer: .peer, psm: 0x80, peerMTU: 512)
    #expect(bench.takeEvents().result(1) == .success(.channel(info)))
  }

  @Test func `A channel of a bonded device goes to the address that the pairing has revealed`() {
    var bench = connected()
    bench.changeDevice([
      "Address": .string("00:11:22:33:44:66"), "AddressType": .string("public"),
      "Paired": .boolean(true),
    ])
    bench.request(.openChannel(.peer, psm: 0x80, token(1)))
    let identity = DeviceAddress(bits: 0x0011_2233_4466, kind: .public)
    #expect(
      bench.channelActions == [
        .open(first, from: own, to: L2CAPSocketAddress(identity, psm: 0x80))
      ])
  }

  @Test func `A channel needs a link of the client and a PSM of channels`() {
    var bench = BlueZBench()
    bench.start()
    bench.request(.openChannel(.peer, psm: 0x80, token(1)))
    #expect(bench.takeEvents().result(1) == .failure(.notConnected))
    bench.connect()
    for psm: UInt16 in [0, 0x1F, 0x100] {
      bench.request(.openChannel(.peer, psm: psm, token(2)))
      guard case .failure(.invalidArgument)? = bench.takeEvents().result(2) else {
        Issue.record("PSM \(psm) was taken")
        return
      }
    }
    #expect(bench.channelActions.isEmpty)
  }

  @Test(arguments: [
    (ChannelSocketFailure.refused, HostError.channelRefused(0xFFFF)),
    (.needsSecurity, .channelRefused(0x0008)),
    (.timedOut, .connectionFailed(HCIStatus(rawValue: 0x08))),
    (.linkLost, .notConnected),
  ])
  func `A channel that does not open fails its request only`(
    failure: ChannelSocketFailure, error: HostError
  ) {
    var bench = connected()
    bench.request(.openChannel(.peer, psm: 0x80, token(1)))
    bench.handle(.channel(first, .ended(failure)))
    #expect(bench.takeEvents() == [.completed(token(1), .failure(error))])
  }

  @Test func `A kernel that reports nothing about an opening channel is waited for 45 seconds`() {
    var bench = connected()
    bench.request(.openChannel(.peer, psm: 0x80, token(1)))
    bench.advance(by: .seconds(44))
    #expect(bench.takeEvents().result(1) == nil)
    bench.advance(by: .seconds(1))
    #expect(
      bench.takeEvents().result(1) == .failure(.connectionFailed(HCIStatus(rawValue: 0x08))))
    #expect(bench.channelActions.last == .close(first))
    // Too late.
    bench.handle(.channel(first, .opened(peerMTU: 512)))
    #expect(bench.takeEvents().isEmpty)
  }

  @Test func `Sends are complete in order when the kernel has taken their bytes`() {
    var bench = opened()
    bench.request(.sendOnChannel(first, [1, 2, 3], token(2)))
    bench.request(.sendOnChannel(first, [4, 5], token(3)))
    #expect(bench.channelActions == [.send(first, [1, 2, 3]), .send(first, [4, 5])])
    bench.handle(.channel(first, .sent(2)))
    #expect(bench.takeEvents().isEmpty)
    bench.handle(.channel(first, .sent(2)))
    #expect(bench.takeEvents() == [.completed(token(2), .success(.done))])
    bench.handle(.channel(first, .sent(1)))
    #expect(bench.takeEvents() == [.completed(token(3), .success(.done))])
  }

  @Test func `A channel whose peer takes nothing refuses more than a megabyte`() {
    var bench = opened()
    let megabyte = [UInt8](repeating: 0, count: BlueZLimits.channelByteCountMax)
    bench.request(.sendOnChannel(first, megabyte, token(2)))
    bench.request(.sendOnChannel(first, [1], token(3)))
    guard case .failure(.limitReached)? = bench.takeEvents().result(3) else {
      Issue.record("it was taken")
      return
    }
    bench.handle(.channel(first, .sent(megabyte.count)))
    #expect(bench.takeEvents().result(2) == .success(.done))
    bench.request(.sendOnChannel(first, [1], token(4)))
    #expect(bench.channelActions.last == .send(first, [1]))
  }

  @Test func `A client that consumes nothing stops the reading of its channel until it does`() {
    var bench = opened()
    let part = [UInt8](repeating: 7, count: BlueZLimits.channelWindow / 2)
    bench.handle(.channel(first, .received(part)))
    #expect(bench.channelActions.isEmpty)
    bench.handle(.channel(first, .received(part)))
    #expect(bench.channelActions == [.setReading(first, false)])
    bench.request(.consumedFromChannel(first, byteCount: 1))
    #expect(bench.channelActions.last == .setReading(first, true))
    #expect(
      bench.takeEvents() == [
        .channelReceived(first, part[...]), .channelReceived(first, part[...]),
      ])
  }

  @Test func `A channel that receives more than a megabyte for a client that reads nothing ends`() {
    var bench = opened()
    let megabyte = [UInt8](repeating: 0, count: BlueZLimits.channelByteCountMax)
    bench.handle(.channel(first, .received(megabyte)))
    bench.handle(.channel(first, .received([1])))
    guard case .channelClosed(first, .limitReached)? = bench.takeEvents().last else {
      Issue.record("it goes on")
      return
    }
    #expect(bench.channelActions.last == .close(first))
  }

  @Test func `A channel that its client closes has no error, and its sends are cancelled`() {
    var bench = opened()
    bench.request(.sendOnChannel(first, [1], token(2)))
    bench.request(.closeChannel(first))
    #expect(
      bench.takeEvents() == [
        .completed(token(2), .failure(.cancelled)), .channelClosed(first, nil),
      ])
    #expect(bench.channelActions.last == .close(first))
  }

  @Test func `The end of a link, of a session or of the radio is the end of channels`() {
    var bench = opened()
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(
      bench.takeEvents().contains(.channelClosed(first, .disconnected(.unspecifiedError))))
    bench = opened()
    bench.request(.disconnect(.peer))
    #expect(bench.takeEvents().contains(.channelClosed(first, nil)))
    bench = opened()
    bench.handle(.closed(.first))
    #expect(bench.channelActions == [.close(first)])
    bench = opened()
    bench.ownerChanged(to: "")
    #expect(bench.takeEvents().contains(.channelClosed(first, .radioNotReady)))
  }

  @Test func `A peer's channel is the client's that listens on its PSM`() {
    var bench = connected()
    bench.request(.publishChannel(psm: nil, requiresEncryption: true, token(1)))
    #expect(
      bench.channelActions == [.listen(first, on: own, psm: nil, requiresEncryption: true)])
    bench.handle(.channel(first, .listening(psm: 0x81)))
    #expect(bench.takeEvents().result(1) == .success(.psm(0x81)))
    bench.handle(.channel(first, .accepted(accepted, peer: .peer, peerMTU: 100)))
    let info = ChannelInfo(id: accepted, peer: .peer, psm: 0x81, peerMTU: 100)
    #expect(bench.takeEvents() == [.channelOpened(info)])
    bench.request(.unpublishChannel(psm: 0x81))
    #expect(bench.channelActions.last == .close(first))
    bench.handle(.channel(accepted, .received([1])))
    #expect(bench.takeEvents() == [.channelReceived(accepted, [1])])
    // It came before the end of the listening was known.
    let late = ChannelID(rawValue: 1 << 63 | 2)
    bench.handle(.channel(first, .accepted(late, peer: .peer, peerMTU: 100)))
    #expect(bench.channelActions.last == .close(late))
  }

  @Test func `Peers that open channels without end get 64 of them`() {
    var bench = connected()
    bench.request(.publishChannel(psm: 0x90, requiresEncryption: false, token(1)))
    bench.handle(.channel(first, .listening(psm: 0x90)))
    for number in 1...100 as ClosedRange<UInt64> {
      bench.handle(
        .channel(
          first,
          .accepted(ChannelID(rawValue: 1 << 63 | number), peer: .peer, peerMTU: 100)))
    }
    #expect(bench.machine.channels.count == BlueZLimits.channelCountMax)
    #expect(bench.channelActions.count { if case .close = $0 { true } else { false } } == 36)
    #expect(bench.warnings.count == 1)
  }

  @Test func `A PSM that another program has, or that needs a privilege, is an error`() {
    var bench = connected()
    bench.request(.publishChannel(psm: 0x7F, requiresEncryption: false, token(1)))
    bench.request(.publishChannel(psm: 0x80, requiresEncryption: false, token(2)))
    bench.handle(.channel(first, .ended(.isInUse)))
    let events = bench.takeEvents()
    for token: UInt64 in [1, 2] {
      guard case .failure(.invalidArgument)? = events.result(token) else {
        Issue.record("\(token): \(events)")
        return
      }
    }
  }

  @Test func `Programs publish a bounded number of channels, and one more when one is taken back`()
  {
    var bench = connected()
    let count = UInt64(BlueZLimits.listenerCountMax)
    for number in 1...count {
      bench.request(.publishChannel(psm: nil, requiresEncryption: false, token(number)))
      bench.handle(
        .channel(ChannelID(rawValue: number), .listening(psm: 0x80 + UInt16(number))))
    }
    #expect(bench.takeEvents().count == Int(count))
    bench.request(.publishChannel(psm: nil, requiresEncryption: false, token(100)))
    #expect(bench.takeEvents().result(100) == .failure(.limitReached("published channels")))
    bench.request(.unpublishChannel(psm: 0x81))
    bench.request(.publishChannel(psm: nil, requiresEncryption: false, token(101)))
    #expect(bench.takeEvents().result(101) == nil)
    #expect(bench.machine.listeners.count == Int(count))
  }

  @Test func `Another adapter has the same PSMs`() {
    var bench = connected()
    bench.request(.publishChannel(psm: nil, requiresEncryption: false, token(1)))
    bench.handle(.channel(first, .listening(psm: 0x82)))
    bench.channelActions = []
    bench.remove(adapterPath, BusName.adapter)
    #expect(bench.channelActions.isEmpty)
    bench.add(
      "/org/bluez/hci1", BusName.adapter,
      ["Address": .string("00:1A:7D:DA:71:14"), "Powered": .boolean(true)])
    let other = DeviceAddress(bits: 0x001A_7DDA_7114, kind: .public)
    #expect(
      bench.channelActions == [
        .close(first),
        .listen(ChannelID(rawValue: 2), on: other, psm: 0x82, requiresEncryption: false),
      ])
  }

  @Test func `A socket's address is the kernel's structure, and others are none`() {
    let address = L2CAPSocketAddress(.peer, psm: 0x0180)
    #expect(
      address.bytes == [31, 0, 0x80, 0x01, 0x55, 0x44, 0x33, 0x22, 0x11, 0xC0, 0, 0, 2, 0])
    #expect(L2CAPSocketAddress(bytes: address.bytes[...]) == address)
    let own = L2CAPSocketAddress(own, psm: 0)
    #expect(L2CAPSocketAddress(bytes: own.bytes[...]) == own)
    for count in 0..<13 { #expect(L2CAPSocketAddress(bytes: address.bytes.prefix(count)) == nil) }
    var classic = address.bytes
    classic[12] = 0
    #expect(L2CAPSocketAddress(bytes: classic[...]) == nil)
    var internet = address.bytes
    internet[0] = 2
    #expect(L2CAPSocketAddress(bytes: internet[...]) == nil)
  }
}
