public import BluetoothInterface
internal import BluetoothSessions
public import CoreBluetooth
internal import Dispatch
internal import Foundation
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
  private let listener: CentralListener
  private let host: any HostSessionProvider

  /// Creates a central on a host. The default is the current host: the one that the task has set,
  /// or else the one that the environment selects, as for `CBCentralManager`.
  ///
  /// - Parameters:
  ///   - host: The host.
  ///   - showsSystemServices: Whether to discover also Generic Access and Generic Attribute, which
  ///     Core Bluetooth hides.
  ///   - restoreIdentifier: The identifier under which a hub preserves connections and subscriptions for the next
  ///     process of the app, which gets them by ``restoredPeripherals()``; nil for none.
  public init(
    host: (any HostSessionProvider)? = nil, showsSystemServices: Bool = false,
    restoreIdentifier: String? = nil
  ) {
    self.host = host ?? CurrentHost.provider
    let listener = CentralListener()
    let queue = DispatchQueue(label: "ambit.central")
    manager = CBCentralManager(
      delegate: listener, queue: queue, host: self.host, showsSystemServices: showsSystemServices,
      restoreIdentifier: restoreIdentifier)
    self.listener = listener
    listener.serve(self)
  }

  deinit { listener.close() }

  // MARK: State

  /// The radio's state.
  public var state: CBManagerState { manager.state }

  /// Emits the current state and each change.
  public func states() -> AsyncStream<CBManagerState> { listener.states() }

  /// Waits until the radio is on.
  ///
  /// - Throws: `.notAvailable` if the radio is unsupported or unauthorized.
  public func waitUntilPoweredOn() async throws(BluetoothError) {
    for await state in states() {
      switch state {
      case .poweredOn: return
      case .unsupported, .unauthorized: throw .notAvailable(state)
      case .unknown, .resetting, .poweredOff: continue
      }
    }
    throw .cancelled
  }

  // MARK: Restoration

  /// The peripherals that are connected since an earlier process of the app. Waits for the radio's first state. Each
  /// is returned once.
  ///
  /// The first sequence of a characteristic's values begins with those that came meanwhile. Pending connections of an
  /// earlier process go on: ``connect(_:)`` waits for them, and those that are established before it are returned here.
  public func restoredPeripherals() async -> [ConnectedPeripheral] {
    for await state in states() where state != .unknown { break }
    return listener.takeRestored()
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
    let (stream, continuation) = AsyncStream.makeStream(
      of: Discovery.self, bufferingPolicy: .bufferingNewest(Limits.discoveriesMax))
    let scanner = Scanner(services, allowDuplicates: allowDuplicates, continuation)
    // The stream holds the scanner; when its reader goes, the scan ends.
    continuation.onTermination = { _ in scanner.stop() }
    let queue = DispatchQueue(label: "ambit.scan")
    scanner.start(with: CBCentralManager(delegate: scanner, queue: queue, host: host))
    return stream
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
    do {
      return try await listener.waitForConnection(with: identifier) {
        self.manager.connect(peripheral)
      }
    } catch {
      if error == .cancelled, listener.isUnwanted(identifier) {
        manager.cancelPeripheralConnection(peripheral)
      }
      throw error
    }
  }

  /// The peripherals with one of these services that any client of this host is connected to. Only services
  /// that a client has discovered over the present link are known.
  public func connectedPeripherals(with services: [CBUUID]) -> [UUID] {
    manager.retrieveConnectedPeripherals(withServices: services).map(\.identifier)
  }

  /// No caller uses this connection any more.
  func released(_ peripheral: CBPeripheral, connection number: UInt64) {
    if listener.forget(peripheral.identifier, connection: number) {
      manager.cancelPeripheralConnection(peripheral)
    }
  }
}

/// Scans for one stream.
private final class Scanner: NSObject, CBCentralManagerDelegate, Sendable {
  private let services: [CBUUID]?
  private let allowDuplicates: Bool
  private let continuation: AsyncStream<Discovery>.Continuation
  private let state = Mutex(State())

  private struct State: Sendable {
    var manager: CBCentralManager?
    var isStopped = false
  }

  init(
    _ services: [CBUUID]?, allowDuplicates: Bool,
    _ continuation: AsyncStream<Discovery>.Continuation
  ) {
    self.services = services
    self.allowDuplicates = allowDuplicates
    self.continuation = continuation
  }

  func start(with manager: CBCentralManager) {
    state.withLock { if !$0.isStopped { $0.manager = manager } }
  }

