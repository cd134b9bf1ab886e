import BluetoothWire
import Foundation
import Glibc
import HubClient

// The choice of a hub for a command, and the requests that a hub can't fulfil.

extension GlobalOptions {
  /// The setting of the hub that is used if no radio is named; nil if nothing is set.
  private static var hubSetting: HubSetting? { .environment }

  /// The path of the hub whose radio the command uses; nil for a radio of the command's own.
  ///
  /// - Throws: If the setting is invalid.
  func hubPath() throws -> String? { namesNoRadio ? try Self.namedHubPath() : nil }

  /// The path of the hub that is used if no radio is named; nil if there is no such hub.
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

  /// Fails if the command has an option that only a radio of its own can fulfil. The hub's radio has one
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

  /// A remark about the properties of the command's that connected devices don't see, but the hub's; nil
  /// without such properties.
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
  /// A remark that the hub of other commands has the bonds of another user; nil if it has this user's.
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
