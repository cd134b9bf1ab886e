import DNSWire
import DiscoveryMachines
import Essentials

extension FuzzTarget {
  /// A responder. The first byte of each packet selects the event.
  static let responder = FuzzTarget(name: "Responder") { bytes in
    var victim = ResponderVictim()
    for packet in packets(bytes) {
      guard let choice = packet.first else { continue }
      victim.act(choice, packet.dropFirst())
    }
    victim.finish()
  }
}

/// A host with two links whose neighbours and owner are controlled by the input.
private struct ResponderVictim {
  static let links = [
    MulticastLink(InterfaceIndex(rawValue: 2), .v4),
    MulticastLink(InterfaceIndex(rawValue: 3), .v6),
  ]
  var responder: Responder?
  var now = Instant.zero
  var registered: [RegistrationID] = []
  var lastID: UInt64 = 0

  init() {
    responder = try? Responder(hostLabel: Array("host".utf8), rng: SeededGenerator(seed: 1))
    for link in Self.links { connect(link.interface, 1) }
  }

  mutating func act(_ choice: UInt8, _ bytes: ArraySlice<UInt8>) {
    let link = Self.links[Int(choice >> 4) & 1]
    let isLegacy = choice & 0x40 != 0
    switch choice & 0x0F {
    case 0...5: receive(bytes, on: link, port: isLegacy ? 40_000 : 5353, choice & 0x80 == 0)
    case 6: register(bytes)
    case 7: replay(bytes, on: link)
    case 8: pass(.milliseconds(Int64(bytes.first ?? 1) * 8))
    case 9:
      if let id = registered.popLast() { handle(.unregister(id)) }
    case 10: connect(link.interface, choice >> 4)
    case 11: handle(.interfaceRestarted(link.interface))
    case 12: handle(.interfaceGone(link.interface))
    case 13:
      guard let id = registered.last, let text = try? TXTRecord(decoding: bytes) else { return }
      handle(.updateText(id, text))
    case 14: handle(.setHostLabel(Array(bytes)))
    default:
      guard let id = registered.last else { return }
      let data = DNSRecordData.opaque(DNSType(rawValue: 99), Array(bytes))
      handle(.setRecord(id, UInt32(choice >> 4), data, ttlSeconds: 60))
    }
  }

  /// Everything that was begun comes to an end: a responder left alone has nothing to wait for.
  mutating func finish() {
    pass(.seconds(600))
    precondition(responder?.nextWake == nil, "something never ends")
    handle(.shutDown)
    precondition(responder?.nextWake == nil)
  }

  private mutating func connect(_ index: InterfaceIndex, _ last: UInt8) {
    let addresses: [NetworkInterface.Address] = [
      .init(.v4(Inet4Address(10, 0, 0, last)), prefixBitCount: 24),
      .init(.v6(Inet6Address(high: 0xFE80 << 48, low: UInt64(last))), prefixBitCount: 64),
    ]
    let interface = NetworkInterface(
      index, versions: index == Self.links[0].interface ? [.v4] : [.v6],
      addresses: Array(addresses.prefix(Int(last) % 3)))
    handle(.interfaceChanged(interface))
  }

  private mutating func register(_ bytes: ArraySlice<UInt8>) {
    guard registered.count < 20 else { return }
    lastID += 1
    let id = RegistrationID(rawValue: lastID)
    let text = String(decoding: bytes.prefix(20), as: UTF8.self)
    if let type = try? ServiceType(text: "_http._tcp"),
      let name = try? ServiceName(instance: text, type: type),
      let service = try? ServiceRegistration(
        name, port: 80, conflictPolicy: bytes.count & 1 == 0 ? .rename : .refuse)
    {
      handle(.registerService(id, service))
    } else {
      let record = DNSRecord(
        name: "x.local.", ttlSeconds: 120, data: .opaque(DNSType(rawValue: 9), []))
      handle(.registerRecord(id, RecordRegistration(record, .unique)))
    }
    if responder?.name(of: id) != nil { registered.append(id) }
  }

  /// An arbitrary message about a name of this host.
  private mutating func replay(_ bytes: ArraySlice<UInt8>, on link: MulticastLink) {
    guard let id = registered.last, let name = responder?.name(of: id) else { return }
    let record = DNSRecord(
      name: name, flushesCache: true, ttlSeconds: UInt32(bytes.first ?? 0),
      data: .srv(DNSService(port: UInt16(bytes.count), target: "rival.local.")))
    let isResponse = bytes.count & 1 == 0
    let message = DNSMessage(
      header: isResponse ? .response : .query,
      questions: isResponse ? [] : [DNSQuestion(name: name, type: .any)],
      answers: isResponse ? [record] : [], authorities: isResponse ? [] : [record])
    receive(message, on: link, port: 5353, true)
  }

  private mutating func receive(
    _ bytes: ArraySlice<UInt8>, on link: MulticastLink, port: UInt16, _ isMulticast: Bool
  ) {
    guard let message = try? DNSMessage(decoding: bytes) else { return }
    receive(message, on: link, port: port, isMulticast)
  }

  private mutating func receive(
    _ message: DNSMessage, on link: MulticastLink, port: UInt16, _ isMulticast: Bool
  ) {
    let address: InetAddress =
      link.version == .v4
      ? .v4(Inet4Address(10, 0, 0, 200)) : .v6(Inet6Address(high: 0xFE80 << 48, low: 200))
    handle(
      .received(
        ReceivedMessage(
          message, on: link, from: Endpoint(address, port: port), isMulticast: isMulticast)))
  }

  private mutating func handle(_ event: Responder.Event) {
    var actions: [Responder.Action] = []
    responder?.handle(event, now: now, into: &actions)
    check(actions)
  }

  private mutating func pass(_ span: TimeSpan) {
    let end = now + span
    while let next = responder?.nextWake, next <= end {
      precondition(next >= now, "woken in the past")
      now = next
      var actions: [Responder.Action] = []
      responder?.wake(now: now, into: &actions)
      check(actions)
      precondition(responder?.nextWake.map { $0 > now } ?? true, "a wake-up that does nothing")
    }
    now = end
  }

  private mutating func check(_ actions: [Responder.Action]) {
    for action in actions {
      switch action {
      case .send(let packet):
        precondition(packet.bytes.count <= 8952)
        precondition((try? DNSMessage(decoding: packet.bytes[...])) != nil, "unreadable")
      case .registered(let id, let name):
        precondition(responder?.name(of: id) == name || !registered.contains(id))
      case .refused(let id, _): registered.removeAll { $0 == id }
      case .deliver: preconditionFailure("a responder finds nothing")
      }
    }
  }
}