  func stop() {
    let old = state.withLock { state in
      defer { state = State(isStopped: true) }
      return state.manager
    }
    _ = old  // released outside the lock, and with it the scan
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    switch central.state {
    case .poweredOn:
      central.scanForPeripherals(
        withServices: services,
        options: [CBCentralManagerScanOptionAllowDuplicatesKey: allowDuplicates])
    case .unsupported, .unauthorized: continuation.finish()
    case .unknown, .resetting, .poweredOff: break
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    continuation.yield(Discovery(peripheral, advertisementData, RSSI))
  }
}

/// Listens to a central manager for all tasks.
private final class CentralListener: NSObject, CBCentralManagerDelegate, Sendable {
  private struct State: Sendable {
    weak var central: Central?
    /// The current connections, by identifier.
    var connections: [UUID: Connection] = [:]
    var lastNumber: UInt64 = 0
    /// Restored connections that no caller has taken.
    var restored: [ConnectedPeripheral] = []
    /// Peripherals with a restored pending connection.
    var pending: [UUID: CBPeripheral] = [:]
  }

  private struct Connection: Sendable {
    var number: UInt64
    /// Weak, as the app owns it.
    weak var peripheral: ConnectedPeripheral?
  }

  private let state = Mutex(State())
  private let stateBroadcast = Broadcast<CBManagerState>(startingWith: .unknown)
  private let connections = Waiters<UUID, ConnectedPeripheral>()

  func serve(_ central: Central) { state.withLock { $0.central = central } }

  func states() -> AsyncStream<CBManagerState> {
    stateBroadcast.stream(bufferMax: Limits.statesMax)
  }

  func close() {
    stateBroadcast.finish()
    connections.failAll(.cancelled, isEnd: true)
  }

  func waitForConnection(
    with identifier: UUID, start: @Sendable () -> Void
  ) async throws(BluetoothError) -> ConnectedPeripheral {
    try await connections.wait(for: identifier, start: start)
  }

  /// Whether no caller has this connection or waits for it.
  func isUnwanted(_ identifier: UUID) -> Bool {
    // Out of the lock with it: this may be the last reference, and its end takes the lock.
    let connected = state.withLock { $0.connections[identifier]?.peripheral }
    return connected == nil && !connections.isAwaited(identifier)
  }

  /// Forgets a connection; false if it has ended or another has taken its place.
  func forget(_ identifier: UUID, connection number: UInt64) -> Bool {
    state.withLock { state in
      guard state.connections[identifier]?.number == number else { return false }
      state.connections[identifier] = nil
      return true
    }
  }

  /// Restored connections, each once.
  func takeRestored() -> [ConnectedPeripheral] {
    state.withLock { state in
      defer { state.restored = [] }
      return state.restored
    }
  }

  /// The object of the current connection, created if necessary.
  private func connected(
    _ peripheral: CBPeripheral, isRestored: Bool = false
  ) -> ConnectedPeripheral? {
    state.withLock { state in
      guard let central = state.central else { return nil }
      if let known = state.connections[peripheral.identifier]?.peripheral { return known }
      state.lastNumber += 1
      let connected = ConnectedPeripheral(
        peripheral, central: central, connection: state.lastNumber, holdsValues: isRestored)
      state.connections[peripheral.identifier] = Connection(
        number: state.lastNumber, peripheral: connected)
      if isRestored { state.restored.append(connected) }
      return connected
    }
  }

  private func ended(_ peripheral: CBPeripheral, _ error: BluetoothError) {
    let connected = state.withLock {
      $0.connections.removeValue(forKey: peripheral.identifier)?.peripheral
    }
    connected?.ended(error)
    // A caller may have asked for the next connection already.
    if peripheral.state == .disconnected {
      connections.resumeAll(peripheral.identifier, with: .failure(error))
    }
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    stateBroadcast.send(central.state)
    if central.state != .poweredOn {
      connections.failAll(.notAvailable(central.state), isEnd: false)
    }
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    for peripheral in CentralRestoration(dict).peripherals {
      if peripheral.state == .connected {
        _ = connected(peripheral, isRestored: true)
      } else {
        state.withLock { $0.pending[peripheral.identifier] = peripheral }
      }
    }
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    let wasPending = state.withLock { $0.pending.removeValue(forKey: peripheral.identifier) != nil }
    let isRestored = wasPending && !connections.isAwaited(peripheral.identifier)
    // If no caller waits any more, there is no reference to the object, whose end ends the connection.
    if let connected = connected(peripheral, isRestored: isRestored) {
      connections.resumeAll(peripheral.identifier, with: .success(connected))
    }
  }

  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) {
    ended(peripheral, .connectionFailed(error as? CBError ?? CBError(.connectionFailed)))
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {
    ended(peripheral, .disconnected(error.map { $0 as? CBError ?? CBError(.unknown) }))
  }
}
