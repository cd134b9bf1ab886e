import DNSWire
import DiscoveryMachines
public import Essentials

extension OwnerMachine {
  /// How much each may have.
  public struct Limits: Sendable {
    /// Clients at once, of all users.
    public var clientsMax = 10_000
    /// Clients at once of one user.
    public var clientsPerUserMax = 6_000
    /// What one client may want at once.
    public var perClient = Load(wishCount: 10_000, byteCount: 8 << 20)
    /// What one user's clients may want at once.
    public var perUser = Load(wishCount: 20_000, byteCount: 16 << 20)
    /// What all clients may want at once; the machines take 50,000 queries.
    public var inAll = Load(wishCount: 40_000, byteCount: 32 << 20)

    /// Bytes of messages that one user's clients have begun and not ended.
    public var begunByteCountPerUserMax = 4 << 20
    /// The same of all clients.
    public var begunByteCountMax = 16 << 20

    /// How long a client may take to greet. It does so as soon as it is connected; a process that
    /// was stopped in between comes back.
    public var greetingTime = TimeSpan.seconds(10)
    /// How often is looked for those that do not greet.
    public var greetingSpacing = TimeSpan.seconds(1)

    /// Records that one client may doubt within ``doubtSpan``.
    public var doubtsPerClientMax = 32
    /// Records that one user's clients may doubt within ``doubtSpan``: of those that are asked for at
    /// once (256 per interface) there have to be some left for others.
    public var doubtsPerUserMax = 64
    /// For as long a record in doubt is asked for.
    public var doubtSpan = TimeSpan.seconds(4)

    /// What 5,000 programs of one user with a few wishes each need, and one with 5,000.
    public init() {}

    /// The same where no more connections can be had than this: one user leaves some for others.
    public init(connectionsMax: Int) {
      clientsMax = min(clientsMax, connectionsMax)
      clientsPerUserMax = min(clientsPerUserMax, clientsMax / 5 * 3)
    }
  }

  /// How much is wanted.
  public struct Load: Hashable, Sendable {
    /// Queries, services and records; each of a service's subtypes and further records is one more.
    public var wishCount: Int
    /// Bytes of published data, as on the wire.
    public var byteCount: Int

    /// So much.
    public init(wishCount: Int = 0, byteCount: Int = 0) {
      self.wishCount = wishCount
      self.byteCount = byteCount
    }

    /// A query.
    static let query = Load(wishCount: 1)

    init(_ service: ServiceRegistration) {
      self.init(
        wishCount: 1 + service.subtypeNames.count, byteCount: service.text.wireBytes.count)
    }

    init(_ data: DNSRecordData) { self.init(wishCount: 1, byteCount: data.wireBytes.count) }

    static func + (a: Load, b: Load) -> Load {
      Load(wishCount: a.wishCount + b.wishCount, byteCount: a.byteCount + b.byteCount)
    }

    static func - (a: Load, b: Load) -> Load {
      Load(wishCount: a.wishCount - b.wishCount, byteCount: a.byteCount - b.byteCount)
    }

    /// Whether neither number is above its bound.
    func fits(_ limit: Load) -> Bool {
      wishCount <= limit.wishCount && byteCount <= limit.byteCount
    }
  }

  /// How often something was done in a span of time.
  struct Rate: Sendable {
    private var count = 0
    private var endsAt = Instant.zero

    /// Does it once more, unless that is too often.
    mutating func admits(max: Int, per span: TimeSpan, now: Instant) -> Bool {
      if now >= endsAt { (count, endsAt) = (0, now + span) }
      guard count < max else { return false }
      count += 1
      return true
    }
  }
}
