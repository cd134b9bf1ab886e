import BluetoothWire
import CoreBluetooth
import Essentials
import Foundation

/// Serves what a file describes: answers reads and writes, notifies values as time goes on.
final class PeripheralServer: Sendable {
  /// A characteristic at work.
  private struct Live: Sendable {
    let characteristic: CBMutableCharacteristic
    let description: PeripheralFile.Characteristic
    /// The value that is read now.
    var value: [UInt8]
    /// Which of the values is next.
    var next = 1
    /// Values that could not be sent yet because the queue was full, oldest first.
    var waiting: [[UInt8]] = []
  }

  /// So many echoes wait at most for a full queue; a central that writes faster loses the oldest.
  private static let waitingCountMax = 64

  private let role: PeripheralRole
  private let file: PeripheralFile
  private let log: PeripheralLog
  private let live = Guarded<[ObjectIdentifier: Live]>([:])

  init(_ role: PeripheralRole, _ file: PeripheralFile, _ log: PeripheralLog) {
    self.role = role
    self.file = file
    self.log = log
  }

  /// Publishes the services and advertises them.
  func start() async throws {
    for service in file.services {
      let published = makeService(service)
      try await role.wait {
        role.manager.add(published)
      } until: { event -> Void? in
        guard case .added(let added, let error) = event, added === published else { return nil }
        guard let error else { return () }
        throw CommandFailure(
          .badData, "the service \(service.uuid) cannot be published" + RadioFailure.reason(error))
      }
    }
    try await role.advertise(name: file.name, services: file.advertisedServices)
  }

