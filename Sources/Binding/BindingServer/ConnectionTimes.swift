#if BindingServer
  internal import Foundation
  internal import NIOCore

  /// The timeouts of a connection, so that a client that doesn't read, or sends very slowly, can't
  /// keep it open.
  package struct ConnectionTimes: Sendable {
    /// The time to receive the head of a request, from its first byte on.
    package var head = Duration.seconds(15)
    /// The time to receive the body of a request.
    package var request = Duration.seconds(30)
    /// The time to complete a write, if the writer waits for that.
    package var write = Duration.seconds(30)
    /// The time to complete the remaining writes of a stream that is closed.
    package var streamEnd = Duration.milliseconds(500)
    /// The time to complete pending requests at shutdown.
    package var shutdown = Duration.seconds(1)

    package init() {}
  }

  extension Channel {
    /// Closes the connection after a time. What waits for it to read or write fails then.
    @discardableResult
    func close(after time: Duration) -> Scheduled<Void> {
      eventLoop.scheduleTask(in: TimeAmount(time)) { self.close(promise: nil) }
    }

    /// Makes writers wait, from now on, while anything of an earlier write is still to leave.
    func waitForEachWrite() async throws {
      try await setOption(
        .writeBufferWaterMark, value: ChannelOptions.Types.WriteBufferWaterMark(low: 1, high: 1)
      ).get()
    }

    /// Waits until the event loop, which may be busy, has what a writer was given. Only then does the
    /// next write know whether it must wait: answers to requests sent in advance would pile up otherwise.
    func waitForEventLoop() async throws { try await eventLoop.submit {}.get() }

    /// Closes the connection if something takes longer than a time.
    func closing<Result>(
      after time: Duration, _ body: () async throws -> Result
    ) async throws -> Result {
      let end = close(after: time)
      defer { end.cancel() }
      return try await body()
    }
  }

  /// How many connections a server has at most.
  enum ConnectionCount {
    /// Three quarters of the process's limit of file descriptors: it needs some for other things,
    /// and a server without descriptors can't accept connections.
    static var max: Int {
      var limit = rlimit()
      guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 768 }
      return Swift.max(16, Int(clamping: limit.rlim_cur) / 4 * 3)
    }
  }
#endif
