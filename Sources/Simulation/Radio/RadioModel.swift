public import Essentials

/// The propagation and the faults of the radio in a world.
///
/// The default is an indoor floor with people on it. `ideal` is a radio without any loss.
public struct RadioModel: Hashable, Sendable {
  // What walls, distance and people do.

  /// The path loss in decibels over the first metre, including antennas: with 0 dBm sent, a
  /// receiver one metre away measures −59 dBm, to which iBeacons are calibrated.
  public var lossAtOneMetreDB = 59.0
  /// The path loss exponent: 2 in free space, up to 4 between shelves.
  public var pathLossExponent = 2.2
  /// The standard deviation of shadowing by furniture. It is constant for a pair of positions.
  public var shadowingDB = 3.0
  /// The standard deviation of fading from one packet to the next.
  public var fadingDB = 2.0
  /// The weakest signal that a receiver can decode on LE 1M.
  public var sensitivityDBm = -95.0
  /// The walls.
  public var walls: [Wall] = []

  // Loss.

  /// The probability that an advertising packet in range is lost to a collision.
  public var advertisementLoss = 0.03
  /// The probability that a packet of a connection in range must be sent again.
  public var packetLoss = 0.01
  /// Fault: the additional probability that any packet is lost.
  public var dropProbability = 0.0
  /// Fault: noise on some channels, for some time, in some region.
  public var jamming: [Jamming] = []

  // Time.

  /// The maximum random delay after each advertising interval (Core 5.4, Vol 6, Part B,
  /// §4.4.2.2.1).
  public var advertisingDelayMax: TimeSpan = .milliseconds(10)
  /// Overrides the requested advertising interval, without taking time on air, so that a benchmark
  /// of hosts doesn't measure waiting. If nil, advertising behaves as on a real radio.
  public var advertisingInterval: TimeSpan? {
    didSet {
      let isPositive = advertisingInterval.map { $0 > .zero } ?? true
      precondition(isPositive, "an advertising interval is longer than nothing")
    }
  }
  /// The time that a controller needs to perform a command.
  public var commandLatency: TimeSpan = .microseconds(200)
  /// Whether ACL data waits for connection events and takes time on air. If false, it is delivered
  /// at once, as fast as hosts accept it.
  public var isPaced = true
  /// The maximum length of a connection event; nil for no limit but the next event. The links of a
  /// controller share its time.
  public var connectionEventMax: TimeSpan?

  /// Creates the model of an indoor floor.
  public init() {}

  /// A model without loss, latency, pacing and fading, in which all devices are in range of each
  /// other.
  public static var ideal: RadioModel {
    var model = RadioModel()
    model.pathLossExponent = 0
    model.shadowingDB = 0
    model.fadingDB = 0
    model.advertisementLoss = 0
    model.packetLoss = 0
    model.commandLatency = .zero
    model.isPaced = false
    return model
  }
}

/// Noise that drowns weak signals.
public struct Jamming: Hashable, Sendable {
  /// The affected channels: data channels 0 ... 36, advertising channels 37 ... 39.
  public var channels: ClosedRange<Int> = 0...39
  /// The start of the noise.
  public var start: Instant = .zero
  /// The end of the noise.
  public var end: Instant = .distantFuture
  /// The position of the source; nil for noise everywhere.
  public var centre: Position?
  /// The distance from the centre up to which receivers are affected, in metres.
  public var radius = 10.0
  /// The level above sensitivity that a signal needs to be decoded, in dB.
  public var noiseDB = 60.0

  /// Creates noise on all channels, everywhere and for ever.
  public init() {}

  func noise(channel: Int, at position: Position, time: Instant) -> Double {
    guard channels.contains(channel), time >= start, time < end else { return 0 }
    if let centre, centre.distance(to: position) > radius { return 0 }
    return noiseDB
  }
}
