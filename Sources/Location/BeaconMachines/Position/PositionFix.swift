public import Essentials

/// The estimated position of a beacon, with its uncertainty.
public struct PositionFix: Hashable, Sendable {
  /// The end of the last window.
  public var time: Instant
  /// The mean of the probability distribution.
  public var position: FloorPoint
  /// The covariance of x and y, in square metres.
  public var covariance: Covariance
  /// The radius in metres of the circle around `position` that contains the beacon with a
  /// probability of 68 %, according to the model.
  public var radius: Double
  /// The probability that the beacon is in each room, most probable first, without those below 0.1
  /// %.
  public var rooms: [RoomProbability]
  /// The number of receptions in the last window.
  public var readingCount: Int
  /// How much louder the beacon is than the surveyed one, as far as the readings tell.
  public var beaconOffset = BeaconOffset.surveyed

  /// A symmetric matrix of two by two, in square metres.
  public struct Covariance: Hashable, Sendable {
    /// The variance along x.
    public var xx: Double
    /// The covariance of x and y.
    public var xy: Double
    /// The variance along y.
    public var yy: Double
  }

  /// The probability that the beacon is in a room.
  public struct RoomProbability: Hashable, Sendable {
    /// The room's name.
    public var name: String
    /// The probability, 0...1.
    public var probability: Double

    /// Creates a room with its probability.
    public init(name: String, probability: Double) {
      self.name = name
      self.probability = probability
    }
  }
}

/// The reasons for a fix: each receiver's reading in the last window, and the expected one.
public struct PositionExplanation: Hashable, Sendable {
  /// The part of one receiver.
  public struct Part: Hashable, Sendable {
    /// The receiver's name.
    public var receiver: String
    /// The mean level in dBm; nil without a reading.
    public var rssi: Double?
    /// The number of receptions.
    public var count: Int
    /// The distance of the receiver from the fix, in metres.
    public var distance: Double
    /// The expected level at the fix, in dBm.
    public var expected: Double
    /// The learnt level at a distance of one metre, in dBm.
    public var offset: Double
    /// The correction of path loss by measurements near the fix, in dB.
    public var correction: Double
    /// The standard deviation of readings there from the expected level, in dB.
    public var spread: Double
    /// Its share in the fix, 0...1; all together are 1. Steady receivers whose reading fits count most.
    public var weight: Double
  }

  /// The parts, highest level first, then those without a reading.
  public var parts: [Part]
  /// The distance in metres by which the readings moved the fix from the prediction of the motion
  /// model.
  public var shift: Double
}
