import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines
@testable import GATTMachines

/// A central that abuses what our host serves.
@Suite("A host that serves and a hostile central")
struct HostileCentralTests {
  /// Sentences about one PDU and its only answer; empty for none. `R` is replaced by the register's
  /// handle, `C` by its configuration's, `Z` by a handle that isn't there.
  static let requests: [(String, String, String)] = [
    ("an unknown request is refused", "0000", "01 00 0000 06"),
    ("an unknown command is ignored", "7f 00", ""),
    ("a confirmation of nothing is ignored", "1e", ""),
    ("a confirmation with a tail is ignored", "1e 00", ""),
    ("an empty PDU is ignored", "", ""),
    ("an answer to nothing is ignored", "0b 41", ""),
    ("an error about nothing is ignored", "01 0a 0300 01", ""),
    ("a value that nobody wants is ignored", "1b 0300 41", ""),
    ("several values that nobody wants are ignored", "23 0300 ffff 41", ""),
    ("an indication is confirmed, whoever wants it", "1d 0300 41", "1e"),
    ("a request cut short is refused", "0a 03", "01 0a 0000 04"),
    ("a request with a tail is refused", "0a 0300 00", "01 0a 0000 04"),
    ("a search from 0 is refused", "04 0000 ffff", "01 04 0000 01"),
    ("a search backwards is refused", "08 0500 0100 0328", "01 08 0500 01"),
    ("a search by a type of 4 bytes is refused", "08 0100 ffff 03280000", "01 08 0000 04"),
    ("a group of what groups nothing is refused", "10 0100 ffff 0328", "01 10 0100 10"),
    ("reading what isn't there is refused", "0a Z", "01 0a Z 01"),
    ("reading what may not be read is refused", "0a 0800", "01 0a 0800 02"),
    ("reading behind the end is refused", "0c 0300 ffff", "01 0c 0300 07"),
    ("reading behind the end of a client's value is refused", "0c R 2d01", "01 0c R 07"),
    ("reading at an offset that no value has is refused", "0c R ffff", "01 0c R 07"),
    ("reading several, one of them not there, is refused", "0e 0300 Z", "01 0e Z 01"),
    ("reading half a handle more is refused", "20 0300 05", "01 20 0000 04"),
    ("writing what isn't there is refused", "12 Z 00", "01 12 Z 01"),
    ("writing a declaration is refused", "12 0100 00", "01 12 0100 03"),
    ("writing a constant is refused", "12 0300 00", "01 12 0300 03"),
    ("half a configuration is refused", "12 C 01", "01 12 C 0d"),
    ("a configuration of three bytes is refused", "12 C 010000", "01 12 C 0d"),
    ("a subscription to what is not sent that way is refused", "12 C 0200", "01 12 C fd"),
    ("executing nothing is done", "18 01", "19"),
    ("cancelling nothing is done", "18 00", "19"),
    ("executing half is refused", "18 02", "01 18 0000 04"),
    ("preparing what isn't there is refused", "16 Z 0000 00", "01 16 Z 01"),
    ("preparing a constant is refused", "16 0300 0000 00", "01 16 0300 03"),
    ("a write without response to a constant is ignored", "52 0300 00", ""),
    ("a signed write is ignored", "d2 R 01" + String(repeating: "00", count: 12), ""),
    ("a signed write without room for a signature is ignored", "d2 R 01", ""),
  ]

  @Test("a host answers each PDU as the specification requires, and keeps its state")
  func requests() throws {
    let rig = try ServingWorld()
    try rig.intrude()
    let handles = [
      "R": rig.registerHandle, "C": rig.registerHandle + 1, "Z": 0x7FFF as UInt16,
    ]
    let inserted = { (text: String) in
      handles.reduce(text) { text, handle in
        text.replacing(
          handle.key,
          with: Hexadecimal.string([UInt8(handle.value & 255), UInt8(handle.value >> 8)]))
      }
    }
    for (sentence, request, answer) in Self.requests {
      let wanted = inserted(answer).replacing(" ", with: "")
      #expect(rig.answer(to: inserted(request)) == wanted, "\(sentence)")
    }
    #expect(rig.isServing)
    #expect(rig.written.isEmpty)
    try rig.expectUnharmed()
  }

