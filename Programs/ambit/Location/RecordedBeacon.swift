import BeaconMachines
import BluetoothWire

/// What a trace calls a beacon: `UUID/MAJOR/MINOR@POWER`, or anything else that has no comma.
struct RecordedBeacon: Hashable, Sendable {
  /// As the trace has it.
  var name: String

  init(_ beacon: IBeacon) {
    name =
      "\(beacon.uuid.fullDescription)/\(beacon.major)/\(beacon.minor)@\(beacon.powerAtOneMetre)"
  }

  init(name: String) { self.name = name }

  /// The name without the power.
  var identity: Substring { name.prefix { $0 != "@" } }

  /// The measured power that it advertises, in dBm; nil if its name has none that can be.
  var power: Int8? {
    Int8(name.dropFirst(identity.count + 1)).flatMap { MeasuredStrength.power($0) }
  }

  /// What it is called among others.
  var shortName: String {
    iBeacon.map { "\($0.major)/\($0.minor)" } ?? String(identity)
  }

  /// Whether a user's text names it, with or without the power.
  func isMeant(by text: String) -> Bool {
    name == text || identity.lowercased() == text.lowercased()
  }

  /// The iBeacon that it names; nil if it names something else.
  var iBeacon: IBeacon? {
    let parts = identity.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].utf8.count == 36, let uuid = BluetoothUUID(String(parts[0])),
      let major = UInt16(parts[1]), let minor = UInt16(parts[2])
    else { return nil }
    let power = name.dropFirst(identity.count + 1)
    guard power.isEmpty || Int8(power) != nil else { return nil }
    return IBeacon(uuid: uuid, major: major, minor: minor, powerAtOneMetre: Int8(power) ?? -59)
  }
}
