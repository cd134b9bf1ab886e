#if Messaging
  internal import EventLoop
  internal import Essentials
  internal import NIOCore
  internal import XMPPMachines
  internal import XMPPWire

  /// The requests of one machine of uploads. Those of an earlier machine may still report, about attempts of the same number.
  struct UploadTasks {
    private var tasks: [UploadID: (attempt: Int, task: Task<Void, Never>)] = [:]
    private(set) var machine = 0

    mutating func add(_ job: UploadJob, _ task: Task<Void, Never>) {
      tasks.updateValue((job.attempt, task), forKey: job.id)?.task.cancel()
    }

    mutating func cancel(_ id: UploadID) { tasks.removeValue(forKey: id)?.task.cancel() }

    mutating func ended(_ id: UploadID, attempt: Int) {
      if tasks[id]?.attempt == attempt { tasks[id] = nil }
    }

    /// Another machine follows.
    mutating func end() {
      for entry in tasks.values { entry.task.cancel() }
      tasks = [:]
      machine += 1
    }
  }

  /// Uploads of files.
  extension AccountDriver {
    /// Stanzas that wait for room in the stream, beyond which requests for slots wait for their time.
    private static let waitingCountMax = 4_096

    /// Uploads that have not ended, and the latest that have, by number.
    func uploadRows() throws(StoreError) -> [UploadRow] {
      guard !closing.isStoreClosed else { throw .closed }
      return uploads.rows
    }

    func handle(_ event: UploadEvent) {
      var actions: [UploadAction] = []
      uploads.handle(event, now: .now, wall: WallClock.now, into: &actions)
      take(actions)
    }

    func wakeUploads(_ now: Instant) {
      var actions: [UploadAction] = []
      uploads.wake(now: now, wall: WallClock.now, into: &actions)
      take(actions)
    }

    private func take(_ actions: [UploadAction]) {
      for action in actions {
        switch action {
        case .change(let change): batch.changes.append(.uploads(change))
        case .send(let element):
          guard waiting.count < Self.waitingCountMax else { continue }
          waiting.append(OutgoingStanza(row: nil, element))
        case .message(let row, let content): send(content, of: row)
        default: batch.later.append(.uploads(action))
        }
      }
    }

    /// The message of a file, in one transaction with the end of its upload.
    private func send(_ content: MessageContent, of row: UploadRow) {
      if let room = JID(row.peer), rooms.isRoom(room) { return send(content, of: row, to: room) }
      let wall = WallClock.now
      let patience = row.deadline.map { TimeSpan.milliseconds(max(0, $0 - wall)) }
      var commit = MessageCommit()
      messages.handle(
        .send(
          ticket: 0, peer: row.peer, originID: row.originID, content, patience: patience, wall: wall
        ), now: .now, into: &commit)
      let stored = commit.then.lazy.compactMap { action in
        if case .accepted(_, let id) = action { id } else { nil }
      }.first
      take(commit)
      handle(.messageStored(row.id, stored))
    }

    private func send(_ content: MessageContent, of row: UploadRow, to room: JID) {
      guard rooms.isWanted(room) else {
        return handle(.messageRefused(row.id, "the account has left the room"))
      }
      let message = OutgoingRoomRow(
        id: messages.makeOutgoingID(), room: room, originID: row.originID, content: content,
        date: WallClock.now)
      let isTaken = send(message)
      handle(.messageStored(row.id, isTaken ? message.id : nil))
    }

    /// Changes before the action are on disk.
    func perform(_ action: UploadAction) {
      switch action {
      case .put(let job): beginUpload(job)
      case .stop(let id, _): uploadTasks.cancel(id)
      case .accepted, .refused, .state: observer.uploads(action)
      case .change, .send, .message: break
      }
    }

    private func beginUpload(_ job: UploadJob) {
      guard !closing.isRequested else { return }
      let (loop, settings) = (loop, start.files)
      let bound = NIOLoopBound(self, eventLoop: loop)
      let machine = uploadTasks.machine
      @Sendable func report(_ event: UploadEvent) {
        loop.execute { bound.value.take(event, ofMachine: machine) }
      }
      uploadTasks.add(
        job,
        Task {
          let end = await FileUpload.run(job, settings) {
            report(.progress(job.id, attempt: job.attempt, byteCount: $0))
          }
          report(.finished(job.id, attempt: job.attempt, end))
        })
    }

    private func take(_ event: UploadEvent, ofMachine machine: Int) {
      guard machine == uploadTasks.machine else { return }
      if case .finished(let id, let attempt, _) = event { uploadTasks.ended(id, attempt: attempt) }
      handle([.uploads(event)])
    }

    /// The next machine, here or in another process, begins them again.
    func endUploads() { uploadTasks.end() }
  }

  extension AccountStart {
    func makeUploads() -> UploadMachine {
      UploadMachine(
        account: stream.account, stored: uploads, seed: stream.seed, now: .now,
        wall: WallClock.now)
    }
  }
#endif
