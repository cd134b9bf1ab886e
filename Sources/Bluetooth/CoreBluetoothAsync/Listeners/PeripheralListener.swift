package import CoreBluetooth
package import RunLoopSupport
internal import Synchronization

/// A call of a peripheral's delegate that answers no request.
package enum PeripheralEvent: Sendable {
  /// A value was notified, or read.
  case value(CBCharacteristic, Data)
  /// Notifications were lost.
  case valuesLost(CBCharacteristic, BluetoothError)
  /// The peripheral refused to enable notifications.
  case notNotifying(CBCharacteristic, BluetoothError)
  case modifiedServices([CBService])
  case readyToWrite
  /// The connections before this one ended.
  case ended(before: Int, BluetoothError)
}

/// The delegate of a peripheral for all sequences, functions and producers.
///
/// A peripheral's delegate is not notified of the end of its connection. If an observed connection
/// of the manager is, it reports the end here with the reason; else the state shows it.
package final class PeripheralListener: NSObject, CBPeripheralDelegate, DelegateListener, Sendable {
  package static let all = DelegateListeners<PeripheralListener>()

  package let events = EventObservers<PeripheralEvent>()
  let requests = Requests()
  let writes = RoomQueue()
  let held = HeldValues()
  private let subscriptions = Subscriptions()
  private let state = Mutex(State())

  private struct State: Sendable {
    var observation: NSKeyValueObservation?
    /// How many observed connections report the end with its reason.
    var reporterCount = 0
    var wasDisconnecting = false
  }

  package override init() { super.init() }

  package func attach(to peripheral: CBPeripheral) {
    peripheral.delegateProxy = self
    if state.withLock({ $0.observation == nil }) {
      let observation = peripheral.observe(\.state) { [weak self] peripheral, _ in
        self?.stateChanged(of: peripheral)
      }
      state.withLock { $0.observation = observation }
    }
  }

  package func detach(from peripheral: CBPeripheral) {
    let observation = state.withLock { state in
      defer { state.observation = nil }
      return state.observation
    }
    observation?.invalidate()
    if peripheral.delegateProxy === self { peripheral.delegateProxy = nil }
  }

  /// Enables notifications, if they are not, until the last registration is cancelled.
  func subscribe(to characteristic: CBCharacteristic, of peripheral: CBPeripheral)
    -> ListenerRegistration
  {
    subscriptions.change(characteristic, observerCount: 1, of: peripheral)
    return ListenerRegistration { [subscriptions] in
      subscriptions.change(characteristic, observerCount: -1, of: peripheral)
    }
  }

  // MARK: The end of the connection

  /// Adds an observed connection that reports the end with its reason.
  func addReporter() { state.withLock { $0.reporterCount += 1 } }

  /// Removes such a connection.
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
  package func ended(_ error: BluetoothError, for peripheral: CBPeripheral) {
    let first = peripheral.firstConnectionNotOver
    requests.fail(before: first, error)
    writes.fail(before: first, error)
    subscriptions.reset(of: peripheral)
    held.end()
    events.send(.ended(before: first, error))
  }

  // MARK: CBPeripheralDelegate

  private func answer(
    _ kind: Requests.Kind, _ error: (any Error)?, _ answer: Requests.Answer = .done
  ) {
    requests.answer(kind, error.map { .failure(BluetoothError($0)) } ?? .success(answer))
  }

  package func peripheralDidUpdateName(_ peripheral: CBPeripheral) {
    peripheral.delegate?.peripheralDidUpdateName(peripheral)
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]
  ) {
    peripheral.delegate?.peripheral(peripheral, didModifyServices: invalidatedServices)
    events.send(.modifiedServices(invalidatedServices))
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didReadRSSI: RSSI, error: error)
    answer(.rssi, error, .rssi(RSSI.intValue))
  }

  package func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    peripheral.delegate?.peripheral(peripheral, didDiscoverServices: error)
    answer(.services, error)
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService,
    error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(
      peripheral, didDiscoverIncludedServicesFor: service, error: error)
    answer(.includedServices(service), error)
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(
      peripheral, didDiscoverCharacteristicsFor: service, error: error)
    answer(.characteristics(service), error)
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(
      peripheral, didDiscoverDescriptorsFor: characteristic, error: error)
    answer(.descriptors(characteristic), error)
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: characteristic, error: error)
    if let error = error as? CBError, error.droppedNotificationCount != nil {
      return events.send(.valuesLost(characteristic, BluetoothError(error)))
    }
    if error == nil {
      let value = characteristic.value ?? Data()
      if !held.hold(value, of: characteristic) { events.send(.value(characteristic, value)) }
    }
    answer(.read(characteristic), error)
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: descriptor, error: error)
    answer(.readDescriptor(descriptor), error)
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didWriteValueFor: characteristic, error: error)
    answer(.write(characteristic), error)
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didWriteValueFor: descriptor, error: error)
    answer(.writeDescriptor(descriptor), error)
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(
      peripheral, didUpdateNotificationStateFor: characteristic, error: error)
    if let error, !characteristic.isNotifying {
      events.send(.notNotifying(characteristic, BluetoothError(error)))
    }
    subscriptions.changed(characteristic, of: peripheral)
  }

  package func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
    peripheral.delegate?.peripheralIsReady(toSendWriteWithoutResponse: peripheral)
    writes.sendWaiting()
    events.send(.readyToWrite)
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didOpen: channel, error: error)
    if let channel {
      answer(.channel, nil, .channel(channel))
    } else {
      answer(.channel, error ?? CBError(.unknown))
    }
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didReceive results: CBChannelSoundingProcedureResults?,
    error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didReceive: results, error: error)
  }

  package func peripheral(
    _ peripheral: CBPeripheral, didCompleteChannelSoundingSession error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didCompleteChannelSoundingSession: error)
  }
}
