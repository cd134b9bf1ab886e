public import BluetoothWire
public import Essentials

/// A Bluetooth LE controller in a world: HCI on one side, simulated air on the other.
///
/// It behaves like a chip: commands are answered in order, each after a short delay; data is
/// buffered until a connection event. The world must be retained while the controller is used.
public final class SimulatedController {
  /// The controller's name in the world.
  public let name: String
  /// The public address, or the static random address of its device.
  public let address: DeviceAddress
  /// The capabilities of the controller.
  public let capabilities: ControllerCapabilities
  /// Called with each packet for the host, only while the world runs. It may send packets to any
  /// controller, but must not run the world.
  public var onPacket: ((HCIPacket) -> Void)?
  /// The faults of the controller.
  public var faults = ControllerFaults()
  /// Whether the controller is powered on.
  public private(set) var isPoweredOn = true {
    didSet { if isPoweredOn != oldValue { onPowerChange?(isPoweredOn) } }
  }
  /// Called when the power is switched on or off. It must not run the world.
  public var onPowerChange: ((Bool) -> Void)?
  /// The number of dropped packets from the host, which were invalid or exceeded a buffer.
  public private(set) var droppedPacketCount = 0

  unowned let world: World
  let index: Int
  let site: Site
  var generator: SeededGenerator
  var settings = HostSettings()
  /// The ends of connections that this controller holds, by handle.
  var endpoints: [Endpoint?] = [nil]
  var endpointCount = 0
  var aclPacketsHeld = 0
  var duplicates = DuplicateMemory()
  var resolutions: [UInt64: Int] = [:]

  private var commands: [HCIPacket] = []
  private var commandToken: UInt32 = 0

  init(
    world: World, index: Int, name: String, address: DeviceAddress, site: Site,
    capabilities: ControllerCapabilities, generator: SeededGenerator
  ) {
    self.world = world
    self.index = index
    self.name = name
    self.address = address
    self.site = site
    self.capabilities = capabilities
    self.generator = generator
    settings.randomAddress = address.kind == .random ? address : nil
  }

  /// The current position. Setting it stops a motion.
  public var position: Position {
    get { site.motion.position(at: world.now) }
    set { motion = .still(newValue) }
  }

  /// The motion of the controller.
  public var motion: Motion {
    get { site.motion }
    set {
      site.motion = newValue
      world.siteDidMove(site)
    }
  }

  /// Handles a packet from the host. It isn't answered before the world runs.
  public func receive(_ packet: HCIPacket) {
    guard isPoweredOn else { return }
    switch packet.kind {
    case .acl:
      receiveACL(packet)
    case .command:
      guard commands.count < Limits.queuedCommandsMax else { return drop() }
      commands.append(packet)
      if commands.count == 1 { scheduleCommand() }
    case .event, .synchronous, .isochronous:
      drop()
    }
  }

  func drop() { droppedPacketCount += 1 }

  private func scheduleCommand() {
    let instant = world.now + world.radio.commandLatency + faults.commandDelay
    world.queue.push(.command, at: instant.nanoseconds, subject: index, token: commandToken)
  }

  func performNextCommand(token: UInt32) {
    guard token == commandToken, !commands.isEmpty else { return }
    let packet = commands.removeFirst()
    perform(packet)
    // The host may have switched us off.
    if token == commandToken, !commands.isEmpty { scheduleCommand() }
  }
}

// Power.
extension SimulatedController {
  /// Switches the power off. Links are not terminated: peers detect it by their supervision
  /// timeouts.
  public func powerOff() {
    isPoweredOn = false
    commands = []
    commandToken &+= 1
    forgetEverything()
  }

  /// Switches the power on. The state is as after a reset.
  public func powerOn() {
    isPoweredOn = true
  }

  /// Crashes the firmware. If it restarts, it sends a Hardware Error event to its host.
  public func crash(restartingAfter pause: TimeSpan? = .milliseconds(100)) {
    powerOff()
    guard let pause else { return }
    world.schedule(at: world.now + pause) { [weak self] in
      guard let self, !self.isPoweredOn else { return }
      self.powerOn()
      self.send(HardwareError(hardwareCode: 0))
    }
  }

  /// What a reset does: links and advertising end without a word on the air.
  func forgetEverything() {
    for endpoint in endpoints { endpoint?.vanish() }
    endpoints = [nil]
    endpointCount = 0
    aclPacketsHeld = 0
    stopAdvertisers()
    settings = HostSettings()
    settings.randomAddress = address.kind == .random ? address : nil
    duplicates = DuplicateMemory()
    resolutions = [:]
    world.listeningDidChange(self)
  }

  var isTransmitting: Bool { isPoweredOn }

  /// Whether it wants to hear advertising.
  var isListening: Bool {
    isPoweredOn && (settings.scan.isEnabled || settings.initiator != nil)
  }

  /// The weakest mean signal that could be understood, with the luckiest fading.
  var hearingFloor: Double {
    let gain = capabilities.hasCoded ? AirTime.sensitivityGainDB(.leCoded) : 0
    return world.radio.sensitivityDBm - gain - HashedRandom.normalMax * world.radio.fadingDB
  }
}

// Towards the host.
extension SimulatedController {
  /// Sends an event, unless the host masked it.
  func send(_ event: some HCIEventParameters) {
    guard isUnmasked(type(of: event).code) else { return }
    deliver(event.packet)
  }

  /// Hands a packet to the host.
  func deliver(_ packet: HCIPacket) {
    guard isPoweredOn else { return }
    onPacket?(packet)
  }

  func isUnmasked(_ code: HCIEventCode) -> Bool {
    if let subevent = code.subevent {
      return settings.eventMask.contains(.leMeta) && isUnmasked(subevent: subevent)
    }
    // Completion of commands and of packets cannot be masked (Core 5.4, Vol 4, Part E, §7.3.1).
    guard code.event <= 0x40, ![0x0E, 0x0F, 0x13].contains(code.event) else { return true }
    return settings.eventMask.rawValue & 1 << UInt64(code.event - 1) != 0
  }

  func isUnmasked(subevent: UInt8) -> Bool {
    settings.leEventMask.rawValue & 1 << UInt64(subevent - 1) != 0
  }

  /// Whether the host has a buffer free. While it has none, the controller doesn't acknowledge data
  /// on the air, so that it stays with its sender (Core 5.4, Vol 6, Part B, §4.5.9).
  var hasHostBuffer: Bool {
    !settings.limitsACL || settings.hostBuffersUsed < settings.hostBufferCount
  }

  /// Hands data of a peer to the host; only while `hasHostBuffer`.
  func deliverData(_ packet: HCIPacket, for endpoint: Endpoint) {
    if settings.limitsACL {
      settings.hostBuffersUsed += 1
      endpoint.hostBuffersUsed += 1
    }
    deliver(packet)
  }

  /// The host has freed buffers that held data of a connection.
  func hostCompleted(_ count: Int, for endpoint: Endpoint) {
    let freed = min(count, endpoint.hostBuffersUsed)
    endpoint.hostBuffersUsed -= freed
    releaseHostBuffers(freed)
  }

  /// Buffers are free again: peers' data that was refused may come.
  func releaseHostBuffers(_ count: Int) {
    guard count > 0 else { return }
    settings.hostBuffersUsed -= count
    for endpoint in endpoints { endpoint?.link.wantsDelivery() }
  }
}
