#if Messaging
  internal import JSONWire
  internal import NIOCore
  internal import NIOHTTP1
  internal import NIOPosix
  internal import XMPPMachines
  internal import XMPPWire

  /// The HTTP endpoint of a push gateway. Used on its event loop only.
  final class GatewayServer {
    /// Connections at a time; one beyond them is closed.
    private static let connectionCountMax = 256

    private let driver: GatewayDriver
    /// The digest of the token: comparing digests takes the same time for all tokens.
    private let tokenDigest: [UInt8]
    private var listener: (any Channel)?
    private var connections: [ObjectIdentifier: any Channel] = [:]
    /// Bytes of requests that have come in part, of all connections, and their bound.
    private var heldByteCount = 0
    private static let heldByteCountMax = 32 << 20

    init(_ driver: GatewayDriver) {
      self.driver = driver
      tokenDigest = Digest.sha256.digest(of: Array(driver.settings.token.utf8))
    }

    /// - Returns: The port.
    func listen() -> EventLoopFuture<Int> {
      let loop = driver.loop
      let bound = NIOLoopBound(self, eventLoop: loop)
      return ServerBootstrap(group: loop)
        .serverChannelOption(.backlog, value: 256)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        // Before a handler that ends these errors.
        .serverChannelInitializer { $0.pipeline.addHandler(AcceptErrorHandler()) }
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
            try pipeline.addHandler(GatewayHandler(bound.value))
          }
        }
        .bind(host: driver.settings.listenHost, port: Int(driver.settings.listenPort))
        .map { channel in
          bound.value.listener = channel
          return channel.localAddress?.port ?? 0
        }
    }

    func close() -> EventLoopFuture<Void> {
      let loop = driver.loop
      for channel in connections.values { channel.close(promise: nil) }
      guard let listener else { return loop.makeSucceededVoidFuture() }
      return listener.close().recover { _ in }
    }

    fileprivate func opened(_ channel: any Channel) {
      connections[ObjectIdentifier(channel)] = channel
    }

    fileprivate func closed(_ channel: any Channel) {
      connections[ObjectIdentifier(channel)] = nil
    }

    /// Takes bytes of a request; false if too many are held.
    fileprivate func hold(_ byteCount: Int) -> Bool {
      guard heldByteCount + byteCount <= Self.heldByteCountMax else { return false }
      heldByteCount += byteCount
      return true
    }

    fileprivate func release(_ byteCount: Int) { heldByteCount -= byteCount }

    fileprivate var isFull: Bool { connections.count > Self.connectionCountMax }

    fileprivate func isAuthorized(_ head: HTTPRequestHead) -> Bool {
      let values = head.headers["authorization"]
      guard values.count == 1, let value = values.first, value.lowercased().hasPrefix("bearer ")
      else { return false }
      return Digest.sha256.digest(of: Array(value.dropFirst(7).utf8)) == tokenDigest
    }

    /// What answers a request, now or when the queue has it on disk.
    fileprivate enum Reply {
      case now(HTTPResponseStatus, JSON)
      case later(ticket: UInt64)
    }

    fileprivate func answer(
      _ head: HTTPRequestHead, _ body: [UInt8],
      later: @escaping (HTTPResponseStatus, JSON) -> Void
    ) -> Reply {
      switch (head.method, head.uri) {
      case (.POST, "/v1/messages"): return submit(body, later: later)
      case (.GET, "/v1/status"):
        return .now(
          .ok,
          .object([
            "online": .bool(driver.isOnline), "waiting": .integer(Int64(driver.waitingCount)),
          ]))
      case (.GET, let path) where path.hasPrefix("/v1/messages/"):
        guard let row = driver.row(of: String(path.dropFirst(13))) else {
          return .now(.notFound, Self.error("no message has this id"))
        }
        return .now(.ok, GatewayRequest.json(row))
      default: return .now(.notFound, Self.error("no such resource"))
      }
    }

    private func submit(
      _ body: [UInt8], later: @escaping (HTTPResponseStatus, JSON) -> Void
    ) -> Reply {
      let message: GatewayMessage
      do throws(GatewayRequestError) {
        message = try GatewayRequest.message(body, domain: driver.domain, now: WallClock.now)
      } catch {
        return .now(.badRequest, Self.error(error.reason))
      }
      let id = message.id
      let ticket = driver.submit(message) { [driver] action in
        switch action {
        case .refused(_, .full): later(.tooManyRequests, Self.error("too many messages wait"))
        case .refused(_, .otherContent):
          later(.conflict, Self.error("another message has this id"))
        case .accepted(_, let isNew):
          let row = driver.row(of: id).map(GatewayRequest.json) ?? .object([])
          later(isNew ? .accepted : .ok, row)
        default: break
        }
      }
      guard let ticket else {
        return .now(.serviceUnavailable, Self.error("the queue can't be written now"))
      }
      return .later(ticket: ticket)
    }

    fileprivate func forget(_ ticket: UInt64) { driver.forget(ticket) }

    static func error(_ reason: String) -> JSON { .object(["error": .string(reason)]) }
  }

  /// The requests of one connection, one after the other.
  private final class GatewayHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// From the first byte that a request waits for to its last one, and for the disk.
    private static let requestTime = TimeAmount.seconds(15)
    /// For a client to read the last answer. Closing at once would drop it while the client still sends.
    private static let endTime = TimeAmount.seconds(2)

    private let server: GatewayServer
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var deadline: Scheduled<Void>?
    private var ticket: UInt64?
    /// Whether the rest of the connection is ignored.
    private var isEnding = false

    init(_ server: GatewayServer) { self.server = server }

    func channelActive(context: ChannelHandlerContext) {
      server.opened(context.channel)
      guard !server.isFull else { return context.close(promise: nil) }
      setDeadline(Self.requestTime, context)
    }

    func channelInactive(context: ChannelHandlerContext) {
      server.closed(context.channel)
      deadline?.cancel()
      if let ticket { server.forget(ticket) }
      isEnding = true
      forgetBody()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard !isEnding else { return }
      switch unwrapInboundIn(data) {
      case .head(let head): begin(head, context)
      case .body(let part):
        guard server.hold(part.readableBytes) else { return refuseRoom(context) }
        body += part.readableBytesView
        if body.count > GatewayRequest.byteCountMax { refuseLength(context) }
      case .end: finish(context)
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
      self.head = head
      forgetBody()
      guard server.isAuthorized(head) else {
        return respond(
          .unauthorized, GatewayServer.error("the token is missing or wrong"), ends: true, context)
      }
      let length = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
      guard length <= GatewayRequest.byteCountMax else { return refuseLength(context) }
      expect(head, context)
    }

    /// A client that announces a body may wait until it is wanted (RFC 9110, §10.1.1).
    private func expect(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
      let expectations = head.headers["expect"]
      guard !expectations.isEmpty, head.version == .http1_1 else { return }
      guard expectations.allSatisfy({ $0.lowercased() == "100-continue" }) else {
        return respond(
          .expectationFailed, GatewayServer.error("only 100-continue can be expected"), ends: true,
          context)
      }
      let answer = HTTPResponseHead(version: .http1_1, status: .continue)
      context.writeAndFlush(wrapOutboundOut(.head(answer)), promise: nil)
    }

    private func forgetBody() {
      server.release(body.count)
      body = []
    }

    private func refuseRoom(_ context: ChannelHandlerContext) {
      forgetBody()
      respond(
        .serviceUnavailable, GatewayServer.error("too many requests come at a time"), ends: true,
        context)
    }

    private func refuseLength(_ context: ChannelHandlerContext) {
      forgetBody()
      respond(.payloadTooLarge, GatewayServer.error("the request is too long"), ends: true, context)
    }

    private func finish(_ context: ChannelHandlerContext) {
      guard let head else { return }
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      let bytes = body
      forgetBody()
      let reply = server.answer(head, bytes) { status, json in
        let (handler, context) = bound.value
        handler.ticket = nil
        handler.respond(status, json, ends: false, context)
      }
      switch reply {
      case .now(let status, let json): respond(status, json, ends: false, context)
      // The answer may have come already.
      case .later(let ticket): if self.head != nil { self.ticket = ticket }
      }
    }

    private func respond(
      _ status: HTTPResponseStatus, _ json: JSON, ends: Bool, _ context: ChannelHandlerContext
    ) {
      guard !isEnding else { return }
      let ends = ends || head?.isKeepAlive != true
      isEnding = ends
      head = nil
      let bytes = Array((json.line + "\n").utf8)
      var headers: HTTPHeaders = [
        "content-type": "application/json", "content-length": "\(bytes.count)",
      ]
      if status == .unauthorized { headers.add(name: "www-authenticate", value: "Bearer") }
      if status == .tooManyRequests || status == .serviceUnavailable {
        headers.add(name: "retry-after", value: "10")
      }
      if ends { headers.add(name: "connection", value: "close") }
      let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.write(
        wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(bytes: bytes)))),
        promise: nil)
      let channel = context.channel
      context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
        if ends { channel.close(mode: .output, promise: nil) }
      }
      setDeadline(ends ? Self.endTime : Self.requestTime, context)
    }

    /// A client that sends slowly, reads nothing or is silent is let go.
    private func setDeadline(_ time: TimeAmount, _ context: ChannelHandlerContext) {
      deadline?.cancel()
      let channel = context.channel
      deadline = context.eventLoop.scheduleTask(in: time) {
        channel.close(promise: nil)
      }
    }
  }
#endif
