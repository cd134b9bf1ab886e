public import Observation

/// Makes a property observable by the Observation framework: code that reads ``value`` while reads
/// are tracked is notified of its next change.
///
/// ```swift
/// let name = Observed(model.name)
/// for await text in Observations({ name.value }) { … }
/// ```
///
/// Observation reports that a value changes, without the new value: a later read returns the value
/// of that time, and several changes in between count as one. Where every value matters, await the
/// property's `values(buffering:)` or observe its signal.
///
/// It retains the property.
public final class Observed<Value>: Observable {
  private let property: any PropertyProtocol<Value>
  private let changes = Changes()
  private let observation: ScopedDisposable<AnyDisposable>?

  /// The property's present value.
  public var value: Value {
    changes.track()
    return property.value
  }

  /// Creates an observable object for a property.
  public init(_ property: any PropertyProtocol<Value>) {
    self.property = property
    let changes = changes
    observation = property.signal.observeValues { _ in changes.report() }
      .map { ScopedDisposable($0) }
  }
}

// The property is as Sendable as its value is; the rest is locked.
extension Observed: @unchecked Sendable where Value: Sendable {}

/// The part that needs no type parameter: making a key path that has some takes a microsecond.
private final class Changes: Observable, Sendable {
  private let registrar = ObservationRegistrar()
  private var count: Int { 0 }

  func track() {
    registrar.access(self, keyPath: \.count)
  }

  /// The value has been stored before: an observer that reads at once sees it.
  func report() {
    registrar.withMutation(of: self, keyPath: \.count) {}
  }
}
