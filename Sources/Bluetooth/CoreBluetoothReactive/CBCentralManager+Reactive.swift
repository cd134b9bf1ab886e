public import CoreBluetooth
public import CoreBluetoothAsync
public import Reactive
internal import RunLoopSupport

/// A discovered peripheral and its advertisement.
public struct DiscoveredPeripheral: Sendable {
  /// The peripheral. Connect to it with the manager that discovered it.
  public let peripheral: CBPeripheral
  /// The advertising data and the signal strength.
  public let advertisement: Discovery
}

// Values are sent on the manager's queue. Slow observers should do their work there, because the
// host then holds back the peers. Values passed to another scheduler are bounded by that
// scheduler's operators.
extension Reactive where Base: CBCentralManager {
  /// Discovers the peripherals that advertise one of the services, or all peripherals.
  ///
  /// The manager scans while a run lasts and the radio is on; it resumes when the radio is switched
  /// on again. Simultaneous runs share one scan, and each gets the peripherals that match its
  /// services. When a run starts or ends, the others may get a peripheral again.
  ///
  /// - Parameters:
  ///   - services: The services to scan for; nil for all peripherals.
  ///   - allowDuplicates: Whether to send every advertisement instead of every change.
  /// - Returns: A producer that does not complete. It fails with `.notAvailable` if the radio is
  ///   unsupported or unauthorized.
  public func discoveries(
    withServices services: [CBUUID]? = nil, allowDuplicates: Bool = false
  ) -> SignalProducer<DiscoveredPeripheral, BluetoothError> {
    let central: CBCentralManager = base
    let demand = ScanDemand(services: services, allowsDuplicates: allowDuplicates)
    return SignalProducer(listening: { notify in
      central.observeDiscoveries(matching: demand, notify)
    })
    .map { DiscoveredPeripheral(peripheral: $0, advertisement: $1) }
  }

  /// A connection to a peripheral, established or pending while a run lasts.
  ///
  /// A run waits until the radio is on, connects, without a timeout, and sends the peripheral. When
  /// it is disposed of, the connection, established or pending, is cancelled. Runs with the same
  /// peripheral share its connection, which is cancelled when the last one ends.
  ///
  /// ```swift
  /// central.reactive.connection(to: strap)
  ///   .flatMap(.latest) { $0.reactive.characteristic("2A37", of: "180D") }
  ///   .flatMap(.latest) { strap.reactive.values(of: $0) }
  ///   .retry(upTo: 10, backoff: backoff, on: scheduler, using: SystemRandomNumberGenerator())
  /// ```
  ///
  /// - Parameters:
  ///   - peripheral: A peripheral of this manager.
  ///   - options: The options of `connect(_:options:)`. With
  ///     `CBConnectPeripheralOptionEnableAutoReconnect` a run continues after the connection is
  ///     lost, and sends the peripheral after each reconnection.
  /// - Returns: A producer that completes when the connection is cancelled locally by other code.
  ///   It fails with `.connectionFailed`; with `.disconnected` when the connection is lost; and
  ///   with `.notAvailable` when the radio is switched off during the connection, or is unsupported
  ///   or unauthorized.
  public func connection(
    to peripheral: CBPeripheral, options: [String: any Sendable]? = nil
  ) -> SignalProducer<CBPeripheral, BluetoothError> {
    let central: CBCentralManager = base
    let connection = SignalProducer(listening: { notify in
      central.observeConnection(to: peripheral, options: options, notify)
    })
    return whenPoweredOn.then(connection)
  }

  /// Sends the state that the manager has of an earlier process of the app, once and before all other values, or
  /// nothing.
  ///
  /// A manager without a delegate waits for the first run of any producer; one with a delegate doesn't wait. Later
  /// runs get the state, too, as long as any run of the manager lasts; the peripherals are kept so long.
  public var restoration: SignalProducer<CentralRestoration, Never> {
    let central: CBCentralManager = base
    return SignalProducer(listening: { notify in
      central.observeRestoration { notify(.value($0)) }
    })
  }

  /// Sends connections and disconnections of the peers for which
  /// `registerForConnectionEvents(options:)` was called.
  public var connectionEvents: SignalProducer<ConnectionEvent, Never> {
    let central: CBCentralManager = base
    return SignalProducer(listening: { notify in
      central.observeConnectionEvents { notify(.value(($0, $1))) }
    })
  }

  /// A connection event and the peripheral that it concerns.
  public typealias ConnectionEvent = (event: CBConnectionEvent, peripheral: CBPeripheral)
}
