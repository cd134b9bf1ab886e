/// The position or motion of a host that joins a world.
public struct HostPlace: Hashable, Sendable {
  /// The name of the place: a receiver, or a person with a phone.
  public var name: String
  /// Where it is.
  public var motion: Motion
  /// In dB, how much louder its controller hears, and is heard, than others.
  public var antennaGainDB: Double

  /// Names a place.
  public init(name: String, motion: Motion, antennaGainDB: Double = 0) {
    self.name = name
    self.motion = motion
    self.antennaGainDB = antennaGainDB
  }
}
