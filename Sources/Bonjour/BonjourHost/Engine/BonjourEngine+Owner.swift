import DiscoveryMachines
import Essentials
import EventLoop
import Glibc
import PortSharing

// The work of a hub's engine, which runs the machines for other processes.

extension BonjourEngine {
  func ownership(of driver: BonjourDriver, _ service: HubService) -> Ownership {
    Ownership(
      driver: driver,
      server: OwnerServer(
        on: loop, admits: service.admits, log: log,
        onRefusal: { [weak self] in self?.noteRefusal($0) },
        onEvent: { [weak self] in self?.handle([$0]) }),
      machine: OwnerMachine(
        configuration: configuration.shared,
        limits: OwnerMachine.Limits(connectionsMax: HubService.connectionsMax)),
      sockets: service.sockets, timer: loop.makeTimer { [weak self] in self?.wakeOwner() })
  }

  /// Ends the work for other processes; each does without the hub.
  ///
  /// - Parameters:
  ///   - ownership: What ends.
  ///   - continued: The registrations that get no goodbye records; nil if all get them.
  ///   - completion: Called when everything was sent.
  func stop(
    _ ownership: Ownership, handingOver continued: [RegistrationID]?,
    _ completion: @escaping () -> Void
  ) {
    ownership.timer.cancel()
    for socket in ownership.sockets ?? [] { close(socket.descriptor) }
    ownership.server.flush()
    ownership.driver.stop(handingOver: continued, completion)
    ownership.server.stop()
  }

  private func noteRefusal(_ reason: OwnerMachine.Refusals.Reason) {
    guard case .owning(let ownership) = state else { return }
    ownership.machine.refused(reason)
  }

  func acceptClients() {
    guard case .owning(let ownership) = state, let sockets = ownership.sockets else { return }
    ownership.sockets = nil
    ownership.server.start(sockets)
  }

  /// Lets an owner whose process was stopped notice first that clients have left it: all of them,
  /// before any work that has become due. If it was stopped while it handled events, that is done
  /// after them.
  func noteRunning() {
    guard case .owning(let ownership) = state, ownership.unread == nil, !ownership.isHandling
    else { return }
    let unread = ownership.withUnread([])
    if !unread.isEmpty { handle(unread) }
  }

  func handle(_ events: [OwnerMachine.Event]) {
    guard case .owning(let ownership) = state else { return }
    if ownership.unread != nil {
      ownership.unread?.append(contentsOf: events)
      return
    }
    let wasHandling = ownership.isHandling
    let events = wasHandling ? events : ownership.withUnread(events)
    ownership.isHandling = true
    defer { ownership.isHandling = wasHandling }
    var actions: [OwnerMachine.Action] = []
    for event in events { ownership.machine.handle(event, now: .now, into: &actions) }
    finish(actions, of: ownership)
  }

  /// Takes the reports of the machines here: for the clients of a hub, or for this process.
  func take(_ reports: [DiscoveryReport]) {
    for report in reports where !isStopped {
      if case .owning(let ownership) = state {
        var actions: [OwnerMachine.Action] = []
        ownership.machine.handle(.report(report), now: .now, into: &actions)
        perform(actions, of: ownership)
      } else {
        take(report)
      }
    }
    if case .owning(let ownership) = state { finish([], of: ownership) }
  }

  private func wakeOwner() {
    noteRunning()
    guard case .owning(let ownership) = state else { return }
    ownership.timerSetFor = nil
    var actions: [OwnerMachine.Action] = []
    ownership.machine.wake(now: .now, into: &actions)
    finish(actions, of: ownership)
  }

  private func finish(_ actions: [OwnerMachine.Action], of ownership: Ownership) {
    perform(actions, of: ownership)
    ownership.server.flush()
    guard let wake = ownership.machine.nextWake, wake != ownership.timerSetFor else { return }
    ownership.timerSetFor = wake
    ownership.timer.set(wake)
  }

  private func perform(_ actions: [OwnerMachine.Action], of ownership: Ownership) {
    var requests: [DiscoveryRequest] = []
    var continued: Set<RegistrationID> = []
    for action in actions {
      switch action {
      case .forward(let request): requests.append(request)
      case .handOver(let id): continued.insert(id)
      case .send(let message, let id): ownership.server.send(message, to: id)
      case .close(let id): ownership.server.close(id)
      }
    }
    if !continued.isEmpty {
      // Nothing of them may be sent any more, not even what was requested before.
      requests.removeAll { $0.registration.map(continued.contains) ?? false }
      ownership.driver.handOver(continued)
    }
    if !requests.isEmpty { ownership.driver.handle(requests) }
  }
}
