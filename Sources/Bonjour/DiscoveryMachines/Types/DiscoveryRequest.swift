package import DNSWire

/// A request of a client, to the discovery machine in its own process or in the owner's process.
/// Identifiers are chosen by the client.
package enum DiscoveryRequest: Hashable, Sendable {
  /// Start a query, on one interface or on all.
  case startQuery(
    QueryID, QueryRequest, on: InterfaceIndex?, options: QueryOptions = QueryOptions())
  /// Stop a query.
  case stopQuery(QueryID)
  /// Reconfirm a record that a client could not use. It is queried, and removed if it isn't
  /// received within ten seconds (RFC 6762, §10.4).
  case reconfirm(DNSRecord, on: InterfaceIndex?)
  /// Register a service.
  case registerService(RegistrationID, ServiceRegistration)
  /// Register a record.
  case registerRecord(RegistrationID, RecordRegistration)
  /// Change the TXT record of a registered service.
  case updateText(RegistrationID, TXTRecord)
  /// Change the data of a record that was registered without a service.
  case updateRecord(RegistrationID, DNSRecordData, ttlSeconds: UInt32)
  /// Add a record to the name of a registered service, or replace or remove (nil) an added one. The
  /// number identifies it among the added records of the service.
  case setRecord(RegistrationID, UInt32, DNSRecordData?, ttlSeconds: UInt32)
  /// Unregister a service or record, with goodbye records.
  case unregister(RegistrationID)

  /// The registration that the request concerns; nil for requests of another kind.
  package var registration: RegistrationID? {
    switch self {
    case .registerService(let id, _), .registerRecord(let id, _), .updateText(let id, _),
      .updateRecord(let id, _, _), .setRecord(let id, _, _, _), .unregister(let id):
      id
    case .startQuery, .stopQuery, .reconfirm: nil
    }
  }

  /// The interface of a new registration or query; nil for all.
  var interface: InterfaceIndex? {
    switch self {
    case .registerService(_, let service): service.interface
    case .registerRecord(_, let record): record.interface
    case .startQuery(_, _, let interface, _): interface
    case .stopQuery, .reconfirm, .updateText, .updateRecord, .setRecord, .unregister: nil
    }
  }
}

/// Input of a machine that also handles client requests. Allows `.unregister(id)` instead of
/// `.request(.unregister(id))`.
package protocol DiscoveryRequestInput {
  /// A request of a client.
  static func request(_ request: DiscoveryRequest) -> Self
}

extension DiscoveryRequestInput {
  /// See ``DiscoveryRequest/startQuery(_:_:on:options:)``.
  package static func startQuery(
    _ id: QueryID, _ request: QueryRequest, on interface: InterfaceIndex?,
    options: QueryOptions = QueryOptions()
  ) -> Self {
    .request(.startQuery(id, request, on: interface, options: options))
  }

  /// See ``DiscoveryRequest/stopQuery(_:)``.
  package static func stopQuery(_ id: QueryID) -> Self { .request(.stopQuery(id)) }

  /// See ``DiscoveryRequest/reconfirm(_:on:)``.
  package static func reconfirm(_ record: DNSRecord, on interface: InterfaceIndex?) -> Self {
    .request(.reconfirm(record, on: interface))
  }

  /// See ``DiscoveryRequest/registerService(_:_:)``.
  package static func registerService(
    _ id: RegistrationID, _ service: ServiceRegistration
  ) -> Self {
    .request(.registerService(id, service))
  }

  /// See ``DiscoveryRequest/registerRecord(_:_:)``.
  package static func registerRecord(_ id: RegistrationID, _ record: RecordRegistration) -> Self {
    .request(.registerRecord(id, record))
  }

  /// See ``DiscoveryRequest/updateText(_:_:)``.
  package static func updateText(_ id: RegistrationID, _ text: TXTRecord) -> Self {
    .request(.updateText(id, text))
  }

  /// See ``DiscoveryRequest/updateRecord(_:_:ttlSeconds:)``.
  package static func updateRecord(
    _ id: RegistrationID, _ data: DNSRecordData, ttlSeconds: UInt32
  ) -> Self {
    .request(.updateRecord(id, data, ttlSeconds: ttlSeconds))
  }

  /// See ``DiscoveryRequest/setRecord(_:_:_:ttlSeconds:)``.
  package static func setRecord(
    _ id: RegistrationID, _ number: UInt32, _ data: DNSRecordData?, ttlSeconds: UInt32
  ) -> Self {
    .request(.setRecord(id, number, data, ttlSeconds: ttlSeconds))
  }

  /// See ``DiscoveryRequest/unregister(_:)``.
  package static func unregister(_ id: RegistrationID) -> Self { .request(.unregister(id)) }
}
