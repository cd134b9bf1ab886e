import Foundation

/// The settings of the app, a name and a value in each line of a file in its folder.
struct Settings {
  /// The account of the gate, and its password.
  var address: String
  var password: String
  /// The account that gets the messages, and may request a picture.
  var owner: String
  /// The beacons that are reported.
  var beacon: UUID
  /// The picture that a camera writes, in the app's folder.
  var picture: String
  /// A server to be used instead of those that the domain names: a host and a port.
  var server: (host: String, port: UInt16)?
  /// Authorities that are trusted besides the system's.
  var authority: String?

  /// Nil if the text lacks a setting.
  init?(_ text: String) {
    var values: [Substring: String] = [:]
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 1)
      if words.count == 2 { values[words[0]] = String(words[1]) }
    }
    guard let address = values["address"], let password = values["password"],
      let owner = values["owner"], let beacon = values["beacon"].flatMap({ UUID(uuidString: $0) })
    else { return nil }
    self.address = address
    self.password = password
    self.owner = owner
    self.beacon = beacon
    picture = values["picture"] ?? "gate.png"
    authority = values["authority"]
    let parts = values["server"]?.split(separator: ":") ?? []
    if parts.count == 2, let port = UInt16(parts[1]) { server = (String(parts[0]), port) }
  }
}
