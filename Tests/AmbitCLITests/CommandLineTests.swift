import ArgumentParser
import BluetoothInterface
import BluetoothWire
import Essentials
import Foundation
import JSONWire
import PeripheralFiles
import Testing

@testable import AmbitCLI

@Suite("The command line")
struct CommandLineTests {
  @Test
  func `A verbose command prints its steps with times, and an unknown level is a mistake`()
    async throws
  {
    let arguments = ["read", "strap", "2A37", "--timeout", "30", "--radio", "sim"]
    for verbose in [true, false] {
      let end = try await AmbitRun(
        arguments + (verbose ? ["--verbose"] : []), environment: ["AMBIT_LOG": ""]
      ).end()
      let steps = end.complaints.filter { $0.contains("Connecting to Pulse strap …") }
      #expect(steps.isEmpty != verbose)
      #expect(steps.allSatisfy { $0.hasPrefix("20") })
    }
    let wrong = try await AmbitRun(["status"], environment: ["AMBIT_LOG": "loud"]).end()
    #expect(wrong.status == 64)
    #expect(wrong.complaints.first?.contains("AMBIT_LOG is \"loud\"") == true)
  }

  @Test
  func `The level of messages is that of the command line, then that of the environment`() {
    func level(_ name: String, _ arguments: String...) -> String? {
      LogLevel.named(name, arguments: ["ambit"] + arguments).map { "\($0)" }
    }
    #expect(level("", "scan") == "info")
    #expect(level("Error") == "error")
    #expect(level("error", "scan", "--verbose") == "debug")
    #expect(level("error", "write", "--", "--verbose") == "error")
    #expect(level("loud") == nil)
  }

  @Test("no argument is the live view")
  func defaultCommand() throws {
    #expect(try Ambit.parseAsRoot([]) is Watch)
    let watch = try #require(try Ambit.parseAsRoot(["--json"]) as? Watch)
    #expect(watch.options.json)
  }