  @Test("a request of any bytes gets one answer and anything else none")
  func anyBytes() throws {
    var random = SeededGenerator(seed: 1)
    let rig = try ServingWorld()
    try rig.intrude()
    for opcode in UInt8.min...UInt8.max {
      for count in [0, 1, 2, 4, 6, 7, 20, 22] {
        let pdu = [opcode] + (0..<count).map { _ in UInt8.random(in: 0...40, using: &random) }
        let answers = rig.answers(to: pdu)
        let kind = ATTOpcode(rawValue: opcode)
        let isAsked =
          kind == .handleValueIndication
          ? count >= 2
          : !kind.isCommand && !kind.isForClient
            && kind != .handleValueConfirmation
        #expect(answers.count == (isAsked ? 1 : 0), "\(Hexadecimal.string(pdu))")
        for answer in answers {
          #expect((try? ATTPDU(decoding: answer[...])) != nil, "\(Hexadecimal.string(answer))")
        }
      }
    }
    #expect(rig.isServing)
    try rig.expectUnharmed()
  }

  @Test("a host limits any requested MTU to the valid range, also the second time")
  func mtu() throws {
    let rig = try ServingWorld()
    try rig.intrude()
    for (asked, agreed) in [(0, 23), (22, 23), (0xFFFF, 517), (100, 100), (1, 23)] {
      let request = ATTPDU.exchangeMTURequest(mtu: UInt16(asked)).bytes
      #expect(rig.answers(to: request) == [ATTPDU.exchangeMTUResponse(mtu: 517).bytes])
      #expect(rig.link?.info.mtu == agreed)
      let answer = rig.answers(to: ATTPDU.readRequest(handle: rig.registerHandle).bytes)
      #expect(answer.first?.count == min(agreed, 301))
    }
    // Longer than the agreed MTU allows.
    let long = ATTPDU.writeRequest(
      handle: rig.registerHandle, value: Array(repeating: 0, count: 21)[...])
    #expect(rig.answers(to: long.bytes) == [bytes("01 12 0000 04")])
    #expect(rig.written.isEmpty)
    try rig.expectUnharmed()
  }

