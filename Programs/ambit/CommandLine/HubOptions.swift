import BluetoothWire
import Foundation
import Glibc
import HubClient

// The hub that a command uses, and what a command can't ask of it.

extension GlobalOptions {
  /// The hub that is to be used where no radio is named; nil if there is none.
  private static var hubSetting: HubSetting? { .environment }

  /// Where the hub listens whose radio the command uses; nil for a radio of the command's own.
  ///
  /// - Throws: If the setting is invalid.
  func hubPath() throws -> String? { namesNoRadio ? try Self.namedHubPath() : nil }

  /// Where the hub listens that is to be used where no radio is named; nil if there is none.
  fileprivate static func namedHubPath() throws -> String? {
    switch hubSetting {
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

extension BondOptions {
  /// That the bonds of this user aren't those of the hub that commands use; nil if they may be.
  static func hubRemark() -> String? {
    let radio = ProcessInfo.processInfo.environment["AMBIT_RADIO"] ?? ""
    guard radio.isEmpty, let path = try? GlobalOptions.namedHubPath() else { return nil }
    return hubRemark(path)
  }

  /// - Parameters:
  ///   - path: Where the hub listens.
  ///   - own: The user whose bonds are meant.
  static func hubRemark(_ path: String, of own: UInt32 = geteuid()) -> String? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    guard let owner = attributes?[.ownerAccountID] as? NSNumber, owner.uint32Value != own else {
      return nil
    }
    return
      "the hub at \(path) is another user's, and so are its bonds; these are of your own radios"
  }
}
