import CoreBluetooth
import CoreBluetoothAsync
import CoreBluetoothReactive
import Reactive

/// The heart rates of the first strap that is found, also after its connection was lost.
///
/// Disposing of a run turns notifications off, ends the connection, or stops looking for a strap.
func heartRates(
  _ central: CBCentralManager, on scheduler: any DateScheduler
) -> SignalProducer<UInt8, BluetoothError> {
  central.reactive.discoveries(withServices: [CBUUID(string: "180D")])
    .take(first: 1)
    .flatMap(.latest) { found in heartRates(of: found.peripheral, central) }
    .retry(
      upTo: 100, backoff: Backoff(initial: 1, maximum: 60, jitter: 0.5), on: scheduler,
      using: SystemRandomNumberGenerator())
}

/// The heart rates of a strap, as long as it is connected.
func heartRates(
  of strap: CBPeripheral, _ central: CBCentralManager
) -> SignalProducer<UInt8, BluetoothError> {
  central.reactive.connection(to: strap)
    .flatMap(.latest) { strap in
      strap.reactive.characteristic(CBUUID(string: "2A37"), of: CBUUID(string: "180D"))
    }
    .flatMap(.latest) { measurement in strap.reactive.values(of: measurement) }
    .compactMap { value in value.dropFirst().first }
}
