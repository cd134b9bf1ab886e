/// A walking person, whose body weakens signals that pass through it.
///
/// Seen from above, a body is a disc; it reaches from the floor to a height, so that receivers
/// under the ceiling receive signals over people's heads. A beacon that is carried in front of a
/// body is weak behind it, by the same rule.
public struct Walker: Hashable, Sendable {
  /// The motion of the middle of the body.
  public var motion: Motion
  /// The attenuation of a signal by the body; 5 to 10 dB are measured at 2.4 GHz.
  public var attenuationDB: Double
  /// The radius of the body in metres.
  public var bodyRadius = 0.2
  /// The height of the body in metres.
  public var height = 1.75

  /// Creates a person.
  public init(_ motion: Motion, attenuationDB: Double = 8) {
    self.motion = motion
    self.attenuationDB = attenuationDB
  }

  /// The motion of an object in the person's hand, in front of the chest.
  public var hand: Motion { .carried(by: motion, ahead: 0.3, height: 1.2) }

  /// Whether the straight line between two places passes the body, whose middle is at `middle`.
  func separates(_ a: Position, _ b: Position, middle: Position) -> Bool {
    let (dx, dy) = (b.x - a.x, b.y - a.y)
    let square = dx * dx + dy * dy
    guard square > 0 else { return false }
    // How far along the line it comes nearest to the middle; ends inside the body are not behind it.
    let share = ((middle.x - a.x) * dx + (middle.y - a.y) * dy) / square
    guard share > 0, share < 1 else { return false }
    let (px, py) = (a.x + share * dx - middle.x, a.y + share * dy - middle.y)
    let z = a.z + share * (b.z - a.z)
    return px * px + py * py < bodyRadius * bodyRadius && z - middle.z < height
  }
}

extension World {
  /// What people in between take from a signal, in dB.
  func lossByPeople(from a: Position, to b: Position) -> Double {
    walkers.reduce(0) { loss, walker in
      let middle = walker.motion.position(at: now)
      return walker.separates(a, b, middle: middle) ? loss + walker.attenuationDB : loss
    }
  }

  /// Adds a person.
  public func addWalker(_ walker: Walker) { walkers.append(walker) }
}
