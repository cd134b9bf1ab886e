#if BindingServer
  internal import HTTPTypes
  internal import NIOCore
  internal import NIOHTTPTypes
  internal import Synchronization

  /// The events of one stream, from the main actor to its connection: one write at a time.
  ///
  /// It writes to the connection itself, past hummingbird's writer: a task that waits for events and
  /// hands each on would take as much memory as all else that a silent client needs.
  final class EventPipe: Sendable {
    private enum State {
      /// The connection isn't ready. Sent bytes and the end are kept until it is.
      case starting([UInt8], isFinished: Bool)
      case open(any Channel, CheckedContinuation<Void, Never>)
      case ended
    }

    private let state = Mutex(State.starting([], isFinished: false))
    private let onWritten: @Sendable () -> Void

    /// - Parameter onWritten: Called on the connection's event loop when a write is done.
    init(onWritten: @escaping @Sendable () -> Void) { self.onWritten = onWritten }

    /// Writes the waiting bytes and all later ones to a connection, and returns after ``finish()``.
    ///
    /// - Parameter head: Bytes that are written first.
    func run(on channel: any Channel, head: [UInt8]) async {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          guard case .starting(let waiting, let isFinished) = state else { return true }
          write(head + waiting, to: channel)
          state = isFinished ? .ended : .open(channel, continuation)
          return isFinished
        }
        if isOver { continuation.resume() }
      }
    }

    /// Sends an event; to be called again when it has been written.
    func send(_ bytes: [UInt8]) {
      state.withLock { state in
        switch state {
        case .starting(let before, isFinished: false):
          state = .starting(before + bytes, isFinished: false)
        case .open(let channel, _): write(bytes, to: channel)
        case .starting, .ended: break
        }
      }
    }

    /// Has the event loop write, in the order of the calls: under the lock, so that nothing comes after
    /// the end.
    private func write(_ bytes: [UInt8], to channel: any Channel) {
      channel.eventLoop.execute {
        let promise = channel.eventLoop.makePromise(of: Void.self)
        promise.futureResult.whenComplete { result in
          switch result {
          case .success: self.onWritten()
          case .failure: self.finish()
          }
        }
        channel.writeAndFlush(HTTPResponsePart.body(ByteBuffer(bytes: bytes)), promise: promise)
      }
    }

    /// Ends the stream after the bytes that were sent before.
    func finish() {
      let continuation: CheckedContinuation<Void, Never>? = state.withLock { state in
        switch state {
        case .starting(let waiting, _):
          state = .starting(waiting, isFinished: true)
          return nil
        case .open(_, let continuation):
          state = .ended
          return continuation
        case .ended: return nil
        }
      }
      continuation?.resume()
    }
  }
#endif
