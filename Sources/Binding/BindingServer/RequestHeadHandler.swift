#if BindingServer
  internal import NIOCore

  /// Closes the connection of a client that has begun a request and doesn't complete its head in time,
  /// also if bytes keep coming.
  final class RequestHeadHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let time: Duration
    /// Whether the next bytes belong to a head.
    private var awaitsHead = true
    private var deadline: Scheduled<Void>?

    init(time: Duration) { self.time = time }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      if awaitsHead, deadline == nil { deadline = context.channel.close(after: time) }
      context.fireChannelRead(data)
    }

    /// A head was decoded.
    func headCame() {
      awaitsHead = false
      stop()
    }

    /// A request was decoded to its end.
    func requestEnded() { awaitsHead = true }

    func channelInactive(context: ChannelHandlerContext) {
      stop()
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    private func stop() {
      deadline?.cancel()
      deadline = nil
    }
  }
#endif
