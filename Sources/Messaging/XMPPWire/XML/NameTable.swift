#if Messaging
  /// The names of elements and attributes as Expat has them, `namespace<0xFF>name`, and as texts.
  ///
  /// A stream has few names, and each stanza has a dozen of them: making their texts anew takes longer than parsing.
  struct NameTable {
    private struct Entry {
      var bytes: [UInt8]
      var namespace: String
      var name: String
    }

    /// A power of two. A server that uses more names, or longer ones, only gets no use of the table.
    private static let countMax = 128
    private static let byteCountMax = 128

    private var entries: [Entry?] = []

    /// The namespace and the name of bytes that Expat owns.
    mutating func split(_ bytes: UnsafeRawBufferPointer) -> (namespace: String, name: String) {
      guard bytes.count <= Self.byteCountMax else { return unsafe Self.parts(bytes) }
      if entries.isEmpty { entries = Array(repeating: nil, count: Self.countMax) }
      var hash: UInt64 = 0xcbf2_9ce4_8422_2325
      for place in 0..<bytes.count {
        hash = unsafe (hash ^ UInt64(bytes[place])) &* 0x100_0000_01b3
      }
      let place = Int(truncatingIfNeeded: (hash ^ hash >> 32) & UInt64(Self.countMax - 1))
      if let entry = entries[place], unsafe Self.areEqual(entry.bytes, bytes) {
        return (entry.namespace, entry.name)
      }
      let (namespace, name) = unsafe Self.parts(bytes)
      entries[place] = unsafe Entry(bytes: Array(bytes), namespace: namespace, name: name)
      return (namespace, name)
    }

    private static func areEqual(_ known: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
      guard known.count == bytes.count else { return false }
      for place in known.indices where unsafe known[place] != bytes[place] { return false }
      return true
    }

    private static func parts(_ bytes: UnsafeRawBufferPointer) -> (namespace: String, name: String)
    {
      guard let separator = unsafe bytes.firstIndex(of: 0xFF) else {
        return ("", unsafe String(decoding: bytes, as: UTF8.self))
      }
      return unsafe (
        String(decoding: bytes[..<separator], as: UTF8.self),
        String(decoding: bytes[(separator + 1)...], as: UTF8.self)
      )
    }
  }
#endif
