package import BluetoothInterface
package import BluetoothWire

/// The programs of clients, and those that have given out-of-band data of a peer: the causes of pairings that no
/// link knows.
///
/// Programs don't hear of each other's pairings, and don't answer for each other. A client without a program
/// answers for those that no program with an agent causes, and hears of all of them.
package struct PairingCauses: Sendable {
  private var programs: [ClientID: ProgramID] = [:]
  private var outOfBand: [DeviceAddress: ProgramID] = [:]

  /// Creates empty tables.
  package init() {}

  /// Whether all clients hear of all pairings.
  package var isEmpty: Bool { programs.isEmpty }

  /// The program of a client; nil for a client that hears of all pairings.
  package func program(of client: ClientID) -> ProgramID? { programs[client] }

  /// The program that gave the out-of-band data of a peer.
  package func programWithData(of peer: DeviceAddress) -> ProgramID? { outOfBand[peer] }

  package mutating func clientOpened(_ client: ClientID, of program: ProgramID?) {
    programs[client] = program
  }

  /// Returns the client's program, if this was its last client.
  package mutating func clientClosed(_ client: ClientID) -> ProgramID? {
    guard let program = programs.removeValue(forKey: client) else { return nil }
    guard !programs.values.contains(program) else { return nil }
    outOfBand = outOfBand.filter { $0.value != program }
    return program
  }

  /// A client hears of all pairings from now on.
  package mutating func attendAll(_ client: ClientID) { programs[client] = nil }

  /// A client has set the out-of-band data of a peer, or removed it.
  package mutating func setData(of peer: DeviceAddress, isThere: Bool, by client: ClientID) {
    outOfBand[peer] = isThere ? programs[client] : nil
  }

  /// A pairing with a peer has succeeded, which used up its out-of-band data.
  package mutating func paired(with peer: DeviceAddress) { outOfBand[peer] = nil }
}
