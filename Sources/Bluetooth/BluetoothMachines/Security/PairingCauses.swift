import BluetoothInterface
import BluetoothWire

/// The programs of clients, and those that have given out-of-band data of a peer: the causes of pairings that no
/// link knows.
///
/// Programs don't hear of each other's pairings, and don't answer for each other. A client without a program
/// answers for those that no program with an agent causes, and hears of all of them.
struct PairingCauses: Sendable {
  private var programs: [ClientID: ProgramID] = [:]
  private var outOfBand: [DeviceAddress: ProgramID] = [:]

  /// Whether all clients hear of all pairings.
  var isEmpty: Bool { programs.isEmpty }

  /// The program of a client; nil for a client that hears of all pairings.
  func program(of client: ClientID) -> ProgramID? { programs[client] }

  /// The program that gave the out-of-band data of a peer.
  func programWithData(of peer: DeviceAddress) -> ProgramID? { outOfBand[peer] }

  mutating func clientOpened(_ client: ClientID, of program: ProgramID?) {
    programs[client] = program
  }

  /// Returns the client's program, if this was its last client.
  mutating func clientClosed(_ client: ClientID) -> ProgramID? {
    guard let program = programs.removeValue(forKey: client) else { return nil }
    guard !programs.values.contains(program) else { return nil }
    outOfBand = outOfBand.filter { $0.value != program }
    return program
  }

  /// A client hears of all pairings from now on.
  mutating func attendAll(_ client: ClientID) { programs[client] = nil }

  /// A client has set the out-of-band data of a peer, or removed it.
  mutating func setData(of peer: DeviceAddress, isThere: Bool, by client: ClientID) {
    outOfBand[peer] = isThere ? programs[client] : nil
  }

  /// A pairing with a peer has succeeded, which used up its out-of-band data.
  mutating func paired(with peer: DeviceAddress) { outOfBand[peer] = nil }
}

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
