import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines
@testable import L2CAPMachines

/// Credit-based channels with an end that lies.
@Suite("A host and the channels of a hostile peer")
struct HostileChannelTests {
  private static let psm: UInt16 = 0x0080

  private static func request(
    _ psm: UInt16 = psm, from source: UInt16 = 0x50, mtu: UInt16 = 100, mps: UInt16 = 100,
    credits: UInt16 = 1
  ) -> L2CAPSignal {
    .creditBasedConnectionRequest(
      .init(spsm: psm, source: source, mtu: mtu, mps: mps, initialCredits: credits))
  }

  // MARK: Channels that the peer opens

  private func listening() throws -> ServingWorld {
    let rig = try ServingWorld()
    let token: (RequestToken) -> HostRequest = {
      .publishChannel(psm: Self.psm, requiresEncryption: false, $0)
    }
    #expect(rig.complete(token) == .success(.psm(Self.psm)))
    try rig.intrude()
    return rig
  }

  /// What our host answers to a signal.
  private func answers(_ rig: HostileWorld, to signal: L2CAPSignal) -> [L2CAPSignal] {
    let count = rig.peer.heard.count
    rig.peer.signal(signal, identifier: 7)
    rig.world.run(for: .milliseconds(20))
    return rig.peer.heard.dropFirst(count).compactMap {
      try? L2CAPSignalPDU(decoding: $0.payload[...])
    }.filter { $0.identifier == 7 }.map(\.signal)
  }

  /// The end that our host gave a new channel.
  private func open(
    _ rig: HostileWorld, _ request: L2CAPSignal = request()
  ) throws -> UInt16 {
    guard case .creditBasedConnectionResponse(let response)? = answers(rig, to: request).first,
      response.result == .success
    else {
      Issue.record("not opened: \(rig.peer.signals)")
      throw HostError.invalidResponse
    }
    return response.destination
  }

  static let impossible: [(L2CAPSignal, L2CAPResult)] =
    [22, 0, 1].map { (request(mtu: $0), .unacceptableParameters) }
    + [22, 0, 65_534, 65_535].map { (request(mps: $0), .unacceptableParameters) }
    + [0, 4, 5, 0x3F, 0x80, 0xFFFF].map { (request(from: $0), .invalidSourceCID) }
    + [0, 0x81, 0x100, 0xFFFF].map { (request($0), .spsmNotSupported) }

  @Test("channels are refused with the reason if they are invalid or beyond the bound")
  func opening() throws {
    let rig = try listening()
    rig.forgetEvents()
    for (request, result) in Self.impossible {
      let refusal = L2CAPSignal.creditBasedConnectionResponse(.refusal(result))
      #expect(answers(rig, to: request) == [refusal], "\(request)")
    }
    #expect(rig.count { if case .channelOpened = $0 { true } else { false } } == 0)
    for number in 0..<L2CAPLimits.channels {
      _ = try open(rig, Self.request(from: 0x40 + UInt16(number)))
    }
    let again = L2CAPSignal.creditBasedConnectionResponse(.refusal(.sourceCIDAlreadyAllocated))
    #expect(answers(rig, to: Self.request(from: 0x40)) == [again])
    for number in 0..<100 as Range<UInt16> {
      let answer = answers(rig, to: Self.request(from: 0x60 + number % 0x20))
      #expect(answer == [.creditBasedConnectionResponse(.refusal(.noResources))])
    }
    #expect(rig.count { if case .channelOpened = $0 { true } else { false } } == 16)
    #expect(rig.host.machine.channels.channels.count == L2CAPLimits.channels)
    #expect(rig.isServing)
    try rig.expectUnharmed()
  }

  /// What breaks a channel's rules; given the peer and our host's end of it.
  static let violations: [(String, @Sendable (HostilePeer, UInt16) -> Void)] = [
    ("a unit without length", { $0.frame([], on: $1) }),
    ("a unit with half a length", { $0.frame([1], on: $1) }),
    ("a unit longer than the MTU", { $0.frame([0x9F, 0x0F, 1], on: $1) }),
    ("the longest unit there is", { $0.frame([0xFF, 0xFF, 1], on: $1) }),
    ("more than was announced", { $0.frame([1, 0, 1, 2], on: $1) }),
    (
      "more than was announced, later",
      { peer, cid in
        peer.frame([3, 0, 1], on: cid)
        peer.frame([1, 2, 3], on: cid)
      }
    ),
    ("a frame longer than the MPS", { $0.frame(Array(repeating: 0, count: 1_001), on: $1) }),
    ("a frame that is announced to be", { $0.frame([1, 0, 1], on: $1, length: 0xFFFF) }),
    (
      "credits over the bound",
      {
        $0.signal(.flowControlCredit(source: 0x50, credits: 65_535)); _ = $1
      }
    ),
    (
      "frames without credit",
      { peer, cid in
        for number in 0..<40 {
          peer.frame([5, 0] + Pattern.stream(from: number * 5, count: 5), on: cid)
        }
      }
    ),
  ]

