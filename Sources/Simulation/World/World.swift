package import BluetoothMachines
public import BluetoothWire
public import Essentials

/// A world with its own time, space and randomness, in which simulated controllers share the air.
///
/// Nothing happens unless `run` is called: in tests with instants of virtual time, in a program
/// with those of a clock. The same seed and the same calls produce the same run, byte for byte,
/// even across processes. A world must be used on one thread or event loop.
public final class World {
  /// The seed of all random numbers in this world.
  public let seed: UInt64
  /// The time up to which the world has run.
  public private(set) var now: Instant = .zero
  /// The propagation and the faults of the radio. It can be changed at any time, for example to
  /// inject faults.
  public var radio: RadioModel {
    didSet { radioDidChange(from: oldValue) }
  }

  /// The people, whose bodies weaken signals.
  public var walkers: [Walker] = [] {
    didSet {
      spaceEpoch += 1
      wakeAdvertisers()
    }
  }
  /// The places of hosts that join this world, from a floor's file.
  public internal(set) var hostPlaces: [HostPlace] = []

  /// The P-256 key agreement for devices that are added from now on; without it they support legacy
  /// pairing only. It takes no virtual time.
  package var keyAgreement: (any KeyAgreement)?
  /// Whether devices that are added from now on check their controllers when these send nothing
  /// (`HostConfiguration.checksSilentController`).
  package var checksSilentControllers = true
  /// Called when a device displays a text, with the device's name and the text.
  public var onDisplay: ((_ device: String, _ text: String) -> Void)?
  /// Called with each packet of each connection when it is sent, whether it is received or lost:
  /// for recorders, and for tests that eavesdrop. It must not run the world.
  public var onAirPacket: ((AirPacket) -> Void)?
  /// Fault: replaces a packet with the returned bytes, as if an attacker had overwritten it; nil
  /// leaves it unchanged. If the second byte isn't the number of the following bytes, the packet
  /// isn't received, and is sent again. It must not run the world.
  public var forgeAirPacket: ((AirPacket) -> [UInt8]?)?

  /// The devices of the world, in the order in which they were added.
  public internal(set) var devices: [SimulatedDevice] = []

  /// Recordings that begin when the first controller listens.
  var waitingReplays: [Replay] = []
  var queue = EventQueue()
  private var works: [(() -> Void)?] = []
  private var freeWorks: [Int] = []
  private var isRunning = false

  var sites: [Site?] = []
  /// Number of moves and changes of the radio model.
  private(set) var spaceEpoch: UInt64 = 0
  private var freeSites: [Int] = []
  private(set) var controllers: [SimulatedController] = []
  var advertisers: [Advertiser?] = []
  var freeAdvertisers: [Int] = []
  /// The controllers that scan or initiate, in the order of their making.
  private(set) var listeners: [SimulatedController] = []
  var links: [AirLink?] = []
  var freeLinks: [Int] = []
  private var numberCount: UInt64 = 0
  var pendingDeliveries: [Int] = []
  /// What commands do; made when the first controller gets the first command.
  var commandTable: CommandTable?

  /// Creates an empty world.
  public init(seed: UInt64, radio: RadioModel = RadioModel()) {
    self.seed = seed
    self.radio = radio
  }

  /// The time of the next event; nil if none is scheduled.
  public var nextEventTime: Instant? {
    queue.nextNanoseconds.map(Instant.init(nanoseconds:))
  }

  /// Runs all events until `deadline`, in order, and sets the time to it.
  ///
  /// In real time, call this before handing packets to a controller, after it, and at
  /// `nextEventTime`.
  public func run(until deadline: Instant) {
    precondition(!isRunning, "a world is not run from inside itself")
    isRunning = true
    while let entry = queue.pop(dueBy: deadline.nanoseconds) {
      now = max(now, Instant(nanoseconds: entry.nanoseconds))
      perform(entry)
    }
    isRunning = false
    now = max(now, deadline)
  }

  /// Runs all events of the next `span`.
  public func run(for span: TimeSpan) { run(until: now + span) }

  /// Runs until `condition` is true after an event, or for at most `span`. Returns whether the
  /// condition was met.
  @discardableResult
  public func run(atMost span: TimeSpan, until condition: () -> Bool) -> Bool {
    let deadline = now + span
    while !condition() {
      guard let next = nextEventTime, next <= deadline else {
        run(until: deadline)
        return condition()
      }
      run(until: max(now, next))
    }
    return true
  }

