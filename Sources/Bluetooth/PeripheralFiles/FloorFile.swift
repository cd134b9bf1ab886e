public import BluetoothWire
public import Essentials

/// A floor as a JSON file describes it: receivers and rooms, for who wants to know where a beacon is, and
/// walls, beacons and people, for a simulated radio. All lengths are in metres, whatever the file has.
public struct FloorFile: Hashable, Sendable {
  /// How much a file may describe.
  public enum Limits {
    /// A file is not larger: 1 MB.
    public static let byteCount = 1 << 20
    /// Receivers of a floor.
    public static let receiverCount = 100
    /// Rooms of a floor.
    public static let roomCount = 1_000
    /// Corners of a room.
    public static let cornerCount = 1_000
    /// Walls; every one is looked at for every pair of places.
    public static let wallCount = 1_000
    /// Beacons.
    public static let beaconCount = 10_000
    /// People; every one is looked at for every packet.
    public static let walkerCount = 100
    /// Places on somebody's way.
    public static let stopCount = 1_000
    /// No floor is larger: a kilometre in either direction.
    public static let metres = 1_000.0
  }

  /// A place on the floor.
  public struct Point: Hashable, Sendable {
    /// Along the floor's first axis.
    public var x: Double
    /// Along the floor's second axis.
    public var y: Double
    /// Above the floor.
    public var z = 0.0
  }

  /// Something with an antenna whose place is known.
  public struct Receiver: Hashable, Sendable {
    /// What maps, traces and people call it.
    public var id: String
    /// Where its antenna is.
    public var place: Point
    /// In dB, how much louder than others it hears; in the simulated radio only.
    public var gain = 0.0
  }

  /// A polygon with a name.
  public struct Room: Hashable, Sendable {
    /// What it is called.
    public var name: String
    /// Its corners, at least three.
    public var corners: [Point]
  }

  /// What weakens signals that pass it.
  public struct Wall: Hashable, Sendable {
    /// One end.
    public var from: Point
    /// The other.
    public var to: Point
    /// In dB.
    public var attenuation: Double
  }

  /// An iBeacon.
  public struct Beacon: Hashable, Sendable {
    /// Where a beacon is.
    public enum Place: Hashable, Sendable {
      /// It hangs there.
      case at(Point)
      /// Somebody carries it: an index of `walkers`.
      case carried(by: Int)
    }

    /// Its identity, and the strength at one metre that it sends with and says.
    public var advertisement: IBeacon
    /// Time between two advertisements.
    public var interval: TimeSpan
    /// In dB, how much stronger it sends than it says.
    public var error: Double
    /// Where it is.
    public var place: Place
  }

  /// Somebody who walks, and whose body weakens signals.
  public struct Walker: Hashable, Sendable {
    /// Where somebody goes, and how long he or she stays there.
    public struct Stop: Hashable, Sendable {
      /// Where.
      public var place: Point
      /// How long.
      public var stay: TimeSpan
    }

    /// What people call him or her.
    public var name: String
    /// The way, at least one stop.
    public var path: [Stop]
    /// In metres a second.
    public var speed: Double
    /// Whether the way begins anew after its end; the first stop is walked back to.
    public var repeats: Bool
    /// In dB, what the body takes from a signal.
    public var attenuation: Double
    /// Whether a host that joins is in his or her hand.
    public var hasPhone: Bool
  }

  /// In metres, the height at which beacons are carried, for who estimates places.
  public var beaconHeight = 1.75
  /// Where receivers are, at most one of each name.
  public var receivers: [Receiver] = []
  /// The rooms; where they overlap, a point belongs to the first.
  public var rooms: [Room] = []
  /// The walls.
  public var walls: [Wall] = []
  /// The beacons.
  public var beacons: [Beacon] = []
  /// The people.
  public var walkers: [Walker] = []
}

/// What a file can add to a simulated radio.
public enum SimulationFile: Hashable, Sendable {
  /// A device.
  case device(PeripheralFile)
  /// A floor with what is on it.
  case floor(FloorFile)

  /// Reads a file: UTF-8 JSON. A floor has the key `units`, which a device has not.
  /// - Throws: `PeripheralFileError`, which says where the mistake is and what was expected.
  public init(_ text: [UInt8]) throws(PeripheralFileError) {
    // What isn't JSON is told as a device's mistake.
    if let field = try? JSONField(parsing: text), field.hasMember("units") {
      self = .floor(try FloorFile(text))
    } else {
      self = .device(try PeripheralFile(text))
    }
  }
}
