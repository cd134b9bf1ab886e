#if Messaging
  import NIOCore
  import NIOSSL
  import Testing

  @testable import MessagingHost

  @Suite("TLS of a client")
  struct ClientTLSTests {
    /// ejabberd sends no answer to the end of TLS.
    @Test
    func `A client that ends its connection waits a moment for a server that sends no answer`()
      throws
    {
      let configuration = try TLSConfiguration.client(protocols: [], authorityFile: nil)
      #expect(configuration.shutdownTimeout <= .milliseconds(500))
    }

    @Test func `A file of authorities that can't be read is an error with its path`() {
      let error = #expect(throws: ServerConnectionError.self) {
        try TLSConfiguration.client(protocols: [], authorityFile: "/nowhere/authority.pem")
      }
      guard case .badAuthorityFile(let text) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(text.hasPrefix("/nowhere/authority.pem: "))
    }
  }
#endif
