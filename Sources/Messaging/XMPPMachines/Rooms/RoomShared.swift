#if Messaging
  import Essentials
  import XMPPWire

  /// What the rooms of an account share while an event is handled.
  struct RoomShared: Sendable {
    let account: JID
    let limits: RoomLimits
    private let prefix: String
    var random: SeededGenerator
    private var requestCount: UInt64 = 0
    var isOnline = false
    var now = Instant.zero
    var wall: WallTime = 0
    var actions: [RoomAction] = []
    var heldByteCount = 0
    var occupantCount = 0
    var outgoingCount = 0
    var outgoingByteCount = 0
    private var recent: Set<SeenKey> = []
    private var recentOrder: [SeenKey] = []

    init(account: JID, limits: RoomLimits, seed: UInt64) {
      self.account = account
      self.limits = limits
      prefix = "ambit-room-\(String(seed, radix: 36))-"
      random = SeededGenerator(seed: seed)
    }

    /// The identifier of a request: a session that a process takes over may bring answers to its predecessor.
    mutating func makeID() -> String {
      requestCount += 1
      return prefix + String(requestCount)
    }

    mutating func send(_ element: XMLElement) { actions.append(.send(element)) }
    mutating func change(_ change: RoomChange) { actions.append(.change(change)) }
    mutating func notice(_ notice: RoomNotice) { actions.append(.notice(notice)) }

    func isKnown(_ key: SeenKey, _ known: Set<SeenKey>) -> Bool {
      known.contains(key) || recent.contains(key)
    }

    /// Remembers a key, in memory until its change is on disk for sure.
    mutating func remember(_ key: SeenKey) {
      guard recent.insert(key).inserted else { return }
      recentOrder.append(key)
      change(.addKey(key))
      guard recentOrder.count > 2 * limits.recentKeyCountMax else { return }
      recent.subtract(recentOrder.prefix(limits.recentKeyCountMax))
      recentOrder.removeFirst(limits.recentKeyCountMax)
    }
  }
#endif
