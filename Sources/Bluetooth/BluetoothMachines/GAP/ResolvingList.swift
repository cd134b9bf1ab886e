import BluetoothWire
import Essentials
import PairingMachines

/// The controller's resolving list: the bonded peers whose private addresses it resolves by itself
/// (Core 5.4, Vol 6, Part B, §6). It connects to their current addresses by their identities in its
/// filter accept list, and accepts directed advertising to private addresses generated with this
/// host's IRK.
///
/// The list can be changed only while the host is neither advertising, scanning nor connecting
/// (Core 5.4, Vol 4, Part E, §7.8.38). That is done when the radio is started, when a wanted peer
/// is missing or one must be removed, and when these activities pause for another reason. Some
/// controllers accept a list and ignore it, so the host also searches until it has seen the
/// controller resolve an address.
struct ResolvingList: Sendable {
  enum Limits {
    /// Limit of listed peers; controllers have room for 8 to 64, and resolve more slowly the more
    /// are listed.
    static let entriesMax = 64
    /// The pause before a change that the controller refused is tried again; twice as long each time.
    static let retryDelay = TimeSpan.seconds(1)
    static let retryDelayMax = TimeSpan.seconds(64)
    /// How many private addresses of listed peers a controller may leave unresolved before it is clear
    /// that it does nothing with its list. One may slip through while it works.
    static let unresolvedMax = 3
  }

  /// Whether the controller does what its list is for.
  enum Trust: String, Sendable {
    /// No address of a listed peer was heard yet.
    case untested
    case resolves
    /// It has no list, or does nothing with it.
    case fails
  }

  struct Entry: Sendable, Equatable {
    let identity: DeviceAddress
    let peerKey: SMPValue
    /// Nil: the peer knows no key of this host.
    let localKey: SMPValue?
    /// A peer that has used private addresses only may have claimed a foreign identity: packets
    /// with that identity address are not attributed to it.
    let mode: PrivacyMode

    init?(_ bond: Bond, localKey: SMPValue?) {
      guard let key = bond.identityResolvingKey else { return nil }
      identity = bond.identity
      peerKey = key
      self.localKey = localKey
      mode = bond.knownAddress == bond.identity ? .device : .network
    }
  }

  private enum Step: Sendable {
    case remove(DeviceAddress)
    case add(Entry)
    case setMode(Entry)
    case setTimeout
    case enable(Bool)
  }

  private(set) var trust = Trust.fails
  private(set) var capacity = 0
  private var canSetMode = false
  /// What the controller has.
  private(set) var entries: [Entry] = []
  /// What it has without its mode.
  private var modeless: Entry?
  private var isEnabled = false
  /// How long the controller uses the private addresses that it makes; nil once it knows.
  private var timeout: UInt16?
  /// All that could be listed, the most wanted first, and how many of them are waited for.
  private var candidates: [Entry] = []
  private var urgentCount = 0
  private var step: Step?
  /// Whether changes have begun, so that the air stays silent until all are made.
  private var isChanging = false
  private var retryAt: Instant?
  private var refusalCount = 0
  private var unresolvedCount = 0

  // MARK: Wanted entries

  /// Takes the bonded peers that have keys, the most wanted first; links to the first `urgentCount`
  /// are requested.
  ///
  /// Of the others, those are listed that were paired with at their identity address: in network
  /// privacy mode packets with the identity address are ignored, and those may be another device's.
  mutating func want(_ bonds: [Bond], urgentCount: Int, localKey: SMPValue?) {
    let urgent = bonds.prefix(urgentCount).compactMap { Entry($0, localKey: localKey) }
    let others = bonds.dropFirst(urgentCount).compactMap { Entry($0, localKey: localKey) }
    candidates = urgent + others.filter { $0.mode == .device }
    self.urgentCount = urgent.count
    leaveOutDevices()
  }

  /// Without LE Set Privacy Mode a controller ignores listed peers that use their identity addresses.
  private mutating func leaveOutDevices() {
    guard !canSetMode else { return }
    let urgent = candidates.prefix(urgentCount).filter { $0.mode == .network }
    let others = candidates.dropFirst(urgentCount).filter { $0.mode == .network }
    urgentCount = urgent.count
    candidates = urgent + others
  }

  /// Whether the controller connects to the peer by its identity, at any of its private addresses.
  func resolves(_ identity: DeviceAddress) -> Bool {
    trust != .fails && isEnabled && entries.contains { $0.identity == identity }
  }

  /// Whether a report with this identity address was resolved without being marked as such: some
  /// controllers (rootcanal's) don't mark it. A controller that resolves ignores listed peers which
  /// use their identity address in network privacy mode; for one that doesn't this is no proof.
  func hides(_ identity: DeviceAddress) -> Bool {
    trust != .fails && isEnabled
      && entries.contains { $0.identity == identity && $0.mode == .network }
  }

  // MARK: The controller

  /// The controller is ready: its list is empty, and it resolves nothing.
  mutating func controllerStarted(
    _ abilities: ControllerAbilities, privateAddressInterval: TimeSpan
  ) {
    controllerStopped()
    timeout = UInt16(clamping: min(max(Int64(privateAddressInterval.seconds), 1), 3_600))
    capacity = min(abilities.resolvingListCapacity, Limits.entriesMax)
    canSetMode = abilities.commands.contains(.leSetPrivacyMode)
    if capacity > 0 { trust = .untested }
    // Nothing is on the air yet, so it costs nothing.
    isChanging = capacity > 0
  }

