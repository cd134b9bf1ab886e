import BonjourHost
import CDNSServiceDiscovery
import DNSWire
import Synchronization

/// The object of a `DNSRecordRef`: one record of a service, or one that was registered alone.
final class Record: Sendable {
  private enum State: Sendable {
    /// Waits to be sent.
    case queued
    /// One more record of a service.
    case added(Registration, number: UInt32)
    /// A record by itself.
    case single(Registration)
    case ended
  }

  private static let handles = HandleTable<Record>()

  // Sendable because there is nothing behind it.
  nonisolated(unsafe) let handle: DNSRecordRef
  let type: DNSType
  private let state: Mutex<State>
  private let fails: Mutex<(@Sendable (ServiceError) -> Reply)?> = Mutex(nil)

  /// A record that ``start(_:)`` starts.
  init(_ type: DNSType) {
    handle = Self.handles.makeHandle()
    self.type = type
    state = Mutex(.queued)
  }

  /// Makes the reply that reports the end of the record to the client; nil if none is sent.
  var failing: (@Sendable (ServiceError) -> Reply)? {
    get { fails.withLock { $0 } }
    set { fails.withLock { $0 = newValue } }
  }

  /// A record that is added to a service.
  init(_ type: DNSType, number: UInt32, of registration: Registration) {
    handle = Self.handles.makeHandle()
    self.type = type
    state = Mutex(.added(registration, number: number))
  }

  /// Registers it, unless it has ended in the meantime.
  func start(_ register: () -> Registration) {
    state.withLock { state in
      if case .queued = state { state = .single(register()) }
    }
  }

  /// Changes the data. Throws where it is not registered yet.
  func update(_ data: DNSRecordData, ttlSeconds: UInt32) throws(ServiceError) {
    switch state.withLock({ $0 }) {
    case .added(let registration, let number):
      registration.setRecord(number, data, ttlSeconds: ttlSeconds)
    case .single(let registration): registration.update(data, ttlSeconds: ttlSeconds)
    case .queued, .ended: throw .badReference
    }
  }

  /// Whether it was unregistered; then nothing more is reported.
  var isEnded: Bool {
    state.withLock { if case .ended = $0 { true } else { false } }
  }

  /// Unregisters it.
  func end() {
    let old = state.withLock { state in
      let old = state
      state = .ended
      return old
    }
    failing = nil
    switch old {
    case .added(let registration, let number):
      registration.setRecord(number, nil, ttlSeconds: 0)
    case .single(let registration): registration.unregister()
    case .queued, .ended: break
    }
  }
}
