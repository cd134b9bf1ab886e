#if Messaging
  /// An address at which a domain's server may be reached.
  package struct ServerEndpoint: Hashable, Sendable {
    /// How encryption begins.
    package enum Encryption: String, Hashable, Sendable {
      /// After the server has offered it in the stream (RFC 6120, §5).
      case startTLS = "starttls"
      /// With the first byte (XEP-0368).
      case directTLS = "direct"
    }

    /// A host name or an IP address.
    package var host: String
    package var port: UInt16
    package var encryption: Encryption

    package init(host: String, port: UInt16, encryption: Encryption) {
      self.host = host
      self.port = port
      self.encryption = encryption
    }
  }

  /// Chooses the order in which a client tries the servers of a domain (RFC 6120, §3.2; XEP-0368).
  package enum ServerCandidates {
    /// One SRV record.
    package struct Record: Hashable, Sendable {
      package var priority: UInt16
      package var weight: UInt16
      package var port: UInt16
      /// The host name without a dot at the end; empty for the root, which denies the service.
      package var target: String

      package init(priority: UInt16, weight: UInt16, port: UInt16, target: String) {
        self.priority = priority
        self.weight = weight
        self.port = port
        self.target = target
      }
    }

    /// The result of the query for the SRV records of one service.
    package enum Answer: Hashable, Sendable {
      case records([Record])
      /// The domain has no such records.
      case absent
      /// No name server has answered.
      case failed

      var records: [Record] { if case .records(let records) = self { records } else { [] } }
    }

    /// The maximum number of servers that are tried, of those that a domain may name.
    package static let countMax = 16
    /// The port of a domain that has no SRV records.
    package static let defaultPort: UInt16 = 5_222

    /// The servers in the order in which they are tried: by priority, and randomly by weight within one
    /// priority (RFC 2782).
    ///
    /// - Parameters:
    ///   - plain: The records of `_xmpp-client._tcp`.
    ///   - direct: The records of `_xmpps-client._tcp`.
    /// - Returns: The domain itself if there are no records; empty if the domain denies the service.
    package static func order(
      domain: String, plain: Answer, direct: Answer, using chance: inout some RandomNumberGenerator
    ) -> [ServerEndpoint] {
      var left = plain.records.map { ($0, ServerEndpoint.Encryption.startTLS) }
      left += direct.records.map { ($0, .directTLS) }
      guard !left.isEmpty else {
        return [ServerEndpoint(host: domain, port: defaultPort, encryption: .startTLS)]
      }
      left.removeAll { $0.0.target.isEmpty || $0.0.port == 0 }
      var ordered: [ServerEndpoint] = []
      while let priority = left.map(\.0.priority).min(), ordered.count < countMax {
        var group = left.filter { $0.0.priority == priority }
        left.removeAll { $0.0.priority == priority }
        while !group.isEmpty, ordered.count < countMax {
          let (record, encryption) = group.remove(
            at: choose(among: group.map(\.0.weight), using: &chance))
          ordered.append(
            ServerEndpoint(host: record.target, port: record.port, encryption: encryption))
        }
      }
      return ordered
    }

    /// The index of the next record. Records without weight have a small chance, as RFC 2782 recommends.
    private static func choose(
      among weights: [UInt16], using chance: inout some RandomNumberGenerator
    ) -> Int {
      let shares = weights.map { $0 == 0 ? 1 : 100 * Int($0) }
      var number = Int(chance.next(upperBound: UInt64(shares.reduce(0, +))))
      for (index, share) in shares.enumerated() {
        if number < share { return index }
        number -= share
      }
      return shares.count - 1
    }
  }

  /// The servers of a domain that have failed since one of them was of use. They are tried after the others.
  package struct FailedServers: Hashable, Sendable {
    /// Only servers that a domain names now matter; the oldest failures are forgotten.
    private static let countMax = 64

    private var servers: [ServerEndpoint] = []

    package init() {}

    /// A server could not be reached, or was of no use: TLS failed, or it did not answer.
    package mutating func add(_ server: ServerEndpoint) {
      servers.removeAll { $0 == server }
      servers.append(server)
      if servers.count > Self.countMax { servers.removeFirst() }
    }

    /// A server was of use: the others get another chance.
    package mutating func forget() { servers = [] }

    /// Whether one of these servers has not failed.
    package func leave(_ candidates: [ServerEndpoint]) -> Bool {
      candidates.contains { !servers.contains($0) }
    }

    /// The order in which servers are tried: those that have not failed as they are, then those whose failure is oldest.
    package func order(_ candidates: [ServerEndpoint]) -> [ServerEndpoint] {
      candidates.filter { !servers.contains($0) } + servers.filter { candidates.contains($0) }
    }
  }
#endif
