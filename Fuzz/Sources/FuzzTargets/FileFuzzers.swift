import BluetoothHost

extension FuzzTarget {
  /// Files that people or other programs may have changed.
  static let files: [FuzzTarget] = [bondFile]

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
}
