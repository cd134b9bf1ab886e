public import BluetoothInterface
import BluetoothMachines
public import BluetoothWire
public import Essentials

/// A device of the simulated world: it advertises, takes connections and serves attributes.
///
/// Underneath is the same host that programs use (`HostMachine`), on a simulated controller, so a
/// device behaves like a real one down to the bytes. Describe it once, in the closure of
/// `World.addDevice`, before it switches on:
///
/// ```swift
/// world.addDevice(named: "Lamp", at: Position(x: 2, y: 1)) { lamp in
///   var level: UInt8 = 100
///   let service = lamp.addService(0x1815)
///   let brightness = service.addCharacteristic(0x2A56, [.read, .write, .notify])
///   brightness.onRead { _ in .success([level]) }
///   brightness.onWrite { _, value in
///     guard value.count == 1, value[0] <= 100 else { return .failure(.valueNotAllowed) }
///     level = value[0]
///     brightness.notify([level])
///     return .success(())
///   }
/// }
/// ```
///
/// Confined to the thread or event loop of its world.
public final class SimulatedDevice {
  /// The name in its advertisement and in its GAP service.
  public let name: String
  /// The device's controller, with its position, faults and power.
  public let controller: SimulatedController
  /// The world of the device.
  public unowned let world: World

  /// The interval of advertising events, without the specification's random delay.
  public var advertisingInterval: TimeSpan = .milliseconds(100)
  /// The service UUIDs to advertise; by default those of all added services.
  public var advertisedServices: [BluetoothUUID]?
  /// Appends additional structures, such as manufacturer data, to the advertisement, as far as they
  /// fit.
  public var extendAdvertisement: ((inout AdvertisingDataBuilder) -> Void)?
  /// The exact advertising data to use instead of services and name.
  public var advertisedData: AdvertisedData? {
    didSet { if isPublished, advertisedData != oldValue { startAdvertising() } }
  }
  /// The central for directed advertising; nil to advertise for all.
  public var target: DeviceAddress? {
    didSet { if isPublished, target != oldValue { startAdvertising() } }
  }
  /// Whether the device is connectable.
  public var isConnectable = true
  /// The GAP appearance.
  public var appearance: UInt16 = 0
  /// The lifetime of a private address, which only bonded peers can resolve. If nil, the device
  /// uses its identity address.
  public var privateAddressInterval: TimeSpan?
  /// The input and output capabilities for pairing. Without a display or a keyboard, pairing uses
  /// Just Works.
  public var ioCapability = SMPIOCapability.noInputNoOutput
  /// Called with the questions and the passkey of a pairing; answer with
  /// ``answerPairing(_:with:)``.
  public var onPairingPrompt: ((DeviceAddress, PairingPrompt, PairingPromptID) -> Void)?
  /// Called when a central connects or disconnects.
  public var onConnectionChange: ((DeviceAddress, _ isConnected: Bool) -> Void)?

  /// The connected centrals.
  public private(set) var centrals: [DeviceAddress] = []

  /// Exact advertising data. More than 31 bytes need extended advertising, which has no scan
  /// response if it is connectable.
  public struct AdvertisedData: Hashable, Sendable {
    /// The advertising data.
    public var data: [UInt8]
    /// The scan response data.
    public var scanResponse: [UInt8]

    /// Creates advertising data.
    public init(data: [UInt8], scanResponse: [UInt8] = []) {
      self.data = data
      self.scanResponse = scanResponse
    }
  }

  private static let client = ClientID(rawValue: 1)
  private static let noPower = HostError.transport("The device has no power.")

  private var machine: HostMachine?
  private var services: [SimulatedService] = []
  private var characteristicsByHandle: [UInt16: SimulatedCharacteristic] = [:]
  private var channelHandlers: [UInt16: ChannelHandler] = [:]
  private var channelPSMs: [ChannelID: UInt16] = [:]
  private var queue: [Work] = []
  private var actions: [HostMachine.Action] = []
  private var isPumping = false
  private var scheduledWake: Instant?
  private var nextToken: UInt64 = 0
  private var servicesBeingAdded: [RequestToken: SimulatedService] = [:]
  /// Services that wait until those that they include have handles.
  private var servicesToAdd: [SimulatedService] = []
  private var isPublished = false
  private let random: SeededGenerator

  private typealias ChannelHandler = (ArraySlice<UInt8>) -> [UInt8]

  private enum Work {
    case input(HostMachine.Input)
    case wake
  }

  init(
    name: String, address: DeviceAddress, at position: Position, in world: World,
    random: SeededGenerator
  ) {
    self.name = name
    self.world = world
    self.random = random
    controller = world.makeController(name: name, address: address, at: position)
  }

  // MARK: Describing it

