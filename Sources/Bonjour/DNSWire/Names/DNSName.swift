/// A DNS name: a sequence of labels, the most specific first.
///
/// Two names are equal if they differ only in the case of ASCII letters; all other bytes are
/// compared exactly (RFC 6762, §16). The case is preserved. The hash is computed once, when the
/// name is created, so that lookups in tables are cheap.
public struct DNSName: Sendable {
  /// Limits of labels and names.
  public enum Limits {
    /// The maximum length of a label in bytes.
    public static let labelByteCountMax = 63
    /// The maximum length of a name with the length bytes of all labels and the zero of the root:
    /// 255 bytes and the root's one (RFC 6762, appendix C).
    public static let nameByteCountMax = 256
  }

  /// The name in wire format without compression: each label after its length, then the zero of the
  /// root.
  public let wireBytes: [UInt8]

  private let foldedHash: Int

  /// The root, a name without labels.
  public static let root = DNSName(uncheckedWireBytes: [0])

  /// A name from bytes that are known to have the form of `wireBytes`.
  init(uncheckedWireBytes bytes: [UInt8]) {
    wireBytes = bytes
    foldedHash = ASCIIFolding.hash(bytes)
  }

  /// Creates a name from its labels, the most specific first.
  public init(labels: some Sequence<some Collection<UInt8>>) throws(DNSWireError) {
    var bytes: [UInt8] = []
    for label in labels {
      guard !label.isEmpty else { throw .emptyLabel }
      guard label.count <= Limits.labelByteCountMax else {
        throw .labelTooLong(byteCount: label.count)
      }
      bytes.append(UInt8(label.count))
      bytes.append(contentsOf: label)
      guard bytes.count < Limits.nameByteCountMax else { throw .nameTooLong }
    }
    bytes.append(0)
    self.init(uncheckedWireBytes: bytes)
  }

  /// Whether this is the root name.
  public var isRoot: Bool { wireBytes.count == 1 }

  /// The labels, the most specific first, without the root's.
  public var labels: Labels { Labels(rest: wireBytes[...]) }

  /// The number of labels, without the root's.
  public var labelCount: Int { labels.reduce(0) { count, _ in count + 1 } }

  /// The most specific label; nil for the root.
  public var firstLabel: ArraySlice<UInt8>? {
    var labels = labels
    return labels.next()
  }

  /// The name without its most specific label; nil for the root.
  public var parent: DNSName? { dropFirst(1) }

  /// The name without its `count` most specific labels; nil if it has fewer.
  public func dropFirst(_ count: Int) -> DNSName? {
    var labels = labels
    for _ in 0..<count where labels.next() == nil { return nil }
    return DNSName(uncheckedWireBytes: Array(labels.rest))
  }

  /// The name with one more label in front.
  public func prepending(_ label: some Collection<UInt8>) throws(DNSWireError) -> DNSName {
    guard !label.isEmpty else { throw .emptyLabel }
    guard label.count <= Limits.labelByteCountMax else {
      throw .labelTooLong(byteCount: label.count)
    }
    guard wireBytes.count + label.count + 1 <= Limits.nameByteCountMax else { throw .nameTooLong }
    return DNSName(uncheckedWireBytes: [UInt8(label.count)] + label + wireBytes)
  }

  /// The labels of this name followed by those of `domain`.
  public func appending(_ domain: DNSName) throws(DNSWireError) -> DNSName {
    let byteCount = wireBytes.count - 1 + domain.wireBytes.count
    guard byteCount <= Limits.nameByteCountMax else { throw .nameTooLong }
    return DNSName(uncheckedWireBytes: wireBytes.dropLast() + domain.wireBytes)
  }

  /// Whether this name is `domain` or a subdomain of it.
  public func isWithin(_ domain: DNSName) -> Bool {
    var labels = labels
    while labels.rest.count > domain.wireBytes.count { _ = labels.next() }
    return ASCIIFolding.areEqual(labels.rest, domain.wireBytes[...])
  }

  /// The labels of a name in order.
  public struct Labels: Sequence, IteratorProtocol, Sendable {
    /// What comes after the labels taken so far, in the form on the wire.
    var rest: ArraySlice<UInt8>

    /// The next label; nil after the last.
    public mutating func next() -> ArraySlice<UInt8>? {
      guard let length = rest.first, length > 0 else { return nil }
      let start = rest.startIndex + 1
      let label = rest[start..<start + Int(length)]
      rest = rest[label.endIndex...]
      return label
    }
  }
}

extension DNSName: Hashable {
  /// Whether the names are equal, ignoring the case of ASCII letters.
  public static func == (a: DNSName, b: DNSName) -> Bool {
    a.foldedHash == b.foldedHash && a.wireBytes.count == b.wireBytes.count
      && (a.wireBytes == b.wireBytes || ASCIIFolding.areEqual(a.wireBytes[...], b.wireBytes[...]))
  }

  /// Hashes the name without regard to the case of ASCII letters.
  public func hash(into hasher: inout Hasher) { hasher.combine(foldedHash) }
}

/// Comparing bytes without regard to the case of ASCII letters.
///
/// Length bytes of labels are below 64, so no letters: whole names can be folded at once.
enum ASCIIFolding {
  /// Eight bytes with their upper case letters turned into lower case.
  static func lower(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let low = word & (ones &* 0x7F)
    let isPastZ = low &+ ones &* (0x7F - 0x5A)
    let isFromA = low &+ ones &* (0x80 - 0x41)
    let isUpper = (isFromA ^ isPastZ) & ~word & (ones &* 0x80)
    return word | isUpper >> 2
  }

  /// One byte likewise.
  static func lower(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
  }

  /// A hash that the sender of the bytes cannot predict: it is seeded for each process.
  static func hash(_ bytes: [UInt8]) -> Int {
    var hasher = Hasher()
    var word: UInt64 = 0
    for (index, byte) in bytes.enumerated() {
      word = word << 8 | UInt64(byte)
      if index & 7 == 7 { hasher.combine(lower(word)) }
    }
    if bytes.count & 7 != 0 { hasher.combine(lower(word)) }
    hasher.combine(bytes.count)
    return hasher.finalize()
  }

  static func areEqual(_ a: ArraySlice<UInt8>, _ b: ArraySlice<UInt8>) -> Bool {
    a.count == b.count && zip(a, b).allSatisfy { $0 == $1 || lower($0) == lower($1) }
  }
}
