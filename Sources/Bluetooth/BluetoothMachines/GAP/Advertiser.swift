import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines

/// The advertisements of all clients on one radio.
///
/// Where the controller has advertising sets, every client gets one. Where clients outnumber the
/// sets (a controller with legacy commands has one), one set is shared in turns of a second, first between programs
/// and then between the clients of each: the last set of the program that has the most. So every client's is heard,
/// only less often, and a program with a thousand doesn't silence others. Merging the data would need to know what may be
/// left out, and the newest alone would silence the others.
package struct Advertiser: Sendable {
  enum Limits {
    /// How long an advertisement has the shared set: ten events at the usual interval.
    static let turn = TimeSpan.seconds(1)
    /// The pause before something that the controller refused is tried again.
    static let retryDelay = TimeSpan.seconds(1)
    /// Sets used at most; a controller may offer more.
    static let setsMax = 16
    /// What fits in one legacy PDU (Core 5.4, Vol 6, Part B, §2.3.1).
    static let legacyDataByteCountMax = 31
    /// What one command carries of extended data (Core 5.4, Vol 4, Part E, §7.8.54).
    static let fragmentByteCountMax = 251
  }

  /// The result of a client's request.
  package struct Outcome: Sendable {
    var request: PendingRequest
    /// Success once it is on the air; an error if it can't be advertised.
    var result: Result<HostReply, HostError>
  }

  private struct Advertisement: Sendable {
    var client: ClientID
    var requester: Requester
    var options: AdvertisingOptions
    /// Until it was on the air for the first time.
    var token: RequestToken?
    /// Changes with every request, so that a set knows whether it holds the newest.
    var version: UInt64
    /// By which identity the controller calls the peer of directed advertising, if that has private
    /// addresses.
    var targetIdentity: DeviceAddress?
  }

  private enum Step: Sendable, Equatable {
    case disable
    case parameters
    case randomAddress
    /// Data from this offset on.
    case data(offset: Int)
    case scanResponse
    case enable
  }

  /// One set of the controller: what it should do and how far it is.
  private struct AdvertisingSet: Sendable {
    var client: ClientID?
    /// The version that it is configured for, or is being configured for.
    var version: UInt64?
    /// The next step of configuring; nil when all are done.
    var next: Step?
    var isEnabled = false
    var isConnectable = false
    var retryAt: Instant?
  }

  private var advertisements: [Advertisement] = []
  private var sets: [AdvertisingSet] = []
  private var versions: UInt64 = 0
  private var inFlight: (set: Int, step: Step)?
  private var turnEnd: Instant?
  /// The programs that got a set, the last one at the end.
  private var turnOrder: [Requester] = []
  private var usesExtendedCommands = false
  private var canUseCoded = false
  /// Whether the controller must not advertise for the moment; all that it should advertise is
  /// configured anew after that.
  var isPaused = false {
    didSet { if oldValue, !isPaused { configureAgain() } }
  }
  private var address = DeviceAddress(bits: 0, kind: .public)
  private var extendedDataByteCountMax = Limits.legacyDataByteCountMax

  /// The identities of the peers that the controller resolves.
  var resolvedPeers: Set<DeviceAddress> = []
  /// Changes with the peers that directed advertising calls by private addresses.
  private(set) var targetVersion: UInt64 = 0

  /// The clients that advertise, or wait for it.
  var clients: [ClientID] { advertisements.map(\.client) }

  /// The identities of the peers that directed advertising calls by private addresses.
  var targetIdentities: Set<DeviceAddress> { Set(advertisements.compactMap(\.targetIdentity)) }

  // MARK: Clients

  /// Advertises for a client, or replaces what it advertises. With the identity of the target of directed
  /// advertising, if that has private addresses.
  mutating func start(
    _ client: ClientID, of requester: Requester? = nil, _ options: AdvertisingOptions,
    targetIdentity: DeviceAddress? = nil, _ token: RequestToken
  ) -> [Outcome] {
    var outcomes: [Outcome] = []
    if let error = refusal(of: options) {
      return [failure(client, token, error)]
    }
    versions += 1
    let new = Advertisement(
      client: client, requester: requester ?? .client(client), options: options, token: token,
      version: versions, targetIdentity: targetIdentity)
    targetVersion += 1
    if let index = advertisements.firstIndex(where: { $0.client == client }) {
      if let old = advertisements[index].token {
        outcomes.append(failure(client, old, .cancelled))
      }
      advertisements[index] = new
    } else {
      advertisements.append(new)
    }
    assignSets()
    return outcomes
  }

  /// Ends a client's advertisement.
  mutating func stop(_ client: ClientID) -> [Outcome] {
    guard let index = advertisements.firstIndex(where: { $0.client == client }) else { return [] }
    let old = advertisements.remove(at: index)
    targetVersion += 1
    turnOrder.removeAll { requester in !advertisements.contains { $0.requester == requester } }
    for set in sets.indices where sets[set].client == client { sets[set].client = nil }
    assignSets()
    return old.token.map { [failure(client, $0, .cancelled)] } ?? []
  }

  private func failure(
    _ client: ClientID, _ token: RequestToken, _ error: HostError
  ) -> Outcome {
    Outcome(request: PendingRequest(client: client, token: token), result: .failure(error))
  }

  private func refusal(of options: AdvertisingOptions) -> HostError? {
    let limit = Limits.legacyDataByteCountMax
    guard !sets.isEmpty else { return nil }
    if options.target != nil,
      options.usesExtendedAdvertising || !options.isConnectable
        || !options.data.isEmpty || !options.scanResponse.isEmpty
    {
      return .invalidArgument("Directed advertising is connectable and carries no data.")
    }
    if options.usesCodedPHY, !options.usesExtendedAdvertising {
      return .invalidArgument("Only extended advertising is sent on LE Coded.")
    }
    if options.usesExtendedAdvertising {
      guard usesExtendedCommands else {
        return .unsupported("This controller has no extended advertising.")
      }
      guard !options.usesCodedPHY || canUseCoded else {
        return .unsupported("This controller has no LE Coded PHY.")
      }
      let count = options.data.count + options.scanResponse.count
      guard count <= extendedDataByteCountMax else {
        return .invalidArgument(
          "\(count) bytes of advertising data; the controller takes \(extendedDataByteCountMax).")
      }
    } else if options.data.count > limit || options.scanResponse.count > limit {
      return .invalidArgument(
        "Legacy advertising and scan response data have \(limit) bytes each; "
          + "\(options.data.count) and \(options.scanResponse.count) were given.")
    }
    return nil
  }

  // MARK: The controller

  /// Whether the controller doesn't advertise and was not told to.
  var isSilent: Bool { inFlight == nil && !sets.contains { $0.isEnabled } }

  /// Whether the command under way begins to advertise.
  var isBeginning: Bool { inFlight?.step == .enable }

  /// Whether it advertises so that others can connect.
  var isConnectable: Bool { sets.contains { $0.isEnabled && $0.isConnectable } }

  /// This host has another address on the air, while this is paused.
  mutating func ownAddressChanged(_ address: DeviceAddress) { self.address = address }

  private mutating func configureAgain() {
    for index in sets.indices {
      sets[index].version = nil
      sets[index].next = nil
    }
  }

  /// The controller is ready and advertises nothing. Requests that waited are checked against it.
  mutating func controllerStarted(_ abilities: ControllerAbilities) -> [Outcome] {
    controllerStopped()
    usesExtendedCommands = abilities.usesExtendedCommands
    canUseCoded = abilities.canUseCoded
    address = abilities.address
    extendedDataByteCountMax = abilities.advertisingDataByteCountMax
    let count =
      usesExtendedCommands ? min(max(1, abilities.advertisingSetCount), Limits.setsMax) : 1
    sets = Array(repeating: AdvertisingSet(), count: count)
    var outcomes: [Outcome] = []
    for advertisement in advertisements {
      guard let error = refusal(of: advertisement.options) else { continue }
      advertisements.removeAll { $0.client == advertisement.client }
      if let token = advertisement.token {
        outcomes.append(failure(advertisement.client, token, error))
      }
    }
    assignSets()
    return outcomes
  }

  /// The controller is gone. Advertisements that were on the air are taken up again when it comes
  /// back; the others fail.
  @discardableResult
  mutating func controllerStopped() -> [Outcome] {
    sets = []
    inFlight = nil
    turnEnd = nil
    let failed = advertisements.filter { $0.token != nil }
    advertisements.removeAll { $0.token != nil }
    return failed.compactMap { old in
      old.token.map { failure(old.client, $0, .radioNotReady) }
    }
  }

  /// Gives free sets to clients without one.
  private mutating func assignSets() {
    for index in sets.indices where sets[index].client == nil {
      guard let next = nextWaiting else { return }
      give(index, to: next)
    }
  }

  /// The advertisement whose turn it is of those without a set: of the program that waits longest, its first one.
  private var nextWaiting: Advertisement? {
    let holders = Set(sets.compactMap(\.client))
    guard holders.count < advertisements.count else { return nil }
    var ranks: [Requester: Int] = [:]
    for (rank, requester) in turnOrder.enumerated() { ranks[requester] = rank }
    return advertisements.filter { !holders.contains($0.client) }
      .min { ranks[$0.requester] ?? -1 < ranks[$1.requester] ?? -1 }
  }

  private mutating func give(_ set: Int, to advertisement: Advertisement) {
    sets[set].client = advertisement.client
    turnOrder.removeAll { $0 == advertisement.requester }
    turnOrder.append(advertisement.requester)
  }

  /// The set that is shared: the last one of the program that has the most.
  private var sharedSet: Int? {
    let requesters = sets.indices.map { advertisement(of: $0)?.requester }
    var counts: [Requester: Int] = [:]
    for case .some(let requester) in requesters { counts[requester, default: 0] += 1 }
    let countMax = counts.values.max()
    return requesters.lastIndex { $0.map { counts[$0] == countMax } ?? false }
  }

  /// Gives the shared set to the next in line.
  private mutating func takeTurns(now: Instant) {
    guard let next = nextWaiting, let shared = sharedSet else {
      turnEnd = nil
      return
    }
    guard let end = turnEnd else {
      turnEnd = now + Limits.turn
      return
    }
    guard end <= now else { return }
    turnEnd = now + Limits.turn
    // The client that had the set goes to the end of the queue.
    if let index = advertisements.firstIndex(where: { $0.client == sets[shared].client }) {
      advertisements.append(advertisements.remove(at: index))
    }
    give(shared, to: next)
  }

  /// The next command towards the wanted state, if it is time for one.
  mutating func nextCommand(now: Instant) -> HCIPacket? {
    guard inFlight == nil else { return nil }
    takeTurns(now: now)
    for index in sets.indices {
      if let retryAt = sets[index].retryAt, now < retryAt { continue }
      sets[index].retryAt = nil
      guard let step = nextStep(of: index) else { continue }
      inFlight = (index, step)
      return packet(for: step, set: index)
    }
    return nil
  }

  private mutating func nextStep(of index: Int) -> Step? {
    if isPaused { return sets[index].isEnabled ? .disable : nil }
    var wanted = advertisement(of: index)
    // In clear it would show whom this host knows.
    if let identity = wanted?.targetIdentity, !resolvedPeers.contains(identity) { wanted = nil }
    if sets[index].version != wanted?.version {
      if sets[index].isEnabled { return .disable }
      sets[index].version = wanted?.version
      sets[index].isConnectable = wanted?.options.isConnectable ?? false
      sets[index].next = wanted == nil ? nil : .parameters
    }
    return sets[index].next
  }

  private func advertisement(of index: Int) -> Advertisement? {
    guard let client = sets[index].client else { return nil }
    return advertisements.first { $0.client == client }
  }

  /// The controller answered the last command.
  mutating func commandCompleted(_ status: HCIStatus, now: Instant) -> [Outcome] {
    guard let (index, step) = inFlight else { return [] }
    inFlight = nil
    guard sets.indices.contains(index) else { return [] }
    guard status == .success else { return refused(status, step, index, now: now) }
    switch step {
    case .disable:
      sets[index].isEnabled = false
    case .enable:
      sets[index].isEnabled = true
      sets[index].next = nil
      return onAir(sets[index].version)
    case .parameters, .randomAddress, .data, .scanResponse:
      sets[index].next = following(step, index)
    }
    return []
  }

  private mutating func onAir(_ version: UInt64?) -> [Outcome] {
    guard let index = advertisements.firstIndex(where: { $0.version == version }),
      let token = advertisements[index].token
    else { return [] }
    advertisements[index].token = nil
    let request = PendingRequest(client: advertisements[index].client, token: token)
    return [Outcome(request: request, result: .success(.done))]
  }

  /// The first refusal ends a new advertisement with the error; one that was on the air before is
  /// tried again, because what stood in the way (a full controller) may pass.
  private mutating func refused(
    _ status: HCIStatus, _ step: Step, _ index: Int, now: Instant
  ) -> [Outcome] {
    if step == .disable {
      sets[index].isEnabled = false
      return []
    }
    let version = sets[index].version
    sets[index].version = nil
    sets[index].next = nil
    guard let position = advertisements.firstIndex(where: { $0.version == version }) else {
      return []
    }
    guard let token = advertisements[position].token else {
      sets[index].retryAt = now + Limits.retryDelay
      return []
    }
    let client = advertisements.remove(at: position).client
    sets[index].client = nil
    assignSets()
    return [failure(client, token, .controller(status))]
  }

  private func following(_ step: Step, _ index: Int) -> Step? {
    guard let options = advertisement(of: index)?.options else { return nil }
    switch step {
    case .disable: return nil
    case .parameters where usesExtendedCommands && address.kind == .random: return .randomAddress
    case .parameters, .randomAddress: return options.target == nil ? .data(offset: 0) : .enable
    case .data(let offset):
      let next = offset + Limits.fragmentByteCountMax
      if options.usesExtendedAdvertising {
        return next < options.data.count + options.scanResponse.count
          ? .data(offset: next) : .enable
      }
      return .scanResponse
    case .scanResponse: return .enable
    case .enable: return nil
    }
  }

  /// A central connected: the controller ended connectable advertising, which goes on at once for
  /// as long as the client wants it. `set` is nil where the controller has legacy commands.
  mutating func advertisingEnded(set: Int?) {
    if let set {
      guard sets.indices.contains(set) else { return }
      restart(set)
    } else if !usesExtendedCommands {
      for index in sets.indices where sets[index].isConnectable { restart(index) }
    }
  }

  private mutating func restart(_ index: Int) {
    guard sets[index].isEnabled else { return }
    sets[index].isEnabled = false
    if sets[index].next == nil { sets[index].next = .enable }
  }

  /// When it wants to be asked for the next command.
  var nextWake: Instant? {
    // Until the command under way is answered, time changes nothing.
    guard inFlight == nil else { return nil }
    var wake = turnEnd ?? .distantFuture
    for set in sets { wake = min(wake, set.retryAt ?? .distantFuture) }
    return wake == .distantFuture ? nil : wake
  }
}

