import Synchronization

/// A value that is read and written under a lock.
///
/// Don't call out to unknown code from inside ``modify(_:)`` or ``withValue(_:)``: the lock is
/// held, and taking it twice on one thread deadlocks.
///
/// A file that also imports `Synchronization` must write `Synchronization.Atomic` for that module's
/// type.
public final class Atomic<Value> {
  private let state: Locked<Value>

  /// The value.
  public var value: Value {
    get { withValue { $0 } }
    set { modify { $0 = newValue } }
  }

  /// Creates an atomic value.
  public init(_ value: Value) {
    state = Locked(value)
  }

  /// Modifies the value in place.
  ///
  /// - Returns: What `action` returns.
  @discardableResult
  public func modify<Result>(_ action: (inout Value) throws -> Result) rethrows -> Result {
    try state.withLock { try action(&$0) }
  }

  /// Reads the value.
  ///
  /// - Returns: What `action` returns.
  @discardableResult
  public func withValue<Result>(_ action: (Value) throws -> Result) rethrows -> Result {
    try modify { try action($0) }
  }

  /// Replaces the value.
  ///
  /// - Returns: The previous value.
  @discardableResult
  public func swap(_ newValue: Value) -> Value {
    modify { value in
      let previous = value
      value = newValue
      return previous
    }
  }
}

extension Atomic: Sendable where Value: Sendable {}

/// Carries a value over a border that the compiler guards, where the code around it proves that
/// only one side goes on to use it.
struct UncheckedTransfer<Value>: @unchecked Sendable {
  // Sendable by the promise of the code that makes one.
  var value: Value

  init(_ value: Value) {
    self.value = value
  }
}
