#if Messaging
  import NIOSSL
  import Testing
  import XMPPMachines

  @testable import MessagingHost

  @Suite("Failures of connections with a server")
  struct ServerConnectionErrorTests {
    private func retry(_ error: BoringSSLError) -> StreamFailure.Retry {
      ServerConnectionError(NIOSSLError.handshakeFailed(error), isConnecting: false)
        .streamFailure.retry
    }

    @Test("a server that ends during the handshake of TLS is tried again soon")
    func endsDuringHandshake() {
      #expect(retry(.sslError([.eofDuringHandshake])) == .soon)
      #expect(retry(.zeroReturn) == .soon)
      #expect(retry(.syscallError) == .soon)
    }

    @Test("a server whose TLS fails is tried again late")
    func failsTLS() {
      #expect(retry(.sslError([])) == .late)
      #expect(retry(.invalidSNIName([])) == .late)
    }
  }
#endif
