package import BluetoothWire
import Essentials
import JSONWire

/// A characteristic's or descriptor's value in all the ways that help to read it.
package struct ValueText: Hashable, Sendable {
  let hex: String
  /// The bytes as text, where they are printable and have no other meaning: 87 % is no "W".
  package let text: String?
  /// The value decoded by the standard's format.
  package let decoded: String?

  package init(_ bytes: [UInt8], characteristic: BluetoothUUID) {
    self.init(bytes, decoded: StandardValue.text(bytes[...], of: characteristic))
  }

  package init(_ bytes: [UInt8], descriptor: BluetoothUUID) {
    self.init(bytes, decoded: StandardValue.text(bytes[...], ofDescriptor: descriptor))
  }

  private init(_ bytes: [UInt8], decoded: String?) {
    hex = Hexadecimal.string(bytes)
    let text = StandardValue.printable(bytes[...])
    self.text = decoded == nil || decoded == text ? text : nil
    self.decoded = decoded
  }

  /// `87%  57`, or text in quotes and the bytes; `byteCountMax` limits the shown text and bytes.
  func line(_ style: Style, byteCountMax: Int = .max) -> String {
    var parts: [String] = []
    if let decoded { parts.append(style.bold(Fit.truncated(decoded, byteCountMax))) }
    if let text, text != decoded { parts.append("\"\(Fit.truncated(text, byteCountMax))\"") }
    let byteCount = hex.utf8.count / 2
    let shown =
      byteCount <= byteCountMax ? hex : hex.prefix(byteCountMax * 2) + "… (\(byteCount) bytes)"
    parts.append(style.dim(hex.isEmpty ? "(empty)" : shown))
    return parts.joined(separator: "  ")
  }

  /// The members that every object with a value has.
  var members: [JSON.Member] {
    var members = [JSON.Member(key: "hex", value: .string(hex))]
    if let text { members.append(JSON.Member(key: "text", value: .string(text))) }
    if let decoded { members.append(JSON.Member(key: "decoded", value: .string(decoded))) }
    return members
  }
}
