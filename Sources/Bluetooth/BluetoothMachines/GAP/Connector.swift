import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines
import PairingMachines

/// Establishes links to any number of peers, without a timeout.
///
/// A controller makes one connection attempt at a time, to one peer or to the first that appears of
/// those in its filter accept list. The connector gives it all wanted peers at once if they fit in
/// the list, else batches in turn, with a share for each program. It only compares the wanted state with that of the controller
/// and takes one step towards it; that makes races harmless.
///
/// Controllers don't find bonded peers whose private addresses have changed, unless they resolve
/// them (`ResolvingList`). While another such peer is wanted the host also scans, and connects to
/// the latest address from which it was heard.
struct Connector: Sendable {
  enum Limits {
    /// Limit of wanted peers, 50 bytes each: more than any app waits for.
    static let pendingMax = 4096
    /// The time for which the controller has one batch if there are more peers than its list holds:
    /// several advertising intervals of a peer that advertises twice a second.
    static let turn = TimeSpan.seconds(3)
    /// The pause after a refused command or a failed attempt.
    static let retryDelay = TimeSpan.milliseconds(500)
    /// How long a cancelled attempt may take to end.
    static let cancelTimeout = TimeSpan.seconds(2)
    /// How long a peer is looked for at a private address after it was last heard with it: as long as
    /// devices that save power take to advertise again.
    static let privateAddressLifetime = TimeSpan.seconds(10)
    /// How long no advertisement with the peer's current private address must be received before
    /// another one is used: it may advertise with several, and any device can replay an old one.
    static let privateAddressSilence = TimeSpan.seconds(2)
  }

  /// A wanted connection that will not come: the controller can't, and trying again is no use.
  struct Outcome: Sendable, Equatable {
    var peer: DeviceAddress
    var status: HCIStatus
  }

  private struct Pending: Sendable {
    /// By which clients know it that want it.
    var peer: DeviceAddress
    /// By which it is known from its bond; of others the same.
    var knownAddress: DeviceAddress
    /// By which the controller knows it once it resolves its private addresses; nil: it has none.
    var identity: DeviceAddress?
    /// Whether the controller resolves them.
    var isResolved = false
    /// At which it is looked for.
    var address: DeviceAddress
    /// When it was last heard with that address, if it was.
    var heardAt: Instant?
    var parameters: ConnectionParameters
    /// Whether it is looked for on LE Coded as well.
    var usesCoded: Bool
    var notBefore: Instant
    /// The programs that want it, without those that gave it up.
    var requesters: [Requester]

    var isPrivate: Bool { identity != nil }
  }

  /// An attempt in the controller.
  private struct Attempt: Sendable {
    var peers: [DeviceAddress]
    var addresses: [DeviceAddress]
    var usesList: Bool
  }

  private enum State: Sendable {
    case idle
    /// Create Connection was sent and not yet acknowledged.
    case requesting(Attempt)
    /// The controller looks for the peers.
    case initiating(Attempt)
    /// Create Connection Cancel was sent; the attempt ends with a Connection Complete.
    case cancelling(Attempt, until: Instant)
    /// The controller reported that there is no attempt to cancel: the event of its end, perhaps
    /// with a link, is on its way or lost.
    case ended(until: Instant)
  }

  /// A command of the connector that waits for its answer.
  private enum Step: Sendable {
    case create
    case cancel
    case add(DeviceAddress)
    case remove(DeviceAddress)
    case clear
  }

  /// The peers whose turn it is. Of a thousand wanted peers they are found once a turn, not once a command.
  private struct Choice: Sendable {
    var peers: [Pending]
    var addresses: [DeviceAddress]
    /// When others may have their turn.
    var until: Instant
  }

  private var pending: [Pending] = [] { didSet { choice = nil } }
  private var choice: Choice?
  private var state = State.idle
  private var step: Step?
  /// The peers in the controller's list.
  private var list: [DeviceAddress] = []
  private var listCapacity = 0 { didSet { choice = nil } }
  /// Whether the controller has refused to clear its list: its peers are removed one by one then.
  private var hasRefusedClearing = false
  private var turns = ConnectorTurns()
  private var turnEnd: Instant?
  private var retryAt: Instant?
  private var usesExtendedCommands = false
  private var canUseCoded = false
  private var ownAddressType = OwnAddressType.public
  private var isStarted = false
  /// Whether the controller must not connect for the moment.
  var isPaused = false
  /// The controller refused an attempt as if it made one already: it may not have reported the end
  /// of one, or make one that this host no longer knows of.
  private var hasStrayAttempt = false
  /// Whether the controller took the cancellation of an attempt and never reported its end: it may go
  /// on with that.
  private(set) var hasUnreportedEnd = false

