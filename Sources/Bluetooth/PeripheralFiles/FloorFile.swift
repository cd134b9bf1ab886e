public import BluetoothWire
public import Essentials

/// A floor as a JSON file describes it: receivers and rooms, to locate beacons, and walls, beacons
/// and people, for a simulated radio. All lengths are in metres, whichever unit the file uses.
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
    /// Stops on a person's path.
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
      /// A person carries it: an index of `walkers`.
      case carried(by: Int)
    }

    /// Its UUID, major, minor and advertised power at one metre.
    public var advertisement: IBeacon
    /// Time between two advertisements.
    public var interval: TimeSpan
    /// How much stronger it sends than the advertised power, in dB.
    public var error: Double
    /// Where it is.
    public var place: Place
  }

  /// A person that walks and whose body weakens signals.
  public struct Walker: Hashable, Sendable {
    /// A place on a person's path, and how long he or she stays there.
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

  /// The height at which beacons are carried, in metres; used to estimate positions.
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
  /// A floor with its receivers, walls, beacons and people.
  case floor(FloorFile)

  /// Reads a file: UTF-8 JSON. A floor has the key `units`, a device doesn't.
  /// - Throws: `PeripheralFileError` with the position of the mistake and the expected value.
  public init(_ text: [UInt8]) throws(PeripheralFileError) {
    // Text that isn't JSON fails as a device.
    if let field = try? JSONField(parsing: text), field.hasMember("units") {
      self = .floor(try FloorFile(text))
    } else {
      self = .device(try PeripheralFile(text))
    }
  }
}
