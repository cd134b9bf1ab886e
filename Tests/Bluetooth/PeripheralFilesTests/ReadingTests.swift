import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import PeripheralFiles

@Suite("Peripheral files")
struct ReadingTests {
  private static func file(_ text: String) throws -> PeripheralFile {
    try PeripheralFile(Array(text.utf8))
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
    #expect(rate.properties == [.read, .notify])
    #expect(
      file.services[0].characteristics[1].descriptors
        == [.init(uuid: 0x2901, value: Array("Where it sits".utf8))])
    let control = file.services[0].characteristics[2]
    #expect(control.properties == .write && control.writeNeedsEncryption)
    #expect(control.longest == 1)
    #expect(!control.writeNeedsAuthentication)
  }

  @Test(
    "a mistake is one sentence with the position and the expected form",
    arguments: [
      ("[]", "expected an object, found an array"),
      ("{}", "the key \"services\" is missing; expected an array of services"),
      (#"{"services": []}"#, "services: expected at least one service"),
      (#"{"services": 1}"#, "services: expected an array, found a number"),
      (#"{"service": []}"#, "unknown key \"service\"; did you mean \"services\"?"),
      (
        #"{"services": [], "address": "FF:FF:FF:FF:FF:FF"}"#,
        "address: expected an address like \"C4:12:34:56:78:9A\" that is public or random static"
      ),
      (
        #"{"services": [], "address": "C0:00:00:00:00:00"}"#,
        "address: expected an address like \"C4:12:34:56:78:9A\" that is public or random static"
      ),
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
  func mistakes(text: String, sentence: String) throws {
    let error = try #require(throws: PeripheralFileError.self) { try Self.file(text) }
    #expect((error.path.isEmpty ? "" : error.path + ": ") + error.reason == sentence)
    #expect(error.position?.line == 1)
  }

  @Test(
    "a mistake is reported with line and column",
    arguments: [
      ("{\n  \"services\": [\n    }\n]}", 3, 5, "not JSON: expected a value, found \"}\""),
      ("{\"name\": \"é\", 1}", 1, 15, "not JSON: expected a key in double quotes, found \"1\""),
      ("{\"name\": \"a\",\r\n \"nmae\": 1}", 2, 2, "unknown key \"nmae\"; did you mean \"name\"?"),
      ("{\"a\": 1, \"a\": 2}", 1, 10, "not JSON: the key \"a\" is used twice"),
      ("{\"a\": 01}", 1, 7, "not JSON: \"01\" is not a number"),
      ("{\"a\": \"x", 1, 7, "not JSON: the string that begins here is not terminated"),
      ("{\"a\": \"\\x\"}", 1, 8, "not JSON: unknown escape sequence"),
      ("{} {}", 1, 4, "not JSON: expected the end after the value"),
      ("", 1, 1, "not JSON: expected a value, found the end"),
    ])
  func positions(text: String, line: Int, column: Int, sentence: String) throws {
    let error = try #require(throws: PeripheralFileError.self) { try Self.file(text) }
    #expect(error.position == .init(line: line, column: column))
    #expect(error.reason == sentence)
  }

  @Test("values within values end at a depth, not the stack")
  func depth() throws {
    let text = String(repeating: "[", count: 1_000_000)
    let error = try #require(throws: PeripheralFileError.self) { try Self.file(text) }
    #expect(error.reason == "not JSON: values are nested too deeply")
  }

  @Test("millions of tiny values end at a count, reported with its position, not with the memory")
  func countOfValues() throws {
    let text = "{\"services\":\n[" + String(repeating: "1,", count: 4_000_000) + "1]}"
    let error = try #require(throws: PeripheralFileError.self) { try Self.file(text) }
    #expect(error.reason == "more than 1000000 values")
    // The object and the array are two of them.
    #expect(error.position == .init(line: 2, column: 2 + 2 * 999_998))
  }

  @Test(
    "lists have bounds, reported before they are read",
    arguments: [
      (
        #""values": [\#(Array(repeating: "1", count: 3_601).joined(separator: ","))]"#,
        "at most 3600 values"
      ),
      (#""values": []"#, "expected at least one value"),
      (
        #""value": [\#(Array(repeating: #"{"hex": ""}"#, count: 513).joined(separator: ","))]"#,
        "at most 512 parts of a value"
      ),
      (
        #""properties": [\#(Array(repeating: #""read""#, count: 9).joined(separator: ","))]"#,
        "at most 8 properties"
      ),
    ])
  func lists(keys: String, sentence: String) throws {
    let text = #"{"services": [{"uuid": "180F", "characteristics": [{"uuid": "2A19", \#(keys)}]}]}"#
    let error = try #require(throws: PeripheralFileError.self) { try Self.file(text) }
    #expect(error.reason == sentence)
  }

  @Test("a characteristic may have an empty list of properties, but not a missing one")
  func noProperties() throws {
    let file = try Self.file(
      #"{"services": [{"uuid": "180F", "characteristics": [{"uuid": "2A19", "properties": []}]}]}"#)
    #expect(file.services[0].characteristics[0].properties.isEmpty)
    #expect(try PeripheralFile(Array(file.json.utf8)) == file)
    let error = #expect(throws: PeripheralFileError.self) {
      try Self.file(
        #"{"services": [{"uuid": "180F", "characteristics": [{"uuid": "2A19"}]}]}"#)
    }
    #expect(error?.reason.hasPrefix("nothing can be done with it") == true)
  }

  /// Two services of one UUID with two characteristics of one UUID each, and what answers a write
  /// to the first is notified on each of the four.
  private static var twins: PeripheralFile {
    var service = PeripheralFile.Service(uuid: 0xFFE0)
    var characteristic = PeripheralFile.Characteristic(uuid: 0xFFE1, properties: [.write, .notify])
    characteristic.descriptors = [.init(uuid: 0x2906, value: [1]), .init(uuid: 0x2906, value: [2])]
    service.characteristics = [characteristic, characteristic]
    var file = PeripheralFile()
    file.services = [service, service]
    file.advertisedServices = [0xFFE0, 0xFFE0]
    var answer = PeripheralFile.Answer(written: [1])
    answer.notifications = file.characteristicIndices.enumerated().map { number, index in
      .init(time: .zero, target: index, value: [UInt8(number)])
    }
    file.services[1].characteristics[1].answers = [answer]
    return file
  }

  @Test("answers are notified on the characteristic they were recorded of, of several alike, too")
  func twins() throws {
    let file = Self.twins
    #expect(try PeripheralFile(Array(file.json.utf8)) == file)
    #expect(file.json.contains(#""characteristic": "FFE0/FFE1""#))
    #expect(file.json.contains(#""characteristic": [1, 0]"#))
  }

  @Test(
    "an index of an answer's characteristic must be one of the file",
    arguments: ["[2, 0]", "[0]", "[0, 2]", "[0, -1]", "[0, 0, 0]", "[\"FFE0\", 0]"])
  func wrongIndex(target: String) throws {
    let text = Self.twins.json.replacing("[1, 0]", with: target)
    let error = try #require(throws: PeripheralFileError.self) { try Self.file(text) }
    #expect(error.path.hasPrefix("services[1].characteristics[1].answers[0].notifications[2]"))
  }

  @Test("thousands of answers' notifications are read in a moment, however many characteristics")
  func manyAnswers() throws {
    var file = PeripheralFile()
    file.services = (0..<64).map { number in
      var service = PeripheralFile.Service(uuid: BluetoothUUID(UInt16(0x1900 + number)))
      service.characteristics = (0..<64).map { place in
        .init(uuid: BluetoothUUID(UInt16(0x2A00 + place)), properties: .notify)
      }
      return service
    }
    file.advertisedServices = file.services.map(\.uuid)
    let last = PeripheralFile.CharacteristicIndex(service: 63, characteristic: 63)
    var answer = PeripheralFile.Answer(written: [])
    answer.notifications = (0..<50_000).map { _ in .init(time: .zero, target: last, value: []) }
    file[last].answers = [answer]
    // Two hundred million comparisons of UUIDs with a search for each; the suite's limit ends that.
    #expect(try PeripheralFile(Array(file.json.utf8)) == file)
  }

  @Test("a file's JSON escapes are read")
  func escapes() throws {
    let file = try Self.file(
      #"{"name": "\u00e9\ud83d\ude00\n\"\/", "advertising": {}}"#)
    #expect(file.name == "é😀\n\"/")
    let error = #expect(throws: PeripheralFileError.self) {
      try Self.file(#"{"name": "\ud83d", "advertising": {}}"#)
    }
    #expect(error?.reason == "not JSON: unknown escape sequence")
  }

  @Test("additions of recordings to the format are read")
  func recorded() throws {
    let file = try Self.file(Recordings.strap)
    #expect(file.address == DeviceAddress("C0:12:34:56:78:9A", kind: .random))
    #expect(file.advertising?.interval == .milliseconds(152))
    #expect(file.advertising?.changes.count == 1)
    #expect(file.services[0].includedServices == [1])
    let rate = file.services[0].characteristics[0]
    #expect(rate.properties == [.notify])
    #expect(rate.notifications.map(\.time) == [.milliseconds(200), .milliseconds(1_200)])
    let control = file.services[0].characteristics[1]
    #expect(control.answers.map(\.error) == [nil, ATTErrorCode(rawValue: 0x80)])
    #expect(
      control.answers[0].notifications.first?.target == .init(service: 0, characteristic: 0))
    #expect(file.services[1].characteristics[0].readError == .insufficientEncryption)
  }

  @Test(
    "a file that contradicts itself is refused",
    arguments: [
      (
        #""properties": ["read"], "readable": true"#,
        "\"properties\" and \"readable\" exclude each other"
      ),
      (#""properties": ["red"]"#, "expected one of broadcast, read,"),
      (
        #""properties": ["read"], "notifications": [{"at": 0, "value": {"hex": ""}}]"#,
        "\"notifications\" need"
      ),
      (
        #""properties": ["notify"], "notifications": [{"at": 2, "value": {"hex": ""}}, {"at": 1, "value": {"hex": ""}}]"#,
        "expected seconds from 2"
      ),
      (#""value": {"hex": "00"}, "readError": 0"#, "expected a whole number from 1 to 255"),
      (
        #""value": {"hex": "00"}, "descriptors": [{"uuid": "2902"}]"#,
        "2902 follows from the properties"
      ),
      (
        #""writeable": true, "answers": [{"write": {"hex": "01"}, "notifications": [{"at": 0, "value": {"hex": ""}}]}]"#,
        "expected a characteristic that notifies"
      ),
    ])
  func contradictions(keys: String, sentence: String) throws {
    let text = #"{"services": [{"uuid": "180F", "characteristics": [{"uuid": "2A19", \#(keys)}]}]}"#
    let error = try #require(throws: PeripheralFileError.self) { try Self.file(text) }
    #expect(error.reason.hasPrefix(sentence), "\(error)")
  }

  @Test("services that include each other in a circle are refused, many of them at once, too")
  func circles() throws {
    let circle = try #require(throws: PeripheralFileError.self) {
      try Self.file(
        #"{"services": [{"uuid": "180F", "includes": ["180A"]}, {"uuid": "180A", "includes": [0]}]}"#
      )
    }
    #expect(circle.reason == "the service includes itself, if only through others")
    // Each of 64 services includes all later ones: 2^62 ways through them.
    let services = (0..<64).map { index in
      let later = ((index + 1)..<64).map(String.init).joined(separator: ",")
      return #"{"uuid": "180F", "includes": [\#(later)]}"#
    }
    let file = try Self.file(#"{"services": [\#(services.joined(separator: ","))]}"#)
    #expect(file.publicationOrder() == .order(Array((0..<64).reversed())))
  }

  @Test("a file changed anywhere is read or refused, never worse")
  func mutations() throws {
    let bytes = Array(Recordings.strap.utf8)
    var random = SeededGenerator(seed: 99)
    for _ in 0..<2_000 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        changed[Int.random(in: 0..<changed.count, using: &random)] =
          UInt8.random(in: 0...255, using: &random)
      }
      if let file = try? PeripheralFile(changed) {
        #expect(throws: Never.self) { try PeripheralFile(Array(file.json.utf8)) }
      }
    }
    for count in 0..<bytes.count {
      let error = #expect(throws: PeripheralFileError.self) {
        try PeripheralFile(Array(bytes.prefix(count)))
      }
      #expect(error?.reason.hasPrefix("not JSON: ") == true, "\(count) bytes")
    }
  }
}
