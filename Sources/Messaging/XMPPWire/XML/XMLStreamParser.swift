#if Messaging
  /// Cuts the bytes of a connection into the parts of a stream.
  ///
  /// Give it bytes with ``append(_:)`` and take parts with ``next()`` until that returns nil. Not thread-safe: it belongs
  /// to the driver of one connection. Memory is bounded by ``XMLLimits/stanzaByteCountMax`` and the bytes given at once.
  package final class XMLStreamParser {
    private let limits: XMLLimits
    private var scanner: XMLScanner
    private var expat = ExpatParser()
    private var buffer: [UInt8] = []
    /// Where the bytes begin that are not parsed.
    private var start = 0
    /// Where the bytes begin that are not scanned.
    private var scanned = 0
    private var isOpen = false
    private var isEnded = false
    private var failure: XMLStreamError?

    package init(limits: XMLLimits = XMLLimits()) {
      self.limits = limits
      scanner = XMLScanner(limits: limits)
    }

    /// The bytes that wait for the rest of a stanza, or for ``next()``.
    package var bufferedByteCount: Int { buffer.count - start }

    /// Takes bytes from the connection. Those after the end of the stream, or after an error, are ignored.
    package func append(_ bytes: some Collection<UInt8>) {
      if !isEnded, failure == nil { buffer.append(contentsOf: bytes) }
    }

    /// Forgets the stream and its bytes: a new stream begins on the connection (RFC 6120, §4.3.3). What a server sent
    /// before TLS began is dropped with them, so that nothing of it is taken for a part of the protected stream.
    package func restart() {
      scanner = XMLScanner(limits: limits)
      expat = ExpatParser()
      buffer = []
      (start, scanned) = (0, 0)
      (isOpen, isEnded) = (false, false)
      failure = nil
    }

    /// The next part of the stream; nil until more bytes come. After an error it throws the same error again.
    package func next() throws(XMLStreamError) -> StreamItem? {
      if let failure { throw failure }
      do throws(XMLStreamError) {
        return try takeItem()
      } catch {
        failure = error
        buffer = []
        (start, scanned) = (0, 0)
        throw error
      }
    }

    private func takeItem() throws(XMLStreamError) -> StreamItem? {
      guard !isEnded, let (boundary, end) = try scanner.scan(buffer, from: scanned) else {
        scanned = buffer.count
        // White space between stanzas.
        if scanner.stanzaByteCount == 0 { start = scanned }
        dropParsedBytes()
        return nil
      }
      let bytes = buffer[start..<end]
      (start, scanned) = (end, end)
      switch boundary {
      case .header:
        try expat.open(bytes)
        isOpen = true
        return .header(try header())
      case .stanza:
        guard isOpen else { throw .notAStream }
        let element = try expat.stanza(bytes)
        if scanner.nameCount >= limits.nameCountMax {
          try expat.reset()
          scanner.forgetNames()
        }
        return .element(element)
      case .end:
        guard isOpen else { throw .notAStream }
        try expat.close(bytes)
        isEnded = true
        buffer = []
        (start, scanned) = (0, 0)
        return .end
      }
    }

    private func header() throws(XMLStreamError) -> StreamHeader {
      guard expat.headerName == "stream", expat.headerNamespace == Namespace.stream else {
        throw .notAStream
      }
      func value(_ name: String) -> String? {
        expat.header?.first { $0.name == name && $0.namespace.isEmpty }?.value
      }
      return StreamHeader(
        from: value("from"), to: value("to"), id: value("id"), version: value("version"))
    }

    private func dropParsedBytes() {
      if start == buffer.count {
        // The memory of a long stanza is given back.
        buffer.removeAll(keepingCapacity: buffer.capacity <= 64 << 10)
      } else if start >= 64 << 10 || start > buffer.count / 2 {
        buffer.removeSubrange(..<start)
      } else {
        return
      }
      scanned -= start
      start = 0
    }
  }
#endif
