import BluetoothMachines
import BluetoothWire
import Essentials
import Foundation
import StateFiles

/// Bonds for tests.
enum Bonds {
  /// One with all keys, of legacy pairing.
  static let legacy = Bond(
    identity: DeviceAddress(bits: 0xC012_3456_789A, kind: .random),
    centralKey: LongTermKey(key(1), encryptedDiversifier: 0x1234, random: 0x0102_0304_0506_0708),
    peripheralKey: LongTermKey(key(2), encryptedDiversifier: 0xFFFF, random: .max),
    identityResolvingKey: key(3), keyByteCount: 7, isAuthenticated: false,
    isSecureConnections: false)

  /// One of LE Secure Connections, with a public address.
  static let secure = Bond(
    identity: DeviceAddress(bits: 0x0012_3456_789A, kind: .public), centralKey: LongTermKey(key(4)),
    peripheralKey: LongTermKey(key(4)), isAuthenticated: true, isSecureConnections: true)

  /// The bond of one of many peers.
  static func numbered(_ number: Int) -> Bond {
    Bond(
      identity: DeviceAddress(bits: 0xC000_0000_0001 + UInt64(number), kind: .random),
      centralKey: LongTermKey(key(number)), peripheralKey: nil, identityResolvingKey: key(~number),
      isAuthenticated: true, isSecureConnections: true)
  }

  static func key(_ number: Int) -> SMPValue {
    let pattern: UInt128 = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3211
    return SMPValue(number: UInt128(truncatingIfNeeded: number) &* pattern)
  }

  /// The keys of a bond as the file spells them.
  static func secrets(_ bond: Bond) -> [String] {
    [bond.centralKey?.value, bond.peripheralKey?.value, bond.identityResolvingKey]
      .compactMap { $0.map { Hexadecimal.string($0.bytes) } }
  }
}

extension StateWriter.Times {
  /// The usual times, but for an end that leaves a busy disk all the time it needs.
  static var ample: Self {
    var times = Self()
    times.end = .seconds(50)
    return times
  }
}

/// A folder for the files of one test, which goes with it.
final class BondTestFolder: Sendable {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "ambit-bonds-\(UUID())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The names of the folder's files.
  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
  }

  /// Writes a file that only its owner may use.
  func write(_ bytes: [UInt8], _ name: String = "bonds", permissions: Int = 0o600) throws {
    let file = path + "/" + name
    try Data(bytes).write(to: URL(filePath: file))
    try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file)
  }

  func read(_ name: String = "bonds") throws -> [UInt8] {
    try Array(Data(contentsOf: URL(filePath: path + "/" + name)))
  }

  func permissions(_ name: String = "bonds") throws -> Int? {
    let attributes = try FileManager.default.attributesOfItem(atPath: path + "/" + name)
    return (attributes[.posixPermissions] as? NSNumber)?.intValue
  }
}
