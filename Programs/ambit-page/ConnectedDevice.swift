import AmbitCLI
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import PeripheralFiles
import Reactive

/// A device that the page keeps connected, with what it has.
@MainActor
final class ConnectedDevice {
  /// The state of the link: `connecting …`.
  let state = MutableProperty("connecting …")
  /// What went wrong with the link or the pairing last.
  let message = MutableProperty<String?>(nil)
  let attributes = MutableProperty<[AttributeRow]>([])
  /// Whether the device has removed the bond, so that only a new pairing can help.
  let isBondLost = MutableProperty(false)

  /// At most so often are values shown, which may come by the thousand.
  private static let valueTime = Duration.milliseconds(50)

  private enum Event: Sendable {
    case link(KeptDevice.Event)
    case values
  }

  private let device: KeptDevice
  private let arrived: ArrivedValues
  private var work: Task<Void, Never>?
  private var discovery: Task<Void, Never>?
  /// Subscriptions that are being made.
  private var following: [KeptDevice.Key: Task<Void, Never>] = [:]
  /// Ends with the link.
  private let ended: AsyncStream<Never>
  /// Whether there is a link.
  private(set) var isLinked = false

  init(_ sighting: Sighting, _ session: Session, _ central: Central) {
    let search = Search(name: DeviceName(text: sighting.identifier), session: session.silent)
    let (events, post) = AsyncStream.makeStream(of: Event.self)
    let arrived = ArrivedValues()
    let device = KeptDevice(sighting, search, central) { event in
      guard case .value(let key, let bytes) = event else {
        post.yield(.link(event))
        return
      }
      guard arrived.keep(bytes, of: key) else { return }
      Task {
        try? await Task.sleep(for: Self.valueTime)
        post.yield(.values)
      }
    }
    self.device = device
    self.arrived = arrived
    let (ended, end) = AsyncStream.makeStream(of: Never.self)
    self.ended = ended
    work = Task {
      defer { end.finish() }
      async let link: Void? = try? await device.run()
      for await event in events {
        switch event {
        case .link(let event): take(event)
        case .values: showValues()
        }
      }
      _ = await link
    }
  }

  /// Ends the link in good order.
  func end() {
    discovery?.cancel()
    for task in following.values { task.cancel() }
    work?.cancel()
  }

  /// Connects again after the bond was lost.
  func reconnect() {
    isBondLost.value = false
    state.value = "connecting …"
    device.reconnect()
  }

  /// Shows the steps that the user has to take before the device can be connected again.
  func showBondRemoved(_ text: String) {
    isBondLost.value = false
    state.value = text
  }

  /// Returns when the link has ended, or the task is cancelled.
  func waitUntilEnded() async { for await _ in ended {} }

  private func take(_ event: KeptDevice.Event) {
    switch event {
    case .connecting: state.value = "connecting …"
    case .connected:
      isLinked = true
      isBondLost.value = false
      state.value = "connected; discovering …"
      message.value = nil
      discovery?.cancel()
      discovery = Task { await discover() }
    case .lost(let reason, let reconnects):
      isLinked = false
      discovery?.cancel()
      state.value = reconnects ? "\(reason); connecting again …" : reason
    case .lostBond(let reason):
      isLinked = false
      discovery?.cancel()
      state.value = reason
      message.value = nil
      isBondLost.value = true
    case .value: break
    case .subscriptionEnded(let key, let reason):
      let row = attributes.value.first { $0.key == key }
      row?.isFollowed.value = false
      row?.message.value = reason
    }
  }

  private func showValues() {
    let values = arrived.take()
    for row in attributes.value {
      if let arrived = row.key.flatMap({ values[$0] }) { row.show(arrived) }
    }
  }

  /// Lists what the device has, then reads what can be read, one after the other.
  private func discover() async {
    do {
      let device = device
      let found = try await race(Session.workTime.duration) { try await device.discoverAll() }
      guard !Task.isCancelled else { return }
      guard let found else {
        state.value = "connected; not discovered"
        message.value = "The device does not answer."
        return
      }
      var view = DetailView(title: "", state: "")
      view.show(found, followed: device.subscriptions)
      show(view.rows)
      state.value = "connected"
    } catch is CancellationError {
      return
    } catch {
      // The end of a link is shown elsewhere.
      guard !Task.isCancelled, device.isConnected else { return }
      state.value = "connected; not discovered"
      message.value = (error as? CommandFailure)?.sentence ?? "\(error)"
      return
    }
    for row in attributes.value where row.isReadable {
      guard !Task.isCancelled else { return }
      // Errors are shown at the row.
      try? await row.read.apply().completion()
    }
  }

  /// Rows are kept over a new connection, with their input, as long as the device has them.
  private func show(_ rows: [DetailView.Row]) {
    let known = Dictionary(
      attributes.value.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    var serviceCount = 0
    attributes.value = rows.map { row in
      let id: String
      if let key = row.key {
        id = "\(key.service)-\(key.characteristic)"
      } else {
        id = "service \(serviceCount)"
        serviceCount += 1
      }
      if let before = known[id], before.type == row.type { return before }
      return AttributeRow(row, id, operations)
    }
  }

  private var operations: AttributeRow.Operations {
    let device = device
    return AttributeRow.Operations(
      read: { try await device.read($0) },
      write: { key, input in
        let characteristic = try await device.characteristic(key)
        let uuid = BluetoothUUID(characteristic.uuid)
        try await device.write(input.bytes(for: uuid, choice: \.rawValue), to: key)
        return characteristic.properties.contains(.read) ? try await device.read(key) : nil
      },
      follow: { [weak self] key, isFollowed in self?.follow(key, isFollowed) })
  }

  private func follow(_ key: KeptDevice.Key, _ isFollowed: Bool) {
    let row = attributes.value.first { $0.key == key }
    row?.message.value = nil
    following.removeValue(forKey: key)?.cancel()
    guard isFollowed else { return device.unsubscribe(key) }
    following[key] = Task {
      do {
        try await device.subscribe(key)
        if Task.isCancelled { device.unsubscribe(key) }
      } catch {
        guard !Task.isCancelled else { return }
        row?.isFollowed.value = false
        row?.message.value = (error as? CommandFailure)?.reason ?? "\(error)"
      }
    }
  }
}
