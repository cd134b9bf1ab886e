import BluetoothWire
import Foundation
import Glibc
import HubClient
import HubPlaces

// The choice of a hub for a command, and the requests that a hub can't fulfil.

extension GlobalOptions {
  /// The path of the hub whose radio the command uses, unless an option names a radio; nil for a radio of the
  /// command's own.
  ///
  /// - Throws: If the setting is invalid.
  func hubPath() throws -> String? { radio == nil ? try Self.chosenHubPath() : nil }

  /// The path of the hub that is used if no option names a radio; nil if there is no such hub.
  static func chosenHubPath() throws -> String? {
    let choice = HubChoice.current
    if case .invalid(let reason) = choice {
      throw CommandFailure(.usage, reason.trimmingSuffix("."))
    }
    return choice.path
  }

  /// Why the command does not use a hub, in a few words.
  var reasonForNoHub: String {
    guard radio != nil else { return HubChoice.current.reason.trimmingSuffix(".") }
    guard case .path(let path) = HubSetting.environment else { return "--radio names a radio" }
    return "the one at \(path) is not used because a radio is named"
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
