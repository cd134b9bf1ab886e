import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@testable import PortSharing

@Suite("Messages between an owner and its clients")
struct MessageTests {
  /// What a reader makes of bytes that arrive in these pieces.
  private static func read<Message: PortSharingMessage>(
    _ pieces: some Sequence<some Collection<UInt8>>, as type: Message.Type
  ) throws -> [Message] {
    var reader = FrameReader()
    var messages: [Message] = []
    for piece in pieces {
      reader.append(piece)
      while let message = try reader.next(Message.self) { messages.append(message) }
    }
    return messages
  }

  private static func check<Message: PortSharingMessage>(_ messages: [Message]) throws {
    let frames = try messages.map { try #require($0.frame) }
    let glued = frames.flatMap { $0 }
    #expect(try read(frames, as: Message.self) == messages)
    #expect(try read([glued], as: Message.self) == messages)
    #expect(try read(glued.map { [$0] }, as: Message.self) == messages)
  }

  @Test("every message comes back as it was, whole, glued and byte by byte")
  func roundTrip() throws {
    try Self.check(Sample.clientMessages())
    try Self.check(Sample.ownerMessages())
  }

  private func expectTruncated(
    sourceLocation: SourceLocation = #_sourceLocation, _ read: () throws -> Void
  ) {
    #expect(sourceLocation: sourceLocation) {
      try read()
    } throws: { error in
      if case PortSharingError.truncated = error { true } else { false }
    }
  }

  @Test("a message that is cut short, or followed by other bytes, is refused")
  func cut() throws {
    for message in try Sample.clientMessages() {
      let body = try #require(message.frame).dropFirst(4)
      for count in 0..<body.count {
        expectTruncated { _ = try ClientMessage(decoding: body.prefix(count)) }
      }
      #expect(throws: PortSharingError.bytesLeft(1)) { try ClientMessage(decoding: body + [0]) }
    }
    for message in try Sample.ownerMessages() {
      let body = try #require(message.frame).dropFirst(4)
      for count in 0..<body.count {
        expectTruncated { _ = try OwnerMessage(decoding: body.prefix(count)) }
      }
      #expect(throws: PortSharingError.bytesLeft(1)) { try OwnerMessage(decoding: body + [0]) }
    }
  }

  @Test("a message with changed bytes is read or refused, and a read one can be written")
  func mutated() throws {
    var rng = SeededGenerator(seed: 5)
    func mutate<Message: PortSharingMessage>(_ messages: [Message]) throws {
      for _ in 0..<5_000 {
        let index = Int(rng.next(upperBound: UInt64(messages.count)))
        var body = Array(try #require(messages[index].frame).dropFirst(4))
        for _ in 0..<3 {
          let position = Int(rng.next(upperBound: UInt64(body.count)))
          body[position] = UInt8(truncatingIfNeeded: rng.next())
        }
        guard let message = try? Message(decoding: body[...]) else { continue }
        #expect(message.frame != nil)
      }
    }
    try mutate(Sample.clientMessages())
    try mutate(Sample.ownerMessages())
  }

  @Test("G12: a length that no message has is refused before anything is kept for it")
  func tooLong() throws {
    var reader = FrameReader()
    reader.append([0xFF, 0xFF, 0xFF, 0x7F])
    #expect(throws: PortSharingError.messageTooLong(byteCount: 0x7FFF_FFFF)) {
      try reader.next(ClientMessage.self)
    }
    reader = FrameReader()
    reader.append([1, 0, 2, 0])
    #expect(throws: PortSharingError.messageTooLong(byteCount: 0x2_0001)) {
      try reader.next(OwnerMessage.self)
    }
  }

  @Test("the longest TXT record fits, that of a service is bounded, and longer ones have no frame")
  func longest() throws {
    let strings = Array(repeating: [UInt8](repeating: 65, count: 255), count: 255)
    let text = try TXTRecord(strings: strings)
    let id = RegistrationID(rawValue: 1)
    let single = ClientMessage.request(.updateRecord(id, .txt(text), ttlSeconds: 1))
    try Self.check([single])
    let update = try #require(ClientMessage.request(.updateText(id, text)).frame)
    #expect(throws: PortSharingError.invalid(.messageTooLong(byteCountMax: 8_192))) {
      try ClientMessage(decoding: update.dropFirst(4))
    }
    let subtypes = try (0..<10_000).map { try DNSLabel(text: "_subtype-\($0)") }
    let service = try ServiceRegistration(Sample.name("Lamp"), subtypes: subtypes, port: 1)
    #expect(ClientMessage.request(.registerService(id, service)).frame == nil)
  }

  @Test("G12: no memory of a long message is left between messages")
  func memory() throws {
    let text = try TXTRecord(
      strings: Array(repeating: [UInt8](repeating: 65, count: 255), count: 30))
    let long = ClientMessage.request(.updateText(RegistrationID(rawValue: 1), text))
    let frame = try #require(long.frame)
    var reader = FrameReader()
    for next in [[], try #require(ClientMessage.ping.frame).prefix(3)] as [ArraySlice<UInt8>] {
      for piece in [frame[...], next] {
        reader.append(piece)
        while try reader.next(ClientMessage.self) != nil {}
      }
      #expect(reader.byteCount == next.count && reader.capacity < 4_096)
    }
  }

  @Test("a long stream is decoded without keeping decoded bytes")
  func stream() throws {
    var reader = FrameReader()
    let frame = try #require(ClientMessage.ping.frame)
    for _ in 0..<10_000 {
      reader.append(frame + frame.prefix(2))
      #expect(try reader.next(ClientMessage.self) == .ping)
      reader.append(frame.dropFirst(2))
      #expect(try reader.next(ClientMessage.self) == .ping)
    }
    #expect(reader.byteCount == 0)
    #expect(try reader.next(ClientMessage.self) == nil)
  }
}
