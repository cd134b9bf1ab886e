#if Messaging
  internal import Essentials
  internal import XMPPWire

  /// Connecting, ending, failing, and connecting again.
  extension StreamMachine {
    private static let redirectCountMax = 3
    private static let extensibleFailureCountMax = 2
    private static let blamingErrorCountMax = 2
    /// The stanzas delivered without progress from which on a bound of the server is not blamed on a stanza that was sent.
    private static let overrunCountMin: UInt64 = 1_000
    private static let extensibleAvoidance: TimeSpan = .seconds(3_600)
    /// How late bytes of an abandoned connection may reach the server.
    private static let latenessMax: TimeSpan = .seconds(120)
    private static let abandonmentCountMax = 8
    /// A session that lasts this long was worth its connection.
    private static let stableTime: TimeSpan = .seconds(30)

    mutating func start() {
      switch phase {
      case .stopped:
        pace.forgetFailures()
        isResourceRefused = false
        avoidsExtensibleUntil = nil
        connect()
      case .pausing: connect()
      case .connected(let connection): if connection.stage.isEnding { startsAgain = true }
      case .connecting: break
      }
    }

    mutating func connect() {
      phase = .connecting(deadline: connectingDeadline)
      perform(.open(takeTarget()))
    }

    private var connectingDeadline: Instant { now + pace.connecting(configuration.times) }

    private mutating func takeTarget() -> StreamTarget {
      if let target = nextTarget {
        nextTarget = nil
        return target
      }
      if !triedLocation, let location = session?.location, let target = StreamTarget(location) {
        triedLocation = true
        return target
      }
      return .domain
    }

    /// A pause ends when the network changes, and a connection has to show that it still carries bytes.
    mutating func examine() {
      switch phase {
      case .pausing:
        pace.failureCount = 0
        connect()
      case .connected(let connection): if connection.stage.isOnline { requestAcknowledgement() }
      // The attempt may be made over the network that is gone.
      case .connecting:
        perform(.close)
        connect()
      case .stopped: break
      }
    }

    mutating func stop(keepsSession: Bool) {
      startsAgain = false
      guard case .connected(var connection) = phase else {
        if case .stopped = phase { return }
        return fail(.stopped)
      }
      guard connection.stage.isOnline, let session else {
        if connection.stage.isEnding { return }
        return fail(.stopped)
      }
      writeAcknowledgement()
      guard !keepsSession else { return fail(.stopped) }
      connection.stage = .ending(deadline: now + configuration.times.ending, isClosed: false)
      phase = .connected(connection)
      if session.unacknowledged.isEmpty { closeStream() } else { requestAcknowledgement() }
    }

    /// Ends the stream on this side, once all is acknowledged or the time for that is over.
    mutating func closeStream() {
      guard case .connected(var connection) = phase else { return }
      writeAcknowledgement()
      perform(.write(XMLWriter.closing))
      connection.stage = .ending(deadline: now + configuration.times.ending, isClosed: true)
      phase = .connected(connection)
    }

    /// The server has ended the stream.
    mutating func ended() {
      guard case .connected(let connection) = phase else { return }
      perform(.write(XMLWriter.closing))
      if case .ending(_, let isClosed) = connection.stage {
        // A stream that both sides close ends its session.
        if isClosed { dropSession() }
        return fail(.stopped)
      }
      fail(.ended)
    }

    mutating func closed(_ failure: StreamFailure) {
      switch phase {
      case .stopped, .pausing: break
      case .connecting: fail(failure)
      case .connected(let connection):
        if connection.stage.isEnding { return fail(.stopped) }
        fail(failure)
      }
    }

    /// Tries the next server of the domain at once (RFC 6120, §3.2.1).
    mutating func serverFailed(_ failure: StreamFailure) {
      switch phase {
      case .stopped, .pausing: return
      case .connecting: break
      case .connected(let connection):
        guard !connection.stage.hasSession else { return closed(failure) }
        noteAbandonment(of: connection)
        countExtensibleFailure(connection, failure)
      }
      perform(.close)
      phase = .connecting(deadline: connectingDeadline)
      perform(.open(.domain))
    }

    mutating func streamFailed(_ error: StreamError) {
      guard case .connected(let connection) = phase else { return }
      perform(.write(XMLWriter.closing))
      guard error.condition == .seeOtherHost, connection.isEncrypted,
        let target = error.otherHost.flatMap({ StreamTarget($0) })
      else { return fail(isOverrun(error) ? .overrun(error) : .stream(error)) }
      redirectCount += 1
      guard redirectCount <= Self.redirectCountMax else {
        redirectCount = 0
        return fail(.tooManyRedirects)
      }
      perform(.close)
      nextTarget = target
      phase = .pausing(until: now)
      perform(.offline(.stream(error), retryAt: now))
    }

    /// Whether a stream error is about the stanzas that the server delivered, and not about one that was sent. ejabberd ends
    /// a session with 5,000 unacknowledged ones. It handles a client's stanzas in order, so that acknowledgements wait
    /// behind the messages and receipts before them.
    private func isOverrun(_ error: StreamError) -> Bool {
      guard let session else { return false }
      return [.policyViolation, .resourceConstraint].contains(error.condition)
        && session.receivedSinceProgress >= Self.overrunCountMin
    }

    /// Forgets the session: what the server didn't acknowledge has an unknown fate.
    mutating func dropSession() {
      guard let session else { return }
      perform(.record(.ended))
      let rows = session.unacknowledgedRows
      if !rows.isEmpty { perform(.lost(rows)) }
      self.session = nil
      triedLocation = false
    }

    /// Ends the connection, or the attempt, and plans the next one.
    mutating func fail(_ failure: StreamFailure) {
      var hadSession = false
      if case .connected(let connection) = phase {
        hadSession = connection.stage.hasSession
        if let error = failure.reportedError, connection.stage.carriesXML {
          write(error.element)
          perform(.write(XMLWriter.closing))
        }
        countExtensibleFailure(connection, failure)
        if !failure.isEndByServer { noteAbandonment(of: connection) }
        if let since = connection.onlineSince, now - since >= Self.stableTime {
          pace.forgetFailures()
        }
      }
      perform(.close)
      if case .wrongAcknowledgement = failure { dropSession() }
      // A resumption would bring the stanza again.
      if case .invalidXML(.tooLong) = failure { dropSession() }
      if hadSession, failure.blamedCondition != nil { countBlamingError() }
      if session?.id == nil { dropSession() }
      let retry = isReplacedByAbandoned(failure) ? .soon : failure.retry
      let retryAt = startsAgain ? now : retryTime(retry, after: failure)
      startsAgain = false
      phase = retryAt.map { .pausing(until: $0) } ?? .stopped
      perform(.offline(failure, retryAt: retryAt))
    }

    private mutating func noteAbandonment(of connection: StreamConnection) {
      guard connection.stage.beginsSession(connection.profile) else { return }
      abandonments = abandonments.suffix(Self.abandonmentCountMax - 1) + [now]
    }

    /// Whether a connection that this machine has abandoned may have taken the session's place: its request was read late. The
    /// next session replaces no one, because the server chooses its resource, and each such connection excuses one conflict.
    private mutating func isReplacedByAbandoned(_ failure: StreamFailure) -> Bool {
      guard case .stream(let error) = failure, error.condition == .conflict else { return false }
      abandonments.removeAll { now - $0 > Self.latenessMax }
      guard !abandonments.isEmpty else { return false }
      abandonments.removeFirst()
      isResourceRefused = true
      return true
    }

    /// A resumption would bring the server all unacknowledged stanzas together, for ever: in a new session each is sent
    /// alone, so that it is known which of them ends the stream.
    private mutating func countBlamingError() {
      guard let session, !session.unacknowledged.isEmpty else { return }
      blamingErrorCount += 1
      guard blamingErrorCount >= Self.blamingErrorCountMax else { return }
      blamingErrorCount = 0
      dropSession()
    }

    /// A server with which the extensible profile leads to no session, twice in sequence, gets the core profile.
    private mutating func countExtensibleFailure(
      _ connection: StreamConnection, _ failure: StreamFailure
    ) {
      guard connection.profile == .extensible, !connection.stage.hasSession else { return }
      switch failure {
      case .transport, .tls, .silent, .ended, .stream, .invalidXML, .unexpected, .invalidExchange,
        .serverNotAuthenticated, .wrongAcknowledgement:
        extensibleFailureCount = min(extensibleFailureCount + 1, Self.extensibleFailureCountMax)
        if extensibleFailureCount == Self.extensibleFailureCountMax {
          avoidExtensibleProfile(connection)
        }
      default: break
      }
    }

    /// Uses the core profile for an hour. A server without a usable mechanism in the core profile could never be
    /// authenticated with.
    mutating func avoidExtensibleProfile(_ connection: StreamConnection) {
      guard strongest(.core, connection) != nil else { return }
      avoidsExtensibleUntil = now + Self.extensibleAvoidance
    }

    private mutating func retryTime(
      _ retry: StreamFailure.Retry, after failure: StreamFailure
    ) -> Instant? {
      if retry == .never { return nil }
      let times = configuration.times
      let (failureCount, limit) = pace.countFailure(failure, times)
      let (shortest, longest): (Int64, Int64)
      switch retry {
      case .never: return nil
      case .late:
        longest = times.longestPause.nanoseconds
        shortest = longest / 2
      case .soon:
        let first = max(0, min(times.firstPause, limit).nanoseconds)
        let (doubled, overflow) = first.multipliedReportingOverflow(
          by: 1 << min(20, failureCount))
        longest =
          overflow ? limit.nanoseconds : min(doubled, limit.nanoseconds)
        // Clients that lost their server together come back at different times.
        shortest = failureCount == 0 ? 0 : longest / 2
      }
      let spread = Double(max(0, longest - shortest)) * chance.unit()
      return now + TimeSpan(nanoseconds: shortest + Int64(spread))
    }

    mutating func wakeConnection() {
      guard case .connected(let connection) = phase,
        let due = connection.nextWake(configuration.times, pace), due <= now
      else { return }
      switch connection.stage {
      case .online:
        guard connection.request != nil else { return requestAcknowledgement() }
        pace.noteSilence()
        fail(.silent)
      case .ending(_, let isClosed):
        guard isClosed else { return closeStream() }
        dropSession()
        fail(.stopped)
      case .bound(let jid, let enabled): beginBoundSession(jid, enabled)
      default: fail(.silent)
      }
    }
  }

  extension StreamFailure {
    /// Whether the server has ended the stream itself, after all that this machine had sent.
    fileprivate var isEndByServer: Bool {
      switch self {
      case .stream, .overrun, .ended: true
      default: false
      }
    }

    /// The error that the server gets before the connection ends.
    fileprivate var reportedError: StreamError? {
      switch self {
      case .invalidXML(let error): StreamError(error.condition)
      case .unexpected: StreamError(.unsupportedStanzaType)
      case .wrongAcknowledgement: StreamError(.undefinedCondition)
      // An end of the stream would end the session at a server that is only slow, so that it could not be resumed.
      case .silent: nil
      default: nil
      }
    }
  }

  extension StreamTarget {
    /// Reads `host`, `host:port` or `[IPv6]:port`; nil for anything else.
    init?(_ text: String) {
      guard text.utf8.count <= 300, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        return nil
      }
      let host: Substring
      var rest: Substring
      if text.hasPrefix("[") {
        guard let end = text.firstIndex(of: "]") else { return nil }
        host = text[text.index(after: text.startIndex)..<end]
        rest = text[text.index(after: end)...]
      } else if text.filter({ $0 == ":" }).count > 1 {
        // An IPv6 address without brackets has no port.
        host = text[...]
        rest = ""
      } else {
        host = text.prefix { $0 != ":" }
        rest = text[host.endIndex...]
      }
      guard !host.isEmpty else { return nil }
      guard !rest.isEmpty else {
        self = .host(String(host), port: nil)
        return
      }
      guard rest.removeFirst() == ":", let port = UInt16(rest), port > 0 else { return nil }
      self = .host(String(host), port: port)
    }
  }
#endif
