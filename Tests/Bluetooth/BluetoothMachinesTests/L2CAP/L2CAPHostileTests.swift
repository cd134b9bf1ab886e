import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@Suite("L2CAP against a hostile peer")
struct L2CAPHostileTests {
  /// A channel of a peripheral with an MTU of 100, an MPS of 60 and 4 credits; the hostile central
  /// granted 2 credits and calls its end 0x50.
  struct Victim {
    var station = L2CAPStation(role: .peripheral, aclLength: 251)
    var cid: UInt16 = 0

    init() {
      station.parameters = L2CAPChannelParameters(mtu: 100, mps: 60, credits: 4)
      station.consumes = false
      receive("0E00 0500 14 01 0A00 8000 5000 1700 1700 0200")
      cid = station.opened.first?.localCID ?? 0
      station.signals.removeAll()
    }

    mutating func receive(_ hex: String) { receive(Hexadecimal.bytes(hex) ?? []) }

    mutating func receive(_ bytes: [UInt8], continuing: Bool = false) {
      station.link.receive(
        bytes[...], continuing: continuing, now: .zero, into: &station.outputs)
      station.settle(now: .zero)
    }

    mutating func receiveFrame(_ payload: [UInt8]) {
      receive(
        [UInt8(truncatingIfNeeded: payload.count), UInt8(truncatingIfNeeded: payload.count >> 8)]
          + [UInt8(truncatingIfNeeded: cid), 0] + payload)
    }

    /// Whether the channel was given up, once, with a word to the peer and one to the client.
    var gaveUp: Bool {
      station.closed.map(\.1) == [.invalidResponse]
        && station.signals.filter {
          $0 == .disconnectionRequest(destination: 0x50, source: cid)
        }.count == 1
    }
  }

  @Test("a frame without credit closes the channel")
  func noCredit() {
    var victim = Victim()
    for _ in 0..<4 { victim.receiveFrame([1, 0, 7]) }
    #expect(victim.station.received.count == 4)
    #expect(!victim.gaveUp)
    victim.receiveFrame([1, 0, 7])
    #expect(victim.gaveUp)
    victim.receiveFrame([1, 0, 7])
    #expect(victim.gaveUp)
    #expect(victim.station.received.count == 4)
  }

  @Test("a unit longer than the MTU closes the channel")
  func unitTooLong() {
    var victim = Victim()
    victim.receiveFrame([101, 0, 7])
    #expect(victim.gaveUp)
  }

  @Test("a frame longer than the MPS closes the channel, in one piece or not")
  func frameTooLong() {
    var victim = Victim()
    victim.receiveFrame([90, 0] + [UInt8](repeating: 1, count: 59))
    #expect(victim.gaveUp)
    victim = Victim()
    victim.receive([61, 0, UInt8(victim.cid), 0, 90, 0, 1])
    #expect(victim.gaveUp)
    victim.receive([UInt8](repeating: 0, count: 58), continuing: true)
    #expect(victim.station.link.dropped.strayContinuations == 0)
  }

  @Test("frames with more than their unit's length close the channel")
  func unitOverrun() {
    var victim = Victim()
    victim.receiveFrame([2, 0, 1, 2, 3])
    #expect(victim.gaveUp)
    victim = Victim()
    victim.receiveFrame([3, 0, 1, 2])
    victim.receiveFrame([3, 4])
    #expect(victim.gaveUp)
    victim = Victim()
    victim.receiveFrame([3])
    #expect(victim.gaveUp)
  }

  @Test("credits over 65,535 close the channel; none at all are ignored")
  func creditOverflow() {
    var victim = Victim()
    victim.receive("0800 0500 16 02 0400 5000 0000")
    victim.receive("0800 0500 16 02 0400 5100 0A00")
    victim.receive("0800 0500 16 02 0400 5000 FDFF")
    #expect(victim.station.closed.isEmpty)
    victim.receive("0800 0500 16 02 0400 5000 0100")
    #expect(victim.gaveUp)
  }

  @Test("an answer that makes no sense leaves no channel behind")
  func senselessAnswers() throws {
    for answer in [
      "8000 1700 1700 0000 0000", "4000 1600 1700 0000 0000", "4000 1700 1600 0000 0000",
    ] {
      var victim = Victim()
      _ = try victim.station.link.openChannel(
        psm: 0x80, now: .zero, into: &victim.station.outputs)
      victim.station.settle(now: .zero)
      victim.receive("0E00 0500 15 01 0A00" + answer)
      #expect(victim.station.refused == [.invalidResponse])
      guard case .disconnectionRequest? = victim.station.signals.last else {
        Issue.record("the peer was not told, answer \(answer)")
        continue
      }
    }
  }

