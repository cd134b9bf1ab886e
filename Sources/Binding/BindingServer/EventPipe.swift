#if BindingServer
  internal import HTTPTypes
  internal import NIOCore
  internal import NIOHTTPTypes
  internal import Synchronization

  /// What goes down a stream, from the main actor to its connection: one write at a time.
  ///
  /// It writes to the connection itself, past hummingbird's writer: a task that waits for events and
  /// hands each on would take as much memory as all else that a silent client needs.
  final class EventPipe: Sendable {
    private enum State {
      /// The connection isn't ready. What was sent waits.
      case starting([UInt8])
      case open(any Channel, CheckedContinuation<Void, Never>)
      case ended
    }

    private let state = Mutex(State.starting([]))
    private let onWritten: @Sendable () -> Void

    /// - Parameter onWritten: Called, on any thread, when what was sent has left.
    init(onWritten: @escaping @Sendable () -> Void) { self.onWritten = onWritten }

    /// Writes to a connection what was sent and what is, until ``finish()``.
    ///
    /// - Parameter head: What is written before.
    func run(on channel: any Channel, head: [UInt8]) async {
      await withCheckedContinuation { continuation in
        let waiting: [UInt8]? = state.withLock { state in
          guard case .starting(let bytes) = state else { return nil }
          state = .open(channel, continuation)
          return bytes
        }
        guard let waiting else { return continuation.resume() }
        write(head + waiting, to: channel, isEvent: !waiting.isEmpty)
      }
    }

    /// Sends an event; to be called again when it has been written.
    func send(_ bytes: [UInt8]) {
      let channel: (any Channel)? = state.withLock { state in
        switch state {
        case .starting(let before):
          state = .starting(before + bytes)
          return nil
        case .open(let channel, _): return channel
        case .ended: return nil
        }
      }
      if let channel { write(bytes, to: channel, isEvent: true) }
    }

    private func write(_ bytes: [UInt8], to channel: any Channel, isEvent: Bool) {
      let promise = channel.eventLoop.makePromise(of: Void.self)
      promise.futureResult.whenComplete { result in
        switch result {
        case .success: if isEvent { self.onWritten() }
        case .failure: self.finish()
        }
      }
      channel.writeAndFlush(HTTPResponsePart.body(ByteBuffer(bytes: bytes)), promise: promise)
    }

    /// Ends the stream, after what was sent.
    func finish() {
      let previous = state.withLock { state in
        defer { state = .ended }
        return state
      }
      if case .open(_, let continuation) = previous { continuation.resume() }
    }
  }
#endif
