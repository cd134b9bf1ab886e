import BluetoothWire
import Foundation
import HubClient

// The hub that a command uses, and what a command can't ask of it.

extension GlobalOptions {
  /// The hub that is to be used where no radio is named; nil if there is none.
  private static var hubSetting: HubSetting? { .environment }

  /// Where the hub listens whose radio the command uses; nil for a radio of the command's own.
  ///
  /// - Throws: If the setting is invalid.
  func hubPath() throws -> String? {
    guard namesNoRadio else { return nil }
    switch Self.hubSetting {
    case .path(let path): return path
    case .off, nil: return nil
    case .invalid(let reason): throw CommandFailure(.usage, reason.trimmingSuffix("."))
    }
  }

  /// The hub that is named and not used, because a radio is named, too.
  var unusedHub: String? {
    guard !namesNoRadio, case .path(let path) = Self.hubSetting else { return nil }
    return path
  }

  /// Fails if something is asked for that only a radio of the command's own can do. The hub's radio has one
  /// address, one policy for pairings and one file of bonds for all programs, and no program sees the traffic of
  /// the others.
  func checkHub(isCaptured: Bool) throws {
    if isCaptured { throw CommandFailure.needsOwnRadio("a capture") }
    if address != nil { throw CommandFailure.needsOwnRadio("--address") }
    if pair != nil { throw CommandFailure.needsOwnRadio("--pair") }
    let variables = ["AMBIT_CAPTURE", "AMBIT_ADDRESS", "AMBIT_PAIRING", "AMBIT_BONDS"]
    let environment = ProcessInfo.processInfo.environment
    for name in variables where !(environment[name] ?? "").isEmpty {
      throw CommandFailure.needsOwnRadio(name)
    }
  }

  /// What connected devices see of the hub in place of what the command names; nil if it names nothing.
  static func hubRemark(
    _ name: String?, _ appearance: UInt16, _ address: DeviceAddress?
  ) -> String? {
    let things = [
      name == nil ? nil : "name", appearance == 0 ? nil : "appearance",
      address == nil ? nil : "address",
    ].compactMap(\.self)
    guard !things.isEmpty else { return nil }
    let list = things.joined(separator: " and ")
    return "devices that connect see the \(list) of the hub instead"
  }
}
