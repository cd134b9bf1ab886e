internal import AppSessions
internal import EventLoop
internal import Logging

/// The implementation of a monitor: its conditions, and its pending events.
final class MonitorCore: @unchecked Sendable {
  // Unchecked: what changes is guarded by `lock`.

  /// A condition, as it outlives the monitor.
  struct Entry: Sendable {
    let identifier: String
    let condition: any CLCondition
    /// The name that the machine knows it by: of this entry only.
    let number: String
    var lastEvent: CLMonitor.Event
    /// Whether the last event hasn't been delivered yet.
    var isPending = false
  }

  private struct Waiter {
    let number: Int
    let continuation: CheckedContinuation<CLMonitor.Event?, Never>
  }

  /// An event that the app's system waits for: it suspends the app when the event was handled.
  private final class Work: Sendable {
    private let acknowledgement: Acknowledgement
    private let group = DispatchGroup()

    init(_ done: @escaping @Sendable () -> Void) {
      let group = group
      group.enter()
      acknowledgement = Acknowledgement {
        done()
        group.leave()
      }
    }

    func complete() { acknowledgement.complete() }

    /// Waits for its end, as long as the app runs: a task that itself waits for virtual time goes on later.
    func settle() {
      guard ThreadActivity.wait(for: group) == .busy else { return }
      Logger(label: "CoreLocation").warning(
        "The task of a monitor is not waited for, because a thread of this process computes on and on."
      )
    }
  }

  let name: String
  private let services: LocationServices
  private let lock = SharedLock()
  private var entries: [Entry] = []
  /// Whose events wait, in the order in which they came.
  private var pending: [String] = []
  private var waiters: [Waiter] = []
  private var lastWaiter = 0
  /// Events that a task has got, until it requests the next one.
  private var work: [Work] = []
  /// Those that virtual time has not waited for.
  private var unsettled: [Work] = []
  /// Events that no task has got, by their conditions' identifiers.
  private var unhandled: [String: Work] = [:]
  private var isClosed = false

  init(name: String, services: LocationServices) {
    self.name = name
    self.services = services
  }

  /// Replaces the monitor with the same name, and takes over its conditions.
  func open() {
    let saved = services.open(self)
    lock.withLock {
      entries = saved
      pending = saved.filter(\.isPending).map(\.identifier)
    }
    services.perform { [self] services in
      for entry in saved { services.resumeCondition(entry, of: self) }
      services.openSystem()
    }
  }

  /// Ends its events; its conditions remain. Once: another monitor may have taken them over since.
  func close() {
    let closed = lock.withLock { () -> (waiters: [Waiter], numbers: [String], work: [Work])? in
      guard !isClosed else { return nil }
      isClosed = true
      defer { (waiters, work, unhandled) = ([], [], [:]) }
      return (waiters, entries.map(\.number), work + unhandled.values)
    }
    guard let closed else { return }
    for waiter in closed.waiters { waiter.continuation.resume(returning: nil) }
    for work in closed.work { work.complete() }
    services.close(self)
    services.perform { services in
      for number in closed.numbers { services.releaseCondition(number) }
    }
  }

  // MARK: Conditions

  var identifiers: [String] { lock.withLock { entries.map(\.identifier) } }
  var waiterCount: Int { lock.withLock { waiters.count } }

  func record(for identifier: String) -> CLMonitor.Record? {
    lock.withLock {
      entries.first { $0.identifier == identifier }
        .map { CLMonitor.Record(condition: $0.condition, lastEvent: $0.lastEvent) }
    }
  }

  func add(
    _ condition: any CLCondition, _ identifier: String, assuming state: CLMonitor.Event.State
  ) {
    let entry = Entry(
      identifier: identifier, condition: condition, number: services.nextConditionNumber(),
      lastEvent: CLMonitor.Event(identifier, state, at: services.date))
    change { entries in
      if let index = entries.firstIndex(where: { $0.identifier == identifier }) {
        entries[index] = entry
      } else {
        entries.append(entry)
      }
    }
    services.perform { [weak self] services in
      if let self { services.startCondition(entry, of: self) }
    }
  }

