public import Essentials

/// How radio behaves in a world: one field for each property and each fault.
///
/// The default is an indoor floor with people on it. `ideal` is a cable.
public struct RadioModel: Hashable, Sendable {
  // What walls, distance and people do.

  /// Loss in decibels over the first metre, antennas included: with 0 dBm sent, a receiver one
  /// metre away measures −59 dBm, which is what iBeacons are calibrated to.
  public var lossAtOneMetreDB = 59.0
  /// How fast a signal fades with distance: 2 in free space, up to 4 between shelves.
  public var pathLossExponent = 2.2
  /// Standard deviation of what furniture does to a pair of places; stays the same for the pair.
  public var shadowingDB = 3.0
  /// Standard deviation from one packet to the next.
  public var fadingDB = 2.0
  /// The weakest signal that a receiver understands on LE 1M.
  public var sensitivityDBm = -95.0
  /// The walls.
  public var walls: [Wall] = []

  // Loss.

  /// Chance that an advertising packet in reach is lost to a collision.
  public var advertisementLoss = 0.03
  /// Chance that a packet of a connection in reach has to be sent again.
  public var packetLoss = 0.01
  /// Fault: chance that any packet at all is lost, on top.
  public var dropProbability = 0.0
  /// Fault: noise on some channels for some time in some region.
  public var jamming: [Jamming] = []

  // Time.

  /// Random delay after each advertising interval, at most (Core 5.4, Vol 6, Part B, §4.4.2.2.1).
  public var advertisingDelayMax: TimeSpan = .milliseconds(10)
  /// How often advertising is sent instead of as often as it is asked for, and without taking time
  /// on air: so that a measurement of hosts does not measure waiting. nil is as on real air.
  public var advertisingInterval: TimeSpan? {
    didSet {
      let isPositive = advertisingInterval.map { $0 > .zero } ?? true
      precondition(isPositive, "an advertising interval is longer than nothing")
    }
  }
  /// How long a controller takes to perform a command.
  public var commandLatency: TimeSpan = .microseconds(200)
  /// Whether ACL data waits for connection events and takes time on air. Without pacing it is
  /// delivered at once, as fast as hosts can take it.
  public var isPaced = true
  /// Longest connection event that a controller grants; nil is up to the next one. Links of one
  /// controller share its time.
  public var connectionEventMax: TimeSpan?

  /// The indoor floor.
  public init() {}

  /// No loss, no latency, no pacing, no fading, everybody in reach of everybody.
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
  /// The channels concerned: data channels 0 ... 36, advertising channels 37 ... 39.
  public var channels: ClosedRange<Int> = 0...39
  /// When it starts.
  public var start: Instant = .zero
  /// When it is over.
  public var end: Instant = .distantFuture
  /// Where it comes from; nil is everywhere.
  public var centre: Position?
  /// How far from the centre receivers suffer, in metres.
  public var radius = 10.0
  /// By how much a signal must be stronger to be understood.
  public var noiseDB = 60.0

  /// Noise on all channels, everywhere, always.
  public init() {}

  func noise(channel: Int, at position: Position, time: Instant) -> Double {
    guard channels.contains(channel), time >= start, time < end else { return 0 }
    if let centre, centre.distance(to: position) > radius { return 0 }
    return noiseDB
  }
}
