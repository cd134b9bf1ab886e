internal import Synchronization

/// How a validating property sets its inner one, and judges what that is set to by others.
extension ValidatingProperty {
  typealias Validator = @Sendable (Value) -> Decision

  /// The numbers of some changes of the inner property.
  private final class Changes: Sendable {
    /// The last when something was set here, with what came of that: it and those before need no
    /// judgement when they are told. Written under the inner property's lock.
    let settled = Synchronization.Atomic<UInt64>(0)
    /// The one that the verdict is about. Only under the verdict's lock.
    private let judged = Synchronization.Atomic<UInt64>(0)

    /// Whether the verdict, whose lock is held, may be about this change now.
    func judge(_ change: UInt64, orAgain mayBeTheSame: Bool) -> Bool {
      let last = judged.load(ordering: .relaxed)
      guard change > last || mayBeTheSame && change == last else { return false }
      judged.store(change, ordering: .relaxed)
      return true
    }
  }

  /// Judges what is set here before it is set on `inner`, and what is set there when it is told.
  ///
  /// The changes of the inner property are numbered. Several threads may set it at once, here and
  /// there, and be told later: the verdict is about the last change, whoever is told first.
  ///
  /// - Returns: How to set a value.
  static func judge(
    _ inner: MutableProperty<Value>, into verdict: MutableProperty<Result>,
    by validator: @escaping Validator
  ) -> (Value) -> Void {
    let changes = Changes()
    let (core, target) = (UncheckedTransfer(inner.core), UncheckedWeak(verdict))
    verdict.lifetime += inner.signal.observeValues { value in
      let change = core.value.deliveredVersion
      guard change > changes.settled.load(ordering: .acquiring) else { return }
      let result = Result(value, validator(value))
      target.object?.set(result) { changes.judge(change, orAgain: false) }
    }
    return { proposed in
      let result = Result(proposed, validator(proposed))
      let change = inner.core.store(result.value) {
        changes.settled.store($0, ordering: .releasing)
      }
      verdict.set(result) { changes.judge(change, orAgain: true) }
      inner.core.deliver()
    }
  }

  /// The same for a property of another make, whose changes have no numbers: what has been judged
  /// here is passed on and comes back, perhaps later, and is not to be judged again. Where others
  /// set it at the same moment, it may be theirs that isn't.
  static func judge(
    any inner: some ComposableMutablePropertyProtocol<Value>, into verdict: MutableProperty<Result>,
    by validator: @escaping Validator
  ) -> (Value) -> Void {
    let passedOnCount = Atomic(0)
    verdict
      <~ inner.signal
      .filter { _ in passedOnCount.modify { !$0.decrementIfPositive() } }
      .map { Result($0, validator($0)) }
    return { proposed in
      let result = Result(proposed, validator(proposed))
      verdict.value = result
      guard let accepted = result.value else { return }
      passedOnCount.modify { $0 += 1 }
      inner.value = accepted
    }
  }
}

extension MutableProperty {
  /// Sets the value, if `isWanted`, which is asked under the lock, says so.
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