  /// Answers until the radio goes or the task is cancelled.
  func serve(_ events: AsyncStream<PeripheralRole.Event>) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { [self] in
        for await event in events { try handle(event) }
        throw CancellationError()
      }
      for (identity, live) in live.value {
        guard let interval = live.description.interval else { continue }
        group.addTask { [self] in
          while true {
            try await Task.sleep(for: interval.duration)
            advance(identity)
          }
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  // MARK: Building

  private func makeService(_ service: PeripheralFile.Service) -> CBMutableService {
    let made = CBMutableService(type: service.uuid.coreBluetooth, primary: service.isPrimary)
    made.characteristics = service.characteristics.map(makeCharacteristic)
    return made
  }

  private func makeCharacteristic(
    _ description: PeripheralFile.Characteristic
  ) -> CBMutableCharacteristic {
    let made = CBMutableCharacteristic(
      type: description.uuid.coreBluetooth, properties: description.properties, value: nil,
      permissions: description.permissions)
    if let text = description.description {
      made.descriptors = [
        CBMutableDescriptor(
          type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: text)
      ]
    }
    live.update {
      $0[ObjectIdentifier(made)] = Live(
        characteristic: made, description: description, value: description.values.first ?? [])
    }
    return made
  }

  // MARK: Serving

  private func handle(_ event: PeripheralRole.Event) throws {
    switch event {
    case .read(let request): answerRead(request)
    case .write(let requests): answerWrite(requests)
    case .subscribed(let central, let characteristic):
      log.event("subscribed", central, characteristic.uuid, nil)
    case .unsubscribed(let central, let characteristic):
      log.event("unsubscribed", central, characteristic.uuid, nil)
    case .readyToUpdate: for identity in live.value.keys { sendWaiting(identity) }
    case .stateChanged(let state) where state != .poweredOn: throw role.radioFailure(state)
    case .stateChanged, .advertising, .added, .published, .opened: break
    }
  }

  private func answerRead(_ request: CBATTRequest) {
    guard let live = live.value[ObjectIdentifier(request.characteristic)] else {
      return role.manager.respond(to: request, withResult: .attributeNotFound)
    }
    guard request.offset <= live.value.count else {
      return role.manager.respond(to: request, withResult: .invalidOffset)
    }
    request.value = Data(live.value[request.offset...])
    log.event("read", request.central, request.characteristic.uuid, live.value)
    role.manager.respond(to: request, withResult: .success)
  }

  /// All of the writes or none.
  private func answerWrite(_ requests: [CBATTRequest]) {
    guard let first = requests.first else { return }
    let result = live.update { live -> CBATTError.Code in
      var changed = live
      for request in requests {
        let identity = ObjectIdentifier(request.characteristic)
        guard var target = changed[identity] else { return .attributeNotFound }
        let bytes = Array(request.value ?? Data())
        guard request.offset <= target.value.count || request.offset == 0 else {
          return .invalidOffset
        }
        guard request.offset + bytes.count <= target.description.longest else {
          return .invalidAttributeValueLength
        }
        target.value = Array(target.value.prefix(request.offset)) + bytes
        changed[identity] = target
      }
      live = changed
      return .success
    }
    role.manager.respond(to: first, withResult: result)
    guard result == .success else { return }
    for characteristic in Set(requests.map { ObjectIdentifier($0.characteristic) }) {
      wrote(characteristic, by: first.central)
    }
  }

  private func wrote(_ identity: ObjectIdentifier, by central: CBCentral) {
    guard let written = live.value[identity] else { return }
    log.event("write", central, written.characteristic.uuid, written.value)
    if let echo = written.description.echo {
      let target = live.value.values.first {
        BluetoothUUID($0.characteristic.uuid) == echo
          && $0.characteristic.service === written.characteristic.service
      }
      if let target { send(written.value, on: ObjectIdentifier(target.characteristic)) }
    } else if written.description.notifies || written.description.indicates {
      send(written.value, on: identity)
    }
  }

  /// Goes on to the next value of a characteristic.
  private func advance(_ identity: ObjectIdentifier) {
    let value = live.update { live -> [UInt8]? in
      guard var current = live[identity] else { return nil }
      let values = current.description.values
      if values.count > 1 {
        current.value = values[current.next % values.count]
        current.next = (current.next + 1) % values.count
      }
      live[identity] = current
      return current.description.notifies || current.description.indicates ? current.value : nil
    }
    if let value { send(value, on: identity) }
  }

  private func send(_ value: [UInt8], on identity: ObjectIdentifier) {
    live.update { live in
      guard var target = live[identity] else { return }
      target.value = value
      if target.waiting.count >= Self.waitingCountMax { target.waiting.removeFirst() }
      target.waiting.append(value)
      live[identity] = target
    }
    sendWaiting(identity)
  }

  private func sendWaiting(_ identity: ObjectIdentifier) {
    live.update { live in
      guard var target = live[identity] else { return }
      while let value = target.waiting.first,
        role.manager.updateValue(
          Data(value), for: target.characteristic, onSubscribedCentrals: nil)
      {
        target.waiting.removeFirst()
      }
      live[identity] = target
    }
  }
}

extension PeripheralFile.Characteristic {
  var properties: CBCharacteristicProperties {
    var properties: CBCharacteristicProperties = []
    if isReadable { properties.insert(.read) }
    if isWriteable { properties.insert(.write) }
    if isWriteableWithoutResponse { properties.insert(.writeWithoutResponse) }
    if notifies {
      properties.insert(notifyNeedsEncryption ? .notifyEncryptionRequired : .notify)
    }
    if indicates {
      properties.insert(notifyNeedsEncryption ? .indicateEncryptionRequired : .indicate)
    }
    return properties
  }

  var permissions: CBAttributePermissions {
    var permissions: CBAttributePermissions = []
    if isReadable { permissions.insert(readNeedsEncryption ? .readEncryptionRequired : .readable) }
    if isWriteable || isWriteableWithoutResponse {
      permissions.insert(writeNeedsEncryption ? .writeEncryptionRequired : .writeable)
    }
    return permissions
  }
}

/// What happens at a served peripheral, line by line.
struct PeripheralLog: Sendable {
  let output: Output

  func event(_ event: String, _ central: CBCentral, _ uuid: CBUUID, _ value: [UInt8]?) {
    let uuid = BluetoothUUID(uuid)
    let text = value.map { ValueText($0, characteristic: uuid) }
    let name = AssignedNumbers.characteristicName(uuid)
    if output.isJSON {
      let head: KeyValuePairs<String, JSON?> = [
        "event": .string(event), "time": .time(Date()),
        "central": .string(central.identifier.uuidString),
        "characteristic": .string(uuid.description), "name": name.map { .string($0) },
      ]
      return output.object(.object(head).adding(text?.members ?? []))
    }
    let who = PeerIdentifier.address(in: central.identifier)?.description ?? "a central"
    let what = text.map { "  " + $0.line(output.style) } ?? ""
    let time = output.style.dim(ValueReport.clock(Date()))
    output.line("\(time)  \(who) \(event) \(name ?? uuid.description)\(what)")
  }
}
