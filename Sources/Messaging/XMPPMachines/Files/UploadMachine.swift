#if Messaging
  package import Essentials
  package import XMPPWire

  /// The files of an account that are uploaded (XEP-0363) and then sent as messages.
  ///
  /// A file is stored before anything of it leaves, and holds up no message: its own one is made when the file is at the
  /// service. Each attempt has a slot of its own.
  package struct UploadMachine: Sendable {
    enum Stage: Hashable, Sendable {
      /// Not before this time, if there is one.
      case queued(until: Instant?)
      /// A service was asked for a slot.
      case requested(StanzaID, of: JID, deadline: Instant)
      case uploading(attempt: Int, UploadSlot)
      /// The file is at the service; its message has no room in the outbox before this time.
      case uploaded(UploadSlot, again: Instant)
    }

    struct Entry: Sendable {
      var row: UploadRow
      var stage: Stage
      var due: Instant?
      var attempt = 0
      /// Failures since the last success of any kind.
      var failureCount = 0
      var refusedSlotCount = 0
    }

    let account: JID
    let server: JID?
    let limits: UploadLimits
    let prefix: String
    private var requestCount: UInt64 = 0
    private var chance: SeededGenerator
    var entries: [UploadID: Entry] = [:]
    private(set) var ended: [UploadRow] = []
    private var last: Int64 = 0
    var isConnected = false
    var discovery = UploadDiscovery()
    /// Whether a search of this session has found a service: then one that finds none is no reason to give files up.
    private var hasFoundService = false

    package init(
      account: JID, stored: StoredUploads, limits: UploadLimits = UploadLimits(), seed: UInt64,
      now: Instant, wall: WallTime
    ) {
      self.account = account.bare
      server = JID(account.domain)
      self.limits = limits
      prefix = "ambit-upload-\(String(seed, radix: 36))-"
      chance = SeededGenerator(seed: seed)
      for row in stored.rows {
        last = max(last, row.id.rawValue)
        if row.outcome != nil {
          ended.append(row)
        } else {
          entries[row.id] = Entry(
            row: row, stage: .queued(until: nil), due: Self.due(row.deadline, now, wall))
        }
      }
    }

    private static func due(_ deadline: WallTime?, _ now: Instant, _ wall: WallTime) -> Instant? {
      deadline.map { now + .milliseconds(max(0, min($0 - wall, 1 << 40))) }
    }

    /// All rows that are kept, by number.
    package var rows: [UploadRow] {
      (ended + entries.values.map(\.row)).sorted { $0.id < $1.id }
    }

    /// When ``wake(now:wall:into:)`` has something to do.
    package var nextWake: Instant? {
      var times = entries.values.compactMap(\.due)
      for entry in entries.values {
        switch entry.stage {
        case .queued(let time?) where isConnected: times.append(time)
        case .requested(_, _, let deadline): times.append(deadline)
        case .uploaded(_, let again): times.append(again)
        case .queued, .uploading: break
        }
      }
      if isConnected, let time = discovery.nextWake { times.append(time) }
      return times.min()
    }

    package mutating func handle(
      _ event: UploadEvent, now: Instant, wall: WallTime, into actions: inout [UploadAction]
    ) {
      switch event {
      case .add(let ticket, let peer, let originID, let path, let metadata, let patience, let date):
        guard entries.count < limits.waitingMax else {
          actions.append(.refused(ticket: ticket))
          break
        }
        last += 1
        let row = UploadRow(
          id: UploadID(rawValue: last), peer: peer, originID: originID, path: path,
          metadata: metadata, deadline: patience.map { date + $0.nanoseconds / 1_000_000 },
          date: date)
        entries[row.id] = Entry(
          row: row, stage: .queued(until: nil), due: patience.map { now + $0 })
        actions += [.change(.insert(row)), .accepted(ticket: ticket, row.id)]
      case .cancel(let id): end(id, .failed(.cancelled), &actions)
      case .connected(let isResumed): connect(isResumed: isResumed)
      case .disconnected: isConnected = false
      case .received(let element):
        guard let answer = answer(element) else { return }
        receive(answer, now, wall, &actions)
      case .progress(let id, let attempt, let count):
        guard let entry = entries[id], case .uploading(attempt, _) = entry.stage else { break }
        let state = UploadState.uploading(byteCount: count, of: entry.row.byteCount)
        actions.append(.state(id, state))
      case .finished(let id, let attempt, let end): finish(id, attempt, end, now, &actions)
      case .messageStored(let id, let row): stored(id, row, now, &actions)
      case .messageRefused(let id, let reason): end(id, .failed(.refused(reason)), &actions)
      }
      proceed(now, &actions)
      assert(violations().isEmpty, "\(violations())")
    }

    /// Handles deadlines and the ends of pauses.
    package mutating func wake(now: Instant, wall: WallTime, into actions: inout [UploadAction]) {
      for (id, entry) in entries.sorted(by: { $0.key < $1.key }) {
        if let due = entry.due, due <= now {
          end(id, .failed(.deadline), &actions)
          continue
        }
        switch entry.stage {
        case .requested(_, let service, let deadline) where deadline <= now:
          forget(service)
          pause(id, "the upload service has not answered", now, &actions)
        case .uploaded(let slot, let again) where again <= now: sendMessage(id, slot, now, &actions)
        default: break
        }
      }
      if let result = discovery.wake(now) { discovered(result, now, &actions) }
      proceed(now, &actions)
    }

    // MARK: Sessions

    private mutating func connect(isResumed: Bool) {
      isConnected = true
      guard !isResumed else { return }
      discovery = UploadDiscovery()
      hasFoundService = false
      for (id, entry) in entries {
        if case .requested = entry.stage { entries[id]?.stage = .queued(until: nil) }
      }
    }

    mutating func makeID() -> StanzaID? {
      requestCount += 1
      return StanzaID("\(prefix)\(requestCount)")
    }

    private mutating func ask(
      _ payload: XMLElement, of entity: JID, _ actions: inout [UploadAction]
    ) -> StanzaID? {
      guard let id = makeID() else { return nil }
      actions.append(.send(IQStanza(.get, id: id, to: entity, payload: [payload]).element))
      return id
    }

    /// The answer to a request of this machine; nil for all other stanzas.
    private func answer(_ element: XMLElement) -> IQStanza? {
      guard requestCount > 0, let answer = IQStanza(element), !answer.isRequest,
        answer.id.text.hasPrefix(prefix)
      else { return nil }
      return answer
    }

    private mutating func receive(
      _ answer: IQStanza, _ now: Instant, _ wall: WallTime, _ actions: inout [UploadAction]
    ) {
      if let purpose = discovery.take(answer) {
        discover(purpose, answer, now, &actions)
        return
      }
      for (id, entry) in entries {
        guard case .requested(answer.id, let service, _) = entry.stage else { continue }
        // Also of a service that another file has given up since.
        if answer.from == service { slotCame(id, answer, of: service, now, wall, &actions) }
        return
      }
    }

    // MARK: The service

    private mutating func discover(
      _ purpose: UploadDiscovery.Purpose, _ answer: IQStanza, _ now: Instant,
      _ actions: inout [UploadAction]
    ) {
      if case .items = purpose, let items = answer[DiscoItems.self]?.items {
        for item in items.prefix(limits.itemMax) {
          guard let id = ask(DiscoInfo().element, of: item, &actions) else { continue }
          discovery.wait(for: id, .info, of: item)
        }
      }
      if let result = discovery.result { discovered(result, now, &actions) }
    }

    private mutating func discovered(
      _ result: UploadDiscovery.Result, _ now: Instant, _ actions: inout [UploadAction]
    ) {
      switch result {
      case .found: hasFoundService = true
      case .none where !hasFoundService:
        for id in entries.keys.sorted() {
          if case .queued = entries[id]?.stage { end(id, .failed(.unsupported), &actions) }
        }
        discovery = UploadDiscovery()
      case .none, .unknown:
        discovery.retry(at: now + pauseTime(discovery.failureCount))
        for id in entries.keys.sorted() {
          guard case .queued = entries[id]?.stage else { continue }
          actions.append(
            .state(id, .waiting(reason: "the server has not told its upload service")))
        }
      }
    }

    /// Searches again, as another service may have taken the place of this one. A search that has begun since goes on.
    private mutating func forget(_ service: JID) {
      if discovery.service?.jid == service { discovery = UploadDiscovery() }
    }

    /// Begins what can begin.
    private mutating func proceed(_ now: Instant, _ actions: inout [UploadAction]) {
      guard isConnected else { return }
      endPauses(now)
      let ready = entries.values.filter { $0.stage == .queued(until: nil) }.map(\.row)
        .sorted { $0.id < $1.id }
      guard !ready.isEmpty else { return }
      guard let service = discovery.service else {
        if discovery.mayBegin(now), let server { beginDiscovery(server, now, &actions) }
        return
      }
      var active = entries.values.filter { $0.isActive }.map(\.row.peer)
      for row in ready where active.count < limits.activeMax && !active.contains(row.peer) {
        if let most = service.byteCountMax, row.byteCount > most {
          end(row.id, .failed(.tooLarge(byteCountMax: most)), &actions)
          continue
        }
        let request = SlotRequest(
          fileName: row.metadata.name ?? "file", byteCount: row.byteCount,
          mediaType: row.metadata.mediaType)
        guard let id = ask(request.element, of: service.jid, &actions) else { return }
        entries[row.id]?.stage = .requested(
          id, of: service.jid, deadline: now + limits.answerTime)
        active.append(row.peer)
      }
    }

    /// A file may wait for others after its pause: its time is no reason to wake any more.
    private mutating func endPauses(_ now: Instant) {
      for (id, entry) in entries {
        guard case .queued(let time?) = entry.stage, time <= now else { continue }
        entries[id]?.stage = .queued(until: nil)
      }
    }

    private mutating func beginDiscovery(
      _ server: JID, _ now: Instant, _ actions: inout [UploadAction]
    ) {
      discovery.begin(deadline: now + limits.answerTime)
      if let id = ask(DiscoInfo().element, of: server, &actions) {
        discovery.wait(for: id, .info, of: server)
      }
      if let id = ask(DiscoItems().element, of: server, &actions) {
        discovery.wait(for: id, .items, of: server)
      }
    }

    // MARK: Slots

    private mutating func slotCame(
      _ id: UploadID, _ answer: IQStanza, of service: JID, _ now: Instant, _ wall: WallTime,
      _ actions: inout [UploadAction]
    ) {
      guard let entry = entries[id] else { return }
      if answer.kind == .result, let slot = answer[UploadSlot.self] {
        let attempt = entry.attempt + 1
        entries[id]?.attempt = attempt
        entries[id]?.stage = .uploading(attempt: attempt, slot)
        actions.append(
          .put(
            UploadJob(
              id: id, attempt: attempt, path: entry.row.path, metadata: entry.row.metadata,
              slot: slot)))
        return
      }
      guard let error = answer.error else {
        return end(id, .failed(.refused("no slot with addresses of https")), &actions)
      }
      switch UploadRefusal(in: answer.payload) {
      case .fileTooLarge(let most):
        end(id, .failed(.tooLarge(byteCountMax: most)), &actions)
      case .retry(let stamp):
        let most = limits.quotaPauseMax.nanoseconds / 1_000_000
        let pause = max(1_000, min(stamp.milliseconds - wall, most))
        wait(id, "the quota of the upload service is used up", now + .milliseconds(pause), &actions)
      case nil
      where error.kind == .wait
        || [.internalServerError, .remoteServerTimeout, .resourceConstraint].contains(
          error.condition):
        pause(id, "the upload service is busy: \(error.condition.rawValue)", now, &actions)
      case nil where Self.isGone(error.condition):
        forget(service)
        refusedAgain(id, error.condition.rawValue, "the upload service is gone", now, &actions)
      case nil: end(id, .failed(.refused(error.condition.rawValue)), &actions)
      }
    }

    /// Whether a service with another address may be there.
    private static func isGone(_ condition: StanzaError.Condition) -> Bool {
      [.gone, .itemNotFound, .remoteServerNotFound, .serviceUnavailable].contains(condition)
    }

    /// A file is tried again a few times where another slot or service may take it.
    private mutating func refusedAgain(
      _ id: UploadID, _ refusal: String, _ reason: String, _ now: Instant,
      _ actions: inout [UploadAction]
    ) {
      let count = (entries[id]?.refusedSlotCount ?? 0) + 1
      entries[id]?.refusedSlotCount = count
      guard count < limits.refusedSlotMax else {
        return end(id, .failed(.refused(refusal)), &actions)
      }
      pause(id, reason, now, &actions)
    }

    // MARK: Files on their way

    private mutating func finish(
      _ id: UploadID, _ attempt: Int, _ end: UploadEnd, _ now: Instant,
      _ actions: inout [UploadAction]
    ) {
      guard case .uploading(attempt, let slot)? = entries[id]?.stage else {
        return
      }
      switch end {
      case .status(200..<300): sendMessage(id, slot, now, &actions)
      case .status(413): self.end(id, .failed(.tooLarge(byteCountMax: nil)), &actions)
      // The server is busy, or full.
      case .status(let code) where code >= 500 || [408, 425, 429].contains(code):
        pause(id, "the upload service answers with status \(code)", now, &actions)
      case .status(let code):
        refusedAgain(
          id, "status \(code)", "the upload service refuses its slot with status \(code)", now,
          &actions)
      case .broken(let reason): pause(id, reason, now, &actions)
      case .changed: self.end(id, .failed(.changed), &actions)
      case .unreadable(let reason): self.end(id, .failed(.unreadable(reason)), &actions)
      }
    }

    private mutating func sendMessage(
      _ id: UploadID, _ slot: UploadSlot, _ now: Instant, _ actions: inout [UploadAction]
    ) {
      guard let row = entries[id]?.row else { return }
      entries[id]?.stage = .uploaded(slot, again: now + limits.answerTime)
      let url = slot.get.description
      let file = SharedFile(row.metadata, sources: [url])
      actions.append(
        .message(row, MessageContent(body: url, elements: XMLFragment.text(of: file.elements))))
    }

    private mutating func stored(
      _ id: UploadID, _ row: RowID?, _ now: Instant, _ actions: inout [UploadAction]
    ) {
      guard let entry = entries[id], case .uploaded = entry.stage else { return }
      if let row { return end(id, .sent(row), &actions) }
      actions.append(.state(id, .waiting(reason: "too many messages wait to be sent")))
    }

    private mutating func end(
      _ id: UploadID, _ outcome: UploadRow.Outcome, _ actions: inout [UploadAction]
    ) {
      guard var entry = entries.removeValue(forKey: id) else { return }
      if case .uploading(let attempt, _) = entry.stage {
        actions.append(.stop(id, attempt: attempt))
      }
      entry.row.outcome = outcome
      ended.append(entry.row)
      actions.append(.change(.setOutcome(id, outcome)))
      switch outcome {
      case .sent(let row): actions.append(.state(id, .sent(row)))
      case .failed(let failure): actions.append(.state(id, .failed(failure)))
      }
      while ended.count > limits.endedMax {
        actions.append(.change(.forget(ended.removeFirst().id)))
      }
    }

    private mutating func pause(
      _ id: UploadID, _ reason: String, _ now: Instant, _ actions: inout [UploadAction]
    ) {
      let count = entries[id]?.failureCount ?? 0
      entries[id]?.failureCount = count + 1
      wait(id, reason, now + pauseTime(count), &actions)
    }

    private mutating func wait(
      _ id: UploadID, _ reason: String, _ time: Instant, _ actions: inout [UploadAction]
    ) {
      entries[id]?.stage = .queued(until: time)
      actions.append(.state(id, .waiting(reason: reason)))
    }

    private mutating func pauseTime(_ count: Int) -> TimeSpan {
      let doubled = limits.firstPause * (1 << Int64(min(max(0, count), 20)))
      let base = min(doubled, limits.longestPause).nanoseconds
      return .nanoseconds(base + Int64(chance.next() % UInt64(base / 4 + 1)))
    }
  }

  extension UploadMachine.Entry {
    /// Whether it uses the service.
    var isActive: Bool {
      switch stage {
      case .requested, .uploading: true
      case .queued, .uploaded: false
      }
    }
  }

  extension UploadMachine {
    /// What contradicts itself in the tables.
    package func violations() -> [String] {
      var found: [String] = []
      for (id, entry) in entries {
        if entry.row.id != id { found.append("an upload has the number of another one") }
        if entry.row.outcome != nil { found.append("upload \(id.rawValue) has ended and is kept") }
      }
      if ended.contains(where: { $0.outcome == nil }) { found.append("an upload has no outcome") }
      if entries.values.filter({ $0.isActive }).count > limits.activeMax {
        found.append("too many uploads are under way")
      }
      return found
    }
  }
#endif
