public import CoreBluetooth
internal import CoreBluetoothAsync
public import Reactive

extension CBManager: ReactiveExtensionsProvider {}

extension Reactive where Base: CBManager {
  /// Sends the radio's current state and each change.
  public var states: SignalProducer<CBManagerState, Never> { producer(for: \.state) }

  /// Completes when the radio is on; fails if it never will be.
  var whenPoweredOn: SignalProducer<Never, BluetoothError> {
    states.promoteError(BluetoothError.self)
      .attempt { $0.isFinal ? .failure(.notAvailable($0)) : .success(()) }
      .take(while: { $0 != .poweredOn })
      .then(.empty)
  }
}
