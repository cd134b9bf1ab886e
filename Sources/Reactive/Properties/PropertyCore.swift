internal import Synchronization

/// A value, and the stream of its changes.
///
/// Two things must agree: the order in which values are stored and the order in which observers see
/// them. A thread that gets into the stream's gate stores and delivers; one that doesn't, because
/// another thread or it itself is inside, stores and leaves its delivery in the gate's inbox, both
/// under the lock. A thread that enters and finds deliveries waiting queues up behind them. So the
/// value can be read back at once, observers see every value in order, and no user code runs with
/// the lock held.
///
/// An observer that wants the current value first receives it at once and is pending from then on:
/// the next change to be stored, or the next thread through the gate, attaches it. Values it has
/// received already are recognised by the version.
final class PropertyCore<Value>: Root<Value, Never>, @unchecked Sendable {
  private let lock = PlainLock()
  /// The thread inside ``withValue(_:)``, which has the lock; otherwise zero.
  private let reader = Synchronization.Atomic<UInt>(0)

  // The rest is guarded by the lock.

  /// The value, once there is one. The one before is destroyed when the lock is free again, which
  /// may run user code.
  private let content = FIFO<Value>(capacity: 2)
  /// Counts changes.
  private var version: UInt64 = 0
  /// Deliveries that wait in the gate's inbox.
  private var queuedCount = 0
  private var newcomers: [PropertySubscription<Value>] = []
  private var hasNewcomers = false

  /// The version that is being delivered, or was last. Only inside the gate.
  private(set) var deliveredVersion: UInt64 = 0

  /// A core whose value is yet to come.
  override init() {}

  init(_ value: Value) {
    content.append(value)
  }

  // MARK: Locking

  /// Whether the calling thread is inside ``withValue(_:)``.
  @inline(__always)
  private var isReadHere: Bool {
    let reader = reader.load(ordering: .relaxed)
    return reader != 0 && reader == Gate.currentThread
  }

  /// Locks, unless the calling thread has the lock for reading.
  ///
  /// - Returns: The argument for ``release(_:)``.
  @inline(__always)
  private func acquire() -> Bool {
    if isReadHere { return false }
    lock.lock()
    return true
  }

  @inline(__always)
  private func release(_ isAcquired: Bool) {
    if isAcquired { lock.unlock() }
  }

  // MARK: Value

  var value: Value {
    let isAcquired = acquire()
    defer { release(isAcquired) }
    requireValue()
    return present.pointee
  }

  var hasValue: Bool {
    let isAcquired = acquire()
    defer { release(isAcquired) }
    return !content.isEmpty
  }

  /// Call with the lock held.
  @inline(__always)
  private var present: UnsafeMutablePointer<Value> { content.first }

  private func requireValue() {
    precondition(
      !content.isEmpty, "the producer of a property must send a value when it is started")
  }

  /// Calls `action` with the value, under the lock: no other thread reads or sets meanwhile. The
  /// calling thread may do both; values that it sets are delivered afterwards. Values that it sends
  /// to other streams don't wait for room, because the thread that would make room may need this
  /// lock.
  func withValue<Result>(_ action: (Value) throws -> Result) rethrows -> Result {
    let isAcquired = acquire()
    requireValue()
    let value = present.pointee
    // Destroyed when the lock is free again.
    defer { withExtendedLifetime(value) {} }
    guard isAcquired else { return try action(value) }
    reader.store(Gate.currentThread, ordering: .relaxed)
    let isOutermost = ThreadMark.locked.begin()
    defer {
      ThreadMark.locked.end(isOutermost)
      reader.store(0, ordering: .relaxed)
      let isQueued = queuedCount > 0
      lock.unlock()
      if isQueued { gate?.wake() }
    }
    return try action(value)
  }

  /// Replaces the value.
  func replace(_ newValue: Value) {
    guard !isReadHere, enter() else { return replaceLater(newValue) }
    lock.lock()
    let replaced = content.replace(with: newValue)
    version += 1
    guard !hasNewcomers, queuedCount == 0 else {
      queueDelivery()
      lock.unlock()
      replaced?.deinitialize(count: 1)
      gate?.wake()
      return leave()
    }
    let stored = version
    lock.unlock()
    replaced?.deinitialize(count: 1)
    deliveredVersion = stored
    emit(newValue)
    leave()
  }

  @inline(never)
  private func replaceLater(_ newValue: Value) {
    store(newValue) { _ in }
    deliver()
  }

  /// Replaces the value, if there is a new one, and leaves the delivery to ``deliver()``.
  ///
  /// - Parameter note: Called under the lock with the number of the last change.
  /// - Returns: That number.
  @discardableResult
  func store(_ newValue: Value?, _ note: (UInt64) -> Void) -> UInt64 {
    let isAcquired = acquire()
    // Destroyed when the lock is free again.
    let replaced = newValue.flatMap { exchange($0) }
    note(version)
    let change = version
    if newValue != nil { queueDelivery() }
    release(isAcquired)
    withExtendedLifetime(replaced) {}
    return change
  }

  /// Delivers the queued changes. While this thread reads the value, they wait until it has read.
  func deliver() {
    guard !isReadHere, let gate else { return }
    gate.wake()
    gate.waitForRoom()
  }

  /// Replaces the value in its place: the other one may be in use, inside the gate.
  ///
  /// - Returns: The previous value.
  private func exchange(_ newValue: Value) -> Value? {
    version += 1
    guard !content.isEmpty else {
      content.append(newValue)
      return nil
    }
    let replaced = present.move()
    present.initialize(to: newValue)
    return replaced
  }

