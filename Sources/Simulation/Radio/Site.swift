import Essentials
import Glibc

/// A place with an antenna: where it is, and how loud it hears each of the others.
final class Site {
  let index: Int
  /// Makes the shadowing of a pair independent of the other sites of the world.
  let seed: UInt64
  var motion: Motion
  /// How much louder it is heard, and hears, than an antenna like the others.
  var antennaGainDB = 0.0
  /// The place of the world where it is, if it is a host's.
  var placeName = ""
  /// Path gain from the other sites, in dB and by their index; NaN where not yet known. Filled for
  /// listening sites only.
  private var gains: [Float] = []

  init(index: Int, seed: UInt64, motion: Motion) {
    self.index = index
    self.seed = seed
    self.motion = motion
  }

  /// Decibels (negative) that a signal gains on its way between the two sites, in either direction.
  func gain(to other: Site, world: World) -> Double {
    let gain = gainWithoutPeople(to: other, world: world)
    guard !world.walkers.isEmpty else { return gain }
    let (a, b) = (motion.position(at: world.now), other.motion.position(at: world.now))
    return gain - world.lossByPeople(from: a, to: b)
  }

  private func gainWithoutPeople(to other: Site, world: World) -> Double {
    guard motion.isStill, other.motion.isStill else {
      return Site.gain(self, other, world: world)
    }
    if other.index < gains.count {
      let known = gains[other.index]
      if !known.isNaN { return Double(known) }
    } else {
      gains.append(
        contentsOf: repeatElement(.nan, count: max(world.sites.count, 16) - gains.count))
    }
    let gain = Site.gain(self, other, world: world)
    gains[other.index] = Float(gain)
    return gain
  }

  /// Discards the gains of a site that moved.
  func forget(_ other: Site) {
    if other === self {
      gains = []
    } else if other.index < gains.count {
      gains[other.index] = .nan
    }
  }

  /// Log-distance path loss, shadowing of the pair, walls between (Rappaport's model).
  private static func gain(_ a: Site, _ b: Site, world: World) -> Double {
    let model = world.radio
    let (p, q) = (a.motion.position(at: world.now), b.motion.position(at: world.now))
    // Nearer than ten centimetres, antennas are no longer far from each other.
    let distance = max(0.1, p.distance(to: q))
    var gain = a.antennaGainDB + b.antennaGainDB - model.lossAtOneMetreDB
    gain -= 10 * model.pathLossExponent * log10(distance)
    if model.shadowingDB > 0 {
      let pair = HashedRandom.mix(min(a.seed, b.seed), max(a.seed, b.seed))
      gain += model.shadowingDB * HashedRandom.normal(HashedRandom.mix(world.seed, pair))
    }
    for wall in model.walls where wall.separates(p, q) { gain -= wall.attenuationDB }
    return gain
  }
}
