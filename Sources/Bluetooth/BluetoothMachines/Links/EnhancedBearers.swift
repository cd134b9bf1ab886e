import Essentials
import GATTMachines

/// The enhanced bearers of one link's attribute protocol (Core 5.4, Vol 3, Part G, §5.3 and §5.4):
/// the open and the requested ones, and the time of the next request.
///
/// Either side may open them, and both use all of them. If both request them at once and each
/// refuses the other for lack of resources, the central repeats its request at once, the peripheral
/// later.
struct EnhancedBearers: Sendable {
  enum Limits {
    /// Limit of requests on one link: a peer that refuses or closes bearers gets no more of them.
    static let attemptsMax = 3
    /// Limit of attribute PDUs that wait for credits of a peer. It is owed one response at a time,
    /// so a peer that lets more wait grants none.
    static let waitingPDUsMax = 8
    /// K-frames of one bearer that a peer may have sent before this host granted more: a request, a
    /// response, and values.
    static let credits: UInt16 = 10
  }

  private(set) var open: [ATTBearer] = []
  /// Requested, and not answered.
  private(set) var opening: [ATTBearer] = []
  /// The time of the next request.
  private(set) var retryAt: Instant?
  private var attemptCount = 0
  /// The peer requested bearers while this host's request was pending.
  private var isContended = false

  /// The number of bearers that can still be opened, up to `countMax`.
  func room(_ countMax: Int) -> Int { max(0, countMax - open.count - opening.count) }

  /// Whether a request to the peer is allowed now.
  var mayAsk: Bool { opening.isEmpty && attemptCount < Limits.attemptsMax }

  func contains(_ bearer: ATTBearer) -> Bool {
    open.contains(bearer) || opening.contains(bearer)
  }

  /// These were requested from the peer.
  mutating func asked(for bearers: [ATTBearer]) {
    opening = bearers
    attemptCount += 1
    isContended = false
    retryAt = nil
  }

  /// The peer requested bearers.
  mutating func peerAsks() { if !opening.isEmpty { isContended = true } }

  /// A bearer was opened, by either side.
  mutating func opened(_ bearer: ATTBearer) {
    opening.removeAll { $0 == bearer }
    open.append(bearer)
  }

  /// The peer refused a bearer. After the last of them, decides whether to request again.
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

  /// A bearer did not answer: no more are requested.
  mutating func giveUp() { attemptCount = Limits.attemptsMax }

  /// Whether the time of the next request has come.
  mutating func isRetryDue(now: Instant) -> Bool {
    guard let due = retryAt, due <= now else { return false }
    retryAt = nil
    return open.isEmpty
  }
}
