/// The AES-128 block cipher, encryption only (FIPS 197).
///
/// Bytes stand as in FIPS 197, most significant first; HCI and SMP send them the other way round.
/// Table look-ups depend on the key, so this is for the simulated radio, hashes and address
/// resolution, where timing reveals nothing to a peer.
public struct AES128: Sendable {
  private let roundKeys: [UInt8]

  /// Expands a key of 16 bytes (FIPS 197, §5.2).
  public init(key: [UInt8]) {
    precondition(key.count == 16, "an AES-128 key has 16 bytes")
    var words = key
    var constant: UInt8 = 1
    for index in 4..<44 {
      var word = Array(words[(4 * index - 4)..<(4 * index)])
      if index.isMultiple(of: 4) {
        word = [word[1], word[2], word[3], word[0]].map { Self.substitution[Int($0)] }
        word[0] ^= constant
        constant = Self.doubled(constant)
      }
      for byte in 0..<4 { words.append(words[4 * (index - 4) + byte] ^ word[byte]) }
    }
    roundKeys = words
  }

  /// Encrypts one block of 16 bytes (FIPS 197, §5.1).
  public func encrypt(_ block: [UInt8]) -> [UInt8] {
    precondition(block.count == 16, "an AES block has 16 bytes")
    var state = block
    addRoundKey(0, to: &state)
    for round in 1...10 {
      // SubBytes and ShiftRows in one: row r of column c comes from column c + r.
      let previous = state
      for index in 0..<16 {
        state[index] = Self.substitution[Int(previous[(index + 4 * (index % 4)) % 16])]
      }
      if round < 10 { Self.mixColumns(&state) }
      addRoundKey(round, to: &state)
    }
    return state
  }

  private func addRoundKey(_ round: Int, to state: inout [UInt8]) {
    for index in 0..<16 { state[index] ^= roundKeys[16 * round + index] }
  }

  private static func mixColumns(_ state: inout [UInt8]) {
    for column in stride(from: 0, to: 16, by: 4) {
      let (a, b, c, d) = (state[column], state[column + 1], state[column + 2], state[column + 3])
      let all = a ^ b ^ c ^ d
      state[column] = a ^ all ^ doubled(a ^ b)
      state[column + 1] = b ^ all ^ doubled(b ^ c)
      state[column + 2] = c ^ all ^ doubled(c ^ d)
      state[column + 3] = d ^ all ^ doubled(d ^ a)
    }
  }

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
  public func cmac(_ message: [UInt8]) -> [UInt8] {
    let first = Self.subkey(of: encrypt([UInt8](repeating: 0, count: 16)))
    var blockCount = (message.count + 15) / 16
    let isLastWhole = blockCount > 0 && message.count.isMultiple(of: 16)
    blockCount = max(blockCount, 1)
    var state = [UInt8](repeating: 0, count: 16)
    for block in 0..<blockCount {
      let start = 16 * block
      for index in 0..<16 where start + index < message.count {
        state[index] ^= message[start + index]
      }
      if block == blockCount - 1 {
        let key = isLastWhole ? first : Self.subkey(of: first)
        if !isLastWhole { state[message.count - start] ^= 0x80 }
        for index in 0..<16 { state[index] ^= key[index] }
      }
      state = encrypt(state)
    }
    return state
  }

  /// Doubles a block in GF(2¹²⁸) (RFC 4493, §2.3).
  private static func subkey(of block: [UInt8]) -> [UInt8] {
    var result = block
    for index in 0..<16 {
      let carry: UInt8 = index < 15 ? block[index + 1] >> 7 : (block[0] >> 7) &* 0x87
      result[index] = (block[index] << 1) ^ carry
    }
    return result
  }

  /// The random address hash function `ah` (Core 5.4, Vol 3, Part H, §2.2.2): the low 24 bits of an
  /// address that the holder of the identity resolving key made from the random high 24 bits.
  public static func addressHash(identityResolvingKey: [UInt8], random: UInt32) -> UInt32 {
    var block = [UInt8](repeating: 0, count: 16)
    for index in 0..<3 { block[15 - index] = UInt8(truncatingIfNeeded: random >> (8 * index)) }
    let hash = AES128(key: identityResolvingKey).encrypt(block)
    return UInt32(hash[13]) << 16 | UInt32(hash[14]) << 8 | UInt32(hash[15])
  }
}
