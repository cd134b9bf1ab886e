import Essentials

/// The set of types in an NSEC record (RFC 4034, §4.1.2).
public struct DNSTypeBitmap: Hashable, Sendable, Sequence, ExpressibleByArrayLiteral {
  /// The windows in wire format: number, length and bits, in ascending order.
  public let wireBytes: [UInt8]

  /// Decodes windows. Throws `invalidLength` if one has no bytes, more than 32 or more than are
  /// available, or if they are not ascending.
  public init(decoding bytes: ArraySlice<UInt8>) throws(DNSWireError) {
    var reader = ByteReader(bytes)
    var last = -1
    while !reader.isAtEnd {
      guard let window = try? reader.uint8(), let length = try? reader.uint8(),
        Int(window) > last, (1...32).contains(length), (try? reader.slice(Int(length))) != nil
      else { throw .invalidLength(reader.count) }
      last = Int(window)
    }
    wireBytes = Array(bytes)
  }

  /// Creates a set of types.
  public init(_ types: some Sequence<DNSType>) {
    var bytes: [UInt8] = []
    var window = -1
    var lengthIndex = 0
    for type in types.sorted() {
      let (high, low) = (Int(type.rawValue >> 8), Int(type.rawValue & 0xFF))
      if high != window {
        window = high
        lengthIndex = bytes.count + 1
        bytes += [UInt8(high), 0]
      }
      while bytes.count - lengthIndex - 1 <= low >> 3 { bytes.append(0) }
      bytes[lengthIndex + 1 + low >> 3] |= 0x80 >> UInt8(low & 7)
      bytes[lengthIndex] = UInt8(bytes.count - lengthIndex - 1)
    }
    wireBytes = bytes
  }

  /// Creates a set of types.
  public init(arrayLiteral types: DNSType...) { self.init(types) }

  /// Whether the set holds `type`.
  public func contains(_ type: DNSType) -> Bool {
    var index = 0
    while index + 1 < wireBytes.count {
      let length = Int(wireBytes[index + 1])
      if UInt16(wireBytes[index]) == type.rawValue >> 8 {
        let byte = Int(type.rawValue & 0xFF) >> 3
        return byte < length && wireBytes[index + 2 + byte] << UInt8(type.rawValue & 7) >= 0x80
      }
      index += 2 + length
    }
    return false
  }

  /// The types in ascending order.
  public func makeIterator() -> Iterator { Iterator(rest: wireBytes[...]) }

  /// Iterates over the types of a set.
  public struct Iterator: IteratorProtocol, Sendable {
    /// The windows that are not yet done.
    var rest: ArraySlice<UInt8>
    private var bit = 0

    init(rest: ArraySlice<UInt8>) {
      self.rest = rest
    }

    /// The next type.
    public mutating func next() -> DNSType? {
      while rest.count >= 2 {
        let (start, window) = (rest.startIndex, UInt16(rest[rest.startIndex]))
        let bitCount = Int(rest[start + 1]) * 8
        while bit < bitCount {
          defer { bit += 1 }
          if rest[start + 2 + bit >> 3] << UInt8(bit & 7) >= 0x80 {
            return DNSType(rawValue: window << 8 | UInt16(bit))
          }
        }
        rest = rest[(start + 2 + bitCount / 8)...]
        bit = 0
      }
      return nil
    }
  }
}
