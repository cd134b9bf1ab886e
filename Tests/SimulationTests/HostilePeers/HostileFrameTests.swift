import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines

/// A peer that breaks the rules of L2CAP below any channel of its own.
@Suite("A host and the frames of a hostile peer")
struct HostileFrameTests {
  typealias Attack = @Sendable (HostilePeer) -> Void

  /// Frames that are dropped silently: only the request after them is answered.
  static let dropped: [(String, Attack)] = [
    ("a continuation of nothing", { $0.raw([1, 2, 3], continuing: true) }),
    ("half a header and no more", { $0.raw([4, 0, 4]) }),
    ("a header of one byte, again and again", { for _ in 0..<100 { $0.raw([4]) } }),
    ("a frame that never goes on", { $0.raw([100, 0, 4, 0, 0x0A, 3, 0]) }),
    ("a frame longer than its header says", { $0.frame([0x0A, 3, 0, 0], on: 4, length: 3) }),
    (
      "pieces longer than the whole",
      {
        $0.raw([10, 0, 4, 0, 0x0A])
        $0.raw(Array(repeating: 0, count: 100), continuing: true)
        $0.raw([1], continuing: true)
      }
    ),
    ("the longest frame there is, announced", { $0.frame([0x0A], on: 4, length: 0xFFFF) }),
    (
      "the longest frame there is, in full",
      { peer in
        peer.frame(Array(repeating: 0, count: 1_000), on: 4, length: 0xFFFF)
        for _ in 0..<65 { peer.raw(Array(repeating: 0, count: 1_000), continuing: true) }
      }
    ),
    ("an attribute PDU of 518 bytes", { $0.attribute(Array(repeating: 0x0A, count: 518)) }),
    ("an attribute PDU of no bytes", { $0.attribute([]) }),
    (
      "frames on channels that aren't there",
      { peer in
        for channel: UInt16 in [0, 1, 2, 3, 7, 0x3F, 0x40, 0x7F, 0x80, 0xFFFF] {
          peer.frame([0x0A, 3, 0], on: channel)
          peer.frame([], on: channel)
          peer.frame([1], on: channel, length: 0xFFFF)
        }
      }
    ),
    (
      "pairing that makes no sense",
      { peer in
        for code in UInt8.min...UInt8.max where code != 0x01 && code != 0x0B {
          peer.frame([code] + Array(repeating: 0xFF, count: Int(code) % 70), on: 6)
        }
        peer.frame([], on: 6)
      }
    ),
    ("a signal without identifier", { $0.frame(bytes("16 00 0400 4000 0100"), on: 5) }),
    ("a signal of one byte", { $0.frame([0x14], on: 5) }),
    ("a signal of no bytes", { $0.frame([], on: 5) }),
    ("credit for nothing", { $0.signal(.flowControlCredit(source: 0x40, credits: 1)) }),
    ("credit cut short", { $0.frame(bytes("16 01 0200 4000"), on: 5) }),
    (
      "answers to nothing",
      { peer in
        for identifier: UInt8 in [1, 2, 0x80, 0xFF] {
          for answer in Self.answers { peer.signal(answer, identifier: identifier) }
        }
      }
    ),
    (
      "answers cut short",
      { peer in
        for code: UInt8 in [0x01, 0x07, 0x13, 0x15, 0x18, 0x1A] {
          peer.frame([code, 1, 0, 0], on: 5)
          peer.frame([code, 1, 0xFF, 0xFF, 0], on: 5)
        }
      }
    ),
  ]

  private static let answers: [L2CAPSignal] = [
    .commandReject(.commandNotUnderstood), .commandReject(.invalidCID(local: 0x40, remote: 0x40)),
    .disconnectionResponse(destination: 0x40, source: 0x40),
    .connectionParameterUpdateResponse(accepted: true),
    .creditBasedConnectionResponse(.refusal(.noResources)),
    .creditBasedConnectionResponse(
      .init(destination: 0x40, mtu: 100, mps: 100, initialCredits: 1, result: .success)),
    .enhancedConnectionResponse(
      .init(mtu: 100, mps: 100, initialCredits: 1, result: .success, destinations: [0x40])),
    .reconfigureResponse(.success),
  ]

  private static let notUnderstood = L2CAPSignal.commandReject(.commandNotUnderstood)

  /// Frames that are refused with one command.
  static let refused: [(String, Attack, L2CAPSignal)] = [
    ("an unknown command", { $0.frame(bytes("77 05 0000"), on: 5) }, notUnderstood),
    ("an unknown command with data", { $0.frame(bytes("02 05 0200 0102"), on: 5) }, notUnderstood),
    (
      "a length beyond the frame", { $0.frame(bytes("06 05 0500 4000 4000"), on: 5) }, notUnderstood
    ),
    (
      "two commands in a frame",
      { $0.frame(bytes("06 05 0400 4000 4000 06 06 0400 4000 4000"), on: 5) }, notUnderstood
    ),
    ("a channel request cut short", { $0.frame(bytes("14 05 0200 8000"), on: 5) }, notUnderstood),
    (
      "a request for no channels", { $0.frame(bytes("17 05 0800 8000 4000 4000 0100"), on: 5) },
      notUnderstood
    ),
    (
      "a signal of 24 bytes",
      { $0.frame(bytes("08 05 1400") + Array(repeating: 0, count: 20), on: 5) },
      .commandReject(.signallingMTUExceeded(23))
    ),
    (
      "a signal of 60,000 bytes",
      { $0.frame(bytes("08 05 1400") + Array(repeating: 0, count: 60_000), on: 5) },
      .commandReject(.signallingMTUExceeded(23))
    ),
    (
      "the end of what isn't there",
      { $0.signal(.disconnectionRequest(destination: 0x40, source: 0x41), identifier: 5) },
      .commandReject(.invalidCID(local: 0x40, remote: 0x41))
    ),
    (
      "a change of what isn't there",
      { $0.signal(.reconfigureRequest(mtu: 100, mps: 100, sources: [0x40]), identifier: 5) },
      .reconfigureResponse(.invalidDestinationCID)
    ),
  ]

