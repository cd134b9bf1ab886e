import BluetoothWire
import Essentials

/// A user's name for a device: its identifier, the start of it or of its last group, its Bluetooth
/// address, its name, the start of it or of a word in it.
package struct DeviceName: Hashable, Sendable {
  let text: String

  package init(text: String) { self.text = text }

  /// How well a device fits; the best fit wins.
  enum Fit: Int, Comparable, Sendable {
    case word
    case start
    case name
    case whole

    static func < (a: Fit, b: Fit) -> Bool { a.rawValue < b.rawValue }
  }

  /// How well this device fits; nil if it doesn't.
  func fit(identifier: String, address: DeviceAddress?, name: String?) -> Fit? {
    let wanted = text.uppercased()
    guard !wanted.isEmpty else { return nil }
    if identifier.uppercased() == wanted { return .whole }
    if let address, DeviceAddress(text, kind: address.kind) == address { return .whole }
    if let name, name.uppercased() == wanted { return .name }
    let lastGroup = identifier.split(separator: "-").last.map(String.init) ?? ""
    let digits = wanted.replacing(":", with: "")
    if identifier.uppercased().hasPrefix(wanted) || lastGroup.uppercased().hasPrefix(digits) {
      return .start
    }
    guard let name = name?.uppercased() else { return nil }
    if name.hasPrefix(wanted) { return .start }
    return Self.words(of: name).contains { $0.hasPrefix(wanted) } ? .word : nil
  }

  /// The rest of a name from each of its words on: `Desk-lamp 2` has `lamp 2` and `2`.
  private static func words(of name: String) -> [Substring] {
    zip(name.indices, name.indices.dropFirst()).compactMap { before, start in
      let isStart = !isPartOfWord(name[before]) && isPartOfWord(name[start])
      return isStart ? name[start...] : nil
    }
  }

  private static func isPartOfWord(_ character: Character) -> Bool {
    character.isLetter || character.isNumber
  }

  func fit(_ sighting: Sighting) -> Fit? {
    fit(identifier: sighting.identifier, address: sighting.address, name: sighting.name)
  }

  /// The one that is meant; nil if none fits.
  /// - Throws: `CommandFailure` if several fit equally well.
  func pick(from sightings: [Sighting]) throws -> Sighting? {
    let fitting = sightings.compactMap { sighting in fit(sighting).map { ($0, sighting) } }
    guard let best = fitting.map(\.0).max() else { return nil }
    let candidates = fitting.filter { $0.0 == best }.map(\.1)
    guard candidates.count > 1 else { return candidates.first }
    let list = candidates.prefix(4).map { "\($0.shortID) (\($0.name ?? "no name"))" }
    let more = candidates.count > 4 ? " and \(candidates.count - 4) more" : ""
    throw CommandFailure(
      .notFound,
      "\"\(text)\" fits \(candidates.count) devices: \(list.joined(separator: ", "))\(more)")
  }
}

/// A user's name for a characteristic: `2A37`, `heart rate measurement`, a 128-bit UUID, or any of
/// these after a service and a slash: `180D/2A37`.
struct CharacteristicName: Hashable, Sendable {
  let text: String
  let service: BluetoothUUID?
  let characteristic: BluetoothUUID

  /// - Throws: `CommandFailure` if the text names nothing.
  init(_ text: String) throws {
    self.text = text
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard (1...2).contains(parts.count), let last = parts.last else {
      throw CommandFailure(
        .usage, "\"\(text)\" is not CHARACTERISTIC or SERVICE/CHARACTERISTIC")
    }
    service = parts.count == 2 ? try Self.service(parts[0]) : nil
    guard
      let uuid = BluetoothUUID(last) ?? AssignedNumbers.characteristic(named: last)
    else {
      throw CommandFailure(
        .usage,
        "\"\(last)\" is neither a UUID like 2A37 nor the name of a standard characteristic")
    }
    characteristic = uuid
  }

  /// The service that a text names.
  static func service(_ text: String) throws -> BluetoothUUID {
    if let uuid = BluetoothUUID(text) ?? AssignedNumbers.service(named: text) { return uuid }
    throw CommandFailure(
      .usage, "\"\(text)\" is neither a UUID like 180D nor the name of a standard service")
  }
}
