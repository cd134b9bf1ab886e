#if BindingServer
  import NIOCore
  import NIOPosix
  import Synchronization

  /// A network that can fail: passes connections on to a server until it is cut.
  final class CuttableProxy: Sendable {
    let port: Int
    private let listener: any Channel
    private let state: State

    private final class State: Sendable {
      let target: Int
      let isCut = Mutex(false)
      /// Whether what comes is swallowed: connections stay open, and nothing passes.
      let isSwallowing = Mutex(false)
      let channels = Mutex<[any Channel]>([])
      init(target: Int) { self.target = target }

      func add(_ channel: any Channel) {
        channels.withLock { channels in
          channels.removeAll { !$0.isActive }
          channels.append(channel)
        }
      }
    }

    private init(listener: any Channel, state: State) {
      self.listener = listener
      self.state = state
      port = listener.localAddress?.port ?? 0
    }

    static func start(to target: Int) async throws -> CuttableProxy {
      let state = State(target: target)
      let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.backlog, value: 64)
        .childChannelOption(.autoRead, value: false)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture { try connect(channel, state) }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      return CuttableProxy(listener: listener, state: state)
    }

    private static func connect(_ channel: any Channel, _ state: State) throws {
      if state.isCut.withLock({ $0 }) {
        channel.close(promise: nil)
        return
      }
      state.add(channel)
      // It stays open, and nothing is read.
      if state.isSwallowing.withLock({ $0 }) { return }
      ClientBootstrap(group: channel.eventLoop)
        .channelOption(.autoRead, value: false)
        .channelInitializer { other in
          other.eventLoop.makeCompletedFuture {
            try other.pipeline.syncOperations.addHandler(Pipe(to: channel, state))
            try channel.pipeline.syncOperations.addHandler(Pipe(to: other, state))
          }
        }
        .connect(host: "127.0.0.1", port: state.target)
        .whenComplete { result in
          guard case .success(let other) = result else {
            channel.close(promise: nil)
            return
          }
          state.add(other)
          for side in [channel, other] {
            // Reads now or, where the accepted side isn't registered yet, then; a read asked for too
            // early would count as pending and never come.
            _ = side.setOption(.autoRead, value: true)
          }
        }
    }

    /// Closes all connections, and each new one.
    func cut() {
      state.isCut.withLock { $0 = true }
      for channel in state.channels.withLock({ $0 }) { channel.close(promise: nil) }
    }

    /// Swallows all that comes on connections, also on new ones, without closing any.
    func swallow() { state.isSwallowing.withLock { $0 = true } }

    /// Passes new connections on again, and closes those of which something was swallowed.
    func restore() {
      state.isCut.withLock { $0 = false }
      let hasSwallowed = state.isSwallowing.withLock { isSwallowing in
        defer { isSwallowing = false }
        return isSwallowing
      }
      guard hasSwallowed else { return }
      for channel in state.channels.withLock({ $0 }) { channel.close(promise: nil) }
    }

    func stop() async throws {
      cut()
      try await listener.close()
    }

    private final class Pipe: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer
      private let other: any Channel
      private let state: State

      init(to other: any Channel, _ state: State) {
        self.other = other
        self.state = state
      }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if state.isSwallowing.withLock({ $0 }) { return }
        other.writeAndFlush(unwrapInboundIn(data), promise: nil)
      }

      func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
      func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
      }
    }
  }
#endif
