/// Something that takes any bytes and must neither trap nor hang.
public struct FuzzTarget: Sendable {
  /// What `Fuzz/run` and the folders below `Fuzz/crashes` and `Fuzz/seeds` call it.
  public let name: String
  /// Takes one input.
  public let run: @Sendable ([UInt8]) -> Void

  /// Every fuzzer there is.
  public static let all: [FuzzTarget] =
    wire + machines + beacons + floors + dns + bonjour + sharing + hub + rules + files
}
