import ArgumentParser
import BeaconMachines
import BluetoothWire

/// Beacons as people name them: `UUID`, `UUID/MAJOR` or `UUID/MAJOR/MINOR`.
struct BeaconRegionArgument: Hashable, Sendable, ExpressibleByArgument {
  /// The argument.
  var text: String
  var constraint: BeaconConstraint

  init?(argument: String) {
    let parts = argument.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard let first = parts.first, first.utf8.count == 36, let uuid = BluetoothUUID(first) else {
      return nil
    }
    let numbers = parts.dropFirst().map { UInt16($0) }
    switch (numbers.count, numbers.first ?? nil, numbers.last ?? nil) {
    case (0, _, _): constraint = BeaconConstraint(uuid: uuid)
    case (1, let major?, _): constraint = BeaconConstraint(uuid: uuid, major: major)
    case (2, let major?, let minor?):
      constraint = BeaconConstraint(uuid: uuid, major: major, minor: minor)
    default: return nil
    }
    text = argument
  }
}
