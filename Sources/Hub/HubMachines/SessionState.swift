import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire

/// What a session of a program holds and waits for.
struct SessionState: Sendable {
  /// Requests of one token that are not completed.
  private struct Awaited: Sendable {
    var count = 0
    var byteCount = 0
    /// How many of them publish a service, or listen on a PSM.
    var serviceCount = 0
    var listenerCount = 0
    /// The attributes of these services.
    var attributeCount = 0
    /// How many of them are commands of the controller.
    var commandCount = 0
  }

  /// What a published service takes.
  private struct Service: Sendable {
    var byteCount: Int
    var attributeCount: Int
  }

  /// Requests that publish, in the order in which they are sent, which is that of their completions.
  ///
  /// A program may take back what it publishes before it hears of it.
  private struct Publishing: Sendable {
    private var sentCount: UInt64 = 0
    private var completedCount: UInt64 = 0
    /// All requests up to this number are taken back.
    private var withdrawnCount: UInt64 = 0
    /// Those up to this number are taken back if they publish this PSM.
    private var withdrawnCounts: [UInt16: UInt64] = [:]

    mutating func sent() { sentCount += 1 }
    mutating func withdrawAll() { withdrawnCount = sentCount }

    mutating func withdraw(_ psm: UInt16) {
      if sentCount > completedCount { withdrawnCounts[psm] = sentCount }
    }

    /// The next request is completed, with a PSM if it has one. Returns whether it was taken back.
    mutating func completed(psm: UInt16? = nil) -> Bool {
      completedCount += 1
      defer { if completedCount == sentCount { withdrawnCounts = [:] } }
      return completedCount <= max(withdrawnCount, psm.flatMap { withdrawnCounts[$0] } ?? 0)
    }
  }

  /// What counts for the limits of the connection and of its user.
  struct Load: Hashable, Sendable {
    var requestCount = 0
    var requestByteCount = 0
    var linkCount = 0
    var serviceCount = 0
    var serviceByteCount = 0
    var attributeCount = 0
    var listenerCount = 0
    var scanCount = 0
    var advertisementCount = 0
    var commandCount = 0

    static func += (a: inout Load, b: Load) {
      a.requestCount += b.requestCount
      a.requestByteCount += b.requestByteCount
      a.linkCount += b.linkCount
      a.serviceCount += b.serviceCount
      a.serviceByteCount += b.serviceByteCount
      a.attributeCount += b.attributeCount
      a.listenerCount += b.listenerCount
      a.scanCount += b.scanCount
      a.advertisementCount += b.advertisementCount
      a.commandCount += b.commandCount
    }

    static func - (a: Load, b: Load) -> Load {
      Load(
        requestCount: a.requestCount - b.requestCount,
        requestByteCount: a.requestByteCount - b.requestByteCount,
        linkCount: a.linkCount - b.linkCount, serviceCount: a.serviceCount - b.serviceCount,
        serviceByteCount: a.serviceByteCount - b.serviceByteCount,
        attributeCount: a.attributeCount - b.attributeCount,
        listenerCount: a.listenerCount - b.listenerCount,
        scanCount: a.scanCount - b.scanCount,
        advertisementCount: a.advertisementCount - b.advertisementCount,
        commandCount: a.commandCount - b.commandCount)
    }
  }

  /// The host's session, which has the number of the first connection of a session that was kept.
  let hostKey: HubSessionKey
  /// Whether the program acknowledges events. For one that doesn't, they are handled when the system has
  /// taken their bytes.
  private(set) var acknowledgesEvents: Bool
  /// The name of the manager that the session is for.
  let manager: String
  /// Whether this is the first one of the open sessions with its identity.
  let holdsName: Bool
  /// How long it is kept when its program has ended.
  private(set) var keptFor: TimeSpan
  /// The notes for a new process of the program; nil for a session that isn't kept.
  private(set) var notes: SessionNotes?
  /// The highest token of the processes that have ended.
  private var earlierTokenMax: UInt64 = 0
  /// How many requests of theirs are not completed.
  private(set) var earlierRequestCount = 0
  var ledger = EventLedger()
  private var awaited: [RequestToken: Awaited] = [:]
  private var links: Set<DeviceAddress> = []
  /// Published services, by their first handle.
  private var services: [UInt16: Service] = [:]
  private var listeners: Set<UInt16> = []
  private var publishedServices = Publishing()
  private var publishedChannels = Publishing()
  private var isScanning = false
  private var isAdvertising = false
  /// The request that started the advertisement, until it is completed.
  private var advertisingToken: RequestToken?
  /// Whether there was an advertisement before that request. It goes on if the host refuses the new one.
  private var hadAdvertisement = false
  private(set) var load = Load()
  /// How many values, writes and requests of peers the program missed because it was too slow.
  private(set) var droppedCount = 0

