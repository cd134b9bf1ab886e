import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import Essentials
import Foundation
import JSONWire
import PeripheralFiles

/// Serves the device of a file through Core Bluetooth's peripheral manager: answers reads and
/// writes and notifies as `PeripheralPlayer` does.
final class PeripheralServer: Sendable {
  private typealias Index = PeripheralFile.CharacteristicIndex

  private struct State: Sendable {
    var player: PeripheralPlayer
    /// Values that could not be sent yet because the queue was full, oldest first.
    var waiting: [Index: [[UInt8]]] = [:]
    var droppedCount = 0
  }

  /// The maximum number of values of a characteristic that wait for a full queue; beyond it the
  /// oldest are dropped and counted.
  private static let waitingCountMax = 64

  private let role: PeripheralRole
  private let file: PeripheralFile
  private let log: PeripheralLog
  private let clock = MonotonicClock()
  private let state: Guarded<State>
  private let published = Guarded<[Index: CBMutableCharacteristic]>([:])
  private let timer: WakeTimer
  /// The only central that may connect; nil: all.
  private let target = Guarded<DeviceAddress?>(nil)
  /// Advertises byte for byte, which the manager cannot.
  private let advertiser: any HostSession
  /// What became of the last request to advertise.
  private let outcomes: AsyncStream<Result<HostReply, HostError>>

  init(
    _ role: PeripheralRole, _ host: any HostSessionProvider, _ file: PeripheralFile,
    _ log: PeripheralLog
  ) {
    self.role = role
    self.file = file
    self.log = log
    state = Guarded(State(player: PeripheralPlayer(file, now: clock.now)))
    timer = WakeTimer()
    let (outcomes, outcome) = AsyncStream.makeStream(
      of: Result<HostReply, HostError>.self, bufferingPolicy: .bufferingNewest(1))
    self.outcomes = outcomes
    advertiser = host.openSession { event in
      if case .completed(_, let result) = event { outcome.yield(result) }
    }
  }

  /// Publishes the services and advertises them; for one central only, if it is named.
  func start(for target: DeviceAddress? = nil) async throws {
    self.target.update { $0 = target }
    guard case .order(let order) = file.publicationOrder() else { return }
    var services: [Int: CBMutableService] = [:]
    for number in order {
      let service = makeService(number, published: services)
      services[number] = service
      try await role.wait {
        role.manager.add(service)
      } until: { event -> Void? in
        guard case .added(let added, let error) = event, added === service else { return nil }
        guard let error else { return () }
        throw CommandFailure(
          RadioFailure.isLimit(error) ? .failure : .badData,
          "the service \(service.uuid) cannot be published" + RadioFailure.reason(error))
      }
    }
    if target != nil || file.advertising != nil {
      advertise(file.advertising?.data ?? [], file.advertising?.scanResponse ?? [])
      for await outcome in outcomes {
        guard case .failure(let error) = outcome else { break }
        throw CommandFailure(.failure, "the radio does not advertise: \(error)")
      }
    } else {
      try await role.advertise(name: file.name, services: file.advertisedServices)
    }
  }

  /// Answers until the radio goes or the task is cancelled.
  func serve(_ events: AsyncStream<PeripheralRole.Event>) async throws {
    timer.start { [self] in wake() }
    defer { timer.stop() }
    setTimer()
    for await event in events { try handle(event) }
    throw CancellationError()
  }

  private func advertise(_ data: [UInt8], _ scanResponse: [UInt8]) {
    var options = AdvertisingOptions()
    options.interval = file.advertising?.interval ?? options.interval
    if let target = target.value {
      options.target = target
      advertiser.send(.startAdvertising(options, RequestToken(rawValue: 1)))
      return
    }
    options.data = data
    options.scanResponse = scanResponse
    options.isConnectable = file.advertising?.isConnectable ?? true
    options.usesExtendedAdvertising =
      max(data.count, scanResponse.count) > PeripheralFile.Limits.legacyAdvertisingByteCount
    advertiser.send(.startAdvertising(options, RequestToken(rawValue: 1)))
  }

  // MARK: Building

  private func makeService(
    _ number: Int, published services: [Int: CBMutableService]
  ) -> CBMutableService {
    let description = file.services[number]
    let made = CBMutableService(
      type: description.uuid.coreBluetooth, primary: description.isPrimary)
    let included = description.includedServices.compactMap { services[$0] }
    if !included.isEmpty { made.includedServices = included }
    made.characteristics = description.characteristics.enumerated().map { place, characteristic in
      let made = makeCharacteristic(characteristic)
      published.update { $0[Index(service: number, characteristic: place)] = made }
      return made
    }
    return made
  }