  /// How many peers are wanted.
  var pendingCount: Int { pending.count }

  /// The peers that are wanted.
  var peers: [DeviceAddress] { pending.map(\.peer) }

  /// Whether this peer is wanted.
  func isPending(_ peer: DeviceAddress) -> Bool { pending.contains { $0.peer == peer } }

  /// Whether bonded peers with private addresses are wanted, which have to be heard first.
  private(set) var isSearching = false
  /// Whether the controller was seen to resolve addresses.
  private var isResolvingProved = false
  /// Changes with the peers that may have private addresses.
  private(set) var version: UInt64 = 0

  /// The peers that may have private addresses, by what their bonds know them by.
  var privatePeers: [DeviceAddress] { pending.filter(\.isPrivate).map(\.knownAddress) }

  /// The wanted peer that is looked for at an address, or that is known by this one.
  func peer(at address: DeviceAddress, known: DeviceAddress) -> DeviceAddress? {
    let found =
      pending.first { $0.address == address || $0.peer == address }
      ?? pending.first { $0.knownAddress == known }
    return found?.peer
  }

  // MARK: Wanted links

  /// Requests a link, until it is up or `remove`; false if the limit of requests is reached.
  mutating func add(
    _ peer: DeviceAddress, bond: Bond? = nil, _ parameters: ConnectionParameters,
    usesCoded: Bool = false, notBefore: Instant, for requester: Requester = .host
  ) -> Bool {
    if let index = pending.firstIndex(where: { $0.peer == peer }) {
      if !pending[index].requesters.contains(requester) {
        pending[index].requesters.append(requester)
      }
      pending[index].notBefore = min(pending[index].notBefore, notBefore)
      return true
    }
    guard pending.count < Limits.pendingMax else { return false }
    // Not its identity address, unless clients know it by that: a peer that has used private
    // addresses only may have claimed a foreign identity.
    let knownAddress = bond?.knownAddress ?? peer
    let identity = bond.flatMap { $0.identityResolvingKey == nil ? nil : $0.identity }
    pending.append(
      Pending(
        peer: peer, knownAddress: knownAddress, identity: identity, address: knownAddress,
        parameters: parameters, usesCoded: usesCoded, notBefore: notBefore, requesters: [requester])
    )
    if identity != nil { privatePeersChanged() }
    return true
  }

  /// The controller resolves the addresses of other peers than before, or was seen to do so.
  mutating func resolvingChanged(_ list: ResolvingList) {
    isResolvingProved = list.trust == .resolves
    for index in pending.indices {
      guard let identity = pending[index].identity else { continue }
      let isResolved = list.resolves(identity)
      guard pending[index].isResolved != isResolved else { continue }
      pending[index].isResolved = isResolved
      pending[index].address = isResolved ? identity : pending[index].knownAddress
      pending[index].heardAt = nil
    }
    updateSearching()
  }

  private mutating func privatePeersChanged() {
    version += 1
    updateSearching()
  }

  private mutating func updateSearching() {
    isSearching = pending.contains { $0.isPrivate && !($0.isResolved && isResolvingProved) }
  }

  /// There is no bond with a peer any more: it is looked for at its address only.
  mutating func bondRemoved(_ knownAddress: DeviceAddress) {
    for index in pending.indices where pending[index].knownAddress == knownAddress {
      pending[index].identity = nil
      pending[index].isResolved = false
      pending[index].address = pending[index].peer
      pending[index].heardAt = nil
    }
    privatePeersChanged()
  }

  /// A bonded peer that takes connections was heard with an address. Returns whether it is to be looked
  /// for there from now on.
  mutating func heard(
    _ knownAddress: DeviceAddress, at address: DeviceAddress, now: Instant
  ) -> Bool {
    var isNews = false
    for index in pending.indices
    where pending[index].isPrivate && !pending[index].isResolved
      && pending[index].knownAddress == knownAddress
    {
      if pending[index].address != address {
        if let last = pending[index].heardAt, now < last + Limits.privateAddressSilence { continue }
        pending[index].address = address
        isNews = true
      }
      pending[index].heardAt = now
    }
    return isNews
  }

