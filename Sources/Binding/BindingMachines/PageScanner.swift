/// The start tag of an element in an HTML page.
package struct PageElement: Hashable, Sendable {
  package struct Attribute: Hashable, Sendable {
    package var name: String
    package var value: String
    /// The line, starting at 1.
    package var line: Int
  }

  /// The name in lower case.
  package var name: String
  package var attributes: [Attribute]
  package var line: Int

  /// The attribute with this name; nil if it doesn't exist.
  package subscript(name: String) -> Attribute? { attributes.first { $0.name == name } }
}

/// Finds the start and end tags of an HTML page, and skips comments, scripts, styles and text. It
/// accepts any bytes; malformed tags count as text.
package struct PageScanner {
  package enum Tag: Hashable, Sendable {
    case start(PageElement)
    case end(String)
  }

  private let bytes: [UInt8]
  private var index = 0
  private var line = 1
  /// The element whose content isn't markup, until its end tag.
  private var rawElement: String?

  private static let rawElements: Set = ["script", "style", "textarea", "title"]

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The tags of a page, in order.
  package static func tags(of page: [UInt8]) -> [Tag] {
    var scanner = PageScanner(page)
    var tags: [Tag] = []
    while let tag = scanner.next() { tags.append(tag) }
    return tags
  }

  private mutating func next() -> Tag? {
    while index < bytes.count {
      guard bytes[index] == UInt8(ascii: "<") else {
        advance()
        continue
      }
      if let rawElement {
        guard let tag = endTag(of: rawElement) else {
          advance()
          continue
        }
        self.rawElement = nil
        return tag
      }
      if starts(with: "<!--") {
        skip(to: "-->", from: 4)
      } else if starts(with: "<!") || starts(with: "<?") {
        skip(to: ">", from: 1)
      } else if let tag = endTag() ?? startTag() {
        return tag
      } else {
        advance()
      }
    }
    return nil
  }

  // MARK: Tags

  /// An end tag, if one begins here, of a particular element if one is given; otherwise nothing is
  /// read.
  private mutating func endTag(of element: String? = nil) -> Tag? {
    guard starts(with: "</"), let name = name(at: index + 2), element == nil || element == name
    else { return nil }
    skip(to: ">", from: 2 + name.utf8.count)
    return .end(name)
  }

  /// A start tag, if one begins here; otherwise nothing is read.
  private mutating func startTag() -> Tag? {
    guard let name = name(at: index + 1) else { return nil }
    var element = PageElement(name: name, attributes: [], line: line)
    for _ in 0...name.utf8.count { advance() }
    while let attribute = attribute() {
      // The first one counts, as for browsers.
      if element[attribute.name] == nil { element.attributes.append(attribute) }
    }
    if Self.rawElements.contains(name) { rawElement = name }
    return .start(element)
  }

  /// Letters and what may follow them in the name of an element, in lower case.
  private func name(at start: Int) -> String? {
    var end = start
    while end < bytes.count, Self.isNameByte(bytes[end]) { end += 1 }
    guard end > start, Self.isLetter(bytes[start]) else { return nil }
    return String(decoding: bytes[start..<end], as: UTF8.self).lowercased()
  }

  /// The next attribute; nil at the end of the tag, which is read.
  private mutating func attribute() -> PageElement.Attribute? {
    while index < bytes.count, Self.isBlank(bytes[index]) || bytes[index] == UInt8(ascii: "/") {
      advance()
    }
    guard index < bytes.count, bytes[index] != UInt8(ascii: ">") else {
      if index < bytes.count { advance() }
      return nil
    }
    let attributeLine = line
    let name = take { !Self.isBlank($0) && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ">") }
    // An equals sign where a name should be is one, to browsers.
    if name.isEmpty { advance() }
    skipBlanks()
    guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else {
      return .init(name: name.lowercased(), value: "", line: attributeLine)
    }
    advance()
    skipBlanks()
    return .init(name: name.lowercased(), value: value(), line: attributeLine)
  }

  private mutating func value() -> String {
    guard index < bytes.count else { return "" }
    let quote = bytes[index]
    guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
      return take { !Self.isBlank($0) && $0 != UInt8(ascii: ">") }
    }
    advance()
    let value = take { $0 != quote }
    if index < bytes.count { advance() }
    return value
  }

  // MARK: Bytes

  private mutating func advance() {
    if bytes[index] == UInt8(ascii: "\n") { line += 1 }
    index += 1
  }

  private mutating func take(while isWanted: (UInt8) -> Bool) -> String {
    let start = index
    while index < bytes.count, isWanted(bytes[index]) { advance() }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func skipBlanks() {
    while index < bytes.count, Self.isBlank(bytes[index]) { advance() }
  }

  /// Skips `count` bytes, and then up to and including `end`; to the end of the page if `end` is
  /// missing.
  private mutating func skip(to end: StaticString, from count: Int) {
    for _ in 0..<count where index < bytes.count { advance() }
    while index < bytes.count, !starts(with: end) { advance() }
    for _ in 0..<end.utf8CodeUnitCount where index < bytes.count { advance() }
  }

  private func starts(with text: StaticString) -> Bool {
    bytes[index...].starts(with: "\(text)".utf8)
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    Self.isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || byte == UInt8(ascii: "-")
  }
}
