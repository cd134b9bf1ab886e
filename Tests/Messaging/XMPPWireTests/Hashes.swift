#if Messaging
  import XMPPWire

  /// SHA-1, SHA-256, HMAC and PBKDF2 (FIPS 180-4, RFC 2104, RFC 8018), for the vectors of SCRAM.
  struct PlainFunctions: SCRAMFunctions {
    func derivedKey(
      _ hash: SCRAMHash, password: [UInt8], salt: [UInt8], iterations: Int
    ) -> [UInt8]? {
      guard var block = authenticationCode(hash, key: password, salt + [0, 0, 0, 1]) else {
        return nil
      }
      var key = block
      for _ in 1..<iterations {
        guard let next = authenticationCode(hash, key: password, block) else { return nil }
        block = next
        for index in key.indices { key[index] ^= block[index] }
      }
      return key
    }

    func authenticationCode(_ hash: SCRAMHash, key: [UInt8], _ message: [UInt8]) -> [UInt8]? {
      let short = key.count > 64 ? digest(hash, key) : key
      guard let short else { return nil }
      let padded = short + Array(repeating: 0, count: 64 - short.count)
      guard let inner = digest(hash, padded.map { $0 ^ 0x36 } + message) else { return nil }
      return digest(hash, padded.map { $0 ^ 0x5C } + inner)
    }

    func digest(_ hash: SCRAMHash, _ message: [UInt8]) -> [UInt8]? {
      switch hash {
      case .sha1: Self.sha1(message)
      case .sha256: Self.sha256(message)
      case .sha512: nil
      }
    }

    private static func blocks(_ message: [UInt8]) -> [[UInt32]] {
      var bytes = message + [0x80]
      while bytes.count % 64 != 56 { bytes.append(0) }
      let bitCount = UInt64(message.count) * 8
      for shift in stride(from: 56 as UInt64, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: bitCount >> shift))
      }
      return stride(from: 0, to: bytes.count, by: 64).map { start in
        (0..<16).map { index in
          (0..<4).reduce(0) { $0 << 8 | UInt32(bytes[start + 4 * index + $1]) }
        }
      }
    }

    private static func bytes(_ words: [UInt32]) -> [UInt8] {
      words.flatMap { word in
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
      }
    }

    private static func left(_ word: UInt32, _ count: UInt32) -> UInt32 {
      word << count | word >> (32 - count)
    }

    private static func sha1(_ message: [UInt8]) -> [UInt8] {
      var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
      for block in blocks(message) {
        var w = block
        for index in 16..<80 {
          w.append(left(w[index - 3] ^ w[index - 8] ^ w[index - 14] ^ w[index - 16], 1))
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
          let (f, k): (UInt32, UInt32) =
            switch index {
            case ..<20: (b & c | ~b & d, 0x5A82_7999)
            case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
            case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
            default: (b ^ c ^ d, 0xCA62_C1D6)
            }
          (a, b, c, d, e) = (left(a, 5) &+ f &+ e &+ k &+ w[index], a, left(b, 30), c, d)
        }
        state = zip(state, [a, b, c, d, e]).map { $0 &+ $1 }
      }
      return bytes(state)
    }

    /// The first 32 bits of the fractional parts of roots of the first primes.
    private static func fractions(_ count: Int, _ root: (Double) -> Double) -> [UInt32] {
      var primes: [Int] = []
      var candidate = 2
      while primes.count < count {
        if primes.allSatisfy({ candidate % $0 != 0 }) { primes.append(candidate) }
        candidate += 1
      }
      return primes.map { prime in
        let value = root(Double(prime))
        return UInt32((value - value.rounded(.down)) * 4_294_967_296)
      }
    }

    private static let initial = fractions(8) { $0.squareRoot() }
    private static let constants = fractions(64) { number in
      // Newton's method; the cube root of a number below 312.
      var root = 7.0
      for _ in 0..<60 { root -= (root * root * root - number) / (3 * root * root) }
      return root
    }

    private static func sha256(_ message: [UInt8]) -> [UInt8] {
      var state = initial
      for block in blocks(message) {
        var w = block
        for index in 16..<64 {
          let (x, y) = (w[index - 15], w[index - 2])
          let s0 = left(x, 25) ^ left(x, 14) ^ x >> 3
          let s1 = left(y, 15) ^ left(y, 13) ^ y >> 10
          w.append(w[index - 16] &+ s0 &+ w[index - 7] &+ s1)
        }
        var v = state
        for index in 0..<64 {
          let s1 = left(v[4], 26) ^ left(v[4], 21) ^ left(v[4], 7)
          let choice = v[4] & v[5] ^ ~v[4] & v[6]
          let t1 = v[7] &+ s1 &+ choice &+ constants[index] &+ w[index]
          let s0 = left(v[0], 30) ^ left(v[0], 19) ^ left(v[0], 10)
          let t2 = s0 &+ (v[0] & v[1] ^ v[0] & v[2] ^ v[1] & v[2])
          v = [t1 &+ t2, v[0], v[1], v[2], v[3] &+ t1, v[4], v[5], v[6]]
        }
        state = zip(state, v).map { $0 &+ $1 }
      }
      return bytes(state)
    }
  }
#endif
