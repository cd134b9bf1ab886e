/// A small, fast, seedable random number generator (SplitMix64): the same seed gives the same
/// sequence on every machine.
///
/// Not suitable for secrets: all numbers can be computed from one output.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Creates a generator from a seed.
  public init(seed: UInt64) {
    state = seed
  }

  /// The next 64 bits of the sequence.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// Returns an independent generator, so that its use does not affect the numbers of this one.
  public mutating func fork() -> SeededGenerator {
    SeededGenerator(seed: next())
  }

  /// A number in 0 ..< 1.
  public mutating func unit() -> Double {
    Double(next() >> 11) * 0x1p-53
  }
}
