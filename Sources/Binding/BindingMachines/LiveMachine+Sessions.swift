import Essentials

extension LiveMachine {
  /// The index of a tab's page; nil if no page has the name in it.
  func page(of tab: TabName) -> Int? {
    guard let name = tab.page else { return pages.isEmpty ? nil : 0 }
    return pages.firstIndex { $0.name == name }
  }

  // MARK: Beginning

  /// Makes a session, with a view model if it needs one: that of the document which the tab had
  /// before, or a new one. The session of the earlier document ends later by itself: a message that
  /// it has sent when it was left may still be on its way.
  mutating func makeSession(
    for tab: TabName, page: Int, _ now: Instant, _ actions: inout [Action]
  ) {
    let earlier = tab.key.flatMap { holders[$0] }.flatMap { sessions[$0] }
    let model = sharedModels[page] ?? earlier?.model ?? makeModel(of: page, for: tab, &actions)
    sessionCount += 1
    assert(sessions[tab] == nil, "\(tab.text) has a session")
    sessions[tab] = ClientSession(model: model, epoch: "\(epoch).\(sessionCount)", now: now)
    models[existing: model].tabs.insert(tab)
    if let key = tab.key { holders[key] = tab }
  }

  private mutating func makeModel(
    of page: Int, for tab: TabName, _ actions: inout [Action]
  ) -> ModelID {
    modelCount += 1
    let model = ModelID(number: modelCount)
    models[model] = Model(
      page: page, name: "\(epoch).\(modelCount)", state: PageState(schema: pages[page].schema))
    if pages[page].isShared { sharedModels[page] = model }
    actions.append(.makeModel(model, page: page, for: tab))
    return model
  }

  // MARK: End

  /// Ends a session, and its view model unless others share it.
  mutating func endSession(_ tab: TabName, _ actions: inout [Action]) {
    guard let session = sessions.removeValue(forKey: tab) else { return }
    if let key = tab.key, holders[key] == tab { holders[key] = nil }
    models[existing: session.model].tabs.remove(tab)
    let model = models[existing: session.model]
    guard !pages[model.page].isShared, model.tabs.isEmpty else {
      return endUploads(of: tab, &actions)
    }
    endUploads(of: tab, orOf: session.model, &actions)
    if model.isShown { actions.append(.disappear(session.model)) }
    models[session.model] = nil
    actions.append(.releaseModel(session.model))
  }

  /// Notes that the pages of tabs were left. A stream whose pages all were left ends: a browser that
  /// stores them, to come back to, may leave it open without reading it.
  mutating func leave(_ tabs: [TabName], _ now: Instant, _ actions: inout [Action]) {
    var left: Set<StreamID> = []
    for tab in tabs where sessions[tab] != nil {
      sessions[existing: tab].leave()
      if let end = sessions[existing: tab].end { schedule(max(end, now), isCoarse: true) }
      if let stream = sessions[existing: tab].stream { left.insert(stream) }
    }
    for stream in left.sorted(by: { $0.number < $1.number }) {
      let isShown = streams[existing: stream].tabs.contains { tab in
        sessions[tab].map { $0.stream == stream && !$0.hasLeft } ?? false
      }
      if isShown { continue }
      close(stream, now)
      actions.append(.end(stream))
    }
  }

  /// Notifies view models whose tabs all have been without a stream for a while that they have
  /// disappeared. A browser opens its stream anew for each tab that comes or goes, and a page that is
  /// loaded again is away for a moment, too.
  private mutating func noteDisappearances(_ now: Instant, _ actions: inout [Action]) {
    var gone: [ModelID] = []
    for (model, shown) in models where shown.isShown {
      var last = Instant.zero
      let isConnected = shown.tabs.contains { tab in
        guard let since = sessions[tab]?.idleSince else { return true }
        last = max(last, since)
        return false
      }
      guard !isConnected else { continue }
      let end = last + BindingLimits.disappearanceTime
      if end <= now { gone.append(model) } else { schedule(end, isCoarse: true) }
    }
    for model in gone.sorted(by: { $0.number < $1.number }) {
      models[existing: model].isShown = false
      actions.append(.disappear(model))
    }
  }

  /// Ends sessions that have been without a stream for too long.
  mutating func endIdleSessions(_ now: Instant, _ actions: inout [Action]) {
    noteDisappearances(now, &actions)
    var waitingCount = 0
    var over: [TabName] = []
    for (tab, session) in sessions {
      guard let end = session.end else { continue }
      if end <= now {
        over.append(tab)
      } else {
        waitingCount += 1
        schedule(end, isCoarse: true)
      }
    }
    for tab in over.sorted(by: { $0.text < $1.text }) { endSession(tab, &actions) }
    if waitingCount > BindingLimits.waitingCountMax { endSurplusSessions(&actions) }
  }

  /// Ends sessions without a stream, those that have waited longest first, of which too many have
  /// view models of their own.
  private mutating func endSurplusSessions(_ actions: inout [Action]) {
    var waiting: [(since: Instant, tab: TabName)] = []
    for (tab, session) in sessions {
      guard let since = session.idleSince, let model = models[session.model],
        !pages[model.page].isShared,
        // An earlier document shares the view model of the tab's latest one.
        tab.key.map({ holders[$0] == tab }) ?? true
      else { continue }
      waiting.append((since, tab))
    }
    let surplus = waiting.count - BindingLimits.waitingCountMax
    guard surplus > 0 else { return }
    waiting.sort { ($0.since, $0.tab.text) < ($1.since, $1.tab.text) }
    for (_, tab) in waiting.prefix(surplus) { endSession(tab, &actions) }
  }
}
