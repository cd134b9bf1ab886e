#if Messaging
  internal import Essentials

  /// How long a server has for its answers. One that is slow must not be taken for a dead one again and again: each new
  /// connection would make it slower.
  struct StreamPace: Sendable {
    /// A server has at least this time after some connections that were given up.
    private static let longestAnswer: TimeSpan = .seconds(20)

    /// A server that breaks the protocol again and again needs its operator: it gets no login each second, as one would of
    /// which an account is to be reached soon.
    private static let longestFaultPause: TimeSpan = .seconds(120)

    /// Connections in sequence that brought nothing.
    var failureCount = 0
    /// Sessions in sequence that the server's faults have ended early. What they brought comes again with the next one, and is
    /// no progress.
    private var faultCount: Int32 = 0
    /// Connections that were given up for silence, less the answers in time since.
    private var slowCount: Int32 = 0

    /// Counts a failure; the number of those before it, from which the pause follows, and the longest pause.
    mutating func countFailure(
      _ failure: StreamFailure, _ times: StreamTimes
    ) -> (count: Int, longest: TimeSpan) {
      defer { failureCount += 1 }
      guard failure.isFault else { return (failureCount, times.longestPause) }
      defer { faultCount = min(faultCount + 1, 20) }
      return (max(failureCount, Int(faultCount)), max(times.longestPause, Self.longestFaultPause))
    }

    /// The app begins anew, or a session has lasted.
    mutating func forgetFailures() { (failureCount, faultCount) = (0, 0) }

    /// A session was given up because of an unanswered request.
    mutating func noteSilence() { slowCount = min(slowCount + 1, 8) }

    mutating func noteAnswer(after span: TimeSpan, _ times: StreamTimes) {
      if span <= times.answer { slowCount = max(0, slowCount - 1) }
    }

    /// The time for an answer in a session.
    func answer(_ times: StreamTimes) -> TimeSpan {
      Self.doubled(times.answer, Int(slowCount), limit: max(times.answer, Self.longestAnswer))
    }

    /// The silence that ends a negotiation.
    func negotiation(_ times: StreamTimes) -> TimeSpan {
      Self.doubled(times.answer, max(failureCount, Int(slowCount)), limit: times.negotiation)
    }

    /// From the wish to connect to an open connection.
    func connecting(_ times: StreamTimes) -> TimeSpan {
      Self.doubled(times.answer, failureCount, limit: times.connecting)
    }

    private static func doubled(_ span: TimeSpan, _ count: Int, limit: TimeSpan) -> TimeSpan {
      let (longer, overflow) = span.nanoseconds.multipliedReportingOverflow(
        by: 1 << Int64(min(20, count)))
      return overflow ? limit : min(limit, TimeSpan(nanoseconds: longer))
    }
  }

  extension StreamFailure {
    /// Whether the server has broken the protocol.
    fileprivate var isFault: Bool {
      switch self {
      case .wrongAcknowledgement, .invalidXML, .unexpected: true
      default: false
      }
    }
  }
#endif
