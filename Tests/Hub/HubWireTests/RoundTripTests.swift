import BluetoothInterface
import Essentials
import Testing

@testable import HubWire

@Suite("Messages between apps and the hub, there and back")
struct RoundTripTests {
  /// The messages that a reader makes of bytes that arrive in these pieces.
  private static func read<Message: HubWireMessage>(
    _ pieces: some Sequence<[UInt8]>, as type: Message.Type
  ) throws -> [Message] {
    var reader = HubFrameReader()
    var messages: [Message] = []
    for piece in pieces {
      reader.append(piece)
      while let message = try reader.next(Message.self) { messages.append(message) }
    }
    #expect(reader.byteCount == 0 && reader.skippedCount == 0)
    return messages
  }

  private static func check<Message: HubWireMessage>(_ messages: [Message], seed: UInt64) throws {
    let frames = try messages.map { try $0.frame }
    let glued = frames.flatMap { $0 }
    let whole = try read(frames, as: Message.self)
    for (message, copy) in zip(messages, whole) {
      #expect(copy == message, "seed \(seed)")
    }
    #expect(whole.count == messages.count, "seed \(seed)")
    #expect(try read([glued], as: Message.self) == messages, "seed \(seed)")
    #expect(try read(glued.map { [$0] }, as: Message.self) == messages, "seed \(seed)")
  }

  @Test("every message with every request comes back as it was: whole, glued and byte by byte")
  func appMessages() throws {
    for seed in 1...30 as ClosedRange<UInt64> {
      var sampler = Sampler(seed: seed)
      try Self.check(sampler.appMessages(), seed: seed)
    }
  }

  @Test("every message with every event comes back as it was: whole, glued and byte by byte")
  func hubMessages() throws {
    for seed in 1...30 as ClosedRange<UInt64> {
      var sampler = Sampler(seed: seed)
      try Self.check(sampler.hubMessages(), seed: seed)
    }
  }

  @Test("pieces of random size make the same messages")
  func pieces() throws {
    for seed in 1...50 as ClosedRange<UInt64> {
      var sampler = Sampler(seed: seed)
      let messages = sampler.hubMessages()
      var rest = try messages.flatMap { try $0.frame }[...]
      var pieces: [[UInt8]] = []
      while !rest.isEmpty {
        pieces.append(Array(rest.prefix(1 + sampler.below(300))))
        rest = rest.dropFirst(pieces[pieces.count - 1].count)
      }
      #expect(try Self.read(pieces, as: HubMessage.self) == messages, "seed \(seed)")
    }
  }

  @Test("a length whose first bytes are zero isn't read before all four have arrived")
  func zeroInLength() throws {
    var reader = HubFrameReader()
    var messages: [AppMessage] = []
    // Messages of an unknown kind, which are skipped.
    let skipped = [256, 65_536].map { frame([UInt8](repeating: 0x10, count: $0)) }
    for byte in try skipped.joined() + AppMessage.ping(1).frame {
      reader.append([byte])
      while let message = try reader.next(AppMessage.self) { messages.append(message) }
    }
    #expect(messages == [.ping(1)] && reader.skippedCount == 2)
  }

  @Test("events are split into as many messages as they need, and none is lost or moved")
  func split() throws {
    let session = HubSessionID(rawValue: 3)
    var sampler = Sampler(seed: 1)
    let small = [HostEvent](
      repeating: .acknowledgementRequested, count: HubProtocol.eventCountMax + 1)
    let value = [UInt8](repeating: 7, count: HubProtocol.messageByteCountMax / 3)
    let large = (0..<7 as Range<UInt16>).map {
      HostEvent.valueUpdated(sampler.address(), handle: $0, value[...])
    }
    let cases: [(events: [HostEvent], messageCount: Int)] = [
      (small, 2), (large, 4), (small + large, 5), ([], 0),
    ]
    for (events, messageCount) in cases {
      var writer = HubFrameWriter()
      try writer.append(events, of: session)
      let messages = try Self.read([writer.takeBytes()], as: HubMessage.self)
      let arrived = messages.flatMap { message -> [HostEvent] in
        guard case .events(session, let part) = message else { return [] }
        return part.events
      }
      #expect(arrived == events)
      #expect(messages.count == messageCount)
    }
  }

