internal import BluetoothInterface
internal import Synchronization

/// Receives a host's events.
protocol HostEventHandler: AnyObject, Sendable {
  /// Called on the manager's queue, one event after the other.
  func handle(_ event: HostEvent)
  /// Called on the host's thread for an event that changes the subscribers of a value, before it is
  /// passed to the queue: the app may send a value as soon as a central knows that it has subscribed.
  func subscribersChange(_ event: HostEvent)

  /// Whether there is a delegate, which hears of a restored state.
  var hasDelegate: Bool { get }
  /// Called on the host's thread with what the host has kept since an earlier process of the app, before the
  /// events that follow.
  func restoredOnHost(_ holdings: SessionHoldings)
  /// Called on the queue with the host's answer to the opening of a session that is to be kept.
  func attached(_ attachment: SessionAttachment)
  /// Called on the queue when the links are known that were open when the earlier process ended, to restore the kept
  /// state before the events that follow.
  func restore()
}

extension HostEventHandler {
  func subscribersChange(_ event: HostEvent) {}
  func restoredOnHost(_ holdings: SessionHoldings) {}
  func restore() {}
}

/// A manager's connection with its host: requests with their completions, events on the manager's
/// queue in the order in which they happened, and the bytes of channels past the queue.
final class HostConnection: Sendable {
  typealias Completion = @Sendable (Result<HostReply, HostError>) -> Void
  /// Called with how many requests with a token have been completed.
  typealias CompletionCounter = @Sendable (Int, RequestToken) -> Void

  private enum Item: Sendable {
    case attached(SessionAttachment)
    case events([HostEvent])
    case work(@Sendable () -> Void)

    /// Whether a state is restored with it.
    var isRestoration: Bool {
      if case .attached(let attachment) = self { attachment.holdings != nil } else { false }
    }
  }

  private struct State: Sendable {
    weak var handler: (any HostEventHandler)?
    var session: (any HostSession)?
    /// Requests made before `session` was set: a host that is powered on already reports that, and the
    /// app reacts, while the session is being opened.
    var early: [HostRequest] = []
    var isClosed = false
    var lastToken: UInt64 = 0
    var completions: [RequestToken: Completion] = [:]
    /// By tokens that many requests share.
    var counters: [RequestToken: CompletionCounter] = [:]
    var channels: [ChannelID: ChannelPipe] = [:]
    var channelSends: [RequestToken: (pipe: ChannelPipe, byteCount: Int)] = [:]
    /// A restored state and all that follows it, until there is a delegate. The host bounds it, since events
    /// here are not acknowledged.
    var held: [Item]?
    /// Whether a state is to be restored before the next event that is not about an open link.
    var isRestoring = false
  }

  private let state = Mutex(State())
  private let inbox: DeliveryQueue<Item>
  /// Events that were handled and not acknowledged to the host yet.
  private let handledCount = Atomic(0)

  init(queue: DispatchQueue) {
    inbox = DeliveryQueue(queue: queue)
  }

  /// Opens a session with the host. The handler gets events on the queue from now on.
  func open(
    _ host: any HostSessionProvider, _ preservation: Preservation = .none,
    handler: any HostEventHandler
  ) {
    state.withLock { $0.handler = handler }
    inbox.start { [weak self] in self?.handle($0) }
    let session = openSession(host, preservation)
    while true {
      let early = state.withLock { state in
        if state.early.isEmpty, !state.isClosed { state.session = session }
        defer { state.early = [] }
        return state.early
      }
      if early.isEmpty { break }
      for request in early { session.send(request) }
    }
    if state.withLock({ $0.isClosed }) { session.close() }
  }

  private func openSession(
    _ host: any HostSessionProvider, _ preservation: Preservation
  ) -> any HostSession {
    let inbox = inbox
    guard preservation.isKept, let keeping = host as? any KeepingSessionProvider else {
      return host.openSession(
        name: preservation.name, acknowledgesEvents: true, settle: { inbox.settle() },
        onEvents: { [weak self] in self?.receive($0) })
    }
    return keeping.openSession(
      name: preservation.name, keptFor: Limits.keptTime, acknowledgesEvents: true,
      settle: { inbox.settle() }, onAttached: { [weak self] in self?.receive($0) },
      onEvents: { [weak self] in self?.receive($0) })
  }

  /// The host's loop; nil before there is a session, and after its end.
  var loop: (any SessionLoop)? { state.withLock { $0.session }?.loop }