  @Test("a host keeps a second request waiting until the first is answered, in time")
  func secondRequest() throws {
    let rig = try ServingWorld()
    try rig.intrude()
    rig.isAnswering = false
    let before = rig.requestCount
    let start = rig.world.now
    for _ in 0..<1_000 { rig.peer.attribute(.readRequest(handle: rig.registerHandle)) }
    #expect(rig.answers(to: bytes("0a 0300")) == [])
    #expect(rig.requestCount == before + 1)
    rig.world.run(until: start + .seconds(31))
    #expect(
      rig.peer.attributes == [
        ATTPDU.errorResponse(
          request: .readRequest, handle: rig.registerHandle, error: .unlikelyError
        ).bytes
      ])
    rig.isAnswering = true
    #expect(rig.isServing)
    try rig.expectUnharmed()
  }

  @Test("a host queues a bounded number of prepared writes, and does all of them or none")
  func preparedWrites() throws {
    let rig = try ServingWorld()
    try rig.intrude()
    let register = rig.registerHandle
    var results: [[UInt8]: Int] = [:]
    for count in 0..<1_000 {
      let write = ATTPDU.prepareWriteRequest(
        handle: register, offset: 0, value: [UInt8(count & 255)])
      for answer in rig.answers(to: write.bytes) {
        results[Array(answer.prefix(1)), default: 0] += 1
      }
      let queued = rig.host.machine.server.sessions.first?.preparedWrites.count ?? 0
      #expect(queued <= GATTLimits.preparedWritesMax)
    }
    #expect(
      results == [
        [0x17]: GATTLimits.preparedWritesMax, [0x01]: 1_000 - GATTLimits.preparedWritesMax,
      ])
    #expect(rig.answer(to: "18 01") == "19")
    #expect(rig.written.count == GATTLimits.preparedWritesMax)
    // As many bytes as there are, each piece as long as it can be.
    _ = rig.answers(to: ATTPDU.exchangeMTURequest(mtu: 517).bytes)
    var taken = 0
    for _ in 0..<20 {
      let write = ATTPDU.prepareWriteRequest(
        handle: register, offset: 0, value: Array(repeating: 1, count: 512)[...])
      if rig.answers(to: write.bytes).first?.first == 0x17 { taken += 512 }
    }
    #expect(taken == GATTLimits.preparedByteCountMax)
    #expect(rig.answer(to: "18 00") == "19")
    #expect(rig.written.count == GATTLimits.preparedWritesMax)
    // Pieces of several values, one of them with a hole: nothing of it is done.
    let configuration = register + 1
    for (handle, offset) in [(register, 0), (configuration, 0), (configuration, 9)] {
      let write = ATTPDU.prepareWriteRequest(handle: handle, offset: UInt16(offset), value: [1])
      #expect(rig.answers(to: write.bytes).first?.first == 0x17)
    }
    #expect(rig.answers(to: bytes("18 01")).first?.first == 0x01)
    #expect(rig.written.count == GATTLimits.preparedWritesMax)
    try rig.expectUnharmed()
  }

  @Test("a central can't end another's subscription, and its own is as it was written last")
  func subscriptions() throws {
    let rig = try ServingWorld()
    let register = rig.registerHandle
    try rig.phone.meet(rig.address)
    let target = SubscriptionTarget(
      valueHandle: register, configurationHandle: register + 1, usesIndications: false)
    #expect(rig.phone.complete { .subscribe(rig.address, target, $0) } == .success(.done))
    try rig.intrude()
    rig.forgetEvents()
    for count in 0..<2_000 {
      rig.peer.attribute(
        .writeRequest(handle: register + 1, value: count.isMultiple(of: 2) ? [1, 0] : [0, 0]))
    }
    rig.world.run(for: .seconds(5))
    let told = rig.events.compactMap { event -> Bool? in
      switch event {
      case .subscribed(rig.peer.address, register): true
      case .unsubscribed(rig.peer.address, register): false
      case .subscribed, .unsubscribed: nil
      default: nil
      }
    }
    #expect(told == (0..<2_000).map { $0.isMultiple(of: 2) })
    rig.peer.forgetHeard()
    rig.phone.forgetEvents()
    let update = rig.complete { .updateValue(handle: register, [9], peers: nil, $0) }
    #expect(update == .success(.done))
    #expect(rig.phone.wait { if case .valueUpdated(_, register, [9]) = $0 { true } else { false } })
    #expect(rig.peer.heard.isEmpty)
    try rig.phone.part(rig.address)
    try rig.expectUnharmed()
  }

  @Test("a central that doesn't confirm is left after 30 s, and others get their values meanwhile")
  func unconfirmed() throws {
    let rig = try ServingWorld()
    let handle = rig.indicatedHandle
    try rig.phone.meet(rig.address)
    let target = SubscriptionTarget(
      valueHandle: handle, configurationHandle: handle + 1, usesIndications: true)
    #expect(rig.phone.complete { .subscribe(rig.address, target, $0) } == .success(.done))
    try rig.intrude()
    let configuration = ATTPDU.writeRequest(handle: handle + 1, value: [2, 0])
    #expect(rig.answers(to: configuration.bytes) == [[0x13]])
    let start = rig.world.now
    let asked = GATTLimits.waitingIndicationsMax + 40
    let tokens = (0..<asked).map { number in
      rig.start {
        .updateValue(handle: handle, [UInt8(truncatingIfNeeded: number)], peers: nil, $0)
      }
    }
    #expect(
      (rig.host.machine.server.sessions.map(\.waitingIndications.count).max() ?? 0)
        <= GATTLimits.waitingIndicationsMax)
    rig.world.run(for: .seconds(20))
    #expect(rig.isServing, "it owes a confirmation, and may ask all the same")
    let heard = rig.phone.count { if case .valueUpdated(_, handle, _) = $0 { true } else { false } }
    // One under way and the queue; the others were refused to the client, which may try again.
    let waited = GATTLimits.waitingIndicationsMax + 1
    try #require(heard == waited)
    #expect(rig.endOfLink() == .attTimeout)
    #expect((30...33).contains((rig.world.now - start).seconds))
    let limit = HostError.limitReached("waiting indications")
    #expect(
      tokens.map { rig.result(of: $0) }
        == Array(repeating: .failure(.attTimeout), count: waited)
        + Array(repeating: .failure(limit), count: asked - waited))
    try rig.phone.part(rig.address)
    try rig.expectUnharmed()
  }

  @Test("a central may come and go as often as it likes, with requests half done")
  func comingAndGoing() throws {
    let rig = try ServingWorld()
    rig.isAnswering = false
    for _ in 0..<100 {
      try rig.intrude()
      rig.peer.attribute(.writeRequest(handle: rig.registerHandle + 1, value: [1, 0]))
      rig.peer.attribute(.prepareWriteRequest(handle: rig.registerHandle, offset: 0, value: [1]))
      rig.peer.attribute(.readRequest(handle: rig.registerHandle))
      rig.peer.raw([0xFF, 0x00, 4, 0, 1])
      rig.world.run(for: .milliseconds(10))
      #expect(rig.host.machine.server.sessions.count == 1)
      rig.peer.disconnect()
      try #require(rig.wait { if case .linkClosed = $0 { true } else { false } })
      rig.world.run(for: .milliseconds(100))
    }
    #expect(rig.host.machine.server.sessions.isEmpty)
    try rig.expectUnharmed()
  }
}
