internal import BonjourHost
internal import DNSWire
internal import DiscoveryMachines

extension NWListener {
  /// A service that a listener publishes.
  public struct Service: Hashable, Sendable, CustomDebugStringConvertible {
    /// The name of the service; nil for the host's name.
    public var name: String?
    /// The type, such as `_http._tcp`, optionally with names of subtypes after commas.
    public let type: String
    /// The domain in which it is registered; nil for `local.`
    public var domain: String?
    /// The TXT record in wire format; nil for none.
    public var txtRecord: Data?
    /// Whether the listener fails if another service has the name, instead of choosing another
    /// name.
    public var noAutoRename = false

    /// Creates a service with a TXT record in wire format.
    public init(
      name: String? = nil, type: String, domain: String? = nil, txtRecord: Data? = nil
    ) {
      self.name = name
      self.type = type
      self.domain = domain
      self.txtRecord = txtRecord
    }

    /// Creates a service with a TXT record of keys and values.
    public init(
      name: String? = nil, type: String, domain: String? = nil, txtRecord: NWTXTRecord
    ) {
      self.init(name: name, type: type, domain: domain, txtRecord: txtRecord.data)
    }

    /// The TXT record, as keys and values; nil for none.
    public var txtRecordObject: NWTXTRecord? {
      get { txtRecord.map { NWTXTRecord($0) } }
      set { txtRecord = newValue?.data }
    }

    /// Name, type and domain, for logs.
    public var debugDescription: String { "\(name ?? "").\(type).\(domain ?? "")" }

    var text: TXTRecord { txtRecordObject?.wire ?? TXTRecord() }

    /// Whether only the texts differ, if anything.
    func isSame(as other: Service) -> Bool {
      name == other.name && type == other.type && domain == other.domain
        && noAutoRename == other.noAutoRename
    }

    func registration(
      port: UInt16, on interface: NWInterface?
    ) throws(DNSWireError) -> ServiceRegistration {
      let type = try TypeText(type)
      let name = name.flatMap { $0.isEmpty ? nil : $0 } ?? BonjourConfiguration().hostName
      return try ServiceRegistration(
        ServiceName(instance: name, type: type.type, domain: .domain(domain)),
        subtypes: type.subtypes, port: port, text: text,
        interface: InterfaceIndex(interface),
        conflictPolicy: noAutoRename ? .refuse : .rename)
    }
  }
}