  private func makeCharacteristic(
    _ description: PeripheralFile.Characteristic
  ) -> CBMutableCharacteristic {
    let made = CBMutableCharacteristic(
      type: description.uuid.coreBluetooth, properties: description.coreBluetoothProperties,
      value: nil, permissions: description.coreBluetoothPermissions)
    let descriptors = description.descriptors.compactMap(Self.makeDescriptor)
    if !descriptors.isEmpty { made.descriptors = descriptors }
    return made
  }

  /// Core Bluetooth takes a user description and a presentation format.
  private static func makeDescriptor(
    _ description: PeripheralFile.Descriptor
  ) -> CBMutableDescriptor? {
    let type = description.uuid.coreBluetooth
    switch description.uuid {
    case 0x2901:
      return CBMutableDescriptor(
        type: type, value: String(decoding: description.value, as: UTF8.self))
    case 0x2904: return CBMutableDescriptor(type: type, value: Data(description.value))
    default: return nil
    }
  }

  /// What of the file Core Bluetooth's peripheral manager cannot be; nil if nothing.
  var remark: String? {
    let all = file.services.flatMap(\.characteristics)
    let descriptors = all.flatMap(\.descriptors).filter { Self.makeDescriptor($0) == nil }
    let hasOtherProperties = all.contains {
      !$0.properties.isDisjoint(with: [.broadcast, .extendedProperties])
    }
    var parts = Set(descriptors.map { "the descriptor \($0.uuid)" }).sorted()
    if hasOtherProperties { parts.append("the properties broadcast and extended") }
    return parts.isEmpty ? nil : "Left out: \(parts.joined(separator: ", "))."
  }

  // MARK: Serving

  private func handle(_ event: PeripheralRole.Event) throws {
    switch event {
    case .read(let request): answerRead(request)
    case .write(let requests): answerWrite(requests)
    case .subscribed(let central, let characteristic):
      log.event("subscribed", central, characteristic.uuid, nil)
      subscriptionChanged(characteristic)
    case .unsubscribed(let central, let characteristic):
      log.event("unsubscribed", central, characteristic.uuid, nil)
      subscriptionChanged(characteristic)
    case .readyToUpdate: for index in published.value.keys.sorted() { sendWaiting(index) }
    case .stateChanged(let state) where state != .poweredOn: throw role.radioFailure(state)
    case .stateChanged, .advertising, .added, .published, .opened: break
    }
  }

  private func index(of characteristic: CBCharacteristic) -> Index? {
    published.value.first { $0.value === characteristic }?.key
  }

  private func subscriptionChanged(_ characteristic: CBCharacteristic) {
    guard let index = index(of: characteristic), let own = published.value[index] else { return }
    let isSubscribed = !(own.subscribedCentrals ?? []).isEmpty
    state.update { $0.player.setSubscribed(index, isSubscribed, now: clock.now) }
    setTimer()
  }

  private func answerRead(_ request: CBATTRequest) {
    guard let index = index(of: request.characteristic) else {
      return role.manager.respond(to: request, withResult: .attributeNotFound)
    }
    switch state.value.player.read(index) {
    case .failure(let error):
      log.event("read", request.central, request.characteristic.uuid, nil)
      role.manager.respond(to: request, withResult: error.coreBluetooth)
    case .success(let value):
      guard request.offset <= value.count else {
        return role.manager.respond(to: request, withResult: .invalidOffset)
      }
      request.value = Data(value[request.offset...])
      log.event("read", request.central, request.characteristic.uuid, value)
      role.manager.respond(to: request, withResult: .success)
    }
  }

  /// All of the writes or none.
  private func answerWrite(_ requests: [CBATTRequest]) {
    guard let first = requests.first else { return }
    let now = clock.now
    let (result, written, actions) = state.update { state in
      var player = state.player
      var actions: [PeripheralPlayer.Action] = []
      var written: [(CBUUID, [UInt8])] = []
      for (characteristic, value) in joined(requests, player) {
        guard let index = index(of: characteristic) else {
          return (CBATTError.Code.attributeNotFound, written, actions)
        }
        if case .failure(let error) = player.write(index, value, now: now, into: &actions) {
          return (error.coreBluetooth, [], [])
        }
        written.append((characteristic.uuid, value))
      }
      state.player = player
      return (.success, written, actions)
    }
    role.manager.respond(to: first, withResult: result)
    for (uuid, value) in written { log.event("write", first.central, uuid, value) }
    perform(actions)
  }

