public import DNSWire
public import Essentials

/// Multicast DNS on all interfaces of a host: what it publishes and what its clients look for.
///
/// Whoever owns it hands it what happens, performs its actions, and calls ``wake(now:into:)`` at
/// ``nextWake``.
public struct DiscoveryMachine: Sendable {
  /// What happens.
  public enum Event: Sendable {
    /// An interface takes part, or its addresses or versions changed.
    case interfaceChanged(NetworkInterface)
    /// An interface no longer takes part.
    case interfaceGone(InterfaceIndex)
    /// The network behind an interface may be another than before, or the host slept.
    case interfaceRestarted(InterfaceIndex)
    /// A message arrived, from whomever, the host's own included.
    case received(ReceivedMessage)
    /// Publish a service.
    case publish(RegistrationID, ServiceRegistration)
    /// Publish a record.
    case publishRecord(RegistrationID, RecordRegistration)
    /// Change the keys and values of a published service.
    case updateText(RegistrationID, TXTRecord)
    /// Change the data of a published record.
    case updateRecord(RegistrationID, DNSRecordData, ttlSeconds: UInt32)
    /// Give a published service one more record of its name, or change that, or take it away (nil).
    /// The number tells a service's further records apart.
    case setFurtherRecord(RegistrationID, UInt32, DNSRecordData?, ttlSeconds: UInt32)
    /// Withdraw what was published.
    case unpublish(RegistrationID)
    /// Another process of this host publishes it from now on; of the host's own registration, its
    /// name and addresses. Nothing is said about it any more, and no goodbye.
    case handOver(RegistrationID)
    /// A client wants to know something, on one interface or on all.
    case ask(
      QueryID, QueryRequest, on: InterfaceIndex?, options: QueryOptions = QueryOptions())
    /// The client has no more use for it.
    case stopAsking(QueryID)
    /// A client could not use a record: it is asked for, and forgotten if it isn't heard in ten
    /// seconds (RFC 6762, §10.4).
    case doubt(DNSRecord, on: InterfaceIndex?)
    /// Say goodbye to everybody.
    case shutDown
  }

  /// What is to be done.
  public enum Action: Sendable, Hashable {
    /// Send a packet.
    case send(OutgoingPacket)
    /// What is published goes under this name, on all its links.
    case published(RegistrationID, DNSName)
    /// Somebody else has the name, and no other was wanted: it is not published.
    case refused(RegistrationID, DNSName)
    /// Tell a client, with the interface where it was heard; `moreComing` on all but the last of
    /// what it is told at once.
    case deliver(QueryID, QueryEvent, on: InterfaceIndex?, moreComing: Bool)
  }

  private var responder: Responder
  private var querier: Querier
  private var responderActions: [Responder.Action] = []
  private var querierActions: [Querier.Action] = []
  /// Whether anybody has wanted something on this machine only.
  private var hasLocalLink = false
  /// What was sent to this machine only and has not come back.
  private var returning: [OutgoingPacket] = []

  /// A machine without interfaces, for a host of this name.
  ///
  /// - Parameters:
  ///   - hostLabel: the host's name without `.local`, 1 to 63 bytes of UTF-8.
  ///   - chance: decides on pauses only.
  public init(hostLabel: [UInt8], chance: SeededGenerator) throws(DNSWireError) {
    var chance = chance
    responder = try Responder(hostLabel: hostLabel, chance: chance.fork())
    querier = Querier(chance: chance.fork())
  }

  /// The host's name, whether it was probed for already or not.
  public var hostName: DNSName { responder.hostName }

  /// When ``wake(now:into:)`` is to be called; nil if there is nothing to wait for.
  public var nextWake: Instant? {
    .earliest(responder.nextWake, querier.nextWake)
  }

  /// Takes what happened and appends what is to be done.
  public mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    if !hasLocalLink, event.interface == .localOnly { openLocalLink(now) }
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
    case .publish(let id, let service): respond(.registerService(id, service), now)
    case .publishRecord(let id, let record): respond(.registerRecord(id, record), now)
    case .updateText(let id, let text): respond(.updateText(id, text), now)
    case .updateRecord(let id, let data, let ttlSeconds):
      respond(.updateRecord(id, data, ttlSeconds: ttlSeconds), now)
    case .setFurtherRecord(let id, let number, let data, let ttlSeconds):
      respond(.setFurtherRecord(id, number, data, ttlSeconds: ttlSeconds), now)
    case .unpublish(let id): respond(.unregister(id), now)
    case .handOver(let id): respond(.handOver(id), now)
    case .ask(let id, let request, let index, let options):
      ask(.start(id, request, on: index, options: options), now)
    case .stopAsking(let id): ask(.stop(id), now)
    case .doubt(let record, let index): ask(.doubt(record, on: index), now)
    case .shutDown: respond(.shutDown, now)
    }
    passAll(now, into: &actions)
  }

  /// Does what is due by now.
  public mutating func wake(now: Instant, into actions: inout [Action]) {
    responder.wake(now: now, into: &responderActions)
    querier.wake(now: now, into: &querierActions)
    passAll(now, into: &actions)
  }

  private mutating func respond(_ event: Responder.Event, _ now: Instant) {
    responder.handle(event, now: now, into: &responderActions)
  }

  private mutating func ask(_ event: Querier.Event, _ now: Instant) {
    querier.handle(event, now: now, into: &querierActions)
  }

  // MARK: This machine only

  /// Takes part on a link without an interface, on which it hears nobody but itself.
  private mutating func openLocalLink(_ now: Instant) {
    hasLocalLink = true
    let interface = NetworkInterface(
      .localOnly, versions: [.v4],
      addresses: [
        .init(Self.localAddress, prefixBitCount: 8),
        .init(.v6(IPv6Address(high: 0, low: 1)), prefixBitCount: 128),
      ])
    respond(.interfaceChanged(interface), now)
    ask(.interfaceChanged(interface), now)
  }

  private static let localAddress = IPAddress.v4(IPv4Address(127, 0, 0, 1))

  /// Gives out what is to be done; what was sent to this machine only comes back at once.
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

  private mutating func send(_ packet: OutgoingPacket, into actions: inout [Action]) {
    if packet.link.interface == .localOnly {
      returning.append(packet)
    } else {
      actions.append(.send(packet))
    }
  }

  /// Gives out what both want done, the responder's first: what others are told comes before what
  /// they are asked.
  private mutating func pass(into actions: inout [Action]) {
    for action in responderActions {
      switch action {
      case .send(let packet): send(packet, into: &actions)
      case .registered(let id, let name): actions.append(.published(id, name))
      case .refused(let id, let name): actions.append(.refused(id, name))
      }
    }
    responderActions.removeAll(keepingCapacity: true)
    for action in querierActions {
      switch action {
      case .send(let packet): send(packet, into: &actions)
      case .deliver(let id, let event, let index, let moreComing):
        actions.append(.deliver(id, event, on: index, moreComing: moreComing))
      }
    }
    querierActions.removeAll(keepingCapacity: true)
  }
}

extension DiscoveryMachine.Event {
  /// The interface on which a client wants something; nil for all.
  fileprivate var interface: InterfaceIndex? {
    switch self {
    case .publish(_, let service): service.interface
    case .publishRecord(_, let record): record.interface
    case .ask(_, _, let interface, _): interface
    default: nil
    }
  }
}
