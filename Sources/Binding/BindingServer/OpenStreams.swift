#if BindingServer
  internal import BindingMachines
  internal import Synchronization

  /// The streams of admitted browsers, so that they end with the browsers' sessions.
  final class OpenStreams: Sendable {
    private let pipes = Mutex<[StreamID: (session: String, pipe: EventPipe)]>([:])

    func add(_ stream: StreamID, of session: String, _ pipe: EventPipe) {
      pipes.withLock { $0[stream] = (session, pipe) }
    }

    func remove(_ stream: StreamID) { pipes.withLock { $0[stream] = nil } }

    /// Ends the streams of sessions that don't hold any more.
    func endAll(unless isAdmitted: (String) -> Bool) {
      let ended = pipes.withLock { pipes in
        pipes.values.filter { !isAdmitted($0.session) }.map(\.pipe)
      }
      for pipe in ended { pipe.finish() }
    }
  }
#endif
