import BonjourHost
import CDNSServiceDiscovery
import DiscoveryMachines
import Synchronization

/// The object of a `DNSServiceRef`.
final class Reference: Sendable {
  /// Its purpose, where that matters.
  enum Kind: Sendable {
    /// A search.
    case query
    /// A service; silent if its client passed no callback.
    case registration(isSilent: Bool)
    /// Something to share.
    case connection
  }

  private struct State {
    var isEnded = false
    var queries: [Query] = []
    /// Makes the reply that reports a failure to the client.
    var failing: (@Sendable (ServiceError) -> Reply)?
    var registration: Registration?
    /// Those that share this one's descriptor.
    var subordinates: [DNSServiceRef: Reference] = [:]
    var records: [UInt: Record] = [:]
    /// Registrations of records that wait to be sent.
    var queued: [@Sendable () -> Void] = []
    var lastRecordNumber: UInt32 = 0
  }

  private static let table = HandleTable<Reference>()

  /// What the client knows it as.
  // Sendable because there is nothing behind it.
  nonisolated(unsafe) let handle: DNSServiceRef
  let kind: Kind
  let replies: ReplyQueue
  /// The reference with the descriptor that it shares; nil if it has its own.
  private let primary: Reference?
  private let state = Mutex(State())

  private init(_ kind: Kind, sharing primary: Reference?) throws(ServiceError) {
    handle = Self.table.makeHandle()
    self.kind = kind
    replies = if let primary { primary.replies } else { try ReplyQueue() }
    self.primary = primary
    replies.join(self)
  }

  // MARK: Coming and going

  /// Makes a reference, gives it to the client, and has `begin` start what it is for. Where that
  /// fails, the client is given null.
  static func start(
    _ result: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags, _ kind: Kind,
    _ begin: (Reference) throws(ServiceError) -> Void
  ) -> DNSServiceErrorType {
    guard let result else { return ServiceError.badParameter.code }
    return status { () throws(ServiceError) in
      let given = result.load()
      result.store(nil)
      var primary: Reference?
      if flags.has(.shareConnection) {
        let found = try find(given)
        guard !found.isSubordinate else { throw .badReference }
        primary = found
      }
      let reference = try Reference(kind, sharing: primary)
      table[reference.handle] = reference
      if let primary, !primary.adopt(reference) {
        reference.end()
        throw .badReference
      }
      // Before any callback can be called.
      result.store(reference.handle)
      do throws(ServiceError) {
        try begin(reference)
      } catch {
        reference.end()
        result.store(nil)
        throw error
      }
    }
  }

  /// The reference that a client knows as this.
  static func find(_ handle: DNSServiceRef?) throws(ServiceError) -> Reference {
    guard handle != nil else { throw .badParameter }
    guard let reference = table[handle] else { throw .badReference }
    return reference
  }

  /// Ends a reference, and all that share its descriptor.
  static func deallocate(_ handle: DNSServiceRef?) {
    guard let reference = table.remove(handle) else { return }
    reference.end()
  }

  /// How many references there are.
  static var count: Int { table.count }

  /// Whether it shares another's descriptor.
  var isSubordinate: Bool { primary != nil }

  /// Whether no more callbacks are called.
  var isEnded: Bool { state.withLock { $0.isEnded } }

  private func end() {
    Self.table.remove(handle)
    let old: State = state.withLock { state in
      let old = state
      state = State()
      state.isEnded = true
      return old
    }
    guard !old.isEnded else { return }
    for query in old.queries { query.cancel() }
    old.registration?.unregister()
    for record in old.records.values { record.end() }
    for subordinate in old.subordinates.values { subordinate.end() }
    if let primary {
      primary.forget(self)
      replies.removeReplies(of: self)
    } else {
      replies.end()
    }
  }

  /// False if this one has ended.
  private func adopt(_ subordinate: Reference) -> Bool {
    state.withLock { state in
      guard !state.isEnded else { return false }
      state.subordinates[subordinate.handle] = subordinate
      return true
    }
  }

  private func forget(_ subordinate: Reference) {
    state.withLock { $0.subordinates[subordinate.handle] = nil }
  }

  // MARK: What it does

  /// Sets the reply that reports a failure. Throws where the reference has failed already.
  func fail(by failing: @escaping @Sendable (ServiceError) -> Reply) throws(ServiceError) {
    guard !replies.isOverrun else { throw .notRunning }
    state.withLock { $0.failing = failing }
  }

  /// A failure is reported once, however many queries fail.
  private func takeFailing() -> (@Sendable (ServiceError) -> Reply)? {
    state.withLock { state in
      defer { state.failing = nil }
      return state.failing
    }
  }

  /// The replies that report a failure of this reference and of its records.
  func failures(_ error: ServiceError) -> [Reply] {
    state.withLock { state in
      ([state.failing] + state.records.values.map(\.failing)).compactMap { $0?(error) }
    }
  }

  /// Starts a query whose results `translate` turns into replies.
  func startQuery(
    _ request: QueryRequest, on interface: InterfaceIndex?, _ flags: DNSServiceFlags,
    _ translate: @escaping @Sendable (FoundEvent) -> Reply?
  ) throws(ServiceError) {
    let batch = Batch()
    let query = try SharedHost.host().query(
      request, on: interface, options: Arguments.options(flags)
    ) { [weak self] event in
      let reply =
        if case .failed(let error) = event.event {
          self?.takeFailing()?(ServiceError(error))
        } else {
          translate(event)
        }
      if let reply { batch.replies.append(reply) }
      guard !event.moreComing else { return }
      self?.replies.append(batch.replies)
      batch.replies = []
    }
    let isEnded = state.withLock { state in
      if !state.isEnded { state.queries.append(query) }
      return state.isEnded
    }
    if isEnded { query.cancel() }
  }

  /// Replies that are delivered together.
  private final class Batch: @unchecked Sendable {
    // Sendable because it is touched only on the event loop.
    var replies: [Reply] = []
  }

  /// The service that it registered.
  var registration: Registration? {
    get { state.withLock { $0.registration } }
    set {
      let isEnded = state.withLock { state in
        if !state.isEnded { state.registration = newValue }
        return state.isEnded
      }
      if isEnded { newValue?.unregister() }
    }
  }

  // MARK: Records

  /// A number for one more record of a service.
  func nextRecordNumber() -> UInt32 {
    state.withLock { state in
      state.lastRecordNumber &+= 1
      return state.lastRecordNumber
    }
  }

  /// Keeps a record until it is removed or the reference ends.
  func keep(_ record: Record) throws(ServiceError) {
    let isEnded = state.withLock { state in
      if !state.isEnded { state.records[UInt(bitPattern: record.handle)] = record }
      return state.isEnded
    }
    if isEnded {
      record.end()
      throw .badReference
    }
  }

  /// The record that a client knows as this; only its own.
  func record(_ handle: DNSRecordRef?) throws(ServiceError) -> Record {
    guard let handle else { throw .badParameter }
    let number = UInt(bitPattern: handle)
    guard let record = state.withLock({ $0.records[number] }) else { throw .badReference }
    return record
  }

  func removeRecord(_ record: Record) {
    state.withLock { state in state.records[UInt(bitPattern: record.handle)] = nil }
    record.end()
  }

  /// Keeps something back until ``sendQueued()``.
  func queue(_ work: @escaping @Sendable () -> Void) {
    state.withLock { state in
      if !state.isEnded { state.queued.append(work) }
    }
  }

  func sendQueued() {
    let works = state.withLock { state in
      let works = state.queued
      state.queued = []
      return works
    }
    for work in works { work() }
  }
}
