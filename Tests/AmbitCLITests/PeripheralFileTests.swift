import BluetoothWire
import Essentials
import Foundation
import Testing

@testable import AmbitCLI

@Suite("Peripheral files")
struct PeripheralFileTests {
  private static func file(_ text: String) throws -> PeripheralFile {
    try PeripheralFile(Data(text.utf8))
  }

  @Test("a whole file is read")
  func whole() throws {
    let file = try Self.file(
      """
      {"name": "Strap", "services": [
        {"uuid": "heart rate", "characteristics": [
          {"uuid": "2A37", "notifies": true, "every": 0.5,
           "values": [[{"uint8": 0}, {"uint8": 72}], {"hex": "00 49"}]},
          {"uuid": "2A38", "value": {"uint8": 1}, "description": "Where it sits"},
          {"uuid": "2A39", "writeable": true, "writeNeedsEncryption": true, "longest": 1}]},
        {"uuid": "180F", "primary": false}]}
      """)
    #expect(file.name == "Strap")
    #expect(file.advertisedServices == [0x180D])
    #expect(file.services.map(\.isPrimary) == [true, false])
    let rate = file.services[0].characteristics[0]
    #expect(rate.values == [[0, 72], [0, 73]])
    #expect(rate.interval == .milliseconds(500))
    #expect(rate.isReadable && rate.notifies && !rate.isWriteable)
    #expect(file.services[0].characteristics[1].description == "Where it sits")
    let control = file.services[0].characteristics[2]
    #expect(control.isWriteable && !control.isReadable && control.writeNeedsEncryption)
    #expect(control.longest == 1)
  }

  @Test(
    "a mistake is one sentence: where it is, and what was expected",
    arguments: [
      ("[]", "expected an object, found an array"),
      ("{}", "the key \"services\" is missing; expected an array of services"),
      (#"{"services": []}"#, "services: expected at least one service"),
      (#"{"services": 1}"#, "services: expected an array, found a number"),
      (#"{"service": []}"#, "unknown key \"service\"; did you mean \"services\"?"),
      (
        #"{"services": [{}]}"#,
        "services[0]: the key \"uuid\" is missing; expected a UUID like \"180F\""
      ),
      (
        #"{"services": [{"uuid": "xyz"}]}"#,
        "services[0].uuid: expected a UUID like \"180F\" or the name of a standard service, "
          + "found \"xyz\""
      ),
      (
        #"{"services": [{"uuid": "180F", "characteristics": [{"uuid": "2A19", "value": 5}]}]}"#,
        "services[0].characteristics[0].value: expected an object, found a number"
      ),
      (
        #"{"services": [{"uuid": "180F", "characteristics": [{"uuid": "2A19", "value": {"uint8": 256}}]}]}"#,
        "services[0].characteristics[0].value.uint8: expected a whole number from 0 to 255"
      ),
      (
        #"{"services": [{"uuid": "180F", "characteristics": [{"uuid": "2A19", "value": {"hex": "1"}}]}]}"#,
        "services[0].characteristics[0].value.hex: expected hexadecimal digits in pairs, as in \"01ff\""
      ),
      (
        #"{"services": [{"uuid": "180F", "characteristics": [{"uuid": "2A19", "notify": true}]}]}"#,
        "services[0].characteristics[0]: unknown key \"notify\"; did you mean \"notifies\"?"
      ),
      (
        #"{"services": [{"uuid": "180F", "characteristics": [{"uuid": "2A19", "readable": "yes"}]}]}"#,
        "services[0].characteristics[0].readable: expected true or false, found a string"
      ),
      (
        #"{"services": [{"uuid": "180F", "characteristics": [{"uuid": "2A19", "notifies": true, "every": 0}]}]}"#,
        "services[0].characteristics[0].every: expected seconds from 0.01 to 86400"
      ),
      (
        #"{"services": [{"uuid": "180F", "characteristics": [{"uuid": "2A19", "writeable": true, "echo": "2A20"}]}]}"#,
        "services[0].characteristics[0].echo: expected the UUID of a characteristic of the same "
          + "service that notifies or indicates"
      ),
    ])
  func mistakes(text: String, sentence: String) {
    let failure = #expect(throws: CommandFailure.self) { try Self.file(text) }
    #expect(failure?.status == .badData)
    #expect(failure?.sentence == sentence)
  }

  @Test("what is not JSON is said to be none")
  func syntax() {
    for text in ["", "{", "{\"services\": [}", "\u{0}\u{1}", "{'a': 1}"] {
      let failure = #expect(throws: CommandFailure.self) { try Self.file(text) }
      #expect(failure?.sentence.hasPrefix("not JSON") == true, "\(text)")
    }
  }

  @Test("a file changed anywhere is read or refused, never worse")
  func mutations() throws {
    let text =
      #"{"name":"A","services":[{"uuid":"180F","characteristics":[{"uuid":"2A19","value":{"uint8":87},"notifies":true,"every":1}]}]}"#
    let bytes = Array(text.utf8)
    var chance = SeededGenerator(seed: 99)
    for _ in 0..<2_000 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...3, using: &chance) {
        changed[Int.random(in: 0..<changed.count, using: &chance)] =
          UInt8.random(in: 0...255, using: &chance)
      }
      do { _ = try PeripheralFile(Data(changed)) } catch is CommandFailure {}
    }
    for count in 0..<bytes.count {
      #expect(throws: CommandFailure.self) { try PeripheralFile(Data(bytes.prefix(count))) }
    }
  }

  @Test("the examples that come with the project are right")
  func examples() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Examples/peripherals").standardizedFileURL
    let files = try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)
    #expect(files.count >= 4)
    for file in files { _ = try PeripheralFile.load(file.path) }
  }

  @Test("a file that isn't there is said to be missing")
  func missing() {
    let failure = #expect(throws: CommandFailure.self) {
      try PeripheralFile.load("/nonexistent.json")
    }
    #expect(failure?.status == .noInput)
    #expect(failure?.sentence == "/nonexistent.json cannot be read: there is no such file")
  }
}
