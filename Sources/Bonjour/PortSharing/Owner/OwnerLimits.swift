import DNSWire
import DiscoveryMachines
package import Essentials

extension OwnerMachine {
  /// Limits of an owner.
  package struct Limits: Sendable {
    /// The maximum number of clients, of all users.
    package var clientsMax = 10_000
    /// The maximum number of clients of one user.
    package var clientsPerUserMax = 6_000
    /// The limit of one client.
    package var perClient = Load(requestCount: 10_000, byteCount: 8 << 20)
    /// The limit of all clients of one user.
    package var perUser = Load(requestCount: 20_000, byteCount: 16 << 20)
    /// The limit of all clients. The machines accept 50,000 queries.
    package var inAll = Load(requestCount: 40_000, byteCount: 32 << 20)

    /// The maximum number of bytes of incomplete messages of one user's clients.
    package var incompleteByteCountPerUserMax = 4 << 20
    /// The maximum number of bytes of incomplete messages of all clients.
    package var incompleteByteCountMax = 16 << 20

    /// The time that a client has to send its greeting. Clients do so as soon as they are
    /// connected; a process that was stopped in between reconnects.
    package var greetingTime = TimeSpan.seconds(10)
    /// The interval at which clients without a greeting are checked.
    package var greetingSpacing = TimeSpan.seconds(1)

    /// The time after which an owner that did not run must assume that clients have left it. They
    /// ping an owner that works in shorter intervals. Those that had just pinged it leave first, after
    /// ``OwnerSearch/Limits/responseTimeout``, which is longer, as an owner may be stopped while it
    /// handles something else.
    static let pauseMin = OwnerSearch.Limits.silence + .milliseconds(500)

    /// The maximum number of records that one client may reconfirm within ``reconfirmationSpan``.
    package var reconfirmationsPerClientMax = 32
    /// The maximum number of records that one user's clients may reconfirm within
    /// ``reconfirmationSpan``. At most 256 can be queried at once on an interface, so some are left
    /// for other users.
    package var reconfirmationsPerUserMax = 64
    /// The time for which a reconfirmed record is queried.
    package var reconfirmationSpan = TimeSpan.seconds(4)

    /// Creates limits for 5,000 programs of one user with a few requests each, and one program with
    /// 5,000 requests.
    package init() {}

    /// Creates the default limits with at most `connectionsMax` connections, of which one user gets
    /// three fifths.
    package init(connectionsMax: Int) {
      clientsMax = min(clientsMax, connectionsMax)
      clientsPerUserMax = min(clientsPerUserMax, clientsMax / 5 * 3)
    }
  }

  /// The cost of requests.
  package struct Load: Hashable, Sendable {
    /// The number of queries, services and records; each subtype and each added record of a service
    /// counts as one more.
    package var requestCount: Int
    /// The size of registered data in wire format.
    package var byteCount: Int

    /// Creates a cost.
    package init(requestCount: Int = 0, byteCount: Int = 0) {
      self.requestCount = requestCount
      self.byteCount = byteCount
    }

    /// A query.
    static let query = Load(requestCount: 1)

    init(_ service: ServiceRegistration) {
      self.init(
        requestCount: 1 + service.subtypeNames.count, byteCount: service.text.wireBytes.count)
    }

    init(_ data: DNSRecordData) { self.init(requestCount: 1, byteCount: data.wireBytes.count) }

    static func + (a: Load, b: Load) -> Load {
      Load(requestCount: a.requestCount + b.requestCount, byteCount: a.byteCount + b.byteCount)
    }

    static func - (a: Load, b: Load) -> Load {
      assert(
        a.requestCount >= b.requestCount && a.byteCount >= b.byteCount,
        "\(b) is no part of \(a)")
      return Load(
        requestCount: a.requestCount - b.requestCount, byteCount: a.byteCount - b.byteCount)
    }

    /// Whether neither number is above its bound.
    func fits(_ limit: Load) -> Bool {
      requestCount <= limit.requestCount && byteCount <= limit.byteCount
    }
  }

  /// Counts actions per time span.
  struct Rate: Sendable {
    private var count = 0
    private var endsAt = Instant.zero

    /// Counts one more action; false if that exceeds the limit.
    mutating func admits(max: Int, per span: TimeSpan, now: Instant) -> Bool {
      assert(span > .zero, "a rate needs time")
      if now >= endsAt { (count, endsAt) = (0, now + span) }
      guard count < max else { return false }
      count += 1
      return true
    }
  }
}
