public import Foundation
internal import Synchronization

/// The kind of a change of an observed property.
public enum NSKeyValueChange: UInt, Sendable {
  /// The property was set. The only kind that is reported.
  case setting = 1
  /// Elements were inserted into a collection.
  case insertion = 2
  /// Elements were removed from a collection.
  case removal = 3
  /// Elements of a collection were replaced.
  case replacement = 4
}

/// The content of changes, and the times at which the handler is called.
public struct NSKeyValueObservingOptions: OptionSet, Hashable, Sendable {
  /// The bits.
  public let rawValue: UInt
  /// Creates options from their bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }
  /// The change contains the new value.
  public static let new = NSKeyValueObservingOptions(rawValue: 1 << 0)
  /// The change contains the old value.
  public static let old = NSKeyValueObservingOptions(rawValue: 1 << 1)
  /// The handler is also called once before `observe` returns.
  public static let initial = NSKeyValueObservingOptions(rawValue: 1 << 2)
  /// The handler is called twice per change, first with `isPrior`.
  public static let prior = NSKeyValueObservingOptions(rawValue: 1 << 3)
}

/// A change of an observed property.
public struct NSKeyValueObservedChange<Value> {
  /// The kind of a change.
  public typealias Kind = NSKeyValueChange
  /// The kind of the change.
  public let kind: Kind
  /// The value after the change, if `.new` was requested; nil in a prior call.
  public let newValue: Value?
  /// The value before the change, if `.old` was requested; nil in the initial call.
  public let oldValue: Value?
  /// Always nil: changes of single elements are not reported.
  public let indexes: IndexSet?
  /// Whether this is the first of the two calls made with `.prior`.
  public let isPrior: Bool
}

extension NSKeyValueObservedChange: Sendable where Value: Sendable {}

/// An observation that lasts as long as this object, or until `invalidate()`.
///
/// The observed object doesn't retain the handler. It may be released before the observation.
public final class NSKeyValueObservation: NSObject, Sendable {
  private let observation: any Observation

  init(_ observation: any Observation) {
    self.observation = observation
    super.init()
  }

  deinit { observation.invalidate() }

  /// Ends the observation: the handler is not called again and what it captured is released.
  ///
  /// May be called from any thread, also from the handler, and more than once. A call of the
  /// handler that another thread has already begun runs to its end.
  public func invalidate() { observation.invalidate() }
}

/// Objects whose properties can be observed; Apple's name for a protocol that `NSObject` conforms
/// to.
public protocol _KeyValueCodingAndObserving: AnyObject {}

/// Objects that report changes of their properties to observations.
package protocol KeyValueObserved: _KeyValueCodingAndObserving {
  /// The observations of this object.
  var keyValueObservers: KeyValueObservers { get }
}

extension _KeyValueCodingAndObserving {
  /// Calls a handler when a property changes.
  ///
  /// The handler is called on the thread that changed the property, after the change and without
  /// any lock: on the manager's queue for changes by the radio, on the caller's thread for changes
  /// by a method such as `connect(_:options:)`. It may call any method of the object. Setting a
  /// property to an equal value is not reported. With `.prior` both calls come after the change;
  /// `oldValue` in the first has the value before it.
  /// - Parameters:
  ///   - keyPath: The property, or one of a property.
  ///   - options: The contents of the change, and when the handler is called.
  ///   - changeHandler: Called with the object and the change.
  /// - Returns: The observation, which ends when it is released.
  @preconcurrency
  public func observe<Value>(
    _ keyPath: KeyPath<Self, Value>, options: NSKeyValueObservingOptions = [],
    changeHandler: @escaping @Sendable (Self, NSKeyValueObservedChange<Value>) -> Void
  ) -> NSKeyValueObservation {
    let observation = PropertyObservation(
      of: self, keyPath, options: options, handler: changeHandler)
    (self as? any KeyValueObserved)?.keyValueObservers.add(observation)
    observation.begin()
    return NSKeyValueObservation(observation)
  }
}
