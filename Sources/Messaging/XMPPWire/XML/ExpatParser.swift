#if Messaging
  internal import CExpat

  /// Parses a stream with Expat, a stanza at a time, and builds elements.
  ///
  /// Expat gets only what ``XMLScanner`` has let through: whole stanzas within the limits. So it never has to look at a
  /// part of a token twice.
  @safe final class ExpatParser {
    /// What the bytes given last have brought.
    private(set) var header: [XMLElement.Attribute]?
    private(set) var headerName = ""
    private(set) var headerNamespace = ""
    private var stanzas: [XMLElement] = []
    /// The elements that are open, the stream not among them.
    private var open: [XMLElement] = []
    private var isInStream = false
    private var text = ""
    private var names = NameTable()
    /// The opening tag of the stream, with its declarations, which a reset parser gets again.
    private var headerBytes: [UInt8] = []
    /// An XML_Parser, created by `init` and freed by `deinit`; nil if there was no memory for one.
    private let parser: XML_Parser?

    init() {
      // No byte of UTF-8 is 0xFF, so that it separates a namespace from a name.
      unsafe parser = unsafe XML_ParserCreateNS("UTF-8", XML_Char(bitPattern: 0xFF))
      setHandlers()
    }

    deinit { if let parser = unsafe parser { unsafe XML_ParserFree(parser) } }

    /// Parses the opening tag of the stream.
    func open(_ bytes: ArraySlice<UInt8>) throws(XMLStreamError) {
      headerBytes = Array(bytes)
      try feed(bytes)
      guard isInStream, open.isEmpty, stanzas.isEmpty else { throw .notWellFormed(code: 0) }
    }

    /// Parses one child of the stream.
    func stanza(_ bytes: ArraySlice<UInt8>) throws(XMLStreamError) -> XMLElement {
      try feed(bytes)
      guard isInStream, open.isEmpty, stanzas.count == 1, let stanza = stanzas.popLast() else {
        throw .notWellFormed(code: 0)
      }
      return stanza
    }

    /// Parses the closing tag of the stream.
    func close(_ bytes: ArraySlice<UInt8>) throws(XMLStreamError) {
      try feed(bytes)
      guard !isInStream, stanzas.isEmpty else { throw .notWellFormed(code: 0) }
    }

    /// Makes Expat use the memory again that it keeps for names, between two stanzas.
    func reset() throws(XMLStreamError) {
      guard let parser = unsafe parser, unsafe XML_ParserReset(parser, "UTF-8") != 0 else {
        throw .notWellFormed(code: 1)
      }
      setHandlers()
      isInStream = false
      try feed(headerBytes[...])
    }

    private func feed(_ bytes: ArraySlice<UInt8>) throws(XMLStreamError) {
      guard let parser = unsafe parser else { throw .notWellFormed(code: 1) }
      let status = unsafe bytes.withUnsafeBytes { buffer in
        unsafe XML_Parse(
          parser, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count), 0)
      }
      guard status == 1 else {
        switch unsafe XML_GetErrorCode(parser) {
        // XML_ERROR_UNDEFINED_ENTITY, XML_ERROR_UNBOUND_PREFIX.
        case 11: throw .restricted
        case 27: throw .undeclaredPrefix
        case let code: throw .notWellFormed(code: code)
        }
      }
    }

    private func setHandlers() {
      guard let parser = unsafe parser else { return }
      unsafe CExpat_disableReparseDeferral(parser)
      // Expat calls the handlers from within XML_Parse only, which this object calls while it lives.
      unsafe XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
      unsafe XML_SetElementHandler(
        parser,
        { user, name, attributes in
          guard let user = unsafe user, let name = unsafe name else { return }
          let parser = unsafe Unmanaged<ExpatParser>.fromOpaque(user).takeUnretainedValue()
          unsafe parser.started(name, attributes)
        },
        { user, _ in
          guard let user = unsafe user else { return }
          unsafe Unmanaged<ExpatParser>.fromOpaque(user).takeUnretainedValue().ended()
        })
      unsafe XML_SetCharacterDataHandler(parser) { user, text, count in
        guard let user = unsafe user, let text = unsafe text else { return }
        let bytes = unsafe UnsafeRawBufferPointer(start: text, count: Int(count))
        let parser = unsafe Unmanaged<ExpatParser>.fromOpaque(user).takeUnretainedValue()
        unsafe parser.text += String(decoding: bytes, as: UTF8.self)
      }
    }

    private func started(
      _ name: UnsafePointer<CChar>, _ pairs: UnsafeMutablePointer<UnsafePointer<CChar>?>?
    ) {
      takeText()
      var attributes: [XMLElement.Attribute] = []
      // Pairs of a name and a value, ended by a null pointer.
      if var pair = unsafe pairs {
        while let key = unsafe pair[0], let value = unsafe pair[1] {
          let (namespace, local) = unsafe split(key)
          attributes.append(
            XMLElement.Attribute(local, namespace: namespace, unsafe String(cString: value)))
          unsafe pair += 2
        }
      }
      let (namespace, local) = unsafe split(name)
      guard isInStream else {
        isInStream = true
        header = attributes
        headerName = local
        headerNamespace = namespace
        return
      }
      var element = XMLElement(local, namespace)
      element.attributes = attributes
      open.append(element)
    }

    private func ended() {
      takeText()
      guard let element = open.popLast() else {
        isInStream = false
        return
      }
      if open.isEmpty {
        stanzas.append(element)
      } else {
        open[open.count - 1].append(element)
      }
    }

    private func takeText() {
      guard !text.isEmpty else { return }
      if !open.isEmpty { open[open.count - 1].content.append(.text(text)) }
      text = ""
    }

    private func split(_ text: UnsafePointer<CChar>) -> (namespace: String, name: String) {
      var count = 0
      while unsafe text[count] != 0 { count += 1 }
      return unsafe names.split(UnsafeRawBufferPointer(start: text, count: count))
    }
  }
#endif