  /// The host's calendar time, which is virtual where the host's time is.
  var absoluteTime: CFAbsoluteTime { state.withLock { $0.session }?.loop.calendarTime ?? 0 }

  /// Ends everything; no event is handed over after the one that is being handled.
  func close() {
    let old = state.withLock { state in
      let old = state
      state = State()
      state.isClosed = true
      state.lastToken = old.lastToken
      return old
    }
    inbox.close()
    for pipe in old.channels.values { pipe.closedByHost(.cancelled) }
    old.session?.close()
  }

  /// Sends a request that is not answered.
  func send(_ request: HostRequest) {
    let session = state.withLock { state in
      if state.session == nil, !state.isClosed { state.early.append(request) }
      return state.session
    }
    session?.send(request)
  }

  /// Sends a request; its completion runs on the queue.
  func request(
    _ make: (RequestToken) -> HostRequest, completion: @escaping Completion
  ) {
    let token = state.withLock { state in
      state.lastToken += 1
      let token = RequestToken(rawValue: state.lastToken)
      if !state.isClosed { state.completions[token] = completion }
      return token
    }
    send(make(token))
  }

  /// Makes a token for any number of requests of which it only matters how many were completed;
  /// `counter` is called on the queue, once for those that were completed together.
  func makeToken(counter: @escaping CompletionCounter) -> RequestToken {
    state.withLock { state in
      state.lastToken += 1
      let token = RequestToken(rawValue: state.lastToken)
      if !state.isClosed { state.counters[token] = counter }
      return token
    }
  }

  /// Forgets a token that was made with a counter.
  func removeToken(_ token: RequestToken) {
    let counter = state.withLock { $0.counters.removeValue(forKey: token) }
    _ = counter  // released outside the lock
  }

  /// Runs something on the queue, after the events that came before.
  func enqueue(_ work: @escaping @Sendable () -> Void) {
    inbox.post(.work(work))
    state.withLock { $0.session }?.hasWork()
  }

  // MARK: Channels

  /// Sends bytes of a channel; its pipe is notified when they were sent.
  func send(_ bytes: [UInt8], on pipe: ChannelPipe) {
    let token = state.withLock { state in
      state.lastToken += 1
      let token = RequestToken(rawValue: state.lastToken)
      if !state.isClosed { state.channelSends[token] = (pipe, bytes.count) }
      return token
    }
    send(.sendOnChannel(pipe.info.id, bytes, token))
  }

  func closeChannel(_ pipe: ChannelPipe) {
    let isOpen = state.withLock { $0.channels.removeValue(forKey: pipe.info.id) != nil }
    if isOpen { send(.closeChannel(pipe.info.id)) }
  }

  /// The pipe of a channel that was just opened; nil if it closed again.
  func pipe(of id: ChannelID) -> ChannelPipe? { state.withLock { $0.channels[id] } }

  // MARK: Events, on the queue

  private func handle(_ batch: [Item]) {
    let handler = state.withLock { $0.handler }
    var items = state.withLock { $0.held.take() }.map { $0 + batch } ?? batch
    if let first = items.firstIndex(where: \.isRestoration), handler?.hasDelegate == false {
      let waiting = Array(items[first...])
      state.withLock { if !$0.isClosed { $0.held = waiting } }
      items.removeSubrange(first...)
      // It may have been set just before the items were put aside.
      if handler?.hasDelegate == true { inbox.post(.work {}) }
    }
    for item in items where !inbox.isClosed {
      switch item {
      case .attached(let attachment):
        handler?.attached(attachment)
        state.withLock { $0.isRestoring = attachment.holdings != nil }
      case .events(let events): handle(restored(events, handler), handler)
      case .work(let work): work()
      }
    }
  }

  /// Restores a state if these events begin with the open links of an earlier process. Returns the others.
  private func restored(
    _ events: [HostEvent], _ handler: (any HostEventHandler)?
  ) -> [HostEvent] {
    guard state.withLock({ $0.isRestoring }) else { return events }
    let links = events.prefix(while: \.isAboutOpenLink)
    handle(Array(links), handler)
    let left = Array(events[links.endIndex...])
    guard !left.isEmpty, !inbox.isClosed else { return left }
    state.withLock { $0.isRestoring = false }
    handler?.restore()
    return left
  }

  /// There is another delegate: what waits for one is delivered to it.
  func delegateChanged() {
    if state.withLock({ $0.held != nil }) { enqueue {} }
  }

