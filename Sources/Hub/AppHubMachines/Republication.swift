import BluetoothInterface
import BluetoothWire
import Essentials

/// The services and PSMs of a manager from before the system was started again, until the host has published them.
///
/// They are requested in their order, as the handles of services follow from it: a bonded peer finds them where they
/// were. A service that includes another one waits for the handle of that one. What fails because of the radio is
/// requested again when that is on. What the host refuses while the radio is on is requested again after pauses, a few
/// times.
struct Republication: Sendable {
  private enum Item: Sendable {
    case service(SessionHoldings.Service)
    case listener(SessionHoldings.Listener)

    /// The first handle that a service had.
    var handle: UInt16? {
      if case .service(let service) = self { service.published.range.start } else { nil }
    }

    var isService: Bool { if case .service = self { true } else { false } }

    var includedServices: [UInt16] {
      if case .service(let service) = self { service.definition.includedServices } else { [] }
    }
  }

  private struct Entry: Sendable {
    let position: Int
    let item: Item
    /// How often it has failed while the radio was on.
    var failureCount = 0
  }

  /// What comes of an answer.
  struct Outcome: Sendable, Hashable {
    /// How many services and PSMs are given up.
    var givenUpCount = 0
    /// Whether some are requested later, for the first time.
    var isDelayed = false
  }

  /// Two minutes of attempts.
  static let failureCountMax = 8
  private static let retryPause = TimeSpan.seconds(1)
  /// A process waits this long for a host that doesn't answer. It has ten seconds to make its managers.
  private static let answerTime = TimeSpan.seconds(5)

  /// What the manager had. It is that until everything is published again or given up.
  private(set) var holdings: SessionHoldings
  private var waiting: [Entry]
  private var requested: [RequestToken: Entry] = [:]
  /// The first handles of services, by those that they had.
  private var handles: [UInt16: UInt16] = [:]
  private var awaitsRadio = false
  /// When to request again what was refused while the radio was on.
  private(set) var nextTry: Instant?
  private var hasReported = false
  /// When processes wait no longer for the host's answers.
  private(set) var overdueAt: Instant?
  private var isOverdue = false

  init(_ holdings: SessionHoldings) {
    self.holdings = holdings
    let items = holdings.services.map(Item.service) + holdings.listeners.map(Item.listener)
    waiting = items.enumerated().map { Entry(position: $0, item: $1) }
    _ = giveUpUnpublished()
  }

  /// Whether everything is published or given up.
  var isEnded: Bool { waiting.isEmpty && requested.isEmpty }
  /// Whether the host is about to answer.
  var isRequested: Bool { !requested.isEmpty && !isOverdue }

  /// The next requests.
  ///
  /// - Parameter token: The highest token of the session.
  mutating func takeRequests(after token: RequestToken, now: Instant) -> [HostRequest] {
    guard !awaitsRadio, nextTry == nil else { return [] }
    let isNext = waiting.prefix { entry in
      entry.item.includedServices.allSatisfy { handles[$0] != nil }
    }
    waiting.removeFirst(isNext.count)
    if !isNext.isEmpty, !isOverdue { overdueAt = overdueAt ?? now + Self.answerTime }
    var last = token.rawValue
    return isNext.map { entry in
      last += 1
      let token = RequestToken(rawValue: last)
      requested[token] = entry
      return request(entry.item, token)
    }
  }

  private func request(_ item: Item, _ token: RequestToken) -> HostRequest {
    switch item {
    case .service(let service):
      var definition = service.definition
      definition.includedServices = definition.includedServices.compactMap { handles[$0] }
      return .addService(definition, token)
    case .listener(let listener):
      return .publishChannel(
        psm: listener.psm, requiresEncryption: listener.requiresEncryption, token)
    }
  }

  /// Gives up all services and the advertising, and goes on with PSMs.
  mutating func withdraw() {
    holdings.services = []
    holdings.advertising = nil
    waiting.removeAll { $0.item.isService }
    requested = requested.filter { !$0.value.item.isService }
    endWaitIfAnswered()
  }

  private mutating func endWaitIfAnswered() {
    guard requested.isEmpty else { return }
    overdueAt = nil
    isOverdue = false
  }

  /// The host has answered a request.
  ///
  /// - Parameter radioIsOn: Whether the radio is on, as far as the session has heard.
  mutating func completed(
    _ token: RequestToken, _ result: Result<HostReply, HostError>, radioIsOn: Bool, now: Instant
  ) -> Outcome {
    guard var entry = requested.removeValue(forKey: token) else { return Outcome() }
    endWaitIfAnswered()
    switch result {
    case .success(.published(let published)):
      if let handle = entry.item.handle { handles[handle] = published.range.start }
    case .success: break
    case .failure(.limitReached), .failure(.invalidArgument), .failure(.unsupported):
      return Outcome(givenUpCount: 1 + giveUpUnpublished())
    case .failure(let error):
      if radioIsOn {
        entry.failureCount += 1
        guard entry.failureCount < Self.failureCountMax else {
          return Outcome(givenUpCount: 1 + giveUpUnpublished())
        }
        let pause = Self.retryPause * (1 << Int64(entry.failureCount - 1))
        nextTry = max(nextTry ?? now, now + pause)
      } else {
        awaitsRadio = true
      }
      waiting.append(entry)
      waiting.sort { $0.position < $1.position }
      // The radio's state tells why it is not ready.
      guard error != .radioNotReady, !hasReported else { return Outcome() }
      hasReported = true
      return Outcome(isDelayed: true)
    }
    return Outcome(givenUpCount: giveUpUnpublished())
  }

  /// The radio is on.
  mutating func radioIsOn() {
    awaitsRadio = false
    nextTry = nil
  }

  /// The time of `nextTry` may have come. Returns whether requests can be taken.
  mutating func tryAgain(now: Instant) -> Bool {
    guard let nextTry, nextTry <= now else { return false }
    self.nextTry = nil
    return true
  }

  /// The time of `overdueAt` may have come. Returns whether processes wait no longer, and whether to report it.
  mutating func becomeOverdue(now: Instant) -> (isOverdue: Bool, isReported: Bool) {
    guard let overdueAt, overdueAt <= now else { return (false, false) }
    self.overdueAt = nil
    isOverdue = true
    defer { hasReported = true }
    return (true, !hasReported)
  }

  /// Gives up services that include one that is not published, and will not be.
  private mutating func giveUpUnpublished() -> Int {
    let count = waiting.count
    while true {
      var positions: [UInt16: Int] = [:]
      for entry in waiting + requested.values {
        if let handle = entry.item.handle { positions[handle] = entry.position }
      }
      let before = waiting.count
      waiting.removeAll { entry in
        entry.item.includedServices.contains {
          handles[$0] == nil && positions[$0, default: .max] >= entry.position
        }
      }
      guard waiting.count < before else { return count - waiting.count }
    }
  }

  func violations() -> [String] {
    var found: [String] = []
    if isEnded { found.append("services are published, and still to be published again") }
    if requested.isEmpty, !waiting.isEmpty, !awaitsRadio, nextTry == nil {
      found.append("services wait for nothing")
    }
    return found
  }
}