  @Test("out-of-band data is one key, or a commitment and its number, of 16 bytes each")
  func outOfBandData() throws {
    let zeros = String(repeating: "0", count: 30)
    let key = try #require(OutOfBandOption(argument: zeros + "2A"))
    #expect(key.data == .legacy(temporaryKey: SMPValue(number: 42)))
    let both = try #require(OutOfBandOption(argument: zeros + "01:" + zeros + "02"))
    #expect(
      both.data
        == .secureConnections(confirm: SMPValue(number: 1), random: SMPValue(number: 2)))
    for wrong in ["", ":", "2A", zeros + "01:", zeros + "0x", zeros + "01:" + zeros + "02:"] {
      #expect(OutOfBandOption(argument: wrong) == nil, "\(wrong)")
    }
  }

  @Test("options of every command may be given before it")
  func leadingOptions() throws {
    let moved = Main.movingOptions(["--radio", "sim:empty", "--json", "scan", "--all"])
    #expect(moved == ["scan", "--all", "--radio", "sim:empty", "--json"])
    let scan = try #require(try Ambit.parseAsRoot(moved) as? Scan)
    #expect(scan.options.radio == "sim:empty" && scan.options.json && scan.all)
    #expect(
      Main.movingOptions(["--timeout=5", "write", "a", "b", "--int8", "--", "-1"])
        == ["write", "a", "b", "--int8", "--timeout=5", "--", "-1"])
    #expect(Main.movingOptions(["--radio"]) == ["--radio"])
    #expect(
      Main.movingOptions(["--address", "C4:12:34:56:78:9A", "radio", "--json", "serve", "x"])
        == ["radio", "serve", "x", "--address", "C4:12:34:56:78:9A", "--json"])
    #expect(
      Main.movingOptions(["--interface", "lo", "browse", "http"])
        == ["browse", "http", "--interface", "lo"])
  }

  @Test("an unknown first word is refused")
  func unknownCommand() throws {
    try Main.checkCommand(["scan"])
    try Main.checkCommand(["--json"])
    try Main.checkCommand([])
    let failure = #expect(throws: CommandFailure.self) { try Main.checkCommand(["scna"]) }
    #expect(failure?.status == .usage)
    #expect(failure?.sentence.hasPrefix("unknown command \"scna\"") == true)
    try Main.checkCommand(["help"])
    try Main.checkCommand(["help", "hub", "status"])
    for words in [["help", "scna"], ["help", "hub", "stauts"], ["help", "scan", "more"]] {
      let failure = #expect(throws: CommandFailure.self) { try Main.checkCommand(words) }
      #expect(failure?.status == .usage)
      #expect(failure?.sentence.hasPrefix("unknown command \"\(words.last ?? "")\"") == true)
    }
  }

  @Test("an unknown subcommand is refused with the names of the others")
  func unknownSubcommand() throws {
    for words in [
      ["hub", "stauts"], ["bonds", "frget"], ["radio", "sreve"], ["--json", "hub", "stauts"],
    ] {
      let error = #expect(throws: (any Error).self) {
        try Ambit.parseAsRoot(Main.movingOptions(words))
      }
      let message = Ambit.message(for: try #require(error))
      let failure = Main.unknownSubcommand(words, of: Ambit.self, message)
      #expect(failure?.status == .usage)
      #expect(failure?.sentence.hasPrefix("unknown command \"\(words.last ?? "")\"") == true)
    }
    // Mistakes of other kinds keep their words.
    for words in [
      ["hub", "--nosuch"], ["scan", "more"], ["hub", "run", "x"],
    ] {
      let error = #expect(throws: (any Error).self) { try Ambit.parseAsRoot(words) }
      let message = Ambit.message(for: try #require(error))
      #expect(Main.unknownSubcommand(words, of: Ambit.self, message) == nil, "\(words)")
    }
    let failure = #expect(throws: CommandFailure.self) {
      try (Ambit.parseAsRoot(["apps", "stauts"]) as? AppsRunProgram)?.run()
    }
    #expect(failure?.sentence.hasSuffix("the commands are run, status, install, uninstall") == true)
  }

  @Test("the help of commands that other programs perform is left to these programs")
  func helpOfPrograms() throws {
    for words in ["app open", "message room join", "apps run", "account add", "push", "chat"] {
      try Main.checkCommand(["help"] + words.split(separator: " ").map(String.init))
    }
    let failure = #expect(throws: CommandFailure.self) {
      try Main.checkCommand(["help", "apps", "nosuch"])
    }
    #expect(failure?.sentence.hasSuffix("the commands are run, status, install, uninstall") == true)
  }

  @Test("every command has help with examples")
  func help() {
    #expect(Ambit.configuration.subcommands.count == 33)
    for command in Ambit.configuration.subcommands where command != Radio.self {
      #expect(
        command.helpMessage().contains("EXAMPLES:"), "\(command.configuration.commandName ?? "")")
    }
    #expect(Ambit.helpMessage().contains("EXIT STATUS:"))
  }

  @Test(
    "a wrong command line is a usage error",
    arguments: [
      ["scan", "--timeout", "soon"], ["scan", "--timeout", "0"], ["nonsense"], ["read", "strap"],
      ["subscribe", "strap", "2A37", "--count", "0"], ["write", "a", "b", "00", "--hex", "--text"],
    ])
  func usage(arguments: [String]) {
    do {
      _ = try Ambit.parseAsRoot(arguments)
      Issue.record("\(arguments) was accepted")
    } catch {
      #expect(Ambit.exitCode(for: error).rawValue == ExitStatus.usage.rawValue)
    }
  }

  @Test("an unknown radio is one sentence and a usage error")
  func radio() throws {
    let scan = try #require(try Ambit.parseAsRoot(["scan", "--radio", "carrier-pigeon"]) as? Scan)
    let failure = #expect(throws: CommandFailure.self) { try scan.options.radioChoice() }
    #expect(failure?.status == .usage)
    #expect(failure?.sentence.hasPrefix("\"carrier-pigeon\" names no radio") == true)
  }

  #if BlueZ
    @Test("bluetoothd's radio with an option that it can't fulfil is a usage error")
    func bluez() throws {
      func failure(_ arguments: [String], isCaptured: Bool = false) throws -> String? {
        let scan = try #require(try Ambit.parseAsRoot(["scan"] + arguments) as? Scan)
        let failure = #expect(throws: CommandFailure.self) {
          try scan.options.bluezHost(isCaptured: isCaptured) { _ in }
        }
        #expect(failure?.status == .usage)
        return failure?.sentence
      }
      #expect(try failure(["--radio", "bluez"], isCaptured: true)?.contains("a capture") == true)
      #expect(
        try failure(["--radio", "bluez:hci1", "--pair", "never"])?.contains("--pair") == true)
      #expect(try failure(["--radio", "bluez:1"])?.contains("as in bluez:hci0") == true)
      let scan = try #require(try Ambit.parseAsRoot(["scan", "--radio", "bluez"]) as? Scan)
      #expect(try scan.options.bluezName() == "bluez")
      let other = try #require(try Ambit.parseAsRoot(["scan", "--radio", "sim"]) as? Scan)
      #expect(try other.options.bluezName() == nil)
    }
  #endif

  @Test("times are read as people write them")
  func seconds() {
    #expect(Seconds("10")?.span == .seconds(10))
    #expect(Seconds("2.5")?.span == .milliseconds(2_500))
    #expect(Seconds("500ms")?.span == .milliseconds(500))
    #expect(Seconds("2m")?.span == .seconds(120))
    #expect(Seconds("1h")?.span == .seconds(3_600))
    for wrong in ["", "s", "-1", "0", "1e9", "nan", "inf", "5x", "99999999h", "1.2.3"] {
      #expect(Seconds(wrong) == nil, "\(wrong)")
    }
  }
}

