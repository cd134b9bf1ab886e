/// Something that takes any bytes and must neither trap nor hang.
package struct FuzzTarget: Sendable {
  /// What `Fuzz/run` and the folders below `Fuzz/crashes` and `Fuzz/seeds` call it.
  package let name: String
  /// Takes one input.
  package let run: @Sendable ([UInt8]) -> Void

  /// Every fuzzer there is.
  package static let all: [FuzzTarget] =
    wire + machines + beacons + floors + dns + bonjour + sharing + hub + rules + files + apps + xmpp
    + xmppSessions + blueZ
}
