#if BindingServer
  internal import Foundation

  /// The addresses of reverse proxies whose `X-Forwarded-` fields are believed.
  struct TrustedProxies: Sendable {
    private struct Network: Sendable {
      var bytes: [UInt8]
      var prefixLength: Int

      func contains(_ address: [UInt8]) -> Bool {
        guard address.count == bytes.count else { return false }
        return address.indices.allSatisfy { index in
          let bits = min(8, max(0, prefixLength - 8 * index))
          let mask = UInt8(truncatingIfNeeded: 0xFF00 >> bits)
          return address[index] & mask == bytes[index] & mask
        }
      }
    }

    private var networks: [Network] = []

    /// Trusts none.
    init() {}

    /// Reads addresses and networks, such as `127.0.0.1`, `10.0.0.0/8` and `fd00::/8`.
    ///
    /// - Throws: The first text that is neither.
    init(_ texts: [String]) throws(InvalidText) {
      for text in texts {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let bytes = Self.bytes(of: String(parts[0])) else {
          throw InvalidText(text: text)
        }
        let length = parts.count == 2 ? Int(parts[1]) : 8 * bytes.count
        guard let length, (0...8 * bytes.count).contains(length) else {
          throw InvalidText(text: text)
        }
        networks.append(Network(bytes: bytes, prefixLength: length))
      }
    }

    struct InvalidText: Error {
      var text: String
    }

    var isEmpty: Bool { networks.isEmpty }

    func contains(_ address: String) -> Bool {
      guard let bytes = Self.bytes(of: address) else { return false }
      return networks.contains { $0.contains(bytes) }
    }

    /// The bytes of an address; an IPv4 address in the form of IPv6 has those of IPv4.
    private static func bytes(of address: String) -> [UInt8]? {
      var v4 = in_addr()
      if inet_pton(AF_INET, address, &v4) == 1 { return withUnsafeBytes(of: v4) { Array($0) } }
      var v6 = in6_addr()
      guard inet_pton(AF_INET6, address, &v6) == 1 else { return nil }
      let bytes = withUnsafeBytes(of: v6) { Array($0) }
      let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
      return bytes.starts(with: mapped) ? Array(bytes.suffix(4)) : bytes
    }
  }
#endif