  /// Modifies the value in place, under the lock.
  func modify<Result>(_ action: (inout Value) throws -> Result) rethrows -> Result {
    guard !isReadHere, enter() else { return try modifyLater(action) }
    lock.lock()
    requireValue()
    let isOutermost = ThreadMark.locked.begin()
    // Also if `action` throws.
    defer {
      ThreadMark.locked.end(isOutermost)
      deliverModification()
    }
    return try action(&present.pointee)
  }

  /// Frees the lock and the gate.
  @inline(__always)
  private func deliverModification() {
    version += 1
    guard !hasNewcomers, queuedCount == 0 else {
      queueDelivery()
      lock.unlock()
      gate?.wake()
      return leave()
    }
    let (value, stored) = (present.pointee, version)
    lock.unlock()
    deliveredVersion = stored
    emit(value)
    leave()
  }

  @inline(never)
  private func modifyLater<Result>(
    _ action: (inout Value) throws -> Result
  ) rethrows -> Result {
    // Delivered from the inbox, in its turn, when the lock is free again.
    defer { deliver() }
    let isAcquired = acquire()
    defer { release(isAcquired) }
    // Not even a reader may look at the value during its change: that traps.
    let reader = reader.exchange(0, ordering: .relaxed)
    defer { self.reader.store(reader, ordering: .relaxed) }
    requireValue()
    let isOutermost = ThreadMark.locked.begin()
    defer {
      ThreadMark.locked.end(isOutermost)
      version += 1
      queueDelivery()
    }
    return try action(&present.pointee)
  }

  /// Leaves the delivery of the current value to the gate, in its turn; newcomers are let in
  /// before. Call with the lock held.
  private func queueDelivery() {
    queuedCount += 1
    let (value, version, newcomers) = (present.pointee, version, takeNewcomers())
    gate?.enqueue {
      let isAcquired = self.acquire()
      self.queuedCount -= 1
      self.release(isAcquired)
      for newcomer in newcomers { self.admit(newcomer) }
      self.deliveredVersion = version
      self.emit(value)
    }
  }

  private func takeNewcomers() -> [PropertySubscription<Value>] {
    hasNewcomers = false
    let taken = newcomers
    newcomers = []
    return taken
  }

  // MARK: Observation

  /// Makes an observer of all changes from now on.
  ///
  /// - Returns: The current value, to which the changes are changes.
  fileprivate func register(_ newcomer: PropertySubscription<Value>) -> Value {
    let isAcquired = acquire()
    defer { release(isAcquired) }
    requireValue()
    hasNewcomers = true
    newcomers.append(newcomer)
    newcomer.version = version
    return present.pointee
  }

  /// Only inside the gate. A subscription that has been disposed of by now is not attached, or it
  /// would stay.
  private func admit(_ newcomer: PropertySubscription<Value>) {
    if newcomer.isActive { attach(newcomer) }
  }

  /// Attaches the newcomers that no change has attached yet.
  fileprivate func admitNewcomers() {
    guard let gate else { return }
    guard let admission = gate.open() else {
      return gate.submit { self.admitNewcomers() }
    }
    let isAcquired = acquire()
    let admitted = takeNewcomers()
    release(isAcquired)
    for newcomer in admitted { admit(newcomer) }
    gate.close(admission)
  }
}

/// Delivers the changes of a property that are newer than what its observer has received.
// Sendable as every subscription is; see `version` for how it is guarded.
private final class PropertySubscription<Value>: Subscription<Value, Never>, @unchecked Sendable {
  private let observer: StreamObserver<Value, Never>
  private let property: PropertyCore<Value>

  // Written under the property's lock, before the observer is attached; read inside its gate.
  fileprivate var version: UInt64 = 0

  init(of observer: StreamObserver<Value, Never>, to property: PropertyCore<Value>) {
    self.observer = observer
    self.property = property
    super.init(to: property)
  }

  override func receive(_ value: Value) {
    if isActive, property.deliveredVersion > version { observer.receive(value) }
  }

  override func terminate(_ termination: Termination<Never>) {
    // A property that is gone has no further changes: that is no interruption.
    if close() { observer.terminate(.completed) }
  }
}

extension SignalProducer where Error == Never {
  /// A producer of the value of a property and then its changes.
  ///
  /// - Parameter signal: Keeps what feeds the property going.
  init(of property: PropertyCore<Value>, keeping signal: Signal<Value, Never>) {
    // Changes may come from another thread before the value has been delivered.
    self.init(
      core: RootedCore { root, connection in
        let subscription = PropertySubscription(of: root, to: property)
        guard let gate = root.gate, gate.enter() else { return nil }
        root.emit(property.register(subscription))
        connection.add(subscription)
        property.admitNewcomers()
        gate.leave()
        return withExtendedLifetime(signal) { nil }
      })
  }
}

/// Makes the values of a stream those of a property.
final class PropertyFeed<Value>: StreamObserver<Value, Never> {
  private let property: PropertyCore<Value>

  init(_ property: PropertyCore<Value>) {
    self.property = property
  }

  override func receive(_ value: Value) {
    property.replace(value)
  }

  override func terminate(_ termination: Termination<Never>) {
    property.terminate(.completed)
  }
}

extension PropertyFeed: GraphNode {
  func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    body([property])
    return true
  }
}

extension PropertySubscription: GraphNode {
  func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    body([observer])
    return true
  }
}