@Suite("Values on the command line")
struct ValueFormatTests {
  @Test("hexadecimal, text and numbers become bytes")
  func bytes() throws {
    #expect(try ValueFormat.hex.bytes("01 fF") == [0x01, 0xFF])
    #expect(try ValueFormat.hex.bytes("") == [])
    #expect(try ValueFormat.text.bytes("hé") == [0x68, 0xC3, 0xA9])
    #expect(try ValueFormat.uint8.bytes("255") == [0xFF])
    #expect(try ValueFormat.uint16.bytes("0x1234") == [0x34, 0x12])
    #expect(try ValueFormat.uint32.bytes("1") == [1, 0, 0, 0])
    #expect(try ValueFormat.int8.bytes("-1") == [0xFF])
    #expect(try ValueFormat.int16.bytes("-550") == [0xDA, 0xFD])
    #expect(try ValueFormat.int32.bytes("-2147483648") == [0, 0, 0, 0x80])
  }

  @Test(
    "a value that doesn't fit its format is one sentence",
    arguments: [
      (ValueFormat.hex, "xyz", "\"xyz\" is not hexadecimal"),
      (.hex, "123", "\"123\" is not hexadecimal"),
      (.uint8, "256", "\"256\" is not a whole number from 0 to 255"),
      (.int8, "-129", "\"-129\" is not a whole number from -128 to 127"),
      (.uint32, "1.5", "\"1.5\" is not a whole number"),
    ])
  func wrong(format: ValueFormat, text: String, sentence: String) {
    let failure = #expect(throws: CommandFailure.self) { try format.bytes(text) }
    #expect(failure?.status == .badData)
    #expect(failure?.sentence.hasPrefix(sentence) == true, "\(failure?.sentence ?? "")")
  }

  @Test("a value is shown decoded, as text and as bytes")
  func text() {
    #expect(ValueText([87], characteristic: 0x2A19).line(.plain) == "87%  57")
    #expect(ValueText([], characteristic: 0xFFF0).line(.plain) == "(empty)")
    #expect(
      ValueText(Array("Ambit".utf8), characteristic: 0x2A29).line(.plain)
        == "Ambit  416d626974")
    #expect(ValueText([0, 1], characteristic: 0xFFF0).line(.plain) == "0001")
  }

  @Test("a long value is cut in columns, and its length shown")
  func longValue() {
    let value = ValueText([UInt8](repeating: 0xA5, count: 512), characteristic: 0xFFF0)
    #expect(value.line(.plain, byteCountMax: 3) == "a5a5a5… (512 bytes)")
    #expect(value.line(.plain).utf8.count == 1_024)
    let name = ValueText(Array("A long name".utf8), characteristic: 0x2A00)
    #expect(name.line(.plain, byteCountMax: 4) == "A l…  41206c6f… (11 bytes)")
  }
}

@Suite("Values as reads print them")
struct ValueInputTests {
  @Test(
    "a value is written as it is read",
    arguments: [
      ("25.5", 0x2A6E, [0xF6, 0x09]), ("25.50 °C", 0x2A6E, [0xF6, 0x09]),
      ("-5.5", 0x2A6E, [0xDA, 0xFD]), ("not known", 0x2A6E, [0x00, 0x80]), ("87%", 0x2A19, [87]),
      ("mild", 0x2A06, [1]), ("2", 0x2A06, [2]), ("Desk", 0x2A00, Array("Desk".utf8)),
      ("72 bpm", 0x2A37, [0, 72]), ("300", 0x2A37, [1, 0x2C, 0x01]),
      ("80.5", 0x2A98, [0xE4, 0x3E]),
    ] as [(String, UInt16, [UInt8])])
  func typed(text: String, uuid: UInt16, bytes: [UInt8]) throws {
    let input = ValueInput(text: text, format: nil)
    #expect(try input.bytes(for: BluetoothUUID(uuid)) == bytes)
  }

