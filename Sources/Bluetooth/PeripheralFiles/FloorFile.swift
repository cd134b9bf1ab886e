public import BluetoothWire
public import Essentials
import JSONWire

/// A floor as a JSON file describes it: receivers and rooms, to locate beacons, and walls, beacons
/// and people, for a simulated radio. All lengths are in metres, whichever unit the file uses.
public struct FloorFile: Hashable, Sendable {
  /// Limits of a file's contents.
  public enum Limits {
    /// The maximum size of a file: 1 MB.
    public static let byteCount = 1 << 20
    /// The maximum number of receivers.
    public static let receiverCount = 100
    /// The maximum number of rooms.
    public static let roomCount = 1_000
    /// The maximum number of corners of a room.
    public static let cornerCount = 1_000
    /// The maximum number of walls. Each is checked for every pair of positions.
    public static let wallCount = 1_000
    /// The maximum number of beacons.
    public static let beaconCount = 10_000
    /// The maximum number of people. Each is checked for every packet.
    public static let walkerCount = 100
    /// The maximum number of stops on a person's path.
    public static let stopCount = 1_000
    /// The maximum extent of a floor in either direction: a kilometre.
    public static let metres = 1_000.0
  }

  /// A position on the floor.
  public struct Point: Hashable, Sendable {
    /// The coordinate along the floor's first axis.
    public var x: Double
    /// The coordinate along the floor's second axis.
    public var y: Double
    /// The height above the floor.
    public var z = 0.0
  }

  /// A receiver at a fixed position.
  public struct Receiver: Hashable, Sendable {
    /// The receiver's name in maps and traces.
    public var id: String
    /// The position of its antenna.
    public var place: Point
    /// The antenna gain relative to other receivers, in dB; in the simulated radio only.
    public var gain = 0.0
  }

  /// A polygon with a name.
  public struct Room: Hashable, Sendable {
    /// The name of the room.
    public var name: String
    /// The corners, at least three.
    public var corners: [Point]
  }

  /// A wall, which weakens signals.
  public struct Wall: Hashable, Sendable {
    /// One end.
    public var from: Point
    /// The other end.
    public var to: Point
    /// The attenuation in dB.
    public var attenuation: Double
  }

  /// An iBeacon.
  public struct Beacon: Hashable, Sendable {
    /// The position of a beacon.
    public enum Place: Hashable, Sendable {
      /// The beacon is at a fixed position.
      case at(Point)
      /// A person carries the beacon: an index of `walkers`.
      case carried(by: Int)
    }

    /// Its UUID, major, minor and advertised power at one metre.
    public var advertisement: IBeacon
    /// Time between two advertisements.
    public var interval: TimeSpan
    /// The transmit power relative to the advertised power, in dB.
    public var error: Double
    /// The position of the beacon.
    public var place: Place
  }

  /// A person that walks and whose body weakens signals.
  public struct Walker: Hashable, Sendable {
    /// A stop on a person's path.
    public struct Stop: Hashable, Sendable {
      /// The position of the stop.
      public var place: Point
      /// The duration of the stop.
      public var stay: TimeSpan
    }

    /// The person's name.
    public var name: String
    /// The stops, at least one.
    public var path: [Stop]
    /// The walking speed in metres per second.
    public var speed: Double
    /// Whether the person walks back to the first stop after the last one, and starts again.
    public var repeats: Bool
    /// The attenuation of a signal by the body, in dB.
    public var attenuation: Double
    /// Whether the person holds a phone, on which a host can run.
    public var hasPhone: Bool
  }

  /// The height at which beacons are carried, in metres; used to estimate positions.
  public var beaconHeight = 1.75
  /// The receivers, with distinct names.
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

/// The content of a file for the simulated radio.
public enum SimulationFile: Hashable, Sendable {
  /// A device.
  case device(PeripheralFile)
  /// A floor with its receivers, walls, beacons and people.
  case floor(FloorFile)

  /// Parses a file from UTF-8 JSON. A floor has the key `units`, a device doesn't.
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
