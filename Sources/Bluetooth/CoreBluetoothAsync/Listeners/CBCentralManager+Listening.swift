package import CoreBluetooth
package import RunLoopSupport
internal import Synchronization

extension CBManagerState {
  /// Whether the radio will not be on by itself.
  package var isFinal: Bool { self == .unsupported || self == .unauthorized }
}

// The registrations behind sequences and producers. Events are reported on the manager's queue, or
// by the thread that registers, before the call returns.
extension CBCentralManager {
  /// Reports each change of the radio's state.
  package func observeStateChanges(_ notify: @escaping @Sendable () -> Void) -> ListenerRegistration
  {
    CentralListener.all.registration(for: self) { listener in
      listener.events.add { if case .stateChanged = $0 { notify() } }
    }
  }

  /// Reports the state that the manager has of an earlier process of the app, if there is any.
  /// A manager without a delegate waits for the first registration of any kind.
  package func observeRestoration(
    _ notify: @escaping @Sendable (CentralRestoration) -> Void
  ) -> ListenerRegistration {
    CentralListener.all.registration(for: self) { $0.restoration.observe(notify) }
  }

  /// Reports connections and disconnections of the peers for which
  /// `registerForConnectionEvents(options:)` was called.
  package func observeConnectionEvents(
    _ notify: @escaping @Sendable (CBConnectionEvent, CBPeripheral) -> Void
  ) -> ListenerRegistration {
    CentralListener.all.registration(for: self) { listener in
      listener.events.add {
        if case .connectionEvent(let event, let peripheral) = $0 { notify(event, peripheral) }
      }
    }
  }

  /// Scans, and reports the peripherals that match. Fails with `.notAvailable` if the radio is
  /// unsupported or unauthorized.
  package func observeDiscoveries(
    matching demand: ScanDemand,
    _ notify: @escaping @Sendable (ListenerEvent<(CBPeripheral, Discovery), BluetoothError>) -> Void
  ) -> ListenerRegistration {
    CentralListener.all.registration(for: self) { listener in
      let registration = listener.events.add { event in
        switch event {
        case .discovered(let peripheral, let discovery):
          if demand.includes(discovery) { notify(.value((peripheral, discovery))) }
        case .stateChanged(let state):
          if state.isFinal { notify(.failed(.notAvailable(state))) }
        default: break
        }
      }
      registration.add(listener.scan(demand, with: self))
      if state.isFinal { notify(.failed(.notAvailable(state))) }
      return registration
    }
  }

  /// Connects, if the radio is on, and reports the peripheral each time that it has connected.
  /// A restored connection, established or pending, is only observed: also before the radio's state
  /// is known, and until it ends, without reconnections. Its values wait for their first observer.
  ///
  /// Completes when the connection is cancelled locally by other code. Fails with
  /// `.connectionFailed`; with `.disconnected` when the connection is lost; and with
  /// `.notAvailable` when the radio is not on.
  package func observeConnection(
    to peripheral: CBPeripheral, options: [String: any Sendable]? = nil, isRestored: Bool = false,
    _ notify: @escaping @Sendable (ListenerEvent<CBPeripheral, BluetoothError>) -> Void
  ) -> ListenerRegistration {
    CentralListener.all.registration(for: self) { listener in
      ObservedConnection(to: peripheral, isRestored, notify).start(listener, self, options)
    }
  }
}

/// One registration for a connection.
private final class ObservedConnection: Sendable {
  typealias Notify = @Sendable (ListenerEvent<CBPeripheral, BluetoothError>) -> Void

  private enum Phase { case new, waiting, connected }

  private let peripheral: CBPeripheral
  private let isRestored: Bool
  private let notify: Notify
  private let phase = Mutex(Phase.new)

  init(to peripheral: CBPeripheral, _ isRestored: Bool, _ notify: @escaping Notify) {
    self.peripheral = peripheral
    self.isRestored = isRestored
    self.notify = notify
  }

  func start(
    _ listener: CentralListener, _ central: CBCentralManager, _ options: [String: any Sendable]?
  ) -> ListenerRegistration {
    // Reports the reason when other operations on the peripheral end.
    let peripheralListener = PeripheralListener.all.retain(for: peripheral)
    peripheralListener.addReporter()
    if isRestored { peripheralListener.held.begin() }
    let registration = listener.events.add { self.handle($0, peripheralListener) }
    registration.add(listener.connect(peripheral, options, with: central))
    phase.withLock { if $0 == .new { $0 = .waiting } }
    if peripheral.state == .connected { connected() }
    if !isRestored, central.state != .poweredOn {
      end(peripheralListener, .notAvailable(central.state))
    }
    registration.add { [peripheral] in
      peripheralListener.removeReporter()
      if peripheral.state != .connected {
        peripheralListener.ended(.disconnected(nil), for: peripheral)
      }
      PeripheralListener.all.release(for: peripheral)
    }
    return registration
  }

  private func handle(_ event: CentralEvent, _ listener: PeripheralListener) {
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
    let isNew = phase.withLock { phase in
      defer { phase = .connected }
      return phase != .connected
    }
    if isNew { notify(.value(peripheral)) }
  }

  private func disconnected(
    _ error: (any Error)?, _ isReconnecting: Bool, _ listener: PeripheralListener
  ) {
    let reason = BluetoothError.disconnected(error.map { $0 as? CBError ?? CBError(.unknown) })
    let before = phase.withLock { phase in
      defer { if phase == .connected { phase = .waiting } }
      return phase
    }
    // Also of a connection that other code made.
    listener.ended(reason, for: peripheral)
    if isReconnecting, !isRestored { return }
    // The end of an earlier connection doesn't concern this one, which is still pending.
    guard before == .connected || before == .waiting && peripheral.state == .disconnected
    else { return }
    notify(error == nil ? .completed : .failed(reason))
  }

  private func end(_ listener: PeripheralListener, _ error: BluetoothError) {
    listener.ended(error, for: peripheral)
    notify(.failed(error))
  }
}
