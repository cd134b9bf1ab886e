#if BindingServer
  internal import Glibc
  internal import Logging
  internal import NIOCore

  /// Logs that a listening channel has no descriptor for a connection. SwiftNIO tries again each second, without a word.
  final class AcceptErrorHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = any Channel

    private let logger: Logger
    private var lastFailure: NIODeadline?

    /// Failures with less than this in between are logged once.
    private static let span = TimeAmount.seconds(60)

    init(_ logger: Logger) { self.logger = logger }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      if let error = error as? IOError { failed(error.errnoCode) }
      context.fireErrorCaught(error)
    }

    private func failed(_ number: Int32) {
      let remedy: String
      switch number {
      case EMFILE: remedy = "this process has as many open files as it may (ulimit -n)"
      case ENFILE: remedy = "this machine has as many open files as it may (sysctl fs.file-max)"
      case ENOBUFS, ENOMEM: remedy = "the system has no memory for them"
      default: return
      }
      let now = NIODeadline.now()
      defer { lastFailure = now }
      if let lastFailure, now - lastFailure < Self.span { return }
      logger.error("Connections of browsers wait, because \(remedy).")
    }
  }
#endif
