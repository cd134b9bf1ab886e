#if Messaging
  internal import NIOCore
  internal import NIOSSL

  extension TLSConfiguration {
    /// The configuration of a client of XMPP and of file servers, with the system's authorities and those of a file.
    ///
    /// - Throws: `ServerConnectionError.badAuthorityFile`.
    static func client(
      protocols: [String], authorityFile: String?
    ) throws(ServerConnectionError) -> TLSConfiguration {
      var configuration = makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv12
      configuration.applicationProtocols = protocols
      // A side that closes needs no answer (RFC 8446, §6.1), and ejabberd sends none: the end of each connection, and with
      // it the end of each command, took the default of five seconds.
      configuration.shutdownTimeout = .milliseconds(200)
      if let authorityFile {
        do {
          configuration.additionalTrustRoots = [
            .certificates(try NIOSSLCertificate.fromPEMFile(authorityFile))
          ]
        } catch {
          throw .badAuthorityFile("\(authorityFile): \(error)")
        }
      }
      return configuration
    }
  }
#endif