  private func closedWith(_ rig: HostileWorld) -> [HostError?] {
    rig.events.compactMap { event -> HostError?? in
      if case .channelClosed(_, let error) = event { .some(error) } else { nil }
    }
  }

  @Test(
    "channels that break the rules are closed with a reason, and a new one can be opened at once")
  func violations() throws {
    let rig = try listening()
    for answers in [true, false] {
      rig.peer.react = { [weak peer = rig.peer] frame in
        guard answers, let pdu = try? L2CAPSignalPDU(decoding: frame.payload[...]),
          case .disconnectionRequest(let destination, let source) = pdu.signal
        else { return }
        peer?.signal(
          .disconnectionResponse(destination: destination, source: source),
          identifier: pdu.identifier)
      }
      for (sentence, violation) in Self.violations {
        let cid = try open(rig)
        rig.forgetEvents()
        violation(rig.peer, cid)
        rig.world.run(for: .seconds(1))
        #expect(closedWith(rig) == [.invalidResponse], "\(sentence)")
        let goodbye = L2CAPSignal.disconnectionRequest(destination: 0x50, source: cid)
        #expect(rig.peer.signals.count { $0.signal == goodbye } == 1, "\(sentence)")
        #expect(rig.host.machine.channels.channels.isEmpty)
        #expect((rig.link?.l2cap.channels.count ?? 0) <= L2CAPLimits.channels)
        rig.peer.forgetHeard()
        if !answers { rig.world.run(for: .seconds(31)) }
        #expect(rig.link?.l2cap.channels.count == 0, "\(sentence)")
        #expect(rig.link?.l2cap.pending.count == 0, "\(sentence)")
      }
    }
    #expect(rig.isServing)
    try rig.expectUnharmed()
  }

  @Test("channels that are opened and broken without end stay within their bound for 30 s")
  func brokenStorm() throws {
    let rig = try listening()
    rig.forgetEvents()
    var openCount = 0
    for _ in 0..<500 {
      guard
        case .creditBasedConnectionResponse(let response)? = answers(rig, to: Self.request()).first
      else { continue }
      guard response.result == .success else { continue }
      openCount += 1
      rig.peer.frame([], on: response.destination)
      rig.world.run(for: .milliseconds(1))
      #expect((rig.link?.l2cap.channels.count ?? 0) <= L2CAPLimits.channels)
      #expect((rig.link?.l2cap.pending.count ?? 0) <= L2CAPLimits.channels + 1)
    }
    #expect(openCount == 1, "an end that was not given back is not given out again")
    rig.world.run(for: .seconds(31))
    _ = try open(rig)
    try rig.expectUnharmed()
  }

