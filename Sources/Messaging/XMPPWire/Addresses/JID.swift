#if Messaging
  /// An address of XMPP: `local@domain/resource`.
  ///
  /// Addresses are compared byte by byte, as servers write them: they prepare addresses before they send them, by rules
  /// that differ between versions. `String` compares characters instead, so that two accounts could count as one.
  package struct JID: Sendable {
    /// Nil for a server.
    package let local: String?
    package let domain: String
    /// Nil for a bare address.
    package let resource: String?

    /// The maximum length of each part in bytes (RFC 7622, §3.2 to §3.4).
    package static let partByteCountMax = 1_023

    /// Reads an address as a server wrote it; nil if a part is empty, too long or has characters that no address may
    /// have.
    package init?(_ text: String) {
      let bytes = text.utf8
      let slash = bytes.firstIndex(of: UInt8(ascii: "/"))
      let bare = bytes[..<(slash ?? bytes.endIndex)]
      let at = bare.firstIndex(of: UInt8(ascii: "@"))
      let local = at.map { String(Substring(bare[..<$0])) }
      let domain = String(Substring(at.map { bare[bare.index(after: $0)...] } ?? bare))
      let resource = slash.map { String(Substring(bytes[bytes.index(after: $0)...])) }
      self.init(local: local, domain: domain, resource: resource)
    }

    /// Creates an address from its parts; nil if one is empty, too long or has characters that it may not have.
    package init?(local: String?, domain: String, resource: String?) {
      guard Self.isDomain(domain), local.map(Self.isLocal) ?? true,
        resource.map({ Self.isPart($0) { $0 >= 0x20 } }) ?? true
      else { return nil }
      self.local = local
      self.domain = domain
      self.resource = resource
    }

    /// Reads an address that a person typed: local part and domain become lower case, as servers prepare them
    /// (RFC 6122, appendix A), and blanks around it are dropped.
    package init?(typed text: String) {
      // The usual case: nothing to be prepared.
      if text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !(0x41...0x5A).contains($0) }) {
        self.init(text)
        return
      }
      let words = text.split(whereSeparator: \.isWhitespace)
      guard let word = words.first, words.count == 1, let typed = JID(String(word)) else {
        return nil
      }
      self.init(
        local: typed.local?.lowercased(), domain: typed.domain.lowercased(),
        resource: typed.resource)
    }

    private init(_ jid: JID, resource: String?) {
      local = jid.local
      domain = jid.domain
      self.resource = resource
    }

    /// The address without its resource: the account.
    package var bare: JID { JID(self, resource: nil) }

    package var isBare: Bool { resource == nil }

    /// Whether both are addresses of one account.
    package func isSameAccount(as other: JID) -> Bool { bare == other.bare }

    private static func isLocal(_ text: String) -> Bool {
      isPart(text) { byte in
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "/"),
          UInt8(ascii: ":"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "@"):
          false
        default: byte > 0x20
        }
      }
    }

    private static func isDomain(_ text: String) -> Bool {
      isPart(text) { byte in
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "/"),
          UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "@"):
          false
        default: byte > 0x20
        }
      }
    }

    private static func isPart(_ text: String, _ mayContain: (UInt8) -> Bool) -> Bool {
      (1...partByteCountMax).contains(text.utf8.count)
        && text.utf8.allSatisfy { $0 != 0x7F && mayContain($0) }
    }
  }

  extension JID: Hashable {
    package static func == (a: JID, b: JID) -> Bool {
      func same(_ a: String?, _ b: String?) -> Bool {
        guard let a, let b else { return a == nil && b == nil }
        return a.utf8.elementsEqual(b.utf8)
      }
      return same(a.local, b.local) && same(a.domain, b.domain) && same(a.resource, b.resource)
    }

    package func hash(into hasher: inout Hasher) {
      for part in [local, domain, resource] {
        // No part has a byte 0.
        for byte in (part ?? "").utf8 { hasher.combine(byte) }
        hasher.combine(0 as UInt8)
      }
    }
  }

  extension JID: CustomStringConvertible {
    /// The address as it is written in stanzas.
    package var description: String {
      (local.map { $0 + "@" } ?? "") + domain + (resource.map { "/" + $0 } ?? "")
    }
  }
#endif
