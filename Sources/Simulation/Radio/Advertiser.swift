import BluetoothWire
import Essentials

/// One thing that advertises: an advertising set of a controller, or a device without one.
///
/// An advertiser that no scanner could hear is not in the event queue; when one begins to scan,
/// its phase is worked out from where it stopped.
final class Advertiser {
  let index: Int
  let generation: UInt64
  let site: Site
  private let seed: UInt64

  // What it sends.
  var properties: AdvertisingEventProperties = [.legacy]
  var address: DeviceAddress?
  var target: DeviceAddress?
  /// The target's identity address, from its host.
  var targetPeer: DeviceAddress?
  var data: [UInt8] = []
  var scanResponse: [UInt8] = []
  var intervalNanoseconds: Int64 = 100_000_000
  var channels: AdvertisingChannels = .all
  var powerDBm = 0.0
  var primaryPHY: PHY = .le1M
  var secondaryPHY: PHY = .le1M
  var setID: UInt8 = 0
  var filterPolicy: AdvertisingFilterPolicy = .unfiltered
  var notifiesScanRequests = false
  /// Changes with the data, as the advertising data identifier does.
  var dataID: UInt16 = 0

  // Whose it is.
  weak var owner: SimulatedController?
  var ownerSet: UInt8 = 0
  var onConnectionAttempt: (() -> Void)?

  // State of advertising.
  private(set) var isActive = false
  private var isScheduled = false
  private var token: UInt32 = 0
  private var eventStart: Int64 = 0
  private var eventIndex: UInt64 = 0
  /// How many events are left, where they are counted.
  var eventsLeft: Int?

  init(index: Int, generation: UInt64, site: Site, seed: UInt64) {
    self.index = index
    self.generation = generation
    self.site = site
    self.seed = seed
  }

  func take(_ advertisement: Advertisement) {
    address = advertisement.address
    properties = AdvertisingEventProperties(legacy: advertisement.type)
    data = advertisement.data
    scanResponse = advertisement.scanResponse
    intervalNanoseconds = advertisement.interval.nanoseconds
    powerDBm = advertisement.powerDBm
    dataID &+= 1
  }

  func start(in world: World) {
    isActive = true
    // The first event comes somewhere in the first ten milliseconds.
    eventStart = world.now.nanoseconds + delay(world)
    if !world.listeners.isEmpty || eventsLeft != nil { schedule(in: world) }
  }

  func stop() {
    isActive = false
    isScheduled = false
    token &+= 1
  }

  /// Continues after a time in which no scanner could hear.
  func wake(in world: World) {
    guard isActive, !isScheduled else { return }
    let now = world.now.nanoseconds
    if eventStart < now {
      let meanDelay = world.radio.advertisingDelayMax.nanoseconds / 2
      let period = max(1, interval(in: world) + (isUndelayed ? 0 : meanDelay))
      let missed = (now - eventStart) / period
      eventIndex &+= UInt64(missed)
      eventStart += missed * period
      while eventStart < now { advance(world) }
    }
    schedule(in: world)
  }

  private var isUndelayed: Bool { properties.contains(.highDutyCycle) }

  private func delay(_ world: World) -> Int64 {
    if isUndelayed { return 0 }
    let share = HashedRandom.unit(HashedRandom.mix(seed, eventIndex))
    return Int64(share * Double(world.radio.advertisingDelayMax.nanoseconds))
  }

  private func advance(_ world: World) {
    eventIndex &+= 1
    eventStart += max(1, interval(in: world) + delay(world))
  }

  private func interval(in world: World) -> Int64 {
    world.radio.advertisingInterval?.nanoseconds ?? intervalNanoseconds
  }

  private func schedule(in world: World) {
    isScheduled = true
    token &+= 1
    world.queue.push(
      .advertisingEvent, at: eventStart + 3 * channelSpacing(in: world), subject: index,
      token: token)
  }

  /// Sends on each channel in turn; comes when the last packet has gone, so that everything heard
  /// lies in the past.
  func performEvent(token: UInt32, in world: World) {
    guard token == self.token, isActive else { return }
    isScheduled = false
    // A person may step out of the way without an event.
    var isInReach = !site.motion.isStill || !world.walkers.isEmpty
    if isOnAir {
      for listener in world.listeners where isActive {
        let mean = powerDBm + listener.site.gain(to: site, world: world)
        // A device that moves may come near without an event.
        if !listener.site.motion.isStill { isInReach = true }
        guard mean >= listener.hearingFloor else { continue }
        isInReach = true
        if listener.site === site { continue }
        listener.hear(self, meanDBm: mean, eventStart: eventStart)
      }
    }
    guard isActive, token == self.token else { return }
    if let left = eventsLeft {
      eventsLeft = left - 1
      if left <= 1 {
        owner?.advertisingDidEnd(set: ownerSet, status: .limitReached)
        return
      }
    }
    advance(world)
    if (isInReach && !world.listeners.isEmpty) || eventsLeft != nil { schedule(in: world) }
  }

  private var isOnAir: Bool { owner?.isTransmitting ?? true }

  /// The primary channels in use, as numbers 0 ... 2.
  func isUsed(_ channel: Int) -> Bool { channels.rawValue & 1 << UInt8(channel) != 0 }

  /// How long a packet on a primary channel takes.
  var primaryPacketNanoseconds: Int64 {
    // Extended: length and flags, AdvA or not, data info, pointer.
    let payload = properties.contains(.legacy) ? 6 + data.count : 7
    return AirTime.nanoseconds(payloadBytes: payload, phy: primaryPHY)
  }

  /// From the start of one channel's packet to the next one's: a scanner that may be answered listens in
  /// between.
  func channelSpacing(in world: World) -> Int64 {
    guard world.radio.advertisingInterval == nil else { return 0 }
    let isAnswered = !properties.isDisjoint(with: [.connectable, .scannable])
    return primaryPacketNanoseconds + (isAnswered ? 400_000 : AirTime.interFrameNanoseconds)
  }

  /// Number of packets that carry the data on secondary channels.
  var auxiliaryPacketCount: Int {
    let count = max(data.count, scanResponse.count)
    return max(1, (count + Limits.auxiliaryDataMax - 1) / Limits.auxiliaryDataMax)
  }
}

extension AdvertisingEventProperties {
  /// What the legacy advertising types are called in extended advertising
  /// (Core 5.4, Vol 4, Part E, §7.8.53, table 7.2).
  init(legacy type: AdvertisingType) {
    switch type {
    case .connectable: self = [.legacy, .connectable, .scannable]
    case .directedHighDutyCycle: self = [.legacy, .connectable, .directed, .highDutyCycle]
    case .scannable: self = [.legacy, .scannable]
    case .nonConnectable: self = [.legacy]
    case .directedLowDutyCycle: self = [.legacy, .connectable, .directed]
    }
  }
}