  private mutating func forgetPrivateAddresses(now: Instant) {
    guard isSearching else { return }
    for index in pending.indices {
      guard let last = pending[index].heardAt, last + Limits.privateAddressLifetime <= now else {
        continue
      }
      pending[index].heardAt = nil
      pending[index].address = pending[index].knownAddress
    }
  }

  /// No longer wants a link.
  mutating func remove(_ peer: DeviceAddress) { removePending { $0.peer == peer } }

  /// A program no longer wants a link that others want.
  mutating func release(_ peer: DeviceAddress, by requester: Requester) {
    guard let index = pending.firstIndex(where: { $0.peer == peer }),
      pending[index].requesters.count > 1
    else { return }
    pending[index].requesters.removeAll { $0 == requester }
  }

  private mutating func removePending(_ isRemoved: (Pending) -> Bool) {
    let hadPrivate = pending.contains { $0.isPrivate && isRemoved($0) }
    pending.removeAll(where: isRemoved)
    if hadPrivate { privatePeersChanged() }
  }

  // MARK: The controller

  /// Whether the controller doesn't connect and was not told to.
  var isSilent: Bool { if case .idle = state { step == nil } else { false } }

  /// Whether the command under way begins an attempt.
  var isBeginning: Bool { if case .create = step { true } else { false } }

  /// Whether the controller makes an attempt.
  var isInitiating: Bool { if case .initiating = state { true } else { false } }

  /// This host has another address on the air.
  mutating func ownAddressChanged(_ type: OwnAddressType) { ownAddressType = type }

  /// The controller is ready; it attempts nothing and its list is empty.
  mutating func controllerStarted(_ abilities: ControllerAbilities) {
    controllerStopped()
    isStarted = true
    usesExtendedCommands = abilities.usesExtendedCommands
    canUseCoded = abilities.canUseCoded
    ownAddressType = abilities.ownAddressType
    listCapacity = abilities.acceptListCapacity
  }

  /// The controller is gone. The requested links stay requested.
  mutating func controllerStopped() {
    isStarted = false
    state = .idle
    step = nil
    list = []
    hasRefusedClearing = false
    turnEnd = nil
    choice = nil
    retryAt = nil
    hasStrayAttempt = false
    hasUnreportedEnd = false
  }

  /// The next command towards the wanted state, if it is time for one.
  mutating func nextCommand(now: Instant) -> HCIPacket? {
    guard isStarted, step == nil else { return nil }
    if let retryAt, now < retryAt { return nil }
    retryAt = nil
    if case .cancelling(_, let until) = state, until <= now {
      state = .idle
      hasUnreportedEnd = true
    }
    forgetPrivateAddresses(now: now)
    let wanted = isPaused ? nil : chosen(now: now)
    let addresses = wanted?.addresses ?? []
    switch state {
    case .requesting, .cancelling, .ended:
      return nil
    case .initiating(let attempt):
      guard attempt.addresses != addresses, Set(attempt.addresses) != Set(addresses) else {
        return nil
      }
      state = .cancelling(attempt, until: now + Limits.cancelTimeout)
      step = .cancel
      return LECreateConnectionCancel().packet
    case .idle:
      guard let wanted, !addresses.isEmpty else { return nil }
      guard hasStrayAttempt else { return approach(wanted) }
      hasStrayAttempt = false
      let unknown = Attempt(peers: [], addresses: [], usesList: false)
      state = .cancelling(unknown, until: now + Limits.cancelTimeout)
      step = .cancel
      return LECreateConnectionCancel().packet
    }
  }

