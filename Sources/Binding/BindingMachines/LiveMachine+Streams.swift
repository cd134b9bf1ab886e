import Essentials
import JSONWire

extension LiveMachine {
  // MARK: Opening and closing

  mutating func open(
    _ stream: StreamID, _ tabs: [TabName], _ now: Instant, _ actions: inout [Action]
  ) {
    guard !tabs.isEmpty, tabs.count <= BindingLimits.tabCountMax,
      Set(tabs).count == tabs.count
    else { return actions.append(.refuse(stream, .badTabs)) }
    var opened: [(tab: TabName, page: Int)] = []
    for tab in tabs {
      guard let page = page(of: tab) else { return actions.append(.refuse(stream, .unknownPage)) }
      opened.append((tab, page))
    }
    let added = tabs.count { sessions[$0] == nil }
    guard makeRoom(for: added, besides: Set(tabs), &actions) else {
      counters.refused += tabs.count
      return actions.append(.refuse(stream, .noRoom))
    }
    assert(streams[stream] == nil, "the number of \(stream) is used once")
    streams[stream] = Stream(tabs: tabs, lastWrite: now)
    schedule(now + BindingLimits.heartbeatInterval, isCoarse: true)
    var shown: [ModelID] = []
    for (tab, page) in opened {
      if sessions[tab] == nil { makeSession(for: tab, page: page, now, &actions) }
      if let old = sessions[existing: tab].stream { replace(old, now, &actions) }
      sessions[existing: tab].attach(to: stream)
      let model = sessions[existing: tab].model
      if !shown.contains(model) { shown.append(model) }
    }
    // While no tab was connected nothing was captured, so capture before the snapshot is written.
    for model in shown {
      if !models[existing: model].isShown {
        models[existing: model].isShown = true
        actions.append(.appear(model))
      }
      models[existing: model].awaitsCapture = true
      actions.append(.capture(model))
    }
  }

  /// Ends sessions that wait for their tabs, those that have waited longest first, if there are too
  /// many.
  private mutating func makeRoom(
    for count: Int, besides tabs: Set<TabName>, _ actions: inout [Action]
  ) -> Bool {
    let surplus = sessions.count + count - BindingLimits.sessionCountMax
    guard surplus > 0 else { return true }
    let waiting = sessions.filter { $0.value.idleSince != nil && !tabs.contains($0.key) }
      .sorted {
        ($0.value.idleSince ?? .zero, $0.key.text) < ($1.value.idleSince ?? .zero, $1.key.text)
      }
    guard waiting.count >= surplus else { return false }
    for (tab, _) in waiting.prefix(surplus) { endSession(tab, &actions) }
    return true
  }

  /// Ends a stream of which another one takes a tab, with all its tabs. If its browser still has it, it
  /// came late and the newer stream is the one that is gone: the browser connects again for all.
  private mutating func replace(
    _ stream: StreamID, _ now: Instant, _ actions: inout [Action]
  ) {
    close(stream, now)
    actions.append(.end(stream))
  }

  mutating func close(_ stream: StreamID, _ now: Instant) {
    guard let closed = streams.removeValue(forKey: stream) else { return }
    for tab in closed.tabs where sessions[tab]?.stream == stream {
      sessions[existing: tab].detach(now: now)
      // Soon, for there may be too many of them.
      schedule(now + .seconds(1), isCoarse: true)
    }
  }

  // MARK: Capturing

  /// The streams with tabs that show a model, in order.
  func streamsShowing(_ model: ModelID) -> [StreamID] {
    let streams = Set((models[model]?.tabs ?? []).compactMap { sessions[$0]?.stream })
    return streams.sorted { $0.number < $1.number }
  }

  /// Captures a model's changes as soon as one of its tabs may get a patch. While no tab may, the
  /// capture waits, so that changes made until then are read once.
  mutating func captureIfDue(_ model: ModelID, _ now: Instant, _ actions: inout [Action]) {
    guard let shown = models[model], shown.isDirty else { return }
    var next = Instant.distantFuture
    for tab in shown.tabs {
      guard let session = sessions[tab], let stream = session.stream,
        streams[stream]?.writingSince == nil
      else { continue }
      next = min(next, nextPatch(for: session))
    }
    guard next < .distantFuture else { return }
    capture(model, at: max(next, shown.nextCapture), now, &actions)
  }

  /// The same for the models of one stream's tabs, which can take patches again.
  mutating func captureIfDue(
    forTabsOf stream: StreamID, _ now: Instant, _ actions: inout [Action]
  ) {
    for tab in streams[stream]?.tabs ?? [] {
      guard let session = sessions[tab], let shown = models[session.model], shown.isDirty else {
        continue
      }
      let next = nextPatch(for: session)
      capture(session.model, at: max(next, shown.nextCapture), now, &actions)
    }
  }

