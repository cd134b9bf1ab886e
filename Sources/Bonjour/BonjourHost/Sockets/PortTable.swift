import Essentials
import Glibc

/// What sockets of UDP this machine has, of whatever program (proc(5)).
enum PortTable {
  /// How many sockets have a port, over both versions of IP; nil where that cannot be seen.
  static func socketCount(_ port: UInt16) -> Int? {
    let counts = ["/proc/net/udp", "/proc/net/udp6"].compactMap { path in
      contents(path).map { socketCount(port, inTable: $0) }
    }
    return counts.isEmpty ? nil : counts.reduce(0, +)
  }

  /// The second word of a line ends with a colon and the port in four hexadecimal digits; that of the
  /// heading does not.
  static func socketCount(_ port: UInt16, inTable bytes: [UInt8]) -> Int {
    let digits = String(port, radix: 16, uppercase: true)
    let end = Array((":" + String(repeating: "0", count: 4 - digits.utf8.count) + digits).utf8)
    return bytes.split(separator: UInt8(ascii: "\n")).count { line in
      line.split(separator: UInt8(ascii: " "), maxSplits: 2).dropFirst().first?.suffix(end.count)
        .elementsEqual(end) ?? false
    }
  }

  private static func contents(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var all: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 14)
    while true {
      let count = unsafe read(descriptor, &chunk, chunk.count)
      guard count >= 0 else { return nil }
      if count == 0 { return all }
      all += chunk.prefix(count)
    }
  }
}
