#if Messaging
  import Essentials
  import XMPPWire

  /// Finds the upload service of a server by service discovery (XEP-0363, §3).
  struct UploadDiscovery: Sendable {
    enum Purpose: Hashable, Sendable { case info, items }

    struct Service: Hashable, Sendable {
      var jid: JID
      /// The largest file in bytes; nil if it has not told.
      var byteCountMax: Int64?
    }

    enum Result: Hashable, Sendable {
      case found
      /// All have answered, and none is a service.
      case none
      /// Some have not answered, or are busy.
      case unknown
    }

    private(set) var service: Service?
    private var waiting: [StanzaID: (purpose: Purpose, entity: JID)] = [:]
    private var deadline: Instant?
    private var again: Instant?
    private var isIncomplete = false
    private(set) var failureCount = 0

    /// Whether a search may begin: none is under way, and none has failed a moment ago.
    func mayBegin(_ now: Instant) -> Bool {
      service == nil && deadline == nil && (again.map { $0 <= now } ?? true)
    }

    var nextWake: Instant? { service == nil ? deadline ?? again : nil }

    mutating func begin(deadline: Instant) {
      self.deadline = deadline
      again = nil
      waiting = [:]
      isIncomplete = false
    }

    mutating func wait(for id: StanzaID, _ purpose: Purpose, of entity: JID) {
      waiting[id] = (purpose, entity)
    }

    /// Takes an answer to this search; nil for other answers.
    mutating func take(_ answer: IQStanza) -> Purpose? {
      guard let (purpose, entity) = waiting[answer.id], answer.from == entity else { return nil }
      waiting[answer.id] = nil
      if let error = answer.error {
        if error.kind == .wait || error.condition == .remoteServerTimeout { isIncomplete = true }
      } else if purpose == .info, service == nil, let info = answer[DiscoInfo.self] {
        let found = info.uploadService
        if found.isOne { service = Service(jid: entity, byteCountMax: found.byteCountMax) }
      }
      return purpose
    }

    /// How the search has ended; nil while it goes on.
    var result: Result? {
      if service != nil { return .found }
      guard deadline != nil, waiting.isEmpty else { return nil }
      return isIncomplete ? .unknown : Result.none
    }

    /// Gives up answers that are overdue; nil while nothing is.
    mutating func wake(_ now: Instant) -> Result? {
      if let again, again <= now { self.again = nil }
      guard service == nil, let deadline, deadline <= now else { return nil }
      waiting = [:]
      self.deadline = nil
      return .unknown
    }

    mutating func retry(at time: Instant) {
      waiting = [:]
      deadline = nil
      again = time
      failureCount += 1
    }
  }
#endif
