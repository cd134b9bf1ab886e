import BluetoothWire
import Essentials

// Values that clients subscribed to: one configuration descriptor for all of them.

extension HostMachine {
  private func subscriptionIndex(_ valueHandle: UInt16, _ link: Int) -> Int? {
    links[link].subscriptions.firstIndex { $0.target.valueHandle == valueHandle }
  }

  /// A client wants the values of a characteristic, or doesn't any more.
  mutating func subscribe(
    _ isOn: Bool, _ peer: DeviceAddress, _ target: SubscriptionTarget, _ waiter: Waiter,
    now: Instant, into actions: inout [Action]
  ) {
    guard let link = heldLink(waiter.client, peer), !links[link].isClosing else {
      return complete(waiter, .failure(absence), into: &actions)
    }
    let known = subscriptionIndex(target.valueHandle, link)
    guard isOn || known != nil else {
      return complete(waiter, .success(.done), into: &actions)
    }
    guard known != nil || links[link].subscriptions.count < Limits.subscriptionsMax else {
      return complete(waiter, .failure(.limitReached("subscriptions")), into: &actions)
    }
    if let known, links[link].subscriptions[known].wishes.count >= Limits.subscriptionWishesMax {
      return complete(waiter, .failure(.limitReached("waiting subscriptions")), into: &actions)
    }
    let index = known ?? links[link].subscriptions.count
    if known == nil { links[link].subscriptions.append(Subscription(target)) }
    links[link].subscriptions[index].clients.removeAll { $0 == waiter.client }
    // From now on: the peer may send values before it answers the write.
    if isOn { links[link].subscriptions[index].clients.append(waiter.client) }
    links[link].subscriptions[index].wishes.append(.init(waiter: waiter, isOn: isOn))
    configure(target.valueHandle, link: link, now: now, into: &actions)
  }

  /// Writes the configuration if it isn't what the clients want, else tells them that it is.
  private mutating func configure(
    _ valueHandle: UInt16, link: Int, now: Instant, into actions: inout [Action]
  ) {
    guard let index = subscriptionIndex(valueHandle, link),
      links[link].subscriptions[index].writing == nil
    else { return }
    let subscription = links[link].subscriptions[index]
    let isWanted = !subscription.clients.isEmpty
    guard subscription.isOn != isWanted else {
      links[link].subscriptions[index].wishes = []
      if !isWanted { links[link].subscriptions.remove(at: index) }
      for wish in subscription.wishes {
        complete(wish.waiter, .success(.done), into: &actions)
      }
      return
    }
    links[link].subscriptions[index].writing = isWanted
    let bit: UInt8 = subscription.target.usesIndications ? 2 : 1
    start(
      .write(subscription.target.configurationHandle, [isWanted ? bit : 0, 0]),
      for: .subscription(valueHandle), link: link, now: now, into: &actions)
  }

  /// The peer answered the write of a configuration.
  mutating func configured(
    _ valueHandle: UInt16, _ result: Result<HostReply, HostError>, link: Int, now: Instant,
    into actions: inout [Action]
  ) {
    guard let index = subscriptionIndex(valueHandle, link),
      let written = links[link].subscriptions[index].writing
    else { return }
    links[link].subscriptions[index].writing = nil
    switch result {
    case .success:
      links[link].subscriptions[index].isOn = written
    case .failure(let error):
      // Nobody gets what could not be written; and what could not be ended counts as ended.
      links[link].subscriptions[index].isOn = false
      let failed = links[link].subscriptions[index].wishes.filter { $0.isOn == written }
      links[link].subscriptions[index].wishes.removeAll { $0.isOn == written }
      if written {
        let losers = failed.map(\.waiter.client)
        links[link].subscriptions[index].clients.removeAll { losers.contains($0) }
      }
      for wish in failed { complete(wish.waiter, .failure(error), into: &actions) }
    }
    configure(valueHandle, link: link, now: now, into: &actions)
  }

  /// A client lets go of a link.
  mutating func endSubscriptions(
    of link: Int, by client: ClientID, linkIsEnding: Bool, now: Instant,
    into actions: inout [Action]
  ) {
    let handle = linkHandles[link]
    for valueHandle in links[link].subscriptions.map(\.target.valueHandle) {
      guard let link = linkIndex(handle: handle),
        let index = subscriptionIndex(valueHandle, link)
      else { continue }
      let wishes = links[link].subscriptions[index].wishes
      links[link].subscriptions[index].wishes.removeAll { $0.waiter.client == client }
      links[link].subscriptions[index].clients.removeAll { $0 == client }
      for wish in wishes where wish.waiter.client == client {
        complete(wish.waiter, .failure(.cancelled), into: &actions)
      }
      if !linkIsEnding { configure(valueHandle, link: link, now: now, into: &actions) }
    }
  }
}