// MARK: Commands

extension Advertiser {
  private func packet(for step: Step, set index: Int) -> HCIPacket {
    let options = advertisement(of: index)?.options ?? AdvertisingOptions()
    let set = UInt8(truncatingIfNeeded: index)
    switch step {
    case .disable: return enabling(false, set)
    case .enable: return enabling(true, set)
    case .parameters:
      return usesExtendedCommands
        ? extendedParameters(options, index) : legacyParameters(options, index)
    case .randomAddress: return LESetAdvertisingSetRandomAddress(set: set, address: address).packet
    case .data(let offset):
      if options.usesExtendedAdvertising { return fragment(of: options, from: offset, set) }
      return usesExtendedCommands
        ? LESetExtendedAdvertisingData(set: set, data: options.data).packet
        : LESetAdvertisingData(data: options.data).packet
    case .scanResponse:
      return usesExtendedCommands
        ? LESetExtendedScanResponseData(set: set, data: options.scanResponse).packet
        : LESetScanResponseData(data: options.scanResponse).packet
    }
  }

  private func enabling(_ isEnabled: Bool, _ set: UInt8) -> HCIPacket {
    usesExtendedCommands
      ? LESetExtendedAdvertisingEnable(isEnabled: isEnabled, sets: [.init(set: set)]).packet
      : LESetAdvertisingEnable(isEnabled: isEnabled).packet
  }

