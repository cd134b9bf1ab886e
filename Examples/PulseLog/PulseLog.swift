import Foundation

/// A file with a row for sixty values, which are about a minute: the time, how many, their mean, minimum and maximum. A
/// row is one write for sixty wakes.
struct PulseLog {
  private static let rowCount = 60
  /// Rows that are kept while the file can't be written.
  private static let waitingMax = 1_440

  private let path: String
  private var values: [Int] = []
  private var waiting: [String] = []
  private var usage = Usage.now

  init(path: String) { self.path = path }

  mutating func add(_ beatsPerMinute: Int) {
    values.append(beatsPerMinute)
    guard values.count == Self.rowCount, let minimum = values.min(), let maximum = values.max()
    else { return }
    let mean = values.reduce(0, +) / values.count
    values = []
    let row = "\(Date().ISO8601Format()),\(Self.rowCount),\(mean),\(minimum),\(maximum)\n"
    if waiting.count == Self.waitingMax {
      print("lost a row: \(waiting.removeFirst())")
    }
    waiting.append(row)
    write()
    let now = Usage.now
    let seconds = now.secondsPerHour(since: usage).formatted(
      .number.precision(.fractionLength(1)).locale(Locale(identifier: "en")))
    usage = now
    print("\(mean) beats a minute, \(seconds) s of processor time an hour")
  }

  /// Writes the rows that wait. If that fails, they wait for the next one.
  private mutating func write() {
    let file = URL(filePath: path)
    if !FileManager.default.fileExists(atPath: path) {
      _ = FileManager.default.createFile(atPath: path, contents: nil)
    }
    do {
      let handle = try FileHandle(forWritingTo: file)
      defer { try? handle.close() }
      let end = try handle.seekToEnd()
      do {
        try handle.write(contentsOf: Data(waiting.joined().utf8))
        waiting = []
      } catch {
        // A full disk may have taken a part of them.
        try handle.truncate(atOffset: end)
        throw error
      }
    } catch {
      print("the rows are not written yet: \(error.localizedDescription)")
    }
  }
}

/// The processor time of the process, and the time of the clock.
private struct Usage {
  var processor: Double
  var uptime: Double

  static var now: Usage {
    // POSIX has a million clocks in a second.
    Usage(processor: Double(clock()) / 1e6, uptime: ProcessInfo.processInfo.systemUptime)
  }

  func secondsPerHour(since earlier: Usage) -> Double {
    let elapsed = uptime - earlier.uptime
    return elapsed > 0 ? (processor - earlier.processor) / elapsed * 3_600 : 0
  }
}