  init(
    _ opening: SessionOpening, _ hostKey: HubSessionKey, holdsName: Bool, keptFor: TimeSpan
  ) {
    self.hostKey = hostKey
    acknowledgesEvents = opening.acknowledgesEvents
    manager = opening.manager
    self.holdsName = holdsName
    self.keptFor = keptFor
    notes = keptFor > .zero ? SessionNotes() : nil
  }

  // MARK: Keeping

  /// The program has ended. Returns the requests that end what only it could go on with.
  mutating func detach() -> [HostRequest] {
    earlierTokenMax = max(earlierTokenMax, notes?.lastToken ?? 0)
    earlierRequestCount = load.requestCount
    ledger = EventLedger()
    return notes?.takeEnds() ?? []
  }

  /// A new process of the program has opened the session.
  mutating func attach(_ opening: SessionOpening, keptFor: TimeSpan) {
    acknowledgesEvents = opening.acknowledgesEvents
    self.keptFor = keptFor
    if keptFor == .zero { notes = nil }
  }

  /// Whether the event completes a request of an ended process.
  func isOfEarlierProcess(_ event: HostEvent) -> Bool {
    guard earlierRequestCount > 0, case .completed(let token, _) = event else { return false }
    return token.rawValue <= earlierTokenMax
  }

  /// An event that no program gets, or gets later. Returns the request that takes back what it has changed.
  mutating func receivedUntold(_ event: HostEvent) -> HostRequest? {
    if isOfEarlierProcess(event) { earlierRequestCount -= 1 }
    return received(event)
  }

  /// The hub takes back, for a new process, what an earlier one has requested and this one wasn't told.
  mutating func takenBack(_ request: HostRequest) {
    let earlier = notes
    sent(request, byteCount: 0)
    if case .startAdvertising(let options, _) = request {
      notes = earlier
      notes?.advertisingGoesOn(with: options)
    }
    // It has the token of the earlier process.
    if request.token != nil { earlierRequestCount += 1 }
  }

  /// A request is sent for a session without a process. The next one isn't told of the answer.
  mutating func sentUntold(_ request: HostRequest) {
    sent(request, byteCount: 0)
    guard request.token != nil else { return }
    earlierTokenMax = max(earlierTokenMax, notes?.lastToken ?? 0)
    earlierRequestCount += 1
  }

  /// The program hears of an event that was counted when it came.
  mutating func told(_ event: HostEvent) { notes?.delivered(event) }

  // MARK: Requests

  /// The error of a request that is beyond the limits of the connection, whose load is given.
  func error(
    of request: HostRequest, byteCount: Int, _ all: Load, _ limits: HubLimits
  ) -> HostError? {
    if request.token != nil,
      all.requestCount >= limits.requestCountMax
        || all.requestByteCount + byteCount > limits.requestByteCountMax
    {
      return .limitReached("requests of a program that are not completed")
    }
    switch request.cost {
    case .none: return nil
    case .command:
      guard all.commandCount >= limits.commandCountMax else { return nil }
      return .limitReached("changes of links of a program that are not completed")
    case .link(let address):
      guard !links.contains(address), all.linkCount >= limits.linkCountMax else { return nil }
      return .limitReached("links that a program wants")
    case .service(let attributeCount):
      guard
        all.serviceCount >= limits.serviceCountMax
          || all.serviceByteCount + byteCount > limits.serviceByteCountMax
          || all.attributeCount + attributeCount > limits.attributeCountMax
      else { return nil }
      return .limitReached("services of a program")
    case .listener:
      guard all.listenerCount >= limits.listenerCountMax else { return nil }
      return .limitReached("PSMs of a program")
    case .scan:
      guard !isScanning, all.scanCount >= limits.scanCountMax else { return nil }
      return .limitReached("scans of a program")
    case .advertisement:
      guard !isAdvertising, all.advertisementCount >= limits.advertisementCountMax else {
        return nil
      }
      return .limitReached("advertisements of a program")
    }
  }