  func remove(_ identifier: String) {
    change { $0.removeAll { $0.identifier == identifier } }
  }

  /// Returns when changed conditions are on the disk, or writing them failed once.
  func waitForStore() async { await services.waitForStore() }

  /// Changes the conditions; those that are gone are monitored no more, and their events don't wait.
  private func change(_ body: (inout [Entry]) -> Void) {
    let gone: [String]? = lock.withLock {
      guard !isClosed else { return nil }
      let old = entries
      body(&entries)
      let kept = Set(entries.map(\.number))
      let gone = old.filter { !kept.contains($0.number) }
      pending.removeAll { name in gone.contains { $0.identifier == name } }
      for entry in gone { unhandled[entry.identifier] = nil }
      services.keep(entries, of: self)
      return gone.map(\.number)
    }
    guard let gone, !gone.isEmpty else { return }
    services.perform { services in for number in gone { services.stopCondition(number) } }
  }

  // MARK: Events

  /// Handles an event of the entry of this number; ignores it if the state is unchanged.
  ///
  /// - Parameter done: Called when a task has handled the event, or if none will.
  func happened(
    _ number: String, _ done: (@Sendable () -> Void)? = nil,
    _ makeEvent: (Entry) -> CLMonitor.Event
  ) {
    var ended: [Work] = []
    let waiting: (Waiter, CLMonitor.Event)? = lock.withLock {
      let new = done.map(Work.init)
      guard !isClosed, let index = entries.firstIndex(where: { $0.number == number }) else {
        ended = [new].compactMap(\.self)
        return nil
      }
      let event = makeEvent(entries[index])
      guard event.state != entries[index].lastEvent.state else {
        ended = [new].compactMap(\.self)
        return nil
      }
      entries[index].lastEvent = event
      let waiter = waiters.isEmpty ? nil : waiters.removeFirst()
      entries[index].isPending = waiter == nil
      if waiter == nil {
        pending.removeAll { $0 == event.identifier }
        pending.append(event.identifier)
        ended = [unhandled.removeValue(forKey: event.identifier)].compactMap(\.self)
        unhandled[event.identifier] = new
      } else if let new {
        begin(new)
      }
      services.keep(entries, of: self)
      return waiter.map { ($0, event) }
    }
    for work in ended { work.complete() }
    waiting?.0.continuation.resume(returning: waiting?.1)
  }

  /// A task gets an event. Call with the lock.
  private func begin(_ new: Work) {
    work.append(new)
    unsettled.append(new)
  }

  /// The task that got events has handled them.
  func handled() {
    let ended = lock.withLock {
      defer { work = [] }
      return work
    }
    for work in ended { work.complete() }
  }

  /// Waits for the task that has got events, once for each event.
  func settle() {
    let new = lock.withLock {
      defer { unsettled = [] }
      return unsettled
    }
    for work in new { work.settle() }
  }

  /// The next event; nil when there will be none, or the task was cancelled.
  func next() async -> CLMonitor.Event? {
    handled()
    let number = lock.withLock {
      lastWaiter += 1
      return lastWaiter
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isAnswered: (event: CLMonitor.Event?, Bool) = lock.withLock {
          if let event = takePending() { return (event, true) }
          if isClosed || Task.isCancelled { return (nil, true) }
          waiters.append(Waiter(number: number, continuation: continuation))
          return (nil, false)
        }
        if isAnswered.1 { continuation.resume(returning: isAnswered.event) }
      }
    } onCancel: {
      let waiter = lock.withLock {
        waiters.firstIndex { $0.number == number }.map { waiters.remove(at: $0) }
      }
      waiter?.continuation.resume(returning: nil)
    }
  }

  /// The event that waits longest. Call with the lock.
  private func takePending() -> CLMonitor.Event? {
    guard !isClosed, !pending.isEmpty else { return nil }
    let identifier = pending.removeFirst()
    guard let index = entries.firstIndex(where: { $0.identifier == identifier }) else { return nil }
    entries[index].isPending = false
    if let new = unhandled.removeValue(forKey: identifier) { begin(new) }
    services.keep(entries, of: self)
    return entries[index].lastEvent
  }
}
