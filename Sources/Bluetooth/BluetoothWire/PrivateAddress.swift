// Resolvable private addresses (Core 5.4, Vol 6, Part B, §1.3.2.2).

extension DeviceAddress {
  /// The address that an identity resolving key makes from a random number.
  package static func resolvable(identityResolvingKey: AES128, random: UInt64) -> DeviceAddress {
    // 22 random bits, neither all zero nor all one, after the two bits of the address kind.
    let part = UInt32(random % 0x3F_FFFE) + 1 | 0x40_0000
    let hash = identityResolvingKey.addressHash(of: part)
    return DeviceAddress(bits: UInt64(part) << 24 | UInt64(hash), kind: .random)
  }

  /// Whether the address was generated with this identity resolving key (§1.3.2.3). The probability
  /// of a false match is 1 in 16 million.
  package func isMade(withIdentityResolvingKey key: AES128) -> Bool {
    guard randomKind == .resolvable else { return false }
    return UInt64(key.addressHash(of: UInt32(truncatingIfNeeded: bits >> 24))) == bits & 0xFF_FFFF
  }
}
