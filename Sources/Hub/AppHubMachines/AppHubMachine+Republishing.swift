import AppMachines
import BluetoothInterface
import BluetoothWire
import Essentials
import HubMachines

// What the system requests of the host for a preserved manager, whose app doesn't run.

extension AppHubMachine {
  /// What a session holds; for one whose services are not published again yet, what it held before.
  func holdings(of session: AppRadioSession) -> SessionHoldings? {
    republications[session.number]?.holdings ?? hub.holdings(of: session.hostKey)
  }

  /// Whether the host is about to publish services of an app. Its process waits for that: it is given them with the
  /// state of its manager, and would publish them twice.
  func isRepublishing(_ app: AppID) -> Bool {
    republications.contains { $1.isRequested && sessions[$0]?.app == app }
  }

  /// Requests what a preserved manager wants.
  mutating func request(_ holdings: SessionHoldings, for session: AppRadioSession, now: Instant) {
    isPreserving = true
    defer { isPreserving = false }
    let key = session.hostKey
    for link in holdings.links { handle(.requested(key, .connect(link.peer, link.options))) }
    if let scan = holdings.scan { handle(.requested(key, .startScan(scan))) }
    let republication = Republication(holdings)
    if !republication.isEnded {
      republications[session.number] = republication
      republish(session.number, now: now)
    }
    if let advertising = holdings.advertising {
      handle(.requested(key, .startAdvertising(advertising, token(after: lastToken(of: session)))))
    }
    performHubActions(now: now)
  }

  /// The manager advertises, as it did before: the radio does when it is on.
  mutating func advertisingBegan(
    _ holdings: SessionHoldings, for session: AppRadioSession?, now: Instant
  ) {
    guard holdings.advertising != nil, let session else { return }
    handle(.delivered(session.hostKey, [.completed(lastToken(of: session), .success(.done))]))
    performHubActions(now: now)
  }

  private func lastToken(of session: AppRadioSession) -> RequestToken {
    RequestToken(rawValue: hub.holdings(of: session.hostKey)?.lastToken ?? 0)
  }

  private func token(after token: RequestToken) -> RequestToken {
    RequestToken(rawValue: token.rawValue + 1)
  }

  /// Requests the services that come next.
  private mutating func republish(_ number: UInt64, now: Instant) {
    guard let session = sessions[number] else { return }
    let last = lastToken(of: session)
    for request in republications[number]?.takeRequests(after: last, now: now) ?? [] {
      handle(.requested(session.hostKey, request))
    }
    noteRetry(number)
    performHubActions(now: now)
  }

  /// The radio is on: what waited for it is requested.
  mutating func radioIsOn(for number: UInt64, now: Instant) {
    guard let session = sessions[number] else { return }
    if republications[number] != nil {
      republications[number]?.radioIsOn()
      republish(number, now: now)
    }
    for request in sessions[number]?.radio.radioIsOn() ?? [] {
      outputs.append(.send(session.hostKey, request))
    }
    noteRetry(number)
  }

  /// The host has reset a manager, and may have withdrawn what it had. That is not restored, also if the process hears
  /// of it too late: a process publishes anew.
  mutating func withdraw(_ session: AppRadioSession, now: Instant) {
    let withdrawals = holdings(of: session)?.withdrawals ?? []
    guard !withdrawals.isEmpty else { return }
    republications[session.number]?.withdraw()
    if republications[session.number]?.isEnded == true { republications[session.number] = nil }
    for request in withdrawals { handle(.requested(session.hostKey, request)) }
    // PSMs that have waited behind a service.
    republish(session.number, now: now)
    guard !isAwake(session.process) else { return }
    outputs.append(.life(.report(.notPublished(session.app, session.receiver))))
  }

  /// The host has answered a request of a session without a process.
  mutating func republished(
    _ token: RequestToken, _ result: Result<HostReply, HostError>, _ session: AppRadioSession,
    now: Instant
  ) {
    let number = session.number
    let outcome = republications[number]?.completed(
      token, result, radioIsOn: session.radioIsOn, now: now)
    guard let outcome else { return }
    for _ in 0..<outcome.givenUpCount {
      outputs.append(.life(.report(.notPublished(session.app, session.receiver))))
    }
    if outcome.isDelayed {
      outputs.append(.life(.report(.publishingDelayed(session.app, session.receiver))))
    }
    republish(number, now: now)
    if republications[number]?.isEnded == true { republications[number] = nil }
    noteRetry(number)
    touched.insert(number)
  }

  /// Takes the bytes of processes that have waited for the host, and wait no longer: it has answered, is overdue, or
  /// what was requested of it is withdrawn.
  mutating func takeHeld(now: Instant) {
    for id in processes.keys.sorted() where needlesslyHolds(id) { takeHeld(of: id, now: now) }
  }

  /// Whether bytes of a process are held though it runs and its app waits for no answer of the host.
  func needlesslyHolds(_ id: AppProcessID) -> Bool {
    guard let process = processes[id], !process.isFrozen, !process.held.isEmpty else {
      return false
    }
    return !isRepublishing(process.app)
  }

  // MARK: What the host has refused

  /// The host has answered a request for advertising that the system has made.
  mutating func advertisingAnswered(
    _ token: RequestToken, _ result: Result<HostReply, HostError>, _ session: AppRadioSession,
    now: Instant
  ) {
    let refusal = sessions[existing: session.number].radio.answered(
      token, result, radioIsOn: session.radioIsOn, now: now)
    performDue(of: session.number, now: now)
    guard let refusal else { return }
    let triesAgain = refusal == .delayed
    outputs.append(
      .life(
        .report(.notAdvertised(session.app, session.receiver, triesAgain: triesAgain))))
  }

  /// Notes when a session is to try again what the host has refused.
  mutating func noteRetry(_ number: UInt64) {
    retries[number] = nextTry(of: number)
  }

  private func nextTry(of number: UInt64) -> Instant? {
    let republication = republications[number]
    return [sessions[number]?.radio.nextTry, republication?.nextTry, republication?.overdueAt]
      .compactMap(\.self).min()
  }

  /// Requests again what the host has refused, where it is time.
  mutating func tryAgain(now: Instant) {
    for (number, due) in retries.sorted(by: { $0.key < $1.key }) where due <= now {
      guard let session = sessions[number] else { continue }
      for request in sessions[existing: number].radio.tryAgain(now: now) {
        outputs.append(.send(session.hostKey, request))
      }
      if republications[number]?.tryAgain(now: now) == true { republish(number, now: now) }
      if let overdue = republications[number]?.becomeOverdue(now: now), overdue.isOverdue {
        if overdue.isReported {
          outputs.append(.life(.report(.publishingDelayed(session.app, session.receiver))))
        }
      }
      noteRetry(number)
    }
  }

  /// An advertiser has ended: others get its place.
  mutating func giveFreePlace(now: Instant) {
    guard hasFreePlace else { return }
    hasFreePlace = false
    for number in retries.keys.sorted() {
      sessions[number]?.radio.placeIsFree(now: now)
      noteRetry(number)
    }
  }

  func violationsOfRetries(perTable limit: Int) -> [String] {
    var found: [String] = []
    for session in sessions.values.prefix(limit) {
      found += session.radio.violations()
      if retries[session.number] != nextTry(of: session.number) {
        found.append("session \(session.number) tries again at another time")
      }
    }
    if retries.keys.contains(where: { sessions[$0] == nil }) {
      found.append("a session that has ended tries again")
    }
    return found
  }
}
