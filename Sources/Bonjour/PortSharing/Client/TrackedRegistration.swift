import DNSWire
import DiscoveryMachines

/// A registration of a host with its later updates.
struct TrackedRegistration: Sendable {
  enum Content: Sendable {
    case service(ServiceRegistration)
    case record(RecordRegistration)
  }

  private(set) var content: Content
  /// The records that were added to a service, by their numbers.
  var addedRecords: [UInt32: (data: DNSRecordData, ttlSeconds: UInt32)] = [:]
  /// The last reported name.
  var name: DNSName?

  init(content: Content) { self.content = content }

  mutating func update(_ text: TXTRecord) {
    guard case .service(var service) = content else { return }
    service.text = text
    content = .service(service)
  }

  mutating func update(_ data: DNSRecordData, ttlSeconds: UInt32) {
    guard case .record(var registration) = content, registration.record.type == data.type else {
      return
    }
    registration.record.data = data
    registration.record.ttlSeconds = ttlSeconds
    content = .record(registration)
  }

  /// The requests that register it with another owner, under its present name.
  func requests(_ id: RegistrationID) -> [DiscoveryRequest] {
    switch content {
    case .service(var service):
      if let name, let present = ServiceName(name) { service.name = present }
      return [.registerService(id, service)]
        + addedRecords.sorted { $0.key < $1.key }.map { number, record in
          .setRecord(id, number, record.data, ttlSeconds: record.ttlSeconds)
        }
    case .record(let record): return [.registerRecord(id, record)]
    }
  }
}
