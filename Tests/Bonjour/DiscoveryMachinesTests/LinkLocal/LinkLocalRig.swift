import ARPWire
import DiscoveryMachines
import Essentials
import Testing

/// One machine with a tester that records every packet sent and feeds it packets.
struct LinkLocalRig {
  var machine: LinkLocalMachine
  var now = Instant.zero
  var actions: [(at: Instant, action: LinkLocalMachine.Action)] = []

  init(seed: UInt64 = 1, remembered: Inet4Address? = nil, hardware: UInt64 = 0x0200_0000_0001) {
    machine = LinkLocalMachine(
      hardware: MACAddress(rawValue: hardware), remembered: remembered,
      rng: SeededGenerator(seed: seed))
  }

  /// A rig whose link is up.
  static func started(seed: UInt64 = 1, remembered: Inet4Address? = nil) -> LinkLocalRig {
    var rig = LinkLocalRig(seed: seed, remembered: remembered)
    rig.handle(.linkUp)
    return rig
  }

  /// A rig that has an address and has announced it.
  static func claimed(seed: UInt64 = 1) -> LinkLocalRig {
    var rig = started(seed: seed)
    rig.pass(.seconds(15))
    rig.actions = []
    return rig
  }

  mutating func handle(_ event: LinkLocalMachine.Event) {
    var new: [LinkLocalMachine.Action] = []
    machine.handle(event, now: now, into: &new)
    actions += new.map { (now, $0) }
  }

  mutating func receive(_ packet: ARPPacket) { handle(.received(packet)) }

  /// Lets time pass, waking the machine whenever it asked for it.
  mutating func pass(_ span: TimeSpan) {
    let end = now + span
    while let next = machine.nextWake, next <= end {
      precondition(next >= now, "a machine asked to be woken in the past")
      now = max(now, next)
      var new: [LinkLocalMachine.Action] = []
      machine.wake(now: now, into: &new)
      actions += new.map { (now, $0) }
    }
    now = end
  }

  /// Lets time pass until this many packets were sent in all.
  mutating func pass(untilSent count: Int) {
    while sent.count < count, let next = machine.nextWake { pass(next - now) }
  }

  var sent: [(at: Instant, packet: ARPPacket)] {
    actions.compactMap {
      if case .broadcast(let packet) = $0.action { ($0.at, packet) } else { nil }
    }
  }

  /// The address that is asked for or held.
  var address: Inet4Address? {
    switch machine.status {
    case .probing(let address), .claimed(let address): address
    case .linkDown, .routableAddress, .pausing, .shutDown: nil
    }
  }

  var isClaimed: Bool { if case .claimed = machine.status { true } else { false } }
}

extension MACAddress {
  static let other = MACAddress(rawValue: 0x0200_0000_00FF)
}

/// Hosts on one link that loses packets.
struct SimulatedLink {
  var hosts: [LinkLocalMachine]
  var held: [Inet4Address?]
  var now = Instant.zero
  var lossProbability = 0.2
  var rng: SeededGenerator
  private var inFlight: [(at: Instant, to: Int, packet: ARPPacket)] = []
  private var nextTalk: [Instant]

  init(count: Int, remembered: [Inet4Address?], seed: UInt64) {
    var rng = SeededGenerator(seed: seed)
    hosts = (0..<count).map {
      LinkLocalMachine(
        hardware: MACAddress(rawValue: 0x0200_0000_0000 + UInt64($0)),
        remembered: remembered[$0], rng: rng.fork())
    }
    held = Array(repeating: nil, count: count)
    nextTalk = (0..<count).map { _ in Instant(nanoseconds: Int64(rng.unit() * 5e9)) }
    self.rng = rng
    for index in hosts.indices { feed(.linkUp, to: index) }
  }

  mutating func feed(_ event: LinkLocalMachine.Event, to index: Int) {
    var actions: [LinkLocalMachine.Action] = []
    hosts[index].handle(event, now: now, into: &actions)
    perform(actions, of: index)
  }

  mutating func run(until end: Instant) {
    while now < end {
      let next = [
        hosts.compactMap(\.nextWake).min(), inFlight.map(\.at).min(), nextTalk.min(), end,
      ].compactMap { $0 }.min()
      now = max(now, next ?? end)
      deliver()
      for index in hosts.indices {
        if let wake = hosts[index].nextWake, wake <= now {
          var actions: [LinkLocalMachine.Action] = []
          hosts[index].wake(now: now, into: &actions)
          perform(actions, of: index)
        }
        if nextTalk[index] <= now { talk(index) }
      }
    }
    for host in hosts { #expect(host.violations() == []) }
  }

  private mutating func deliver() {
    let due = inFlight.filter { $0.at <= now }
    inFlight.removeAll { $0.at <= now }
    for delivery in due { feed(.received(delivery.packet), to: delivery.to) }
  }

  /// A host that has an address looks for another, as hosts that talk do.
  private mutating func talk(_ index: Int) {
    nextTalk[index] = now + .milliseconds(5000 + Int64(rng.unit() * 10_000))
    guard let address = held[index] else { return }
    broadcast(
      ARPPacket(
        .request, senderHardware: hosts[index].hardware, senderAddress: address,
        targetAddress: Inet4Address(169, 254, 0, 1)), from: index)
  }

  private mutating func perform(_ actions: [LinkLocalMachine.Action], of index: Int) {
    for action in actions {
      switch action {
      case .broadcast(let packet): broadcast(packet, from: index)
      case .claim(let address):
        precondition(held[index] == nil, "two addresses at once")
        held[index] = address
      case .release(let address, _):
        precondition(held[index] == address, "released what was not held")
        held[index] = nil
      case .remember, .resetConnections, .conflicted, .defended: break
      }
    }
  }

  private mutating func broadcast(_ packet: ARPPacket, from index: Int) {
    let arrival = now + .microseconds(50 + Int64(rng.unit() * 2000))
    for other in hosts.indices where other != index && rng.unit() >= lossProbability {
      inFlight.append((arrival, other, packet))
    }
  }
}
