#if Messaging
  internal import EventLoop
  internal import Essentials
  internal import NIOCore
  internal import NIOPosix
  internal import XMPPMachines

  /// One transaction of the store, and the actions after it.
  struct Batch: Sendable {
    /// The maximum number of changes in one transaction, as far as they come from different inputs.
    static let countMax = 2_048

    enum Later: Sendable {
      case stream(StreamMachine.Action)
      /// With the session in which it came up.
      case messages(MessageAction, session: UInt64?)
      case call(AccountDriver.Completion)
      case contacts(ContactAction)
      case rooms(RoomAction)
      case uploads(UploadAction)
    }

    var changes: [MessageChange] = []
    /// Messages of the app that are on disk with the changes.
    var accepted: [MessageAction] = []
    var later: [Later] = []

    /// Whether a receipt is among the changes after which its recipient owes no other one: an app may send its next message
    /// after it.
    var hasLastReceipt = false

    var isEmpty: Bool { changes.isEmpty && accepted.isEmpty && later.isEmpty }

    /// The changes of a transaction that may wait for others.
    private static let waitingCountMax = 64

    /// Whether the server and the app wait for nothing of this. What it changes is told again when the process ends before
    /// it is on disk: the server repeats its acknowledgements and its stanzas.
    var mayWait: Bool {
      accepted.isEmpty && !hasLastReceipt && changes.count <= Self.waitingCountMax
        && changes.allSatisfy(\.mayWait) && later.allSatisfy(\.mayWait)
    }

    /// Whether bytes for the server, or a change of the connection, wait for the transaction.
    var hasStreamActions: Bool {
      later.contains { if case .stream = $0 { true } else { false } }
    }

    /// The requests that wait for the transaction.
    var calls: [AccountDriver.Completion] {
      later.compactMap { if case .call(let done) = $0 { done } else { nil } }
    }
  }

  extension MessageChange {
    /// Whether the app doesn't wait for it. Where it waits for its acknowledgement of a row, the batch has a call.
    fileprivate var mayWait: Bool {
      switch self {
      case .setFate(_, .acknowledged), .setFate(_, .archived), .setFate(_, .received),
        .settleReceipt,
        .setInboundCount, .setOutgoingStream, .acknowledgeIncoming:
        true
      case .setSession(let session): session != nil
      default: false
      }
    }
  }

  extension Batch.Later {
    fileprivate var mayWait: Bool {
      switch self {
      case .messages(.fate(_, .acknowledged), _), .messages(.fate(_, .archived), _),
        .messages(.fate(_, .received), _), .messages(.confirm, _):
        true
      default: false
      }
    }
  }

  /// The end of an account's use.
  struct Closing {
    /// Whether the store is being closed, or is closed: nothing else happens any more.
    private(set) var isStoreClosed = false
    private var waiting: [AccountDriver.Completion] = []
    private var result: (error: StoreError?, Void)?
    var deadline: Scheduled<Void>?
    /// Connections whose last bytes the server has not taken.
    var channelCount = 0

    private var hasBegun = false

    var isRequested: Bool { hasBegun || isStoreClosed }

    /// The requests before the end have been handled.
    mutating func begin() { hasBegun = true }

    mutating func join(_ done: @escaping AccountDriver.Completion) {
      if let result { done(result.error) } else { waiting.append(done) }
    }

    mutating func closeStore() { isStoreClosed = true }

    mutating func finish(_ error: StoreError?) {
      deadline?.cancel()
      if result == nil { result = (error, ()) }
      let ready = waiting
      waiting = []
      for done in ready { done(error) }
    }
  }

  /// Transactions of an account, and the end of its use.
  extension AccountDriver {
    /// Threads that wait for disks, of all accounts of this process.
    static let threads: NIOThreadPool = {
      let pool = NIOThreadPool(numberOfThreads: 4)
      pool.start()
      return pool
    }()

    /// For a transaction for which nobody waits to become part of the next one.
    private static let joiningTime = TimeSpan.milliseconds(20)

    private static let longestPause = TimeAmount.seconds(10).nanoseconds

    /// Begins to write the changes since the last transaction, or performs actions that need none. False without any.
    func flush() -> Bool {
      isAtBarrier = false
      sendQueries()
      sendWaiting()
      channel?.flush()
      guard !waits() else { return false }
      batchDue = nil
      guard !batch.isEmpty else { return false }
      let full = batch
      batch = Batch()
      ahead = []
      if full.changes.isEmpty {
        for action in full.accepted { observer.perform(action) }
        perform(full.later)
      } else {
        written = full
        write()
      }
      return true
    }

    /// Whether the batch waits a moment for another one, so that both are one transaction: most of the server's
    /// acknowledgements come shortly before a message or a receipt.
    private func waits() -> Bool {
      // Only in a session that the next process resumes does the server repeat what was lost.
      guard session != nil, stored?.id.isEmpty == false, !closing.isRequested,
        wakes.waiting.isEmpty, !batch.isEmpty, batch.mayWait
      else { return false }
      let now = Instant.now
      let due = batchDue ?? now + Self.joiningTime
      batchDue = due
      return now < due
    }

    /// The app hears of its messages from the thread that has written them: one that waits for each message is not
    /// kept waiting for the event loop, too.
    private func write() {
      guard let written else { return }
      let (store, observer) = (store, observer)
      let bound = NIOLoopBound(self, eventLoop: loop)
      Self.threads.runIfActive(eventLoop: loop) { () -> StoreError? in
        do throws(StoreError) {
          try store.apply(written.changes)
          observer.committed(nil)
          for action in written.accepted { observer.perform(action) }
          return nil
        } catch {
          return error
        }
      }.whenComplete { result in
        switch result {
        case .success(let error): bound.value.wrote(error)
        case .failure(let error): bound.value.wrote(.unusable("\(error)"))
        }
      }
    }

    private func wrote(_ error: StoreError?) {
      if let error { observer.committed(error.sentence) }
      if closing.isStoreClosed {
        for done in written?.calls ?? [] { done(error) }
        written = nil
        return closeStore(error)
      }
      isFailing = error != nil
      updateReading()
      switch error {
      case nil:
        failureCount = 0
        let later = written?.later ?? []
        written = nil
        perform(later)
        run()
      case .rejected: keepAside()
      case .damaged?, .closed?, .laterVersion?, .inUse?: end(error ?? .closed)
      case .full?, .unusable?: tryLater()
      }
    }

    func tryLater() {
      let longest = min(Self.longestPause, start.stream.times.longestPause.nanoseconds)
      let pause = min(start.times.retry.nanoseconds << Int64(failureCount), longest)
      failureCount = min(failureCount + 1, 10)
      loop.assumeIsolated().scheduleTask(in: .nanoseconds(pause)) { [self] in
        if !closing.isStoreClosed { write() }
      }
    }

    /// The store can't be used any more.
    private func end(_ error: StoreError) {
      closeChannel()
      observer.changed(.offline(.transport(error.sentence), isFinal: true))
      closeStore(error)
      observer.ended(error)
    }

    // MARK: What the store forgets

    /// The rows of each table that are removed in one transaction.
    private static let pruneCount = 500
    private static let firstPruning = TimeAmount.seconds(5)
    private static let nextPruning = TimeAmount.hours(1)
    /// Between transactions of one pruning, so that messages don't wait for it.
    private static let pruningPause = TimeAmount.milliseconds(200)

    /// Removes old rows after a pause, and then again and again.
    func prune(after pause: TimeAmount = firstPruning) {
      let store = store
      let bound = NIOLoopBound(self, eventLoop: loop)
      pruning = loop.scheduleTask(in: pause) {
        let driver = bound.value
        Self.threads.runIfActive(eventLoop: driver.loop) { () -> Bool in
          // What can't be removed now can be later.
          (try? store.prune(Retention(), now: WallClock.now, countMax: Self.pruneCount)) ?? false
        }.whenComplete { result in
          guard !bound.value.closing.isStoreClosed else { return }
          let isFull = (try? result.get()) ?? false
          bound.value.prune(after: isFull ? Self.pruningPause : Self.nextPruning)
        }
      }
    }

    // MARK: The end

    func closeChannel() {
      guard let channel else { return }
      self.channel = nil
      closing.channelCount += 1
      channel.close { [self] in
        closing.channelCount -= 1
        run()
      }
    }

    /// The time runs from the request: a transaction that is tried again and again may be before it.
    func setCloseDeadline() {
      guard closing.deadline == nil, !closing.isStoreClosed else { return }
      let bound = NIOLoopBound(self, eventLoop: loop)
      closing.deadline = loop.scheduleTask(in: .nanoseconds(start.times.close.nanoseconds)) {
        bound.value.closeLate()
      }
    }

    /// Ends the connection, writes the last changes, and closes the store.
    func close(keepsSession: Bool) {
      guard !closing.isRequested else { return }
      closing.begin()
      handle(.stop(keepsSession: keepsSession))
    }

    /// Closes the store once nothing is left to be done.
    func closeIfDone() {
      guard closing.isRequested, !closing.isStoreClosed, written == nil, batch.isEmpty,
        stream.isStopped, closing.channelCount == 0
      else { return }
      closeStore(nil)
    }

    /// The disk or the server has not taken the rest in time.
    private func closeLate() {
      guard !closing.isStoreClosed else { return }
      holder?.endReconnection()
      closeChannel()
      let isWriting = written != nil && !isFailing
      let error: StoreError? =
        written == nil && batch.changes.isEmpty
        ? nil : .unusable("the last changes could not be written in time")
      if isWriting {
        // The file is in use until the system returns from writing.
        closing.closeStore()
        closing.finish(error)
      } else {
        closeStore(error)
      }
    }

    func closeStore(_ error: StoreError?) {
      closing.closeStore()
      holder?.endReconnection()
      pruning?.cancel()
      let lost = (written?.calls ?? []) + batch.calls
      written = nil
      batch = Batch()
      for done in lost { done(error ?? .closed) }
      contactCalls.end()
      roomCalls.end()
      endUploads()
      for case .request(let request) in takeInputs() {
        if case .acknowledge(_, let done) = request { done?(error ?? .closed) }
        if case .contacts(_, let done) = request { done(.ended) }
        if case .rooms(_, let done) = request { done(.closed) }
        if case .settle(let done) = request { done() }
      }
      let store = store
      let bound = NIOLoopBound(self, eventLoop: loop)
      Self.threads.runIfActive(eventLoop: loop) { store.close() }.whenComplete { _ in
        bound.value.closing.finish(error)
      }
    }
  }
#endif