  /// Whole values: successive prepared parts of a value are joined, and a part that begins within
  /// the present value keeps the bytes before it.
  private func joined(
    _ requests: [CBATTRequest], _ player: PeripheralPlayer
  ) -> [(CBCharacteristic, [UInt8])] {
    var joined: [(characteristic: CBCharacteristic, value: [UInt8])] = []
    for request in requests {
      let bytes = Array(request.value ?? Data())
      if let last = joined.last, last.characteristic === request.characteristic,
        request.offset == last.value.count
      {
        joined[joined.count - 1].value += bytes
        continue
      }
      var before: [UInt8] = []
      if request.offset > 0, let index = index(of: request.characteristic),
        case .success(let value) = player.read(index)
      {
        before = Array(value.prefix(request.offset))
      }
      joined.append((request.characteristic, before + bytes))
    }
    return joined
  }

  private func wake() {
    let actions = state.update { state in
      var actions: [PeripheralPlayer.Action] = []
      state.player.wake(now: clock.now, into: &actions)
      return actions
    }
    perform(actions)
  }

  private func perform(_ actions: [PeripheralPlayer.Action]) {
    for action in actions {
      switch action {
      case .advertise(let data, let scanResponse): advertise(data, scanResponse)
      case .notify(let index, let value):
        state.update { state in
          if state.waiting[index, default: []].count >= Self.waitingCountMax {
            state.waiting[index]?.removeFirst()
            state.droppedCount += 1
          }
          state.waiting[index, default: []].append(value)
        }
        sendWaiting(index)
      }
    }
    setTimer()
  }

  private func sendWaiting(_ index: Index) {
    guard let characteristic = published.value[index] else { return }
    state.update { state in
      while let value = state.waiting[index]?.first,
        role.manager.updateValue(Data(value), for: characteristic, onSubscribedCentrals: nil)
      {
        state.waiting[index]?.removeFirst()
      }
    }
  }

  private func setTimer() {
    guard let wake = state.value.player.nextWake else { return timer.set(after: nil) }
    timer.set(after: (wake - clock.now).duration)
  }

  /// How many values were lost because centrals took them too slowly, or wrote too much.
  var droppedCount: Int {
    let state = state.value
    return state.droppedCount + Int(clamping: state.player.droppedCount)
  }
}

extension ATTErrorCode {
  /// The error as Core Bluetooth has it; it knows those of the Core Specification only.
  var coreBluetooth: CBATTError.Code { CBATTError.Code(rawValue: Int(rawValue)) ?? .unlikelyError }
}

extension PeripheralFile.Characteristic {
  var coreBluetoothProperties: CBCharacteristicProperties {
    var result = CBCharacteristicProperties(rawValue: UInt(properties.rawValue))
    result.subtract([.broadcast, .extendedProperties])
    if notifyNeedsEncryption || notifyNeedsAuthentication {
      if properties.contains(.notify) { result.insert(.notifyEncryptionRequired) }
      if properties.contains(.indicate) { result.insert(.indicateEncryptionRequired) }
    }
    return result
  }

  var coreBluetoothPermissions: CBAttributePermissions {
    var permissions: CBAttributePermissions = []
    if properties.contains(.read) {
      permissions.insert(
        readNeedsAuthentication
          ? .readAuthenticationRequired
          : readNeedsEncryption ? .readEncryptionRequired : .readable)
    }
    if !properties.isDisjoint(with: [.write, .writeWithoutResponse, .authenticatedSignedWrites]) {
      permissions.insert(
        writeNeedsAuthentication
          ? .writeAuthenticationRequired
          : writeNeedsEncryption ? .writeEncryptionRequired : .writeable)
    }
    return permissions
  }
}

extension CBAttributePermissions {
  /// The host's permissions that Core Bluetooth has no name for; the values are the same.
  fileprivate static let readAuthenticationRequired = CBAttributePermissions(
    rawValue: UInt(AttributePermissions.readAuthenticationRequired.rawValue))
  fileprivate static let writeAuthenticationRequired = CBAttributePermissions(
    rawValue: UInt(AttributePermissions.writeAuthenticationRequired.rawValue))
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
