#if Messaging
  /// Writes elements as UTF-8.
  package struct XMLWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// The bytes of an element within a stream whose default namespace is `jabber:client` and whose prefix `stream` is
    /// declared.
    package static func bytes(of element: XMLElement) -> [UInt8] {
      var writer = XMLWriter()
      writer.write(element, inside: Namespace.client)
      return writer.bytes
    }

    /// The opening tag of a stream, a client's unless its content has another namespace.
    package static func opening(
      _ header: StreamHeader, content: String = Namespace.client, language: String? = nil
    ) -> [UInt8] {
      var writer = XMLWriter()
      writer.append("<?xml version='1.0'?><stream:stream xmlns='\(content)' ")
      writer.append("xmlns:stream='\(Namespace.stream)'")
      for (name, value) in [
        ("from", header.from), ("to", header.to), ("id", header.id), ("version", header.version),
        ("xml:lang", language),
      ] {
        if let value { writer.appendAttribute(name, value) }
      }
      writer.append(">")
      return writer.bytes
    }

    /// The closing tag of a stream.
    package static let closing = Array("</stream:stream>".utf8)

    /// Writes an element where a default namespace is declared. Recursion is bounded by the depth of the element.
    package mutating func write(_ element: XMLElement, inside defaultNamespace: String) {
      let isStream = element.namespace == Namespace.stream
      let name = isStream ? "stream:\(element.name)" : element.name
      let namespace = isStream ? defaultNamespace : element.namespace
      append("<")
      append(name)
      if namespace != defaultNamespace { appendAttribute("xmlns", namespace) }
      for (index, attribute) in element.attributes.enumerated() {
        if attribute.namespace.isEmpty {
          appendAttribute(attribute.name, attribute.value)
        } else if attribute.namespace == Namespace.xml {
          appendAttribute("xml:\(attribute.name)", attribute.value)
        } else {
          appendAttribute("xmlns:n\(index)", attribute.namespace)
          appendAttribute("n\(index):\(attribute.name)", attribute.value)
        }
      }
      guard !element.content.isEmpty else { return append("/>") }
      append(">")
      for part in element.content {
        switch part {
        case .text(let text): appendEscaped(text, isAttribute: false)
        case .element(let child): write(child, inside: namespace)
        }
      }
      append("</")
      append(name)
      append(">")
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func appendAttribute(_ name: String, _ value: String) {
      append(" \(name)='")
      appendEscaped(value, isAttribute: true)
      append("'")
    }

    /// Whether a byte is an ASCII character that is written as it is, as most are.
    private static func isPlain(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "'"): false
      case 0x20..<0x80: true
      default: false
      }
    }

    /// Characters that XML can't carry become U+FFFD: one of them would end the stream, with all other messages.
    private mutating func appendEscaped(_ text: String, isAttribute: Bool) {
      guard !text.utf8.allSatisfy(Self.isPlain) else { return append(text) }
      for scalar in text.unicodeScalars {
        switch scalar {
        case "&": append("&amp;")
        case "<": append("&lt;")
        // Also because of "]]>", which text may not contain.
        case ">": append("&gt;")
        case "'" where isAttribute: append("&apos;")
        // A parser would read an end of line in an attribute as a blank, and a carriage return in text as another.
        case "\r": append("&#13;")
        case "\n" where isAttribute: append("&#10;")
        case "\t" where isAttribute: append("&#9;")
        default:
          if scalar.isASCII, scalar.value >= 0x20 {
            bytes.append(UInt8(truncatingIfNeeded: scalar.value))
          } else {
            bytes.append(contentsOf: UTF8.encode(scalar.isXML ? scalar : "\u{FFFD}") ?? .init())
          }
        }
      }
    }
  }

  extension Unicode.Scalar {
    /// Whether XML 1.0 has the character (§2.2).
    package var isXML: Bool {
      switch value {
      case 0x09, 0x0A, 0x0D, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: true
      default: false
      }
    }
  }

  extension String {
    /// Whether a stanza can carry the text unchanged. Other characters would arrive as U+FFFD.
    package var isXMLText: Bool {
      utf8.allSatisfy { (0x20...0x7F).contains($0) } || unicodeScalars.allSatisfy(\.isXML)
    }
  }
#endif
