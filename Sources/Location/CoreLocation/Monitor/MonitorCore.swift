internal import EventLoop

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

  let name: String
  private let services: LocationServices
  private let lock = SharedLock()
  private var entries: [Entry] = []
  /// Whose events wait, in the order in which they came.
  private var pending: [String] = []
  private var waiters: [Waiter] = []
  private var lastWaiter = 0
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
      for entry in saved { services.startCondition(entry, of: self) }
    }
  }

  /// Ends its events; its conditions remain.
  func close() {
    let (waiters, numbers) = lock.withLock {
      isClosed = true
      defer { self.waiters = [] }
      return (self.waiters, entries.map(\.number))
    }
    for waiter in waiters { waiter.continuation.resume(returning: nil) }
    services.close(self)
    services.perform { services in for number in numbers { services.stopCondition(number) } }
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
      services.keep(entries, of: self)
      return gone.map(\.number)
    }
    guard let gone, !gone.isEmpty else { return }
    services.perform { services in for number in gone { services.stopCondition(number) } }
  }

  // MARK: Events

  /// Handles an event of the entry of this number; ignores it if the state is unchanged.
  func happened(_ number: String, _ makeEvent: (Entry) -> CLMonitor.Event) {
    let waiting: (Waiter, CLMonitor.Event)? = lock.withLock {
      guard !isClosed, let index = entries.firstIndex(where: { $0.number == number }) else {
        return nil
      }
      let event = makeEvent(entries[index])
      guard event.state != entries[index].lastEvent.state else { return nil }
      entries[index].lastEvent = event
      let waiter = waiters.isEmpty ? nil : waiters.removeFirst()
      entries[index].isPending = waiter == nil
      if waiter == nil {
        pending.removeAll { $0 == event.identifier }
        pending.append(event.identifier)
      }
      services.keep(entries, of: self)
      return waiter.map { ($0, event) }
    }
    waiting?.0.continuation.resume(returning: waiting?.1)
  }

  /// The next event; nil when there will be none, or the task was cancelled.
  func next() async -> CLMonitor.Event? {
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
    services.keep(entries, of: self)
    return entries[index].lastEvent
  }
}