  /// Whether the program has requested a link with a peer, and not given it up.
  func wants(_ peer: DeviceAddress) -> Bool { links.contains(peer) }

  /// What a request takes of the host's pools.
  func share(of request: HostRequest) -> Load {
    var share = Load()
    switch request.cost {
    case .none, .scan, .advertisement: break
    case .command: share.commandCount = 1
    case .link(let address): share.linkCount = links.contains(address) ? 0 : 1
    case .service(let attributeCount): share.attributeCount = attributeCount
    case .listener: share.listenerCount = 1
    }
    return share
  }

  /// A request is sent to the host.
  mutating func sent(_ request: HostRequest, byteCount: Int) {
    if let token = request.token { expect(token, request.cost, byteCount) }
    notes?.sent(request)
    switch request {
    case .connect(let address, _):
      if links.insert(address).inserted { load.linkCount += 1 }
    case .disconnect(let address): removeLink(address)
    case .removeService(let handle): removeService(handle)
    case .removeAllServices:
      for handle in Array(services.keys) { removeService(handle) }
      publishedServices.withdrawAll()
    case .unpublishChannel(let psm):
      removeListener(psm)
      publishedChannels.withdraw(psm)
    case .startScan: setScanning(true)
    case .stopScan: setScanning(false)
    case .startAdvertising(_, let token):
      hadAdvertisement = isAdvertising
      setAdvertising(true)
      advertisingToken = token
    case .stopAdvertising: setAdvertising(false)
    default: break
    }
  }

  private mutating func setScanning(_ isScanning: Bool) {
    guard isScanning != self.isScanning else { return }
    self.isScanning = isScanning
    load.scanCount += isScanning ? 1 : -1
  }

  private mutating func setAdvertising(_ isAdvertising: Bool) {
    advertisingToken = nil
    guard isAdvertising != self.isAdvertising else { return }
    self.isAdvertising = isAdvertising
    load.advertisementCount += isAdvertising ? 1 : -1
  }

  /// An advertisement that did not begin counts no longer, unless its token has another request under way.
  private mutating func endAdvertising(
    _ token: RequestToken, _ result: Result<HostReply, HostError>, isLast: Bool
  ) {
    guard token == advertisingToken else { return }
    switch result {
    case .success: advertisingToken = nil
    case .failure where isLast:
      if hadAdvertisement { advertisingToken = nil } else { setAdvertising(false) }
    case .failure: break
    }
  }

  private mutating func expect(_ token: RequestToken, _ cost: HostRequest.Cost, _ byteCount: Int) {
    var entry = awaited[token] ?? Awaited()
    entry.count += 1
    entry.byteCount += byteCount
    load.requestCount += 1
    load.requestByteCount += byteCount
    switch cost {
    case .service(let attributeCount):
      publishedServices.sent()
      entry.serviceCount += 1
      entry.attributeCount += attributeCount
      load.attributeCount += attributeCount
      load.serviceCount += 1
      load.serviceByteCount += byteCount
    case .listener:
      publishedChannels.sent()
      entry.listenerCount += 1
      load.listenerCount += 1
    case .command:
      entry.commandCount += 1
      load.commandCount += 1
    case .link, .scan, .advertisement, .none: break
    }
    awaited[token] = entry
  }

  // MARK: Events

  /// The host has delivered events.
  mutating func received(_ events: [HostEvent]) {
    for event in events {
      _ = received(event)
      notes?.delivered(event)
    }
    ledger.delivered(events)
  }

  private mutating func received(_ event: HostEvent) -> HostRequest? {
    switch event {
    case .completed(let token, let result): return completed(token, result)
    case .connectionFailed(let address, _), .disconnected(let address, _, reconnecting: false):
      removeLink(address)
    case .valuesDropped(_, handle: _, let count), .writesDropped(_, handle: _, let count),
      .requestsExpired(_, handle: _, let count):
      droppedCount += count
    default: break
    }
    return nil
  }

