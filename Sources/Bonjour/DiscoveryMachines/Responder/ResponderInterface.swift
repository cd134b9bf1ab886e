extension Responder {
  /// Input of a responder.
  package enum Event: DiscoveryRequestInput, Sendable {
    /// An interface is available, or its addresses or versions changed.
    case interfaceChanged(NetworkInterface)
    /// An interface is available again, or may be connected to another network. All names are
    /// probed and all records announced again (RFC 6762, §8).
    case interfaceRestarted(InterfaceIndex)
    /// An interface is no longer available.
    case interfaceGone(InterfaceIndex)
    /// A request of a client. Requests for queries are ignored.
    case request(DiscoveryRequest)
    /// Remove services, records or the host's own name without goodbye records, as another process
    /// of this host takes over. The host's name gets goodbye records nevertheless if no registration
    /// needs it. All are removed before anything else is sent.
    case handOver([RegistrationID])
    /// Register the host's name and addresses, even if no service uses them.
    case registerHost
    /// Change the host name to this label in `local.`.
    case setHostLabel([UInt8])
    /// A query or response was received. Includes the host's own messages.
    case received(ReceivedMessage)
    /// Send goodbye records for all registrations.
    case shutDown
  }

  /// Output of the responder: packets to send, and results of registrations.
  package typealias Action = DiscoveryAction
}
