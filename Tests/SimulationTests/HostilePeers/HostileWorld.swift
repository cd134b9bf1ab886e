import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines

/// The client of a host between a hostile peer and an honest one.
class HostileWorld: HostClient {
  let peer: HostilePeer
  private var tornWrites: [String] = []

  /// The honest peripheral.
  static let honest = Probe.address(0)

  init(radio: RadioModel = .ideal, peerIsPeripheral: Bool = true) throws {
    let world = World(seed: 1, radio: radio)
    peer = HostilePeer(in: world, isPeripheral: peerIsPeripheral, at: Position(x: 1))
    super.init(1, in: world, at: .origin)
    Probe.add(0, to: world, at: Position(x: 2)) { [weak self] in self?.tornWrites.append($0) }
    world.run(for: .milliseconds(200))
    try #require(host.machine.state == .poweredOn)
  }

  // MARK: The hostile peer

  func gatt(_ operation: GATTOperation) -> Result<HostReply, HostError>? {
    gatt(operation, on: peer.address)
  }

  func meet(_ options: ConnectOptions = ConnectOptions()) throws {
    try meet(peer.address, options)
  }

  func part() throws { try part(peer.address) }

  func endOfLink(within limit: TimeSpan = .seconds(60)) -> HostError? {
    endOfLink(peer.address, within: limit)
  }

  /// The link to the hostile peer.
  var link: Link? { host.machine.links.first { $0.peer == peer.address } }

  // MARK: The honest peer

  /// Discovers and reads everything of the honest peer, over an open link.
  func useHonest() throws {
    let found = try characteristics(in: Probe.service, of: Self.honest)
    for uuid in Probe.constants {
      let handle = try #require(found[uuid]).valueHandle
      let reply = try #require(gatt(.read(handle), on: Self.honest)).get()
      #expect(reply == .value(Pattern.value(of: uuid)))
    }
  }

  /// What must hold after an attack: an honest peer can be connected to, discovered and read; and
  /// once all links have ended nothing is left, and no event was wrong.
  func expectUnharmed() throws {
    try part()
    peer.disconnect()
    try meet(Self.honest)
    try useHonest()
    try part(Self.honest)
    world.run(for: .seconds(3))
    #expect(host.checkQuiet() == [])
    #expect(host.machine.links.orphans.isEmpty)
    #expect(tornWrites.isEmpty)
  }
}

/// Bytes from their hexadecimal form, which a test wrote.
func bytes(_ hex: String) -> [UInt8] {
  guard let bytes = Hexadecimal.bytes(hex) else { preconditionFailure("\(hex) is not hexadecimal") }
  return bytes
}
