#if Messaging
  internal import EventLoop
  internal import Essentials
  internal import NIOCore
  internal import XMPPMachines
  internal import XMPPWire

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

    /// Changes before the action are on disk.
    func perform(_ action: UploadAction) {
      switch action {
      case .put(let job): beginUpload(job)
      case .stop(let id, _): uploadTasks.removeValue(forKey: id)?.cancel()
      case .accepted, .refused, .state: observer.uploads(action)
      case .change, .send, .message: break
      }
    }

    private func beginUpload(_ job: UploadJob) {
      guard !closing.isRequested else { return }
      let (loop, settings) = (loop, start.files)
      let bound = NIOLoopBound(self, eventLoop: loop)
      @Sendable func report(_ event: UploadEvent) {
        loop.execute { bound.value.handle([.uploads(event)]) }
      }
      uploadTasks[job.id]?.cancel()
      uploadTasks[job.id] = Task {
        let end = await FileUpload.run(job, settings) {
          report(.progress(job.id, attempt: job.attempt, byteCount: $0))
        }
        report(.finished(job.id, attempt: job.attempt, end))
      }
    }

    /// The next process begins them again.
    func endUploads() {
      for task in uploadTasks.values { task.cancel() }
      uploadTasks = [:]
    }
  }

  extension AccountStart {
    func makeUploads() -> UploadMachine {
      UploadMachine(
        account: stream.account, stored: uploads, seed: stream.seed, now: .now,
        wall: WallClock.now)
    }
  }
#endif
