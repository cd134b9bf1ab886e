#if Messaging
  import NIOCore
  import NIOPosix
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("The choice among the servers of a domain")
  struct ServerChoiceTests {
    /// Accepts connections, which it ends at once, or after the first bytes.
    private static func listen(
      answersFirst: Bool, _ accepted: @escaping @Sendable () -> Void
    ) async throws -> any Channel {
      try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelInitializer { channel in
          accepted()
          guard answersFirst else { return channel.close() }
          return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Garbage())
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
    }

    /// Answers with bytes that are neither XML nor TLS.
    private final class Garbage: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer
      typealias OutboundOut = ByteBuffer

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "no TLS here")), promise: nil)
      }
    }

    @Test(
      "The next server is tried after one that refuses, one that ends and one without TLS, without a pause",
      .timeLimit(.minutes(5)))
    func nextServer() async throws {
      let (reached, continuation) = AsyncStream.makeStream(of: String.self)
      let ending = try await Self.listen(answersFirst: false) { continuation.yield("ending") }
      let other = try await Self.listen(answersFirst: true) { continuation.yield("no TLS") }
      let last = try await Self.listen(answersFirst: true) { continuation.yield("last") }
      let refusing = try await Self.listen(answersFirst: true) {}
      func endpoint(
        _ channel: any Channel, _ encryption: ServerEndpoint.Encryption
      ) throws -> ServerEndpoint {
        let port = try #require(channel.localAddress?.port)
        return ServerEndpoint(host: "127.0.0.1", port: UInt16(port), encryption: encryption)
      }
      let settings = ServerSettings(
        domain: "chat.example",
        endpoints: [
          try endpoint(refusing, .startTLS), try endpoint(ending, .startTLS),
          try endpoint(other, .directTLS), try endpoint(last, .startTLS),
        ])
      try await refusing.close()
      let folder = try TestFolder()
      let host = try AccountHost(
        AccountStart(
          account: try #require(JID("ann@chat.example")), password: "", settings: settings,
          store: MessageStore(path: folder.path("messages")), program: "test"),
        observer: AccountObserver(
          changed: { if case .offline = $0 { continuation.yield("pause") } }, perform: { _ in },
          rejected: { _, _ in }, ended: { _ in }, committed: { _ in }))
      host.start()
      var names: [String] = []
      for await name in reached {
        names.append(name)
        if name == "last" { break }
      }
      #expect(names == ["ending", "no TLS", "last"])
      try await host.close(keepsSession: false)
      for channel in [ending, other, last] { try await channel.close() }
    }
  }
#endif
