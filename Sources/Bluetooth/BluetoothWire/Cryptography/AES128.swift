/// The AES-128 block cipher, encryption only (FIPS 197).
///
/// The byte order is that of FIPS 197, most significant first; HCI and SMP use the reverse order.
/// Table look-ups depend on the key: another program on the same processor could learn of it from
/// the shared caches, but a peer can't (docs/decisions/0101-pairing-is-part-of-the-machine.md).
package struct AES128: Sendable {
  /// 44 words, of which each round takes four.
  private let roundKeys: SecretWords

  /// Expands a key of 16 bytes (FIPS 197, §5.2).
  package init(key: [UInt8]) {
    precondition(key.count == 16, "an AES-128 key has 16 bytes")
    self.init(key: UInt128(mostSignificantFirst: key))
  }

  /// Expands a key, given as the number that its bytes are, most significant first.
  package init(key: UInt128) {
    let box = Self.substitution
    var words = [UInt32](repeating: 0, count: 44)
    for index in 0..<4 { words[index] = UInt32(truncatingIfNeeded: key >> (96 - 32 * index)) }
    var constant: UInt8 = 1
    for index in 4..<44 {
      var word = words[index - 1]
      if index.isMultiple(of: 4) {
        var rotated: UInt32 = 0
        for shift in [16, 8, 0, 24] {
          rotated = rotated << 8 | UInt32(box[Int(word >> UInt32(shift) & 0xFF)])
        }
        word = rotated ^ UInt32(constant) << 24
        constant = Self.doubled(constant)
      }
      words[index] = words[index - 4] ^ word
    }
    roundKeys = SecretWords(words)
  }

  /// Encrypts one block of 16 bytes (FIPS 197, §5.1).
  package func encrypt(_ block: [UInt8]) -> [UInt8] {
    precondition(block.count == 16, "an AES block has 16 bytes")
    return encrypt(UInt128(mostSignificantFirst: block)).mostSignificantFirst
  }

  /// Encrypts one block, given as the number that its bytes are, most significant first: as the Core
  /// Specification writes the security function e (Core 5.4, Vol 3, Part H, §2.2.1).
  package func encrypt(_ block: UInt128) -> UInt128 {
    let words = roundKeys.words
    let keys = words.span
    let tables = Self.tables.span
    // Seen here once, so that no look-up below is checked again.
    precondition(keys.count == 44 && tables.count == 1_024)
    var state = Columns(block)
    state.add(keys, round: 0)
    for round in 1...9 {
      let last = state
      state.a = Self.mixed(last.a, last.b, last.c, last.d, tables)
      state.b = Self.mixed(last.b, last.c, last.d, last.a, tables)
      state.c = Self.mixed(last.c, last.d, last.a, last.b, tables)
      state.d = Self.mixed(last.d, last.a, last.b, last.c, tables)
      state.add(keys, round: round)
    }
    let last = state
    state.a = Self.substituted(last.a, last.b, last.c, last.d, tables)
    state.b = Self.substituted(last.b, last.c, last.d, last.a, tables)
    state.c = Self.substituted(last.c, last.d, last.a, last.b, tables)
    state.d = Self.substituted(last.d, last.a, last.b, last.c, tables)
    state.add(keys, round: 10)
    return state.block
  }

  /// The state of a block: its four columns (FIPS 197, §3.4).
  private struct Columns {
    var a: UInt32
    var b: UInt32
    var c: UInt32
    var d: UInt32

    @inline(__always)
    init(_ block: UInt128) {
      a = UInt32(truncatingIfNeeded: block >> 96)
      b = UInt32(truncatingIfNeeded: block >> 64)
      c = UInt32(truncatingIfNeeded: block >> 32)
      d = UInt32(truncatingIfNeeded: block)
    }

    @inline(__always)
    var block: UInt128 { UInt128(a) << 96 | UInt128(b) << 64 | UInt128(c) << 32 | UInt128(d) }

    /// AddRoundKey (§5.1.4).
    @inline(__always)
    mutating func add(_ keys: Span<UInt32>, round: Int) {
      a ^= keys[4 &* round]
      b ^= keys[4 &* round &+ 1]
      c ^= keys[4 &* round &+ 2]
      d ^= keys[4 &* round &+ 3]
    }
  }

  /// SubBytes, ShiftRows and MixColumns of one column: row r comes from the r-th of these columns.
  @inline(__always)
  private static func mixed(
    _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, _ tables: Span<UInt32>
  ) -> UInt32 {
    tables[Int(a >> 24)] ^ tables[256 &+ Int(b >> 16 & 0xFF)]
      ^ tables[512 &+ Int(c >> 8 & 0xFF)] ^ tables[768 &+ Int(d & 0xFF)]
  }

  /// The same without MixColumns, for the last round: the second byte of the first table is the
  /// substitution alone.
  @inline(__always)
  private static func substituted(
    _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, _ tables: Span<UInt32>
  ) -> UInt32 {
    (tables[Int(a >> 24)] & 0xFF00) << 16 | (tables[Int(b >> 16 & 0xFF)] & 0xFF00) << 8
      | (tables[Int(c >> 8 & 0xFF)] & 0xFF00) | (tables[Int(d & 0xFF)] & 0xFF00) >> 8
  }

  /// What SubBytes and MixColumns make of a byte in each of the four rows, 256 words for each row.
  private static let tables: [UInt32] = {
    var tables = [UInt32](repeating: 0, count: 1_024)
    for (index, byte) in substitution.enumerated() {
      let double = doubled(byte)
      var column =
        UInt32(double) << 24 | UInt32(byte) << 16 | UInt32(byte) << 8 | UInt32(double ^ byte)
      for row in 0..<4 {
        tables[256 * row + index] = column
        column = column >> 8 | column << 24
      }
    }
    return tables
  }()

  /// Multiplication by x in GF(2⁸) (FIPS 197, §4.2.1).
  private static func doubled(_ byte: UInt8) -> UInt8 {
    byte << 1 ^ (byte & 0x80 != 0 ? 0x1B : 0)
  }

  /// The S-box (FIPS 197, §5.1.1), computed: the inverse in GF(2⁸), then the affine map.
  private static let substitution: [UInt8] = {
    var box = [UInt8](repeating: 0x63, count: 256)
    var p: UInt8 = 1
    var q: UInt8 = 1
    // p runs through all powers of 3, q through their inverses.
    repeat {
      p ^= doubled(p)
      q ^= q << 1
      q ^= q << 2
      q ^= q << 4
      if q & 0x80 != 0 { q ^= 0x09 }
      var mixed = q ^ 0x63
      for rotation in 1...4 { mixed ^= q << rotation | q >> (8 - rotation) }
      box[Int(p)] = mixed
    } while p != 1
    return box
  }()
}