  /// Adds a service. Services are published in the order of the calls.
  public func addService(_ uuid: BluetoothUUID, isPrimary: Bool = true) -> SimulatedService {
    let service = SimulatedService(uuid: uuid, isPrimary: isPrimary, device: self)
    services.append(service)
    return service
  }

  /// Listens for L2CAP channels on a PSM. Received data is passed to `respond`, and the returned
  /// data is sent.
  public func addChannel(
    psm: UInt16, respond: @escaping (ArraySlice<UInt8>) -> [UInt8]
  ) {
    channelHandlers[psm] = respond
  }

  /// Repeats a closure while the world runs, for the first time after `interval`.
  public func every(_ interval: TimeSpan, _ work: @escaping () -> Void) {
    precondition(interval > .zero, "a repetition without time in between would never end")
    world.schedule(at: world.now + interval) { [weak self] in
      guard let self else { return }
      work()
      self.every(interval, work)
    }
  }

  /// Does something once, after `delay`.
  func after(_ delay: TimeSpan, _ work: @escaping () -> Void) {
    world.schedule(at: world.now + delay) { [weak self] in if self != nil { work() } }
  }

  /// Answers a pairing prompt, as the user of the device.
  public func answerPairing(_ prompt: PairingPromptID, with answer: PairingAnswer) {
    request(.answerPairing(prompt, answer))
  }

  // MARK: Running it

  func switchOn() {
    var configuration = HostConfiguration()
    configuration.name = name
    configuration.appearance = appearance
    configuration.hasKeyAgreement = world.keyAgreement != nil
    configuration.checksSilentController = world.checksSilentControllers
    // A host that is new in each run of a program pairs with it again.
    configuration.bondReplacement = .always
    if controller.address.kind == .random { configuration.address = controller.address }
    if let privateAddressInterval {
      configuration.usesPrivateAddress = true
      configuration.privateAddressInterval = privateAddressInterval
    }
    machine = HostMachine(configuration: configuration, random: random)
    controller.onPacket = { [weak self] packet in self?.take(.input(.packet(packet))) }
    controller.onPowerChange = { [weak self] isOn in
      self?.take(.input(isOn ? .transportOpened : .transportClosed(Self.noPower)))
    }
    take(.input(.transportOpened))
    take(.input(.clientOpened(Self.client)))
    if ioCapability != .noInputNoOutput { request(.setPairingAgent(ioCapability)) }
  }

  func request(_ request: HostRequest) {
    take(.input(.request(Self.client, request)))
  }

  func makeToken() -> RequestToken {
    nextToken += 1
    return RequestToken(rawValue: nextToken)
  }

  /// Feeds the machine. What its actions lead to may feed it again; that waits its turn, so that
  /// the machine is never entered twice.
  private func take(_ work: Work) {
    queue.append(work)
    guard !isPumping else { return }
    isPumping = true
    var index = 0
    while index < queue.count {
      switch queue[index] {
      case .input(let input): machine?.handle(input, now: world.now, into: &actions)
      case .wake: machine?.wake(now: world.now, into: &actions)
      }
      index += 1
      // Taken out while they are performed: performing one must not see them half changed.
      var performing = actions
      actions = []
      for action in performing { perform(action) }
      performing.removeAll(keepingCapacity: true)
      actions = performing
    }
    queue.removeAll(keepingCapacity: true)
    isPumping = false
    scheduleWake()
  }

  private func perform(_ action: HostMachine.Action) {
    switch action {
    case .send(let packet): controller.receive(packet)
    case .deliver(_, let event): heard(event)
    case .pauseReceiving, .resumeReceiving: break
    case .computeKey(let request):
      guard let keyAgreement = world.keyAgreement else { break }
      let result = keyAgreement.perform(request.operation)
      take(.input(.keyComputed(id: request.id, result)))
    // The machine keeps its bonds as long as the world runs.
    case .storeBond, .bondNotKept, .bondEvicted, .updateBonds, .removeBond, .clientLate: break
    case .reopenTransport:
      // The simulated wire cannot break, but there may be no power at its other end.
      take(.input(controller.isPoweredOn ? .transportOpened : .transportClosed(Self.noPower)))
    }
  }

  private func scheduleWake() {
    guard let wake = machine?.nextWake else { return }
    if let scheduledWake, scheduledWake <= wake { return }
    scheduledWake = wake
    world.schedule(at: max(wake, world.now)) { [weak self] in
      guard let self, self.scheduledWake == wake else { return }
      self.scheduledWake = nil
      self.take(.wake)
    }
  }

  // MARK: Events of the host

