import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@Suite("L2CAP credit-based channels")
struct L2CAPChannelTests {
  static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededGenerator(seed: seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  @Test("a channel opens at both ends with the other's MTU, and closes at both")
  func openAndClose() throws {
    var pair = L2CAPPair()
    pair.central.parameters = L2CAPChannelParameters(mtu: 100, mps: 50, credits: 3)
    let (cid, peerCID) = try pair.open(psm: 0x25)
    #expect(pair.central.opened.map(\.peerMTU) == [3998])
    #expect(pair.peripheral.opened.map(\.peerMTU) == [100])
    #expect(pair.peripheral.opened.map(\.psm) == [0x25])
    #expect(pair.peripheral.opened.map(\.isIncoming) == [true])
    #expect(pair.central.link.nextWake == nil)
    pair.central.link.closeChannel(cid, now: .zero, into: &pair.central.outputs)
    #expect(pair.central.closed.isEmpty)
    pair.run()
    #expect(pair.central.closed.map(\.0) == [cid])
    #expect(pair.central.closed.map(\.1) == [nil])
    #expect(pair.peripheral.closed.map(\.0) == [peerCID])
    #expect(pair.peripheral.closed.map(\.1) == [.disconnected(HCIStatus(rawValue: 0x13))])
    #expect(pair.central.link.nextWake == nil)
  }

  @Test("the peer may close as well, and both may at the same time")
  func closedByPeer() throws {
    var pair = L2CAPPair()
    let (cid, peerCID) = try pair.open()
    pair.peripheral.link.closeChannel(peerCID, now: .zero, into: &pair.peripheral.outputs)
    pair.central.link.closeChannel(cid, now: .zero, into: &pair.central.outputs)
    pair.run()
    #expect(pair.central.closed.map(\.1) == [nil])
    #expect(pair.peripheral.closed.map(\.1) == [nil])
    #expect(pair.central.link.nextWake == nil)
    #expect(pair.peripheral.link.nextWake == nil)
  }

  @Test(
    "a refusal has its result",
    arguments: [
      L2CAPResult.spsmNotSupported, .noResources, .insufficientAuthentication,
      .insufficientAuthorization, .encryptionKeyTooShort, .insufficientEncryption,
      .unacceptableParameters,
    ])
  func refusal(_ result: L2CAPResult) throws {
    var pair = L2CAPPair()
    pair.peripheral.answer = result
    _ = try pair.open()
    #expect(pair.central.refused == [.channelRefused(result.rawValue)])
    #expect(pair.central.opened.isEmpty)
  }

  @Test("a channel that is given up while it opens is refused at once, and closed when it opens")
  func abandoned() throws {
    var pair = L2CAPPair()
    let cid = try pair.central.link.openChannel(
      psm: 1, now: .zero, into: &pair.central.outputs)
    pair.central.link.closeChannel(cid, now: .zero, into: &pair.central.outputs)
    pair.central.link.closeChannel(cid, now: .zero, into: &pair.central.outputs)
    pair.run()
    #expect(pair.central.refused == [.cancelled])
    #expect(pair.central.opened.isEmpty && pair.central.closed.isEmpty)
    #expect(pair.peripheral.closed.count == 1)
    let again = try pair.open().central
    #expect(again == cid)
  }

  @Test("requests that make no sense are refused without asking the owner")
  func senselessRequests() {
    func answer(_ hex: String) -> UInt16? {
      var station = L2CAPStation(role: .peripheral)
      let bytes = Hexadecimal.bytes("0E00 0500 14 01 0A00 8000 4000 1700 1700 0000") ?? []
      let second = Hexadecimal.bytes("0E00 0500 14 02 0A00" + hex) ?? []
      station.link.receive(bytes[...], continuing: false, now: .zero, into: &station.outputs)
      station.settle(now: .zero)
      station.link.receive(second[...], continuing: false, now: .zero, into: &station.outputs)
      station.settle(now: .zero)
      guard case .creditBasedConnectionResponse(let response) = station.signals.last else {
        return nil
      }
      return response.result.rawValue
    }
    #expect(answer("8000 4100 1700 1700 0000") == 0)
    #expect(answer("0000 4100 1700 1700 0000") == 2)
    #expect(answer("0001 4100 1700 1700 0000") == 2)
    #expect(answer("8000 3F00 1700 1700 0000") == 9)
    #expect(answer("8000 8000 1700 1700 0000") == 9)
    #expect(answer("8000 4000 1700 1700 0000") == 10)
    #expect(answer("8000 4100 1600 1700 0000") == 11)
    #expect(answer("8000 4100 1700 1600 0000") == 11)
    #expect(answer("8000 4100 1700 FEFF 0000") == 11)
  }

  @Test("there are no more channels than the bound, and ends are used again")
  func channelBound() throws {
    var pair = L2CAPPair()
    for _ in 0..<16 { _ = try pair.open() }
    #expect(throws: HostError.limitReached("channels on one link")) { _ = try pair.open() }
    _ = try? pair.peripheral.link.openChannel(
      psm: 1, now: .zero, into: &pair.peripheral.outputs)
    pair.central.link.closeChannel(0x45, now: .zero, into: &pair.central.outputs)
    pair.run()
    let again = try pair.open().central
    #expect(again == 0x45)
    #expect(pair.central.opened.count == 17)
  }

  @Test("any length goes through any ACL length, in order", arguments: [27, 28, 31, 64, 100, 251])
  func lengths(aclLength: Int) throws {
    var pair = L2CAPPair(aclLength: aclLength)
    pair.peripheral.parameters = L2CAPChannelParameters(mtu: 300, mps: 61, credits: 4)
    let cid = try pair.open().central
    let units = (1...300).map { Self.bytes($0, seed: UInt64($0)) }
    for (token, unit) in units.enumerated() { pair.send(unit, on: cid, token: UInt64(token)) }
    pair.run()
    #expect(pair.peripheral.received == units)
    #expect(pair.central.completed.map(\.0.rawValue) == (0..<300).map { UInt64($0) })
    #expect(pair.central.completed.allSatisfy { $0.1 == nil })
  }

  @Test("every ACL length from 27 to 251 carries units and attribute PDUs of random sizes")
  func everyACLLength() throws {
    for aclLength in 27...251 {
      var random = SeededGenerator(seed: UInt64(aclLength))
      var pair = L2CAPPair(aclLength: aclLength, aclCount: .random(in: 1...9, using: &random))
      pair.peripheral.parameters = L2CAPChannelParameters(
        mtu: .random(in: 23...900, using: &random), mps: .random(in: 23...400, using: &random),
        credits: .random(in: 1...9, using: &random))
      let cid = try pair.open().central
      let sent = (0..<6).map { _ in
        Self.bytes(.random(in: 1...2000, using: &random), seed: random.next())
      }
      let pdus = (0..<6).map { _ in
        Self.bytes(.random(in: 1...517, using: &random), seed: random.next())
      }
      for (unit, pdu) in zip(sent, pdus) {
        pair.send(unit, on: cid)
        pair.central.scheduler.enqueue(OutgoingFrame(channel: 4, payload: pdu), handle: 1)
      }
      let isQuiet = pair.run()
      #expect(isQuiet, "ACL length \(aclLength)")
      #expect(pair.peripheral.received.flatMap { $0 } == sent.flatMap { $0 }, "\(aclLength)")
      #expect(pair.peripheral.fixed.map(\.1) == pdus, "\(aclLength)")
      #expect(pair.central.completed.count == 6, "\(aclLength)")
      #expect(pair.peripheral.link.dropped == L2CAPLink.Dropped(), "\(aclLength)")
    }
  }

  @Test("a unit of a single frame is passed on as a slice of the packet")
  func slices() throws {
    var pair = L2CAPPair()
    let cid = try pair.open().peripheral
    let frame = [5, 0, UInt8(cid), 0, 3, 0, 7, 8, 9] as [UInt8]
    pair.peripheral.link.receive(
      frame[...], continuing: false, now: .zero, into: &pair.peripheral.outputs)
    guard case .channelReceived(cid, let unit)? = pair.peripheral.outputs.first else {
      Issue.record("nothing passed on")
      return
    }
    #expect(unit.startIndex == 6)
  }

  @Test("a client that does not consume stops the peer, and lets it go on by consuming")
  func backPressure() throws {
    var pair = L2CAPPair()
    pair.peripheral.parameters = L2CAPChannelParameters(mtu: 50, mps: 52, credits: 10)
    pair.peripheral.consumes = false
    let (cid, peerCID) = try pair.open()
    pair.send(Self.bytes(50 * 40), on: cid, token: 3)
    pair.run()
    #expect(pair.peripheral.received.count == 10)
    #expect(pair.central.completed.isEmpty)
    pair.peripheral.link.consumed(50 * 4, from: peerCID, into: &pair.peripheral.outputs)
    pair.run()
    #expect(pair.peripheral.received.count == 14)
    pair.peripheral.consumes = true
    pair.peripheral.link.consumed(50 * 10, from: peerCID, into: &pair.peripheral.outputs)
    pair.run()
    #expect(pair.peripheral.received.count == 40)
    #expect(pair.central.completed.map(\.0.rawValue) == [3])
  }

  @Test("a send is complete only when the controller took its last frame")
  func completion() throws {
    var pair = L2CAPPair(aclLength: 251)
    let cid = try pair.open().central
    pair.send([1, 2, 3], on: cid, token: 8)
    pair.central.settle(now: .zero)
    #expect(pair.central.completed.isEmpty)
    _ = pair.central.transmit(now: .zero)
    #expect(pair.central.completed.map(\.0.rawValue) == [8])
    pair.send([], on: cid, token: 9)
    pair.send([1], on: 0x7F, token: 10)
    pair.central.settle(now: .zero)
    #expect(pair.central.completed.map(\.1) == [nil, nil, .notConnected])
  }

  @Test("a megabyte goes through in bounded memory")
  func stream() throws {
    var pair = L2CAPPair(aclLength: 251, aclCount: 6)
    pair.peripheral.keepsReceived = false
    let cid = try pair.open().central
    let chunk = Self.bytes(16_384)
    var highest = 0
    for token in 0..<64 as Range<UInt64> {
      pair.send(chunk, on: cid, token: token)
      pair.central.settle(now: .zero)
      highest = max(highest, pair.central.scheduler.queuedByteCount(handle: 1))
      let isQuiet = pair.run()
      #expect(isQuiet)
    }
    #expect(pair.peripheral.receivedBytes == 64 * 16_384)
    #expect(pair.central.completed.count == 64)
    #expect(highest <= 8 * 1004)
  }

  @Test("a client that never waits gets an error before it fills the memory")
  func sendBound() throws {
    var pair = L2CAPPair()
    pair.peripheral.consumes = false
    let cid = try pair.open().central
    for token in 0..<40 as Range<UInt64> {
      pair.send([UInt8](repeating: 1, count: 50_000), on: cid, token: token)
    }
    pair.run()
    let refused = pair.central.completed.filter { $0.1 != nil }
    #expect(refused.count >= 19)
    #expect(refused.allSatisfy { $0.1 == .limitReached("bytes waiting on a channel") })
  }

  @Test("frames stay short enough to let others pass, whatever the peer would take")
  func outgoingFrames() throws {
    var pair = L2CAPPair(aclLength: 251)
    pair.peripheral.parameters = L2CAPChannelParameters(mtu: 65535, mps: 65533, credits: 100)
    let cid = try pair.open().central
    pair.send(Self.bytes(65_000), on: cid)
    for case .sendFrame(let frame) in pair.central.outputs {
      #expect(frame.byteCount <= 4 + 4096)
    }
    pair.run()
    #expect(pair.peripheral.received.map(\.count) == [65_000])
    for token in 0..<20_000 as Range<UInt64> { pair.send([1], on: cid, token: token) }
    pair.central.settle(now: .zero)
    #expect(pair.central.completed.contains { $0.1 != nil })
    pair.run()
    #expect(pair.central.completed.count == 20_001)
  }

  @Test("when the link goes down, everything that waits fails once")
  func linkDown() throws {
    var pair = L2CAPPair()
    pair.peripheral.consumes = false
    let cid = try pair.open().central
    pair.send(Self.bytes(100_000), on: cid, token: 1)
    pair.send(Self.bytes(10), on: cid, token: 2)
    pair.run()
    _ = try pair.central.link.openChannel(psm: 5, now: .zero, into: &pair.central.outputs)
    let down = HostError.disconnected(HCIStatus(rawValue: 0x08))
    pair.central.link.close(down, into: &pair.central.outputs)
    pair.central.settle(now: .zero)
    #expect(pair.central.completed.map(\.1) == [down, down])
    #expect(pair.central.closed.map(\.1) == [down])
    #expect(pair.central.refused == [down])
    #expect(pair.central.link.nextWake == nil)
  }

  @Test("a peer that never answers loses the channel after 30 s")
  func silence() throws {
    var station = L2CAPStation(role: .central)
    _ = try station.link.openChannel(psm: 5, now: .zero, into: &station.outputs)
    let wake = try #require(station.link.nextWake)
    station.link.wake(now: wake, into: &station.outputs)
    station.settle(now: wake)
    #expect(station.refused == [.invalidResponse])

    var pair = L2CAPPair()
    let cid = try pair.open().central
    pair.central.link.closeChannel(cid, now: .zero, into: &pair.central.outputs)
    pair.central.link.wake(now: wake, into: &pair.central.outputs)
    pair.central.settle(now: wake)
    #expect(pair.central.closed.map(\.1) == [nil])
  }

  @Test("frames handed over late don't affect a new channel with the same CID")
  func staleTags() throws {
    var pair = L2CAPPair(aclLength: 27, aclCount: 1)
    let cid = try pair.open().central
    pair.send(Self.bytes(500), on: cid, token: 1)
    var tags: [SendTag] = []
    for case .sendFrame(let frame) in pair.central.outputs {
      if let tag = frame.tag { tags.append(tag) }
    }
    #expect(tags.count == 1)
    pair.run()
    pair.central.link.closeChannel(cid, now: .zero, into: &pair.central.outputs)
    pair.run()
    let again = try pair.open().central
    #expect(again == cid)
    var outputs: [L2CAPLink.Output] = []
    for tag in tags { pair.central.link.handedOver(tag, into: &outputs) }
    #expect(outputs.isEmpty)
    let isOwn = pair.central.link.handedOver(SendTag(rawValue: 5), into: &outputs)
    #expect(!isOwn)
  }
}
