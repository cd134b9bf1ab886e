#if Messaging
  /// The name of a piece of data (XEP-0231, §2): the SHA-1 digest of its bytes, which is no proof of anything.
  enum ContentName {
    static func name(of bytes: [UInt8]) -> String {
      let digits = digest(of: bytes).map { byte in
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
      return "sha1+\(digits.joined())@bob.xmpp.org"
    }

    /// SHA-1 (FIPS 180-4, §6.1). Here, because this layer uses no library of cryptography.
    private static func digest(of bytes: [UInt8]) -> [UInt8] {
      var message = bytes + [0x80]
      message += Array(repeating: 0, count: (120 - message.count % 64) % 64)
      let bitCount = UInt64(bytes.count) * 8
      for shift in stride(from: 56 as UInt64, through: 0, by: -8) {
        message.append(UInt8(truncatingIfNeeded: bitCount >> shift))
      }
      var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
      for start in stride(from: 0, to: message.count, by: 64) {
        add(message[start..<start + 64], to: &state)
      }
      return state.flatMap { word in
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
      }
    }

    private static func add(_ block: ArraySlice<UInt8>, to state: inout [UInt32]) {
      var words: [UInt32] = []
      words.reserveCapacity(80)
      for start in stride(from: block.startIndex, to: block.endIndex, by: 4) {
        words.append(block[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) })
      }
      for index in 16..<80 {
        let word = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
        words.append(rotated(word, by: 1))
      }
      var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
      for (index, word) in words.enumerated() {
        let (function, constant): (UInt32, UInt32) =
          switch index {
          case ..<20: (b & c | ~b & d, 0x5a82_7999)
          case ..<40: (b ^ c ^ d, 0x6ed9_eba1)
          case ..<60: (b & c | b & d | c & d, 0x8f1b_bcdc)
          default: (b ^ c ^ d, 0xca62_c1d6)
          }
        let next = rotated(a, by: 5) &+ function &+ e &+ constant &+ word
        (a, b, c, d, e) = (next, a, rotated(b, by: 30), c, d)
      }
      for (index, value) in [a, b, c, d, e].enumerated() { state[index] &+= value }
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 {
      word << count | word >> (32 - count)
    }
  }
#endif
