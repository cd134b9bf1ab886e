internal import Synchronization

/// How a validating property sets its inner one, and validates the values that others set there.
extension ValidatingProperty {
  typealias Validator = (Value) -> Decision

  /// The numbers of some changes of the inner property.
  private final class Changes: Sendable {
    /// The last change that was made here: it and those before are validated already when they are
    /// delivered. Written under the inner property's lock.
    let lastOwn = Synchronization.Atomic<UInt64>(0)
    /// The one that the result is about. Guarded by the result's lock.
    private let reported = Synchronization.Atomic<UInt64>(0)

    /// Whether the result, whose lock is held, may be about this change now.
    func report(_ change: UInt64, orAgain mayBeTheSame: Bool) -> Bool {
      let last = reported.load(ordering: .relaxed)
      guard change > last || mayBeTheSame && change == last else { return false }
      reported.store(change, ordering: .relaxed)
      return true
    }
  }

  /// Validates values that are set here before they are set on `inner`, and values that are set
  /// there when they are delivered.
  ///
  /// The changes of the inner property are numbered. Several threads may set it at once, here and
  /// there, and be notified later: the result is about the last change, whichever is delivered first.
  ///
  /// - Returns: How to set a value.
  static func validate(
    _ inner: MutableProperty<Value>, into target: MutableProperty<Result>,
    by validator: @escaping Validator
  ) -> (Value) -> Void {
    let changes = Changes()
    let core = inner.core
    target.lifetime.hold(
      inner.signal.attach(
        ValueObserver { [weak target] value in
          let change = core.deliveredVersion
          guard change > changes.lastOwn.load(ordering: .acquiring) else { return }
          let validated = Result(value, validator(value))
          target?.set(validated) { changes.report(change, orAgain: false) }
        }))
    return { proposed in
      let result = Result(proposed, validator(proposed))
      let change = inner.core.store(result.value) {
        changes.lastOwn.store($0, ordering: .releasing)
      }
      target.set(result) { changes.report(change, orAgain: true) }
      inner.core.deliver()
    }
  }

  /// The same for a property of another type, whose changes have no numbers: a value that was
  /// validated here is set on `inner`, comes back, perhaps later, and is not validated again. If
  /// others set `inner` at the same moment, it may be their value that is skipped.
  static func validate(
    any inner: some ComposableMutablePropertyProtocol<Value>, into target: MutableProperty<Result>,
    by validator: @escaping Validator
  ) -> (Value) -> Void {
    let passedOnCount = Atomic(0)
    target
      <~ inner.signal
      .filter { _ in passedOnCount.modify { !$0.decrementIfPositive() } }
      .through(Map { Result($0, validator($0)) })
    return { proposed in
      let result = Result(proposed, validator(proposed))
      target.value = result
      guard let accepted = result.value else { return }
      passedOnCount.modify { $0 += 1 }
      inner.value = accepted
    }
  }
}

extension MutableProperty {
  /// Sets the value if `isWanted`, called under the lock, returns true.
  fileprivate func set(_ newValue: Value, if isWanted: () -> Bool) {
    withValue { _ in if isWanted() { value = newValue } }
  }
}

extension Int {
  fileprivate mutating func decrementIfPositive() -> Bool {
    guard self > 0 else { return false }
    self -= 1
    return true
  }
}
