#if Messaging
  /// The address of a file at a web server: a URI of the scheme `https` (RFC 9110, §4.2.2).
  ///
  /// Addresses come from peers. A user, another scheme and characters that a request can't carry are refused.
  package struct HTTPSAddress: Hashable, Sendable, CustomStringConvertible {
    /// The longest address, as it is read and as it is written, in bytes.
    package static let byteCountMax = 4_096
    private static let scheme = "https://"
    private static let defaultPort: UInt16 = 443

    /// A name in lower case, or an IP address without brackets.
    package let host: String
    package let port: UInt16
    /// Path and query as the request line has them: visible ASCII characters, the first a slash.
    package let target: String

    /// Reads an address. A fragment, which isn't sent, is left out; other characters than ASCII in the path are encoded.
    package init?(_ text: String) {
      guard text.utf8.count <= Self.byteCountMax,
        text.prefix(Self.scheme.count).lowercased() == Self.scheme
      else { return nil }
      let rest = text.dropFirst(Self.scheme.count)
      let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
      guard let (host, port) = Self.authority(rest[..<end]),
        let target = Self.target(rest[end...])
      else { return nil }
      self.init(host: host, port: port ?? Self.defaultPort, target: target)
    }

    private init?(host: String, port: UInt16, target: String) {
      (self.host, self.port, self.target) = (host, port, target)
      // Encoded characters are three times as long.
      guard description.utf8.count <= Self.byteCountMax else { return nil }
    }

    /// The address to which a redirection leads (RFC 3986, §5.2, without dot segments); nil if it isn't one.
    package func resolving(_ reference: String) -> HTTPSAddress? {
      guard reference.utf8.count <= Self.byteCountMax else { return nil }
      if reference.hasPrefix("//") { return HTTPSAddress("https:" + reference) }
      let path = reference.prefix { !"/?#".contains($0) }
      if path.contains(":") { return HTTPSAddress(reference) }
      let base = target.prefix { $0 != "?" }
      let text: Substring
      if reference.hasPrefix("/") {
        text = reference[...]
      } else if path.isEmpty {
        text = base + reference
      } else {
        text = base[...(base.lastIndex(of: "/") ?? base.startIndex)] + reference
      }
      return Self.target(text).flatMap { HTTPSAddress(host: host, port: port, target: $0) }
    }

    /// The host with its port, as the field `Host` has it.
    package var authority: String {
      let name = host.contains(":") ? "[\(host)]" : host
      return port == Self.defaultPort ? name : "\(name):\(port)"
    }

    package var description: String { Self.scheme + authority + target }

    private static func authority(_ text: Substring) -> (host: String, port: UInt16?)? {
      var (name, rest) = (text, Substring())
      if text.hasPrefix("[") {
        guard let end = text.firstIndex(of: "]") else { return nil }
        name = text[text.index(after: text.startIndex)..<end]
        rest = text[text.index(after: end)...]
        guard name.contains(":"),
          name.utf8.allSatisfy({ isHexadecimal($0) || ":.".utf8.contains($0) })
        else { return nil }
      } else {
        name = text.prefix { $0 != ":" }
        rest = text.dropFirst(name.count)
        guard name.utf8.count <= 253, name.utf8.allSatisfy(isHostByte) else { return nil }
      }
      guard !name.isEmpty else { return nil }
      if rest.isEmpty || rest == ":" { return (name.lowercased(), nil) }
      let digits = rest.dropFirst()
      guard rest.first == ":", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let port = UInt16(digits), port > 0
      else { return nil }
      return (name.lowercased(), port)
    }

    private static func target(_ text: Substring) -> String? {
      // By bytes: a combining mark behind a "#" would make another character of it.
      let sent = text.utf8.prefix { $0 != UInt8(ascii: "#") }
      var bytes: [UInt8] = []
      if sent.first != UInt8(ascii: "/") { bytes.append(UInt8(ascii: "/")) }
      let digits = Array("0123456789ABCDEF".utf8)
      for byte in sent {
        switch byte {
        case 0x21...0x7E: bytes.append(byte)
        case 0x80...: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        // Blanks and control characters would end the request line.
        default: return nil
        }
      }
      return String(decoding: bytes, as: UTF8.self)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
      switch byte {
      case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
      default: false
      }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
      default: false
      }
    }
  }
#endif
