import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import HubWire

@Suite("A library and a hub of different versions")
struct OtherVersionTests {
  private let session = HubSessionID(rawValue: 2)
  private let token = RequestToken(rawValue: 300)
  /// The session and the token as bytes.
  private static let encodedSession: [UInt8] = [2]
  private static let encodedToken: [UInt8] = [0xAC, 0x02]
  private static let encodedPeer: [UInt8] = [0, 1, 2, 3, 4, 5, 6]
  private let peer = DeviceAddress(bits: 0x0605_0403_0201, kind: .public)

  /// Events of a session as bytes, each with its length.
  private func events(_ events: [[UInt8]]) throws -> HubEvents {
    let head: [UInt8] = [0x90] + Self.encodedSession
    let body = events.reduce(into: head) { bytes, event in
      bytes += [UInt8(event.count), 0, 0] + event
    }
    let message = try HubMessage.decode(body[...])
    guard case .events(session, let events)? = message else {
      Issue.record("\(String(describing: message))")
      return HubEvents([])
    }
    return events
  }

  private func request(_ bytes: [UInt8]) throws -> HubRequest {
    let message = try AppMessage.decode(([0x91] + Self.encodedSession + bytes)[...])
    guard case .request(session, let request)? = message else {
      Issue.record("\(String(describing: message))")
      return .known(.stopScan)
    }
    return request
  }

  // MARK: Messages

  @Test("messages of unknown kinds are skipped and counted, and those around them are read")
  func skippedMessages() throws {
    let stream =
      try frame([0x7F]) + HubMessage.pong(1).frame + frame([0x10, 1, 2, 3])
      + HubMessage.pong(2).frame + frame([0x00])
    for pieces in [[stream], stream.map { [$0] }] {
      var reader = HubFrameReader()
      var messages: [HubMessage] = []
      for piece in pieces {
        reader.append(piece)
        while let message = try reader.next(HubMessage.self) { messages.append(message) }
      }
      #expect(messages == [.pong(1), .pong(2)])
      #expect(reader.skippedCount == 3)
    }
  }

  @Test("a message of an unknown kind that must be understood is refused by its number")
  func refusedMessages() throws {
    var reader = HubFrameReader()
    try reader.append(AppMessage.ping(1).frame + frame([0xFF, 1]))
    #expect(try reader.next(AppMessage.self) == .ping(1))
    let error = HubWireError.notUnderstood(of: "AppMessage", number: 0xFF)
    #expect(throws: error) { try reader.next(AppMessage.self) }
    let refusal = HubRefusal(error)
    #expect(refusal.reason == .notUnderstood && refusal.text.contains("(number 255)"))
    #expect(HubRefusal(.notUTF8).reason == .invalidMessage)
  }

  @Test("fields that a later version adds behind the last one of a message are skipped")
  func laterFieldsOfMessages() throws {
    var sampler = Sampler(seed: 1)
    for number in AppMessage.Number.allCases {
      let message = sampler.message(number)
      #expect(try AppMessage.decode(try message.body + [1, 2, 3]) == message)
    }
    for number in HubMessage.Number.allCases where number != .events {
      var message = sampler.message(number)
      // A later version writes this one, too, before its own.
      if case .status(let question, var status) = message {
        status.bondFile = HubStatus.BondFile(path: "/bonds")
        message = .status(question, status)
      }
      #expect(try HubMessage.decode(try message.body + [1, 2, 3]) == message)
    }
  }

