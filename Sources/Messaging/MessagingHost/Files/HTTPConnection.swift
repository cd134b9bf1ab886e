#if Messaging
  internal import EventLoop
  package import Essentials
  internal import Glibc
  internal import NIOCore
  internal import NIOHTTP1
  internal import NIOPosix
  internal import NIOSSL
  internal import XMPPMachines
  internal import XMPPWire

  /// How servers of files are reached.
  package struct FileServerSettings: Hashable, Sendable {
    /// A PEM file of authorities that are trusted besides the system's.
    package var authorityFile: String?
    /// Whether files may be at addresses that aren't public: this machine, and private networks.
    package var allowsPrivateAddresses = false
    /// The time for connecting to one address, and for TLS.
    package var connectTime: TimeSpan = .seconds(10)
    /// The time without a byte in either direction after which a connection is given up.
    package var silenceMax: TimeSpan = .seconds(30)
    /// A connection may take this time, and a second for each `slowestRate` bytes.
    package var baseTime: TimeSpan = .seconds(120)
    package var slowestRate: Int64 = 16_384

    package init() {}

    /// The time after which a transfer ends, however slowly bytes come.
    func timeMax(_ byteCount: Int64) -> TimeSpan {
      baseTime + .seconds(byteCount / max(1, slowestRate))
    }
  }

  /// Why a request failed, as a sentence without a full stop.
  struct HTTPError: Error {
    var reason: String
    /// The host has no public address.
    var isPrivate = false
  }

  typealias HTTPChannel = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

  /// A connection of HTTP/1.1 over TLS for one request.
  enum HTTPConnection {
    private static let watermark = ChannelOptions.Types.WriteBufferWaterMark(
      low: 32 << 10, high: 128 << 10)

    /// Connects to the first address of the host that answers. The certificate must be valid for the host.
    static func open(
      _ address: HTTPSAddress, _ settings: FileServerSettings, mayBePrivate: Bool
    ) async throws(HTTPError) -> HTTPChannel {
      let all = await addresses(of: address)
      guard !all.isEmpty else { throw HTTPError(reason: "\(address.host) has no address") }
      let allowed = mayBePrivate ? all : all.filter(\.isPublic)
      guard !allowed.isEmpty else {
        throw HTTPError(reason: "\(address.host) has no public address", isPrivate: true)
      }
      let context: NIOSSLContext
      do {
        context = try makeContext(settings)
      } catch {
        throw HTTPError(reason: "\(ServerConnectionError(error, isConnecting: false))")
      }
      var reason = ""
      for candidate in allowed.prefix(4) {
        do {
          return try await connect(candidate, address, context, settings)
        } catch {
          reason = "\(ServerConnectionError(error, isConnecting: true))"
        }
        if Task.isCancelled { break }
      }
      throw HTTPError(reason: reason)
    }

    private static func addresses(of address: HTTPSAddress) async -> [InetAddress] {
      if let literal = InetAddress(text: address.host) { return [literal] }
      let found = try? await NIOThreadPool.singleton.runIfActive {
        NameLookup.addresses(of: address.host, port: address.port)
      }
      return (found ?? []).compactMap { entry in
        switch entry.family {
        case AF_INET: InetAddress(bytes: entry.bytes.dropFirst(4).prefix(4))
        case AF_INET6: InetAddress(bytes: entry.bytes.dropFirst(8).prefix(16))
        default: nil
        }
      }
    }

    private static func makeContext(_ settings: FileServerSettings) throws -> NIOSSLContext {
      let configuration = try TLSConfiguration.client(
        protocols: ["http/1.1"], authorityFile: settings.authorityFile)
      return try NIOSSLContext(configuration: configuration)
    }

    private static func connect(
      _ target: InetAddress, _ address: HTTPSAddress, _ context: NIOSSLContext,
      _ settings: FileServerSettings
    ) async throws -> HTTPChannel {
      // Without a name, the certificate is checked for the address.
      let name = InetAddress(text: address.host) == nil ? address.host : nil
      return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(.nanoseconds(settings.connectTime.nanoseconds))
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .channelOption(.writeBufferWaterMark, value: watermark)
        .connect(
          to: NIOCore.SocketAddress(ipAddress: target.description, port: Int(address.port))
        ) { channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(
              IdleStateHandler(allTimeout: .nanoseconds(settings.silenceMax.nanoseconds)))
            try pipeline.addHandler(SilenceHandler())
            try pipeline.addHandler(
              name.map { try NIOSSLClientHandler.proving($0, context) }
                ?? NIOSSLClientHandler(context: context, serverHostname: nil))
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderFieldSize = 16 << 10
            limits.maxHeaderListSize = 64 << 10
            limits.maxHeaderFieldCount = 100
            try pipeline.addHTTPClientHandlers(
              leftOverBytesStrategy: .dropBytes, enableOutboundHeaderValidation: true,
              decoderLimitConfiguration: limits)
            return try HTTPChannel(wrappingChannelSynchronously: channel)
          }
        }
    }

    /// The fields of each request.
    static func headers(_ address: HTTPSAddress) -> HTTPHeaders {
      ["host": address.authority, "user-agent": "Ambit", "connection": "close"]
    }

    /// Runs a request on a connection; it ends after `time` at the latest.
    static func run<Value: Sendable>(
      _ channel: HTTPChannel, within time: TimeSpan,
      _ body:
        @Sendable (
          NIOAsyncChannelInboundStream<HTTPClientResponsePart>,
          NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>
        ) async throws -> Value
    ) async throws -> Value {
      let end = Instant.now + time
      let raw = channel.channel
      let deadline = raw.eventLoop.scheduleTask(in: .nanoseconds(time.nanoseconds)) {
        raw.close(promise: nil)
      }
      defer { deadline.cancel() }
      do {
        return try await channel.executeThenClose(body)
      } catch {
        if end <= .now { throw HTTPError(reason: "the transfer took too long") }
        throw error
      }
    }
  }

  /// Ends a connection on which nothing happens.
  private final class SilenceHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      guard event is IdleStateHandler.IdleStateEvent else {
        return context.fireUserInboundEventTriggered(event)
      }
      context.fireErrorCaught(HTTPError(reason: "the server is silent"))
      context.close(promise: nil)
    }
  }

  extension HTTPError {
    /// The error of a request.
    init(_ error: any Error) {
      switch error {
      case let error as HTTPError: self = error
      case is CancellationError: self.init(reason: "it was canceled")
      case is HTTPParserError: self.init(reason: "the server's answer is not HTTP: \(error)")
      case let error as ChannelError where error == .alreadyClosed || error == .ioOnClosedChannel:
        self.init(reason: "the server closed the connection")
      default: self.init(reason: "\(ServerConnectionError(error, isConnecting: false))")
      }
    }
  }
#endif
