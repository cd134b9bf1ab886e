internal import BluetoothInterface
internal import BluetoothWire
internal import Essentials
public import PeripheralFiles

extension World {
  /// Adds the device of a peripheral file, such as a recorded one, and switches it on.
  ///
  /// It advertises the file's data, byte for byte, is connectable if the recorded device was, and
  /// answers and notifies as `PeripheralPlayer` does.
  ///
  /// - Returns: The device.
  @discardableResult
  public func addDevice(_ file: PeripheralFile, at position: Position) -> SimulatedDevice {
    addDevice(named: file.name ?? "", address: file.address, at: position) { device in
      FilePlayback(file, device).describe()
    }
  }
}

/// Connects a player with the simulated device that it plays. The device's closures keep it
/// alive, and what the world is to do later.
private final class FilePlayback {
  private typealias Index = PeripheralFile.CharacteristicIndex

  private let file: PeripheralFile
  private unowned let device: SimulatedDevice
  private var player: PeripheralPlayer
  private var notify: [Index: ([UInt8]) -> Void] = [:]
  private var scheduledWake: Instant?

  init(_ file: PeripheralFile, _ device: SimulatedDevice) {
    self.file = file
    self.device = device
    player = PeripheralPlayer(file, now: device.world.now)
  }

  func describe() {
    device.appearance = file.appearance ?? 0
    device.advertisedServices = file.advertisedServices
    if let advertising = file.advertising {
      device.advertisingInterval = advertising.interval
      device.isConnectable = advertising.isConnectable
      device.advertisedData = SimulatedDevice.AdvertisedData(
        data: advertising.data, scanResponse: advertising.scanResponse)
    }
    if case .order(let order) = file.publicationOrder() { addServices(order) }
    scheduleWake()
  }

  private func addServices(_ order: [Int]) {
    var services: [Int: SimulatedService] = [:]
    for number in order {
      let description = file.services[number]
      let service = device.addService(description.uuid, isPrimary: description.isPrimary)
      services[number] = service
      for included in description.includedServices.compactMap({ services[$0] }) {
        service.include(included)
      }
      for (place, characteristic) in description.characteristics.enumerated() {
        add(characteristic, Index(service: number, characteristic: place), to: service)
      }
    }
  }

  private func add(
    _ description: PeripheralFile.Characteristic, _ index: Index, to service: SimulatedService
  ) {
    let characteristic = service.addCharacteristic(
      description.uuid, description.properties,
      requiresEncryption: description.notifyNeedsEncryption,
      requiresAuthentication: description.notifyNeedsAuthentication)
    notify[index] = { [unowned characteristic] in characteristic.notify($0) }
    characteristic.permissions = description.permissions
    characteristic.descriptors = description.descriptors.map {
      DescriptorDefinition(uuid: $0.uuid, value: $0.value)
    }
    characteristic.onRead { [self] _ in player.read(index) }
    characteristic.onWrite { [self] _, value in
      var actions: [PeripheralPlayer.Action] = []
      let result = player.write(index, value, now: device.world.now, into: &actions)
      perform(actions)
      return result
    }
    characteristic.onSubscriptionChange { [self, unowned characteristic] _, _ in
      player.setSubscribed(
        index, !characteristic.subscribers.isEmpty, now: device.world.now)
      scheduleWake()
    }
  }

  private func wake() {
    var actions: [PeripheralPlayer.Action] = []
    player.wake(now: device.world.now, into: &actions)
    perform(actions)
  }

  private func perform(_ actions: [PeripheralPlayer.Action]) {
    for action in actions {
      switch action {
      case .notify(let index, let value): notify[index]?(value)
      case .advertise(let data, let scanResponse):
        device.advertisedData = SimulatedDevice.AdvertisedData(
          data: data, scanResponse: scanResponse)
      }
    }
    scheduleWake()
  }

  private func scheduleWake() {
    guard let wake = player.nextWake else { return }
    if let scheduledWake, scheduledWake <= wake, scheduledWake >= device.world.now { return }
    scheduledWake = wake
    device.after(wake - device.world.now) { [self] in
      guard scheduledWake == wake else { return }
      scheduledWake = nil
      self.wake()
    }
  }
}

extension PeripheralFile.Characteristic {
  /// What reading and writing take on the server.
  var permissions: AttributePermissions {
    var permissions: AttributePermissions = []
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
