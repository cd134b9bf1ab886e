package import BluetoothInterface
package import BluetoothWire
package import Essentials

// What bonded clients have configured, from link to link (Core 5.4, Vol 3, Part G, §2.5.2, §3.3.3.3).

extension GATTServer {
  /// The configuration that a peer has written; nil if it has written none.
  package mutating func clientConfiguration(of peer: DeviceAddress) -> ClientConfiguration? {
    guard let index = sessionIndex(peer) else { return nil }
    let session = sessions[index]
    var descriptors: [UInt16: UInt16] = [:]
    for (handle, bits) in session.configurations.prefix(ClientConfiguration.descriptorCountMax) {
      descriptors[handle] = bits
    }
    guard session.clientFeatures != 0 || !descriptors.isEmpty else { return nil }
    return ClientConfiguration(
      databaseHash: database.ownershipHash(), isAware: session.awareness == .aware,
      features: session.clientFeatures, descriptors: descriptors)
  }

  /// Restores a bonded peer's configuration of earlier links. Call it after the link is encrypted,
  /// so that no other device gets the subscribed values. Descriptors that were written on this link
  /// are kept.
  package mutating func restore(
    _ configuration: ClientConfiguration, of peer: DeviceAddress, now: Instant,
    into outputs: inout [Output]
  ) {
    guard let index = sessionIndex(peer), !sessions[index].isRestored else { return }
    sessions[index].isRestored = true
    sessions[index].clientFeatures |= configuration.features & 7
    let isKnown = configuration.databaseHash == database.ownershipHash()
    for (handle, bits) in configuration.descriptors.sorted(by: { $0.key < $1.key }) {
      restore(bits, handle, index, isKnown: isKnown, into: &outputs)
    }
    guard !isKnown || !configuration.isAware else { return }
    sessions[index].awareness = .unaware
    indicateServiceChanged(.all, index, now: now, into: &outputs)
  }

  private mutating func restore(
    _ bits: UInt16, _ handle: UInt16, _ index: Int, isKnown: Bool, into outputs: inout [Output]
  ) {
    guard !sessions[index].writtenConfigurations.contains(handle),
      let attribute = database.attribute(handle),
      case .configuration(let configuration) = attribute.source,
      // This link may be less protected than the earlier one, or the app may require more by now.
      writeError(attribute, RequestContext(session: index, bearer: 0)) == nil,
      // The handle of Service Changed never changes, even if others do.
      isKnown || configuration.valueHandle == serviceChangedHandle,
      bits & ~configuration.allowed == 0
    else { return }
    sessions[index].setConfiguration(handle, bits)
    guard let owner = configuration.owner else { return }
    outputs.append(
      .subscribed(owner, sessions[index].peer, handle: configuration.valueHandle))
  }
}
