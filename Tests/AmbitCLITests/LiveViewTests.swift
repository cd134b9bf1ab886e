import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@testable import AmbitCLI

@Suite("The keys of the live view")
struct LiveViewTests {
  private static func table(_ count: Int) -> NearbyTable {
    var table = NearbyTable()
    for number in 0..<count {
      var sighting = Sighting(identifier: "0000-\(number)")
      sighting.name = "Device \(number)"
      sighting.rssi = -50
      table.hear(sighting, now: .zero)
    }
    return table
  }

  private static func screen(
    _ view: LiveView, columns: Int = 80, rows: Int = 24, isColoured: Bool = false
  ) -> NearbyScreen {
    NearbyScreen(
      size: .init(columns: columns, rows: rows), style: Style(isEnabled: isColoured),
      radio: "simulated radio", view: view)
  }

  private static func identifiers(_ view: LiveView, _ table: NearbyTable) -> [String] {
    view.filtered(table.ordered(now: .zero)).map(\.sighting.identifier)
  }

  private static func pressed(
    _ view: inout LiveView, _ keys: [Key], _ table: NearbyTable
  ) -> [LiveView.Effect] {
    keys.compactMap { key in
      let devices = identifiers(view, table)
      view.update(devices, before: devices)
      return view.press(key, devices: devices, page: 10)
    }
  }

  @Test("arrows and letters move the selection, which stays within the list and in sight")
  func moving() {
    let table = Self.table(1_000)
    var view = LiveView()
    _ = Self.pressed(&view, [.up], table)
    #expect(view.selected == "0000-0")
    _ = Self.pressed(&view, [.down, .character("j"), .character("k"), .pageDown], table)
    #expect(view.selected == "0000-11")
    for (key, name) in [(Key.end, "Device 999"), (.home, "Device 0"), (.pageDown, "Device 10")] {
      _ = Self.pressed(&view, [key], table)
      let lines = Self.screen(view).lines(table, NetworkTable(), now: .zero)
      #expect(lines.count == 24)
      #expect(lines.count { $0.hasPrefix(">") } == 1)
      #expect(lines.contains { $0.hasPrefix("> \(name) ") }, "\(name)")
    }
  }

  @Test("Enter opens the selected device; Esc goes back; q quits")
  func opening() {
    let table = Self.table(3)
    var view = LiveView()
    #expect(Self.pressed(&view, [.down, .enter], table) == [.open("0000-1")])
    view.detail = DetailView(title: "Device 1", state: "connecting …")
    #expect(Self.pressed(&view, [.escape], table) == [.close])
    #expect(view.detail == nil)
    #expect(Self.pressed(&view, [.character("q")], table) == [.quit])
  }

  @Test("/ filters while typing; Esc lists all again; q is a letter meanwhile")
  func filtering() {
    let table = Self.table(30)
    var view = LiveView()
    let keys: [Key] = [.character("/"), .character("q"), .backspace] + "e 2".map(Key.character)
    #expect(Self.pressed(&view, keys, table).isEmpty)
    #expect(view.filter == "e 2" && view.isTypingFilter)
    #expect(Self.identifiers(view, table).count == 11)  // 2 and 20 … 29
    _ = Self.pressed(&view, [.enter], table)
    #expect(!view.isTypingFilter)
    let lines = Self.screen(view).lines(table, NetworkTable(), now: .zero)
    #expect(lines.last?.hasPrefix("  /e 2 ·") == true)
    _ = Self.pressed(&view, [.escape], table)
    #expect(Self.identifiers(view, table).count == 30)
  }

  @Test("a device that is forgotten hands its selection to the one in its place")
  func forgotten() {
    var view = LiveView()
    view.update(["a", "b", "c"], before: [])
    _ = view.press(.down, devices: ["a", "b", "c"], page: 5)
    view.update(["a", "c"], before: ["a", "b", "c"])
    #expect(view.selected == "c")
    view.update([], before: ["a", "c"])
    #expect(view.selected == nil)
    #expect(view.press(.enter, devices: [], page: 5) == nil)
  }

  private static var detail: DetailView {
    var detail = DetailView(title: "Strap\u{1B}[2J\u{202E}", state: "connected")
    var rate = DetailView.Row(
      key: .init(service: 0, characteristic: 0), name: "Heart Rate Measurement", type: 0x2A37)
    rate.canBeFollowed = true
    var level = DetailView.Row(
      key: .init(service: 1, characteristic: 0), name: "Battery Level", type: 0x2A19)
    level.isReadable = true
    level.isWriteable = true
    level.value = ValueText([87], characteristic: 0x2A19)
    detail.rows = [
      .init(key: nil, name: "Heart Rate", type: 0x180D), rate,
      .init(key: nil, name: "Battery", type: 0x180F), level,
    ]
    return detail
  }

