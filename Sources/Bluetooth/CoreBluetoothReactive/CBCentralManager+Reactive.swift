public import CoreBluetooth
public import CoreBluetoothAsync
public import Reactive
internal import Synchronization

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
    return CentralProxy.all.producer(of: central) { proxy, notify in
      let observation = proxy.events.observeValues { event in
        switch event {
        case .discovered(let found):
          if demand.includes(found.advertisement) { notify(.value(found)) }
        case .stateChanged(let state):
          if state.isFinal { notify(.failed(.notAvailable(state))) }
        default: break
        }
      }
      let scan = proxy.scan(demand, with: central)
      if central.state.isFinal { notify(.failed(.notAvailable(central.state))) }
      return AnyDisposable {
        observation?.dispose()
        scan.dispose()
      }
    }
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
    let connection = CentralProxy.all.producer(of: central) { proxy, notify in
      ConnectionRun(to: peripheral, notify).start(proxy, central, options)
    }
    return whenPoweredOn.then(connection)
  }

  /// Sends the state that the manager has of an earlier process of the app, once and before all other values, or
  /// nothing.
  ///
  /// A manager without a delegate waits for the first run of any producer; one with a delegate doesn't wait. Later
  /// runs get the state, too, as long as any run of the manager lasts; the peripherals are kept so long.
  public var restoration: SignalProducer<CentralRestoration, Never> {
    CentralProxy.all.producer(of: base) { proxy, notify in
      let isSent = Mutex(false)
      let send: @Sendable (CentralRestoration) -> Void = { restored in
        let isFirst = isSent.withLock { isSent in
          defer { isSent = true }
          return !isSent
        }
        if isFirst { notify(.value(restored)) }
      }
      let observation = proxy.events.observeValues {
        if case .restored(let restored) = $0 { send(restored) }
      }
      if let restored = proxy.restoration.withLock({ $0 }) { send(restored) }
      return observation
    }
  }

  /// Sends connections and disconnections of the peers for which
  /// `registerForConnectionEvents(options:)` was called.
  public var connectionEvents: SignalProducer<ConnectionEvent, Never> {
    CentralProxy.all.producer(of: base) { proxy, notify in
      proxy.events.observeValues {
        if case .connectionEvent(let event, let peripheral) = $0 {
          notify(.value((event, peripheral)))
        }
      }
    }
  }

  /// A connection event and the peripheral that it concerns.
  public typealias ConnectionEvent = (event: CBConnectionEvent, peripheral: CBPeripheral)
}

/// One run of a connection.
private final class ConnectionRun: Sendable {
  typealias Notify = @Sendable (Signal<CBPeripheral, BluetoothError>.Event) -> Void

  private enum Phase { case new, waiting, connected }

  private let peripheral: CBPeripheral
  private let notify: Notify
  private let phase = Mutex(Phase.new)

  init(to peripheral: CBPeripheral, _ notify: @escaping Notify) {
    self.peripheral = peripheral
    self.notify = notify
  }

  func start(
    _ proxy: CentralProxy, _ central: CBCentralManager, _ options: [String: any Sendable]?
  ) -> any Disposable {
    // Reports the reason when what others do with the peripheral ends.
    let listener = PeripheralProxy.all.retain(for: peripheral)
    listener.addReporter()
    let observation = proxy.events.observeValues { self.handle($0, listener) }
    let demand = proxy.connect(peripheral, options, with: central)
    phase.withLock { if $0 == .new { $0 = .waiting } }
    if peripheral.state == .connected { connected() }
    if central.state != .poweredOn { end(listener, .notAvailable(central.state)) }
    return AnyDisposable { [peripheral] in
      observation?.dispose()
      demand.dispose()
      listener.removeReporter()
      if peripheral.state != .connected { listener.ended(.disconnected(nil), for: peripheral) }
      PeripheralProxy.all.release(for: peripheral)
    }
  }

  private func handle(_ event: CentralEvent, _ listener: PeripheralProxy) {
    switch event {
    case .connected(peripheral): connected()
    case .failedToConnect(peripheral, let error):
      notify(.failed(.connectionFailed(error as? CBError ?? CBError(.connectionFailed))))
    case .disconnected(peripheral, let error, let isReconnecting):
      disconnected(error, isReconnecting, listener)
    case .stateChanged(let state):
      if state != .poweredOn { end(listener, .notAvailable(state)) }
    default: break
    }
  }

  private func connected() {
    let isNews = phase.withLock { phase in
      defer { phase = .connected }
      return phase != .connected
    }
    if isNews { notify(.value(peripheral)) }
  }

  private func disconnected(
    _ error: (any Error)?, _ isReconnecting: Bool, _ listener: PeripheralProxy
  ) {
    let reason = BluetoothError.disconnected(error.map { $0 as? CBError ?? CBError(.unknown) })
    let before = phase.withLock { phase in
      defer { if phase == .connected { phase = .waiting } }
      return phase
    }
    // Also of a connection that no run made.
    listener.ended(reason, for: peripheral)
    if isReconnecting { return }
    // The end of an earlier connection doesn't concern this run, which waits for the next one.
    guard before == .connected || before == .waiting && peripheral.state == .disconnected
    else { return }
    notify(error == nil ? .completed : .failed(reason))
  }

  private func end(_ listener: PeripheralProxy, _ error: BluetoothError) {
    listener.ended(error, for: peripheral)
    notify(.failed(error))
  }
}
