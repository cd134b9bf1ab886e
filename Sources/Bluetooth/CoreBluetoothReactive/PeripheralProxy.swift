internal import CoreBluetooth
internal import CoreBluetoothAsync
internal import Reactive
internal import Synchronization

/// What a peripheral's delegate receives, beside the answers to requests.
enum PeripheralEvent: Sendable {
  /// A value was notified, or read.
  case value(CBCharacteristic, Data)
  /// Notifications were lost.
  case valuesLost(CBCharacteristic, BluetoothError)
  /// A subscription was refused.
  case notNotifying(CBCharacteristic, BluetoothError)
  case modifiedServices([CBService])
  case readyToWrite
  /// The connections before this one ended.
  case ended(before: Int, BluetoothError)
}

/// The delegate of a peripheral for all runs.
///
/// A peripheral's delegate is not notified of the end of its connection. If a run of
/// `connection(to:options:)` is, it reports the end here with the reason; else the state shows it.
final class PeripheralProxy: NSObject, CBPeripheralDelegate, DelegateProxy, Sendable {
  static let all = DelegateProxies<PeripheralProxy>()

  let (events, input) = Signal<PeripheralEvent, Never>.pipe()
  let requests = Requests()
  let writes = RoomQueue()
  private let subscriptions = Subscriptions()
  private let state = Mutex(State())

  private struct State: Sendable {
    var observation: NSKeyValueObservation?
    /// How many runs report the end of the connection with its reason.
    var reporterCount = 0
    var wasDisconnecting = false
  }

  func attach(to peripheral: CBPeripheral) {
    peripheral.delegateProxy = self
    if state.withLock({ $0.observation == nil }) {
      let observation = peripheral.observe(\.state) { [weak self] peripheral, _ in
        self?.stateChanged(of: peripheral)
      }
      state.withLock { $0.observation = observation }
    }
  }

  func detach(from peripheral: CBPeripheral) {
    let observation = state.withLock { state in
      defer { state.observation = nil }
      return state.observation
    }
    observation?.invalidate()
    if peripheral.delegateProxy === self { peripheral.delegateProxy = nil }
  }

  /// The object to forward calls to.
  private func next(of peripheral: CBPeripheral) -> (any CBPeripheralDelegate)? {
    peripheral.receiverBehindProxy
  }

  // MARK: What runs want

  func subscribe(to characteristic: CBCharacteristic, of peripheral: CBPeripheral) -> any Disposable
  {
    subscriptions.change(characteristic, runCount: 1, of: peripheral)
    return AnyDisposable { [subscriptions] in
      subscriptions.change(characteristic, runCount: -1, of: peripheral)
    }
  }

  // MARK: The end of the connection

  /// Adds a run that reports the end with its reason.
  func addReporter() { state.withLock { $0.reporterCount += 1 } }

  /// Removes such a run.
  func removeReporter() { state.withLock { $0.reporterCount -= 1 } }

  /// The app cancels the connection of a peripheral that is then disconnecting; others don't.
  private func stateChanged(of peripheral: CBPeripheral) {
    let state = peripheral.state
    let (isCancelled, isReported) = self.state.withLock { stored in
      defer { stored.wasDisconnecting = state == .disconnecting }
      return (stored.wasDisconnecting, stored.reporterCount > 0)
    }
    if isReported { return }
    switch state {
    case .disconnected, .connecting:
      ended(.disconnected(isCancelled ? nil : CBError(.peripheralDisconnected)), for: peripheral)
    case .connected, .disconnecting: break
    }
  }

  /// Fails the pending operations of connections that have ended. Another thread may have
  /// established the next connection already: its operations go on.
  func ended(_ error: BluetoothError, for peripheral: CBPeripheral) {
    let first = peripheral.firstConnectionNotOver
    requests.fail(before: first, error)
    writes.fail(before: first, error)
    subscriptions.reset(of: peripheral)
    input.send(value: .ended(before: first, error))
  }

  // MARK: CBPeripheralDelegate

  private func answer(
    _ kind: Requests.Kind, _ error: (any Error)?, _ answer: Requests.Answer = .done
  ) {
    requests.answer(kind, error.map { .failure(BluetoothError($0)) } ?? .success(answer))
  }

  func peripheralDidUpdateName(_ peripheral: CBPeripheral) {
    next(of: peripheral)?.peripheralDidUpdateName(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    next(of: peripheral)?.peripheral(peripheral, didModifyServices: invalidatedServices)
    input.send(value: .modifiedServices(invalidatedServices))
  }

  func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
    next(of: peripheral)?.peripheral(peripheral, didReadRSSI: RSSI, error: error)
    answer(.rssi, error, .rssi(RSSI.intValue))
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    next(of: peripheral)?.peripheral(peripheral, didDiscoverServices: error)
    answer(.services, error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService,
    error: (any Error)?
  ) {
    next(of: peripheral)?.peripheral(
      peripheral, didDiscoverIncludedServicesFor: service, error: error)
    answer(.includedServices(service), error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    next(of: peripheral)?.peripheral(
      peripheral, didDiscoverCharacteristicsFor: service, error: error)
    answer(.characteristics(service), error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    next(of: peripheral)?.peripheral(
      peripheral, didDiscoverDescriptorsFor: characteristic, error: error)
    answer(.descriptors(characteristic), error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    next(of: peripheral)?.peripheral(peripheral, didUpdateValueFor: characteristic, error: error)
    if let error = error as? CBError, error.droppedNotificationCount != nil {
      return input.send(value: .valuesLost(characteristic, BluetoothError(error)))
    }
    if error == nil { input.send(value: .value(characteristic, characteristic.value ?? Data())) }
    answer(.read(characteristic), error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?
  ) {
    next(of: peripheral)?.peripheral(peripheral, didUpdateValueFor: descriptor, error: error)
    answer(.readDescriptor(descriptor), error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    next(of: peripheral)?.peripheral(peripheral, didWriteValueFor: characteristic, error: error)
    answer(.write(characteristic), error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?
  ) {
    next(of: peripheral)?.peripheral(peripheral, didWriteValueFor: descriptor, error: error)
    answer(.writeDescriptor(descriptor), error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    next(of: peripheral)?.peripheral(
      peripheral, didUpdateNotificationStateFor: characteristic, error: error)
    if let error, !characteristic.isNotifying {
      input.send(value: .notNotifying(characteristic, BluetoothError(error)))
    }
    subscriptions.changed(characteristic, of: peripheral)
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
    next(of: peripheral)?.peripheralIsReady(toSendWriteWithoutResponse: peripheral)
    writes.sendWaiting()
    input.send(value: .readyToWrite)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?
  ) {
    next(of: peripheral)?.peripheral(peripheral, didOpen: channel, error: error)
    if let channel {
      answer(.channel, nil, .channel(channel))
    } else {
      answer(.channel, error ?? CBError(.unknown))
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didReceive results: CBChannelSoundingProcedureResults?,
    error: (any Error)?
  ) {
    next(of: peripheral)?.peripheral(peripheral, didReceive: results, error: error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didCompleteChannelSoundingSession error: (any Error)?
  ) {
    next(of: peripheral)?.peripheral(peripheral, didCompleteChannelSoundingSession: error)
  }
}
