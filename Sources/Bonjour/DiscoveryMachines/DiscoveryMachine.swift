package import DNSWire
package import Essentials

/// The Multicast DNS state machine of a host: the registrations and queries of its clients, on all
/// interfaces.
///
/// The host passes events to it, performs its actions, and calls ``wake(now:into:)`` at
/// ``nextWake``.
package struct DiscoveryMachine: Machine, Sendable {
  /// Input of the machine.
  package enum Event: DiscoveryRequestInput, Sendable {
    /// An interface is available, or its addresses or versions changed.
    case interfaceChanged(NetworkInterface)
    /// An interface is no longer available.
    case interfaceGone(InterfaceIndex)
    /// An interface may be connected to another network, or the host slept.
    case interfaceRestarted(InterfaceIndex)
    /// A message was received. Includes the host's own messages.
    case received(ReceivedMessage)
    /// A request of a client.
    case request(DiscoveryRequest)
    /// Another process of this host takes over the registrations: a hub. Removes them without goodbye
    /// records. The registration of the host includes its name and addresses.
    case handOver([RegistrationID])
    /// Send goodbye records for all registrations.
    case shutDown
  }

  /// Output of the machine: work for the driver.
  package typealias Action = DiscoveryAction

  var responder: Responder
  var querier: Querier
  /// What both give out, the responder's first: announcements and answers are sent before questions.
  /// Memory that is used again.
  var responderActions: [DiscoveryAction] = []
  var querierActions: [DiscoveryAction] = []
  /// Whether there was a registration or a query that is local to this machine.
  var hasLocalLink = false
  /// Packets sent on the local-only interface, to be handled as received.
  var returning: [OutgoingPacket] = []

  /// Creates a machine without interfaces.
  ///
  /// - Parameters:
  ///   - hostLabel: The host name without `.local`, 1 to 63 bytes of UTF-8.
  ///   - rng: Used for random delays only.
  package init(hostLabel: [UInt8], rng: SeededGenerator) throws(DNSWireError) {
    var rng = rng
    responder = try Responder(hostLabel: hostLabel, rng: rng.fork())
    querier = Querier(rng: rng.fork())
  }

  /// The host name, even if it has not been probed yet.
  package var hostName: DNSName { responder.hostName }

  /// The time to call ``wake(now:into:)``; nil if no timer is running.
  package var nextWake: Instant? { .earliest(responder.nextWake, querier.nextWake) }

  /// Processes an event and appends the resulting actions.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    switch event {
    case .interfaceChanged(let interface):
      respond(.interfaceChanged(interface), now)
      ask(.interfaceChanged(interface), now)
    case .interfaceGone(let index):
      respond(.interfaceGone(index), now)
      ask(.interfaceGone(index), now)
    case .interfaceRestarted(let index):
      respond(.interfaceRestarted(index), now)
      ask(.interfaceRestarted(index), now)
    case .received(let message):
      respond(.received(message), now)
      ask(.received(message), now)
    case .request(let request): perform(request, now)
    case .handOver(let ids): respond(.handOver(ids), now)
    case .shutDown: respond(.shutDown, now)
    }
    passAll(now, into: &actions)
    if case .received = event { return }
    assertInvariants()
  }

  /// Performs the work that is due at `now`.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    responder.wake(now: now, into: &responderActions)
    querier.wake(now: now, into: &querierActions)
    passAll(now, into: &actions)
    assertInvariants()
  }

  private mutating func perform(_ request: DiscoveryRequest, _ now: Instant) {
    if !hasLocalLink, request.interface == .localOnly { openLocalLink(now) }
    switch request {
    case .startQuery(let id, let query, let index, let options):
      // Nothing else may have registered the name that its own clients look for.
      if index != .localOnly, query.isAbout(hostName) { respond(.registerHost, now) }
      ask(.start(id, query, on: index, options: options), now)
    case .stopQuery(let id): ask(.stop(id), now)
    case .reconfirm(let record, let index): ask(.reconfirm(record, on: index), now)
    case .registerService, .registerRecord, .updateText, .updateRecord, .setRecord, .unregister:
      respond(.request(request), now)
    }
  }

  private mutating func respond(_ event: Responder.Event, _ now: Instant) {
    responder.handle(event, now: now, into: &responderActions)
  }

  private mutating func ask(_ event: Querier.Event, _ now: Instant) {
    querier.handle(event, now: now, into: &querierActions)
  }

  // MARK: This machine only

  /// Adds a link without an interface, on which the machine receives its own packets only.
  private mutating func openLocalLink(_ now: Instant) {
    hasLocalLink = true
    let interface = NetworkInterface(
      .localOnly, versions: [.v4],
      addresses: [
        .init(Self.localAddress, prefixBitCount: 8),
        .init(.v6(Inet6Address(high: 0, low: 1)), prefixBitCount: 128),
      ])
    respond(.interfaceChanged(interface), now)
    ask(.interfaceChanged(interface), now)
  }

  private static let localAddress = InetAddress.v4(Inet4Address(127, 0, 0, 1))

  /// Appends the actions; packets sent on the local-only interface are handled as received at once.
  private mutating func passAll(_ now: Instant, into actions: inout [Action]) {
    pass(into: &actions)
    while !returning.isEmpty {
      let packets = returning
      returning = []
      for packet in packets {
        guard
          let message = ReceivedMessage(
            decoding: packet.bytes[...], on: packet.link,
            from: Endpoint(Self.localAddress, port: multicastDNSPort),
            isMulticast: packet.destination == .multicast)
        else { continue }
        respond(.received(message), now)
        ask(.received(message), now)
      }
      pass(into: &actions)
    }
  }

  /// Appends the actions of both machines, the responder's first. Packets sent on the local-only
  /// interface are kept in `returning` instead.
  private mutating func pass(into actions: inout [Action]) {
    let start = actions.count
    actions.append(contentsOf: responderActions)
    responderActions.removeAll(keepingCapacity: true)
    actions.append(contentsOf: querierActions)
    querierActions.removeAll(keepingCapacity: true)
    guard hasLocalLink else { return }
    for case .send(let packet) in actions[start...] where packet.link.interface == .localOnly {
      returning.append(packet)
    }
    actions[start...].removeAll { action in
      if case .send(let packet) = action { packet.link.interface == .localOnly } else { false }
    }
  }
}

/// Output of the machines of Multicast DNS: work for their driver. The responder sends packets and
/// reports registrations; the querier sends packets and delivers results.
package enum DiscoveryAction: Sendable, Hashable {
  /// Send a packet.
  case send(OutgoingPacket)
  /// The registration has this name on all its links. Reported again only if the name changes.
  case registered(RegistrationID, DNSName)
  /// The registration has ended, because another host has the name and the conflict policy is to
  /// refuse.
  case refused(RegistrationID, DNSName)
  /// Deliver an event of a query, with the interface on which it was received; `moreComing` on
  /// all but the last event that is delivered now.
  case deliver(QueryID, QueryEvent, on: InterfaceIndex?, moreComing: Bool)
}
