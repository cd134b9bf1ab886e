/// The last lines that an app has written.
struct AppOutput: Sendable {
  static let lineCountMax = 1_000
  static let lineByteCountMax = 4_096
  private static let byteCountMax = 1 << 18

  private(set) var lines: [String] = []
  private var byteCount = 0
  private var rest: [UInt8] = []

  /// Returns the lines that are complete. A line that is too long is divided.
  mutating func append(_ bytes: [UInt8]) -> [String] {
    var new: [String] = []
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        new.append(takeRest())
      } else {
        rest.append(byte)
        if rest.count == Self.lineByteCountMax { new.append(takeRest()) }
      }
    }
    keep(new)
    return new
  }

  /// The process has ended: a line without its end is complete.
  mutating func end() -> [String] {
    guard !rest.isEmpty else { return [] }
    let line = takeRest()
    keep([line])
    return [line]
  }

  private mutating func takeRest() -> String {
    defer { rest = [] }
    return String(decoding: rest, as: UTF8.self)
  }

  private mutating func keep(_ new: [String]) {
    lines += new
    byteCount += new.reduce(0) { $0 + $1.utf8.count }
    var dropped = max(0, lines.count - Self.lineCountMax)
    var kept = byteCount - lines.prefix(dropped).reduce(0) { $0 + $1.utf8.count }
    while dropped < lines.count, kept > Self.byteCountMax {
      kept -= lines[dropped].utf8.count
      dropped += 1
    }
    lines.removeFirst(dropped)
    byteCount = kept
  }
}
