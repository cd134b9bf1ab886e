#if Messaging
  /// Finds the ends of stanzas in a stream, byte by byte and each byte once, and enforces ``XMLLimits`` and RFC 6120's
  /// restrictions on the way, so that Expat gets nothing that could keep it busy or make it grow.
  ///
  /// It doesn't check that the bytes are well-formed, only that it agrees with a parser on where tags end.
  struct XMLScanner {
    /// What a byte has completed.
    enum Boundary: Equatable {
      /// The opening tag of the stream.
      case header
      /// A child of the stream.
      case stanza
      /// The closing tag of the stream.
      case end
    }

    private enum State {
      case text
      /// After `&`, with the number of bytes since.
      case reference(Int)
      /// After `<`.
      case tagStart
      /// After `<!`, with the number of matching bytes of `[CDATA[`.
      case declaration(Int)
      /// In `<?xml … ?>`, with whether the last byte was `?`.
      case xmlDeclaration(byteCount: Int, isEnding: Bool)
      /// In a section of character data, with the number of `]` before.
      case characterData(Int)
      /// Inside a tag and outside quotes.
      case tag
      /// Inside the value of an attribute.
      case value(UInt8)
    }

    private static let characterData = Array("[CDATA[".utf8)
    private static let declarationStart = Array("xml".utf8)

    private let limits: XMLLimits
    private var state = State.text
    private var depth = 0
    private var tagByteCount = 0
    private var attributeCount = 0
    private var elementCount = 0
    private var isClosing = false
    /// The last byte of a tag that is not white space.
    private var lastByte: UInt8 = 0
    private(set) var stanzaByteCount = 0
    private var mayDeclare = true
    /// Names that Expat may remember: elements and attributes since the last reset.
    private(set) var nameCount = 0

    init(limits: XMLLimits) { self.limits = limits }

    /// Forgets the names, when the parser was reset.
    mutating func forgetNames() { nameCount = 0 }

    /// Reads bytes up to the next boundary; returns it with the index after it, or nil at the end of the bytes.
    mutating func scan(
      _ bytes: [UInt8], from start: Int
    ) throws(XMLStreamError) -> (Boundary, end: Int)? {
      var index = start
      while index < bytes.count {
        index = try skip(bytes, from: index)
        guard index < bytes.count else { return nil }
        let byte = bytes[index]
        index += 1
        stanzaByteCount += 1
        guard stanzaByteCount <= limits.stanzaByteCountMax else { throw .tooLong(.stanza) }
        guard let boundary = try take(byte) else { continue }
        stanzaByteCount = 0
        elementCount = 0
        return (boundary, index)
      }
      return nil
    }

    /// Passes over text and values of attributes, up to a byte that changes the state. Most bytes of a stanza are there.
    private mutating func skip(
      _ bytes: [UInt8], from start: Int
    ) throws(XMLStreamError) -> Int {
      var index = start
      switch state {
      case .text where depth > 1:
        while index < bytes.count, bytes[index] != UInt8(ascii: "<"),
          bytes[index] != UInt8(ascii: "&")
        {
          index += 1
        }
      case .value(let quote):
        while index < bytes.count, bytes[index] != quote, bytes[index] != UInt8(ascii: "<") {
          index += 1
        }
        guard tagByteCount + index - start <= limits.tagByteCountMax else { throw .tooLong(.tag) }
        tagByteCount += index - start
      default: return start
      }
      stanzaByteCount += index - start
      guard stanzaByteCount <= limits.stanzaByteCountMax else { throw .tooLong(.stanza) }
      return index
    }

    private mutating func take(_ byte: UInt8) throws(XMLStreamError) -> Boundary? {
      switch state {
      case .text: try takeText(byte)
      case .reference(let count):
        // The longest of use, "&#x10FFFF;", may have leading zeros.
        guard count < 32, byte != UInt8(ascii: "<"), byte != UInt8(ascii: "&") else {
          throw .notWellFormed(code: 0)
        }
        state = byte == UInt8(ascii: ";") ? .text : .reference(count + 1)
      case .tagStart: return try takeTagStart(byte)
      case .declaration(let count):
        guard Self.characterData[count] == byte else { throw .restricted }
        state = count + 1 == Self.characterData.count ? .characterData(0) : .declaration(count + 1)
      case .xmlDeclaration(let count, let isEnding): try takeXMLDeclaration(byte, count, isEnding)
      case .characterData(let count):
        if byte == UInt8(ascii: "]") {
          state = .characterData(min(2, count + 1))
        } else {
          state = byte == UInt8(ascii: ">") && count == 2 ? .text : .characterData(0)
        }
      case .tag: return try takeTag(byte)
      case .value(let quote):
        try countTagByte()
        guard byte != UInt8(ascii: "<") else { throw .notWellFormed(code: 0) }
        if byte == quote {
          state = .tag
          lastByte = byte
        }
      }
      return nil
    }

    private mutating func takeText(_ byte: UInt8) throws(XMLStreamError) {
      switch byte {
      case UInt8(ascii: "<"): state = .tagStart
      case 0x20, 0x09, 0x0A, 0x0D:
        // White space between stanzas keeps connections alive, and isn't part of a stanza.
        if depth == 1 { stanzaByteCount = 0 }
        if depth == 0 { mayDeclare = false }
      case UInt8(ascii: "&") where depth > 1: state = .reference(0)
      default: guard depth > 1 else { throw .notAStream }
      }
    }

    private mutating func takeTagStart(_ byte: UInt8) throws(XMLStreamError) -> Boundary? {
      let mayDeclare = self.mayDeclare
      self.mayDeclare = false
      tagByteCount = 2
      attributeCount = 0
      lastByte = 0
      isClosing = false
      switch byte {
      case UInt8(ascii: "!"):
        guard depth > 1 else { throw .restricted }
        state = .declaration(0)
      case UInt8(ascii: "?"):
        guard mayDeclare else { throw .restricted }
        state = .xmlDeclaration(byteCount: 0, isEnding: false)
      case UInt8(ascii: "/"):
        guard depth > 0 else { throw .notWellFormed(code: 0) }
        isClosing = true
        state = .tag
      // The first byte of a name; of characters beyond ASCII Expat knows which begin one.
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "_"), UInt8(ascii: ":"), 0x80...:
        state = .tag
        tagByteCount = 1
        elementCount += 1
        guard elementCount <= limits.elementCountMax else { throw .tooLong(.elements) }
        return try takeTag(byte)
      default: throw .notWellFormed(code: 0)
      }
      return nil
    }

    private mutating func takeXMLDeclaration(
      _ byte: UInt8, _ count: Int, _ isEnding: Bool
    ) throws(XMLStreamError) {
      // Another target is a processing instruction.
      if count < 3, byte != Self.declarationStart[count] { throw .restricted }
      if count == 3, ![0x20, 0x09, 0x0A, 0x0D].contains(byte) { throw .restricted }
      guard count < 256 else { throw .notWellFormed(code: 0) }
      if isEnding, byte == UInt8(ascii: ">") {
        state = .text
      } else {
        state = .xmlDeclaration(byteCount: count + 1, isEnding: byte == UInt8(ascii: "?"))
      }
    }

    private mutating func takeTag(_ byte: UInt8) throws(XMLStreamError) -> Boundary? {
      try countTagByte()
      switch byte {
      case UInt8(ascii: ">"): return try endTag()
      case UInt8(ascii: "<"): throw .notWellFormed(code: 0)
      case UInt8(ascii: "'"), UInt8(ascii: "\""):
        guard lastByte == UInt8(ascii: "=") else { throw .notWellFormed(code: 0) }
        attributeCount += 1
        guard attributeCount <= limits.attributeCountMax else { throw .tooLong(.attributes) }
        state = .value(byte)
      case 0x20, 0x09, 0x0A, 0x0D: break
      default: lastByte = byte
      }
      return nil
    }

    private mutating func endTag() throws(XMLStreamError) -> Boundary? {
      state = .text
      if isClosing {
        depth -= 1
      } else {
        nameCount += 1 + attributeCount
        if lastByte != UInt8(ascii: "/") {
          depth += 1
          guard depth <= limits.depthMax else { throw .tooLong(.depth) }
          return depth == 1 ? .header : nil
        }
      }
      return switch depth {
      case 0: .end
      case 1: .stanza
      default: nil
      }
    }

    private mutating func countTagByte() throws(XMLStreamError) {
      tagByteCount += 1
      guard tagByteCount <= limits.tagByteCountMax else { throw .tooLong(.tag) }
    }
  }
#endif