  @Test("reasons and abilities of a later version are read: as another reason, and as bits")
  func laterValues() throws {
    #expect(
      try HubMessage.decode([0x82, 99, 2, 0x48, 0x69]) == .refusal(HubRefusal(.other, "Hi")))
    let welcome = HubWelcome(
      version: 1, abilities: HubAbilities(rawValue: 1 << 63), isSimulated: false)
    #expect(try HubMessage.decode(try HubMessage.welcome(welcome).body) == .welcome(welcome))
  }

  @Test("an opening without a time to be kept has the bytes of the first library, and none is read")
  func openingToKeep() throws {
    var opening = SessionOpening(id: session, acknowledgesEvents: true, manager: "central")
    let before: [UInt8] = [0x90, 10, 0, 0, 2, 1, 7] + Array("central".utf8)
    #expect(try Array(AppMessage.openSession(opening).body) == before)
    #expect(try AppMessage.decode(before[...]) == .openSession(opening))
    // A time of zero that another library wrote is the same.
    let written = [0x90, 11] + before[2...] + [0]
    #expect(try AppMessage.decode(written[...]) == .openSession(opening))
    opening.keptFor = .nanoseconds(1)
    let after = [0x90, 11] + before[2...] + [2]
    #expect(try AppMessage.openSession(opening).body == after[...])
    #expect(try AppMessage.decode(after[...]) == .openSession(opening))
    // A library that begins anew adds a byte, which an earlier hub skips.
    opening.beginsAnew = true
    let anew = [0x90, 12] + before[2...] + [2, 1]
    #expect(try AppMessage.openSession(opening).body == anew[...])
    #expect(try AppMessage.decode(anew[...]) == .openSession(opening))
    opening.keptFor = .zero
    let body = try AppMessage.openSession(opening).body
    #expect(try AppMessage.decode(body) == .openSession(opening))
  }

  @Test("an answer without what is held has the bytes of the first hub with names")
  func attachment() throws {
    let attachment = SessionAttachment(holdsName: true, keptFor: .zero)
    let bytes: [UInt8] = [0x08, 2, 2, 0, 0, 1, 0]
    #expect(try HubMessage.attached(session, attachment).body == bytes[...])
    #expect(try HubMessage.decode(bytes[...]) == .attached(session, attachment))
  }

  @Test("a connection without alerts has the bytes of the first library")
  func alerts() throws {
    var options = ConnectOptions()
    let before = try AppMessage.request(session, .known(.connect(peer, options))).body
    options.alerts = .disconnection
    let after = try AppMessage.request(session, .known(.connect(peer, options))).body
    #expect(after.count == before.count + 1 && after.last == 2)
    #expect(try AppMessage.decode(after) == .request(session, .known(.connect(peer, options))))
  }

  @Test("a scan in the foreground has the bytes of the first library")
  func backgroundScan() throws {
    var options = ScanOptions()
    let before = try AppMessage.request(session, .known(.startScan(options))).body
    options.isInBackground = true
    let after = try AppMessage.request(session, .known(.startScan(options))).body
    #expect(after.count == before.count + 1 && after.last == 1)
    #expect(try AppMessage.decode(after) == .request(session, .known(.startScan(options))))
  }

  // MARK: Events

  @Test("events of unknown numbers are skipped, and their positions and numbers are known")
  func skippedEvents() throws {
    let connected = [LinkEventNumber.connected.rawValue] + Self.encodedPeer
    let read = try events([[0x7E, 1, 2], connected, connected, [0x60], connected])
    #expect(read.events == [.connected(peer), .connected(peer), .connected(peer)])
    #expect(
      read.unknown == [
        .init(position: 0, number: 0x7E, fields: [1, 2]),
        .init(position: 3, number: 0x60, fields: []),
      ])
    #expect(read.count == 5)
  }

  @Test("an event that must be understood is refused by its number")
  func refusedEvents() {
    #expect(throws: HubWireError.notUnderstood(of: "HostEvent", number: 0x80)) {
      try events([[0x80]])
    }
  }

  @Test("an event with a value that only a later version knows is skipped")
  func unknownValues() throws {
    // A prompt of a later version; a bond that isn't kept for a reason of a later version.
    let prompt = Self.encodedPeer + [5, 99, 1, 2]
    let bond = Self.encodedPeer + [99]
    let read = try events([
      [LinkEventNumber.pairingPrompt.rawValue] + prompt,
      [LinkEventNumber.bondNotKept.rawValue] + bond,
    ])
    #expect(read.events.isEmpty)
    #expect(
      read.unknown == [
        .init(position: 0, number: 0x20, fields: prompt[...]),
        .init(position: 1, number: 0x22, fields: bond[...]),
      ])
  }

  @Test("a pairing prompt that only a later version knows can be rejected by its identifier")
  func unknownPrompt() throws {
    let prompt = [LinkEventNumber.pairingPrompt.rawValue] + Self.encodedPeer + [5, 99, 1, 2]
    let bond = [LinkEventNumber.bondNotKept.rawValue] + Self.encodedPeer + [99, 5]
    // An address of a later kind.
    let kind = [LinkEventNumber.pairingPrompt.rawValue, 99, 1, 2, 3, 4, 5, 6, 5, 1]
    let read = try events([prompt, bond, kind])
    #expect(read.unknown.map(\.pairingPrompt) == [PairingPromptID(rawValue: 5), nil, nil])
  }

  @Test("an unknown value among the properties of a link skips that event, and none behind it")
  func unknownProperty() throws {
    // A role of a later version, in enclosed properties.
    let properties = Self.encodedPeer + [99, 1, 2]
    let fields = [UInt8(properties.count), 0, 0] + properties + [3, 4]
    let opened = [LinkEventNumber.linkOpened.rawValue] + fields
    let connected = [LinkEventNumber.connected.rawValue] + Self.encodedPeer
    let read = try events([opened, connected])
    #expect(read.events == [.connected(peer)])
    #expect(read.unknown == [.init(position: 0, number: 0x10, fields: fields[...])])
  }

  @Test("a link whose PHYs only a later version knows is opened and updated, with LE 1M")
  func unknownPHY() throws {
    func body(_ event: (LinkInfo) -> HostEvent, _ phy: PHY) throws -> [UInt8] {
      var link = LinkInfo(peer: peer, role: .central)
      (link.transmitPHY, link.receivePHY) = (phy, phy)
      var encoder = HubEncoder(capacity: 64)
      _ = try HostEvent.coded(event(link), by: &encoder)
      return encoder.bytes
    }
    let link = LinkInfo(peer: peer, role: .central)
    #expect(link.transmitPHY == .le1M && link.receivePHY == .le1M)
    for event in [HostEvent.linkOpened, HostEvent.linkUpdated] {
      // The PHYs are the bytes in which these two differ.
      let later = try zip(body(event, .le1M), body(event, .leCoded)).map { $0 == $1 ? $0 : 99 }
      #expect(later.filter { $0 == 99 }.count == 2)
      let read = try events([later])
      #expect(read.events == [event(link)] && read.unknown.isEmpty)
    }
  }

  @Test("a request ends also with a reply or an error that only a later version knows")
  func unknownOutcomes() throws {
    let completed = [RadioEventNumber.completed.rawValue] + Self.encodedToken
    let read = try events([
      completed + [99, 1, 2, 3], completed + [11, 99, 1], completed + [0, 99, 1],
      completed + [1, 7],
    ])
    #expect(
      read.events == [
        .completed(token, .failure(.unsupported("reply 99 of a newer hub"))),
        .completed(token, .failure(.unsupported("reply 11 of a newer hub"))),
        .completed(token, .failure(.unsupported("error 99 of a newer hub"))),
        .completed(token, .success(.done)),
      ])
  }

  @Test("a link ends, a pairing fails and the radio changes also for reasons of a later version")
  func unknownReasons() throws {
    let closed = [LinkEventNumber.linkClosed.rawValue] + Self.encodedPeer + [99, 1]
    let ended = [LinkEventNumber.disconnected.rawValue] + Self.encodedPeer + [1, 1, 99, 1, 2]
    let pairing = [LinkEventNumber.pairingEnded.rawValue] + Self.encodedPeer + [1, 99]
    let state = [RadioEventNumber.stateChanged.rawValue, 99]
    let read = try events([closed, ended, pairing, state])
    let error = HostError.unsupported("error 99 of a newer hub")
    #expect(
      read.events == [
        .linkClosed(peer, error), .disconnected(peer, error, reconnecting: true),
        .pairingEnded(peer, .pairingFailed(.unspecifiedReason)), .stateChanged(.unknown),
      ])
  }

  @Test("fields that a later version adds behind the last one of an event are skipped")
  func laterFieldsOfEvents() throws {
    var sampler = Sampler(seed: 2)
    let all = sampler.events()
    let bodies = try all.map { event in
      var encoder = HubEncoder(capacity: 64)
      _ = try HostEvent.coded(event, by: &encoder)
      return encoder.bytes + [1, 2, 3]
    }
    for (event, body) in zip(all, bodies) where body.count < 256 {
      #expect(try events([body]).events == [event])
    }
  }

  // MARK: Requests

  @Test("a request that only a later version knows keeps its token, so that it can be completed")
  func unknownRequests() throws {
    let withToken = try request([0xFE] + Self.encodedToken + [1, 2, 3])
    #expect(
      withToken == .unknown(UnknownRequest(number: 0xFE, token: token, fields: [1, 2, 3])))
    let withoutToken = try request([0x7E, 1, 2, 3])
    #expect(
      withoutToken == .unknown(UnknownRequest(number: 0x7E, token: nil, fields: [1, 2, 3])))
  }

  @Test("a request with a procedure that only a later version knows keeps its token")
  func unknownProcedure() throws {
    let bytes = [0xB0] + Self.encodedToken + Self.encodedPeer + [99, 1, 2]
    let fields = Self.encodedPeer + [99, 1, 2]
    #expect(
      try request(bytes)
        == .unknown(UnknownRequest(number: 0xB0, token: token, fields: fields[...])))
  }

  @Test("a request of a later version is written again as it was read")
  func forwarded() throws {
    for bytes in [[0xFE] + Self.encodedToken + [1, 2], [0x7E, 3], [0x7E]] as [[UInt8]] {
      let body = [0x91] + Self.encodedSession + bytes
      let message = try #require(try AppMessage.decode(body[...]))
      #expect(try Array(message.body) == body)
    }
  }

  @Test("fields that a later version adds behind the last one of a request are skipped")
  func laterFieldsOfRequests() throws {
    var sampler = Sampler(seed: 3)
    for wanted in sampler.requests() {
      let body = try AppMessage.request(session, .known(wanted)).body
      #expect(
        try AppMessage.decode(body + [1, 2, 3]) == .request(session, .known(wanted)))
    }
  }

  // MARK: Records

  /// A record of a later version, with a field more than `Earlier`.
  private struct Later: HubCodable, Equatable {
    var size: UInt16
    var colour: String

    static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
      try coder.enclosed { coder throws(HubWireError) in
        try Later(
          size: coder.field(value) { $0.size },
          colour: coder.addedField(value, default: "white") { $0.colour })
      }
    }
  }

  private struct Earlier: HubCodable, Equatable {
    var size: UInt16

    static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
      try coder.enclosed { coder throws(HubWireError) in
        try Earlier(size: coder.field(value) { $0.size })
      }
    }
  }

  /// A record of a later version, which added the colour behind a value that may be of a still later one.
  private struct Ended<Reason: HubCodable>: HubCodable {
    var reason: Reason
    var colour: String

    static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
      try coder.enclosed { coder throws(HubWireError) in
        try Ended(
          reason: coder.field(value) { $0.reason },
          colour: coder.addedField(value, default: "white") { $0.colour })
      }
    }
  }

  private static func bytes<Value: HubCodable>(_ values: [Value]) throws -> ArraySlice<UInt8> {
    var encoder = HubEncoder(capacity: 16)
    _ = try [Value].coded(values, by: &encoder)
    return encoder.bytes[...]
  }

  @Test("an added field is skipped by an earlier version, within a list, too")
  func earlierReader() throws {
    let later = [Later(size: 1, colour: "red"), Later(size: 2, colour: "")]
    var decoder = HubDecoder(try Self.bytes(later))
    let earlier = try [Earlier].coded(nil, by: &decoder)
    #expect(earlier == [Earlier(size: 1), Earlier(size: 2)])
    #expect(decoder.isAtEnd)
  }

  @Test("an added field has its default when an earlier version didn't write it")
  func laterReader() throws {
    var decoder = HubDecoder(try Self.bytes([Earlier(size: 1), Earlier(size: 2)]))
    let later = try [Later].coded(nil, by: &decoder)
    #expect(later == [Later(size: 1, colour: "white"), Later(size: 2, colour: "white")])
    #expect(decoder.isAtEnd)
  }

  @Test("an added field comes back as it was between two sides of the later version")
  func sameVersion() throws {
    let later = [Later(size: 1, colour: "red"), Later(size: 2, colour: "")]
    var decoder = HubDecoder(try Self.bytes(later))
    let copy = try [Later].coded(nil, by: &decoder)
    #expect(copy == later)
  }

  @Test("the fields of an unknown error aren't read as a field that was added behind it")
  func addedFieldBehindUnknownError() throws {
    // The unknown error has a field which reads like a colour. One byte follows the record.
    var decoder = HubDecoder([6, 0, 0, 1, 99, 3, 0x72, 0x65, 0x64, 7])
    let ended = try Ended<HostError?>.coded(nil, by: &decoder)
    #expect(ended.reason == .unsupported("error 99 of a newer hub") && ended.colour == "white")
    let behind = try decoder.byte()
    #expect(behind == 7)
    var known = HubDecoder([6, 0, 0, 1, 6, 3, 0x72, 0x65, 0x64])
    let other = try Ended<HostError?>.coded(nil, by: &known)
    #expect(other.reason == .notConnected && other.colour == "red")
  }

  @Test("the fields of an unknown reply aren't read as a field that was added behind it")
  func addedFieldBehindUnknownReply() throws {
    var decoder = HubDecoder([5, 0, 0, 99, 3, 0x72, 0x65, 0x64, 7])
    let ended = try Ended<Completion>.coded(nil, by: &decoder)
    #expect(ended.reason.result == .failure(.unsupported("reply 99 of a newer hub")))
    let behind = try decoder.byte()
    #expect(ended.colour == "white" && behind == 7)
    var known = HubDecoder([5, 0, 0, 1, 3, 0x72, 0x65, 0x64])
    let other = try Ended<Completion>.coded(nil, by: &known)
    #expect(other.reason.result == .success(.done) && other.colour == "red")
  }
}
