package import BluetoothInterface
package import BluetoothWire

/// The out-of-band data of this host and of peers that it may be about to pair with.
package struct OutOfBandTable: Sendable {
  package enum Limits {
    package static let peersMax = 64
    /// Computations of public keys that are awaited.
    static let computationsMax = 16
  }

  private var own: OwnOutOfBandData?
  private var peers: [DeviceAddress: OutOfBandData] = [:]
  private var computations: [UInt64: (request: PendingRequest, data: OwnOutOfBandData)] = [:]

  func known(of peer: DeviceAddress) -> KnownOutOfBandData {
    KnownOutOfBandData(own: own, peers: peers[peer])
  }

  func hasData(of peer: DeviceAddress) -> Bool { peers[peer] != nil }

  /// Stores or removes the data received from a peer. False if the table is full.
  package mutating func set(_ data: OutOfBandData?, of peer: DeviceAddress) -> Bool {
    guard data == nil || peers[peer] != nil || peers.count < Limits.peersMax else { return false }
    peers[peer] = data
    return true
  }

  /// A pairing with the peer has succeeded. Its data, and that of this host if it was used, is
  /// spent.
  mutating func paired(with peer: DeviceAddress, using data: OwnOutOfBandData?) {
    peers[peer] = nil
    if let data, data.random == own?.random { own = nil }
  }

  // MARK: Own data

  /// The public key of this data is being computed. False if too many computations are pending.
  package mutating func computes(
    _ data: OwnOutOfBandData, as computation: UInt64, for request: PendingRequest
  ) -> Bool {
    guard computations.count < Limits.computationsMax else { return false }
    computations[computation] = (request, data)
    return true
  }

  /// Handles the result of a computation, if it is one of these. Returns the request and the data,
  /// which is nil if the private key was invalid.
  package mutating func computed(
    _ computation: UInt64, _ result: KeyAgreementResult
  ) -> (request: PendingRequest, data: OutOfBandData?)? {
    guard let (request, data) = computations.removeValue(forKey: computation) else { return nil }
    guard case .publicKey(let key) = result else { return (request, nil) }
    own = data
    return (request, data.data(key))
  }
}

extension OutOfBandTable {
  /// How the table contradicts itself; a sentence for each contradiction.
  package func violations() -> [String] {
    var found: [String] = []
    if peers.count > Limits.peersMax { found.append("the data of too many peers is kept") }
    if computations.count > Limits.computationsMax { found.append("too many keys are computed") }
    return found
  }
}