extension AES128 {
  /// AES-CMAC, the message authentication code of RFC 4493.
  package func cmac(_ message: [UInt8]) -> [UInt8] { cmac(message).mostSignificantFirst }

  /// The same as the number that the bytes are, most significant first. Nothing of the message or the key
  /// is copied to the heap.
  package func cmac(_ message: [UInt8]) -> UInt128 {
    let first = Self.subkey(of: encrypt(0))
    let lastStart = message.isEmpty ? 0 : (message.count - 1) / 16 * 16
    var state: UInt128 = 0
    for start in stride(from: 0, to: lastStart, by: 16) {
      state = encrypt(state ^ Self.block(message[start..<start + 16]))
    }
    let last = message[lastStart...]
    if last.count == 16 { return encrypt(state ^ Self.block(last) ^ first) }
    let padded = (Self.block(last) << 8 | 0x80) << UInt128(8 * (15 - last.count))
    return encrypt(state ^ padded ^ Self.subkey(of: first))
  }

  private static func block(_ bytes: ArraySlice<UInt8>) -> UInt128 {
    bytes.reduce(0) { $0 << 8 | UInt128($1) }
  }

  /// Doubles a block in GF(2¹²⁸) (RFC 4493, §2.3).
  private static func subkey(of block: UInt128) -> UInt128 { block << 1 ^ (block >> 127) * 0x87 }

  /// The random address hash function `ah` (Core 5.4, Vol 3, Part H, §2.2.2), with an identity
  /// resolving key: the low 24 bits of a resolvable private address, from its random high 24 bits.
  package func addressHash(of random: UInt32) -> UInt32 {
    UInt32(truncatingIfNeeded: encrypt(UInt128(random & 0xFF_FFFF)) & 0xFF_FFFF)
  }
}

extension AES128: CustomStringConvertible, CustomReflectable {
  /// Shows nothing of the key.
  package var description: String { "an AES-128 key" }

  /// Shows nothing of the key.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension UInt128 {
  /// A number from 16 bytes.
  fileprivate init(mostSignificantFirst bytes: [UInt8]) {
    self = bytes.reduce(0) { $0 << 8 | UInt128($1) }
  }
}
