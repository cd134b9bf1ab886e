internal import Foundation
internal import Synchronization

/// The observations of one object.
///
/// After changing an observable property, call `propertiesMayHaveChanged()` on the same thread and
/// without a lock. That costs one lock operation while no observation exists.
package final class KeyValueObservers: Sendable {
  private struct WeakObservation: Sendable {
    weak var observation: (any Observation)?
  }

  private let observations = Mutex<[WeakObservation]>([])

  /// Creates an object without observations.
  package init() {}

  /// Calls the handlers of the observations whose property has changed.
  package func propertiesMayHaveChanged() {
    let current = observations.withLock { $0 }
    for weak in current { weak.observation?.report() }
  }

  func add(_ observation: any Observation) {
    observations.withLock { list in
      list.removeAll { $0.observation == nil }
      list.append(WeakObservation(observation: observation))
    }
  }

  func remove(_ observation: any Observation) {
    observations.withLock { list in
      list.removeAll { $0.observation == nil || $0.observation === observation }
    }
  }

  /// The number of observations, for tests.
  package var count: Int { observations.withLock { $0.count { $0.observation != nil } } }
}

/// An observation with any type of value.
protocol Observation: AnyObject, Sendable {
  /// Calls the handler if the property has another value than before.
  func report()
  /// Ends the observation.
  func invalidate()
}

/// The observation of one property. The token holds it; the observed object knows it weakly.
final class PropertyObservation<Object: _KeyValueCodingAndObserving, Value>: Observation,
  @unchecked Sendable
{
  // Unchecked: what changes is behind `lock`; the key path is constant.

  typealias Handler = @Sendable (Object, NSKeyValueObservedChange<Value>) -> Void

  private let keyPath: KeyPath<Object, Value>
  private let options: NSKeyValueObservingOptions
  private weak let object: Object?

  /// Held while the property is read and compared, so that no change is reported twice; recursive,
  /// because reading may run code of the app. Never held while the handler runs.
  private let lock = NSRecursiveLock()
  private var handler: Handler?
  private var lastValue: Value

  init(
    of object: Object, _ keyPath: KeyPath<Object, Value>, options: NSKeyValueObservingOptions,
    handler: @escaping Handler
  ) {
    self.object = object
    self.keyPath = keyPath
    self.options = options
    self.handler = handler
    lastValue = object[keyPath: keyPath]
  }

  /// Makes the initial call, if it was asked for, and reports a change since the observation was made.
  func begin() {
    guard let object else { return }
    let (handler, value) = lock.withLock { (self.handler, lastValue) }
    if options.contains(.initial) {
      handler?(object, change(new: value, old: nil, isPrior: false))
    }
    if value is any Equatable { report() }
  }

  func report() {
    guard let object else { return }
    let change: (handler: Handler, new: Value, old: Value)? = lock.withLock {
      guard let handler else { return nil }
      let old = lastValue
      let new = object[keyPath: keyPath]
      guard !Self.areEqual(old, new) else { return nil }
      lastValue = new
      return (handler, new, old)
    }
    guard let change else { return }
    if options.contains(.prior) {
      change.handler(object, self.change(new: nil, old: change.old, isPrior: true))
      guard lock.withLock({ handler != nil }) else { return }
    }
    change.handler(object, self.change(new: change.new, old: change.old, isPrior: false))
  }

  func invalidate() {
    let released = lock.withLock {
      defer { handler = nil }
      return handler
    }
    (object as? any KeyValueObserved)?.keyValueObservers.remove(self)
    _ = released  // Released without the lock: what it captured may end with it.
  }

  private func change(new: Value?, old: Value?, isPrior: Bool) -> NSKeyValueObservedChange<Value> {
    NSKeyValueObservedChange(
      kind: .setting, newValue: options.contains(.new) ? new : nil,
      oldValue: options.contains(.old) ? old : nil, indexes: nil, isPrior: isPrior)
  }

  /// Whether two values are known to be equal; those that cannot be compared are taken as different.
  private static func areEqual(_ one: Value, _ other: Value) -> Bool {
    func isEqual<Some: Equatable>(_ one: Some) -> Bool { one == other as? Some }
    guard let one = one as? any Equatable else { return false }
    return isEqual(one)
  }
}
