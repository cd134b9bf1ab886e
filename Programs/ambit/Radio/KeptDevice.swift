import BluetoothWire
package import CoreBluetooth
package import CoreBluetoothAsync
import Essentials
import Foundation

/// A device whose link is kept: connected again whenever it was lost, with the subscriptions that
/// were there. Used by any number of tasks.
package final class KeptDevice: Sendable {
  /// Names a characteristic of the device, also over a new connection.
  package struct Key: Hashable, Sendable {
    package var service: Int
    package var characteristic: Int
  }

  /// What happens, in order.
  package enum Event: Sendable {
    case connecting
    case connected
    /// The link ended; true if it is being made again.
    case lost(String, reconnects: Bool)
    /// The link ended, because the peer no longer has the keys of the bond. It isn't connected
    /// again until `reconnect`, since it would fail again until the bond is removed here, too.
    case lostBond(String)
    case value(Key, [UInt8])
    case subscriptionEnded(Key, String)
  }

  private struct State {
    var device: Device?
    var services: [CBService] = []
    /// Whether their descriptors and included services are known, too.
    var hasDescriptors = false
    /// Whether a link is wanted; not after `disconnect`.
    var isWanted = true
    var subscriptions: [Key: Task<Void, Never>?] = [:]
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var lastWaiter = 0
  }

  /// The least time between two attempts to connect.
  private static let pause = Duration.seconds(1)

  let session: Session
  let sighting: Sighting
  private let central: Central
  private let search: Search
  private let state = Guarded(State())
  private let onEvent: @Sendable (Event) -> Void

  package init(
    _ sighting: Sighting, _ search: Search, _ central: Central,
    onEvent: @escaping @Sendable (Event) -> Void
  ) {
    self.sighting = sighting
    self.search = search
    self.central = central
    self.onEvent = onEvent
    session = search.session
  }

  var title: String { state.value.device?.title ?? sighting.name ?? sighting.shortID }
  package var isConnected: Bool { state.value.device?.connection.isConnected ?? false }
  package var subscriptions: Set<Key> { Set(state.value.subscriptions.keys) }
  /// The services discovered over the present connection; empty before.
  var services: [CBService] { state.value.services }

  /// Keeps the link until the task is cancelled; then ends it in good order.
  package func run() async throws {
    while !Task.isCancelled {
      await wait { $0.isWanted }
      try Task.checkCancellation()
      do {
        onEvent(.connecting)
        let device = try await Device.connected(sighting, search, central)
        let start = ContinuousClock.now
        await keep(device)
        if ContinuousClock.now - start < Self.pause { try await Task.sleep(for: Self.pause) }
      } catch let failure as CommandFailure {
        onEvent(.lost(failure.sentence, reconnects: true))
        try await Task.sleep(for: Self.pause)
      }
    }
  }

  private func keep(_ device: Device) async {
    state.update {
      $0.device = device
      $0.services = []
    }
    onEvent(.connected)
    wakeAll()
    await resubscribe()
    let connection = device.connection
    let end = await withTaskCancellationHandler {
      await connection.waitForDisconnection()
    } onCancel: {
      Task { await device.disconnect() }
    }
    let isBondLost = end.cause?.code == .peerRemovedPairingInformation
    let isWanted = state.update { state in
      for task in state.subscriptions.values { task?.cancel() }
      state.subscriptions = state.subscriptions.mapValues { _ in nil }
      state.device = nil
      state.services = []
      if isBondLost { state.isWanted = false }
      return state.isWanted
    }
    wakeAll()
    guard !Task.isCancelled else { return await device.disconnect() }
    let reason = end.description.trimmingSuffix(".")
    onEvent(isBondLost ? .lostBond(reason) : .lost(reason, reconnects: isWanted))
  }

  // MARK: Waiting

  /// Waits until something holds, or the task is cancelled.
  private func wait(until holds: @Sendable (State) -> Bool) async {
    while !Task.isCancelled, !holds(state.value) { await nextChange(unless: holds) }
  }

  private func nextChange(unless holds: @Sendable (State) -> Bool) async {
    let number = state.update { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waits = state.update { state in
          guard !holds(state) else { return false }
          state.waiters[number] = continuation
          return true
        }
        guard waits else { return continuation.resume() }
        // Cancelled before it waited: the handler found nothing to resume.
        if Task.isCancelled { wake(number) }
      }
    } onCancel: {
      wake(number)
    }
  }

  private func wake(_ number: Int) {
    state.update { $0.waiters.removeValue(forKey: number) }?.resume()
  }

  private func wakeAll() {
    let waiters = state.update { state in
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.resume() }
  }

  /// The connected device; waits while the link is being made.
  func device() async throws -> Device {
    await wait { $0.device != nil || !$0.isWanted }
    try Task.checkCancellation()
    if let device = state.value.device { return device }
    throw CommandFailure(.failure, "\(title) is not connected")
  }

  func disconnect() async {
    let device = state.update { state in
      state.isWanted = false
      return state.device
    }
    wakeAll()
    await device?.disconnect()
  }

  package func reconnect() {
    state.update { $0.isWanted = true }
    wakeAll()
  }

  // MARK: Attributes

  /// All services with descriptors and included services, discovered at the first call.
  package func discoverAll() async throws -> [CBService] {
    let services = try await discover()
    let device = try await device()
    guard !state.value.hasDescriptors else { return services }
    try await device.discoverDescriptors(of: services)
    state.update { if $0.device?.connection === device.connection { $0.hasDescriptors = true } }
    return services
  }

  /// All services with their characteristics, which is enough to use one: descriptors take a request for each.
  private func discover() async throws -> [CBService] {
    let device = try await device()
    let known = state.value.services
    if !known.isEmpty { return known }
    let services = try await device.services()
    device.session.output.clearProgress()
    state.update {
      guard $0.device?.connection === device.connection else { return }
      $0.services = services
      $0.hasDescriptors = false
    }
    return services
  }

  /// The characteristic that a name means.
  func key(_ name: CharacteristicName) async throws -> Key {
    let services = try await discover()
    var fitting: [Key] = []
    for (number, service) in services.enumerated() {
      guard name.service == nil || BluetoothUUID(service.uuid) == name.service else { continue }
      for (place, characteristic) in (service.characteristics ?? []).enumerated()
      where BluetoothUUID(characteristic.uuid) == name.characteristic {
        fitting.append(Key(service: number, characteristic: place))
      }
    }
    guard let first = fitting.first else {
      throw CommandFailure(
        .notFound, "\(title) has no characteristic \(name.text); \"services\" lists them")
    }
    guard fitting.count == 1 else {
      let names = fitting.map { services[$0.service].uuid.uuidString + "/…" }
      throw CommandFailure(
        .notFound,
        "\(title) has several characteristics \(name.text): \(names.joined(separator: ", "))")
    }
    return first
  }

  package func characteristic(_ key: Key) async throws -> CBCharacteristic {
    let services = try await discover()
    guard services.indices.contains(key.service),
      let list = services[key.service].characteristics, list.indices.contains(key.characteristic)
    else {
      throw CommandFailure(.notFound, "\(title) no longer has this characteristic")
    }
    return list[key.characteristic]
  }

  package func read(_ key: Key) async throws -> [UInt8] {
    let characteristic = try await characteristic(key)
    return try await device().read(characteristic)
  }

  package func write(_ bytes: [UInt8], to key: Key, withoutResponse: Bool = false) async throws {
    let characteristic = try await characteristic(key)
    try await device().write(
      bytes, to: characteristic,
      withResponse: !withoutResponse && characteristic.takesResponses)
  }

  // MARK: Subscriptions

  /// Follows a characteristic, also over later connections, until `unsubscribe`.
  package func subscribe(_ key: Key) async throws {
    let characteristic = try await characteristic(key)
    guard characteristic.canBeFollowed else {
      throw CommandFailure(
        .failure, "\(characteristic.uuid.uuidString) can be neither notified nor indicated")
    }
    let device = try await device()
    let isNew = state.update { state in
      guard state.subscriptions[key] == nil else { return false }
      state.subscriptions[key] = .some(nil)
      return true
    }
    if isNew { follow(key, characteristic, device) }
  }

  package func unsubscribe(_ key: Key) {
    let task = state.update { $0.subscriptions.removeValue(forKey: key) }
    task??.cancel()
  }

  private func follow(_ key: Key, _ characteristic: CBCharacteristic, _ device: Device) {
    let task = Task {
      do {
        for try await value in device.connection.values(of: characteristic) {
          onEvent(.value(key, Array(value)))
        }
      } catch let error as BluetoothError {
        endSubscription(key, error)
      } catch {}
    }
    let isWanted = state.update { state in
      guard state.subscriptions[key] != nil else { return false }
      state.subscriptions[key] = .some(task)
      return true
    }
    if !isWanted { task.cancel() }
  }

  /// Gives a subscription up at an error that the next connection does not mend.
  private func endSubscription(_ key: Key, _ error: BluetoothError) {
    switch error.code {
    case .disconnected, .cancelled, .notAvailable: break
    default:
      state.update { $0.subscriptions[key] = nil }
      onEvent(.subscriptionEnded(key, error.description.trimmingSuffix(".")))
    }
  }

  private func resubscribe() async {
    let wanted = state.value.subscriptions.keys
    guard !wanted.isEmpty else { return }
    for key in wanted {
      do {
        let characteristic = try await characteristic(key)
        // Without it, the next connection is the one to subscribe on.
        if let device = state.value.device { follow(key, characteristic, device) }
      } catch let failure as CommandFailure where failure.status == .notFound {
        state.update { $0.subscriptions[key] = nil }
        onEvent(.subscriptionEnded(key, failure.sentence))
      } catch let error as BluetoothError {
        endSubscription(key, error)
      } catch {}
    }
  }
}
