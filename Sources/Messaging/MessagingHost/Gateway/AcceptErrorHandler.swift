#if Messaging
  internal import EventLoop
  internal import NIOCore

  /// Reports that a listening channel has no descriptor for a connection. SwiftNIO tries again each second, without a word.
  final class AcceptErrorHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = any Channel

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      if let error = error as? IOError { DescriptorShortage.report(error.errnoCode) }
      context.fireErrorCaught(error)
    }
  }
#endif
