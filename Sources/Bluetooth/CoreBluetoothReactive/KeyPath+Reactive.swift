public import CoreBluetooth
public import Reactive

extension Reactive where Base: _KeyValueCodingAndObserving & Sendable {
  /// Sends the current value of a property, and each change.
  ///
  /// Supported are the properties that `observe(_:options:changeHandler:)` can observe: the `state`
  /// of a manager, its `isScanning` or `isAdvertising`, and the `state` and `name` of a peripheral.
  /// Values are sent on the thread that changed the property: the manager's queue for changes
  /// reported by the radio, the caller's thread for changes made by a method.
  public func producer<Value: Equatable & Sendable>(
    for keyPath: any KeyPath<Base, Value> & Sendable
  ) -> SignalProducer<Value, Never> {
    let base = base
    return SignalProducer(registering: { notify in
      // Another thread may report a change meanwhile; no older value must be sent after the new
      // one.
      @Sendable func send(from object: Base) {
        var value: Value
        repeat {
          value = object[keyPath: keyPath]
          notify(.value(value))
        } while object[keyPath: keyPath] != value
      }
      let observation = base.observe(keyPath) { object, _ in send(from: object) }
      send(from: base)
      return AnyDisposable { observation.invalidate() }
    })
    .skipRepeats()
  }
}
