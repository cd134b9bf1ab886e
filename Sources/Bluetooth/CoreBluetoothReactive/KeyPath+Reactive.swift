public import CoreBluetooth
public import Reactive

extension Reactive where Base: _KeyValueCodingAndObserving & Sendable {
  /// The value of a property now, and whenever it changes.
  ///
  /// The properties are those that `observe(_:options:changeHandler:)` observes, such as the `state`
  /// of a manager, its `isScanning`, the `state` and `name` of a peripheral. Values are sent on the
  /// thread that changed the property: the manager's queue for what the radio reports, that of the
  /// caller for what a method changes.
  public func producer<Value: Equatable & Sendable>(
    for keyPath: any KeyPath<Base, Value> & Sendable
  ) -> SignalProducer<Value, Never> {
    let base = base
    return SignalProducer(registering: { notify in
      let observation = base.observe(keyPath) { object, _ in
        notify(.value(object[keyPath: keyPath]))
      }
      // A change that was reported meanwhile is not to be followed by what was before.
      var value: Value
      repeat {
        value = base[keyPath: keyPath]
        notify(.value(value))
      } while base[keyPath: keyPath] != value
      return AnyDisposable { observation.invalidate() }
    })
    .skipRepeats()
  }
}
