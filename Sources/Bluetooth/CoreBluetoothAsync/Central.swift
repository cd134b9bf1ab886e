public import BluetoothInterface
internal import BluetoothSessions
public import CoreBluetooth
internal import Dispatch
internal import Foundation
internal import RunLoopSupport
internal import Synchronization

/// A central manager for `async` code: scanning as a sequence, connecting as a function.
///
/// ```swift
/// let central = Central()
/// for await discovery in central.scan(services: [CBUUID(string: "180D")]) {
///   let strap = try await central.connect(discovery.id)
///   let measurement = try await strap.characteristic("2A37", of: "180D")
///   for try await value in strap.values(of: measurement) { print(value) }
///   break
/// }
/// ```
public final class Central: Sendable {
  let manager: CBCentralManager
  private let host: any HostSessionProvider
  private let connections = Mutex<[UUID: SharedConnection]>([:])
  /// Those of an earlier process of the app.
  private let restored = Mutex<[SharedConnection]>([])
  private let restoration = ListenerRegistration()
  /// Observed by streams, which end with the central.
  private let ends = EventObservers<Void>()

  /// Creates a central on a host. The default is the current host: the one that the task has set,
  /// or else the one that the environment selects, as for `CBCentralManager`.
  ///
  /// - Parameters:
  ///   - host: The host.
  ///   - showsSystemServices: Whether to discover also Generic Access and Generic Attribute, which
  ///     Core Bluetooth hides.
  ///   - restoreIdentifier: The identifier under which a hub preserves connections and
  ///     subscriptions for the next process of the app, which gets them by
  ///     ``restoredPeripherals()``; nil for none.
  public init(
    host: (any HostSessionProvider)? = nil, showsSystemServices: Bool = false,
    restoreIdentifier: String? = nil
  ) {
    self.host = host ?? CurrentHost.provider
    manager = CBCentralManager(
      delegate: nil, queue: DispatchQueue(label: "ambit.central"), host: self.host,
      showsSystemServices: showsSystemServices, restoreIdentifier: restoreIdentifier)
    guard restoreIdentifier != nil else { return }
    restoration.add(manager.observeRestoration { [weak self] in self?.restore($0) })
  }

  deinit {
    ends.send(())
    // Only restored ones without a caller are left: callers and objects retain the central.
    for connection in connections.withLock({ Array($0.values) }) { connection.released() }
    restoration.cancel()
  }

  // MARK: State

  /// The radio's state.
  public var state: CBManagerState { manager.state }

  /// Emits the current state and each change.
  public func states() -> AsyncStream<CBManagerState> {
    AsyncStream(bufferMax: Limits.statesMax) { [manager] notify in
      let last = Mutex<CBManagerState?>(nil)
      // The state is read with the lock held, so that no older state is emitted after a newer one.
      let emit = { @Sendable in
        last.withLock { last in
          let state = manager.state
          if state != last { notify(.value(state)) }
          last = state
        }
      }
      let registration = manager.observeStateChanges { emit() }
      registration.add(ends.add { notify(.completed) })
      emit()
      return registration
    }
  }

  /// Waits until the radio is on.
  ///
  /// - Throws: `.notAvailable` if the radio is unsupported or unauthorized.
  public func waitUntilPoweredOn() async throws(BluetoothError) {
    for await state in states() {
      if state == .poweredOn { return }
      if state.isFinal { throw .notAvailable(state) }
    }
    throw .cancelled
  }

  // MARK: Restoration

  /// The peripherals that are connected since an earlier process of the app. Waits for the radio's
  /// first state. Each is returned once.
  ///
  /// The first sequence of a characteristic's values begins with those that came meanwhile. Pending
  /// connections of an earlier process go on: ``connect(_:)`` waits for them, and those that are
  /// established before it are returned here.
  public func restoredPeripherals() async -> [ConnectedPeripheral] {
    for await state in states() where state != .unknown { break }
    return restored.withLock { $0 }.compactMap { $0.takeRestored() }
  }

  private func restore(_ restoration: CentralRestoration) {
    for peripheral in restoration.peripherals {
      let connection = SharedConnection(restored: peripheral, of: self)
      connections.withLock { $0[peripheral.identifier] = connection }
      restored.withLock { $0.append(connection) }
      connection.start(with: manager)
    }
  }

  // MARK: Scanning

  /// Discovers the peripherals that advertise one of the services, or all peripherals. The scan
  /// runs while the sequence is iterated. It starts when the radio is on, and resumes after the
  /// radio was off.
  ///
  /// - Parameters:
  ///   - services: The services to scan for; nil for all peripherals.
  ///   - allowDuplicates: Whether to emit every advertisement instead of every change.
  public func scan(
    services: [CBUUID]? = nil, allowDuplicates: Bool = false
  ) -> AsyncStream<Discovery> {
    AsyncStream(bufferMax: Limits.discoveriesMax) { notify in
      // Each scan has a manager, and so a filter for duplicates, of its own.
      let manager = CBCentralManager(
        delegate: nil, queue: DispatchQueue(label: "ambit.scan"), host: host)
      let demand = ScanDemand(services: services, allowsDuplicates: allowDuplicates)
      return manager.observeDiscoveries(matching: demand) { event in
        switch event {
        case .value((_, let discovery)): notify(.value(discovery))
        case .completed: notify(.completed)
        case .failed(let error): notify(.failed(error))
        }
      }
    }
  }

  // MARK: Connecting

  /// Connects to a peripheral. The attempt has no timeout; cancel the task to give up. Returns the
  /// same object if the peripheral is already connected.
  ///
  /// - Throws: `.unknownPeripheral`, `.notAvailable`, `.connectionFailed` or `.cancelled`.
  public func connect(_ identifier: UUID) async throws(BluetoothError) -> ConnectedPeripheral {
    guard let peripheral = manager.retrievePeripherals(withIdentifiers: [identifier]).first
    else { throw .unknownPeripheral(identifier) }
    try await waitUntilPoweredOn()
    return try await result { done in connection(to: peripheral, done) }
  }

  /// Joins the connection of a peripheral, or starts one.
  private func connection(
    to peripheral: CBPeripheral, _ done: @escaping SharedConnection.Done
  ) -> ListenerRegistration {
    let identifier = peripheral.identifier
    let (connection, membership, isNew) = connections.withLock { connections in
      if let known = connections[identifier], let membership = known.join(done) {
        return (known, membership, false)
      }
      let new = SharedConnection(to: peripheral, of: self, for: done)
      connections[identifier] = new
      return (new, .waiting(number: SharedConnection.firstNumber), true)
    }
    if isNew { connection.start(with: manager) }
    switch membership {
    case .waiting(let number): return ListenerRegistration { connection.leave(number) }
    case .connected(let object): done(.success(object))
    }
    return ListenerRegistration()
  }

  /// The number of callers that wait for a connection, for tests.
  package func callerCount(of identifier: UUID) -> Int {
    connections.withLock { $0[identifier] }?.callerCount ?? 0
  }

  /// Forgets a connection that has ended.
  func forget(_ connection: SharedConnection, to identifier: UUID) {
    connections.withLock {
      if $0[identifier] === connection { $0[identifier] = nil }
    }
  }

  /// The peripherals with one of these services that any client of this host is connected to. Only services
  /// that a client has discovered over the present link are known.
  public func connectedPeripherals(with services: [CBUUID]) -> [UUID] {
    manager.retrieveConnectedPeripherals(withServices: services).map(\.identifier)
  }
}
