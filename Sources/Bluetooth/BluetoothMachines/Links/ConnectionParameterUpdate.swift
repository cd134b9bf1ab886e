import BluetoothInterface
import BluetoothWire
import Essentials

/// A change of one link's connection parameters; there is one at a time, so that each request is
/// completed with its own result.
struct ConnectionParameterUpdate: Sendable {
  enum Limits {
    /// How long a link may take to change its timing: the link layer's procedure response timeout
    /// (Core 5.4, Vol 6, Part B, §5.2).
    static let timeout = TimeSpan.seconds(40)
  }

  /// The client's request for the change; nil if the peer asked for it, or none is under way.
  private(set) var request: PendingRequest?
  /// Until when the controller may take to report the change; nil if it has none under way.
  private(set) var deadline: Instant?

  var isIdle: Bool { request == nil && deadline == nil }

  /// A client requests a change; only while `isIdle`.
  mutating func begin(for request: PendingRequest) {
    assert(isIdle, "one change of connection parameters at a time")
    self.request = request
  }

  /// LE Connection Update is being sent.
  mutating func commandSent(now: Instant) { deadline = now + Limits.timeout }

  /// The change was made or refused. Returns the request to complete.
  mutating func end() -> PendingRequest? {
    deadline = nil
    return request.take()
  }

  /// A client gave up the link. Returns its request, which is to be completed as cancelled.
  mutating func cancel(by client: ClientID) -> PendingRequest? {
    request?.client == client ? request.take() : nil
  }

  /// Whether the controller has taken too long.
  func isOverdue(now: Instant) -> Bool { deadline.map { $0 <= now } ?? false }
}