  /// Attacks, each followed by a request of ours if we are the central, else by one of the peer's.
  private func attack(_ rig: HostileWorld, _ attack: Attack) -> Bool {
    rig.peer.forgetHeard()
    attack(rig.peer)
    rig.world.run(for: .milliseconds(100))
    if let rig = rig as? ServingWorld { return rig.isServing }
    rig.peer.answer = { $0 == .readRequest(handle: 9) ? [bytes("0b 09")] : nil }
    return rig.gatt(.read(9)) == .success(.value([9]))
  }

  private func rigs() throws -> [HostileWorld] {
    let serving = try ServingWorld()
    try serving.intrude()
    let asking = try HostileWorld()
    try asking.meet()
    asking.world.run(for: .seconds(1))
    return [serving, asking]
  }

  @Test("frames that make no sense are dropped, and those after them are processed")
  func dropping() throws {
    for rig in try rigs() {
      for (sentence, attack) in Self.dropped {
        #expect(self.attack(rig, attack), "\(sentence)")
        #expect(rig.peer.heard.count == 1, "\(sentence): \(rig.peer.heard)")
      }
      try rig.expectUnharmed()
    }
  }

  @Test("frames that request something impossible are refused once, by their identifier")
  func refusing() throws {
    for rig in try rigs() {
      for (sentence, attack, answer) in Self.refused {
        #expect(self.attack(rig, attack), "\(sentence)")
        let wanted = L2CAPSignalPDU(identifier: 5, signal: answer)
        #expect(rig.peer.signals == [wanted], "\(sentence)")
      }
      try rig.expectUnharmed()
    }
  }

  @Test("frames that begin a pairing are answered with the refusal of a host without bonds")
  func pairing() throws {
    for rig in try rigs() {
      // Its bonds can't be read: it refuses to pair.
      rig.host.losesBonds()
      // Pairing Not Supported; where the request can't be read, Invalid Parameters.
      for (request, reason) in [("01 03 00 0d 10 07 07", 5), ("01", 10), ("0b 0d", 5)] {
        #expect(attack(rig) { $0.frame(bytes(request), on: 6) })
        let answers = rig.peer.heard.filter { $0.channel == 6 }.map(\.payload)
        #expect(answers == [[5, UInt8(reason)]], "\(request)")
      }
      try rig.expectUnharmed()
    }
  }

  // MARK: Timing

  static let timings: [(String, [UInt16], Bool)] = [
    ("an interval of nothing", [0, 0, 0, 100], false),
    ("an interval too short", [5, 10, 0, 100], false),
    ("an interval too long", [6, 3_201, 0, 3_200], false),
    ("an interval backwards", [40, 20, 0, 100], false),
    ("a latency too long", [6, 10, 500, 3_200], false),
    ("a timeout too short", [6, 6, 0, 9], false),
    ("a timeout too long", [6, 6, 0, 3_201], false),
    ("a timeout within the latency", [80, 80, 9, 200], false),
    ("everything at its end", [0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF], false),
    ("what can be", [40, 56, 0, 100], true),
  ]

  @Test("frames that request another timing get it if a link can have it, one at a time")
  func timing() throws {
    let rig = try HostileWorld()
    try rig.meet()
    rig.world.run(for: .seconds(1))
    for (sentence, numbers, isAccepted) in Self.timings {
      let before = rig.link?.info.intervalUnits
      rig.peer.forgetHeard()
      rig.peer.signal(
        .connectionParameterUpdateRequest(
          .init(
            intervalMinUnits: numbers[0], intervalMaxUnits: numbers[1], latency: numbers[2],
            timeoutUnits: numbers[3])))
      rig.world.run(for: .seconds(1))
      let answer = L2CAPSignal.connectionParameterUpdateResponse(accepted: isAccepted)
      #expect(rig.peer.signals == [.init(identifier: 1, signal: answer)], "\(sentence)")
      let after = rig.link?.info.intervalUnits
      #expect(isAccepted ? after == 56 || after == 40 : after == before, "\(sentence)")
    }
    // A storm of them.
    rig.peer.forgetHeard()
    for identifier in UInt8(1)...200 {
      rig.peer.signal(
        .connectionParameterUpdateRequest(
          .init(intervalMinUnits: 24, intervalMaxUnits: 24, latency: 0, timeoutUnits: 100)),
        identifier: identifier)
    }
    rig.world.run(for: .seconds(1))
    #expect(rig.peer.signals.count == 200)
    let accepted = L2CAPSignal.connectionParameterUpdateResponse(accepted: true)
    #expect(rig.peer.signals.count { $0.signal == accepted } == 1)
    #expect(rig.link?.info.intervalUnits == 24)
    #expect(attack(rig) { _ in })
    try rig.expectUnharmed()
  }

  @Test(
    "frames of a central that request another timing are rejected: it changes the timing itself")
  func wrongRole() throws {
    let rig = try ServingWorld()
    try rig.intrude()
    rig.peer.signal(
      .connectionParameterUpdateRequest(
        .init(intervalMinUnits: 24, intervalMaxUnits: 24, latency: 0, timeoutUnits: 100)))
    #expect(rig.isServing)
    #expect(rig.peer.signals == [.init(identifier: 1, signal: Self.notUnderstood)])
    try rig.expectUnharmed()
  }
}
