import Essentials
import Glibc

/// The UDP sockets of this machine, of all programs (proc(5)).
enum PortTable {
  /// Whether more than `limit` sockets have a port, over both versions of IP; nil if that cannot be
  /// read.
  static func hasMoreSockets(_ port: UInt16, than limit: Int) -> Bool? {
    var (count, isKnown) = (0, false)
    for path in ["/proc/net/udp", "/proc/net/udp6"] {
      guard let more = socketCount(port, inFile: path, enough: limit + 1 - count) else { continue }
      isKnown = true
      count += more
      if count > limit { return true }
    }
    return isKnown ? false : nil
  }

  /// The second word of a line ends with a colon and the port in four hexadecimal digits; that of
  /// the heading does not.
  static func socketCount(_ port: UInt16, inTable bytes: some Collection<UInt8>) -> Int {
    let digits = String(port, radix: 16, uppercase: true)
    let end = Array((":" + String(repeating: "0", count: 4 - digits.utf8.count) + digits).utf8)
    return bytes.split(separator: UInt8(ascii: "\n")).count { line in
      line.split(separator: UInt8(ascii: " "), maxSplits: 2).dropFirst().first?.suffix(end.count)
        .elementsEqual(end) ?? false
    }
  }

  /// Stops reading once there are enough: other programs may have opened many.
  private static func socketCount(_ port: UInt16, inFile path: String, enough: Int) -> Int? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var socketCount = 0
    // The beginning of a line that continues in the next part.
    var begun: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 14)
    while socketCount < enough {
      let count = unsafe read(descriptor, &chunk, chunk.count)
      guard count >= 0 else { return nil }
      if count == 0 { break }
      begun += chunk.prefix(count)
      guard let end = begun.lastIndex(of: UInt8(ascii: "\n")) else { continue }
      socketCount += Self.socketCount(port, inTable: begun[..<end])
      begun.removeSubrange(...end)
    }
    return socketCount
  }
}
