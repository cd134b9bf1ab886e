#if Messaging
  /// An identifier that another party chose: of a stanza, of a message at its origin, of a message in an archive.
  ///
  /// Identifiers are compared byte by byte. `String` compares characters, for which two different sequences of bytes may
  /// be equal.
  package struct StanzaID: Hashable, Sendable {
    package let text: String

    /// The maximum length in bytes of an identifier that is used as a key.
    package static let byteCountMax = 1_024

    /// Nil if the text is empty or too long for a key.
    package init?(_ text: String) {
      guard (1...Self.byteCountMax).contains(text.utf8.count) else { return nil }
      self.text = text
    }

    package static func == (a: StanzaID, b: StanzaID) -> Bool {
      a.text.utf8.elementsEqual(b.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
      var text = text
      text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
  }

  extension StanzaID: CustomStringConvertible {
    package var description: String { text }
  }
#endif