  @Test("channels that get senseless signals stay open and usable")
  func senselessWords() throws {
    let rig = try listening()
    let cid = try open(rig, Self.request(credits: 0))
    rig.forgetEvents()
    for signal: L2CAPSignal in [
      .flowControlCredit(source: 0x50, credits: 0), .flowControlCredit(source: 0x51, credits: 9),
      .flowControlCredit(source: cid, credits: 9),
      .disconnectionResponse(destination: 0x50, source: cid),
      .disconnectionRequest(destination: cid, source: 0x51),
      .disconnectionRequest(destination: 0x50, source: cid),
      .reconfigureRequest(mtu: 64, mps: 64, sources: [0x50]),
    ] { _ = answers(rig, to: signal) }
    // Empty units use no memory.
    for _ in 0..<1_000 { rig.peer.frame([0, 0], on: cid) }
    rig.world.run(for: .seconds(1))
    rig.peer.frame([4, 0] + Pattern.stream(from: 0, count: 4), on: cid)
    rig.world.run(for: .seconds(1))
    let told = rig.events.compactMap { event -> Int? in
      if case .channelReceived(_, let bytes) = event { bytes.count } else { nil }
    }
    #expect(told == [4])
    #expect(closedWith(rig) == [])
    #expect(
      answers(rig, to: .disconnectionRequest(destination: cid, source: 0x50))
        == [.disconnectionResponse(destination: cid, source: 0x50)])
    #expect(closedWith(rig) == [.disconnected(HCIStatus(rawValue: 0x13))])
    try rig.expectUnharmed()
  }

  // MARK: Several channels at once

  private static func several(
    mtu: UInt16 = 100, mps: UInt16 = 100, credits: UInt16 = 1, from sources: [UInt16]
  ) -> L2CAPSignal {
    .enhancedConnectionRequest(
      .init(spsm: psm, mtu: mtu, mps: mps, initialCredits: credits, sources: sources))
  }

  /// Requests with the result and how many channels open.
  static let severals: [(L2CAPSignal, L2CAPResult, Int)] = [
    (several(mtu: 63, from: [0x50]), .unacceptableParameters, 0),
    (several(mps: 63, from: [0x50]), .unacceptableParameters, 0),
    (several(credits: 0, from: [0x50]), .unacceptableParameters, 0),
    (several(from: [0, 0x3F, 0x80, 0xFFFF]), .invalidSourceCID, 0),
    (several(from: [0x50, 0x50, 0x50]), .sourceCIDAlreadyAllocated, 1),
    (several(from: [0x50, 0x51, 0x3F]), .invalidSourceCID, 2),
  ]

  @Test("channels requested several at once are opened if valid, each end once")
  func enhanced() throws {
    let rig = try listening()
    for (request, result, openCount) in Self.severals {
      guard case .enhancedConnectionResponse(let response)? = answers(rig, to: request).first else {
        Issue.record("not answered: \(request)")
        continue
      }
      #expect(response.result == result, "\(request)")
      let ends = response.destinations.filter { $0 != 0 }
      #expect(ends.count == openCount, "\(request)")
      #expect(rig.host.machine.channels.channels.count == openCount)
      for signal: L2CAPSignal in [
        .reconfigureRequest(mtu: 99, mps: 100, sources: [0x50]),
        .reconfigureRequest(mtu: 100, mps: 63, sources: [0x50]),
        .reconfigureRequest(mtu: 100, mps: 100, sources: [0x50, 0x7F]),
        .reconfigureRequest(mtu: 100, mps: 100, sources: []),
      ] {
        guard case .reconfigureResponse(let result)? = answers(rig, to: signal).first else {
          Issue.record("not answered: \(signal)")
          continue
        }
        #expect(result != .success)
      }
      for (number, end) in ends.enumerated() {
        let goodbye = L2CAPSignal.disconnectionRequest(
          destination: end, source: 0x50 + UInt16(number))
        #expect(answers(rig, to: goodbye).count == 1)
      }
      #expect(rig.host.machine.channels.channels.isEmpty)
    }
    #expect(rig.isServing)
    try rig.expectUnharmed()
  }

  // MARK: Channels that our host opens

  private static func accepting(
    _ destination: UInt16 = 0x60, mtu: UInt16 = 100, mps: UInt16 = 100, credits: UInt16 = 1,
    result: UInt16 = 0
  ) -> L2CAPSignal {
    .creditBasedConnectionResponse(
      .init(
        destination: destination, mtu: mtu, mps: mps, initialCredits: credits,
        result: L2CAPResult(rawValue: result)))
  }

  static let answers: [(String, [L2CAPSignal], HostError?)] = [
    ("a CID below the dynamic ones", [accepting(0x3F)], .invalidResponse),
    ("a CID above them", [accepting(0x80)], .invalidResponse),
    ("no CID", [accepting(0)], .invalidResponse),
    ("an MTU too short", [accepting(mtu: 22)], .invalidResponse),
    ("an MPS too short", [accepting(mps: 0)], .invalidResponse),
    ("an MPS too long", [accepting(mps: 65_535)], .invalidResponse),
    ("a refusal", [accepting(result: 2)], .channelRefused(2)),
    ("a refusal that nobody knows", [accepting(result: 0xBEEF)], .channelRefused(0xBEEF)),
    (
      "a rejection", [.commandReject(.commandNotUnderstood)],
      .unsupported("The peer does not know this L2CAP command.")
    ),
    ("nothing", [], .invalidResponse),
    (
      "the answer to another question", [.disconnectionResponse(destination: 0x60, source: 0x40)],
      .invalidResponse
    ),
    ("consent, then a refusal", [accepting(), accepting(result: 2)], nil),
    ("consent twice", [accepting(), accepting(0x61)], nil),
    ("a refusal, then consent", [accepting(result: 2), accepting()], .channelRefused(2)),
  ]

  @Test("channels are opened by us or refused with a reason, whatever the peer answers")
  func answering() throws {
    let rig = try HostileWorld()
    for (sentence, answers, error) in Self.answers {
      rig.peer.react = { [weak peer = rig.peer] frame in
        guard let pdu = try? L2CAPSignalPDU(decoding: frame.payload[...]),
          case .creditBasedConnectionRequest = pdu.signal
        else { return }
        for answer in answers { peer?.signal(answer, identifier: pdu.identifier) }
      }
      try rig.meet()
      let reply = rig.complete { .openChannel(rig.peer.address, psm: 0x80, $0) }
      if let error {
        #expect(reply == .failure(error), "\(sentence)")
      } else {
        guard case .success(.channel(let info)) = reply else {
          Issue.record("\(sentence): \(String(describing: reply))")
          continue
        }
        rig.world.run(for: .seconds(1))
        #expect(rig.complete { .sendOnChannel(info.id, [1], $0) } == .success(.done))
      }
      try rig.part()
    }
    try rig.expectUnharmed()
  }

  @Test("channels with one end for two are refused the second time, and the first goes on")
  func sharedEnd() throws {
    let rig = try HostileWorld()
    rig.peer.react = { [weak peer = rig.peer] frame in
      guard let pdu = try? L2CAPSignalPDU(decoding: frame.payload[...]),
        case .creditBasedConnectionRequest = pdu.signal
      else { return }
      peer?.signal(Self.accepting(credits: 9), identifier: pdu.identifier)
    }
    try rig.meet()
    let open: (RequestToken) -> HostRequest = { .openChannel(rig.peer.address, psm: 0x80, $0) }
    guard case .success(.channel(let info)) = rig.complete(open) else {
      Issue.record("not opened")
      return
    }
    #expect(rig.complete(open) == .failure(.invalidResponse))
    #expect(rig.complete { .sendOnChannel(info.id, [1, 2], $0) } == .success(.done))
    rig.world.run(for: .milliseconds(100))
    #expect(rig.peer.heard.last == .init(channel: 0x60, payload: [2, 0, 1, 2]))
    try rig.expectUnharmed()
  }

  @Test("channels without credit make sends wait in bounded memory, and fail with the reason")
  func noCredit() throws {
    let rig = try HostileWorld()
    rig.peer.react = { [weak peer = rig.peer] frame in
      guard let pdu = try? L2CAPSignalPDU(decoding: frame.payload[...]),
        case .creditBasedConnectionRequest = pdu.signal
      else { return }
      peer?.signal(Self.accepting(mtu: 23, mps: 23, credits: 0), identifier: pdu.identifier)
    }
    try rig.meet()
    let reply = rig.complete { .openChannel(rig.peer.address, psm: 0x80, $0) }
    guard case .success(.channel(let info)) = reply else {
      Issue.record("not opened")
      return
    }
    let block = [UInt8](repeating: 7, count: 100_000)
    let tokens = (0..<50).map { _ in rig.start { .sendOnChannel(info.id, block, $0) } }
    rig.world.run(for: .seconds(60))
    let waiting = try #require(rig.link?.l2cap.channels.first?.waitingBytes)
    #expect(waiting <= L2CAPLimits.waitingSendBytes)
    let full = Result<HostReply, HostError>.failure(.limitReached("bytes waiting on a channel"))
    let room = L2CAPLimits.waitingSendBytes / block.count
    #expect(tokens.map { rig.result(of: $0) } == tokens.indices.map { $0 < room ? nil : full })
    // A credit now and then: a frame for each, and no more.
    for count in 1...3 {
      rig.peer.forgetHeard()
      rig.peer.signal(.flowControlCredit(source: 0x60, credits: UInt16(count)))
      rig.world.run(for: .seconds(1))
      #expect(rig.peer.heard.count == count)
    }
    rig.send(.disconnect(rig.peer.address))
    rig.world.run(for: .seconds(5))
    for token in tokens.prefix(room) {
      guard case .failure? = rig.result(of: token) else {
        Issue.record("a send without credit: \(String(describing: rig.result(of: token)))")
        continue
      }
    }
    try rig.expectUnharmed()
  }

  @Test("channels that the peer doesn't disconnect are closed for our client after 30 s")
  func unansweredClose() throws {
    let rig = try HostileWorld()
    rig.peer.react = { [weak peer = rig.peer] frame in
      guard let pdu = try? L2CAPSignalPDU(decoding: frame.payload[...]) else { return }
      switch pdu.signal {
      case .creditBasedConnectionRequest:
        peer?.signal(Self.accepting(), identifier: pdu.identifier)
      case .disconnectionRequest(let destination, let source):
        // Every answer but the right one.
        peer?.signal(
          .disconnectionResponse(destination: source, source: destination),
          identifier: pdu.identifier)
        peer?.signal(
          .disconnectionResponse(destination: destination, source: source),
          identifier: pdu.identifier &+ 1)
      default: break
      }
    }
    try rig.meet()
    let reply = rig.complete { .openChannel(rig.peer.address, psm: 0x80, $0) }
    guard case .success(.channel(let info)) = reply else {
      Issue.record("not opened")
      return
    }
    rig.forgetEvents()
    let start = rig.world.now
    rig.send(.closeChannel(info.id))
    #expect(rig.wait { if case .channelClosed(info.id, nil) = $0 { true } else { false } })
    #expect((29...31).contains((rig.world.now - start).seconds))
    try rig.expectUnharmed()
  }
}
