#if Messaging
  import Essentials
  import Foundation
  import FoundationXML
  import Testing
  import XMPPWire

  /// Our parser and libxml2, through Foundation, on the same bytes.
  @Suite("Agreement with another parser of XML")
  struct DifferentialTests {
    /// The events of a document, as both parsers have them.
    private final class Recorder: NSObject, XMLParserDelegate {
      var events: [String] = []
      var hasFailed = false
      private var text = ""
      private var depth = 0

      /// White space between stanzas is none of their content.
      private func takeText() {
        if !text.isEmpty, depth > 1 { events.append("text \(text)") }
        text = ""
      }

      func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
        qualifiedName: String?, attributes: [String: String]
      ) {
        takeText()
        depth += 1
        // Ours leaves out the prefixes of attributes.
        let values = attributes.map { "\($0.key.split(separator: ":").last ?? "")=\($0.value)" }
          .sorted()
        events.append("start \(namespaceURI ?? "") \(name) \(values)")
      }

      func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?,
        qualifiedName: String?
      ) {
        takeText()
        depth -= 1
        events.append("end \(name)")
      }

      func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
        // XML_WAR_NS_URI and XML_WAR_NS_URI_RELATIVE: a namespace that is no URI, which XML allows.
        if ![99, 100].contains((error as NSError).code) { hasFailed = true }
      }

      func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

      func parser(_ parser: XMLParser, foundCDATA block: Data) {
        // libxml2 leaves the ends of lines in them (§2.11).
        text += String(decoding: block, as: UTF8.self).replacing("\r\n", with: "\n")
          .replacing("\r", with: "\n")
      }
    }

    private static func foreignEvents(_ bytes: [UInt8]) -> [String]? {
      let parser = XMLParser(data: Data(bytes))
      parser.shouldProcessNamespaces = true
      parser.shouldResolveExternalEntities = false
      let recorder = Recorder()
      parser.delegate = recorder
      return parser.parse() && !recorder.hasFailed ? recorder.events : nil
    }

    private static func events(_ element: XMPPWire.XMLElement) -> [String] {
      let values = element.attributes.map { "\($0.name)=\($0.value)" }.sorted()
      var events = ["start \(element.namespace) \(element.name) \(values)"]
      for part in element.content {
        switch part {
        case .text(let text): events.append("text \(text)")
        case .element(let child): events += self.events(child)
        }
      }
      return events + ["end \(element.name)"]
    }

    private static let opening =
      "<stream:stream xmlns='jabber:client' xmlns:stream='\(Namespace.stream)'>"
    private static let stanzas = [
      "<message to='a' id=\"b\"><body>x &lt; &#233; y</body><z xmlns='urn:u'><y c='d&amp;'/></z></message>",
      "<p:iq xmlns:p='urn:p' p:a='1' a='2'><p:q xmlns:p='urn:r'/><q xmlns=''>\u{E9}</q></p:iq>",
      "<presence><![CDATA[<a> ]] > & ]]>t&#x9;&#10;<a\n b = 'c\td' >&quot;&apos;&gt;</a ></presence>",
    ].map { Array($0.utf8) }
    /// Without characters that only the fifth edition of XML 1.0 has in names: Expat has those of the fourth.
    private static let pieces =
      [
        "<", ">", "/", "'", "\"", "&", ";", "=", "#", "x", "1", " ", "]", ":", "\n", "\r", "\t",
        "\0", "!",
        "?", "-", "]]>", "<![CDATA[", "&#x41;", "&#0;", "&#xD800;", "&#xFFFE;", "&amp;", "&nbsp;",
        "xmlns", "xmlns:p='urn:q'", "xmlns=''", "xml:lang='en'", "a='3'", "<a/>", "</a>", "\u{E9}",
        "\u{FFFE}", "\u{FFFF}",
      ].map { Array($0.utf8) } + [
        [0x80], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5], [0xFF],
      ]

    /// - Parameter countMax: The number of changes at most.
    private static func mutated(_ countMax: Int, _ chance: inout SeededGenerator) -> [UInt8] {
      var bytes = stanzas.randomElement(using: &chance) ?? []
      for _ in 0..<Int.random(in: 1...countMax, using: &chance) where !bytes.isEmpty {
        let index = Int.random(in: 0..<bytes.count, using: &chance)
        let piece = pieces.randomElement(using: &chance) ?? []
        switch Int.random(in: 0..<5, using: &chance) {
        case 0: bytes.replaceSubrange(index...index, with: piece)
        case 1: bytes.remove(at: index)
        case 2:
          // A part comes again, elsewhere.
          let end = Int.random(in: index..<bytes.count, using: &chance)
          let place = Int.random(in: 0...bytes.count, using: &chance)
          bytes.insert(contentsOf: Array(bytes[index...end].prefix(40)), at: place)
        default: bytes.insert(contentsOf: piece, at: index)
        }
      }
      return bytes
    }

    private struct Counts {
      var taken = 0
      var refused = 0
      /// Refused by ours because of the profile of XMPP; the other parser takes a part of them.
      var restricted = 0
    }

    /// The difference between both parsers; nil if they agree.
    private static func difference(_ stanza: [UInt8], _ counts: inout Counts) -> String? {
      let stream = Array(opening.utf8) + stanza + Array("</stream:stream>".utf8)
      let result = parse(stream)
      // Foundation's parser reports no elements of a document that XMPP restricts, and ours no text between stanzas.
      if result.error == .restricted || result.error == .notAStream {
        counts.restricted += 1
        return nil
      }
      let isTaken = result.error == nil && result.items.last == .end
      // Foundation traps on a processing instruction without data, behind another fault that ours stops at.
      if !isTaken, stream.contains(Array("<?".utf8)) {
        counts.refused += 1
        return nil
      }
      // Foundation traps on some names that are not UTF-8, and takes other bytes that are not.
      guard String(validating: stream, as: UTF8.self) != nil else {
        counts.refused += 1
        return isTaken ? "ours takes bytes that are not UTF-8" : nil
      }
      let foreign = foreignEvents(stream)
      guard isTaken, let foreign else {
        counts.refused += 1
        return isTaken == (foreign != nil)
          ? nil : "ours \(isTaken ? "takes" : "refuses") it (\(String(describing: result.error)))"
      }
      counts.taken += 1
      let own = result.items.flatMap { item in
        if case .element(let element) = item { events(element) } else { [] as [String] }
      }
      let others = Array(foreign.dropFirst().dropLast())
      return own == others ? nil : "\(own) is not \(others)"
    }

    /// Runs in sequence from one seed; up to ten differences are reported.
    private static func compare(seed: UInt64, runCount: Int, changesMax: Int) -> Counts {
      var chance = SeededGenerator(seed: seed)
      var counts = Counts()
      var differenceCount = 0
      for round in 0..<runCount where differenceCount < 10 {
        let stanza = mutated(changesMax, &chance)
        guard let difference = difference(stanza, &counts) else { continue }
        differenceCount += 1
        Issue.record(
          "seed \(seed), round \(round): \(difference): \(String(decoding: stanza, as: UTF8.self)), \(stanza)"
        )
      }
      return counts
    }

    @Test(
      "both take the same mutated stanzas, with the same content, and refuse the others",
      arguments: 1...8 as ClosedRange<UInt64>)
    func agreement(seed: UInt64) {
      let counts = Self.compare(seed: seed, runCount: 500, changesMax: 2)
      #expect(counts.taken > 20 && counts.refused > 50)
    }

    private static let longRunCount = ProcessInfo.processInfo.environment["AMBIT_XML_RUNS"].flatMap
    {
      Int($0)
    }

    @Test("A long run finds no difference either", .enabled(if: longRunCount != nil))
    func longRun() {
      let count = Self.longRunCount ?? 0
      let environment = ProcessInfo.processInfo.environment
      let seed = environment["AMBIT_XML_SEED"].flatMap(UInt64.init) ?? .random(in: 1...1_000_000)
      // Unbuffered: a parser that traps leaves the seed.
      FileHandle.standardError.write(Data("seed \(seed)\n".utf8))
      let counts = Self.compare(seed: seed, runCount: count, changesMax: 6)
      print(
        "seed \(seed): \(count) runs, \(counts.taken) taken and \(counts.refused) refused by both, "
          + "\(counts.restricted) refused by the profile of XMPP")
    }
  }
#endif
