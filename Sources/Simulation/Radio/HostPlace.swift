/// The position or motion of a host that joins a world.
public struct HostPlace: Hashable, Sendable {
  /// The name of the place: a receiver, or a person with a phone.
  public var name: String
  /// The position or motion of the place.
  public var motion: Motion
  /// The antenna gain of its controller relative to others, in dB.
  public var antennaGainDB: Double

  /// Creates a place.
  public init(name: String, motion: Motion, antennaGainDB: Double = 0) {
    self.name = name
    self.motion = motion
    self.antennaGainDB = antennaGainDB
  }
}
