package import Essentials
import JSONWire

/// Synchronizes the tabs of all browsers with the view models that they show.
///
/// Its driver owns the view models, streams and requests. The machine's actions tell the driver to
/// make a view model, to perform operations on it, to read its changes (``Action/capture(_:)``),
/// and to write to a stream. Each stream has at most one pending write; later changes are merged,
/// so that a slow client needs no more memory than the shown values.
package struct LiveMachine {
  package enum Event: Sendable {
    /// A client requested a stream for these tabs.
    case streamOpened(StreamID, [TabName])
    /// A stream was closed, by either side.
    case streamClosed(StreamID)
    /// The last write to a stream has completed.
    case written(StreamID)
    case received(RequestID, PageMessage)
    /// A browser has given a sign of life, with the tabs that it has a stream for.
    case beaten(RequestID, [TabName])
    /// The pages of tabs were left.
    case left([TabName])
    /// A model has changed. Sent only once before the model is captured.
    case changed(ModelID)
    /// The model's changes have been written into its state.
    case captured(ModelID)
    /// A part of a file came. Its bytes wait at the driver. For an upload of a row, with the limits of that one;
    /// nil if the row is not there.
    case uploadReceived(RequestID, UploadPart, rowLimits: UploadLimits? = nil)
    /// The part of this request was written, or wasn't.
    case uploadWritten(RequestID, UploadWrite)
    /// The view model has removed a file.
    case uploadRemoved(UploadID)
  }

  package enum Action: Hashable, Sendable {
    case makeModel(ModelID, page: Int, for: TabName)
    /// A tab shows the model, the first one; or no tab has shown it for a while.
    case appear(ModelID)
    case disappear(ModelID)
    case releaseModel(ModelID)
    case perform(ModelID, [BindingOperation])
    /// Write the model's changes through ``LiveMachine/update(_:_:)``, then send `captured`.
    case capture(ModelID)
    case write(StreamID, [UInt8])
    case end(StreamID)
    case refuse(StreamID, Refusal)
    case answer(RequestID, Answer)
    /// A page announces a file.
    case beginUpload(UploadID, ModelID, upload: Int, UploadPart)
    /// Write the bytes of the request at an offset of the file, then send `uploadWritten`.
    case writeUpload(RequestID, UploadID, offset: Int)
    case noteUpload(UploadID, receivedByteCount: Int)
    /// Remove the file's bytes; the view model still lists it.
    case failUpload(UploadID, UploadFailure)
    /// Remove the file and its bytes.
    case removeUpload(UploadID)
    /// An upload of a model takes no more files. The row is that of the part.
    case refuseUpload(ModelID, upload: Int, row: String, UploadFailure)
    case answerUpload(RequestID, UploadAnswer)
  }

  /// The reason why a stream is refused.
  package enum Refusal: Hashable, Sendable {
    /// No page has the name in a tab's name.
    case unknownPage
    /// The limit of tabs is reached.
    case noRoom
    /// There are no tabs, or too many for one stream.
    case badTabs
  }

  package enum Answer: Hashable, Sendable {
    case accepted
    /// The tab is unknown, or the message belongs to another session of it. It needs a snapshot.
    /// Or a sign of life is of tabs of which none has a stream.
    case conflict
    /// The message names a member that doesn't exist.
    case malformed(String)
  }

  /// A page: its name, its schema, and whether all tabs share one view model.
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
    /// Whether `appear` was the last such action of it, and not `disappear`.
    var isShown = false
    var tabs: Set<TabName> = []
    var uploadLimits: [UploadLimits] = []

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
    /// When its browser last gave a sign of life; nil if it never has, as clients other than pages.
    var lastBeat: Instant?
  }

  let pages: [Page]
  let epoch: String
  var models: [ModelID: Model] = [:]
  var sessions: [TabName: ClientSession] = [:]
  var streams: [StreamID: Stream] = [:]
  /// When clients get again what isn't urgent: later if many of them have just got patches.
  private(set) var nextSharedPatch = Instant.zero
  /// Writes of patches that aren't urgent since an event, which move that on once all are made.
  var sharedPatchCount: Int64 = 0
  var sharedModels: [Int: ModelID] = [:]
  /// The latest tab with a session, by the key of its name.
  var holders: [Substring: TabName] = [:]
  var modelCount = 0
  var sessionCount = 0
  var uploads: [UploadID: UploadedFile] = [:]
  /// The files that a tab can continue.
  var uploadIDs: [UploadKey: UploadID] = [:]
  var uploadWrites: [RequestID: UploadID] = [:]
  var uploadCount = 0
  package internal(set) var counters = Counters()

  /// The time to call ``wake(now:into:)``; nil if no timer is running.
  package internal(set) var nextWake: Instant?

  /// Creates a machine without tabs.
  ///
  /// - Parameters:
  ///   - pages: The pages. The first one is used for tabs without the name of a page.
  ///   - epoch: A random number, by which a tab from an earlier process is recognized.
  package init(pages: [Page], epoch: UInt64) {
    self.pages = pages
    self.epoch = String(epoch, radix: 36)
  }

  /// Counts of events since the start, for the server's operator.
  package struct Counters: Hashable, Sendable {
    package var snapshots = 0
    package var patches = 0
    package var messages = 0
    /// Messages that were received twice.
    package var duplicates = 0
    /// Messages with another epoch, or with missing messages before them.
    package var conflicts = 0
    package var malformed = 0
    /// Tabs that were refused because of a limit.
    package var refused = 0
    /// Streams that were closed because the client didn't read.
    package var stalled = 0
    /// Streams that were closed because the browser gave no sign of life any more.
    package var silent = 0
  }

  // MARK: Events

  /// Handles an event.
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
    case .beaten(let request, let tabs): takeBeat(of: tabs, request, now, &actions)
    case .left(let tabs): leave(tabs, now, &actions)
    case .changed(let model):
      guard models[model] != nil else { return }
      models[existing: model].isDirty = true
      captureIfDue(model, now, &actions)
    case .captured(let model):
      guard models[model] != nil else { return }
      models[existing: model].noteCapture(now)
      for stream in streamsShowing(model) { flush(stream, now, &actions) }
    case .uploadReceived(let request, let part, let rowLimits):
      receive(part, rowLimits, request, now, &actions)
    case .uploadWritten(let request, let result): noteWrite(request, result, now, &actions)
    case .uploadRemoved(let upload): removeUpload(upload, &actions)
    }
  }

  private mutating func endEvent(_ event: Event, _ now: Instant) {
    countSharedPatches(now)
    switch event {
    case .streamOpened, .streamClosed, .received, .beaten, .left, .captured, .uploadReceived,
      .uploadWritten, .uploadRemoved:
      assertInvariants()
    // They are far more frequent than the others, and change no table.
    case .written, .changed: break
    }
  }

  /// Performs the work that is due.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    if let nextWake, nextWake > now { return }
    nextWake = nil
    defer {
      countSharedPatches(now)
      assertInvariants()
    }
    endIdleSessions(now, &actions)
    endSilentUploads(now, &actions)
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

  /// Calls a closure with a model's state, to which the driver writes the changes.
  package mutating func update(_ model: ModelID, _ body: (inout PageState) -> Void) {
    guard let index = models.index(forKey: model) else { return }
    body(&models.values[index].state)
  }

  /// The state that a model's pages show; nil if the model doesn't exist.
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
    let schema = pages[shown.page].schema
    let operations: [BindingOperation]
    let before: [BindingOperation]?
    do throws(PageMessage.Fault) {
      operations = try resolve(message.operations, in: schema)
      before = try message.before.map { repeated throws(PageMessage.Fault) in
        try resolve(repeated, in: schema)
      }
    } catch {
      counters.malformed += 1
      return actions.append(.answer(request, .malformed("\(error)")))
    }
    // Ignore rows that don't exist, so that invented keys can't fill the list of corrections.
    func sets(_ operations: [BindingOperation]) -> [ValuePath] {
      operations.compactMap { operation in
        guard case .set(let path, _) = operation, shown.state.value(at: path) != nil else {
          return nil
        }
        return path
      }
    }
    noteLife(ofStreamOf: tab, now)
    let reception = sessions[existing: tab].receive(
      message.sequence, sets: sets(operations), setsBefore: before.map(sets))
    switch reception {
    case .next, .nextAndBefore:
      // What the operations change, what follows from it and the acknowledgement are one patch.
      let all = reception == .next ? operations : (before ?? []) + operations
      actions.append(.perform(session.model, all))
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

  /// Wakes at a time, or a little later.
  ///
  /// - Parameter isCoarse: Whether a second more or less doesn't matter.
  mutating func schedule(_ time: Instant, isCoarse: Bool = false) {
    let grain = isCoarse ? 1_000_000_000 : BindingLimits.wakeGranularity.nanoseconds
    let rounded = (time.nanoseconds &+ grain - 1) / grain * grain
    nextWake = min(nextWake ?? .distantFuture, Instant(nanoseconds: rounded))
  }

  // MARK: For tests

  /// The number of values that are sent again because tabs have set them.
  package var correctionCount: Int { sessions.values.reduce(0) { $0 + $1.correctionCount } }
}
