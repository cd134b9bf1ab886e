#if BindingServer
  internal import NIOCore

  /// Closes a connection whose client is too slow: it doesn't read what waits for it, or isn't done a
  /// while after the server was told to shut down.
  ///
  /// Whoever writes to a channel waits while that isn't writable, and would for ever.
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
