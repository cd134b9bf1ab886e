internal import CoreBluetooth
internal import RunLoopSupport
internal import Synchronization

/// A connection, pending or established, that all callers of ``Central/connect(_:)`` with the same
/// peripheral share. It is cancelled when no caller waits for it, or the last reference to its
/// object is released.
final class SharedConnection: Sendable {
  typealias Done = @Sendable (Result<ConnectedPeripheral, BluetoothError>) -> Void

  private struct Reference: Sendable {
    /// Weak, as the app owns it.
    weak let object: ConnectedPeripheral?
  }

  private enum Phase: Sendable {
    case pending([UInt64: Done])
    /// Restored, and established without a caller.
    case restored
    case connected(Reference)
    case over
  }

  private struct State: Sendable {
    var phase: Phase
    var lastNumber = SharedConnection.firstNumber
  }

  /// How a caller has joined the connection.
  enum Membership: Sendable {
    case waiting(number: UInt64)
    case connected(ConnectedPeripheral)
  }

  /// The number of the caller that has created the connection.
  static let firstNumber: UInt64 = 1

  /// Retained, as Core Bluetooth cancels the connections of released peripherals.
  private let peripheral: CBPeripheral
  private weak let central: Central?
  private let isRestored: Bool
  private let registration = ListenerRegistration()
  private let state: Mutex<State>

  init(to peripheral: CBPeripheral, of central: Central, for done: @escaping Done) {
    state = Mutex(State(phase: .pending([Self.firstNumber: done])))
    self.peripheral = peripheral
    self.central = central
    isRestored = false
  }

  /// A connection of an earlier process of the app, which has no caller.
  init(restored peripheral: CBPeripheral, of central: Central) {
    state = Mutex(State(phase: .pending([:])))
    self.peripheral = peripheral
    self.central = central
    isRestored = true
  }

  func start(with manager: CBCentralManager) {
    registration.add(
      manager.observeConnection(to: peripheral, isRestored: isRestored) { self.handle($0) })
  }

  /// Adds a caller, or returns the object of the connection; nil if the connection has ended or is
  /// ending.
  func join(_ done: @escaping Done) -> Membership? {
    let isConnected = peripheral.state == .connected
    return state.withLock { state in
      switch state.phase {
      case .pending(var waiters):
        state.lastNumber += 1
        waiters[state.lastNumber] = done
        state.phase = .pending(waiters)
        return .waiting(number: state.lastNumber)
      case .connected(let reference):
        // Not loaded unless it is returned: the end of its last reference takes the lock.
        guard isConnected, let object = reference.object else { return nil }
        return .connected(object)
      case .restored: return isConnected ? makeObject(&state).map { .connected($0) } : nil
      case .over: return nil
      }
    }
  }

  /// The object of a restored connection that has no caller; nil of others.
  func takeRestored() -> ConnectedPeripheral? {
    state.withLock { state in
      guard case .restored = state.phase else { return nil }
      return makeObject(&state)
    }
  }

  private func makeObject(_ state: inout State) -> ConnectedPeripheral? {
    guard let central else { return nil }
    let object = ConnectedPeripheral(peripheral, central: central, connection: self)
    state.phase = .connected(Reference(object: object))
    return object
  }

  /// The number of callers that wait.
  var callerCount: Int {
    state.withLock { if case .pending(let waiters) = $0.phase { waiters.count } else { 0 } }
  }

  /// Removes a caller that doesn't wait any more. The last one cancels the pending connection.
  func leave(_ number: UInt64) {
    let old = state.withLock { state -> (done: Done?, isLast: Bool) in
      guard case .pending(var waiters) = state.phase else { return (nil, false) }
      let done = waiters.removeValue(forKey: number)
      state.phase = waiters.isEmpty ? .over : .pending(waiters)
      return (done, waiters.isEmpty)
    }
    if old.isLast { close() }
  }

  /// The last reference to the object was released, or the central of a restored connection
  /// without one.
  func released() {
    if case .over = end() { return }
    close()
  }

  private func handle(_ event: ListenerEvent<CBPeripheral, BluetoothError>) {
    switch event {
    case .value: connected()
    case .completed: ended(.disconnected(nil))
    case .failed(let error): ended(error)
    }
  }

  private func connected() {
    let result = state.withLock { state -> (ConnectedPeripheral, [UInt64: Done])? in
      guard case .pending(let waiters) = state.phase else { return nil }
      if waiters.isEmpty { state.phase = .restored }
      guard !waiters.isEmpty, let object = makeObject(&state) else { return nil }
      return (object, waiters)
    }
    guard let (object, waiters) = result else { return }
    for done in waiters.values { done(.success(object)) }
  }

  private func ended(_ error: BluetoothError) {
    let old = end()
    // First, so that a caller who connects again at once starts anew.
    close()
    switch old {
    case .pending(let waiters): for done in waiters.values { done(.failure(error)) }
    case .connected(let reference): reference.object?.ended(error)
    case .restored, .over: break
    }
  }

  private func end() -> Phase {
    state.withLock { state in
      defer { state.phase = .over }
      return state.phase
    }
  }

  private func close() {
    central?.forget(self, to: peripheral.identifier)
    registration.cancel()
  }
}