  @Test("a disconnection with the wrong other end is ignored, with the right one answered")
  func disconnection() {
    var victim = Victim()
    victim.receive("0800 0500 06 02 0400 4000 5100")
    #expect(victim.station.signals.isEmpty && victim.station.closed.isEmpty)
    victim.receive("0800 0500 06 03 0400 4000 5000")
    #expect(victim.station.signals == [.disconnectionResponse(destination: 0x40, source: 0x50)])
    #expect(victim.station.closed.count == 1)
  }

  @Test("units cut into the shortest frames still come through, and memory stays bounded")
  func shortFrames() {
    var victim = Victim()
    for round in 0..<50 {
      victim.receiveFrame([100, 0])
      for byte in 0..<100 as Range<UInt8> { victim.receiveFrame([byte]) }
      #expect(victim.station.received.count == round + 1)
      victim.station.link.consumed(100, from: victim.cid, into: &victim.station.outputs)
      victim.station.settle(now: .zero)
    }
    #expect(victim.station.closed.isEmpty)
  }

  @Test("a peer that is never consumed from cannot make us hold more than its credits")
  func hoarding() {
    var victim = Victim()
    var sent = 0
    while victim.station.closed.isEmpty, sent < 10_000 {
      victim.receiveFrame([100, 0] + [UInt8](repeating: 1, count: 58))
      victim.receiveFrame([UInt8](repeating: 2, count: 42))
      sent += 100
    }
    #expect(victim.gaveUp)
    #expect(victim.station.receivedBytes <= 2 * 4 * 60 + 100)
  }

  @Test("whatever arrives in whatever pieces, nothing traps, hangs or grows")
  func mutations() {
    for seed in 0..<4000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      var victim = Victim()
      victim.station.consumes = Bool.random(using: &random)
      if Bool.random(using: &random) {
        _ = try? victim.station.link.openChannel(
          psm: 0x81, now: .zero, into: &victim.station.outputs)
        victim.station.link.send(
          [UInt8](repeating: 7, count: 900), on: victim.cid, token: RequestToken(rawValue: 1),
          into: &victim.station.outputs)
        victim.station.settle(now: .zero)
      }
      for _ in 0..<60 {
        let frame = Self.frame(from: &random)
        let cut = Int.random(in: 0...frame.count, using: &random)
        if Int.random(in: 0..<3, using: &random) == 0 {
          victim.receive(Array(frame[..<cut]))
          if Bool.random(using: &random) { victim.receive(Array(frame[cut...]), continuing: true) }
        } else {
          victim.receive(frame, continuing: Int.random(in: 0..<20, using: &random) == 0)
        }
        _ = victim.station.transmit(now: .zero)
      }
      #expect(victim.station.opened.count <= 120, "seed \(seed)")
      var outputs: [L2CAPLink.Output] = []
      victim.station.link.wake(now: .distantFuture, into: &outputs)
      #expect(victim.station.link.nextWake == nil, "seed \(seed)")
      victim.station.link.close(.notConnected, into: &victim.station.outputs)
      victim.station.settle(now: .zero)
      #expect(victim.station.completed.count <= 1, "seed \(seed)")
    }
  }

  /// A frame that was sensible before a few of its bytes changed.
  static func frame(from random: inout SeededGenerator) -> [UInt8] {
    let samples = [
      "0800 0500 06 07 0400 4000 5000", "0800 0500 07 01 0400 5000 4000",
      "0600 0500 01 01 0200 0000", "0C00 0500 12 07 0800 0600 0600 0000 6400",
      "0600 0500 13 01 0200 0000", "0E00 0500 14 01 0A00 8000 5100 1700 1700 0200",
      "0E00 0500 15 01 0A00 6000 1700 1700 0200 0000", "0800 0500 16 02 0400 5000 0500",
      "1000 0500 17 07 0C00 8000 4000 4000 0500 4000 4100", "0A00 0500 19 08 0600 8000 7000 4000",
      "0500 4000 0300 010203", "0400 4000 0300 0102", "0100 4000 03", "0300 0400 0A0100",
      "0700 0600 01030000000000",
    ]
    let sample = samples[Int.random(in: 0..<samples.count, using: &random)]
    var bytes = Hexadecimal.bytes(sample) ?? []
    for _ in 0..<Int.random(in: 0..<3, using: &random) {
      bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
    }
    return bytes
  }
}
