import Essentials

/// Random numbers as hashes of other numbers, so that order of use doesn't matter.
enum HashedRandom {
  /// Mixes two numbers into one that looks random (the finaliser of SplitMix64).
  static func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
    var z = a &+ 0x9E37_79B9_7F4A_7C15 &* (b &+ 1)
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// A number for a text, the same in every run (FNV-1a), unlike `Hasher`'s.
  static func number(for text: String) -> UInt64 {
    text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
  }

  /// Approximately normal with deviation 1 from 64 random bits: the sum of four 16-bit uniforms,
  /// never beyond ±3.46. A tail that ends lets culling be exact.
  static func normal(_ bits: UInt64) -> Double {
    let sum =
      (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48)
    // Four uniforms on 0...65535 have mean 131070 and deviation 65535·√(4/12).
    return (Double(sum) - 131_070) / 37_837
  }

  /// The largest magnitude `normal` gives.
  static let normalMax = 3.5

  /// Uniform in 0 ..< 1 from 64 random bits.
  static func unit(_ bits: UInt64) -> Double { Double(bits >> 11) * 0x1p-53 }
}
