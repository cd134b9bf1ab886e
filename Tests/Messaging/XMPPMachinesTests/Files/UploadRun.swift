#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  /// A machine of uploads with a clock, its store, and a model of the server.
  struct UploadRun {
    var machine: UploadMachine
    var now = Instant.zero
    var wall: WallTime { now.nanoseconds / 1_000_000 }
    var stored = StoredUploads()
    /// Requests without an answer.
    var requests: [IQStanza] = []
    var jobs: [UploadJob] = []
    var stopped: [UploadID] = []
    var states: [UploadID: UploadState] = [:]
    var messages: [(UploadRow, MessageContent)] = []
    var accepted: [UploadID] = []
    var refusedCount = 0
    /// Whether the outbox has room.
    var hasRoom = true
    private var seed: UInt64
    private let limits: UploadLimits

    static let service = "upload.chat.example"

    init(limits: UploadLimits = UploadLimits(), seed: UInt64 = 1) throws {
      self.limits = limits
      self.seed = seed
      machine = UploadMachine(
        account: try #require(JID("ann@chat.example")), stored: stored, limits: limits, seed: seed,
        now: now, wall: 0)
    }

    mutating func restart() {
      seed += 1
      (requests, jobs) = ([], [])
      machine = UploadMachine(
        account: machine.account, stored: stored, limits: limits, seed: seed, now: now, wall: wall)
    }

    private mutating func take(_ actions: [UploadAction]) {
      for action in actions {
        switch action {
        case .change(.insert(let row)): stored.rows.append(row)
        case .change(.setOutcome(let id, let outcome)):
          guard let place = stored.rows.firstIndex(where: { $0.id == id }) else {
            Issue.record("an upload that isn't stored ends")
            continue
          }
          stored.rows[place].outcome = outcome
        case .change(.forget(let id)): stored.rows.removeAll { $0.id == id }
        case .accepted(_, let id): accepted.append(id)
        case .refused: refusedCount += 1
        case .send(let element): requests += [IQStanza(element)].compactMap(\.self)
        case .put(let job): jobs.append(job)
        case .stop(let id, _):
          stopped.append(id)
          jobs.removeAll { $0.id == id }
        case .message(let row, let content):
          if hasRoom { messages.append((row, content)) }
          handle(
            .messageStored(row.id, hasRoom ? RowID(rawValue: Int64(messages.count)) : nil))
        case .state(let id, let state): states[id] = state
        }
      }
    }

    mutating func handle(_ event: UploadEvent) {
      var actions: [UploadAction] = []
      machine.handle(event, now: now, wall: wall, into: &actions)
      take(actions)
    }

    mutating func wait(_ time: TimeSpan) {
      now = now + time
      var actions: [UploadAction] = []
      machine.wake(now: now, wall: wall, into: &actions)
      take(actions)
    }

    mutating func add(
      _ path: String = "/tmp/a.jpg", to peer: String = "bob@chat.example", byteCount: Int64 = 7,
      patience: TimeSpan? = nil
    ) -> UploadID {
      handle(
        .add(
          ticket: 1, peer: peer, originID: "o-\(path)-\(stored.rows.count)", path: path,
          FileMetadata(name: "a.jpg", byteCount: byteCount), patience: patience, wall: wall))
      return accepted.last ?? UploadID(rawValue: 0)
    }

    /// Answers a request.
    mutating func answer(_ request: IQStanza, _ payload: [XMLElement], isError: Bool = false) {
      requests.removeAll { $0.id == request.id }
      var answer = IQStanza(isError ? .error : .result, id: request.id, payload: payload)
      answer.from = request.to
      handle(.received(answer.element))
    }

    /// Answers a request as a server with an upload service does. False if it is no request for that.
    mutating func serve(
      _ request: IQStanza, byteCountMax: Int64? = 1_000, isUploader: Bool = true
    ) throws {
      if request[DiscoItems.self] != nil {
        answer(
          request,
          [
            DiscoItems([try #require(JID("rooms.chat.example")), try #require(JID(Self.service))])
              .element
          ])
      } else if request[DiscoInfo.self] != nil {
        let isService = isUploader && request.to?.description == Self.service
        let form = DataForm(
          .result, type: Namespace.upload,
          fields: byteCountMax.map { [.init("max-file-size", ["\($0)"])] } ?? [])
        answer(
          request,
          [
            DiscoInfo(
              features: isService ? [Namespace.upload] : [], forms: isService ? [form] : []
            ).element
          ])
      } else {
        #expect(request[SlotRequest.self] != nil && request.to?.description == Self.service)
        let url = "https://files.example/\(request.id.text)"
        let address = try #require(HTTPSAddress(url))
        answer(request, [UploadSlot(put: address, get: address).element])
      }
    }

    /// Serves all requests, and those that follow from them.
    mutating func serveAll(isUploader: Bool = true) throws {
      while let request = requests.first { try serve(request, isUploader: isUploader) }
    }

    mutating func refuse(_ condition: StanzaError.Condition, _ kind: StanzaError.Kind = .cancel) {
      guard let request = requests.last else { return }
      answer(request, [StanzaError(kind, condition).element], isError: true)
    }

    mutating func finish(_ end: UploadEnd) {
      guard !jobs.isEmpty else { return }
      let job = jobs.removeFirst()
      handle(.finished(job.id, attempt: job.attempt, end))
    }
  }
#endif
