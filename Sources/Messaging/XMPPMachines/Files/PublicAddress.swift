#if Messaging
  package import Essentials

  extension Inet4Address {
    /// Whether it may be an address of the public Internet (RFC 6890 and the registry of special addresses).
    package var isPublic: Bool {
      let special: [(UInt32, Int)] = [
        (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8),
        (0xA9FE_0000, 16), (0xAC10_0000, 12), (0xC000_0000, 24), (0xC000_0200, 24),
        (0xC058_6300, 24), (0xC0A8_0000, 16), (0xC612_0000, 15), (0xC633_6400, 24),
        (0xCB00_7100, 24), (0xE000_0000, 4), (0xF000_0000, 4),
      ]
      return !special.contains { network, bitCount in
        (rawValue ^ network) >> UInt32(32 - bitCount) == 0
      }
    }
  }

  extension InetAddress {
    /// Whether it may be an address of the public Internet: a file that a peer names must not lead into a private network, or
    /// to this machine. An address of IPv6 with one of IPv4 inside is as public as that one.
    package var isPublic: Bool {
      guard case .v6 = self else {
        return Inet4Address(bytes: bytes)?.isPublic ?? false
      }
      let bytes = bytes
      func begins(with prefix: [UInt8]) -> Bool { bytes.starts(with: prefix) }
      func embedded(at place: Int) -> Bool {
        Inet4Address(bytes: bytes.dropFirst(place).prefix(4))?.isPublic ?? false
      }
      // Mapped addresses, NAT64 (RFC 6052) and 6to4 (RFC 3056).
      if begins(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) { return embedded(at: 12) }
      if begins(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) { return embedded(at: 12) }
      if begins(with: [0x20, 0x02]) { return embedded(at: 2) }
      // 2001::/23 is for protocols, 2001:db8::/32 and 3fff::/20 for documents.
      if begins(with: [0x20, 0x01]), let third = bytes[safe: 2], third < 2 { return false }
      if begins(with: [0x20, 0x01, 0x0D, 0xB8]) { return false }
      if begins(with: [0x3F, 0xFF]), let third = bytes[safe: 2], third < 16 { return false }
      return bytes.first.map { $0 >> 5 == 1 } ?? false
    }
  }
#endif