  /// Fills the list, then starts the attempt.
  private mutating func approach(_ choice: Choice) -> HCIPacket? {
    let (wanted, addresses) = (choice.peers, choice.addresses)
    // Private addresses are resolved for the list, by every controller that resolves any.
    let usesList = wanted.count > 1 || listCapacity > 0 && wanted.contains(where: \.isResolved)
    if usesList {
      if let extra = list.first(where: { !addresses.contains($0) }) {
        // As in each turn of more peers than it holds.
        if list.count > 1, !hasRefusedClearing, !list.contains(where: { addresses.contains($0) }) {
          step = .clear
          return LEClearFilterAcceptList().packet
        }
        step = .remove(extra)
        return LERemoveDeviceFromFilterAcceptList(address: extra).packet
      }
      if let missing = addresses.first(where: { !list.contains($0) }) {
        step = .add(missing)
        return LEAddDeviceToFilterAcceptList(address: missing).packet
      }
    }
    guard let first = wanted.first else { return nil }
    state = .requesting(
      Attempt(peers: wanted.map(\.peer), addresses: addresses, usesList: usesList))
    step = .create
    let usesCoded = canUseCoded && (usesList ? pending : [first]).contains { $0.usesCoded }
    return createCommand(usesList ? nil : first.address, first.parameters, usesCoded: usesCoded)
  }

  /// The peers whose turn it is.
  private mutating func chosen(now: Instant) -> Choice {
    if let choice, now < choice.until { return choice }
    let peers = batch(now: now)
    // A peer that has to wait becomes ready without a turn's end, too.
    let ready = pending.lazy.map(\.notBefore).filter { $0 > now }.min()
    let new = Choice(
      peers: peers, addresses: peers.map(\.address),
      until: min(turnEnd ?? .distantFuture, ready ?? .distantFuture))
    choice = new
    return new
  }

  private mutating func batch(now: Instant) -> [Pending] {
    let size = max(1, listCapacity)
    let ready = pending.filter { $0.notBefore <= now }
    guard ready.count > size else {
      turnEnd = nil
      turns = ConnectorTurns()
      return ready
    }
    let requesters = ready.map(\.requesters)
    if let end = turnEnd, end <= now {
      turns.advance(size, of: requesters)
      turnEnd = nil
    }
    if turnEnd == nil { turnEnd = now + Limits.turn }
    return turns.batch(size, of: requesters).map { ready[$0] }
  }

  /// The controller answered the last command: its status, or that it was acknowledged.
  mutating func commandCompleted(_ status: HCIStatus, now: Instant) -> [Outcome] {
    guard let done = step else { return [] }
    step = nil
    switch done {
    case .create: return created(status, now: now)
    case .cancel:
      guard status != .success, case .cancelling(let attempt, _) = state else { break }
      // Nothing is attempted any more, so the attempt has ended already, one way or the other.
      let isReported = status != .commandDisallowed || attempt.peers.isEmpty
      state = isReported ? .idle : .ended(until: now + Limits.cancelTimeout)
    case .add(let peer):
      if status == .success {
        list.append(peer)
      } else {
        // Its list is shorter than it reported.
        listCapacity = list.count
        if listCapacity == 0 { retryAt = now + Limits.retryDelay }
      }
    case .remove(let peer):
      list.removeAll { $0 == peer }
    case .clear:
      if status == .success { list = [] } else { hasRefusedClearing = true }
    }
    return []
  }

  private mutating func created(_ status: HCIStatus, now: Instant) -> [Outcome] {
    guard case .requesting(let attempt) = state else { return [] }
    guard status != .success else {
      state = .initiating(attempt)
      hasUnreportedEnd = false
      return []
    }
    state = .idle
    hasStrayAttempt = status == .commandDisallowed
    return attemptFailed(attempt, status, now: now)
  }

  private mutating func attemptFailed(
    _ attempt: Attempt, _ status: HCIStatus, now: Instant
  ) -> [Outcome] {
    guard status.isPermanentFailure else {
      retryAt = now + Limits.retryDelay
      return []
    }
    removePending { attempt.peers.contains($0.peer) }
    return attempt.peers.map { Outcome(peer: $0, status: status) }
  }

  /// An attempt ended: with a link to `peer`, or with an error.
  mutating func connectionCompleted(
    _ status: HCIStatus, peer: DeviceAddress, now: Instant
  ) -> [Outcome] {
    let before = state
    // The answer to Create Connection may have been lost; the result counts.
    state = .idle
    hasUnreportedEnd = false
    guard status != .success else {
      remove(peer)
      return []
    }
    switch before {
    case .requesting(let attempt), .initiating(let attempt):
      return attemptFailed(attempt, status, now: now)
    case .idle, .cancelling, .ended:
      return []
    }
  }

