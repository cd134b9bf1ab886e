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

      private func takeText() {
        if !text.isEmpty { events.append("text \(text)") }
        text = ""
      }

      func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
        qualifiedName: String?, attributes: [String: String]
      ) {
        takeText()
        let values = attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        events.append("start \(namespaceURI ?? "") \(name) \(values)")
      }

      func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?,
        qualifiedName: String?
      ) {
        takeText()
        events.append("end \(name)")
      }

      func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
        // XML_WAR_NS_URI and XML_WAR_NS_URI_RELATIVE: a namespace that is no URI, which XML allows.
        if ![99, 100].contains((error as NSError).code) { hasFailed = true }
      }

      func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

      func parser(_ parser: XMLParser, foundCDATA block: Data) {
        text += String(decoding: block, as: UTF8.self)
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
    private static let stanza =
      "<message to='a' id=\"b\"><body>x &lt; &#233; y</body><z xmlns='urn:u'><y c='d&amp;'/></z></message>"

    private static func mutated(_ chance: inout SeededGenerator) -> [UInt8] {
      var bytes = Array(stanza.utf8)
      for _ in 0..<Int.random(in: 1...2, using: &chance) {
        let index = Int.random(in: 0..<bytes.count, using: &chance)
        let characters = Array("<>/'\"&;=#x1 abc]".utf8)
        switch Int.random(in: 0..<3, using: &chance) {
        case 0: bytes[index] = characters.randomElement(using: &chance) ?? 0x20
        case 1: bytes.remove(at: index)
        default: bytes.insert(characters.randomElement(using: &chance) ?? 0x20, at: index)
        }
      }
      return bytes
    }

    @Test(
      "both take the same mutated stanzas, with the same content, and refuse the others",
      arguments: 1...8 as ClosedRange<UInt64>)
    func agreement(seed: UInt64) {
      var chance = SeededGenerator(seed: seed)
      var (takenCount, refusedCount) = (0, 0)
      for round in 0..<500 {
        let stanza = Self.mutated(&chance)
        let stream = Array(Self.opening.utf8) + stanza + Array("</stream:stream>".utf8)
        let result = parse(stream)
        // Foundation's parser reports no elements of a document that XMPP restricts, and ours no text between stanzas.
        if result.error == .restricted || result.error == .notAStream { continue }
        let isTaken = result.error == nil && result.items.last == .end
        let foreign = Self.foreignEvents(stream)
        let text = String(decoding: stanza, as: UTF8.self)
        #expect(isTaken == (foreign != nil), "seed \(seed), round \(round): \(text)")
        guard isTaken, let foreign else {
          refusedCount += 1
          continue
        }
        takenCount += 1
        let own = result.items.flatMap { item in
          if case .element(let element) = item { Self.events(element) } else { [] as [String] }
        }
        #expect(
          own == Array(foreign.dropFirst().dropLast()), "seed \(seed), round \(round): \(text)")
      }
      #expect(takenCount > 20 && refusedCount > 50)
    }
  }
#endif