  /// Which of its addresses a set has. Towards a peer that the controller calls by a private address the
  /// controller makes this host's, too.
  private func ownAddressType(_ set: Int) -> OwnAddressType {
    let isResolved = advertisement(of: set)?.targetIdentity != nil
    return address.kind == .random
      ? isResolved ? .resolvableOrRandom : .random : isResolved ? .resolvableOrPublic : .public
  }

  /// The target of directed advertising.
  private func target(_ set: Int) -> DeviceAddress {
    let advertisement = advertisement(of: set)
    return advertisement?.targetIdentity ?? advertisement?.options.target
      ?? DeviceAddress(bits: 0, kind: .public)
  }

  /// The interval in units of 0.625 ms, within what legacy advertising allows (Core 5.4, Vol 4,
  /// Part E, §7.8.5).
  private func intervalUnits(_ options: AdvertisingOptions) -> UInt16 {
    UInt16(clamping: min(max(options.interval.nanoseconds / 625_000, 0x20), 0x4000))
  }

  private func legacyParameters(_ options: AdvertisingOptions, _ index: Int) -> HCIPacket {
    let type: AdvertisingType =
      options.target != nil
      ? .directedLowDutyCycle
      : options.isConnectable
        ? .connectable : options.scanResponse.isEmpty ? .nonConnectable : .scannable
    let interval = intervalUnits(options)
    return LESetAdvertisingParameters(
      intervalMinUnits625us: interval, intervalMaxUnits625us: interval, type: type,
      ownAddressType: ownAddressType(index), peer: target(index)
    ).packet
  }

