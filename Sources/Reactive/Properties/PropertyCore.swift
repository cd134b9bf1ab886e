internal import Synchronization

/// A value, and the stream of its changes.
///
/// Two things must agree: the order in which values are stored and the order in which observers
/// see them. A thread that gets into the stream's gate stores and delivers; one that doesn't,
/// because another thread or it itself is inside, stores and leaves its delivery in the gate's
/// inbox, both under the lock. Whoever is inside and finds deliveries waiting queues up behind
/// them. So the value can be read back at once, observers see every value in order, and nobody
/// calls out with the lock held.
///
/// An observer that wants the present value first is told it on the spot and is a newcomer from
/// then on: the next change to be stored, or the next one through the gate, lets it in. What it
/// has been told already is recognised by the version.
final class PropertyCore<Value>: Root<Value, Never>, @unchecked Sendable {
  private struct Ledger {
    /// Counts changes.
    var version: UInt64 = 0
    /// Deliveries that wait in the gate's inbox.
    var queuedCount = 0
    var hasNewcomers = false
  }

  private let ledger = Mutex(Ledger())
  // Only under the ledger's lock.
  @exclusivity(unchecked)
  private var storage: Value?
  private var newcomers: [PropertySubscription<Value>] = []

  /// The version that is being delivered, or was last. Only inside the gate.
  fileprivate private(set) var deliveredVersion: UInt64 = 0

  /// A core whose value is yet to come.
  override init() {}

  init(_ value: Value) {
    storage = value
  }

  // MARK: Value

  var hasValue: Bool {
    ledger.withLock { _ in storage != nil }
  }

  var value: Value {
    ledger.withLock { _ in UncheckedTransfer(presentValue) }.value
  }

  private var presentValue: Value {
    guard let storage else {
      preconditionFailure("the producer of a property must send a value when it is started")
    }
    return storage
  }

  /// Replaces the value.
  ///
  /// - Returns: The value before, if there was one.
  @discardableResult
  func replace(_ newValue: Value) -> Value? {
    change { storage in
      let previous = storage
      storage = newValue
      return previous
    }
  }

  /// Changes the value in place, under the lock.
  func modify<Result>(_ action: (inout Value) throws -> Result) rethrows -> Result {
    try change { storage in
      guard var value = storage.take() else {
        preconditionFailure("the producer of a property must send a value when it is started")
      }
      defer { storage = value }
      return try action(&value)
    }
  }

  private func change<Result>(_ action: (inout Value?) throws -> Result) rethrows -> Result {
    guard let gate else { preconditionFailure("a root has a gate") }
    guard gate.enter() else {
      defer { gate.wake() }
      return try storeAndQueue(action, gate: gate)
    }
    defer { gate.leave() }
    var delivery: Delivery?
    defer { delivery?.perform(on: self) }
    return try ledger.withLock { ledger in
      defer {
        if ledger.queuedCount == 0 {
          delivery = stored(&ledger)
        } else {
          queueDelivery(&ledger, gate: gate)
        }
      }
      return UncheckedTransfer(try action(&storage))
    }.value
  }

  private func storeAndQueue<Result>(
    _ action: (inout Value?) throws -> Result, gate: Gate
  ) rethrows -> Result {
    try ledger.withLock { ledger in
      defer { queueDelivery(&ledger, gate: gate) }
      return UncheckedTransfer(try action(&storage))
    }.value
  }

  private func queueDelivery(_ ledger: inout Ledger, gate: Gate) {
    ledger.queuedCount += 1
    guard let delivery = stored(&ledger) else { return }
    gate.enqueue {
      self.ledger.withLock { $0.queuedCount -= 1 }
      delivery.perform(on: self)
    }
  }

  /// What is to be delivered of the value that has just been stored, and who is to be let in
  /// before.
  private struct Delivery {
    let value: Value
    let version: UInt64
    let newcomers: [PropertySubscription<Value>]

    func perform(on core: PropertyCore) {
      for newcomer in newcomers { core.attach(newcomer) }
      core.deliveredVersion = version
      core.emit(value)
    }
  }

  private func stored(_ ledger: inout Ledger) -> Delivery? {
    guard let value = storage else { return nil }
    ledger.version += 1
    return Delivery(
      value: value, version: ledger.version, newcomers: takeNewcomers(&ledger))
  }

  private func takeNewcomers(_ ledger: inout Ledger) -> [PropertySubscription<Value>] {
    guard ledger.hasNewcomers else { return [] }
    ledger.hasNewcomers = false
    let taken = newcomers
    newcomers = []
    return taken
  }

  // MARK: Observation

  /// Makes an observer of all changes from now on.
  ///
  /// - Returns: The present value, to which the changes are changes.
  fileprivate func register(_ newcomer: PropertySubscription<Value>) -> Value {
    ledger.withLock { ledger in
      ledger.hasNewcomers = true
      newcomers.append(newcomer)
      newcomer.version = ledger.version
      return UncheckedTransfer(presentValue)
    }.value
  }

  /// Lets those in who have not been let in by a change.
  fileprivate func admitNewcomers() {
    guard let gate else { return }
    guard let admission = gate.open() else {
      return gate.submit { self.admitNewcomers() }
    }
    for newcomer in ledger.withLock({ UncheckedTransfer(takeNewcomers(&$0)) }).value {
      attach(newcomer)
    }
    gate.close(admission)
  }
}

/// Delivers the changes of a property that are newer than what its observer has been told.
// Sendable as every subscription is; `version` says how it is guarded.
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

/// Sends the value of a property and then its changes.
final class PropertyProducerCore<Value>: ProducerCore<Value, Never> {
  private let property: PropertyCore<Value>
  /// Keeps what feeds the property going.
  private let signal: Signal<Value, Never>

  init(_ property: PropertyCore<Value>, signal: Signal<Value, Never>) {
    self.property = property
    self.signal = signal
  }

  override func start(
    _ sink: StreamObserver<Value, Never>, _ connection: Connection
  ) -> AnyObject? {
    // Changes may come from another thread before the value has been delivered.
    let root = Root<Value, Never>()
    root.connect(to: sink, connection: connection)
    connection.setRoot(root)
    let subscription = PropertySubscription(of: root, to: property)
    guard let gate = root.gate, gate.enter() else { return nil }
    root.emit(property.register(subscription))
    connection.add(subscription)
    property.admitNewcomers()
    gate.leave()
    return nil
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
