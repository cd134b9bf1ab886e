import BluetoothWire
public import Essentials

/// Random bits for keys and nonces: CTR_DRBG with AES-128, without derivation function (NIST
/// SP 800-90A Rev. 1, §10.2.1). What it gives out can't be computed from what it gave out before.
///
/// It is part of the machine, so that a run with pairing can be repeated; its entropy comes from the
/// driver.
public struct SecretGenerator: Sendable {
  /// How much entropy it takes.
  public static let entropyByteCount = 32

  private var key = [UInt8](repeating: 0, count: 16)
  private var counter: UInt128 = 0

  /// A generator from 32 bytes of full entropy.
  public init(entropy: [UInt8]) {
    precondition(entropy.count == Self.entropyByteCount, "CTR_DRBG takes 32 bytes of entropy")
    update(with: entropy)
  }

  /// A generator for simulations, as predictable as the other generator.
  public init(predictable generator: inout SeededGenerator) {
    var entropy: [UInt8] = []
    for _ in 0..<4 {
      let word = generator.next()
      for index in 0..<8 { entropy.append(UInt8(truncatingIfNeeded: word >> (8 * index))) }
    }
    self.init(entropy: entropy)
  }

  /// The next bytes; at most 65,536.
  public mutating func bytes(_ count: Int) -> [UInt8] {
    precondition(count <= 65_536, "CTR_DRBG gives out 65,536 bytes at a time")
    let result = blocks((count + 15) / 16)
    update(with: [UInt8](repeating: 0, count: Self.entropyByteCount))
    return Array(result.prefix(count))
  }

  /// 128 random bits.
  mutating func value() -> SMPValue { SMPValue(number: Self.number(bytes(16)[...])) }

  /// A private key on P-256; with a probability of 2⁻³² it is none.
  mutating func privateKey() -> SMPCoordinate? { SMPCoordinate(bytes(32)) }

  /// A passkey: 0 to 999,999, all of them equally likely.
  mutating func passkey() -> UInt32 {
    let bound: UInt32 = 1_000_000
    while true {
      let number = bytes(4).reduce(0) { $0 << 8 | UInt32($1) }
      // The last incomplete million would make small passkeys likelier.
      if number < UInt32.max / bound * bound { return number % bound }
    }
  }

  private mutating func blocks(_ count: Int) -> [UInt8] {
    let cipher = AES128(key: key)
    var result: [UInt8] = []
    for _ in 0..<count {
      counter &+= 1
      result += cipher.encrypt(SMPValue(number: counter).bytes)
    }
    return result
  }

  private mutating func update(with data: [UInt8]) {
    let mixed = zip(blocks(2), data).map { $0 ^ $1 }
    key = Array(mixed.prefix(16))
    counter = Self.number(mixed.suffix(16))
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt128 {
    bytes.reduce(0) { $0 << 8 | UInt128($1) }
  }
}
