#if Messaging
  internal import AppSessions
  internal import Glibc
  internal import NIOCore
  internal import NIOPosix

  /// Has the system that runs the app hold the connection of an account, so that the server's bytes wake the suspended app
  /// (docs/decisions/0285-the-connection-of-an-account-is-held.md). Used on the account's event loop only.
  final class ConnectionHolder {
    /// How long a connection that has ended is still the app's receiver.
    private static let closeTime = TimeAmount.seconds(1)

    private let identifier: String
    private let loop: any EventLoop
    /// Called with the reason why the connection isn't held.
    private let refused: (String) -> Void
    /// Called when bytes have come while the app was suspended, and were read since.
    private let woken: (@escaping @Sendable () -> Void) -> Void
    /// Called when the system has woken the app because it has no connection.
    private let wokenToConnect: (@escaping @Sendable () -> Void) -> Void
    /// Called when the system has answered.
    private let answered: () -> Void
    /// Whether the system has not answered yet: bytes until then don't wake the app.
    var isPending: Bool { pendingCount > 0 }
    private var pendingCount = 0
    /// The end of the last request. The system keeps one connection by a name, which must be the latest.
    private var last: EventLoopFuture<Void>?
    /// Whether the system is to wake the app to connect, and the system's entry for that.
    private var isReconnecting = false
    private var reconnectionCount = 0
    private var reconnection: HeldSocket?

    /// - Parameters:
    ///   - identifier: The app's name for the connection.
    ///   - woken: Gets a closure that is called when the app may be suspended again, and so does `wokenToConnect`.
    init(
      _ identifier: String, on loop: any EventLoop, refused: @escaping (String) -> Void,
      answered: @escaping () -> Void,
      woken: @escaping (@escaping @Sendable () -> Void) -> Void,
      wokenToConnect: @escaping (@escaping @Sendable () -> Void) -> Void
    ) {
      self.identifier = identifier
      self.loop = loop
      self.refused = refused
      self.answered = answered
      self.woken = woken
      self.wokenToConnect = wokenToConnect
    }

    /// Ends the connection of an earlier process of the app, whose TLS has ended with it. Once; it was launched for it.
    func releaseEarlier() {
      guard last == nil else { return }
      let identifier = identifier
      // Requests to the system wait for its answer.
      last = NIOThreadPool.singleton.runIfActive(eventLoop: loop) {
        guard
          case .descriptor(let descriptor, let socket) =
            AppSession.current?.takeSocket(identifier, onWake: { $0() })
        else { return }
        Glibc.close(descriptor)
        socket.close()
      }
    }

    /// Has the system wake the app from time to time while it has no connection, until the next one is held.
    func requestReconnection() {
      guard !isReconnecting else { return }
      isReconnecting = true
      reconnectionCount += 1
      pendingCount += 1
      let number = reconnectionCount
      let bound = NIOLoopBound(self, eventLoop: loop)
      let (identifier, loop) = (identifier, loop)
      // Timers of the account that are due run before.
      let onWake: AppSession.WakeHandler = { done in
        _ = loop.scheduleTask(in: .milliseconds(1)) { bound.value.wokenToConnect(done) }
      }
      let requested = afterLast {
        AppSession.current?.requestReconnection(as: identifier, onWake: onWake)
      }
      last = requested.map { _ in () }
      requested.whenComplete { bound.value.requested(try? $0.get(), number) }
    }

    private func requested(_ socket: HeldSocket?, _ number: Int) {
      if isReconnecting, number == reconnectionCount {
        reconnection = socket
        // A system that was being started again is requested once more after the next attempt.
        isReconnecting = socket != nil
      } else {
        socket?.close()
      }
      pendingCount -= 1
      answered()
    }

    /// The account wants no connection any more.
    func endReconnection() {
      isReconnecting = false
      reconnection?.close()
      reconnection = nil
    }

    /// Makes a request to the system when those before it have ended.
    private func afterLast<Value: Sendable>(
      _ body: @escaping @Sendable () -> Value
    ) -> EventLoopFuture<Value> {
      let loop = loop
      return (last ?? loop.makeSucceededVoidFuture())
        .flatMapError { _ in loop.makeSucceededVoidFuture() }
        .flatMap { NIOThreadPool.singleton.runIfActive(eventLoop: loop, body) }
    }

    /// Hands over the socket of a channel that is connected, until the channel is closed.
    func hold(_ channel: any Channel) {
      guard let descriptor = Self.duplicate(of: channel) else { return }
      pendingCount += 1
      isReconnecting = false
      let reconnection = self.reconnection.take()
      let bound = NIOLoopBound(self, eventLoop: loop)
      let (identifier, loop) = (identifier, loop)
      // What has come is read before: the loop looks for bytes before it does what is due later.
      let onWake: AppSession.WakeHandler = { done in
        _ = loop.scheduleTask(in: .milliseconds(1)) { bound.value.woken(done) }
      }
      let held = afterLast {
        defer { Glibc.close(descriptor) }
        return Self.hold(descriptor, identifier, onWake)
      }
      last = held.map { _ in () }
      held.whenComplete { result in
        reconnection?.close()
        switch result {
        case .success(.success(let socket)):
          // The event of the end comes a moment later. Without its receiver the app would be suspended at once.
          channel.closeFuture.whenComplete { _ in
            _ = loop.scheduleTask(in: Self.closeTime) { socket.close() }
          }
        case .success(.failure(let error)): bound.value.refused(error.reason)
        case .failure: break
        }
        bound.value.pendingCount -= 1
        bound.value.answered()
      }
    }

    private struct NotHeld: Error {
      var reason: String
    }

    private static func hold(
      _ descriptor: CInt, _ identifier: String, _ onWake: @escaping AppSession.WakeHandler
    ) -> Result<HeldSocket, NotHeld> {
      guard let session = AppSession.current else {
        return .failure(NotHeld(reason: "no manager of apps runs this program"))
      }
      do throws(HeldSocketError) {
        return .success(
          try session.holdSocket(descriptor, as: identifier, isPlain: false, onWake: onWake))
      } catch {
        return .failure(NotHeld(reason: error.sentence))
      }
    }

    /// A descriptor of the same socket: the channel may close its own meanwhile.
    private static func duplicate(of channel: any Channel) -> CInt? {
      let descriptor = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.Handle.self
      ) { fcntl($0, F_DUPFD_CLOEXEC, 0) }
      guard let descriptor, descriptor >= 0 else { return nil }
      return descriptor
    }
  }
#endif