  private func extendedParameters(_ options: AdvertisingOptions, _ index: Int) -> HCIPacket {
    let set = UInt8(truncatingIfNeeded: index)
    var properties: AdvertisingEventProperties = []
    if options.isConnectable { properties.insert(.connectable) }
    if !options.usesExtendedAdvertising {
      properties.insert(.legacy)
      if options.target != nil {
        properties.insert(.directed)
      } else if options.isConnectable || !options.scanResponse.isEmpty {
        properties.insert(.scannable)
      }
    }
    let interval = UInt32(intervalUnits(options))
    return LESetExtendedAdvertisingParameters(
      set: set, properties: properties, intervalMinUnits625us: interval,
      intervalMaxUnits625us: interval, ownAddressType: ownAddressType(index),
      peer: target(index), primaryPHY: options.usesCodedPHY ? .leCoded : .le1M,
      secondaryPHY: options.usesCodedPHY ? .leCoded : .le1M, setID: set
    ).packet
  }

  /// Extended advertising that can be connected to has no scan response, but room for both in one
  /// (Core 5.4, Vol 4, Part E, §7.8.53).
  private func fragment(
    of options: AdvertisingOptions, from offset: Int, _ set: UInt8
  ) -> HCIPacket {
    let all = options.data + options.scanResponse
    let end = min(all.count, offset + Limits.fragmentByteCountMax)
    let operation: AdvertisingDataOperation =
      switch (offset == 0, end == all.count) {
      case (true, true): .complete
      case (true, false): .first
      case (false, false): .intermediate
      case (false, true): .last
      }
    return LESetExtendedAdvertisingData(
      set: set, operation: operation, data: Array(all[min(offset, end)..<end])
    ).packet
  }
}