  /// When a tab may get its next patch. Where many clients have just got patches, those that have
  /// got theirs last wait longest.
  private func nextPatch(for session: ClientSession) -> Instant {
    let next = session.nextPatch
    if session.isUrgent { return next }
    return max(next, min(nextSharedPatch, next + BindingLimits.sharedPatchDelayMax))
  }

  private mutating func capture(
    _ model: ModelID, at time: Instant, _ now: Instant, _ actions: inout [Action]
  ) {
    if time <= now { actions.append(.capture(model)) } else { schedule(time) }
  }

  // MARK: Writing

  /// Writes what the tabs of a stream lack and may get by now, if no write is under way.
  mutating func flush(_ stream: StreamID, _ now: Instant, _ actions: inout [Action]) {
    guard let tabs = streams[stream]?.tabs, streams[stream]?.writingSince == nil else { return }
    var bytes: [UInt8] = []
    var isShared = false
    for tab in tabs {
      guard let session = sessions[tab], let model = models[session.model],
        !model.awaitsCapture, session.lacks(model.state.revision)
      else { continue }
      let next = nextPatch(for: session)
      guard next <= now else {
        schedule(next)
        continue
      }
      if !session.isUrgent { isShared = true }
      bytes += event(for: tab, of: session.model, now)
    }
    guard !bytes.isEmpty else { return }
    // A write costs the same, however many tabs it is for.
    if isShared { sharedPatchCount += 1 }
    write(bytes, to: stream, now, &actions)
  }

  private mutating func event(
    for tab: TabName, of model: ModelID, _ now: Instant
  ) -> [UInt8] {
    guard let session = sessions.index(forKey: tab), let shown = models.index(forKey: model)
    else { preconditionFailure("\(tab.text) doesn't show \(model)") }
    if sessions.values[session].isFollowing {
      counters.patches += 1
    } else {
      counters.snapshots += 1
    }
    let name = models.values[shown].name
    return sessions.values[session].takeEvent(
      for: tab, of: name, state: &models.values[shown].state, now: now)
  }

  private mutating func write(
    _ bytes: [UInt8], to stream: StreamID, _ now: Instant, _ actions: inout [Action]
  ) {
    assert(streams[existing: stream].writingSince == nil, "a write is under way on \(stream)")
    streams[existing: stream].writingSince = now
    streams[existing: stream].lastWrite = now
    schedule(now + BindingLimits.heartbeatInterval, isCoarse: true)
    actions.append(.write(stream, bytes))
  }

  // MARK: Signs of life

  /// Notes that the browser of some tabs is there. Tabs without a stream have just come or gone; if
  /// there are no others, the browser's stream has ended, and it doesn't know.
  mutating func takeBeat(
    of tabs: [TabName], _ request: RequestID, _ now: Instant, _ actions: inout [Action]
  ) {
    let found = Set(tabs.compactMap { sessions[$0]?.stream })
    for stream in found { streams[existing: stream].lastBeat = now }
    if found.isEmpty { counters.conflicts += 1 }
    actions.append(.answer(request, found.isEmpty ? .conflict : .accepted))
  }

  /// A message is a sign of life, too, of a browser that gives them.
  mutating func noteLife(ofStreamOf tab: TabName, _ now: Instant) {
    guard let stream = sessions[tab]?.stream, streams[stream]?.lastBeat != nil else { return }
    streams[existing: stream].lastBeat = now
  }

  // A comment for proxies, and an event for scripts, which don't see comments.
  private static let heartbeat = Array(":\nevent: beat\ndata: 1\n\n".utf8)

  /// Gives a sign of life on a stream that has been silent, and ends one that isn't read, or whose
  /// browser gives no sign of life any more.
  mutating func keepAlive(_ stream: StreamID, _ now: Instant, _ actions: inout [Action]) {
    guard let open = streams[stream] else { return }
    if let end = open.lastBeat.map({ $0 + BindingLimits.silenceMax }) {
      guard end > now else {
        counters.silent += 1
        close(stream, now)
        return actions.append(.end(stream))
      }
      schedule(end, isCoarse: true)
    }
    if let since = open.writingSince {
      let end = since + BindingLimits.writeTimeMax
      guard end <= now else { return schedule(end, isCoarse: true) }
      counters.stalled += 1
      close(stream, now)
      actions.append(.end(stream))
    } else {
      let next = open.lastWrite + BindingLimits.heartbeatInterval
      guard next <= now else { return schedule(next, isCoarse: true) }
      write(Self.heartbeat, to: stream, now, &actions)
    }
  }
}
