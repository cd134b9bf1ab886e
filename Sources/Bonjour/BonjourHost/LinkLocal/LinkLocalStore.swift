import ARPWire
import Essentials
import Glibc

/// What addresses interfaces had, in files named by their hardware addresses (RFC 3927, §2.1).
struct LinkLocalStore {
  let folder: String

  /// The address that an interface had last; nil if that is not known.
  func address(of hardware: MACAddress) -> Inet4Address? {
    let descriptor = open(path(of: hardware), O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: 32)
    let count = unsafe buffer.withUnsafeMutableBytes {
      unsafe read(descriptor, $0.baseAddress, $0.count)
    }
    let line = buffer.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }
    return Inet4Address(text: String(decoding: line, as: UTF8.self))
  }

  /// Stores an address; false where that failed. A concurrent reader sees the old one or the new one.
  func store(_ address: Inet4Address, of hardware: MACAddress) -> Bool {
    mkdir(folder, 0o755)
    let temporary = path(of: hardware) + ".new"
    let descriptor = open(
      temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
    guard descriptor >= 0 else { return false }
    let text = Array("\(address)\n".utf8)
    let count = unsafe text.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
    if count == text.count, rename(temporary, path(of: hardware)) == 0 { return true }
    unlink(temporary)
    return false
  }

  private func path(of hardware: MACAddress) -> String { "\(folder)/\(hardware)" }
}
