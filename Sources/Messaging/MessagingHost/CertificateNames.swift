#if Messaging
  internal import NIOCore
  internal import NIOSSL

  extension NIOSSLClientHandler {
    /// A handler for a server that must prove a name, not only the address that a query of DNS has given.
    ///
    /// swift-nio-ssl also accepts a certificate for the address of the connection where it was given a name. Public
    /// authorities certify addresses, so that control over a client's DNS would be enough to take a server's place.
    static func proving(_ name: String, _ context: NIOSSLContext) throws -> NIOSSLClientHandler {
      try _makeSSLClientHandler(context: context, serverHostname: name) { certificate, channel in
        guard certificate.hasAddress, !certificate.isFor(name) else {
          return channel.eventLoop.makeSucceededVoidFuture()
        }
        return channel.eventLoop.makeFailedFuture(
          ServerConnectionError.certificateRefused("it is for the address, and for another name"))
      }
    }
  }

  extension NIOSSLCertificate {
    fileprivate var hasAddress: Bool {
      _subjectAlternativeNames().contains { $0.nameType == .ipAddress }
    }

    fileprivate func isFor(_ name: String) -> Bool {
      _subjectAlternativeNames().contains { entry in
        guard entry.nameType == .dnsName else { return false }
        let pattern = entry.contents.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        return CertificateName(pattern).matches(name)
      }
    }
  }

  /// A `dNSName` of a certificate; a first label `*` is for any one label (RFC 9525, §6.3).
  struct CertificateName {
    private let labels: [Substring]

    init(_ text: String) { labels = Self.labels(text) }

    func matches(_ name: String) -> Bool {
      let others = Self.labels(name)
      guard labels.count == others.count, let first = labels.first else { return false }
      if first == "*", labels.count > 2 { return labels.dropFirst() == others.dropFirst() }
      return labels == others
    }

    private static func labels(_ text: String) -> [Substring] {
      let lowercased = text.lowercased()
      return (lowercased.hasSuffix(".") ? lowercased.dropLast() : lowercased[...])
        .split(separator: ".", omittingEmptySubsequences: false)
    }
  }
#endif
