import BluetoothInterface
import Essentials
import Foundation
import Testing

@testable import HubWire

/// What version 1 wrote stays readable, and is still written so.
@Suite("Recorded messages of version 1")
struct RecordedBytesTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Version1")

  /// The lines of a file: the name of a message, and its bytes.
  private static func recorded(_ file: String) throws -> [String: [UInt8]] {
    let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
    var messages: [String: [UInt8]] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let parts = line.split(separator: " ")
      try #require(parts.count == 2, "\(line)")
      let bytes: [UInt8] = try #require(Hexadecimal.bytes(parts[1]), "\(line)")
      messages[String(parts[0])] = bytes
    }
    return messages
  }

  private static func check<Message: HubWireMessage>(
    _ values: [String: Message], _ file: String
  ) throws {
    let recorded = try Self.recorded(file)
    #expect(Set(recorded.keys) == Set(values.keys))
    for (name, bytes) in recorded {
      var reader = HubFrameReader()
      reader.append(bytes)
      let message = try reader.next(Message.self)
      #expect(message == values[name], "\(name)")
      #expect(try message?.frame == bytes, "\(name)")
      #expect(reader.byteCount == 0)
    }
  }

  @Test("recorded messages of apps are read, and written with the same bytes")
  func appMessages() throws { try Self.check(Version1.appMessages, "app.hex") }

  @Test("recorded messages of hubs are read, and written with the same bytes")
  func hubMessages() throws { try Self.check(Version1.hubMessages, "hub.hex") }

  @Test("recorded questions about the hub, and answers, are read, and written with the same bytes")
  func status() throws {
    try Self.check(Version1.statusQuestions, "app-status.hex")
    try Self.check(Version1.statusAnswers, "hub-status.hex")
    try Self.check(Version1.radioUses, "hub-radio-use.hex")
    try Self.check(Version1.networkStates, "hub-network.hex")
    try Self.check(Version1.bondStates, "hub-bonds.hex")
  }

  @Test("recorded openings with names, and answers, are read, and written with the same bytes")
  func identity() throws {
    try Self.check(Version1.namedOpenings, "app-identity.hex")
    try Self.check(Version1.attachments, "hub-identity.hex")
  }

  @Test("recorded openings anew, and answers with what is held, are read, and written the same")
  func keeping() throws {
    try Self.check(Version1.openingsAnew, "app-keeping.hex")
    try Self.check(Version1.keptAttachments, "hub-keeping.hex")
  }

  @Test(
    "recorded connections with alerts, and what a process restores, are read, and written the same")
  func restoration() throws {
    try Self.check(Version1.alertingConnections, "app-restoration.hex")
    try Self.check(Version1.restorations, "hub-restoration.hex")
  }

  @Test("recorded requests to forget sessions, and answers, are read, and written the same")
  func forgetting() throws {
    try Self.check(Version1.forgettings, "app-forgetting.hex")
    try Self.check(Version1.forgottens, "hub-forgetting.hex")
  }

  @Test("recorded messages about virtual time are read, and written with the same bytes")
  func virtualTime() throws {
    try Self.check(Version1.settlings, "app-virtual-time.hex")
    try Self.check(Version1.times, "hub-virtual-time.hex")
  }

  @Test("recorded requests to attend all pairings are read, and written with the same bytes")
  func attendance() throws { try Self.check(Version1.attendanceRequests, "app-pairings.hex") }

  @Test("every kind of message, request, event, procedure, reply and error is recorded")
  func completeness() {
    let recorded =
      Array(Version1.appMessages.values) + Array(Version1.attendanceRequests.values)
    let requests = recorded.compactMap { message -> HostRequest? in
      if case .request(_, .known(let request)) = message { request } else { nil }
    }
    let messages = Array(Version1.hubMessages.values) + Array(Version1.restorations.values)
    let events = messages.flatMap { message -> [HostEvent] in
      if case .events(_, let events) = message { events.events } else { [] }
    }
    var sampler = Sampler(seed: 1)
    #expect(
      Set(Version1.appMessages.values.map(\.number) + [.status, .forget, .settled, .hasWork])
        == Set(AppMessage.Number.allCases))
    #expect(
      Set(
        Version1.hubMessages.values.map(\.number) + [
          .status, .attached, .forgotten, .time, .settle,
        ])
        == Set(HubMessage.Number.allCases))
    #expect(Set(requests.map(\.number)) == Set(sampler.requests().map(\.number)))
    #expect(Set(events.map(\.number)) == Set(sampler.events().map(\.number)))
    #expect(Set(requests.compactMap(\.operation)) == Set(GATTOperation.Number.allCases))
    #expect(Set(events.compactMap(\.reply)) == Set(HostReply.Number.allCases))
    let errors: [HostError] = events.compactMap(\.error)
    #expect(Set(errors.map(\.number)) == Set(HostError.Number.allCases))
  }
}

extension HostRequest {
  fileprivate var operation: GATTOperation.Number? {
    if case .gatt(_, let operation, _) = self { operation.number } else { nil }
  }
}

extension HostEvent {
  fileprivate var reply: HostReply.Number? {
    if case .completed(_, .success(let reply)) = self { reply.number } else { nil }
  }

  fileprivate var error: HostError? {
    switch self {
    case .completed(_, .failure(let error)), .linkClosed(_, let error),
      .connectionFailed(_, let error), .disconnected(_, let error?, _),
      .channelClosed(_, let error?):
      error
    default: nil
    }
  }
}
