package import BluetoothWire
package import Essentials

/// Random bits for keys and nonces: CTR_DRBG with AES-128, without derivation function (NIST SP
/// 800-90A Rev. 1, §10.2.1). Its output can't be computed from earlier output.
///
/// It is part of the machine, so that runs with pairing are reproducible. The driver supplies its
/// entropy.
package struct SecretGenerator: Sendable {
  /// The required entropy in bytes.
  package static let entropyByteCount = 32

  private var key = SMPValue(number: 0)
  private var counter: UInt128 = 0

  /// Creates a generator from 32 bytes of full entropy.
  package init(entropy: [UInt8]) {
    precondition(entropy.count == Self.entropyByteCount, "CTR_DRBG takes 32 bytes of entropy")
    update(with: Self.number(entropy.prefix(16)), Self.number(entropy.suffix(16)))
  }

  /// Creates a predictable generator for simulations.
  package init(predictable generator: inout SeededGenerator) {
    var entropy: [UInt8] = []
    for _ in 0..<4 {
      let word = generator.next()
      for index in 0..<8 { entropy.append(UInt8(truncatingIfNeeded: word >> (8 * index))) }
    }
    self.init(entropy: entropy)
  }

  /// Returns random bytes; at most 65,536.
  package mutating func bytes(_ count: Int) -> [UInt8] {
    precondition(count <= 65_536, "CTR_DRBG gives out 65,536 bytes at a time")
    let cipher = AES128(key: key.number)
    var result: [UInt8] = []
    result.reserveCapacity(count + 15)
    while result.count < count { result += SMPValue(number: block(cipher)).bytes }
    result.removeLast(result.count - count)
    update()
    return result
  }

  /// 128 random bits.
  package mutating func value() -> SMPValue {
    let value = SMPValue(number: block(AES128(key: key.number)))
    update()
    return value
  }

  /// A private key on P-256; invalid with a probability of 2⁻³².
  package mutating func privateKey() -> SMPCoordinate {
    let cipher = AES128(key: key.number)
    let high = block(cipher)
    let value = SMPCoordinate(high: high, low: block(cipher))
    update()
    return value
  }

  /// A passkey: 0 to 999,999, all of them equally likely.
  mutating func passkey() -> UInt32 {
    let bound: UInt32 = 1_000_000
    while true {
      let number = bytes(4).reduce(0) { $0 << 8 | UInt32($1) }
      // The last incomplete million would make small passkeys likelier.
      if number < UInt32.max / bound * bound { return number % bound }
    }
  }

  private mutating func block(_ cipher: AES128) -> UInt128 {
    counter &+= 1
    return cipher.encrypt(counter)
  }

  /// Updates the state, so that earlier output cannot be computed from it (§10.2.1.2).
  private mutating func update(with high: UInt128 = 0, _ low: UInt128 = 0) {
    let cipher = AES128(key: key.number)
    key = SMPValue(number: block(cipher) ^ high)
    counter = block(cipher) ^ low
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt128 {
    bytes.reduce(0) { $0 << 8 | UInt128($1) }
  }
}
