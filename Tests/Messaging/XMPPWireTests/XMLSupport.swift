#if Messaging
  import Essentials
  import XMPPWire

  /// What a parser made of bytes: the parts of the stream, and the error that ended it.
  struct ParseResult: Equatable {
    var items: [StreamItem] = []
    var error: XMLStreamError?
    var bufferedByteCount = 0
  }

  let header = XMLWriter.opening(StreamHeader(from: "example.org", id: "s1"))

  /// Parses bytes in chunks, taking all items after each.
  func parse(
    _ bytes: [UInt8], chunks: [Int]? = nil, limits: XMLLimits = XMLLimits()
  ) -> ParseResult {
    let parser = XMLStreamParser(limits: limits)
    var result = ParseResult()
    var rest = bytes[...]
    var sizes = (chunks ?? [])[...]
    while !rest.isEmpty {
      let count = max(1, sizes.popFirst() ?? rest.count)
      parser.append(rest.prefix(count))
      rest = rest.dropFirst(count)
      do throws(XMLStreamError) {
        while let item = try parser.next() { result.items.append(item) }
      } catch {
        result.error = error
        return result
      }
    }
    result.bufferedByteCount = parser.bufferedByteCount
    return result
  }

  /// Parses a text as what follows the header of a stream.
  func parse(stanzas text: String, limits: XMLLimits = XMLLimits()) -> ParseResult {
    var result = parse(header + Array(text.utf8), limits: limits)
    if !result.items.isEmpty { result.items.removeFirst() }
    return result
  }

  /// The element that a text is, within a stream of clients; nil if it is no element.
  func parsedElement(_ text: String) -> XMPPWire.XMLElement? {
    let result = parse(stanzas: text)
    guard result.error == nil, case .element(let element)? = result.items.first,
      result.items.count == 1
    else { return nil }
    return element
  }

  extension SeededGenerator {
    mutating func element(depth: Int = 0) -> XMPPWire.XMLElement {
      let names = ["a", "body", "x", "query", "ä", "result"]
      let namespaces = [
        Namespace.client, Namespace.archive, "", "urn:x:y", "http://example.org/?a&b",
      ]
      func pick<T>(_ list: [T]) -> T? { list.randomElement(using: &self) }
      var element = XMLElement(
        pick(names) ?? "a", depth == 0 ? Namespace.client : pick(namespaces) ?? "")
      for index in 0..<Int.random(in: 0..<4, using: &self) {
        let namespace = pick(["", "", Namespace.xml, "urn:attribute"]) ?? ""
        element.attributes.append(
          XMLElement.Attribute("n\(index)", namespace: namespace, text()))
      }
      guard depth < 5 else { return element }
      for _ in 0..<Int.random(in: 0..<4, using: &self) {
        if Bool.random(using: &self), case .text? = element.content.last {
          element.append(self.element(depth: depth + 1))
        } else if Bool.random(using: &self) {
          let text = text()
          if !text.isEmpty,
            element.content.last.map({ if case .text = $0 { false } else { true } }) ?? true
          {
            element.content.append(.text(text))
          }
        } else {
          element.append(self.element(depth: depth + 1))
        }
      }
      return element
    }

    mutating func text() -> String {
      let characters: [Unicode.Scalar] = [
        "a", "b", " ", "<", ">", "&", "'", "\"", "]", "]", ">", "\n", "\t", "\r", "é", "\u{301}",
        "漢",
        "😀", "\u{FFFD}", "=", "/", ";",
      ]
      var text = ""
      for _ in 0..<Int.random(in: 0..<12, using: &self) {
        if let character = characters.randomElement(using: &self) {
          text.unicodeScalars.append(character)
        }
      }
      return text
    }
  }
#endif
