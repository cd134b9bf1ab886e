#if Messaging
  internal import XMPPWire

  /// The parser of a stream. It can be ahead of what is handled, so that it works while the disk does.
  struct StreamReader {
    /// Items ahead, and the bytes from which they are read, at most. A page of an archive has a hundred.
    private static let countMax = 128
    private static let byteCountMax = 256 << 10

    private let parser = XMLStreamParser()
    private var ahead: [StreamItem] = []
    private var first = 0
    private var byteCount = 0

    /// Whether bytes may be added that are not handled at once.
    var hasRoomAhead: Bool {
      ahead.count - first < Self.countMax && byteCount < Self.byteCountMax
    }

    mutating func append(_ bytes: [UInt8]) {
      parser.append(bytes)
      byteCount += bytes.count
    }

    /// A new stream follows; what was read of the old one is dropped.
    mutating func restart() {
      parser.restart()
      (ahead, first, byteCount) = ([], 0, 0)
    }

    /// The next part of the stream; nil until more bytes come.
    mutating func next() throws(XMLStreamError) -> StreamItem? {
      guard first < ahead.count else {
        byteCount = 0
        return try parser.next()
      }
      let item = ahead[first]
      first += 1
      if first == ahead.count {
        ahead.removeAll(keepingCapacity: true)
        first = 0
      }
      return item
    }

    /// Reads a part that ``next()`` gives later; false if there is none, or no room. An error is thrown by `next()`, after
    /// what came before it.
    mutating func readAhead() -> Bool {
      guard hasRoomAhead, let item = try? parser.next() else { return false }
      ahead.append(item)
      return true
    }
  }
#endif