  private func heard(_ event: HostEvent) {
    switch event {
    case .stateChanged(.poweredOn): publish()
    case .completed(let token, let result):
      guard let service = servicesBeingAdded.removeValue(forKey: token) else { return }
      if case .success(.published(let published)) = result {
        service.wasPublished(published) { characteristicsByHandle[$0] = $1 }
      }
      addServices()
    case .linkOpened(let link):
      centrals.append(link.peer)
      onConnectionChange?(link.peer, true)
    case .linkClosed(let peer, _):
      centrals.removeAll { $0 == peer }
      onConnectionChange?(peer, false)
    case .serverRequest(let serverRequest): answer(serverRequest)
    case .subscribed(let peer, let handle):
      characteristicsByHandle[handle]?.subscriptionChanged(peer, isSubscribed: true)
    case .unsubscribed(let peer, let handle):
      characteristicsByHandle[handle]?.subscriptionChanged(peer, isSubscribed: false)
    case .channelOpened(let channel): channelPSMs[channel.id] = channel.psm
    case .channelClosed(let id, _): channelPSMs[id] = nil
    case .channelReceived(let id, let bytes):
      request(.consumedFromChannel(id, byteCount: bytes.count))
      guard let psm = channelPSMs[id], let respond = channelHandlers[psm] else { return }
      let response = respond(bytes)
      if !response.isEmpty { request(.sendOnChannel(id, response, makeToken())) }
    case .stateChanged, .discovered, .linkUpdated, .connected, .connectionFailed, .disconnected,
      .valueUpdated, .valuesDropped, .writesDropped, .requestsExpired, .acknowledgementRequested,
      .servicesChanged,
      .pairingEnded, .bondNotKept:
      break
    case .pairingPrompt(let central, let prompt, let id): onPairingPrompt?(central, prompt, id)
    }
  }

  private func publish() {
    characteristicsByHandle = [:]
    servicesBeingAdded = [:]
    for service in services { service.handle = nil }
    servicesToAdd = services
    request(.removeAllServices)
    addServices()
    for psm in channelHandlers.keys.sorted() {
      request(.publishChannel(psm: psm, requiresEncryption: false, makeToken()))
    }
    isPublished = true
    startAdvertising()
  }

  /// Adds services in their order, as far as those that they include have handles.
  private func addServices() {
    while let service = servicesToAdd.first, service.includesOnlyPublished {
      servicesToAdd.removeFirst()
      let token = makeToken()
      servicesBeingAdded[token] = service
      request(.addService(service.definition, token))
    }
  }

  private func startAdvertising() {
    request(.startAdvertising(advertisingOptions, makeToken()))
  }

  /// Flags, services and what the device adds go into the advertisement, the name into the scan
  /// response; each as far as it fits.
  private var advertisingOptions: AdvertisingOptions {
    var options = AdvertisingOptions()
    options.interval = advertisingInterval
    options.isConnectable = isConnectable
    if let target {
      options.target = target
      return options
    }
    if let advertisedData {
      options.data = advertisedData.data
      options.scanResponse = advertisedData.scanResponse
      options.usesExtendedAdvertising =
        max(options.data.count, options.scanResponse.count) > 31
      return options
    }
    var advertisement = AdvertisingDataBuilder()
    advertisement.append([.generalDiscoverable, .classicNotSupported] as AdvertisingFlags)
    let uuids = advertisedServices ?? services.filter(\.isPrimary).map(\.uuid)
    _ = advertisement.append(services: uuids)
    extendAdvertisement?(&advertisement)
    options.data = advertisement.bytes
    var response = AdvertisingDataBuilder()
    if !name.isEmpty { response.append(localName: name) }
    options.scanResponse = response.bytes
    return options
  }

  private func answer(_ serverRequest: ServerRequest) {
    let result: Result<[UInt8], ATTErrorCode>
    switch serverRequest.kind {
    case .read(let handle, let offset):
      result =
        characteristicsByHandle[handle]?.read(serverRequest.peer, offset: offset)
        ?? .failure(.invalidHandle)
    case .write(let writes):
      result = write(writes, by: serverRequest.peer)
    }
    request(.respond(serverRequest.id, result))
  }

  private func write(
    _ writes: [ServerRequest.Write], by peer: DeviceAddress
  ) -> Result<[UInt8], ATTErrorCode> {
    // Prepared parts of one value arrive one after the other: join them before anybody sees them.
    var joined: [ServerRequest.Write] = []
    for write in writes {
      if let last = joined.last, last.handle == write.handle,
        write.offset == last.offset + last.value.count
      {
        joined[joined.count - 1].value += write.value
      } else {
        joined.append(write)
      }
    }
    for write in joined {
      guard write.offset == 0 else { return .failure(.invalidOffset) }
      guard let characteristic = characteristicsByHandle[write.handle] else {
        return .failure(.invalidHandle)
      }
      if case .failure(let code) = characteristic.write(peer, write.value) { return .failure(code) }
    }
    return .success([])
  }
}
