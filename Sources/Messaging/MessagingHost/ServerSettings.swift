#if Messaging
  package import XMPPMachines

  /// The server of an account, and the proof that it must give.
  package struct ServerSettings: Hashable, Sendable {
    /// The domain of the account, for which the certificate must be valid; A-labels where it is international.
    package var domain: String
    /// Servers to be used instead of those of the domain's SRV records, in this order; empty for these.
    package var endpoints: [ServerEndpoint]
    /// A PEM file of authorities that are trusted besides the system's.
    package var authorityFile: String?
    /// The SHA-256 digest of the public key (SubjectPublicKeyInfo) that the certificate must have; nil for
    /// any.
    package var pin: [UInt8]?

    package init(
      domain: String, endpoints: [ServerEndpoint] = [], authorityFile: String? = nil,
      pin: [UInt8]? = nil
    ) {
      self.domain = domain
      self.endpoints = endpoints
      self.authorityFile = authorityFile
      self.pin = pin
    }

    /// The settings for a host that the server has named. TLS still proves the account's domain.
    func at(_ target: StreamTarget) -> ServerSettings {
      guard case .host(let host, let port) = target else { return self }
      var settings = self
      settings.endpoints = [
        ServerEndpoint(
          host: host, port: port ?? ServerCandidates.defaultPort, encryption: .startTLS)
      ]
      return settings
    }
  }
#endif
