public import BluetoothHost
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
  private let host: BluetoothHost?

  /// A central on a host; without one on the current host, which is the one on the radio that
  /// `AMBIT_RADIO` names unless a task says otherwise.
  public init(host: BluetoothHost? = nil) {
    self.host = host ?? BluetoothHost.current
    let listener = CentralListener()
    let queue = DispatchQueue(label: "ambit.central")
    manager = Self.on(self.host) { CBCentralManager(delegate: listener, queue: queue) }
    self.listener = listener
  }

  deinit { listener.close() }

  private static func on<Value>(_ host: BluetoothHost?, _ make: () -> Value) -> Value {
    guard let host else { return make() }
    return BluetoothHost.$current.withValue(host, operation: make)
  }

  // MARK: State

  /// The radio's state.
  public var state: CBManagerState { manager.state }

  /// The state now and whenever it changes.
  public func states() -> AsyncStream<CBManagerState> { listener.states(after: manager.state) }

  /// Waits until the radio is on.
  ///
  /// - Throws: `.notAvailable` if it never will be: it cannot do this or is not allowed to.
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

  // MARK: Scanning

  /// What advertises one of the services, or anything. The scan runs while the sequence is read;
  /// it begins when the radio is on and goes on after an interruption.
  ///
  /// - Parameters:
  ///   - services: The services looked for; nil for everybody.
  ///   - allowDuplicates: Every advertisement instead of every change.
  public func scan(
    services: [CBUUID]? = nil, allowDuplicates: Bool = false
  ) -> AsyncStream<Discovery> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Discovery.self, bufferingPolicy: .bufferingNewest(Limits.discoveriesMax))
    let scanner = Scanner(services, allowDuplicates: allowDuplicates, continuation)
    let queue = DispatchQueue(label: "ambit.scan")
    let manager = Self.on(host) { CBCentralManager(delegate: scanner, queue: queue) }
    // The stream holds both; when its reader goes, they go, and with them the scan.
    continuation.onTermination = { _ in withExtendedLifetime((scanner, manager)) {} }
    return stream
  }

  // MARK: Connecting

  /// Connects, however long it takes; cancel the task to give up.
  ///
  /// - Throws: `.unknownPeripheral`, `.notAvailable`, `.connectionFailed` or `.cancelled`.
  public func connect(_ identifier: UUID) async throws(BluetoothError) -> ConnectedPeripheral {
    guard let peripheral = manager.retrievePeripherals(withIdentifiers: [identifier]).first
    else { throw .unknownPeripheral(identifier) }
    try await waitUntilPoweredOn()
    let connected = ConnectedPeripheral(peripheral, central: self)
    do {
      try await listener.waitForConnection(of: connected) { self.manager.connect(peripheral) }
    } catch {
      if error == .cancelled { manager.cancelPeripheralConnection(peripheral) }
      throw error
    }
    return connected
  }

  /// The peripherals with one of these services that somebody on this host is connected with.
  public func connectedPeripherals(with services: [CBUUID]) -> [UUID] {
    manager.retrieveConnectedPeripherals(withServices: services).map(\.identifier)
  }

  func disconnect(_ connected: ConnectedPeripheral) async {
    try? await listener.waitForDisconnection(of: connected) {
      self.manager.cancelPeripheralConnection(connected.peripheral)
    }
  }
}

/// Scans for one stream.
private final class Scanner: NSObject, CBCentralManagerDelegate, Sendable {
  private let services: [CBUUID]?
  private let allowDuplicates: Bool
  private let continuation: AsyncStream<Discovery>.Continuation

  init(
    _ services: [CBUUID]?, allowDuplicates: Bool,
    _ continuation: AsyncStream<Discovery>.Continuation
  ) {
    self.services = services
    self.allowDuplicates = allowDuplicates
    self.continuation = continuation
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
    /// Whoever was connected last, by identifier; weak, as the app owns them.
    var connected: [UUID: WeakPeripheral] = [:]
  }
  private struct WeakPeripheral: Sendable { weak var value: ConnectedPeripheral? }

  private let state = Mutex(State())
  private let stateBroadcast = Broadcast<CBManagerState>()
  private let connections = Waiters<UUID, Bool>()
  private let disconnections = Waiters<UUID, Bool>()

  func states(after first: CBManagerState) -> AsyncStream<CBManagerState> {
    stateBroadcast.stream(startingWith: first, bufferMax: Limits.statesMax)
  }

  func close() {
    stateBroadcast.finish()
    connections.failAll(.cancelled, isEnd: true)
    disconnections.failAll(.cancelled, isEnd: true)
  }

  func waitForConnection(
    of connected: ConnectedPeripheral, start: @Sendable () -> Void
  ) async throws(BluetoothError) {
    let identifier = connected.identifier
    state.withLock { $0.connected[identifier] = WeakPeripheral(value: connected) }
    _ = try await connections.wait(for: identifier, start: start)
  }

  func waitForDisconnection(
    of connected: ConnectedPeripheral, start: @Sendable () -> Void
  ) async throws(BluetoothError) {
    guard connected.peripheral.state != .disconnected else { return }
    _ = try await disconnections.wait(for: connected.identifier, start: start)
  }

  private func ended(_ peripheral: CBPeripheral, _ error: BluetoothError) {
    let connected = state.withLock {
      $0.connected.removeValue(forKey: peripheral.identifier)?.value
    }
    connected?.ended(error)
    connections.resume(peripheral.identifier, with: .failure(error))
    disconnections.resume(peripheral.identifier, with: .success(true))
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    stateBroadcast.send(central.state)
    if central.state != .poweredOn {
      connections.failAll(.notAvailable(central.state), isEnd: false)
    }
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    if !connections.resume(peripheral.identifier, with: .success(true)) {
      central.cancelPeripheralConnection(peripheral)
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
