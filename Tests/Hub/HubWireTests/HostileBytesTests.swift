import BluetoothInterface
import Essentials
import Testing

@testable import HubWire

@Suite("Hostile bytes between apps and the hub")
struct HostileBytesTests {
  private static func expectTruncated<Message: HubWireMessage>(_ messages: [Message]) throws {
    for message in messages {
      let body = try message.body
      for count in 0..<body.count {
        #expect("\(count) bytes of \(message)") {
          _ = try Message.decode(body.prefix(count))
        } throws: { error in
          if case HubWireError.truncated = error { true } else { false }
        }
      }
    }
  }

  @Test("a message that is cut at any byte is refused as truncated")
  func cut() throws {
    var sampler = Sampler(seed: 1)
    try Self.expectTruncated(sampler.appMessages())
    let single = sampler.hubMessages().filter {
      if case .events(_, let events) = $0 { events.count == 1 } else { true }
    }
    for message in single {
      guard case .events(let session, _) = message else {
        try Self.expectTruncated([message.withoutAdditions])
        continue
      }
      // Without an event, a message of events is complete.
      let body = try message.body
      let empty = try HubMessage.events(session, HubEvents([])).body.count
      for count in 0..<body.count where count != empty {
        #expect("\(count) bytes of \(message)") {
          _ = try HubMessage.decode(body.prefix(count))
        } throws: { error in
          if case HubWireError.truncated = error { true } else { false }
        }
      }
    }
  }

  @Test("a message with changed bytes is read or refused, and a read one can be written again")
  func mutated() throws {
    func mutate<Message: HubWireMessage>(_ messages: [Message], _ sampler: inout Sampler) throws {
      let bodies = try messages.map { Array(try $0.body) }
      for _ in 0..<5_000 {
        var body = sampler.element(of: bodies)
        for _ in 0...sampler.below(3) {
          body[sampler.below(body.count)] = sampler.number()
        }
        guard let message = try? Message.decode(body[...]) else { continue }
        let again = try #require(try Message.decode(try message.body), "\(body)")
        guard !message.hasUnknownEvents else { continue }
        #expect(again == message, "\(body)")
      }
    }
    for seed in 1...4 as ClosedRange<UInt64> {
      var sampler = Sampler(seed: seed)
      try mutate(sampler.appMessages(), &sampler)
      try mutate(sampler.hubMessages(), &sampler)
    }
  }

  @Test("noise is read or refused")
  func noise() {
    var sampler = Sampler(seed: 3)
    for _ in 0..<20_000 {
      let body = sampler.bytes()
      _ = try? AppMessage.decode(body[...])
      _ = try? HubMessage.decode(body[...])
      var reader = HubFrameReader()
      reader.append(body)
      while let message = try? reader.next(AppMessage.self) { _ = message }
    }
  }

  @Test(
    "a length that no message has is refused at once, and by every later call",
    arguments: [0, HubProtocol.messageByteCountMax + 1, 0x7FFF_FFFF, 0xFFFF_FFFF])
  func length(_ length: Int) throws {
    var reader = HubFrameReader()
    reader.append((0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) })
    for _ in 0..<2 {
      #expect(throws: HubWireError.invalidLength(length)) { try reader.next(AppMessage.self) }
      reader.append(try AppMessage.ping(1).frame)
    }
    #expect(reader.byteCount == 0 && reader.capacity == 0)
  }

  @Test("the longest greeting fits in the bound that holds before it, and nothing longer does")
  func greeting() throws {
    var reader = HubFrameReader(byteCountMax: HubProtocol.greetingByteCountMax)
    let name = String(repeating: "m", count: HubProtocol.textByteCountMax)
    let openings = (0..<UInt64(HubProtocol.openingCountMax)).map {
      SessionOpening(
        id: HubSessionID(rawValue: .max - $0), acknowledgesEvents: true, manager: name)
    }
    let abilities = HubAbilities(rawValue: .max)
    let greeting = HubGreeting(app: name, abilities: abilities, openings: openings)
    reader.append(try AppMessage.greeting(greeting).frame)
    #expect(try reader.next(AppMessage.self) == .greeting(greeting))
    reader.append(frame([UInt8](repeating: 0x10, count: HubProtocol.greetingByteCountMax + 1)))
    #expect(throws: HubWireError.invalidLength(HubProtocol.greetingByteCountMax + 1)) {
      try reader.next(AppMessage.self)
    }
  }

  @Test("a length costs no memory before its bytes arrive, and none is left after them")
  func memory() throws {
    var reader = HubFrameReader()
    let long = frame([UInt8](repeating: 0x10, count: HubProtocol.messageByteCountMax))
    for count in [3, 4, 1_000, 100_000] {
      reader.append(long[reader.byteCount..<count])
      #expect(try reader.next(AppMessage.self) == nil)
      #expect(reader.byteCount == count && reader.capacity <= 2 * count + 64)
    }
    reader.append(long[reader.byteCount...])
    #expect(try reader.next(AppMessage.self) == nil)
    // A message of an unknown kind, which was skipped.
    #expect(reader.skippedCount == 1 && reader.byteCount == 0 && reader.capacity == 0)
  }

  @Test("a count that promises more elements than there are bytes is refused, and costs nothing")
  func counts() throws {
    // gatt, readMultiple, 65,536 handles.
    let prefix: [UInt8] = [0x91, 1, 0xB0, 1] + [UInt8](repeating: 0, count: 7) + [7]
    #expect {
      try AppMessage.decode((prefix + [0x80, 0x80, 0x04])[...])
    } throws: { error in
      if case HubWireError.truncated = error { true } else { false }
    }
    #expect(throws: HubWireError.tooMany(count: 65_537, max: 65_536)) {
      try AppMessage.decode((prefix + [0x81, 0x80, 0x04])[...])
    }
  }

  @Test("a message has at most 4,096 events")
  func eventCount() throws {
    let event: [UInt8] = [1, 0, 0, RadioEventNumber.acknowledgementRequested.rawValue]
    func message(_ count: Int) -> [UInt8] {
      [0x90, 1] + [[UInt8]](repeating: event, count: count).flatMap { $0 }
    }
    guard case .events(_, let events)? = try HubMessage.decode(message(4_096)[...]) else {
      Issue.record("no events")
      return
    }
    #expect(events.count == 4_096)
    #expect(throws: HubWireError.tooMany(count: 4_097, max: 4_096)) {
      try HubMessage.decode(message(4_097)[...])
    }
  }

  @Test("a greeting opens at most 64 sessions")
  func openingCount() throws {
    let opening = SessionOpening(id: HubSessionID(rawValue: 1), acknowledgesEvents: true)
    let greeting = HubGreeting(
      app: "", abilities: [], openings: [SessionOpening](repeating: opening, count: 65))
    #expect(throws: HubWireError.tooMany(count: 65, max: 64)) {
      try AppMessage.greeting(greeting).frame
    }
  }

  @Test(
    "a number that isn't written in the fewest bytes, or has more than 64 bits, is refused",
    arguments: [
      [0x80, 0x00], [0xFF, 0x80, 0x00], [UInt8](repeating: 0xFF, count: 9) + [0x02],
      [UInt8](repeating: 0x80, count: 10), [UInt8](repeating: 0xFF, count: 11),
    ] as [[UInt8]])
  func compactNumbers(_ bytes: [UInt8]) {
    #expect(throws: HubWireError.invalidNumber) { try AppMessage.decode(([0x02] + bytes)[...]) }
  }

  @Test("numbers take a byte for each seven bits, up to ten for 64 bits")
  func widths() throws {
    for bits in 0..<64 {
      let number = UInt64(1) << UInt64(bits)
      let body = Array(try AppMessage.ping(number).body)
      #expect(body.count == 1 + bits / 7 + 1)
      #expect(try AppMessage.decode(body[...]) == .ping(number))
    }
    #expect(try AppMessage.ping(.max).body.count == 11)
  }

  @Test func `A refusal of bytes has words, and no names of types`() {
    let errors: [HubWireError] = [
      .truncated(needed: 2, available: 1), .invalidLength(0), .tooMany(count: 9, max: 8),
      .invalidValue(of: "ClosedRange", number: 2), .invalidNumber, .notUTF8,
      .unknownNumber(of: "HostEvent", number: 9), .notUnderstood(of: "AppMessage", number: 213),
    ]
    for error in errors {
      let text = HubRefusal(error).text
      #expect(!text.contains("(of") && !text.contains("(needed") && !text.contains("(count"))
      for type in ["ClosedRange", "HostEvent", "AppMessage", "invalid"] {
        #expect(!text.replacing("A message is invalid", with: "").contains(type), "\(text)")
      }
      #expect(text.hasSuffix(".") && !text.hasSuffix(".."))
    }
    #expect(HubRefusal(errors[7]).text.contains("213"))
  }

  @Test("values that no field can have are refused: counts, flags, intervals, texts")
  func values() {
    // eventsHandled of session 1 with 2^31.
    #expect(throws: HubWireError.invalidValue(of: "count", number: 1 << 31)) {
      try AppMessage.decode([0x92, 1, 0x80, 0x80, 0x80, 0x80, 0x08])
    }
    // welcome with neither simulated nor real.
    #expect(throws: HubWireError.invalidValue(of: "Bool", number: 2)) {
      try HubMessage.decode([0x81, 1, 0, 0, 2])
    }
    // A greeting with the versions 2...1.
    #expect(throws: HubWireError.invalidValue(of: "ClosedRange", number: 2)) {
      try AppMessage.decode([0x81, 2, 0, 1, 0, 0, 0, 0])
    }
    // A refusal with a text that is not UTF-8.
    #expect(throws: HubWireError.notUTF8) { try HubMessage.decode([0x82, 2, 1, 0xFF]) }
  }
}

extension HubWireMessage {
  /// Whether it was read with events that can't be written again.
  fileprivate var hasUnknownEvents: Bool {
    if case .events(_, let events)? = self as? HubMessage { !events.unknown.isEmpty } else { false }
  }
}

extension HubMessage {
  /// The message without what a later version has added behind its last field, where one of the first version ends.
  fileprivate var withoutAdditions: HubMessage {
    guard case .status(let number, var status) = self else { return self }
    status.networkPrograms = []
    status.networkProblem = nil
    status.bondFile = nil
    return .status(number, status)
  }
}
