#if BindingServer
  internal import NIOCore
  internal import NIOHTTP1

  /// Closes connections as clients expect it: after the response to a request with `Connection: close`,
  /// and after one to a client of HTTP/1.0, which doesn't know chunks.
  final class ConnectionEndHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private struct Pending {
      var version: HTTPVersion
      var isLast: Bool
    }

    private let heads: RequestHeadHandler

    init(heads: RequestHeadHandler) { self.heads = heads }

    /// The requests without a whole response, in order.
    private var pending: [Pending] = []

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let part = unwrapInboundIn(data)
      if case .end = part { heads.requestEnded() }
      guard case .head(var head) = part else { return context.fireChannelRead(data) }
      heads.headCame()
      let isOld = head.version == .http1_0
      let isLast = isOld || !head.isKeepAlive
      // In the form that hummingbird compares it with.
      if isLast { head.headers.replaceOrAdd(name: "Connection", value: "close") }
      // RFC 9110 §10.1.1: there is no interim response in HTTP/1.0.
      if isOld { head.headers.remove(name: "Expect") }
      pending.append(Pending(version: head.version, isLast: isLast))
      context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      switch unwrapOutboundIn(data) {
      case .head(var head):
        // Interim responses precede another head.
        if head.status.code >= 200, let request = pending.first {
          if request.version == .http1_0 { head.version = .http1_0 }
          if request.isLast { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        }
        context.write(wrapOutboundOut(.head(head)), promise: promise)
      case .body: context.write(data, promise: promise)
      case .end:
        if !pending.isEmpty { pending.removeFirst() }
        context.write(data, promise: promise)
      }
    }
  }
#endif