  @Test(
    "a value that is typed without options is text in quotes, and bytes after 0x",
    arguments: [
      ("\"hello\"", Array("hello".utf8)), ("\"hello", Array("hello".utf8)), ("\"", []),
      ("\"cafe\"", Array("cafe".utf8)), ("cafe", [0xCA, 0xFE]), ("0xcafe", [0xCA, 0xFE]),
      ("\"a\"b\"", Array("a\"b".utf8)), ("\"0x00\"", Array("0x00".utf8)),
    ] as [(String, [UInt8])])
  func typedWithoutOptions(text: String, bytes: [UInt8]) throws {
    let input = ValueInput(typed: text)
    #expect(try input.bytes(for: 0xFFF1, choice: nil) == bytes)
    let failure = #expect(throws: CommandFailure.self) {
      try ValueInput(typed: "hello").bytes(for: 0xFFF1, choice: nil)
    }
    #expect(failure?.sentence.contains("\"…\" takes text") == true)
  }

  @Test("numbers that reads print are written back as the same bytes")
  func inverse() throws {
    var random = SeededGenerator(seed: 5)
    for number in UInt16(0x2A00)...0x2BFF {
      for count in 1...4 {
        for _ in 0..<20 {
          let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
          let uuid = BluetoothUUID(number)
          guard let text = StandardValue.text(bytes[...], of: uuid), !text.contains("reserved"),
            let again = try? StandardValue.bytes(text, of: uuid)
          else { continue }
          // Text is cut at trailing zeros; words and numbers are exact.
          if again != bytes { #expect(StandardValue.text(again[...], of: uuid) == text) }
        }
      }
    }
  }

  @Test(
    "a value that does not fit is refused with the expected form",
    arguments: [
      ("25.555", 0x2A6E, "expected a number from -327.68 to 327.67 °C, in steps of 0.01"),
      ("400", 0x2A6E, "expected a number from -327.68"), ("256", 0x2A19, "from 0 to 255 %"),
      ("--5", 0x2A6E, "expected a number"), ("", 0x2A19, "expected a number"),
      ("99999999999999999999", 0x2A19, "expected a number"),
      ("loud", 0x2A06, "expected one of no alert, mild alert, high alert"),
      ("hello", 0xFFF1, "use one of --hex, --text, --uint8"),
    ] as [(String, UInt16, String)])
  func wrong(text: String, uuid: UInt16, sentence: String) {
    let failure = #expect(throws: CommandFailure.self) {
      try ValueInput(text: text, format: nil).bytes(for: BluetoothUUID(uuid))
    }
    #expect(failure?.status == .badData)
    #expect(failure?.sentence.contains(sentence) == true, "\(failure?.sentence ?? "")")
  }
}

@Suite("Which device and which characteristic is meant")
struct NameTests {
  private static func sighting(_ group: String, _ name: String?) -> Sighting {
    var sighting = Sighting(identifier: "414D4249-5400-8000-8001-\(group)")
    sighting.name = name
    sighting.address = DeviceAddress(group, kind: .random)
    return sighting
  }

  private let around = [
    Self.sighting("C0FFEE000001", "Strap"), Self.sighting("C0FFEE000002", "Strap 2"),
    Self.sighting("C1A551C00003", "Lamp"), Self.sighting("D00D1E000004", "Lamp"),
    Self.sighting("ABCDEF000005", nil),
  ]

  @Test(
    "a device is found by identifier, its start, the start of its last group, address and name",
    arguments: [
      "414d4249-5400-8000-8001-c0ffee000001", "C0FFEE000001", "c0:ff:ee:00:00:01", "strap",
      "C0-FF-EE-00-00-01",
    ])
  func finds(text: String) throws {
    #expect(try DeviceName(text: text).pick(from: around)?.name == "Strap")
  }

  @Test("the start of a name or identifier is enough where only one device has it")
  func start() throws {
    #expect(try DeviceName(text: "c1a").pick(from: around)?.name == "Lamp")
    #expect(try DeviceName(text: "strap ").pick(from: around)?.name == "Strap 2")
    #expect(try DeviceName(text: "2").pick(from: around)?.name == "Strap 2")
    #expect(try DeviceName(text: "ab:cd").pick(from: around)?.shortID == "ABCDEF000005")
  }

