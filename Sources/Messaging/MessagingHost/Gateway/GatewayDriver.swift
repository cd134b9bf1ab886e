#if Messaging
  internal import EventLoop
  internal import Essentials
  internal import NIOCore
  internal import NIOPosix
  internal import XMPPMachines
  internal import XMPPWire

  /// Drives the machines of a push gateway. Used on its event loop only.
  ///
  /// Changes of the queue that come while others are written are the next transaction; nothing of a transaction leaves
  /// before it is on disk.
  final class GatewayDriver {
    typealias Answer = (GatewayAction) -> Void

    private static let longestPause = TimeAmount.seconds(10)
    /// The pause before a full connection is checked again.
    private static let blockedPause = TimeAmount.milliseconds(100)

    let loop: any EventLoop
    let settings: PushGateway.Settings
    let domain: JID
    private let store: GatewayStore
    private let report: @Sendable (PushGateway.Report) -> Void
    private var machine: PushGatewayMachine
    private var component: ComponentMachine
    private var parser = XMLStreamParser()
    private var channel: ServerChannel?
    private var server: GatewayServer?
    private var batch = GatewayCommit()
    private var isWriting = false
    private(set) var isFailing = false
    private var retryPause = TimeAmount.seconds(1)
    private var shortages: DescriptorShortage.Observation?
    private var lastTicket: UInt64 = 0
    private var tickets: [UInt64: Answer] = [:]
    private var timer: (due: Instant, scheduled: Scheduled<Void>)?
    private var isClosed = false
    private var isBlocked = false

    init(
      _ settings: PushGateway.Settings, _ domain: JID, _ store: GatewayStore, _ rows: [GatewayRow],
      on loop: any EventLoop, _ report: @escaping @Sendable (PushGateway.Report) -> Void
    ) {
      self.settings = settings
      self.domain = domain
      self.store = store
      self.loop = loop
      self.report = report
      var generator = SystemRandomNumberGenerator()
      machine = PushGatewayMachine(domain: domain, stored: rows, seed: generator.next())
      component = ComponentMachine(domain: domain, seed: generator.next())
    }

    func start() -> EventLoopFuture<Int> {
      shortages = DescriptorShortage.observe { [report] in report(.descriptorsExhausted($0.text)) }
      let server = GatewayServer(self)
      self.server = server
      let bound = NIOLoopBound(self, eventLoop: loop)
      return server.listen().map { port in
        bound.value.handle(.start)
        bound.value.wake()
        return port
      }
    }

    /// Accepted messages are on disk; other requests get no answer.
    func close() -> EventLoopFuture<Void> {
      isClosed = true
      handle(.stop)
      let store = store
      let closed = server?.close() ?? loop.makeSucceededVoidFuture()
      return closed.flatMap { [loop] in
        AccountDriver.threads.runIfActive(eventLoop: loop) { store.close() }
      }
    }

    // MARK: Of the endpoint

    /// The queue's answer is `accepted` or `refused`. Nil if the queue can't be written now.
    func submit(_ message: GatewayMessage, _ answer: @escaping Answer) -> UInt64? {
      guard !isFailing, !isClosed else { return nil }
      lastTicket += 1
      tickets[lastTicket] = answer
      handle(.submit(ticket: lastTicket, message))
      return lastTicket
    }

    /// The client of a ticket is gone.
    func forget(_ ticket: UInt64) { tickets[ticket] = nil }

    func row(of id: String) -> GatewayRow? { machine.row(of: id) }
    var isOnline: Bool { component.isOnline }
    var waitingCount: Int { machine.waitingCount }

    // MARK: The queue

    private func handle(_ event: GatewayEvent) {
      var commit = GatewayCommit()
      machine.handle(event, now: .now, wall: WallClock.now, into: &commit)
      take(commit)
    }

    private func take(_ commit: GatewayCommit) {
      batch.changes += commit.changes
      batch.then += commit.then
      flush()
    }

    private func flush() {
      guard !isWriting, !isClosed, !batch.isEmpty else { return setTimer() }
      let full = batch
      batch = GatewayCommit()
      guard !full.changes.isEmpty else {
        for action in full.then { perform(action) }
        return flush()
      }
      isWriting = true
      write(full)
    }

    private func write(_ full: GatewayCommit) {
      let store = store
      let bound = NIOLoopBound(self, eventLoop: loop)
      AccountDriver.threads.runIfActive(eventLoop: loop) { () -> StoreError? in
        do throws(StoreError) {
          try store.apply(full.changes)
          return nil
        } catch {
          return error
        }
      }.whenComplete { result in
        switch result {
        case .success(let error): bound.value.wrote(full, error)
        case .failure(let error): bound.value.wrote(full, .unusable("\(error)"))
        }
      }
    }

    private func wrote(_ full: GatewayCommit, _ error: StoreError?) {
      guard !isClosed else { return }
      if let error {
        if !isFailing { report(.store(error.sentence)) }
        isFailing = true
        updateReading()
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.scheduleTask(in: retryPause) {
          if !bound.value.isClosed { bound.value.write(full) }
        }
        retryPause = min(Self.longestPause, retryPause * 2)
        return
      }
      isFailing = false
      retryPause = .seconds(1)
      isWriting = false
      updateReading()
      for action in full.then { perform(action) }
      flush()
    }

    private func perform(_ action: GatewayAction) {
      switch action {
      case .accepted(let ticket, _), .refused(let ticket, _):
        tickets.removeValue(forKey: ticket)?(action)
      case .send(let element): handle(.send(element))
      case .push(let push): send(push)
      case .drop: handle(.closed("the server doesn't answer a ping"))
      case .yield: handle(.conflict)
      case .failed(let id, let reason): report(.failed(id: id, reason))
      case .managerLost(let reason): report(.managerLost(reason))
      }
    }

    private func send(_ push: GatewayPush) {
      let bound = NIOLoopBound(self, eventLoop: loop)
      ManagerPush.send(PushPayload.push(push), to: settings.managerPath, on: loop).whenSuccess {
        result in
        if !bound.value.isClosed { bound.value.handle(.pushed(push, result)) }
      }
    }

    // MARK: The component

    private func handle(_ event: ComponentMachine.Event) {
      var actions: [ComponentMachine.Action] = []
      component.handle(event, now: .now, into: &actions)
      take(actions)
    }

    private func take(_ actions: [ComponentMachine.Action]) {
      for action in actions {
        switch action {
        case .open: open()
        case .close:
          channel?.close()
          channel = nil
        case .write(let bytes):
          channel?.write(bytes)
          channel?.flush()
          updateReading()
        case .compute(let streamID):
          let text = ComponentStream.handshakeText(streamID: streamID, secret: settings.secret)
          handle(.computed(Digest.sha1.digest(of: text)))
        case .online:
          report(.online)
          handle(.connected)
        case .deliver(let stanza): handle(.received(stanza))
        case .offline(let end):
          switch end {
          case .conflict(let pause):
            report(.conflict(retrySeconds: pause.nanoseconds / 1_000_000_000))
          case .failed(let reason): if !isClosed { report(.offline(reason)) }
          case .stopped: break
          }
          handle(.disconnected)
        }
      }
      setTimer()
    }

    private func open() {
      parser.restart()
      var server = ServerSettings(domain: settings.domain)
      server.endpoints = [
        ServerEndpoint(host: settings.host, port: settings.port, encryption: .startTLS)
      ]
      let new = ServerChannel(server, after: FailedServers(), on: loop) {
        [weak self] channel, event in
        guard let self, channel === self.channel else { return }
        take(event)
      }
      channel = new
      new.start()
    }

    private func take(_ event: ServerChannel.Event) {
      switch event {
      case .connected: handle(.opened)
      case .bytes(let bytes): parse(bytes)
      case .ended(let error):
        channel = nil
        handle(.closed("\(error)"))
      case .encrypted, .unreachable: break
      }
    }

    private func parse(_ bytes: [UInt8]) {
      parser.append(bytes)
      do throws(XMLStreamError) {
        // A part may end the connection.
        while channel != nil, let item = try parser.next() { handle(.received(item)) }
      } catch {
        handle(.invalid(error))
      }
    }

    /// A server that takes no answers isn't read, so that they don't fill the memory.
    private func updateReading() {
      let isFull = channel?.isWritable == false
      channel?.setReading(!isFull && !isFailing)
      guard isFull, !isBlocked else { return }
      isBlocked = true
      let bound = NIOLoopBound(self, eventLoop: loop)
      loop.scheduleTask(in: Self.blockedPause) {
        bound.value.isBlocked = false
        bound.value.updateReading()
      }
    }

    // MARK: Time

    private func wake() {
      timer = nil
      guard !isClosed else { return }
      let now = Instant.now
      var commit = GatewayCommit()
      if let due = machine.nextWake, due <= now {
        machine.wake(now: now, wall: WallClock.now, into: &commit)
      }
      take(commit)
      var actions: [ComponentMachine.Action] = []
      component.wake(now: now, into: &actions)
      take(actions)
    }

    private func setTimer() {
      let due = isClosed ? nil : [machine.nextWake, component.nextWake].compactMap(\.self).min()
      guard due != timer?.due else { return }
      timer?.scheduled.cancel()
      timer = nil
      guard let due else { return }
      let bound = NIOLoopBound(self, eventLoop: loop)
      let delay = max(0, (due - .now).nanoseconds)
      timer = (due, loop.scheduleTask(in: .nanoseconds(delay)) { bound.value.wake() })
    }
  }
#endif
