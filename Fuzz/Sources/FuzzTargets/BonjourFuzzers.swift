import ARPWire
import DiscoveryMachines
import Essentials

extension FuzzTarget {
  /// What arrives from the local network.
  static let bonjour: [FuzzTarget] = [
    FuzzTarget(name: "ARP") { bytes in
      guard let packet = try? ARPPacket(decoding: bytes[...]) else { return }
      precondition(packet.bytes[...] == bytes.prefix(ARPPacket.byteCount), "\(packet) changed")
    },
    FuzzTarget(name: "LinkLocal") { bytes in
      var victim = LinkLocalVictim()
      var reader = ByteReader(bytes)
      while let choice = try? reader.uint8() { victim.act(choice, &reader) }
    },
    responder,
  ]
}

/// An interface on a link, with other hosts and link states controlled by the input.
private struct LinkLocalVictim {
  var machine = LinkLocalMachine(
    hardware: MACAddress(rawValue: 1), rng: SeededGenerator(seed: 1))
  var now = Instant.zero
  var held: Inet4Address?
  var probesInARow = 0

  mutating func act(_ choice: UInt8, _ reader: inout ByteReader) {
    switch choice & 7 {
    case 0: handle(.linkUp)
    case 1: handle(.linkDown)
    case 2: handle(.routableAddress(choice & 8 != 0))
    case 3:
      guard let bytes = try? reader.slice(ARPPacket.byteCount),
        let packet = try? ARPPacket(decoding: bytes)
      else { return }
      handle(.received(packet))
    case 4, 5: handle(.received(dispute(choice >> 3)))
    case 6: pass(.milliseconds(Int64(choice) * 100))
    default: machine.defendsAddress = choice & 8 != 0
    }
  }

  /// A packet about the very address that the machine wants.
  private func dispute(_ kind: UInt8) -> ARPPacket {
    let wanted: Inet4Address =
      switch machine.status {
      case .probing(let address), .claimed(let address): address
      case .linkDown, .routableAddress, .pausing, .shutDown: Inet4Address(169, 254, 1, 1)
      }
    let other = MACAddress(rawValue: UInt64(kind))
    return kind & 1 == 0 ? .probe(for: wanted, from: other) : .announcement(of: wanted, from: other)
  }

  private mutating func handle(_ event: LinkLocalMachine.Event) {
    var actions: [LinkLocalMachine.Action] = []
    machine.handle(event, now: now, into: &actions)
    check(actions)
  }

  private mutating func pass(_ span: TimeSpan) {
    let end = now + span
    while let next = machine.nextWake, next <= end {
      precondition(next >= now, "woken in the past")
      now = next
      var actions: [LinkLocalMachine.Action] = []
      machine.wake(now: now, into: &actions)
      check(actions)
      precondition(machine.nextWake.map { $0 > now } ?? true, "a wake-up that does nothing")
    }
    now = end
  }

  private mutating func check(_ actions: [LinkLocalMachine.Action]) {
    for action in actions {
      switch action {
      case .broadcast(let packet):
        precondition(packet.senderHardware == machine.hardware)
        precondition(packet.senderAddress == (packet.isProbe ? .any : held), "used unclaimed")
        probesInARow = packet.isProbe ? probesInARow + 1 : 0
      case .claim(let address):
        precondition(held == nil && probesInARow >= 3 && LinkLocalAddresses.range.contains(address))
        held = address
        probesInARow = 0
      case .release(let address, _):
        precondition(held == address)
        held = nil
      case .remember(let address), .resetConnections(let address), .defended(let address, _):
        precondition(held == address)
      case .conflicted: precondition(held == nil)
      }
    }
  }
}
