#if BindingServer
  internal import NIOCore

  /// Tells when a client has closed its connection, or only its own side of it, while nothing is read
  /// from it or written to it.
  final class InputClosedHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private var isClosed = false
    private var action: (() -> Void)?

    /// Calls `action` once the client has closed; at once if it has already. Replaces an earlier
    /// action.
    ///
    /// Must be called on the connection's event loop, like all methods of this handler.
    func onClosed(_ action: @escaping () -> Void) {
      if isClosed { action() } else { self.action = action }
    }

    private func close() {
      isClosed = true
      action?()
      action = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case ChannelEvent.inputClosed = event { close() }
      context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
      close()
      context.fireChannelInactive()
    }

    // Nothing that comes after what can't be read is read.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      close()
      context.fireErrorCaught(error)
    }
  }

  extension Channel {
    /// Calls once the client has closed its side of the connection; at once if it has already.
    func onInputClosed(_ action: @escaping @Sendable () -> Void) async throws {
      try await eventLoop.submit {
        try self.pipeline.syncOperations.handler(type: InputClosedHandler.self).onClosed(action)
      }.get()
    }
  }
#endif
