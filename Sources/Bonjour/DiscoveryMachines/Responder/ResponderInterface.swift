public import DNSWire

extension Responder {
  /// Input of a responder.
  public enum Event: DiscoveryRequestInput, Sendable {
    /// An interface is there, or its addresses or versions changed.
    case interfaceChanged(NetworkInterface)
    /// An interface came back, or may have another network behind it than before: everything is
    /// probed for and announced again (RFC 6762, §8).
    case interfaceRestarted(InterfaceIndex)
    /// An interface is gone.
    case interfaceGone(InterfaceIndex)
    /// A request of a client. Those for queries are not a responder's.
    case request(DiscoveryRequest)
    /// Remove a service, a record or the host's own name without goodbye records: another process
    /// of this host continues it. The host's name gets goodbye records all the same if nothing that
    /// is registered needs it.
    case handOver(RegistrationID)
    /// Send goodbyes for a service that a killed process of this host had registered, and for the
    /// records added to it (RFC 6762, §10.1).
    case withdrawService(
      ServiceRegistration, addedRecords: [(data: DNSRecordData, ttlSeconds: UInt32)])
    /// Send goodbyes for a record that a killed process of this host had registered.
    case withdrawRecord(RecordRegistration)
    /// Register the host's name and addresses, even if no service needs them.
    case registerHost
    /// Give the host another name: this label in `local.`.
    case setHostLabel([UInt8])
    /// A message arrived, query or response, from whomever, the host's own included.
    case received(ReceivedMessage)
    /// Send goodbye records for all registrations.
    case shutDown
  }

  /// What the driver does for the responder: it sends packets and takes what became of registrations.
  public typealias Action = DiscoveryAction
}
