package import Foundation

/// A condition of a monitor, and the last thing that happened to it, as Core Location writes them.
package struct KeptCondition: Codable, Hashable, Sendable {
  /// The identity of beacons.
  package struct Beacons: Codable, Hashable, Sendable {
    package var uuid: UUID
    /// Nil for all.
    package var major, minor: UInt16?

    package init(uuid: UUID, major: UInt16?, minor: UInt16?) {
      self.uuid = uuid
      self.major = major
      self.minor = minor
    }

    fileprivate var isValid: Bool { major != nil || minor == nil }
  }

  /// A circle on the globe, which is remembered and not monitored.
  package struct Circle: Codable, Hashable, Sendable {
    package var latitude, longitude, radius: Double

    package init(latitude: Double, longitude: Double, radius: Double) {
      self.latitude = latitude
      self.longitude = longitude
      self.radius = radius
    }
  }

  /// The largest raw value of `CLMonitor.Event.State`.
  static let stateMax: UInt = 3

  package var monitor: String
  package var identifier: String
  package var beacons: Beacons?
  package var circle: Circle?
  /// The raw value of a `CLMonitor.Event.State`.
  package var state: UInt
  /// Seconds since the reference date.
  package var date: Double
  package var refinement: Beacons?
  /// Why it isn't monitored: the names of the event's flags.
  package var reasons: [String]
  /// Whether the last event hasn't been delivered yet.
  package var isPending: Bool
  /// The number by which the system of an app knows it; nil where no system does.
  package var number: String?

  /// A condition without beacons and circle, of which one has to be set.
  package init(
    of monitor: String, identifier: String, state: UInt, date: Double, reasons: [String],
    isPending: Bool
  ) {
    self.monitor = monitor
    self.identifier = identifier
    self.state = state
    self.date = date
    self.reasons = reasons
    self.isPending = isPending
  }

  /// Whether Core Location can go on with it.
  var isValid: Bool {
    state <= Self.stateMax && (beacons != nil) != (circle != nil) && date.isFinite
      && beacons?.isValid ?? true && refinement?.isValid ?? true
  }
}
