import Essentials
import Foundation
import HubWire
import Testing

@testable import HubMachines

/// Programs whose messages were recorded when version 1 was new.
@Suite("A hub with recorded programs of an earlier version")
struct RecordedProgramTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../HubWireTests/Version1").standardizedFileURL

  /// The messages of the files with this beginning, by their names.
  private static func recorded(_ beginning: String) throws -> [String: [UInt8]] {
    var messages: [String: [UInt8]] = [:]
    for file in try FileManager.default.contentsOfDirectory(atPath: folder.path)
    where file.hasPrefix(beginning) && file.hasSuffix(".hex") && !file.contains("virtual-time") {
      // Answers to the questions of a hub with virtual time, which this one is not.
      let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
      for line in text.split(separator: "\n") where !line.hasPrefix("#") {
        let parts = line.split(separator: " ")
        try #require(parts.count == 2, "\(line)")
        let bytes: [UInt8] = try #require(Hexadecimal.bytes(parts[1]), "\(line)")
        messages[String(parts[0])] = bytes
      }
    }
    return messages
  }

  @Test("an earlier program is greeted, and each of its messages served without a refusal")
  func served() throws {
    let messages = try Self.recorded("app")
    try #require(messages.count > 40)
    let greetings = messages.filter { $0.key.hasPrefix("greeting") }
    try #require(greetings.count > 1)
    for (name, bytes) in messages where greetings[name] == nil {
      for greeting in greetings.values {
        var hub = TestHub()
        let id = hub.connect()
        hub.handle(.received(id, greeting))
        guard case .welcome(let welcome)? = try hub.messages(for: id).first else {
          Issue.record("the greeting before \(name) has no welcome")
          continue
        }
        #expect(welcome.version == 1)
        hub.handle(.received(id, bytes))
        let opensTwice = name.hasPrefix("openSession")
        // A second session of one number is a mistake of a program, which these have in common.
        #expect(try hub.refusal(of: id) == nil || opensTwice, "\(name)")
        #expect(hub.machine.counts.connectionCount == 1 || opensTwice, "\(name)")
      }
    }
  }

  @Test("a program's recorded messages are served in any pieces, glued behind its greeting")
  func pieces() throws {
    let messages = try Self.recorded("app")
    let greeting = try #require(messages["greeting"])
    let others = messages.filter {
      !$0.key.hasPrefix("greeting") && !$0.key.hasPrefix("openSession")
    }
    let bytes = greeting + others.sorted { $0.key < $1.key }.flatMap(\.value)
    for size in [1, 7, bytes.count] {
      var hub = TestHub()
      let id = hub.connect()
      var rest = bytes[...]
      while !rest.isEmpty {
        hub.handle(.received(id, Array(rest.prefix(size))))
        rest = rest.dropFirst(size)
      }
      #expect(try hub.refusal(of: id) == nil, "\(size)")
      #expect(hub.machine.counts.connectionCount == 1, "\(size)")
    }
  }
}
