import BluetoothHost
import JSONWire

extension FuzzTarget {
  /// Files that people or other programs may have changed.
  static let files: [FuzzTarget] = [bondFile, json]

  /// The bytes as a file, and as lines of one whose checksum is right.
  private static let bondFile = FuzzTarget(name: "BondFile") { bytes in
    for bytes in [bytes, BondFile.sealed(bytes)] {
      guard let file = try? BondFile(decoding: bytes) else { continue }
      let written = file.bytes
      guard let again = try? BondFile(decoding: written) else {
        preconditionFailure("what was read cannot be read again")
      }
      precondition(again.bonds == file.bonds, "bonds changed in writing")
      precondition(again.bytes == written, "the form of the file changed")
      precondition(file.bonds.count <= BondFile.bondCountMax, "too many bonds")
    }
  }

  /// Texts of JSON, as files and requests have them.
  private static let json = FuzzTarget(name: "JSON") { bytes in
    guard let value = try? JSON(parsing: bytes) else { return }
    var written: [UInt8] = []
    value.write(to: &written)
    precondition(!written.contains { $0 < 0x20 }, "a line break was written")
    guard let again = try? JSON(parsing: written) else {
      preconditionFailure("what was written cannot be read")
    }
    precondition(again == value, "the value changed in writing")
  }
}
