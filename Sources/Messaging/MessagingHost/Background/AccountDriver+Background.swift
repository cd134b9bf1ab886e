#if Messaging
  internal import Essentials
  internal import NIOCore
  internal import XMPPMachines
  internal import XMPPWire

  /// What a suspended app was woken for, until it has handled that.
  struct Wakes {
    /// The last row that was handed over before the app was suspended.
    var lastSequence: Int64 = 0
    var waiting: [@Sendable () -> Void] = []
    /// The app was woken to connect, and may be suspended when that has failed.
    var isToConnect = false
    var deadline: Scheduled<Void>?
    /// Messages of this wake don't wait for the archive any longer.
    var isHurried = false
    var hurry: Scheduled<Void>?
  }

  extension AccountDriver {
    /// Makes the holder, if the app has a name for its connection.
    func makeHolder() {
      guard let identifier = start.restoreIdentifier else { return }
      let observer = observer
      holder = ConnectionHolder(
        identifier, on: loop, refused: { observer.notHeld($0) },
        answered: { [weak self] in self?.endWakesIfHandled() },
        woken: { [weak self] done in
          // A last event may come when the account has ended.
          if let self { woken(done) } else { done() }
        },
        wokenToConnect: { [weak self] done in
          if let self { wokenToConnect(done) } else { done() }
        })
    }

    /// The system has woken the app because it has no connection. The stream's own pause may be longer than that of the
    /// system.
    private func wokenToConnect(_ done: @escaping @Sendable () -> Void) {
      if session == nil, isWanted {
        wakes.isToConnect = true
        handle(Input.connect)
      }
      woken(done)
    }

    /// The server's bytes have woken the app, and were read.
    private func woken(_ done: @escaping @Sendable () -> Void) {
      guard !closing.isStoreClosed else { return done() }
      wakes.waiting.append(done)
      if wakes.deadline == nil {
        let bound = NIOLoopBound(self, eventLoop: loop)
        wakes.deadline = loop.scheduleTask(in: .nanoseconds(start.times.wake.nanoseconds)) {
          bound.value.endWakes()
        }
        wakes.hurry = loop.scheduleTask(in: .nanoseconds(start.times.wakePatience.nanoseconds)) {
          bound.value.wakes.isHurried = true
          bound.value.endWakesIfHandled()
        }
      }
      endWakesIfHandled()
    }

    /// The app may be suspended again when all that came is on disk, no message waits for the archive, and the app has taken
    /// the new rows of the inbox. If the connection has ended, when there is another one.
    func endWakesIfHandled() {
      guard !wakes.waiting.isEmpty else { return }
      if closing.isStoreClosed { return endWakes() }
      let holdsMessagesBack = messages.holdsMessagesBack || rooms.holdsMessagesBack
      if wakes.isHurried, holdsMessagesBack, written == nil, hasNoInputs {
        return handle([.endWaiting])
      }
      guard written == nil, batch.isEmpty, hasNoInputs, !isParsing, !holdsMessagesBack,
        session != nil || !isWanted || wakes.isToConnect && stream.isPausing,
        holder?.isPending != true,
        let rows = try? store.inbox(after: wakes.lastSequence, limit: 1), rows.isEmpty
      else { return }
      endWakes()
    }

    private func endWakes() {
      wakes.deadline?.cancel()
      wakes.deadline = nil
      wakes.hurry?.cancel()
      wakes.hurry = nil
      wakes.isHurried = false
      wakes.isToConnect = false
      wakes.lastSequence = messages.lastSequence
      let waiting = wakes.waiting
      wakes.waiting = []
      for done in waiting { done() }
    }

    /// Puts a message of a remote notification into the inbox, unless the store has it.
    func takePushed(_ ticket: UInt64, _ message: InboundMessage) {
      var message = message
      let sender = message.sender.flatMap { JID($0) }
      message.isBlocked = sender.map { exchange.blocks.isBlocked($0) } ?? false
      do throws(StoreError) {
        let lookups = try store.lookup([message], account: account.description)
        handle(.pushed(ticket: ticket, LookedUp(message, lookups.first ?? StoreLookup())))
      } catch {
        observer.committed(error.sentence)
        observer.perform(.pushed(ticket: ticket, .refused))
      }
    }

    /// The app is about to be suspended. `done` is called when all that came before is handled as after a wake.
    func settle(_ done: @escaping @Sendable () -> Void) { woken(done) }
  }
#endif
