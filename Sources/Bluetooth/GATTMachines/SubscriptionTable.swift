package import BluetoothInterface
import BluetoothWire

/// Which clients of this host subscribed to which characteristics of one peer. The peer has one
/// configuration descriptor for all of them: it is written when the first subscribes and when the
/// last unsubscribes.
package struct SubscriptionTable: Sendable {
  enum Limits {
    /// Characteristics of one link that a program is the first to subscribe to: more than any device has.
    static let subscriptionsMax = 1024
    /// Those of all programs, beyond which only programs with less than an equal share may have more.
    static let allSubscriptionsMax = 2_048
    /// Limit of a program's waiting requests of one subscription while the peer is silent. Further
    /// requests fail, so that an app that repeats them doesn't use up memory.
    static let requestsMax = 64
  }

  /// A client's request that waits for the configuration to be written.
  struct SubscriptionRequest: Sendable {
    let pending: PendingRequest
    let requester: Requester
    let isOn: Bool
  }

  /// All clients' interest in one characteristic.
  package struct Subscription: Sendable {
    package let target: SubscriptionTarget
    /// The program that was the first to subscribe.
    let owner: Requester
    /// The clients that get the values.
    package fileprivate(set) var clients: [ClientID] = []
    fileprivate(set) var requests: [SubscriptionRequest] = []
    /// The known value of the peer's configuration descriptor.
    package fileprivate(set) var isOn = false
    /// The value that is being written to it.
    fileprivate(set) var writing: Bool?

    fileprivate init(_ target: SubscriptionTarget, of owner: Requester) {
      (self.target, self.owner) = (target, owner)
    }

    var isBeingWritten: Bool { writing != nil }
  }

  /// The next action for a subscription.
  enum Step: Sendable {
    case none
    /// Write these bits to the characteristic's configuration descriptor, then call `configured`.
    case write(SubscriptionTarget, bits: UInt8)
    /// The descriptor has the value that the clients want: complete these requests.
    case complete([PendingRequest])
  }

  package private(set) var subscriptions: [Subscription] = []

  var count: Int { subscriptions.count }
  package var isEmpty: Bool { subscriptions.isEmpty }
  var valueHandles: [UInt16] { subscriptions.map(\.target.valueHandle) }

  private func index(_ valueHandle: UInt16) -> Int? {
    subscriptions.firstIndex { $0.target.valueHandle == valueHandle }
  }

  /// Whether clients other than these get values of the peer.
  package func isUsed(byOthersThan ids: [ClientID]) -> Bool {
    subscriptions.contains { $0.clients.contains { !ids.contains($0) } }
  }

  /// The clients that get the values of a characteristic; nil if nothing is known of it.
  func clients(of valueHandle: UInt16) -> [ClientID]? {
    for index in subscriptions.indices
    where subscriptions[index].target.valueHandle == valueHandle {
      return subscriptions[index].clients
    }
    return nil
  }

  /// The programs that wait for a configuration to be written, the first to ask first.
  func requesters(of valueHandle: UInt16) -> [Requester] {
    index(valueHandle).map { subscriptions[$0].requests.map(\.requester) } ?? []
  }

  // MARK: Requests

  /// A client subscribes or unsubscribes. Returns the result if the request has ended already; else
  /// call `nextStep`.
  mutating func request(
    _ isOn: Bool, _ target: SubscriptionTarget, _ request: PendingRequest,
    of requester: Requester
  ) -> Result<HostReply, HostError>? {
    let known = index(target.valueHandle)
    guard isOn || known != nil else { return .success(.done) }
    guard known != nil || hasRoom(for: requester) else {
      return .failure(.limitReached("subscriptions"))
    }
    if let known {
      let own = subscriptions[known].requests.count { $0.requester == requester }
      guard own < Limits.requestsMax else {
        return .failure(.limitReached("waiting subscriptions"))
      }
    }
    let index = known ?? subscriptions.count
    if known == nil { subscriptions.append(Subscription(target, of: requester)) }
    subscriptions[index].clients.removeAll { $0 == request.client }
    // From now on: the peer may send values before it answers the write.
    if isOn { subscriptions[index].clients.append(request.client) }
    subscriptions[index].requests.append(
      SubscriptionRequest(pending: request, requester: requester, isOn: isOn))
    return nil
  }

  private func hasRoom(for requester: Requester) -> Bool {
    let own = subscriptions.count { $0.owner == requester }
    guard own < Limits.subscriptionsMax else { return false }
    return count < Limits.allSubscriptionsMax
      || own < count / max(Set(subscriptions.map(\.owner)).count, 1)
  }

  /// What a subscription needs after a change.
  mutating func nextStep(_ valueHandle: UInt16) -> Step {
    guard let index = index(valueHandle), subscriptions[index].writing == nil else { return .none }
    let subscription = subscriptions[index]
    let isWanted = !subscription.clients.isEmpty
    guard subscription.isOn == isWanted else {
      subscriptions[index].writing = isWanted
      let bit: UInt8 = subscription.target.usesIndications ? 2 : 1
      return .write(subscription.target, bits: isWanted ? bit : 0)
    }
    subscriptions[index].requests = []
    if !isWanted { subscriptions.remove(at: index) }
    return .complete(subscription.requests.map(\.pending))
  }

  /// The peer answered the write of a configuration. Returns the requests that failed with it; call
  /// `nextStep` for the others.
  mutating func configured(
    _ valueHandle: UInt16, _ result: Result<Void, HostError>
  ) -> [PendingRequest] {
    guard let index = index(valueHandle), let written = subscriptions[index].writing.take() else {
      assertionFailure("the answer to a write of no subscription")
      return []
    }
    guard case .failure = result else {
      subscriptions[index].isOn = written
      return []
    }
    // What could not be written is on for no client; what could not be ended counts as ended.
    subscriptions[index].isOn = false
    let failed = subscriptions[index].requests.filter { $0.isOn == written }.map(\.pending)
    subscriptions[index].requests.removeAll { $0.isOn == written }
    if written {
      subscriptions[index].clients.removeAll { client in failed.contains { $0.client == client } }
    }
    return failed
  }

  // MARK: Ends

  /// A client no longer wants anything of a subscription. Returns its requests.
  mutating func removeClient(_ client: ClientID, from valueHandle: UInt16) -> [PendingRequest] {
    guard let index = index(valueHandle) else { return [] }
    let removed = subscriptions[index].requests.map(\.pending).filter { $0.client == client }
    subscriptions[index].requests.removeAll { $0.pending.client == client }
    subscriptions[index].clients.removeAll { $0 == client }
    return removed
  }

  /// The peer forgot its configurations in a range. One that is being written is left to the answer.
  mutating func remove(in range: HandleRange) {
    subscriptions.removeAll { $0.writing == nil && range.contains($0.target.valueHandle) }
  }

  /// The link is gone. Returns the requests that wait.
  mutating func removeAll() -> [PendingRequest] {
    let requests = subscriptions.flatMap { $0.requests.map(\.pending) }
    subscriptions = []
    return requests
  }

  /// Whether the table contradicts itself; a sentence for each contradiction.
  func violations() -> [String] {
    var found: [String] = []
    if subscriptions.isEmpty { return found }
    for subscription in subscriptions {
      if Set(subscription.clients).count != subscription.clients.count {
        found.append("a client is subscribed twice")
      }
      if subscription.writing == nil, !subscription.requests.isEmpty {
        found.append("a request waits for a configuration that is not being written")
      }
    }
    if Set(valueHandles).count != count { found.append("two subscriptions have one handle") }
    return found
  }
}