  /// The controller is gone, and its list with it.
  mutating func controllerStopped() {
    trust = .fails
    capacity = 0
    entries = []
    modeless = nil
    isEnabled = false
    step = nil
    isChanging = false
    retryAt = nil
    refusalCount = 0
    unresolvedCount = 0
  }

  /// Whether nothing may be on the air, because the list is being changed or has to be.
  mutating func needsSilence(now: Instant) -> Bool {
    if let due = retryAt, due <= now { retryAt = nil }
    if step == nil {
      if retryAt != nil || nextStep() == nil {
        isChanging = false
      } else if isUrgent {
        isChanging = true
      }
    }
    return isChanging
  }

  /// Whether a change can't wait until the air is silent anyway.
  private var isUrgent: Bool {
    if trust == .fails { return isEnabled }
    let isStale = entries.contains { !candidates.contains($0) }
    let isMissing = candidates.prefix(min(urgentCount, capacity)).contains { !entries.contains($0) }
    return isStale || isMissing || modeless != nil
  }

  private func nextStep() -> Step? {
    if trust == .fails { return isEnabled ? .enable(false) : nil }
    if let modeless { return .setMode(modeless) }
    let wanted = candidates.prefix(capacity)
    if let stale = entries.first(where: { !candidates.contains($0) }) {
      return .remove(stale.identity)
    }
    guard let missing = wanted.first(where: { !entries.contains($0) }) else {
      if isEnabled || entries.isEmpty { return nil }
      return timeout == nil ? .enable(true) : .setTimeout
    }
    if entries.count < capacity { return .add(missing) }
    return entries.first { !wanted.contains($0) }.map { .remove($0.identity) }
  }

  /// The next command towards the wanted list; only while advertising, scanning and connecting
  /// pause.
  mutating func nextCommand() -> HCIPacket? {
    guard step == nil, retryAt == nil, let next = nextStep() else { return nil }
    isChanging = true
    step = next
    switch next {
    case .remove(let identity):
      return LERemoveDeviceFromResolvingList(peerIdentity: identity).packet
    case .add(let entry):
      return LEAddDeviceToResolvingList(
        peerIdentity: entry.identity, peerKey: entry.peerKey.number,
        localKey: entry.localKey?.number ?? 0
      ).packet
    case .setMode(let entry):
      return LESetPrivacyMode(peerIdentity: entry.identity, mode: entry.mode).packet
    case .setTimeout:
      return LESetResolvablePrivateAddressTimeout(seconds: timeout ?? 900).packet
    case .enable(let isEnabled): return LESetAddressResolutionEnable(isEnabled: isEnabled).packet
    }
  }

  /// The controller answered the last command.
  mutating func commandCompleted(_ status: HCIStatus, now: Instant) {
    guard let done = step else { return }
    step = nil
    if status == .commandDisallowed { return retryLater(now: now) }
    refusalCount = 0
    switch done {
    case .remove(let identity):
      guard status == .success || status == .unknownConnection else { return giveUp() }
      entries.removeAll { $0.identity == identity }
    case .add(let entry):
      switch status {
      case .success where entry.mode == .network: entries.append(entry)
      case .success: modeless = entry
      // Its list is shorter than it reported.
      case .memoryCapacityExceeded: capacity = entries.count
      default: giveUp()
      }
    case .setMode(let entry):
      modeless = nil
      entries.append(entry)
      guard status != .success else { return }
      canSetMode = false
      leaveOutDevices()
    // Where it is refused, the controller changes its addresses as often as it is made to.
    case .setTimeout: timeout = nil
    case .enable(let wanted):
      if status == .success {
        isEnabled = wanted
      } else if wanted {
        giveUp()
      } else {
        isEnabled = false
      }
    }
  }

  /// Something seems to be on the air still.
  private mutating func retryLater(now: Instant) {
    retryAt = now + min(Limits.retryDelay * Int64(1 << min(refusalCount, 6)), Limits.retryDelayMax)
    refusalCount += 1
    isChanging = false
  }

  /// The controller has a list that can't be used.
  private mutating func giveUp() { trust = .fails }

  /// When a refused change is due again.
  var nextWake: Instant? { retryAt }

  // MARK: Hearing

  /// The controller resolved an address. Whether that is news.
  mutating func addressResolved() -> Bool {
    guard trust == .untested else { return false }
    trust = .resolves
    return true
  }

  /// The controller reported a private address of this peer, which the host had to resolve. Whether it is
  /// clear by now that its list is of no use.
  mutating func addressLeftUnresolved(of identity: DeviceAddress) -> Bool {
    guard trust == .untested, resolves(identity) else { return false }
    unresolvedCount += 1
    guard unresolvedCount >= Limits.unresolvedMax else { return false }
    giveUp()
    return true
  }
}

extension ResolvingList {
  /// How the list contradicts itself; a sentence for each contradiction.
  func violations() -> [String] {
    var found: [String] = []
    if capacity > Limits.entriesMax { found.append("the list is longer than allowed") }
    if entries.count + (modeless == nil ? 0 : 1) > capacity {
      found.append("the list has more entries than the controller has room for")
    }
    if urgentCount > candidates.count { found.append("more peers are urgent than wanted") }
    if Set(entries.map(\.identity)).count != entries.count {
      found.append("two entries have one identity")
    }
    if unresolvedCount > Limits.unresolvedMax {
      found.append("a list without effect is still trusted")
    }
    return found
  }
}
