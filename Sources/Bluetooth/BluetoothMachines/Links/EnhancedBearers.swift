import Essentials

/// The enhanced bearers of one link's attribute protocol (Core 5.4, Vol 3, Part G, §5.3 and §5.4): which
/// there are, which were asked for, and when to ask again.
///
/// Either side may open them, and both use all of them. Where both ask at once and each refuses the
/// other for want of room, the central asks again at once, the peripheral later.
struct EnhancedBearers: Sendable {
  enum Limits {
    /// How often bearers are asked for on one link: a peer that refuses or ends them does without.
    static let attemptsMax = 3
    /// Attribute PDUs that wait for credits of a peer. It is owed one response at a time, so one that lets
    /// more wait takes none.
    static let waitingPDUsMax = 8
    /// K-frames of one bearer that a peer may have sent before this host granted more: a request, a
    /// response, and values.
    static let credits: UInt16 = 10
  }

  private(set) var open: [ATTBearer] = []
  /// Asked for, and not answered.
  private(set) var opening: [ATTBearer] = []
  /// When to ask again.
  private(set) var retryAt: Instant?
  private var attemptCount = 0
  /// The peer asked while this host's request was on its way.
  private var isContended = false

  /// How many more there may be.
  func room(_ countMax: Int) -> Int { max(0, countMax - open.count - opening.count) }

  /// Whether to ask the peer now.
  var mayAsk: Bool { opening.isEmpty && attemptCount < Limits.attemptsMax }

  func contains(_ bearer: ATTBearer) -> Bool {
    open.contains(bearer) || opening.contains(bearer)
  }

  /// The peer was asked for these.
  mutating func asked(for bearers: [ATTBearer]) {
    opening = bearers
    attemptCount += 1
    isContended = false
    retryAt = nil
  }

  /// The peer asks for some.
  mutating func peerAsks() { if !opening.isEmpty { isContended = true } }

  /// A bearer is open, whoever asked for it.
  mutating func opened(_ bearer: ATTBearer) {
    opening.removeAll { $0 == bearer }
    open.append(bearer)
  }

  /// The peer refused a bearer. With the last of them, decides whether to ask again.
  mutating func refused(
    _ bearer: ATTBearer, forWantOfRoom: Bool, delay: TimeSpan, now: Instant
  ) {
    opening.removeAll { $0 == bearer }
    guard opening.isEmpty, open.isEmpty else { return }
    if forWantOfRoom, isContended {
      retryAt = now + delay
    } else {
      attemptCount = Limits.attemptsMax
    }
  }

  /// A bearer is gone; false if there was none.
  mutating func closed(_ bearer: ATTBearer) -> Bool {
    guard let index = open.firstIndex(of: bearer) else { return false }
    open.remove(at: index)
    return true
  }

  /// One did not answer: no more are asked for.
  mutating func giveUp() { attemptCount = Limits.attemptsMax }

  /// Whether it is time to ask again.
  mutating func isRetryDue(now: Instant) -> Bool {
    guard let due = retryAt, due <= now else { return false }
    retryAt = nil
    return open.isEmpty
  }
}
