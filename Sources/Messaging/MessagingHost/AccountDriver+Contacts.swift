#if Messaging
  internal import Essentials
  internal import EventLoop
  internal import XMPPMachines
  internal import XMPPWire

  /// The app's requests about contacts that wait for answers.
  struct ContactCalls {
    typealias Answer = @Sendable (ContactFailure?) -> Void

    private var waiting: [UInt64: Answer] = [:]
    private var last: UInt64 = 0

    mutating func add(_ done: @escaping Answer) -> UInt64 {
      last += 1
      waiting[last] = done
      return last
    }

    mutating func finish(_ ticket: UInt64, _ failure: ContactFailure?) {
      waiting.removeValue(forKey: ticket)?(failure)
    }

    /// Nothing answers any more.
    mutating func end(_ failure: ContactFailure = .ended) {
      let ended = waiting
      waiting = [:]
      for done in ended.values { done(failure) }
    }
  }

  /// Contacts: the roster, subscriptions and presences.
  extension AccountDriver {
    /// Stanzas that wait for room in the stream, beyond which the server's pushes get no answers.
    private static let waitingCountMax = 4_096

    func contacts<Value>(_ body: (ContactMachine) -> Value) throws(StoreError) -> Value {
      guard !closing.isStoreClosed else { throw .closed }
      return body(contacts)
    }

    func perform(_ request: ContactRequest, _ done: @escaping ContactCalls.Answer) {
      guard !closing.isRequested else { return done(.ended) }
      handle(.request(ticket: contactCalls.add(done), request))
    }

    func handle(_ event: ContactEvent) {
      var actions: [ContactAction] = []
      contacts.handle(event, now: .now, wall: WallClock.now, into: &actions)
      take(actions)
    }

    func wakeContacts(_ now: Instant) {
      var actions: [ContactAction] = []
      contacts.wake(now: now, wall: WallClock.now, into: &actions)
      take(actions)
    }

    private func take(_ actions: [ContactAction]) {
      for action in actions {
        switch action {
        case .change(let change): batch.changes.append(.contacts(change))
        case .send(let element):
          guard waiting.count < Self.waitingCountMax else { continue }
          waiting.append(OutgoingStanza(row: nil, element))
        case .notice(.blocked(let jid, _)):
          exchange.blocks = contacts.blocks
          handle(.blockChanged(jid))
          batch.later.append(.contacts(action))
        case .answer, .notice: batch.later.append(.contacts(action))
        }
      }
      guard let session = blockedSession, !contacts.isBlockListAwaited else { return }
      blockedSession = nil
      connect(isResumed: session.isResumed, hasArchive: session.hasArchive)
    }

    /// Begins to send messages and to read the archive, once the blocked addresses are known. A resumed session has brought
    /// their changes.
    func connect(isResumed: Bool, hasArchive: Bool) {
      guard isResumed || !contacts.isBlockListAwaited else {
        blockedSession = (isResumed, hasArchive)
        return
      }
      handle(.connected(isResumed: isResumed, hasArchive: hasArchive, wall: WallClock.now))
    }

    /// Changes before the action are on disk.
    func perform(_ action: ContactAction) {
      switch action {
      case .answer(let ticket, let failure): contactCalls.finish(ticket, failure)
      case .notice(let notice): observer.contacts(notice)
      case .change, .send: break
      }
    }
  }
#endif
