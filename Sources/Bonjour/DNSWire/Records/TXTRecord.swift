/// The data of a TXT record: strings, most of the form `key=value` (RFC 6763, §6).
///
/// The received bytes are preserved. Keys are ASCII and compared case-insensitively; if a key
/// occurs twice, only the first counts. A key may have no value, an empty value, or a value of any
/// bytes.
public struct TXTRecord: Hashable, Sendable {
  /// Limits of a record.
  public enum Limits {
    /// The maximum length of a string: key, `=` and value.
    public static let stringByteCountMax = 255
    /// The maximum length of a record in DNS.
    public static let byteCountMax = 65_535
    /// The maximum length of a record that fits into one Ethernet packet together with the records
    /// that are sent with it (RFC 6763, §6.2).
    public static let recommendedByteCountMax = 1_300
  }

  /// A key and its value.
  public struct Entry: Hashable, Sendable {
    /// The key, in its original case.
    public var key: String
    /// The value; nil without `=`, empty with nothing behind it.
    public var value: [UInt8]?

    /// Creates an entry.
    public init(key: String, value: [UInt8]?) {
      self.key = key
      self.value = value
    }
  }

  /// The strings in wire format, each after its length. Never empty: without strings it is one zero
  /// byte (RFC 6763, §6.1).
  public private(set) var wireBytes: [UInt8]

  /// Creates a record without entries.
  public init() {
    wireBytes = [0]
  }

  /// Decodes the data of a TXT record; empty data counts as one zero byte. Throws `truncated` if a
  /// string's length exceeds the remaining bytes.
  public init(decoding bytes: some Collection<UInt8>) throws(DNSWireError) {
    let bytes = Array(bytes)
    guard bytes.count <= Limits.byteCountMax else { throw .invalidLength(bytes.count) }
    var index = 0
    while index < bytes.count {
      let end = index + 1 + Int(bytes[index])
      guard end <= bytes.count else {
        throw .truncated(needed: Int(bytes[index]), available: bytes.count - index - 1)
      }
      index = end
    }
    wireBytes = bytes.isEmpty ? [0] : bytes
  }

  /// Creates a record from strings, which need not have keys.
  public init(strings: some Sequence<some Collection<UInt8>>) throws(DNSWireError) {
    var bytes: [UInt8] = []
    for string in strings {
      guard string.count <= Limits.stringByteCountMax else {
        throw .stringTooLong(byteCount: string.count)
      }
      bytes.append(UInt8(string.count))
      bytes.append(contentsOf: string)
    }
    guard bytes.count <= Limits.byteCountMax else { throw .invalidLength(bytes.count) }
    wireBytes = bytes.isEmpty ? [0] : bytes
  }

  /// Creates a record from entries in their order. If several have the same key, only the first is
  /// used.
  public init(_ entries: some Sequence<Entry>) throws(DNSWireError) {
    var known: Set<String> = []
    var strings: [[UInt8]] = []
    for entry in entries where known.insert(entry.key.lowercased()).inserted {
      strings.append(try Self.string(key: entry.key, value: entry.value))
    }
    try self.init(strings: strings)
  }

  /// All strings, including those without a key.
  public var strings: Strings { Strings(rest: wireBytes[...]) }

  /// The entries in their order: the strings with a valid key, only the first of each key.
  public var entries: [Entry] {
    var known: Set<String> = []
    return strings.compactMap { string in
      guard let (key, value) = Self.split(string), known.insert(key.lowercased()).inserted else {
        return nil
      }
      return Entry(key: key, value: value.map(Array.init))
    }
  }

  /// Whether there are no entries.
  public var isEmpty: Bool { !strings.contains { Self.split($0) != nil } }

  /// The entry with this key, ignoring case.
  public func entry(for key: String) -> Entry? {
    for string in strings {
      if let (found, value) = Self.split(string), Self.areEqual(found, key) {
        return Entry(key: found, value: value.map(Array.init))
      }
    }
    return nil
  }

  /// Whether there is an entry with this key, with or without a value.
  public func contains(_ key: String) -> Bool { entry(for: key) != nil }

  /// The value of a key as text; nil if the key is missing, has no value, or the value is not
  /// UTF-8.
  public subscript(key: String) -> String? {
    entry(for: key)?.value.flatMap { String(validating: $0, as: UTF8.self) }
  }

  /// Sets the value of a key. An existing entry keeps its position; a new one is appended.
  public mutating func set(_ key: String, to value: [UInt8]?) throws(DNSWireError) {
    let new = try Self.string(key: key, value: value)
    var strings = strings.filter { !$0.isEmpty }
    let isOfKey = { (string: ArraySlice<UInt8>) in
      Self.split(string).map { Self.areEqual($0.key, key) } ?? false
    }
    if let index = strings.firstIndex(where: isOfKey) {
      strings[index] = new[...]
    } else {
      strings.append(new[...])
    }
    self = try TXTRecord(strings: strings)
  }

  /// Removes all strings with this key. Returns false if there were none.
  @discardableResult
  public mutating func remove(_ key: String) -> Bool {
    var bytes: [UInt8] = []
    var isFound = false
    for string in strings {
      if let (found, _) = Self.split(string), Self.areEqual(found, key) {
        isFound = true
      } else {
        bytes.append(UInt8(string.count))
        bytes.append(contentsOf: string)
      }
    }
    if isFound { wireBytes = bytes.isEmpty ? [0] : bytes }
    return isFound
  }

  /// Iterates over the strings of a record.
  public struct Strings: Sequence, IteratorProtocol, Sendable {
    /// The bytes not read yet.
    var rest: ArraySlice<UInt8>

    /// The next string.
    public mutating func next() -> ArraySlice<UInt8>? {
      guard let length = rest.popFirst() else { return nil }
      let string = rest.prefix(Int(length))
      rest = rest[string.endIndex...]
      return string
    }
  }

  /// Whether a text is a valid key: at least one character, printable ASCII, no `=` (RFC 6763,
  /// §6.4).
  public static func isValidKey(_ key: some StringProtocol) -> Bool {
    isValidKey(key.utf8)
  }

  private static func isValidKey(_ key: some Collection<UInt8>) -> Bool {
    !key.isEmpty && key.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "=") }
  }

  private static func string(key: String, value: [UInt8]?) throws(DNSWireError) -> [UInt8] {
    guard isValidKey(key) else { throw .invalidKey }
    let string = Array(key.utf8) + (value.map { [UInt8(ascii: "=")] + $0 } ?? [])
    guard string.count <= Limits.stringByteCountMax else {
      throw .stringTooLong(byteCount: string.count)
    }
    return string
  }

  /// Key and value of a string; nil where the key is not valid.
  private static func split(
    _ string: ArraySlice<UInt8>
  ) -> (key: String, value: ArraySlice<UInt8>?)? {
    let equals = string.firstIndex(of: UInt8(ascii: "="))
    let key = string[..<(equals ?? string.endIndex)]
    guard isValidKey(key) else { return nil }
    return (String(decoding: key, as: UTF8.self), equals.map { string[($0 + 1)...] })
  }

  private static func areEqual(_ a: String, _ b: String) -> Bool {
    a.utf8.count == b.utf8.count
      && zip(a.utf8, b.utf8).allSatisfy { ASCIIFolding.lower($0) == ASCIIFolding.lower($1) }
  }
}
