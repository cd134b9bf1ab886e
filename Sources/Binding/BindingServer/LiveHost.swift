#if BindingServer
  internal import Binding
  internal import BindingMachines
  internal import Essentials
  internal import Logging
  internal import Synchronization

  /// Runs the machine behind pages on the main actor, where the view models are.
  @MainActor
  final class LiveHost {
    private let pages: [Page]
    /// What of each page's view models can't be shown.
    private let problems: [Problems]
    private var machine: LiveMachine
    private(set) var models: [ModelID: BoundModel] = [:]
    private var pipes: [StreamID: EventPipe] = [:]
    private var refusals: [StreamID: LiveMachine.Refusal] = [:]
    private var answers: [RequestID: LiveMachine.Answer] = [:]
    let uploadFolder: UploadFolder
    /// The files of uploads, where view models list them.
    var shownUploads: [UploadID: ShownUpload] = [:]
    var uploadWrites: [RequestID: (id: UploadID, offset: Int)] = [:]
    var uploadAnswers: [RequestID: LiveMachine.UploadAnswer] = [:]
    /// The requests of the tabs whose stream is being opened.
    private var requests: [TabName: PageRequest] = [:]
    private var streamCount = 0
    private var requestCount = 0

    private let clock = ContinuousClock()
    private let start = ContinuousClock.now
    private var timer: Task<Void, Never>?
    private var timerEnd: Instant?

    /// Events of other threads, handled together in one job on the main actor.
    nonisolated private let inbox = Mutex(Inbox())

    private struct Inbox {
      var events: [LiveMachine.Event] = []
      var isScheduled = false
    }

    init(pages: [Page], uploadFolder: UploadFolder, logger: Logger) {
      self.pages = pages
      self.uploadFolder = uploadFolder
      problems = pages.map { page in
        Problems { [file = page.file] problem in
          logger.warning("the contents of \(file) are truncated: \(problem)")
        }
      }
      machine = LiveMachine(
        pages: pages.map { .init(name: $0.name, schema: $0.schema, isShared: $0.isShared) },
        epoch: .random(in: 0 ... .max))
    }

    // MARK: Requests of connections

    /// Opens a stream for tabs. The pipe contains its events.
    ///
    /// - Parameter requests: Those of the tabs, in their order; used for view models that are made now.
    func open(_ tabs: [TabName], _ requests: [PageRequest] = []) -> Result<
      (StreamID, EventPipe), StreamRefused
    > {
      streamCount += 1
      let stream = StreamID(number: streamCount)
      let pipe = EventPipe { [weak self] in self?.put(.written(stream)) }
      pipes[stream] = pipe
      self.requests = Dictionary(zip(tabs, requests)) { first, _ in first }
      defer { self.requests = [:] }
      handle(.streamOpened(stream, tabs))
      guard let refusal = refusals.removeValue(forKey: stream) else {
        return .success((stream, pipe))
      }
      pipes[stream] = nil
      return .failure(StreamRefused(reason: refusal))
    }

    func receive(_ message: PageMessage) -> LiveMachine.Answer {
      let request = makeRequest()
      handle(.received(request, message))
      return answers.removeValue(forKey: request) ?? .conflict
    }

    func makeRequest() -> RequestID {
      requestCount += 1
      return RequestID(number: requestCount)
    }

    /// See ``LiveMachine/rowUpload(of:)``.
    func machineRowUpload(of part: UploadPart) -> (model: ModelID, upload: Int)? {
      machine.rowUpload(of: part)
    }

    /// Sets the limits of a model's uploads.
    func setUploads(_ limits: [UploadLimits], of model: ModelID) {
      machine.setUploads(limits, of: model)
    }

    /// Takes the sign of life of a browser with a stream for these tabs.
    func takeBeat(of tabs: [TabName]) -> LiveMachine.Answer {
      let request = makeRequest()
      handle(.beaten(request, tabs))
      return answers.removeValue(forKey: request) ?? .conflict
    }

    /// Notes that the pages of tabs were left.
    func leave(_ tabs: [TabName]) { handle(.left(tabs)) }

    /// How much there is, for logs and tests.
    var counters: LiveMachine.Counters { machine.counters }
    var streamsNow: Int { pipes.count }

    // MARK: Events of other threads

    /// A stream has ended.
    nonisolated func closed(_ stream: StreamID) { put(.streamClosed(stream)) }

    nonisolated private func put(_ event: LiveMachine.Event) {
      let isFirst = inbox.withLock { inbox in
        inbox.events.append(event)
        defer { inbox.isScheduled = true }
        return !inbox.isScheduled
      }
      if isFirst { Task { @MainActor in self.empty() } }
    }

    private func empty() {
      let events = inbox.withLock { inbox in
        defer { inbox = Inbox() }
        return inbox.events
      }
      for event in events {
        switch event {
        case .streamClosed(let stream): pipes[stream] = nil
        // An earlier capture has already read this change.
        case .changed(let model) where models[model]?.hasChanges != true: continue
        default: break
        }
        handle(event)
      }
    }

    // MARK: The machine

    private var now: Instant {
      let components = (clock.now - start).components
      return Instant(
        nanoseconds: components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000)
    }

    func handle(_ event: LiveMachine.Event) {
      var actions: [LiveMachine.Action] = []
      machine.handle(event, now: now, into: &actions)
      perform(actions)
      setTimer()
    }

    private func wake() {
      timerEnd = nil
      var actions: [LiveMachine.Action] = []
      machine.wake(now: now, into: &actions)
      perform(actions)
      setTimer()
    }

    private func setTimer() {
      guard machine.nextWake != timerEnd else { return }
      timer?.cancel()
      timerEnd = machine.nextWake
      guard let end = timerEnd else { return }
      let time = start + .nanoseconds(end.nanoseconds)
      timer = Task { [weak self, clock] in
        guard (try? await clock.sleep(until: time)) != nil else { return }
        self?.wake()
      }
    }

    private func perform(_ actions: [LiveMachine.Action]) {
      for action in actions {
        switch action {
        case .makeModel(let model, let page, let tab):
          var request = requests[tab] ?? PageRequest()
          request.path = pages[page].route?.parameters(of: request.address) ?? [:]
          models[model] = pages[page].bind(request, problems[page]) { [weak self] in
            self?.put(.changed(model))
          }
          connectUploads(of: model)
        case .appear(let model): models[model]?.appear()
        case .disappear(let model): models[model]?.disappear()
        case .releaseModel(let model): models.removeValue(forKey: model)?.detach()
        case .perform(let model, let operations):
          for operation in operations { models[model]?.perform(operation) }
        case .capture(let model):
          machine.update(model) { models[model]?.capture(into: &$0) }
          var further: [LiveMachine.Action] = []
          machine.handle(.captured(model), now: now, into: &further)
          perform(further)
          endUploadsOfRemovedRows(of: model)
        case .write(let stream, let bytes): pipes[stream]?.send(bytes)
        case .end(let stream): pipes.removeValue(forKey: stream)?.finish()
        case .refuse(let stream, let reason): refusals[stream] = reason
        case .answer(let request, let answer): answers[request] = answer
        case .beginUpload, .writeUpload, .noteUpload, .failUpload, .removeUpload, .refuseUpload,
          .answerUpload:
          performUpload(action)
        }
      }
    }
  }

  /// A stream was refused.
  struct StreamRefused: Error {
    var reason: LiveMachine.Refusal
  }
#endif
