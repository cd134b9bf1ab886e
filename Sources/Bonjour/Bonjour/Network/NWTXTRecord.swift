internal import DNSWire

/// A TXT record: keys and values (RFC 6763, §6).
///
/// Keys are printable ASCII without `=` and are compared case-insensitively. A key with its value
/// has at most 254 bytes. Invalid entries are left out.
public struct NWTXTRecord: Hashable, Sendable, CustomDebugStringConvertible {
  private var record: TXTRecord

  init(_ record: TXTRecord) { self.record = record }

  /// Creates a record from keys with text values.
  public init(_ dictionary: [String: String] = [:]) {
    self.init(dictionary.mapValues { Entry($0) })
  }

  /// Creates a record from keys with binary values.
  public init(_ dictionary: [String: Data]) {
    self.init(dictionary.mapValues { Entry($0) })
  }

  /// Creates a record from entries, ordered by key, except that the version comes first (RFC 6763,
  /// §6.7).
  public init(_ dictionary: [String: Entry]) {
    record = TXTRecord()
    let order = dictionary.keys.sorted { a, b in
      (a == "txtvers" ? 0 : 1, a) < (b == "txtvers" ? 0 : 1, b)
    }
    for key in order { setEntry(dictionary[key] ?? .none, for: key) }
  }

  /// Decodes a record in wire format; empty if the bytes are not one.
  public init(_ data: Data) {
    do throws(DNSWireError) {
      record = try TXTRecord(decoding: data)
    } catch {
      record = TXTRecord()
    }
  }

  /// The value of a key.
  public enum Entry: Hashable, Sendable, CustomDebugStringConvertible {
    /// No value: the key alone.
    case none
    /// An empty value: `key=`.
    case empty
    /// Text.
    case string(String)
    /// Bytes that are not text.
    case data(Data)

    /// Creates an entry from text.
    public init(_ string: String) { self = string.isEmpty ? .empty : .string(string) }

    /// Creates an entry from bytes, which become text if they are UTF-8.
    public init(_ data: Data?) {
      guard let data else {
        self = .none
        return
      }
      if data.isEmpty {
        self = .empty
      } else if let string = String(validating: data, as: UTF8.self) {
        self = .string(string)
      } else {
        self = .data(data)
      }
    }

    /// The value's bytes; nil without a value.
    public var data: Data? {
      switch self {
      case .none: nil
      case .empty: Data()
      case .string(let string): Data(string.utf8)
      case .data(let data): data
      }
    }

    /// The value, for logs.
    public var debugDescription: String {
      switch self {
      case .none: "none"
      case .empty: "empty"
      case .string(let string): string
      case .data(let data): data.map { String(format: "%02x", $0) }.joined()
      }
    }
  }

  /// The keys with text values. The value of a key without one is empty.
  public var dictionary: [String: String] {
    let pairs = record.entries.compactMap { entry -> (String, String)? in
      String(validating: entry.value ?? [], as: UTF8.self).map { (entry.key, $0) }
    }
    return Dictionary(pairs) { first, _ in first }
  }

  /// The keys with binary values. The value of a key without one is empty.
  public var dataDictionary: [String: Data] {
    Dictionary(record.entries.map { ($0.key, Data($0.value ?? [])) }) { first, _ in first }
  }

  /// The keys with their entries.
  public var entries: [String: Entry] {
    Dictionary(map { ($0.key, $0.value) }) { first, _ in first }
  }

  /// The record in wire format.
  public var data: Data { Data(record.wireBytes) }

  /// The value of a key as text, empty if it has none; nil if there is no such key, or its value is
  /// not text. Setting nil removes the key.
  public subscript(key: String) -> String? {
    get {
      record.entry(for: key).flatMap { String(validating: $0.value ?? [], as: UTF8.self) }
    }
    set {
      if let newValue {
        setEntry(Entry(newValue), for: key)
      } else {
        removeEntry(key: key)
      }
    }
  }

  /// The entry of a key; nil if the key does not exist.
  public func getEntry(for key: String) -> Entry? {
    record.entry(for: key).map { Entry($0.value.map { Data($0) }) }
  }

  /// Sets the entry of a key. Returns false if the key or the value is not allowed in a record.
  @discardableResult
  public mutating func setEntry(_ entry: Entry, for key: String) -> Bool {
    do throws(DNSWireError) {
      try record.set(key, to: entry.data.map { Array($0) })
      return true
    } catch {
      return false
    }
  }

  /// Removes a key. Returns false if it did not exist.
  @discardableResult
  public mutating func removeEntry(key: String) -> Bool { record.remove(key) }

  /// The keys and values.
  public var debugDescription: String {
    "[" + map { "\($0.key)=\($0.value)" }.joined(separator: ", ") + "]"
  }
}

extension NWTXTRecord: BidirectionalCollection {
  /// The position of a key.
  public struct Index: Comparable, Hashable, Sendable {
    fileprivate let offset: Int

    /// Whether `a` comes earlier.
    public static func < (a: Index, b: Index) -> Bool { a.offset < b.offset }
  }

  /// A key and its entry.
  public typealias Element = (key: String, value: Entry)

  /// The position of the first key.
  public var startIndex: Index { Index(offset: 0) }
  /// The position after the last key.
  public var endIndex: Index { Index(offset: record.entries.count) }
  /// The position after another.
  public func index(after index: Index) -> Index { Index(offset: index.offset + 1) }
  /// The position before another.
  public func index(before index: Index) -> Index { Index(offset: index.offset - 1) }

  /// The key and the entry at a position.
  public subscript(position: Index) -> Element {
    let entry = record.entries[position.offset]
    return (entry.key, Entry(entry.value.map { Data($0) }))
  }

  /// Iterates over the keys in one pass, which is faster than by position.
  public func makeIterator() -> AnyIterator<Element> {
    var entries = record.entries.makeIterator()
    return AnyIterator {
      entries.next().map { entry in (entry.key, Entry(entry.value.map { Data($0) })) }
    }
  }
}

extension NWTXTRecord {
  /// As the wire has it.
  var wire: TXTRecord { record }
}
