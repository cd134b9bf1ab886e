internal import CoreBluetooth
internal import Foundation
internal import Synchronization

/// Listens to a peripheral for all tasks, and forwards all calls to the delegate.
final class PeripheralListener: NSObject, CBPeripheralDelegate, Sendable {
  /// What a task waits for.
  enum Call: Hashable, Sendable {
    case services
    case includedServices(CBService)
    case characteristics(CBService)
    case descriptors(CBCharacteristic)
    case read(CBCharacteristic)
    case readDescriptor(CBDescriptor)
    case write(CBCharacteristic)
    case writeDescriptor(CBDescriptor)
    case notify(CBCharacteristic)
    case rssi
    case room
    case channel
    case end
  }

  /// What the call brought.
  enum Answer: Sendable {
    case done
    case rssi(Int)
    case channel(CBL2CAPChannel)
  }

  typealias Reader = AsyncThrowingStream<Data, any Error>.Continuation

  private struct State: Sendable {
    var readers: [CBCharacteristic: [UInt64: Reader]] = [:]
    /// The newest values of characteristics that had no reader yet; nil if they are not held.
    var held: [CBCharacteristic: [Data]]?
    /// Characteristics whose values are no longer held.
    var read: Set<CBCharacteristic> = []
    var lastNumber: UInt64 = 0
    var end: BluetoothError?
  }

  private let waiters = Waiters<Call, Answer>()
  private let ends = Waiters<Call, Answer>()
  private let state: Mutex<State>
  let modifications = Broadcast<[CBService]>()

  /// - Parameter holdsValues: Whether values wait for the first reader of their characteristic.
  init(holdsValues: Bool) {
    state = Mutex(State(held: holdsValues ? [:] : nil))
    super.init()
  }

  /// Starts something and waits for the call that ends it.
  @discardableResult
  func wait(
    _ call: Call, _ start: @Sendable () -> Void
  ) async throws(BluetoothError) -> Answer {
    try await waiters.wait(for: call, start: start)
  }

  var hasEnded: Bool { state.withLock { $0.end != nil } }

  func waitForEnd() async -> BluetoothError {
    do throws(BluetoothError) {
      _ = try await ends.wait(for: .end, start: {})
      return .disconnected(nil)
    } catch {
      return error
    }
  }

  func ended(_ error: BluetoothError) {
    let readers = state.withLock { state in
      state.end = error
      defer { state.readers = [:] }
      return state.readers.values.flatMap(\.values)
    }
    for reader in readers { reader.finish(throwing: error) }
    waiters.failAll(error, isEnd: true)
    ends.failAll(error, isEnd: true)
    modifications.finish()
  }

  func thereIsRoom() { waiters.resume(.room, with: .success(.done)) }

  // MARK: Subscriptions

  func addReader(_ reader: Reader, of characteristic: CBCharacteristic) -> UInt64 {
    let (number, end) = state.withLock { state in
      state.lastNumber += 1
      if state.end == nil { state.readers[characteristic, default: [:]][state.lastNumber] = reader }
      state.read.insert(characteristic)
      // With the lock, so that no later value is ahead of them.
      for value in state.held?.removeValue(forKey: characteristic) ?? [] { reader.yield(value) }
      return (state.lastNumber, state.end)
    }
    if let end { reader.finish(throwing: end) }
    return number
  }

  /// Takes a reader away. After the last, ends the subscription, before another reader can come
  /// and begin it anew.
  func removeReader(
    _ number: UInt64, of characteristic: CBCharacteristic, unsubscribe: () -> Void
  ) {
    state.withLock { state in
      guard state.readers[characteristic]?.removeValue(forKey: number) != nil,
        state.readers[characteristic]?.isEmpty == true
      else { return }
      state.readers[characteristic] = nil
      unsubscribe()
    }
  }

  /// Takes the answer to the end of a subscription, which no caller awaits.
  func expectNotification(of characteristic: CBCharacteristic) {
    waiters.expect(.notify(characteristic))
  }

  // MARK: CBPeripheralDelegate

  private func resume(_ call: Call, _ error: (any Error)?, _ answer: Answer = .done) {
    waiters.resume(call, with: error.map { .failure(BluetoothError($0)) } ?? .success(answer))
  }

  func peripheralDidUpdateName(_ peripheral: CBPeripheral) {
    peripheral.delegate?.peripheralDidUpdateName(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    peripheral.delegate?.peripheral(peripheral, didModifyServices: invalidatedServices)
    let orphans = state.withLock { state in
      let gone = state.readers.filter { characteristic, _ in
        invalidatedServices.contains { $0 === characteristic.service }
      }
      for characteristic in gone.keys { state.readers[characteristic] = nil }
      return gone
    }
    for (characteristic, readers) in orphans {
      for reader in readers.values {
        reader.finish(throwing: BluetoothError.notFound(characteristic.uuid))
      }
    }
    modifications.send(invalidatedServices)
  }

  func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
    peripheral.delegate?.peripheral(peripheral, didReadRSSI: RSSI, error: error)
    resume(.rssi, error, .rssi(RSSI.intValue))
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    peripheral.delegate?.peripheral(peripheral, didDiscoverServices: error)
    resume(.services, error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService,
    error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(
      peripheral, didDiscoverIncludedServicesFor: service, error: error)
    resume(.includedServices(service), error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(
      peripheral, didDiscoverCharacteristicsFor: service, error: error)
    resume(.characteristics(service), error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(
      peripheral, didDiscoverDescriptorsFor: characteristic, error: error)
    resume(.descriptors(characteristic), error)
  }

  /// The readers of a value. Without one, it may be held for the first.
  private func readers(of value: Data, of characteristic: CBCharacteristic) -> [Reader] {
    state.withLock { state in
      if let readers = state.readers[characteristic] { return Array(readers.values) }
      guard state.held != nil, !state.read.contains(characteristic) else { return [] }
      state.held?[characteristic, default: []].append(value)
      let count = state.held?[characteristic]?.count ?? 0
      if count > Limits.heldValuesMax { state.held?[characteristic]?.removeFirst() }
      return []
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: characteristic, error: error)
    if error == nil, let value = characteristic.value {
      for reader in readers(of: value, of: characteristic) { reader.yield(value) }
    }
    resume(.read(characteristic), error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: descriptor, error: error)
    resume(.readDescriptor(descriptor), error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didWriteValueFor: characteristic, error: error)
    resume(.write(characteristic), error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didWriteValueFor: descriptor, error: error)
    resume(.writeDescriptor(descriptor), error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(
      peripheral, didUpdateNotificationStateFor: characteristic, error: error)
    resume(.notify(characteristic), error)
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
    peripheral.delegate?.peripheralIsReady(toSendWriteWithoutResponse: peripheral)
    while waiters.resume(.room, with: .success(.done)) {}
  }

  func peripheral(
    _ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didOpen: channel, error: error)
    if let channel {
      resume(.channel, nil, .channel(channel))
    } else {
      resume(.channel, error ?? CBError(.unknown))
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didReceive results: CBChannelSoundingProcedureResults?,
    error: (any Error)?
  ) { peripheral.delegate?.peripheral(peripheral, didReceive: results, error: error) }

  func peripheral(
    _ peripheral: CBPeripheral, didCompleteChannelSoundingSession error: (any Error)?
  ) {
    peripheral.delegate?.peripheral(peripheral, didCompleteChannelSoundingSession: error)
  }
}