  private func handle(_ events: [HostEvent], _ handler: (any HostEventHandler)?) {
    var count = 0
    var index = 0
    while index < events.count, !inbox.isClosed {
      let first = index
      index += 1
      switch events[first] {
      case .acknowledgementRequested:
        count += 1
        acknowledge(&count, atOnce: true)
        continue
      case .completed(let token, let result):
        while index < events.count, events[index].completes(token) { index += 1 }
        complete(token, result, count: index - first)
      default: handler?.handle(events[first])
      }
      count += index - first
      if count >= Limits.acknowledgedBatch { acknowledge(&count) }
    }
    acknowledge(&count)
  }

  private func complete(
    _ token: RequestToken, _ result: Result<HostReply, HostError>, count: Int
  ) {
    let (completion, counter) = state.withLock { state in
      (state.completions.removeValue(forKey: token), state.counters[token])
    }
    completion?(result)
    counter?(count, token)
  }

  /// Counts events as handled, and acknowledges them when there are enough or the host waits for it.
  private func acknowledge(_ count: inout Int, atOnce: Bool = false) {
    let unacknowledged = handledCount.add(count, ordering: .relaxed).newValue
    count = 0
    guard atOnce || unacknowledged >= Limits.acknowledgedBatch else { return }
    // The first events may come before there is a session to acknowledge them with.
    guard let session = state.withLock({ $0.session }) else { return }
    let taken = handledCount.exchange(0, ordering: .relaxed)
    if taken > 0 { session.eventsHandled(taken) }
  }

  // MARK: Events, on the host's thread

  /// Passes the answer to the opening to the queue.
  private func receive(_ attachment: SessionAttachment) {
    if let holdings = attachment.holdings {
      state.withLock { $0.handler }?.restoredOnHost(holdings)
    }
    inbox.post(.attached(attachment))
  }

  /// Passes events to the queue. Bytes of channels go past it.
  private func receive(_ events: [HostEvent]) {
    if events.contains(where: \.changesSubscribers) {
      let handler = state.withLock { $0.handler }
      for event in events where event.changesSubscribers { handler?.subscribersChange(event) }
    }
    let isSending = state.withLock { !$0.channelSends.isEmpty }
    guard isSending || events.contains(where: \.concernsChannel) else {
      return inbox.post(.events(events))
    }
    let left = events.filter { !isHandledHere($0) }
    if !left.isEmpty { inbox.post(.events(left)) }
  }

  /// Handles the events of channels at once; returns false for events that are queued, too.
  private func isHandledHere(_ event: HostEvent) -> Bool {
    switch event {
    case .channelReceived(let id, let bytes):
      pipe(of: id)?.received(bytes)
      return true
    case .channelClosed(let id, let error):
      state.withLock { $0.channels.removeValue(forKey: id) }?.closedByHost(error)
      return true
    case .channelOpened(let info), .completed(_, .success(.channel(let info))):
      // Bytes may arrive before the app's queue learns that the channel is open.
      openPipe(info)
    case .completed(let token, _):
      // Acknowledged in its place among the events.
      let sent = state.withLock { $0.channelSends.removeValue(forKey: token) }
      sent?.pipe.sent(sent?.byteCount ?? 0)
    default: break
    }
    return false
  }

  private func openPipe(_ info: ChannelInfo) {
    let pipe = ChannelPipe(info: info, connection: self)
    state.withLock { if !$0.isClosed { $0.channels[info.id] = pipe } }
  }
}

extension HostEvent {
  /// Whether it completes a request with this token.
  fileprivate func completes(_ token: RequestToken) -> Bool {
    if case .completed(token, _) = self { true } else { false }
  }

  /// Whether it is about a link that is open, or the host's own.
  fileprivate var isAboutOpenLink: Bool {
    switch self {
    case .linkOpened, .linkUpdated, .acknowledgementRequested: true
    default: false
    }
  }

  /// Whether a central subscribes or unsubscribes with it, or is gone.
  fileprivate var changesSubscribers: Bool {
    switch self {
    case .subscribed, .unsubscribed, .linkClosed: true
    default: false
    }
  }

  /// Whether it opens, closes or fills a channel.
  fileprivate var concernsChannel: Bool {
    switch self {
    case .channelOpened, .channelReceived, .channelClosed, .completed(_, .success(.channel)): true
    default: false
    }
  }
}
