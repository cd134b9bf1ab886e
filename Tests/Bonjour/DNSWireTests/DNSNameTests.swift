import DNSWire
import Essentials
import Testing

@Suite("DNS names")
struct DNSNameTests {
  @Test("a name on the wire is its labels after their lengths, and a zero")
  func wireForm() throws {
    #expect(try DNSName(text: "a.bc.").wireBytes == [1, 97, 2, 98, 99, 0])
    #expect(try DNSName(text: "a.bc").wireBytes == [1, 97, 2, 98, 99, 0])
    #expect(DNSName.root.wireBytes == [0])
    #expect(try DNSName(text: ".") == .root)
    #expect(try DNSName(text: "") == .root)
  }

  @Test(
    "A25: names are compared without regard to the case of ASCII letters, which is kept",
    arguments: [("MyPrinter.Local.", "myprinter.LOCAL."), ("[\\001]Z.", "[\\001]z.")])
  func asciiCase(_ a: String, _ b: String) throws {
    let (first, second) = (try DNSName(text: a), try DNSName(text: b))
    #expect(first == second)
    #expect(first.hashValue == second.hashValue)
    #expect(first.description == a)
  }

  @Test(
    "A25: every byte but a letter of ASCII counts as it is",
    arguments: [("É.local.", "é.local."), ("@.", "`."), ("[.", "{."), ("\\193.", "\\225.")])
  func otherBytes(_ a: String, _ b: String) throws {
    #expect(try DNSName(text: a) != DNSName(text: b))
  }

  @Test("folding eight bytes at once is folding each of them")
  func folding() throws {
    // Each byte in each place of a word, against the folding of one byte.
    for byte in UInt8.min...UInt8.max {
      let isLetter = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
      for position in 0..<9 {
        var label = Array("abcdefghi".utf8)
        label[position] = byte
        var folded = label
        if isLetter { folded[position] = byte + 32 }
        let (a, b) = (try DNSName(labels: [label]), try DNSName(labels: [folded]))
        #expect(a == b)
        #expect(a.hashValue == b.hashValue)
        var other = label
        other[position] = byte ^ 0x20
        let isOtherLetter = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & ~0x20)
        #expect((try DNSName(labels: [other]) == a) == isOtherLetter)
      }
    }
  }

  @Test(
    "E2: dots, backslashes and unprintable bytes are escaped, and read again",
    arguments: [
      ([[77, 114, 46, 65]], "Mr\\.A."), ([[92]], "\\\\."), ([[97, 32, 98]], "a\\032b."),
      ([[0, 31, 127]], "\\000\\031\\127."), ([[255, 97]], "\\255a."), ([[195, 171]], "ë."),
      ([[34, 36, 64, 59]], "\"$@;."),
    ] as [([[UInt8]], String)])
  func escapes(labels: [[UInt8]], text: String) throws {
    let name = try DNSName(labels: labels)
    #expect(name.description == text)
    #expect(try DNSName(text: text).wireBytes == name.wireBytes)
  }

  @Test(
    "text that is no name is refused with the reason",
    arguments: [
      ("a..b", DNSWireError.emptyLabel), ("..", .emptyLabel), (".a", .emptyLabel),
      ("a\\", .invalidEscape), ("a\\25", .invalidEscape), ("a\\256", .invalidEscape),
      ("a\\1x2", .invalidEscape),
      (String(repeating: "x", count: 64) + ".local", .labelTooLong(byteCount: 64)),
    ])
  func refusedText(text: String, error: DNSWireError) {
    #expect(throws: error) { try DNSName(text: text) }
  }

  @Test("A26: a name may have 255 bytes before the root label, and not one more")
  func longestName() throws {
    let long = Array(repeating: UInt8(ascii: "x"), count: 63)
    let name = try DNSName(labels: [long, long, long, Array(long.prefix(62))])
    #expect(name.wireBytes.count == 256)
    #expect(throws: DNSWireError.nameTooLong) { try DNSName(labels: [long, long, long, long]) }
    #expect(throws: DNSWireError.nameTooLong) { try name.prepending("a".utf8) }
    let short = try DNSName(labels: [long, long, long, Array(long.prefix(60))])
    #expect(try short.prepending("a".utf8).wireBytes.count == 256)
    #expect(throws: DNSWireError.nameTooLong) { try short.appending("ab.") }
    #expect(try short.appending("a.").wireBytes.count == 256)
  }

  @Test("labels can be taken off, put in front and looked at")
  func surgery() throws {
    let name: DNSName = "Hall._ipp._tcp.local."
    #expect(
      name.labels.map { String(decoding: $0, as: UTF8.self) } == ["Hall", "_ipp", "_tcp", "local"])
    #expect(name.labelCount == 4)
    #expect(name.parent == "_ipp._tcp.local.")
    #expect(name.dropFirst(4) == .root)
    #expect(name.dropFirst(5) == nil)
    #expect(DNSName.root.parent == nil)
    #expect(try DNSName.local.prepending("a.b".utf8).description == "a\\.b.local.")
    #expect(throws: DNSWireError.emptyLabel) { try name.prepending([]) }
  }

  @Test("a name is within a domain if the domain's labels are its last")
  func domains() {
    #expect(("A.LOCAL." as DNSName).isWithin(.local))
    #expect(DNSName.local.isWithin(.local))
    #expect(DNSName.local.isWithin(.root))
    #expect(!("a.notlocal." as DNSName).isWithin(.local))
    #expect(!("local.a." as DNSName).isWithin(.local))
    // The bytes of the end agree here, but a label does not begin there.
    let trap = try? DNSName(labels: [[97, 5, 108, 111, 99, 97, 108]])
    #expect(trap?.isWithin(.local) == false)
  }

  @Test("an invalid name in the program's text is a programming error")
  func literals() async {
    let end = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = "a..b" as DNSName
    }
    let message = String(decoding: end?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("a..b is no name: emptyLabel"))
  }

  @Test("every name comes back from its text")
  func textRoundTrip() throws {
    let seed: UInt64 = 11
    var rng = SeededGenerator(seed: seed)
    for _ in 0..<2_000 {
      let labels = (0..<rng.next() % 6).map { _ in
        (0..<rng.next() % 20 + 1).map { _ in UInt8(truncatingIfNeeded: rng.next()) }
      }
      let name = try DNSName(labels: labels)
      #expect(try DNSName(text: name.description).wireBytes == name.wireBytes, "seed \(seed)")
    }
  }
}
