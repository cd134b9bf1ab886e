#if BindingServer
  internal import Essentials
  internal import Foundation
  internal import StateFiles

  /// What a server keeps of its access control between runs: the key that signs cookies, in a file that
  /// only this user may read.
  struct AccessFile {
    private static let form = ChecksummedText(
      name: "ambit page access", version: 1, byteCountMax: 64 * 1_024)
    static let keyByteCount = 32

    private let file: StateFile

    init(path: String) {
      file = StateFile(path: path, byteCountMax: Self.form.byteCountMax)
    }

    /// The key in the file. The first server that asks creates it, under the file's lock, so that
    /// servers that start together have the same key.
    /// - Returns: The key, and the path to which a damaged file was moved, whose cookies hold no more.
    func key() throws(StateFileError) -> (bytes: [UInt8], damagedPath: String?) {
      do throws(StateFileError) {
        if let key = try file.read(Self.key(decoding:)) { return (key, nil) }
      } catch {
        // A damaged one is kept aside and replaced.
        guard error.kind == .damaged else { throw error }
      }
      var key: [UInt8] = []
      let change = try file.change(replacingDamaged: true, Self.key(decoding:)) { found in
        if let found {
          key = found
          return nil
        }
        key = Self.makeKey()
        return Self.form.file(of: Array("key \(Hexadecimal.string(key))\n".utf8))
      }
      return (key, change.damagedPath)
    }

    private static func makeKey() -> [UInt8] {
      var random = SystemRandomNumberGenerator()
      return (0..<keyByteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    private static func key(decoding bytes: [UInt8]) throws(StateFormError) -> [UInt8] {
      let lines = try form.lines(of: bytes)
      let prefix = Array("key ".utf8)
      guard let line = lines.first(where: { $0.starts(with: prefix) }),
        let key = Hexadecimal.bytes(String(decoding: line.dropFirst(prefix.count), as: UTF8.self)),
        key.count == keyByteCount
      else { throw .damaged("it has no key") }
      return key
    }
  }
#endif