  @Test("keys read, subscribe to and write the selected characteristic of an open device")
  func working() {
    let table = Self.table(1)
    let (rate, level) = (
      KeptDevice.Key(service: 0, characteristic: 0), KeptDevice.Key(service: 1, characteristic: 0)
    )
    var view = LiveView()
    view.detail = Self.detail
    #expect(Self.pressed(&view, [.home, .enter], table) == [.toggleSubscription(rate)])
    #expect(Self.pressed(&view, [.down, .enter], table) == [.read(level)])
    #expect(Self.pressed(&view, [.character("s")], table) == [])
    #expect(view.detail?.message == "Battery Level can be neither notified nor indicated.")
    let typed: [Key] = [.character("w")] + "q5x".map(Key.character) + [.backspace]
    #expect(Self.pressed(&view, typed, table) == [])
    let shown = Self.screen(view).lines(table, NetworkTable(), now: .zero)
    #expect(shown.last == "  write: q5_")
    #expect(Self.pressed(&view, [.enter], table) == [.write(level, "q5")])
    #expect(Self.pressed(&view, [.character("w"), .character("1"), .escape], table) == [])
    #expect(view.detail?.input == nil)
    #expect(Self.pressed(&view, [.character("c")], table) == [.reconnect])
  }

  @Test(
    "no screen is larger than the terminal, and nothing from the air reaches it as a command",
    arguments: [(1, 1), (5, 2), (20, 5), (80, 24), (200, 60)])
  func sizes(columns: Int, rows: Int) {
    var table = Self.table(50)
    var hostile = Sighting(identifier: "x")
    hostile.name = "\u{1B}]0;owned\u{7}\u{202E}\u{200B}字字字字字字字字字字"
    hostile.rssi = -40
    table.hear(hostile, now: .zero)
    var list = LiveView()
    list.update(["x"], before: [])
    var open = list
    open.detail = Self.detail
    var typing = open
    _ = typing.press(.character("w"), devices: [], page: 5)
    var help = list
    _ = help.press(.character("?"), devices: [], page: 5)
    for view in [list, open, typing, help] {
      let lines = Self.screen(view, columns: columns, rows: rows)
        .lines(table, NetworkTable(), now: .zero)
      #expect(lines.count <= rows)
      for line in lines {
        #expect(Fit.width(line) <= columns, "\(line)")
        #expect(!line.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{202E}" })
      }
    }
  }

  @Test("a narrow screen keeps the names", arguments: [12, 20, 40, 50])
  func narrow(columns: Int) {
    let lines = Self.screen(LiveView(), columns: columns, rows: 12)
      .lines(Self.table(3), NetworkTable(), now: .zero)
    #expect(lines.count { $0.hasPrefix("  Devi") } == 3, "\(lines)")
  }

  @Test("the help lists every key, and any key leaves it")
  func help() {
    let table = Self.table(1)
    var view = LiveView()
    #expect(Self.pressed(&view, [.character("?")], table) == [])
    #expect(view.showsHelp)
    #expect(Self.pressed(&view, [.character("x")], table) == [])
    #expect(!view.showsHelp)
  }
}

@Suite("Keys of a terminal")
struct KeyDecoderTests {
  @Test(
    "sequences are keys, however they are cut",
    arguments: [
      ("\u{1B}[A", [Key.up]), ("\u{1B}OB", [.down]), ("\u{1B}[5~\u{1B}[6~", [.pageUp, .pageDown]),
      ("\u{1B}[1;5H", [.home]), ("\u{1B}[F", [.end]),
      ("a\r\u{7F}", [.character("a"), .enter, .backspace]),
      ("é😀", [.character("é"), .character("😀")]), ("\u{1B}[99~j", [.character("j")]),
      ("\u{1}\t\u{1D}q", [.control("a"), .control("i"), .character("q")]),
      ("\u{1B}[C\u{1B}OD\u{1B}[1;5C\u{1B}[1;3D", [.right, .left, .wordRight, .wordLeft]),
      ("\u{1B}[3~", [.delete]),
    ])
  func sequences(text: String, keys: [Key]) {
    var whole = KeyDecoder()
    #expect(whole.decode(Array(text.utf8)) == keys)
    var cut = KeyDecoder()
    var found: [Key] = []
    for byte in text.utf8 { found += cut.decode([byte]) }
    #expect(found == keys)
    #expect(!cut.isPending)
  }

  @Test("an escape after which nothing comes is the escape key")
  func escape() {
    var decoder = KeyDecoder()
    #expect(decoder.decode([0x1B]) == [])
    #expect(decoder.isPending)
    #expect(decoder.flush() == [.escape])
    #expect(decoder.decode([0x1B, UInt8(ascii: "q")]) == [.escape, .character("q")])
  }

