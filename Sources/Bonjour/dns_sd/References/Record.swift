import BonjourHost
import CDNSServiceDiscovery
import DNSWire
import Synchronization

/// What is behind a `DNSRecordRef`: one record of a service, or one that was registered alone.
final class Record: Sendable {
  private enum State: Sendable {
    /// Waits to be sent.
    case queued
    /// One more record of a service.
    case further(Publication, number: UInt32)
    /// A record by itself.
    case single(Publication)
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

  /// How the client is told that it will hear nothing more of the record; nil where it never does.
  var failing: (@Sendable (ServiceError) -> Reply)? {
    get { fails.withLock { $0 } }
    set { fails.withLock { $0 = newValue } }
  }

  /// A further record of a service.
  init(_ type: DNSType, number: UInt32, of publication: Publication) {
    handle = Self.handles.makeHandle()
    self.type = type
    state = Mutex(.further(publication, number: number))
  }

  /// It is published, unless it has ended in the meantime.
  func start(_ publish: () -> Publication) {
    state.withLock { state in
      if case .queued = state { state = .single(publish()) }
    }
  }

  /// Changes what it says. Throws where it is not published yet.
  func update(_ data: DNSRecordData, ttlSeconds: UInt32) throws(ServiceError) {
    switch state.withLock({ $0 }) {
    case .further(let publication, let number):
      publication.setFurtherRecord(number, data, ttlSeconds: ttlSeconds)
    case .single(let publication): publication.update(data, ttlSeconds: ttlSeconds)
    case .queued, .ended: throw .badReference
    }
  }

  /// Whether it was withdrawn; then nothing is told of it any more.
  var isEnded: Bool {
    state.withLock { if case .ended = $0 { true } else { false } }
  }

  /// Withdraws it.
  func end() {
    let old = state.withLock { state in
      let old = state
      state = .ended
      return old
    }
    failing = nil
    switch old {
    case .further(let publication, let number):
      publication.setFurtherRecord(number, nil, ttlSeconds: 0)
    case .single(let publication): publication.withdraw()
    case .queued, .ended: break
    }
  }
}