  @Test("an event that fits in no message is refused, and those before it are sent")
  func tooLarge() throws {
    let value = [UInt8](repeating: 7, count: HubProtocol.messageByteCountMax)
    let events: [HostEvent] = [
      .acknowledgementRequested, .channelReceived(ChannelID(rawValue: 1), value[...]),
    ]
    var writer = HubFrameWriter()
    #expect {
      try writer.append(events, of: HubSessionID(rawValue: 1))
    } throws: { error in
      if case HubWireError.invalidLength = error { true } else { false }
    }
    let sent = try Self.read([writer.bytes], as: HubMessage.self)
    #expect(sent == [.events(HubSessionID(rawValue: 1), HubEvents([.acknowledgementRequested]))])
  }

  @Test("a message that can't be written leaves nothing behind")
  func rollback() throws {
    var writer = HubFrameWriter()
    try writer.append(AppMessage.ping(1))
    let before = writer.bytes
    let handles = [UInt16](repeating: 1, count: HubProtocol.listCountMax + 1)
    let peer = DeviceAddressSample.one
    let token = RequestToken(rawValue: 1)
    #expect(
      throws: HubWireError.tooMany(
        count: UInt64(handles.count), max: HubProtocol.listCountMax)
    ) {
      try writer.append(
        AppMessage.request(
          HubSessionID(rawValue: 1), .known(.gatt(peer, .readMultiple(handles), token))))
    }
    #expect(writer.bytes == before)
  }

  @Test("a text that is too long is cut between two characters")
  func longText() throws {
    let text = String(repeating: "ü", count: HubProtocol.textByteCountMax)
    let bytes = try HubMessage.refusal(HubRefusal(.denied, text)).frame
    let cut = String(repeating: "ü", count: HubProtocol.textByteCountMax / 2)
    #expect(
      try Self.read([bytes], as: HubMessage.self) == [.refusal(HubRefusal(.denied, cut))])
  }

  @Test("a name of an app or manager is refused when it is too long, and the longest is sent")
  func longName() throws {
    let max = HubProtocol.textByteCountMax
    let session = HubSessionID(rawValue: 1)
    func messages(_ name: String) -> [AppMessage] {
      let opening = SessionOpening(id: session, acknowledgesEvents: true, manager: name)
      return [
        .greeting(HubGreeting(app: name, abilities: [])),
        .greeting(HubGreeting(app: "", abilities: [], openings: [opening])),
        .openSession(opening),
      ]
    }
    // Two bytes a character, so that the number of characters is below the maximum.
    let longest = String(repeating: "ü", count: max / 2)
    let all = messages(longest)
    #expect(try Self.read(all.map { try $0.frame }, as: AppMessage.self) == all)
    for message in messages(longest + "a") {
      #expect(throws: HubWireError.tooMany(count: UInt64(max) + 1, max: max)) {
        try message.frame
      }
    }
  }

  @Test("a received value shares the storage of its message")
  func sharing() throws {
    let value = [UInt8](repeating: 9, count: 100)
    let event = HostEvent.channelReceived(ChannelID(rawValue: 1), value[...])
    let frame = try HubMessage.events(HubSessionID(rawValue: 1), HubEvents([event])).frame
    let message = try #require(try HubMessage.decode(frame[4...]))
    guard case .events(_, let events) = message,
      case .channelReceived(_, let received)? = events.events.first
    else {
      Issue.record("\(message)")
      return
    }
    // An index of the message's bytes, not one of a copy.
    #expect(received.endIndex == frame.count && received == value[...])
  }
}
