/// The rules of a hub: which programs may use it, and how much each of them may take.
///
/// The first rule whose conditions all hold decides. Without one, the hub's own user and root may use it, and
/// others may not. A condition that the system can't decide, such as the unit of a process on an old kernel, never
/// allows anything; a rule that denies counts it as true.
package struct HubRules: Hashable, Sendable {
  /// What a rule does with the programs that it matches.
  package enum Access: String, Hashable, Sendable, CaseIterable {
    case allow
    case deny
  }

  /// One rule. It matches programs that fulfil all conditions that aren't nil.
  package struct Rule: Hashable, Sendable {
    package var access: Access
    /// The program's user.
    package var userID: UInt32?
    /// One of the program's groups.
    package var groupID: UInt32?
    /// The unit of systemd that the program belongs to. A unit of a user's systemd follows the system's:
    /// `user@1000.service/guide.service`.
    package var unit: String?
    /// The name of the listening socket that the program connected to.
    package var socket: String?
    /// How much a program that it allows may take.
    package var quotas: HubQuotas
    /// Whether a program that it allows may answer the pairings that others cause; nil for programs of the
    /// hub's user and of root only.
    package var attendsPairings: Bool?

    package init(
      _ access: Access, userID: UInt32? = nil, groupID: UInt32? = nil, unit: String? = nil,
      socket: String? = nil, quotas: HubQuotas = HubQuotas(), attendsPairings: Bool? = nil
    ) {
      self.access = access
      self.userID = userID
      self.groupID = groupID
      self.unit = unit
      self.socket = socket
      self.quotas = quotas
      self.attendsPairings = attendsPairings
    }
  }

  /// What applies to a program.
  package enum Verdict: Hashable, Sendable {
    /// It may use the hub, within these quotas.
    case allowed(HubQuotas)
    /// It may not, for a reason in one sentence.
    case denied(String)

    /// The quotas; without effect for a program that is denied.
    var quotas: HubQuotas { if case .allowed(let quotas) = self { quotas } else { HubQuotas() } }
  }

  /// Of processes in other user namespaces, whose users this one doesn't know (user_namespaces(7)). Their groups
  /// have this number, too. Where this namespace knows all users, it is an account.
  package static let overflowID: UInt32 = 65_534

  /// The rules, in the order in which they are tried.
  package var rules: [Rule]

  /// Whether the hub's user namespace knows all users and groups of the machine, so that 65534 is an account.
  package var knowsAllAccounts: Bool

  package init(_ rules: [Rule] = [], knowsAllAccounts: Bool = false) {
    self.rules = rules
    self.knowsAllAccounts = knowsAllAccounts
  }

  /// Whether a rule has a condition about groups, which then have to be known.
  package var needGroups: Bool { rules.contains { $0.groupID != nil } }
  /// Whether a rule has a condition about units, which then have to be known.
  package var needUnits: Bool { rules.contains { $0.unit != nil } }
  /// Whether other users than the hub's may be allowed, so that they must be able to connect.
  package var mayAllowOthers: Bool { rules.contains { $0.access == .allow } }

  /// What applies to a program at a hub of this user.
  package func verdict(on peer: HubPeer, hubUserID: UInt32) -> Verdict {
    for (index, rule) in rules.enumerated() {
      let match = rule.match(peer, knowsAllAccounts)
      switch rule.access {
      case .allow:
        if rule.allows(peer, knowsAllAccounts) { return .allowed(rule.quotas) }
      case .deny:
        if match == .yes { return .denied("The hub's rules deny it: rules[\(index)].") }
        if match == .unknown {
          return .denied("The hub can't find out whether rules[\(index)] denies it.")
        }
      }
    }
    guard peer.userID != Self.overflowID, peer.userID == hubUserID || peer.userID == 0 else {
      let text = "The hub serves user \(hubUserID) and root only"
      return .denied(rules.isEmpty ? text + "." : text + ", and programs that its rules allow.")
    }
    return .allowed(HubQuotas())
  }

  /// Whether a program may answer the pairings that other programs cause, at a hub of this user.
  package func mayAttendPairings(_ peer: HubPeer, hubUserID: UInt32) -> Bool {
    guard case .allowed = verdict(on: peer, hubUserID: hubUserID) else { return false }
    let isOwn =
      peer.userID != Self.overflowID && (peer.userID == hubUserID || peer.userID == 0)
    return rules.first { $0.allows(peer, knowsAllAccounts) }?.attendsPairings ?? isOwn
  }
}

/// Whether a condition holds. In the order of certainty that it does.
private enum Match: Int, Comparable {
  case no
  case unknown
  case yes

  init(_ holds: Bool?) { self = holds.map { $0 ? .yes : .no } ?? .unknown }

  static func < (a: Match, b: Match) -> Bool { a.rawValue < b.rawValue }
}

extension HubRules.Rule {
  /// Whether the rule allows a program. One whose user isn't known is allowed only where a socket was made for
  /// it.
  fileprivate func allows(_ peer: HubPeer, _ knowsAllAccounts: Bool) -> Bool {
    access == .allow && match(peer, knowsAllAccounts) == .yes
      && (knowsAllAccounts || peer.userID != HubRules.overflowID || socket != nil)
  }

  /// Whether all conditions hold for a program.
  fileprivate func match(_ peer: HubPeer, _ knowsAllAccounts: Bool) -> Match {
    var match = Match.yes
    if let userID {
      let isKnown = knowsAllAccounts || peer.userID != HubRules.overflowID
      match = min(match, Match(isKnown ? peer.userID == userID : nil))
    }
    if let groupID {
      match = min(match, Self.match(peer.groupIDs, groupID, knowsAllAccounts))
    }
    if let unit { match = min(match, Match(peer.units?.contains(unit))) }
    if let socket { match = min(match, Match(peer.socket == socket)) }
    return match
  }

  private static func match(
    _ groupIDs: [UInt32]?, _ groupID: UInt32, _ knowsAllAccounts: Bool
  ) -> Match {
    guard let groupIDs else { return .unknown }
    if groupIDs.contains(groupID) { return .yes }
    // One that this namespace doesn't know may be any group.
    return !knowsAllAccounts && groupIDs.contains(HubRules.overflowID) ? .unknown : .no
  }
}