  /// Requests that share a token are taken to have the same size. Those that publish come first.
  private mutating func completed(
    _ token: RequestToken, _ result: Result<HostReply, HostError>
  ) -> HostRequest? {
    guard var entry = awaited[token] else { return nil }
    let byteCount = entry.byteCount / entry.count
    entry.count -= 1
    entry.byteCount -= byteCount
    load.requestCount -= 1
    load.requestByteCount -= byteCount
    var isWithdrawn = false
    if entry.serviceCount > 0 {
      let attributeCount = entry.attributeCount / entry.serviceCount
      entry.attributeCount -= attributeCount
      load.attributeCount -= attributeCount
      entry.serviceCount -= 1
      load.serviceCount -= 1
      load.serviceByteCount -= byteCount
      isWithdrawn = publishedServices.completed()
    } else if entry.listenerCount > 0 {
      entry.listenerCount -= 1
      load.listenerCount -= 1
      isWithdrawn = publishedChannels.completed(psm: result.psm)
    } else if entry.commandCount > 0 {
      entry.commandCount -= 1
      load.commandCount -= 1
    }
    awaited[token] = entry.count > 0 ? entry : nil
    endAdvertising(token, result, isLast: entry.count == 0)
    let change = notes?.completed(token, result, isWithdrawn: isWithdrawn)
    // The host has removed it already.
    guard !isWithdrawn else { return change }
    switch result {
    case .success(.published(let service)):
      addService(service.range, byteCount: byteCount)
    case .success(.psm(let psm)):
      if listeners.insert(psm).inserted { load.listenerCount += 1 }
    default: break
    }
    return change
  }

  private mutating func removeLink(_ address: DeviceAddress) {
    if links.remove(address) != nil { load.linkCount -= 1 }
  }

  private mutating func addService(_ range: HandleRange, byteCount: Int) {
    removeService(range.start)
    let attributeCount = max(0, Int(range.end) - Int(range.start)) + 1
    services[range.start] = Service(byteCount: byteCount, attributeCount: attributeCount)
    load.serviceCount += 1
    load.serviceByteCount += byteCount
    load.attributeCount += attributeCount
  }

  private mutating func removeService(_ handle: UInt16) {
    guard let service = services.removeValue(forKey: handle) else { return }
    load.serviceCount -= 1
    load.serviceByteCount -= service.byteCount
    load.attributeCount -= service.attributeCount
  }

  private mutating func removeListener(_ psm: UInt16) {
    if listeners.remove(psm) != nil { load.listenerCount -= 1 }
  }

  // MARK: Invariants

  func violations() -> [String] {
    var found = ledger.violations()
    if earlierRequestCount > load.requestCount {
      found.append("an ended process has more requests than there are")
    }
    if keptFor > .zero, !holdsName { found.append("a session without its name is to be kept") }
    if (keptFor > .zero) != (notes != nil) { found.append("the notes of a session are wrong") }
    let sums = Load(
      requestCount: awaited.values.reduce(0) { $0 + $1.count },
      requestByteCount: awaited.values.reduce(0) { $0 + $1.byteCount }, linkCount: links.count,
      serviceCount: services.count + awaited.values.reduce(0) { $0 + $1.serviceCount },
      serviceByteCount: load.serviceByteCount,
      attributeCount: services.values.reduce(0) { $0 + $1.attributeCount }
        + awaited.values.reduce(0) { $0 + $1.attributeCount },
      listenerCount: listeners.count + awaited.values.reduce(0) { $0 + $1.listenerCount },
      scanCount: isScanning ? 1 : 0, advertisementCount: isAdvertising ? 1 : 0,
      commandCount: awaited.values.reduce(0) { $0 + $1.commandCount })
    if sums != load { found.append("the load of a session is \(load), and should be \(sums)") }
    let serviceByteCount = services.values.reduce(0) { $0 + $1.byteCount }
    if serviceByteCount > load.serviceByteCount {
      found.append("services of a session have more bytes than its load")
    }
    return found
  }
}

extension Result<HostReply, HostError> {
  /// The PSM of the reply, if it has one.
  fileprivate var psm: UInt16? { if case .success(.psm(let psm)) = self { psm } else { nil } }
}
