import Foundation

/// A process that ends with this one, however this one ends.
package final class Child {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var buffer = Data()
  private let title: String

  /// Starts a program: its path or its name, and its arguments.
  ///
  /// - Parameter readsErrors: whether what it writes to its standard error is read along with its
  ///   output, instead of being passed on.
  package init(_ command: [String], readsErrors: Bool = false) throws {
    title = command.joined(separator: " ")
    process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
    process.arguments = ["--pdeathsig", "KILL"] + command
    process.standardInput = input
    process.standardOutput = output
    if readsErrors { process.standardError = output }
    try LastingThread.shared.perform { [process] in Result { try process.run() } }.get()
  }

  /// Where this program is.
  package static func ownPath() throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  }

  /// The number that the system has for it.
  package var identifier: Int32 { process.processIdentifier }

  /// Writes a line to it.
  package func tell(_ line: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
  }

  /// The next line that it prints. Throws where it takes longer than this, or has ended.
  package func line(within seconds: Double = 60) throws -> String {
    let deadline = Date(timeIntervalSinceNow: seconds)
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        defer { buffer = Data(buffer[(end + 1)...]) }
        return String(decoding: buffer[..<end], as: UTF8.self)
      }
      let handle = output.fileHandleForReading
      var waiting = pollfd(fd: handle.fileDescriptor, events: Int16(POLLIN), revents: 0)
      let left = Int32(max(0, deadline.timeIntervalSinceNow * 1_000))
      guard poll(&waiting, 1, left) > 0 else { throw ChildError("\"\(title)\" hangs.") }
      let more = handle.availableData
      guard !more.isEmpty else { throw ChildError("\"\(title)\" ended without a result.") }
      buffer.append(more)
    }
  }

  /// What it has used of the cores so far, all of its threads: by its own clock (clock_getcpuclockid(3)),
  /// for `/proc` counts in hundredths of a second, and publishing a thousand services takes four.
  package var cpuSeconds: Double {
    var clock = clockid_t()
    var time = timespec()
    guard clock_getcpuclockid(identifier, &clock) == 0, clock_gettime(clock, &time) == 0 else {
      return .nan
    }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// What it holds of the machine's memory, in bytes.
  package var residentBytes: Int {
    let path = "/proc/\(identifier)/status"
    let status = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return (kilobytes ?? 0) * 1_024
  }

  /// Not asked politely: a child may have inherited that signals wait.
  package func end() {
    guard process.isRunning else { return }
    kill(identifier, SIGKILL)
    process.waitUntilExit()
  }
}

/// What went wrong with a process, as a sentence.
package struct ChildError: Error, CustomStringConvertible {
  package let description: String

  /// An error of this sentence.
  package init(_ description: String) { self.description = description }
}
