#if Messaging
  internal import Essentials
  internal import XMPPMachines

  /// How soon a connection that is dead is noticed, and replaced by another.
  ///
  /// A connection that the server or the network ends is noticed at once. One that carries nothing any more is noticed after
  /// ``silence`` and ``answer``. Another connection follows after a pause, which doubles with each attempt up to
  /// ``longestPause``; a change of the network ends it.
  public struct Liveness: Hashable, Sendable {
    /// The silence of the server after which it has to answer a request. Each one costs two small packets.
    public var silence: Duration
    /// The time for an answer. In a negotiation, the time for each of the server's first answers; a server that is slower gets
    /// twice as long with each further attempt.
    public var answer: Duration
    /// The longest pause between two connections.
    public var longestPause: Duration

    /// Creates settings. Times are between 0.1 seconds and a day.
    public init(silence: Duration, answer: Duration, longestPause: Duration) {
      self.silence = silence
      self.answer = answer
      self.longestPause = longestPause
    }

    /// For devices with batteries and servers with many clients: 60 seconds, 20 seconds, and two minutes.
    public static let standard = Liveness(
      silence: .seconds(60), answer: .seconds(20), longestPause: .seconds(120))

    /// For machines that must be reached within three seconds after any fault: a second each.
    public static let quick = Liveness(
      silence: .seconds(1), answer: .seconds(1), longestPause: .seconds(1))

    var times: StreamTimes {
      StreamTimes(
        silence: Self.bounded(silence), answer: Self.bounded(answer),
        longestPause: Self.bounded(longestPause))
    }

    private static func bounded(_ duration: Duration) -> TimeSpan {
      let bounded = min(max(duration, .milliseconds(100)), .seconds(86_400))
      let (seconds, attoseconds) = bounded.components
      return .seconds(seconds) + TimeSpan(nanoseconds: attoseconds / 1_000_000_000)
    }
  }
#endif