  /// Whether the controller never reported how an attempt ended. There may be a link that only it and
  /// the peer know of.
  func hasLostEnd(now: Instant) -> Bool {
    if case .ended(let until) = state { until <= now } else { false }
  }

  /// Gives the controller more time to report the end of an attempt, because its events are not read
  /// for the moment.
  mutating func postponeTimeout(until instant: Instant) {
    if case .ended(let until) = state { state = .ended(until: max(until, instant)) }
  }

  /// When it wants to be asked for the next command.
  func nextWake(now: Instant) -> Instant? {
    // While a command is under way its answer comes first, and until a retry nothing else happens:
    // to be woken for less would be to be woken again at once.
    guard isStarted, step == nil else { return nil }
    if let retryAt { return retryAt }
    var wake = Instant.distantFuture
    switch state {
    case .cancelling(_, let until), .ended(let until): wake = min(wake, until)
    case .idle, .requesting, .initiating: break
    }
    if !isPaused {
      // Without a choice, they have changed since the last command: one is due.
      wake = min(wake, choice?.until ?? now)
      if isSearching {
        for case let last? in pending.lazy.map(\.heardAt) {
          wake = min(wake, last + Limits.privateAddressLifetime)
        }
      }
    }
    return wake == .distantFuture ? nil : wake
  }
}

extension Connector {
  /// How the connector contradicts itself; a sentence for each contradiction.
  ///
  /// - Parameter limit: The number of wanted peers that are checked.
  func violations(perTable limit: Int) -> [String] {
    var found: [String] = []
    if pending.count > Limits.pendingMax { found.append("too many peers are wanted") }
    if list.count > listCapacity { found.append("the accept list is longer than its capacity") }
    if Set(list).count != list.count { found.append("a peer is in the accept list twice") }
    for (index, peer) in pending.prefix(limit).enumerated() {
      if pending.firstIndex(where: { $0.peer == peer.peer }) != index {
        found.append("a peer is wanted twice")
      }
      if peer.isResolved, peer.identity == nil {
        found.append("a peer without identity is resolved")
      }
      if peer.isResolved, peer.address != peer.identity {
        found.append("a resolved peer is looked for at another address")
      }
    }
    return found
  }
}

// MARK: Commands

extension Connector {
  /// Half of the time on the air: a peer that advertises ten times a second is caught within 200 ms
  /// and scans and links have the other half.
  private static let timing = ScanTiming(intervalUnits625us: 96, windowUnits625us: 48)

  /// Connects to one peer, or to the first of the list that is heard.
  private func createCommand(
    _ peer: DeviceAddress?, _ parameters: ConnectionParameters, usesCoded: Bool
  ) -> HCIPacket {
    let policy: InitiatorFilterPolicy = peer == nil ? .filterAcceptList : .peerAddress
    let address = PeerAddress(peer ?? DeviceAddress(bits: 0, kind: .public))
    let timing = ConnectionTimingRequest(parameters)
    guard usesExtendedCommands else {
      return LECreateConnection(
        scan: Self.timing, filterPolicy: policy, peer: address, ownAddressType: ownAddressType,
        timing: timing
      ).packet
    }
    return LEExtendedCreateConnection(
      filterPolicy: policy, ownAddressType: ownAddressType, peer: address,
      le1M: .init(scan: Self.timing, timing: timing),
      leCoded: usesCoded ? .init(scan: Self.timing, timing: timing) : nil
    ).packet
  }
}

extension ConnectionTimingRequest {
  /// What a client asked for, as the controller takes it.
  init(_ parameters: ConnectionParameters) {
    self.init(
      intervalMinUnits1250us: parameters.intervalUnits.lowerBound,
      intervalMaxUnits1250us: parameters.intervalUnits.upperBound, latency: parameters.latency,
      timeoutUnits10ms: parameters.timeoutUnits)
  }
}

extension HCIStatus {
  /// Whether trying to connect again cannot help: no room for links, or the controller doesn't know
  /// the command or its parameters.
  fileprivate var isPermanentFailure: Bool {
    switch self {
    case .unknownCommand, .connectionLimitExceeded, .unsupportedFeature, .invalidParameters: true
    default: false
    }
  }
}
