import Essentials

/// Beacons whose presence the system monitors for an app, also while the app doesn't run.
package struct AppRegion: Hashable, Codable, Sendable {
  /// A region's name. Location managers and monitors of an app have names of their own.
  package struct Name: Hashable, Codable, Sendable {
    package enum Owner: UInt8, Hashable, Codable, Sendable {
      /// The location managers of the app.
      case managers
      /// A `CLMonitor`: the name is the number of a condition.
      case monitor
    }

    package var owner: Owner
    package var identifier: String

    package init(_ owner: Owner, _ identifier: String) {
      self.owner = owner
      self.identifier = identifier
    }
  }

  package enum State: UInt8, Hashable, Codable, Sendable {
    case unknown, inside, outside
  }

  package var name: Name
  /// The beacons' UUID, as two numbers.
  package var uuidHigh, uuidLow: UInt64
  /// Nil for all. A minor number goes with a major one.
  package var major, minor: UInt16?
  package var notifiesOnEntry = true
  package var notifiesOnExit = true
  /// `notifyEntryStateOnDisplay`.
  package var notifiesStateOnDisplay = false

  package init(
    _ name: Name, uuidHigh: UInt64, uuidLow: UInt64, major: UInt16? = nil, minor: UInt16? = nil
  ) {
    self.name = name
    self.uuidHigh = uuidHigh
    self.uuidLow = uuidLow
    self.major = major
    self.minor = minor
  }
}

/// What a process requests of the system about its app's regions.
package enum AppRegionRequest: Hashable, Codable, Sendable {
  /// The reply is `monitored`.
  case read
  /// Monitors a region, in place of one with the same name; the reply is `done` or `refused`.
  case start(AppRegion, assuming: AppRegion.State)
  case stop(AppRegion.Name)
  /// The reply is `state`.
  case state(AppRegion.Name)
  /// Keeps the contents of the app's monitors for its next process; the reply is `done` or `refused`.
  case keep([UInt8])
}

package enum AppRegionReply: Hashable, Codable, Sendable {
  case done
  /// The regions of the location managers, and what was kept last.
  case monitored([AppRegion], kept: [UInt8])
  case state(AppRegion.State)
  case refused(AppRegionRefusal)
}

package enum AppRegionRefusal: Error, Hashable, Codable, Sendable {
  /// The app isn't installed.
  case unavailable
  /// The maximum number of regions of one owner.
  case tooManyRegions(max: Int)
  /// In bytes of UTF-8.
  case identifierTooLong(max: Int)
  /// In bytes.
  case tooLongToKeep(max: Int)
}

/// The contents of an event of the receiver `location`.
package struct AppRegionEvent: Hashable, Sendable {
  package enum Change: UInt8, Hashable, Sendable {
    case entered, exited
    /// The state was determined.
    case unknown, inside, outside
  }

  package var name: AppRegion.Name
  package var change: Change
  /// A number of the region, which a later one with its name doesn't have.
  package var serial: UInt64
  /// The beacon that was heard, where there was one.
  package var major, minor: UInt16?

  package init(_ name: AppRegion.Name, _ change: Change, serial: UInt64) {
    self.name = name
    self.change = change
    self.serial = serial
  }

  /// The payload of the event: integers are little-endian.
  package var payload: [UInt8] {
    var writer = ByteWriter()
    writer.uint8(name.owner.rawValue)
    writer.uint8(change.rawValue)
    writer.uint64(serial)
    writer.uint8(major == nil || minor == nil ? 0 : 1)
    writer.uint16(major ?? 0)
    writer.uint16(minor ?? 0)
    writer.append(name.identifier.utf8)
    return writer.bytes
  }

  /// Nil for bytes that are no such payload.
  package init?(_ payload: [UInt8]) {
    var reader = ByteReader(payload)
    guard let owner = (try? reader.uint8()).flatMap(AppRegion.Name.Owner.init),
      let change = (try? reader.uint8()).flatMap(Change.init),
      let serial = try? reader.uint64(), let hasBeacon = try? reader.uint8(), hasBeacon <= 1,
      let major = try? reader.uint16(), let minor = try? reader.uint16(),
      let identifier = String(validating: reader.rest(), as: UTF8.self)
    else { return nil }
    name = AppRegion.Name(owner, identifier)
    self.change = change
    self.serial = serial
    if hasBeacon == 1 { (self.major, self.minor) = (major, minor) }
  }
}
