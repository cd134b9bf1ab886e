public import DNSWire

extension Responder {
  /// What happens around a responder.
  public enum Event: Sendable {
    /// An interface is there, or its addresses or versions changed.
    case interfaceChanged(NetworkInterface)
    /// An interface came back, or may have another network behind it than before: everything is
    /// probed for and announced again (RFC 6762, §8).
    case interfaceRestarted(InterfaceIndex)
    /// An interface is gone.
    case interfaceGone(InterfaceIndex)
    /// Publish a service.
    case registerService(RegistrationID, ServiceRegistration)
    /// Publish a record.
    case registerRecord(RegistrationID, RecordRegistration)
    /// Change the keys and values of a service.
    case updateText(RegistrationID, TXTRecord)
    /// Change the data of a record that was registered alone.
    case updateRecord(RegistrationID, DNSRecordData, ttlSeconds: UInt32)
    /// Give a service one more record of its name, or change that, or take it away (nil). The number
    /// tells a service's further records apart.
    case setFurtherRecord(RegistrationID, UInt32, DNSRecordData?, ttlSeconds: UInt32)
    /// Withdraw a service or record, with a goodbye.
    case unregister(RegistrationID)
    /// Forget a service, a record or the host's own name without a goodbye: somebody else on this host
    /// goes on with it.
    case handOver(RegistrationID)
    /// Give the host another name: this label in `local.`.
    case setHostLabel([UInt8])
    /// A message arrived, query or response, from whomever, the host's own included.
    case received(ReceivedMessage)
    /// Say goodbye to everybody.
    case shutDown
  }

  /// What is to be done.
  public enum Action: Hashable, Sendable {
    /// Send a packet.
    case send(OutgoingPacket)
    /// The name is the registration's on all its links. Told again only if it changes.
    case registered(RegistrationID, DNSName)
    /// Somebody else has the name, and the registration did not want another: it has ended.
    case refused(RegistrationID, DNSName)
  }
}
