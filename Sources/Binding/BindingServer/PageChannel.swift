#if BindingServer
  internal import HummingbirdCore
  internal import Logging
  internal import NIOCore
  internal import NIOHTTPTypesHTTP1

  /// HTTP/1.1 on a connection, read in small portions.
  ///
  /// A client may send thousands of requests in advance. All bytes read in one turn of an event
  /// loop are decoded before other connections have their turn, and their requests wait in memory.
  struct PageChannel: ServerChildChannel {
    let http: HTTP1Channel
    let times: ConnectionTimes

    private static let readByteCountMax = 4_096

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
      let portions = AdaptiveRecvByteBufferAllocator(
        minimum: 64, initial: 2_048, maximum: Self.readByteCountMax)
      return channel.setOption(.recvAllocator, value: portions)
        .and(channel.setOption(.maxMessagesPerRead, value: 1))
        .flatMap { _ in http.setup(channel: channel, logger: logger) }
        .flatMapThrowing { value in
          let pipeline = channel.pipeline.syncOperations
          let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
          let heads = RequestHeadHandler(time: times.head)
          try pipeline.addHandler(heads, position: .first)
          try pipeline.addHandler(ConnectionEndHandler(heads: heads), position: .before(codec))
          return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
      await http.handle(value: value, logger: logger)
    }
  }
#endif
