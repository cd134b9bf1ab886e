#if Messaging
  internal import Essentials
  internal import XMPPWire

  /// An account that has shown which signs of a conversation its app takes.
  package struct ChatPeer: Hashable, Sendable {
    /// The bare address.
    package var address: String
    /// It shows what its user does (XEP-0085).
    package var showsStates = false
    /// Its messages may be marked as displayed (XEP-0333).
    package var takesMarkers = false
    /// The last message that was displayed here, while its marker has not left.
    package var displayed: String?

    package init(
      _ address: String, showsStates: Bool = false, takesMarkers: Bool = false,
      displayed: String? = nil
    ) {
      self.address = address
      self.showsStates = showsStates
      self.takesMarkers = takesMarkers
      self.displayed = displayed
    }
  }

  /// Signs of conversations: the abilities of peers, and what they and this account's user do now.
  struct ChatPeers: Sendable {
    struct Activity: Sendable {
      var state: ChatState
      /// The full address that has shown it.
      var resource: JID
      /// When it is over without another sign; nil for never.
      var deadline: Instant?
    }

    private let limits: ContactLimits
    private(set) var peers: [String: ChatPeer] = [:]
    private var uses: [String: UInt64] = [:]
    private var lastUse: UInt64 = 0
    /// Peers that write, or have paused.
    private(set) var activities: [String: Activity] = [:]
    /// Peers to which this account's user writes, and when that counts as paused.
    private(set) var composing: [String: Instant] = [:]

    init(_ limits: ContactLimits) { self.limits = limits }

    var nextWake: Instant? {
      [activities.values.lazy.compactMap(\.deadline).min(), composing.values.min()]
        .compactMap { $0 }.min()
    }

    /// Keeps a peer. Returns the one that makes place for it.
    mutating func set(_ peer: ChatPeer) -> String? {
      lastUse += 1
      uses[peer.address] = lastUse
      guard peers.updateValue(peer, forKey: peer.address) == nil,
        peers.count > limits.chatPeerCountMax,
        let oldest = uses.min(by: { $0.value < $1.value })?.key
      else { return nil }
      peers[oldest] = nil
      uses[oldest] = nil
      return oldest
    }

    /// Keeps what a peer does. Returns its state if that is another one; nil if not.
    mutating func show(_ state: ChatState, _ resource: JID, _ deadline: Instant?) -> ChatState? {
      let address = resource.bare.description
      let old = activities[address]?.state
      switch state {
      case .composing, .paused:
        guard old != nil || activities.count < limits.chatActivityCountMax else { return nil }
        activities[address] = Activity(state: state, resource: resource, deadline: deadline)
      case .active, .inactive, .gone:
        guard activities.removeValue(forKey: address) != nil else { return nil }
      }
      return old == state ? nil : state
    }

    /// Ends what a peer does, and returns whether it did something.
    mutating func end(_ address: String) -> Bool {
      activities.removeValue(forKey: address) != nil
    }

    mutating func setComposing(_ address: String, until deadline: Instant?) {
      composing[address] = deadline
    }

    func violations() -> [String] {
      var found: [String] = []
      if peers.count != uses.count { found.append("a peer has no last use") }
      if peers.count > limits.chatPeerCountMax { found.append("too many peers") }
      if activities.count > limits.chatActivityCountMax { found.append("too many activities") }
      return found
    }
  }
#endif