  /// Schedules a closure. One for a past instant is called in the next `run`.
  public func schedule(at instant: Instant, _ work: @escaping () -> Void) {
    let slot = freeWorks.popLast() ?? works.count
    if slot == works.count { works.append(work) } else { works[slot] = work }
    queue.push(.work, at: max(instant, now).nanoseconds, subject: slot)
  }

  /// Adds a controller. Its random numbers depend on the seed, its name and its address only.
  ///
  /// With a random `address`, the controller has no public address; the host must set a random one.
  public func makeController(
    name: String, address: DeviceAddress, at position: Position = .origin,
    capabilities: ControllerCapabilities = ControllerCapabilities()
  ) -> SimulatedController {
    makeController(
      name: name, address: address, at: HostPlace(name: name, motion: .still(position)),
      capabilities: capabilities)
  }

  /// Adds a controller with the position or motion of a host place.
  public func makeController(
    name: String, address: DeviceAddress, at place: HostPlace,
    capabilities: ControllerCapabilities = ControllerCapabilities()
  ) -> SimulatedController {
    let ownSeed = HashedRandom.mix(
      seed, HashedRandom.mix(HashedRandom.number(for: name), address.bits))
    let controller = SimulatedController(
      world: self, index: controllers.count, name: name, address: address,
      site: makeSite(seed: ownSeed, motion: place.motion), capabilities: capabilities,
      generator: SeededGenerator(seed: ownSeed))
    controller.site.antennaGainDB = place.antennaGainDB
    controller.site.placeName = place.name
    controllers.append(controller)
    return controller
  }

  private func perform(_ entry: EventQueue.Entry) {
    let subject = Int(entry.subject)
    switch entry.kind {
    case .work:
      let work = works[subject]
      works[subject] = nil
      freeWorks.append(subject)
      work?()
    case .command:
      controllers[subject].performNextCommand(token: entry.token)
    case .advertisingEvent:
      advertisers[subject]?.performEvent(token: entry.token, in: self)
    case .connectionEvent:
      links[subject]?.performEvent(token: entry.token)
    case .delivery:
      deliverPending()
    case .completion:
      links[subject]?.reportPending()
    }
  }
}

// Air.
extension World {
  var hasAirListener: Bool { onAirPacket != nil || forgeAirPacket != nil }
}

// Space.
extension World {
  func makeSite(seed: UInt64, motion: Motion) -> Site {
    let index = freeSites.popLast() ?? sites.count
    let site = Site(index: index, seed: seed, motion: motion)
    if index == sites.count { sites.append(site) } else { sites[index] = site }
    return site
  }

  func remove(_ site: Site) {
    forget(site)
    sites[site.index] = nil
    freeSites.append(site.index)
  }

  /// Discards the cached distances of a site that moved, and wakes advertisers, which may be in
  /// range of a listener now.
  func siteDidMove(_ site: Site) {
    forget(site)
    wakeAdvertisers()
  }

  private func forget(_ site: Site) {
    spaceEpoch += 1
    for other in sites { other?.forget(site) }
  }

  private func radioDidChange(from old: RadioModel) {
    guard old != radio else { return }
    spaceEpoch += 1
    for case let site? in sites { site.forget(site) }
    wakeAdvertisers()
  }
}

// Listening controllers.
extension World {
  /// Updates the list of listeners, and wakes advertisers when a controller begins to listen.
  func listeningDidChange(_ controller: SimulatedController) {
    let position = listeners.firstIndex { $0 === controller }
    switch (controller.isListening, position) {
    case (true, nil):
      let place = listeners.firstIndex { $0.index > controller.index } ?? listeners.count
      listeners.insert(controller, at: place)
      wakeAdvertisers()
      if !waitingReplays.isEmpty { startReplays() }
    case (true, _?):
      wakeAdvertisers()
    case (false, let position?):
      listeners.remove(at: position)
    case (false, nil):
      break
    }
  }

  /// Gives every advertiser that sleeps because no scanner heard it another try.
  func wakeAdvertisers() {
    guard !listeners.isEmpty else { return }
    for advertiser in advertisers { advertiser?.wake(in: self) }
  }

  func nextNumber() -> UInt64 {
    numberCount += 1
    return numberCount
  }
}
