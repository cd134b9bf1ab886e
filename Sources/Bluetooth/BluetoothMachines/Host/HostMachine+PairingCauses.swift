import BluetoothInterface
import BluetoothWire
import PairingMachines

extension HostMachine {
  /// The programs that cause the pairings of a link: those that have asked for the link or for its protection.
  /// Where there are none, a peer that has connected may pair for the only program that offers it something.
  func causes(of link: Link) -> Set<ProgramID> {
    guard !pairingCauses.isEmpty else { return [] }
    var causes = link.askingPrograms
    for client in linkRequests.clients(of: link.peer) {
      if let program = pairingCauses.program(of: client) { causes.insert(program) }
    }
    if let program = pairingCauses.programWithData(of: link.peer) { causes.insert(program) }
    guard causes.isEmpty, link.info.role == .peripheral else { return causes }
    let offering = clients.filter { offersSomething($0, over: link.handle) }
    causes = Set(offering.compactMap { pairingCauses.program(of: $0) })
    return causes.count == 1 ? causes : []
  }

  /// A client needs the protection of a link, or something that it publishes does.
  mutating func needsProtection(_ client: ClientID, of peer: DeviceAddress) {
    guard let program = pairingCauses.program(of: client), let index = links.index(peer: peer)
    else { return }
    links.entries[index].askingPrograms.insert(program)
  }

  /// Delivers an event of a pairing to the clients that may hear of it.
  func notifyOfPairing(
    _ event: HostEvent, causedBy causes: Set<ProgramID>, into actions: inout [Action]
  ) {
    for client in clients where !hides(event, from: client) {
      if let program = pairingCauses.program(of: client), !causes.contains(program) { continue }
      actions.append(.deliver(client, event))
    }
  }
}