  @Test("the start of any word of the name is enough where only one device has it")
  func word() throws {
    let around =
      around + [
        Self.sighting("B0B000000006", "Pulse strap"),
        Self.sighting("B0B000000007", "Desk-kettle 7"),
      ]
    #expect(
      try DeviceName(text: "str").pick(from: Array(around.dropFirst(2)))?.name == "Pulse strap")
    #expect(try DeviceName(text: "KETT").pick(from: around)?.name == "Desk-kettle 7")
    #expect(try DeviceName(text: "kettle 7").pick(from: around)?.name == "Desk-kettle 7")
    #expect(try DeviceName(text: "7").pick(from: around)?.name == "Desk-kettle 7")
    // Only starts of words match, and a device whose name starts with the text is preferred.
    #expect(try DeviceName(text: "ettle").pick(from: around) == nil)
    #expect(try DeviceName(text: "strap 2").pick(from: around)?.name == "Strap 2")
    let failure = #expect(throws: CommandFailure.self) {
      try DeviceName(text: "strap").pick(
        from: [around[5], Self.sighting("B0B000000008", "Old strap")])
    }
    #expect(failure?.sentence.hasPrefix("\"strap\" fits 2 devices") == true)
  }

  @Test("a name that fits several devices equally is refused with the candidates")
  func ambiguous() {
    let failure = #expect(throws: CommandFailure.self) {
      try DeviceName(text: "lamp").pick(from: around)
    }
    #expect(failure?.status == .notFound)
    #expect(
      failure?.sentence
        == "\"lamp\" fits 2 devices: C1A551C00003 (Lamp), D00D1E000004 (Lamp)")
    let unnamed = #expect(throws: CommandFailure.self) {
      try DeviceName(text: "414d").pick(from: around)
    }
    #expect(unnamed?.status == .notFound)
    #expect(unnamed?.sentence.hasPrefix("\"414d\" fits ") == true)
  }

  @Test("a name that fits no device finds nothing")
  func none() throws {
    #expect(try DeviceName(text: "kettle").pick(from: around) == nil)
    #expect(try DeviceName(text: "").pick(from: around) == nil)
  }

  @Test("a characteristic is named by UUID or standard name, with its service where needed")
  func characteristic() throws {
    #expect(try CharacteristicName("2a37").characteristic == 0x2A37)
    #expect(try CharacteristicName("Heart Rate Measurement").characteristic == 0x2A37)
    let both = try CharacteristicName("environmental sensing/temperature")
    #expect(both.service == 0x181A && both.characteristic == 0x2A6E)
    for wrong in ["", "/", "a/b/c", "no such thing", "180D/"] {
      let failure = #expect(throws: CommandFailure.self) { try CharacteristicName(wrong) }
      #expect(failure?.status == .usage)
    }
  }
}

@Suite("JSON lines")
struct JSONTests {
  @Test("keys keep their order and text is escaped")
  func line() {
    let object = JSON.object([
      "b": .string("a\"\\\n\u{1B}é"), "a": .integer(-1), "none": nil,
      "list": .array([.bool(true), .number(1.5), .number(.nan)]),
    ])
    #expect(
      object.line == #"{"b":"a\"\\\n\u001bé","a":-1,"list":[true,1.5,null]}"#)
  }

  @Test("a device has the documented keys")
  func device() {
    var sighting = Sighting(identifier: "414D4249-5400-8000-8001-C0FFEE000001")
    sighting.address = DeviceAddress("C0:FF:EE:00:00:01", kind: .random)
    sighting.name = "Strap"
    sighting.rssi = -50
    sighting.isConnectable = true
    sighting.services = [0x180D]
    sighting.manufacturerData = [0x4C, 0x00, 0x01]
    #expect(
      sighting.json(event: "discovered", at: Date(timeIntervalSince1970: 0)).line
        == #"{"event":"discovered","time":"1970-01-01T00:00:00.000Z","id":"414D4249-5400-8000-8001-C0FFEE000001","#
        + #""address":"C0:FF:EE:00:00:01","addressType":"random","name":"Strap","rssi":-50,"#
        + #""connectable":true,"services":[{"uuid":"180D","name":"Heart Rate"}],"#
        + #""manufacturer":{"company":76,"companyName":"Apple, Inc.","data":"01"}}"#)
  }
}
