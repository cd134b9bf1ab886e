#if Messaging
  internal import EventLoop
  internal import Essentials
  internal import NIOCore
  internal import NIOPosix
  internal import XMPPMachines
  internal import XMPPWire

  /// The times of changes that the store has rejected.
  struct Rejections {
    private static let calmTime: TimeSpan = .seconds(600)

    private var count: Int64 = 0
    private var last: Instant?
    /// Whether the machines wait to be read from the store.
    var isReloading = false

    /// The time before the next connection, which grows with each rejection that follows soon.
    mutating func pause(first: TimeSpan, now: Instant) -> TimeAmount {
      if let last, last + Self.calmTime <= now { count = 0 }
      last = now
      count = min(count + 1, 7)
      return .nanoseconds(first.nanoseconds << (count - 1))
    }
  }

  /// Changes that the store rejects, whenever they are tried: they are kept aside, and the rest goes on.
  extension AccountDriver {
    /// Writes the rest of a transaction.
    func keepAside() {
      guard let changes = written?.changes else { return }
      let store = store
      let date = WallClock.now
      let bound = NIOLoopBound(self, eventLoop: loop)
      Self.threads.runIfActive(eventLoop: loop) { () -> Result<[RejectedChange], StoreError> in
        do throws(StoreError) {
          return .success(try store.applyKeepingAside(changes, date: date))
        } catch {
          return .failure(error)
        }
      }.whenComplete { result in
        bound.value.keptAside((try? result.get()) ?? .failure(.closed))
      }
    }

    private func keptAside(_ result: Result<[RejectedChange], StoreError>) {
      if closing.isStoreClosed { return closeStore(nil) }
      guard case .success(let rejected) = result else { return tryLater() }
      let (accepted, later) = (written?.accepted ?? [], written?.later ?? [])
      written = nil
      isFailing = false
      failureCount = 0
      for change in rejected {
        observer.perform(.report(.changeRejected(change.reason)))
      }
      report(accepted, later, without: rejected)
      batch = Batch()
      returnAhead()
      reload()
    }

    /// Tells the app what the transaction has done. Nothing of it leaves: the machines begin anew.
    private func report(
      _ accepted: [MessageAction], _ later: [Batch.Later], without rejected: [RejectedChange]
    ) {
      var rows: [RowID: String] = [:]
      var uploads: Set<UploadID> = []
      var error: StoreError?
      var hasLostIncoming = false
      for change in rejected {
        switch change.change {
        case .insertIncoming: hasLostIncoming = true
        case .insertOutgoing(let row): rows[row.id] = change.reason
        case .rooms(.insertOutgoing(let row)): rows[row.id] = change.reason
        case .uploads(.insert(let row)): uploads.insert(row.id)
        case .acknowledgeIncoming: error = .rejected(change.reason)
        default: break
        }
      }
      for action in accepted {
        if case .accepted(let ticket, let row) = action, let reason = rows[row] {
          observer.rejected(ticket, reason)
        } else {
          observer.perform(action)
        }
      }
      for action in later {
        switch action {
        case .stream: break
        case .call(let done): done(error)
        case .contacts(let action): perform(action)
        case .rooms(let action): perform(action)
        case .uploads(.accepted(let ticket, let id)) where uploads.contains(id):
          observer.uploads(.refused(ticket: ticket))
        case .uploads(.put): break
        case .uploads(let action): perform(action)
        case .messages(.fate(let row, _), _) where rows[row] != nil: break
        case .messages(.confirm, _), .messages(.load, _): break
        case .messages(.pushed(let ticket, .new), _) where hasLostIncoming:
          observer.perform(.pushed(ticket: ticket, .refused))
        case .messages(let action, _): observer.perform(action)
        }
      }
    }

    /// Begins anew with what the store has.
    private func reload() {
      closeChannel()
      let wasStarted = !stream.isStopped
      rejections.isReloading = true
      do throws(StoreError) {
        try start.load()
      } catch {
        observer.committed(error.sentence)
        loop.assumeIsolated().scheduleTask(in: .seconds(5)) { [self] in
          if !closing.isStoreClosed { reload() }
        }
        return
      }
      rejections.isReloading = false
      stream = start.makeStream()
      messages = start.makeMessages()
      exchange = AccountExchange(account: account)
      contactCalls.end(.interrupted)
      contacts = start.makeContacts()
      endUploads()
      uploads = start.makeUploads()
      exchange.blocks = contacts.blocks
      roomCalls.end()
      rooms = start.makeRooms()
      exchange.rooms = rooms.addresses
      blockedSession = nil
      stored = start.messages.session
      inboundCount = stored?.inboundCount ?? 0
      (session, waiting, batch) = (nil, [], Batch())
      (isParsing, isAtBarrier) = (false, false)
      parser.restart()
      handle(.clientState(clientState))
      if closing.isRequested || !wasStarted || !isWanted { return run() }
      observer.changed(.offline(.transport("a change can't be stored"), isFinal: false))
      loop.assumeIsolated().scheduleTask(
        in: rejections.pause(first: start.times.rejection, now: .now)
      ) { [self] in
        if !closing.isRequested, isWanted { handle([.stream(.start)]) }
      }
      run()
    }
  }
#endif
