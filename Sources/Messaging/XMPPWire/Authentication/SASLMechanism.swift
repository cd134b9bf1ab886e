#if Messaging
  /// A mechanism of SASL that this module knows, weakest first.
  package enum SASLMechanism: String, Hashable, Sendable, CaseIterable, Comparable {
    /// RFC 4616: the password itself.
    case plain = "PLAIN"
    /// RFC 5802.
    case scramSHA1 = "SCRAM-SHA-1"
    case scramSHA1Plus = "SCRAM-SHA-1-PLUS"
    /// RFC 7677.
    case scramSHA256 = "SCRAM-SHA-256"
    case scramSHA256Plus = "SCRAM-SHA-256-PLUS"
    case scramSHA512 = "SCRAM-SHA-512"
    case scramSHA512Plus = "SCRAM-SHA-512-PLUS"

    /// The hash function of SCRAM; nil for PLAIN.
    package var hash: SCRAMHash? {
      switch self {
      case .plain: nil
      case .scramSHA1, .scramSHA1Plus: .sha1
      case .scramSHA256, .scramSHA256Plus: .sha256
      case .scramSHA512, .scramSHA512Plus: .sha512
      }
    }

    /// Whether the exchange is bound to the TLS connection.
    package var isBound: Bool {
      switch self {
      case .plain, .scramSHA1, .scramSHA256, .scramSHA512: false
      case .scramSHA1Plus, .scramSHA256Plus, .scramSHA512Plus: true
      }
    }

    /// Whether the mechanism protects less than another one: by its hash function, or because it isn't bound to TLS.
    package func isWeaker(than other: SASLMechanism) -> Bool {
      (hash?.byteCount ?? 0) < (other.hash?.byteCount ?? 0) || other.isBound && !isBound
    }

    package static func < (a: SASLMechanism, b: SASLMechanism) -> Bool { a.rank < b.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  /// What a server offers for the authentication, as it arrived.
  package struct SASLOffer: Hashable, Sendable {
    /// The names of the mechanisms.
    package var mechanisms: [String]
    /// The types of channel bindings (XEP-0440); nil if the server doesn't name them.
    package var channelBindings: [String]?

    package init(mechanisms: [String] = [], channelBindings: [String]? = nil) {
      self.mechanisms = mechanisms
      self.channelBindings = channelBindings
    }

    /// The text whose digest the server sends (XEP-0474, §5.1). Its delimiters can't occur in XML.
    package var text: [UInt8] {
      func joined(_ names: [String]) -> [UInt8] {
        Array(
          names.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
            .joined(separator: [0x1E]))
      }
      return joined(mechanisms) + (channelBindings.map { [0x1F] + joined($0) } ?? [])
    }
  }

  /// The hash function of a SCRAM mechanism.
  package enum SCRAMHash: Hashable, Sendable, CaseIterable {
    case sha1
    case sha256
    case sha512

    /// The length of a digest in bytes.
    package var byteCount: Int {
      switch self {
      case .sha1: 20
      case .sha256: 32
      case .sha512: 64
      }
    }
  }

  /// Data that identify a TLS connection to both its ends (RFC 5929, RFC 9266), as far as the host can compute them.
  package struct ChannelBindings: Hashable, Sendable {
    /// `tls-exporter`, 32 bytes; of TLS 1.3.
    package var exporter: [UInt8]?
    /// `tls-server-end-point`: the hash of the server's certificate.
    package var serverEndPoint: [UInt8]?

    package init(exporter: [UInt8]? = nil, serverEndPoint: [UInt8]? = nil) {
      self.exporter = exporter
      self.serverEndPoint = serverEndPoint
    }

    /// The strongest binding among those that a server names (XEP-0440): its name and data.
    package func best(of types: [String]) -> (name: String, data: [UInt8])? {
      for (name, data) in [("tls-exporter", exporter), ("tls-server-end-point", serverEndPoint)] {
        if let data, types.contains(name) { return (name, data) }
      }
      return nil
    }
  }
#endif
