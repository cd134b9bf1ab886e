#if Messaging
  internal import Glibc
  internal import NIOCore
  internal import NIOPosix
  internal import NIOSSL
  internal import NIOTLS
  internal import XMPPMachines
  internal import XMPPWire

  /// A connection with an account's server: TCP, and TLS where it has begun. Used on its event loop only.
  ///
  /// It connects to the servers of the domain one after the other, and to the addresses of each as RFC 8305 has
  /// it. It reports to its owner in this order: `connected`, or `encrypted` where TLS begins with the first byte;
  /// bytes; at last one `ended`.
  final class ServerChannel {
    enum Event {
      /// TCP is connected. The server is to be asked for TLS in the stream.
      case connected
      /// TLS has begun, with the first byte or later, and the certificate is valid for the domain.
      case encrypted(isDirect: Bool)
      /// A server could not be reached; the next one is tried.
      case unreachable(ServerEndpoint)
      /// Bytes have arrived.
      case bytes([UInt8])
      /// It failed or ended; the last event.
      case ended(ServerConnectionError)
    }

    /// The time for connecting to one address, and for the handshake of TLS.
    private static let attemptTime = TimeAmount.seconds(10)
    /// After so long without an acknowledgement of sent data the system ends the connection (RFC 5482).
    private static let userTimeoutMilliseconds: CInt = 30_000
    /// The time for the server to take the last bytes before the connection is closed.
    private static let closeTime = TimeAmount.seconds(2)

    private let loop: any EventLoop
    private let settings: ServerSettings
    private let report: (ServerChannel, Event) -> Void
    private let failed: FailedServers
    /// The servers of the domain, and the one that is being tried or connected.
    private(set) var candidates: [ServerEndpoint] = []
    private(set) var endpoint: ServerEndpoint?
    private var channel: (any Channel)?
    private var hasEnded = false
    private var isReading = true
    private var isEncrypting = false
    private var isDirect = false
    private var handshakeDeadline: Scheduled<Void>?
    /// What was written since the last flush.
    private var unsent: [UInt8] = []
    private let exporterSecret = ExporterSecret()
    /// What identifies the TLS connection, once it is established.
    private(set) var bindings = ChannelBindings()

    /// - Parameters:
    ///   - failed: The servers that are tried last.
    ///   - report: Called on the loop with this object, never before a method of it has returned.
    init(
      _ settings: ServerSettings, after failed: FailedServers, on loop: any EventLoop,
      _ report: @escaping (ServerChannel, Event) -> Void
    ) {
      self.settings = settings
      self.failed = failed
      self.loop = loop
      self.report = report
    }

    /// Finds the servers and connects to the first that answers.
    func start() {
      if !settings.endpoints.isEmpty { return connect(to: settings.endpoints, .timedOut) }
      let domain = settings.domain
      let bound = NIOLoopBound(self, eventLoop: loop)
      NIOThreadPool.singleton.runIfActive(eventLoop: loop) { ServerLookup.endpoints(of: domain) }
        .whenComplete { result in
          switch result {
          case .success(let endpoints): bound.value.connect(to: endpoints, .serviceDenied)
          case .failure(let error): bound.value.end(.unreachable("\(error)"))
          }
        }
    }

    private func connect(to endpoints: [ServerEndpoint], _ error: ServerConnectionError) {
      candidates = endpoints
      connect(to: failed.order(endpoints)[...], error)
    }

    private func connect(to endpoints: ArraySlice<ServerEndpoint>, _ error: ServerConnectionError) {
      guard !hasEnded else { return }
      guard let endpoint = endpoints.first else { return later { $0.end(error) } }
      self.endpoint = endpoint
      let bound = NIOLoopBound(self, eventLoop: loop)
      ClientBootstrap(group: loop)
        .connectTimeout(Self.attemptTime)
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .channelOption(
          ChannelOptions.socket(SocketOptionLevel(IPPROTO_TCP), SocketOptionName(TCP_USER_TIMEOUT)),
          value: SocketOptionValue(Self.userTimeoutMilliseconds)
        )
        .channelOption(.autoRead, value: isReading)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(StreamHandler(bound.value))
          }
        }
        .connect(host: endpoint.host, port: Int(endpoint.port))
        .whenComplete { result in
          let own = bound.value
          switch result {
          case .success(let channel): own.connected(channel, endpoint)
          case .failure(let error):
            guard !own.hasEnded else { return }
            own.report(own, .unreachable(endpoint))
            own.connect(
              to: endpoints.dropFirst(), ServerConnectionError(error, isConnecting: true))
          }
        }
    }

    private func connected(_ channel: any Channel, _ endpoint: ServerEndpoint) {
      guard !hasEnded else { return channel.close(promise: nil) }
      self.channel = channel
      setReading(isReading)
      switch endpoint.encryption {
      case .startTLS: report(self, .connected)
      case .directTLS:
        isDirect = true
        startTLS(protocols: ["xmpp-client"])
      }
    }

    /// Begins TLS. The owner has dropped the bytes that arrived before.
    func startTLS(protocols: [String] = []) {
      guard let channel, !isEncrypting, !hasEnded else { return }
      flush()
      isEncrypting = true
      do {
        let handler = try NIOSSLClientHandler.proving(settings.domain, try makeContext(protocols))
        handshakeDeadline = loop.assumeIsolated().scheduleTask(in: Self.attemptTime) {
          [weak self] in
          self?.end(.timedOut)
        }
        try channel.pipeline.syncOperations.addHandler(handler, position: .first)
      } catch {
        let error = ServerConnectionError(error, isConnecting: false)
        later { $0.end(error) }
      }
    }

    private func makeContext(_ protocols: [String]) throws -> NIOSSLContext {
      var configuration = try TLSConfiguration.client(
        protocols: protocols, authorityFile: settings.authorityFile)
      // A context of its own for each connection: the line is this connection's.
      configuration.keyLogCallback = { [exporterSecret] in exporterSecret.take(line: $0) }
      return try NIOSSLContext(configuration: configuration)
    }

    /// Has the system hold the connection while the app is suspended.
    func hold(by holder: ConnectionHolder) {
      if let channel, !hasEnded { holder.hold(channel) }
    }

    /// Adds bytes to what the next ``flush()`` sends, or an earlier start of TLS or end.
    func write(_ bytes: some Collection<UInt8>) {
      guard channel != nil, !hasEnded else { return }
      unsent += bytes
    }

    /// Sends what was written: one record of TLS, and one call of the system.
    func flush() {
      guard let channel, !unsent.isEmpty else { return }
      let bytes = unsent
      unsent = []
      channel.writeAndFlush(channel.allocator.buffer(bytes: bytes), promise: nil)
    }

    /// False while written bytes wait in memory for the system.
    var isWritable: Bool { channel?.isWritable ?? true }

    /// Ends the connection after the bytes that were written. The owner hears nothing more but `done`, when the
    /// system has taken them, or no longer waits for that.
    func close(_ done: @escaping () -> Void = {}) {
      flush()
      hasEnded = true
      handshakeDeadline?.cancel()
      let bound = NIOLoopBound(done, eventLoop: loop)
      guard let channel else { return loop.execute { bound.value() } }
      self.channel = nil
      channel.closeFuture.whenComplete { _ in bound.value() }
      // Closing drops what the system has not taken yet.
      let deadline = loop.scheduleTask(in: Self.closeTime) { channel.close(promise: nil) }
      channel.setOption(.autoRead, value: true).whenComplete { _ in
        channel.writeAndFlush(channel.allocator.buffer(capacity: 0)).whenComplete { _ in
          deadline.cancel()
          channel.close(promise: nil)
        }
      }
    }

    /// Reads from the server, or lets it wait; also one that is not connected yet.
    func setReading(_ isReading: Bool) {
      self.isReading = isReading
      channel?.setOption(.autoRead, value: isReading).whenComplete { _ in }
    }

    private func end(_ error: ServerConnectionError) {
      guard !hasEnded else { return }
      close()
      report(self, .ended(error))
    }

    private func later(_ body: @escaping (ServerChannel) -> Void) {
      loop.assumeIsolated().execute { body(self) }
    }

    // MARK: From the channel

    fileprivate func took(_ bytes: [UInt8]) {
      if !hasEnded { report(self, .bytes(bytes)) }
    }

    fileprivate func encrypted() {
      guard !hasEnded else { return }
      handshakeDeadline?.cancel()
      guard hasPinnedKey() else { return end(.pinMismatch) }
      let certificate = try? channel?.pipeline.syncOperations.nioSSL_peerCertificate()
      bindings = ChannelBindings(
        exporter: exporterSecret.takeBinding(),
        serverEndPoint: (try? certificate?.toDERBytes()).flatMap(ChannelBindings.endPoint(of:)))
      report(self, .encrypted(isDirect: isDirect))
    }

    fileprivate func failed(_ error: any Error) {
      end(ServerConnectionError(error, isConnecting: false))
    }

    fileprivate func closed() { if channel != nil { end(.closed) } }

    private func hasPinnedKey() -> Bool {
      guard let pin = settings.pin else { return true }
      let certificate = try? channel?.pipeline.syncOperations.nioSSL_peerCertificate()
      guard let key = try? certificate?.extractPublicKey().toSPKIBytes() else { return false }
      return Digest.sha256.digest(of: key) == pin
    }
  }

  /// The last handler of the channel: carries its events to the owner.
  private final class StreamHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private weak var owner: ServerChannel?
    private var bytes: [UInt8] = []

    init(_ owner: ServerChannel) { self.owner = owner }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      bytes += unwrapInboundIn(data).readableBytesView
    }

    /// All that one pass has read at once, so that it is one transaction of the store.
    func channelReadComplete(context: ChannelHandlerContext) { flush() }

    private func flush() {
      guard !bytes.isEmpty else { return }
      let read = bytes
      bytes = []
      owner?.took(read)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case TLSUserEvent.handshakeCompleted = event { owner?.encrypted() }
    }

    func channelInactive(context: ChannelHandlerContext) {
      flush()
      owner?.closed()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      flush()
      owner?.failed(error)
    }
  }
#endif
