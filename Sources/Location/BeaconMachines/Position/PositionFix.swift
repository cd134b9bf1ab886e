public import Essentials

/// Where a beacon is, with its uncertainty.
public struct PositionFix: Hashable, Sendable {
  /// When the last window ended.
  public var time: Instant
  /// The mean of where it may be.
  public var position: FloorPoint
  /// In square metres: how far it may be along x, along both, along y.
  public var covariance: Covariance
  /// In metres: it is nearer to `position` than this with a probability of 68 %, as far as the model holds.
  public var radius: Double
  /// Rooms with the probability that it is in them, most probable first; below 0.1 % left out.
  public var rooms: [RoomProbability]
  /// How many readings the last window had.
  public var readingCount: Int

  /// A symmetric matrix of two by two, in square metres.
  public struct Covariance: Hashable, Sendable {
    /// The variance along x.
    public var xx: Double
    /// The covariance.
    public var xy: Double
    /// The variance along y.
    public var yy: Double
  }

  /// A room and how probable it is.
  public struct RoomProbability: Hashable, Sendable {
    /// The room's name.
    public var name: String
    /// 0...1.
    public var probability: Double

    /// Makes one.
    public init(name: String, probability: Double) {
      self.name = name
      self.probability = probability
    }
  }
}

/// The reasons for a fix: each receiver's reading in the last window, and the expected one.
public struct PositionExplanation: Hashable, Sendable {
  /// One receiver's part.
  public struct Part: Hashable, Sendable {
    /// The receiver's name.
    public var receiver: String
    /// In dBm, the mean of what it heard; nil if it heard nothing.
    public var rssi: Double?
    /// How many receptions.
    public var count: Int
    /// In metres, from the fix.
    public var distance: Double
    /// In dBm, what it would hear at the fix.
    public var expected: Double
    /// In dBm, what it hears from one metre, as was learnt.
    public var offset: Double
    /// In dB, what measurements near the fix add to path loss.
    public var correction: Double
    /// The standard deviation of readings there from the expected level, in dB.
    public var spread: Double
    /// Its share in the fix, 0...1; all together are 1. Steady receivers whose reading fits count most.
    public var weight: Double
  }

  /// Loudest first, then those that heard nothing.
  public var parts: [Part]
  /// In metres, how far the readings moved the fix from where motion alone left it.
  public var shift: Double
}
