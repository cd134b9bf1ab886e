package import Essentials
import JSONWire

/// Keeps the tabs of all browsers equal to the view models that they show.
///
/// Whoever drives it owns the view models, streams and requests. It says when to make a view model,
/// to perform operations on it, to read what has changed (``Action/capture(_:)``), and what to write
/// to which stream. One write at a time is under way on each stream; what changes meanwhile is
/// merged, so that a slow client costs no more than what is shown.
package struct LiveMachine {
  package enum Event: Sendable {
    /// A stream was asked for, for these tabs.
    case streamOpened(StreamID, [TabName])
    /// A stream has ended, from either side.
    case streamClosed(StreamID)
    /// What was last written to a stream is on its way: its connection takes more.
    case written(StreamID)
    case received(RequestID, PageMessage)
    /// Something of the model has changed. Said once until it is captured.
    case changed(ModelID)
    /// What had changed has been put into the model's state.
    case captured(ModelID)
  }

  package enum Action: Hashable, Sendable {
    case makeModel(ModelID, page: Int)
    case releaseModel(ModelID)
    case perform(ModelID, [BindingOperation])
    /// Read what has changed of the model, into ``LiveMachine/update(_:_:)``, and say `captured`.
    case capture(ModelID)
    case write(StreamID, [UInt8])
    case end(StreamID)
    case refuse(StreamID, Refusal)
    case answer(RequestID, Answer)
  }

  /// Why there is no stream.
  package enum Refusal: Hashable, Sendable {
    /// There is no page of the name that a tab has.
    case unknownPage
    /// There are as many tabs as there can be.
    case noRoom
    /// The tabs are none, or too many for one stream.
    case badTabs
  }

  package enum Answer: Hashable, Sendable {
    case accepted
    /// The tab is unknown, or the message is for another session of it: it needs a snapshot.
    case conflict
    /// What was asked for isn't there.
    case malformed(String)
  }

  /// A page: its name in that of its tabs, what it may name, and whether all tabs have one view
  /// model.
  package struct Page: Sendable {
    package var name: String
    package var schema: BindingSchema
    package var isShared: Bool

    package init(name: String, schema: BindingSchema, isShared: Bool) {
      self.name = name
      self.schema = schema
      self.isShared = isShared
    }
  }

  struct Model {
    let page: Int
    /// Names it, and no other of any server.
    let name: String
    var state: PageState
    /// Whether something has changed that isn't captured.
    var isDirty = false
    var lastCapture: Instant?
    /// Whether a tab has come for which it must be captured before it is sent.
    var awaitsCapture = false
    var tabs: Set<TabName> = []

    /// What had changed is in the state.
    mutating func noteCapture(_ now: Instant) {
      isDirty = false
      awaitsCapture = false
      lastCapture = now
      state.commit()
    }

    /// When it may be captured again because it has changed: what many clients get is read once.
    var nextCapture: Instant { lastCapture.map { $0 + BindingLimits.patchInterval.half } ?? .zero }
  }

  struct Stream {
    var tabs: [TabName]
    /// Since when a write is under way.
    var writingSince: Instant?
    var lastWrite: Instant
  }

  let pages: [Page]
  private let epoch: String
  var models: [ModelID: Model] = [:]
  var sessions: [TabName: ClientSession] = [:]
  var streams: [StreamID: Stream] = [:]
  /// When clients get again what isn't urgent: later if many of them have just got patches.
  private(set) var nextSharedPatch = Instant.zero
  /// Writes of patches that aren't urgent since an event, which move that on once all are made.
  var sharedPatchCount: Int64 = 0
  var sharedModels: [Int: ModelID] = [:]
  private var modelCount = 0
  private var sessionCount = 0
  package internal(set) var counters = Counters()

  /// When to call ``wake(now:into:)``; nil if not at all.
  package internal(set) var nextWake: Instant?

  /// A machine without tabs.
  ///
  /// - Parameters:
  ///   - pages: The first one is that of tabs without the name of a page.
  ///   - epoch: Chance, so that a tab that outlives this process sees that it talks to another.
  package init(pages: [Page], epoch: UInt64) {
    self.pages = pages
    self.epoch = String(epoch, radix: 36)
  }

  /// What has happened since the start, for whoever looks after the server.
  package struct Counters: Hashable, Sendable {
    package var snapshots = 0
    package var patches = 0
    package var messages = 0
    /// Messages that came again.
    package var duplicates = 0
    /// Messages for another epoch, or with others missing before them.
    package var conflicts = 0
    package var malformed = 0
    /// Tabs that had no room.
    package var refused = 0
    /// Streams whose client didn't read.
    package var stalled = 0
  }

  // MARK: Events

  /// Takes an event.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    defer { endEvent(event, now) }
    switch event {
    case .streamOpened(let stream, let tabs): open(stream, tabs, now, &actions)
    case .streamClosed(let stream): close(stream, now)
    case .written(let stream):
      guard streams[stream] != nil else { return }
      streams[existing: stream].writingSince = nil
      captureIfDue(forTabsOf: stream, now, &actions)
      flush(stream, now, &actions)
    case .received(let request, let message): receive(message, request, now, &actions)
    case .changed(let model):
      guard models[model] != nil else { return }
      models[existing: model].isDirty = true
      captureIfDue(model, now, &actions)
    case .captured(let model):
      guard models[model] != nil else { return }
      models[existing: model].noteCapture(now)
      for stream in streamsShowing(model) { flush(stream, now, &actions) }
    }
  }

  private mutating func endEvent(_ event: Event, _ now: Instant) {
    countSharedPatches(now)
    switch event {
    case .streamOpened, .streamClosed, .received, .captured: assertInvariants()
    // They come far more often than the others, and change no table.
    case .written, .changed: break
    }
  }

  /// Does what is due.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    if let nextWake, nextWake > now { return }
    nextWake = nil
    defer {
      countSharedPatches(now)
      assertInvariants()
    }
    endIdleSessions(now, &actions)
    for model in models.keys.sorted(by: { $0.number < $1.number }) {
      captureIfDue(model, now, &actions)
    }
    for stream in streams.keys.sorted(by: { $0.number < $1.number }) {
      flush(stream, now, &actions)
      keepAlive(stream, now, &actions)
    }
  }

  private mutating func countSharedPatches(_ now: Instant) {
    guard sharedPatchCount > 0 else { return }
    let next = max(nextSharedPatch, now) + BindingLimits.sharedPatchInterval * sharedPatchCount
    nextSharedPatch = min(next, now + BindingLimits.sharedPatchDelayMax)
    sharedPatchCount = 0
  }

  /// Puts into a model's state what has changed of it.
  package mutating func update(_ model: ModelID, _ body: (inout PageState) -> Void) {
    guard let index = models.index(forKey: model) else { return }
    body(&models.values[index].state)
  }

  /// What a model's page is shown; nil if there is no such model.
  package func state(of model: ModelID) -> PageState? { models[model]?.state }

  // MARK: Messages

  private mutating func receive(
    _ message: PageMessage, _ request: RequestID, _ now: Instant, _ actions: inout [Action]
  ) {
    counters.messages += 1
    guard let tab = TabName(message.tab), let session = sessions[tab],
      session.epoch == message.epoch, let shown = models[session.model]
    else {
      counters.conflicts += 1
      return actions.append(.answer(request, .conflict))
    }
    let operations: [BindingOperation]
    do throws(PageMessage.Fault) {
      operations = try resolve(message.operations, in: pages[shown.page].schema)
    } catch {
      counters.malformed += 1
      return actions.append(.answer(request, .malformed("\(error)")))
    }
    // Rows that aren't there have no values to show: whoever invents keys fills nothing with them.
    let sets = operations.compactMap { operation -> ValuePath? in
      guard case .set(let path, _) = operation, shown.state.value(at: path) != nil else {
        return nil
      }
      return path
    }
    switch sessions[existing: tab].receive(message.sequence, sets: sets) {
    case .next:
      // What the operations change, what follows from it and the acknowledgement are one patch.
      actions.append(.perform(session.model, operations))
      actions.append(.capture(session.model))
      actions.append(.answer(request, .accepted))
    case .duplicate:
      counters.duplicates += 1
      actions.append(.answer(request, .accepted))
      if let stream = session.stream { flush(stream, now, &actions) }
    case .gap:
      counters.conflicts += 1
      actions.append(.answer(request, .conflict))
    }
  }

  /// Finds what operations name; refuses all if one names what the page doesn't have. A row that
  /// isn't there is no mistake: it may just have gone.
  private func resolve(
    _ operations: [PageMessage.Operation], in schema: BindingSchema
  ) throws(PageMessage.Fault) -> [BindingOperation] {
    var resolved: [BindingOperation] = []
    for operation in operations {
      switch operation {
      case .set(let path, let value):
        let (place, scope, name) = try find(path, in: schema)
        guard let index = scope.value(named: name), scope.values[index].isTwoWay else {
          throw .malformed("\(name) can't be set")
        }
        resolved.append(.set(ValuePath(place, index), value))
      case .call(let path, let argument):
        let (place, scope, name) = try find(path, in: schema)
        guard let index = scope.action(named: name),
          scope.actions[index].takesArgument == (argument != nil)
        else { throw .malformed("\(name) is no action with this many arguments") }
        resolved.append(.call(place, index, argument))
      }
    }
    return resolved
  }

  private func find(
    _ path: PageMessage.Path, in schema: BindingSchema
  ) throws(PageMessage.Fault) -> (BindingPlace, BindingScope, String) {
    switch path {
    case .page(let name): return (.page, schema.page, name)
    case .row(let list, let key, let name):
      guard let index = schema.list(named: list) else { throw .malformed("\(list) is no list") }
      return (.row(list: index, key: key), schema.lists[index].row, name)
    }
  }

  // MARK: Sessions

  /// The page of a tab; nil if there is none of the name in it.
  func page(of tab: TabName) -> Int? {
    guard let name = tab.page else { return pages.isEmpty ? nil : 0 }
    return pages.firstIndex { $0.name == name }
  }

  /// Makes a session, with a view model if it needs one.
  mutating func makeSession(
    for tab: TabName, page: Int, _ now: Instant, _ actions: inout [Action]
  ) {
    let model = sharedModels[page] ?? makeModel(of: page, &actions)
    sessionCount += 1
    assert(sessions[tab] == nil, "\(tab.text) has a session")
    sessions[tab] = ClientSession(model: model, epoch: "\(epoch).\(sessionCount)", now: now)
    models[existing: model].tabs.insert(tab)
  }

  private mutating func makeModel(of page: Int, _ actions: inout [Action]) -> ModelID {
    modelCount += 1
    let model = ModelID(number: modelCount)
    models[model] = Model(
      page: page, name: "\(epoch).\(modelCount)", state: PageState(schema: pages[page].schema))
    if pages[page].isShared { sharedModels[page] = model }
    actions.append(.makeModel(model, page: page))
    return model
  }

  /// Ends a session, and its view model unless others share it.
  mutating func endSession(_ tab: TabName, _ actions: inout [Action]) {
    guard let session = sessions.removeValue(forKey: tab) else { return }
    models[existing: session.model].tabs.remove(tab)
    let model = models[existing: session.model]
    guard !pages[model.page].isShared else { return }
    assert(model.tabs.isEmpty, "\(session.model) is released while a tab shows it")
    models[session.model] = nil
    actions.append(.releaseModel(session.model))
  }

  /// Ends sessions that have been without a stream for too long.
  private mutating func endIdleSessions(_ now: Instant, _ actions: inout [Action]) {
    for (tab, session) in sessions {
      guard let since = session.idleSince else { continue }
      let end = since + BindingLimits.idleTimeMax
      if end <= now { endSession(tab, &actions) } else { schedule(end, isCoarse: true) }
    }
  }

  /// Wakes at a time, or a little later.
  ///
  /// - Parameter isCoarse: Whether a second more or less doesn't matter.
  mutating func schedule(_ time: Instant, isCoarse: Bool = false) {
    let grain = isCoarse ? 1_000_000_000 : BindingLimits.wakeGranularity.nanoseconds
    let rounded = (time.nanoseconds &+ grain - 1) / grain * grain
    nextWake = min(nextWake ?? .distantFuture, Instant(nanoseconds: rounded))
  }

  // MARK: For tests

  /// How many values are remembered because tabs have set them.
  package var correctionCount: Int { sessions.values.reduce(0) { $0 + $1.correctionCount } }
}
