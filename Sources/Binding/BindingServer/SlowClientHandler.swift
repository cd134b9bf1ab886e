#if BindingServer
  internal import NIOCore

  /// Closes the connection of a client that is too slow: it doesn't read the written data in time,
  /// or has requests under way some time after the server's shutdown began.
  ///
  /// Without it, a writer would wait for ever for the channel to become writable.
  final class SlowClientHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let times: ConnectionTimes
    /// Closes the connection unless it becomes writable before.
    private var writeTimeout: Scheduled<Void>?

    init(times: ConnectionTimes) { self.times = times }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
      writeTimeout?.cancel()
      writeTimeout = context.channel.isWritable ? nil : context.channel.close(after: times.write)
      context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if event is ChannelShouldQuiesceEvent { context.channel.close(after: times.shutdown) }
      context.fireUserInboundEventTriggered(event)
    }

    func handlerRemoved(context: ChannelHandlerContext) { writeTimeout?.cancel() }
  }
#endif