  @Test("a decoder of any bytes keeps at most one sequence, and doesn't trap")
  func noise() {
    var random = SeededGenerator(seed: 11)
    var decoder = KeyDecoder()
    for _ in 0..<20_000 {
      let byte = UInt8.random(in: 0...255, using: &random)
      let biased = Int.random(in: 0..<4, using: &random) == 0 ? UInt8(0x1B) : byte
      _ = decoder.decode([biased])
    }
    _ = decoder.decode(Array("\u{1B}[".utf8) + Array(repeating: UInt8(ascii: "1"), count: 100))
    _ = decoder.flush()
    #expect(!decoder.isPending)
    #expect(decoder.decode([UInt8(ascii: "a")]) == [.character("a")])
  }
}

extension LiveViewTests {
  // MARK: Pairing

  private static let peer = DeviceAddress(bits: 0xC012_3456_789A, kind: .random)

  private static func asking(_ prompt: PairingPrompt) -> LiveView {
    var view = LiveView()
    view.ask(PairingQuestion(peer: peer, prompt: prompt, id: PairingPromptID(rawValue: 7)))
    return view
  }

  @Test("a passkey is typed below any screen, and other keys are ignored meanwhile")
  func passkey() {
    let table = Self.table(3)
    var view = Self.asking(.enterPasskey)
    let typed: [Key] = "q12x3 4567".map { .character($0) }
    #expect(Self.pressed(&view, typed, table).isEmpty)
    let lines = Self.screen(view).lines(table, NetworkTable(), now: .zero)
    #expect(
      lines.count == 24 && lines[23].contains("Which passkey does C0:12:34:56:78:9A show? 123456"))
    #expect(
      Self.pressed(&view, [.backspace, .enter], table) == [
        .answer(PairingPromptID(rawValue: 7), .passkey(12_345))
      ])
    #expect(view.pairing == nil)
    // Now they are keys of the list again.
    #expect(Self.pressed(&view, [.character("q")], table) == [.quit])
  }

  @Test("a notice is shown while a passkey is typed, in the list and in a device")
  func messages() {
    let table = Self.table(3)
    for isOpen in [false, true] {
      var view = Self.asking(.enterPasskey)
      if isOpen { view.detail = DetailView(title: "Lock", state: "connected") }
      let line = { Self.screen($0).lines(table, NetworkTable(), now: .zero)[1] }
      view.show("The display shows 000042.")
      #expect(line(view).contains("shows 000042."))
      view.show("The display shows 000043.")
      _ = Self.pressed(&view, "43".map { .character($0) }, table)
      #expect(line(view).contains("shows 000043."))
      _ = Self.pressed(&view, [.enter], table)
      #expect(line(view).contains("shows 000043."))
    }
    var view = LiveView()
    view.show("Pairing failed: confirm value failed.")
    _ = Self.pressed(&view, [.down], table)
    #expect(view.message == nil)
  }

  @Test("numbers are compared and pairing agreed to with y, refused with n or Esc")
  func yesAndNo() {
    let table = Self.table(1)
    for prompt in [PairingPrompt.compareNumber(42), .consent] {
      for (key, answer) in [
        (Key.character("y"), PairingAnswer.accept), (.character("n"), .reject), (.escape, .reject),
      ] {
        var view = Self.asking(prompt)
        #expect(Self.pressed(&view, [.enter, .character("x")], table).isEmpty)
        #expect(
          Self.pressed(&view, [key], table) == [.answer(PairingPromptID(rawValue: 7), answer)])
      }
    }
    let lines = Self.screen(Self.asking(.compareNumber(42)))
      .lines(table, NetworkTable(), now: .zero)
    #expect(lines[23].contains("000042"))
  }

  @Test("a passkey to show needs no answer; a pairing that has ended has no prompt any more")
  func shown() {
    let table = Self.table(1)
    var view = Self.asking(.displayPasskey(7))
    for columns in [10, 40, 200] {
      let lines = Self.screen(view, columns: columns).lines(table, NetworkTable(), now: .zero)
      #expect(lines.allSatisfy { Fit.width($0) <= columns })
    }
    #expect(Self.pressed(&view, [.character("9"), .escape], table).isEmpty && view.pairing == nil)
    view = Self.asking(.enterPasskey)
    view.pairingEnded(with: DeviceAddress(bits: 1, kind: .public))
    #expect(view.pairing != nil)
    view.pairingEnded(with: Self.peer)
    #expect(view.pairing == nil)
  }

  @Test("questions of several peers wait side by side, and Tab goes from one to the next")
  func sideBySide() {
    let table = Self.table(1)
    var view = Self.asking(.consent)
    let owner = DeviceAddress(bits: 0xC0FF_EE00_0001, kind: .random)
    view.ask(PairingQuestion(peer: owner, prompt: .compareNumber(42), id: .init(rawValue: 8)))
    #expect(view.pairing?.peer == Self.peer && view.pairingCount == 2)
    #expect(
      Self.pressed(&view, [.control("i"), .character("y")], table)
        == [.answer(PairingPromptID(rawValue: 8), .accept)])
    #expect(
      Self.pressed(&view, [.character("n")], table)
        == [.answer(PairingPromptID(rawValue: 7), .reject)])
  }

  @Test("a key that was typed for a question which ended does not answer the next one")
  func replaced() {
    let table = Self.table(1)
    let owner = DeviceAddress(bits: 0xC0FF_EE00_0001, kind: .random)
    let next = PairingQuestion(peer: owner, prompt: .consent, id: .init(rawValue: 8))
    for comesFirst in [true, false] {
      var view = Self.asking(.compareNumber(42))
      if comesFirst { view.ask(next) }
      view.pairingEnded(with: Self.peer)
      if !comesFirst { view.ask(next) }
      #expect(Self.pressed(&view, [.character("y"), .character("n"), .escape], table).isEmpty)
      #expect(view.pairing == next)
      #expect(
        Self.pressed(&view, [.enter, .character("y")], table)
          == [.answer(PairingPromptID(rawValue: 8), .accept)])
    }
  }

  @Test("keys that are typed into a filter do not answer a question that comes meanwhile")
  func whileTyping() {
    let table = Self.table(1)
    var view = LiveView()
    #expect(Self.pressed(&view, [.character("/"), .character("l")], table).isEmpty)
    view.ask(PairingQuestion(peer: Self.peer, prompt: .consent, id: .init(rawValue: 7)))
    #expect(Self.pressed(&view, [.character("y")], table).isEmpty)
    #expect(view.pairing != nil)
  }

  @Test("each answer in a dialogue of lines goes to the question it was typed for")
  func lineDialogue() {
    func question(_ number: UInt64, _ prompt: PairingPrompt) -> PairingQuestion {
      let peer = DeviceAddress(bits: 0xC000_0000_0000 + number, kind: .random)
      return PairingQuestion(peer: peer, prompt: prompt, id: .init(rawValue: number))
    }
    let (stranger, owner) = (question(1, .consent), question(2, .enterPasskey))
    var questions = PairingQuestions()
    #expect(questions.take("yes") == .unneeded)
    #expect(questions.ask(stranger, "Pair?") == "Pairing 1: Pair? (yes or no)")
    #expect(questions.ask(owner, "Key?") == "Pairing 2: Key? (2 and its six digits)")
    // A silent stranger's question is not in the owner's way, and gets no answer by mistake.
    guard case .refused = questions.take("123456") else {
      Issue.record("it is not certain what it was typed for")
      return
    }
    #expect(questions.take("2 123-456") == .answered(owner.id, .passkey(123_456)))
    #expect(questions.take("1 no") == .answered(stranger.id, .reject))
    // One takes the place of another that ended.
    _ = questions.ask(stranger, "Pair?")
    let wasOpen = questions.end(stranger.peer)
    #expect(wasOpen)
    _ = questions.ask(question(3, .compareNumber(5)), "Equal?")
    guard case .refused = questions.take("yes") else {
      Issue.record("it was typed for the one before")
      return
    }
    #expect(questions.take("4 yes") == .answered(.init(rawValue: 3), .accept))
    _ = questions.ask(question(4, .consent), "Pair?")
    #expect(questions.take("y") == .answered(.init(rawValue: 4), .accept))
    var first = PairingQuestions()
    _ = first.ask(owner, "Key?")
    #expect(first.take("001 234") == .answered(owner.id, .passkey(1_234)))
  }

  @Test("a line typed in an interactive session answers its question")
  func lines() {
    func answer(_ prompt: PairingPrompt, _ line: String) -> PairingAnswer {
      PairingQuestion(peer: Self.peer, prompt: prompt, id: PairingPromptID(rawValue: 1))
        .answer(line)
    }
    #expect(answer(.enterPasskey, " 000123 ") == .passkey(123))
    for text in ["123 456", "123-456", "123–456", "123456"] {
      #expect(answer(.enterPasskey, text) == .passkey(123_456), "\(text)")
    }
    #expect(answer(.enterPasskey, "1234567") == .reject && answer(.enterPasskey, "-") == .reject)
    #expect(answer(.enterPasskey, "read 2A19") == .reject)
    #expect(answer(.compareNumber(1), "Yes") == .accept && answer(.consent, "y") == .accept)
    #expect(answer(.compareNumber(1), "") == .reject && answer(.consent, "no") == .reject)
  }
}
