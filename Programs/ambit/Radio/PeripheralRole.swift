import BluetoothWire
import CoreBluetooth
import Essentials
import Foundation
import Synchronization

/// Core Bluetooth's peripheral manager, whose callbacks became events to wait for.
final class PeripheralRole: NSObject, Sendable {
  /// An event of the manager.
  enum Event: Sendable {
    case stateChanged(CBManagerState)
    case advertising((any Error)?)
    case added(CBService, (any Error)?)
    case subscribed(CBCentral, CBCharacteristic)
    case unsubscribed(CBCentral, CBCharacteristic)
    case read(CBATTRequest)
    case write([CBATTRequest])
    case readyToUpdate
    case published(CBL2CAPPSM, (any Error)?)
    case opened(CBL2CAPChannel?, (any Error)?)
  }

  private struct State {
    var listeners: [Int: AsyncStream<Event>.Continuation] = [:]
    var nextListener = 0
  }

  private let state = Mutex(State())
  private let host: CommandHost
  // Written once in `init`, before anybody else can read it.
  nonisolated(unsafe) private var managerStorage: CBPeripheralManager?

  init(_ host: CommandHost) {
    self.host = host
    super.init()
    managerStorage = CBPeripheralManager(
      delegate: self, queue: DispatchQueue(label: "ambit.peripheral"), host: host.provider)
  }

  var manager: CBPeripheralManager {
    guard let managerStorage else { preconditionFailure("the manager was not made yet") }
    return managerStorage
  }

  /// Everything that happens from now on.
  func events() -> AsyncStream<Event> {
    AsyncStream { continuation in
      let number = state.withLock { state in
        state.nextListener += 1
        state.listeners[state.nextListener] = continuation
        return state.nextListener
      }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { $0.listeners[number] = nil }
      }
    }
  }

  private func tell(_ event: Event) {
    let listeners = state.withLock { Array($0.listeners.values) }
    for listener in listeners { listener.yield(event) }
  }

  /// Starts something and waits for the event that answers it.
  func wait<Answer: Sendable>(
    _ start: () -> Void, until answer: (Event) throws -> Answer?
  ) async throws -> Answer {
    let events = events()
    start()
    // A radio that went before is not reported again, and a manager without one answers nothing.
    guard manager.state == .poweredOn else { throw radioFailure(manager.state) }
    for await event in events {
      if let result = try answer(event) { return result }
      if case .stateChanged(let state) = event, state != .poweredOn { throw radioFailure(state) }
    }
    throw CancellationError()
  }

  /// Waits until the radio works.
  func ready(_ session: Session) async throws {
    try await session.waitForRadio({ [self] in manager.state }) { [self] in
      let events = events()
      if try isUsable(manager.state) { return }
      for await case .stateChanged(let state) in events where try isUsable(state) { return }
      throw CancellationError()
    }
  }

  private func isUsable(_ state: CBManagerState) throws -> Bool {
    if state == .unsupported || state == .unauthorized { throw radioFailure(state) }
    return state == .poweredOn
  }

  func radioFailure(_ state: CBManagerState) -> CommandFailure {
    RadioFailure.failure(state, host)
  }

  /// Starts to advertise.
  func advertise(name: String?, services: [BluetoothUUID]) async throws {
    var data: [String: Any] = [:]
    if let name { data[CBAdvertisementDataLocalNameKey] = name }
    if !services.isEmpty {
      data[CBAdvertisementDataServiceUUIDsKey] = services.map(\.coreBluetooth)
    }
    try await advertise(data)
  }

  /// Starts to advertise as an iBeacon, by the value that Core Location's beacon regions give.
  func advertise(_ beacon: IBeacon) async throws {
    try await advertise(["kCBAdvDataAppleBeaconKey": Data(beacon.bytes)])
  }

  private func advertise(_ data: [String: Any]) async throws {
    let advertisement = data
    try await wait {
      manager.startAdvertising(advertisement)
    } until: { event -> Void? in
      guard case .advertising(let error) = event else { return nil }
      guard let error else { return () }
      throw CommandFailure(.failure, "the radio does not advertise" + RadioFailure.reason(error))
    }
  }
}

extension PeripheralRole: CBPeripheralManagerDelegate {
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    tell(.stateChanged(peripheral.state))
  }

  func peripheralManagerDidStartAdvertising(
    _ peripheral: CBPeripheralManager, error: (any Error)?
  ) {
    tell(.advertising(error))
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?
  ) {
    tell(.added(service, error))
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) {
    tell(.subscribed(central, characteristic))
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    tell(.unsubscribed(central, characteristic))
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest
  ) {
    tell(.read(request))
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]
  ) {
    tell(.write(requests))
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
    tell(.readyToUpdate)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM,
    error: (any Error)?
  ) {
    tell(.published(PSM, error))
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?
  ) {
    tell(.opened(channel, error))
  }
}
