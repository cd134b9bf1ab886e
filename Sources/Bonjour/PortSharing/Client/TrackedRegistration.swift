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

  private mutating func update(_ text: TXTRecord) {
    guard case .service(var service) = content else { return }
    service.text = text
    content = .service(service)
  }

  private mutating func update(_ data: DNSRecordData, ttlSeconds: UInt32) {
    guard case .record(var registration) = content, registration.record.type == data.type else {
      return
    }
    registration.record.data = data
    registration.record.ttlSeconds = ttlSeconds
    content = .record(registration)
  }

  /// Applies a request that changes the registration.
  mutating func apply(_ request: DiscoveryRequest) {
    switch request {
    case .updateText(_, let text): update(text)
    case .updateRecord(_, let data, let ttlSeconds): update(data, ttlSeconds: ttlSeconds)
    case .setRecord(_, let number, let data, let ttlSeconds):
      addedRecords[number] = data.map { ($0, ttlSeconds) }
    case .startQuery, .stopQuery, .reconfirm, .registerService, .registerRecord, .unregister: break
    }
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

extension [RegistrationID: TrackedRegistration] {
  /// Adds, changes or removes the registration of a request.
  mutating func record(_ request: DiscoveryRequest) {
    switch request {
    case .registerService(let id, let service):
      self[id] = TrackedRegistration(content: .service(service))
    case .registerRecord(let id, let record):
      self[id] = TrackedRegistration(content: .record(record))
    case .updateText(let id, _), .updateRecord(let id, _, _), .setRecord(let id, _, _, _):
      self[id]?.apply(request)
    case .unregister(let id): self[id] = nil
    case .startQuery, .stopQuery, .reconfirm: break
    }
  }
}
