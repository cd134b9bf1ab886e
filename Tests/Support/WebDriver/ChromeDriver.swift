import Foundation

/// Debian's chromedriver, one process for all browsers of a test run.
///
/// A shell starts it and ends it when its standard input ends, which is when this process does,
/// however that happens. Chromium itself is held by a pipe of chromedriver's and ends with it, and
/// what both leave in the temporary folder is in one that the shell removes.
actor ChromeDriver {
  static let shared = ChromeDriver()

  private var start: Task<LoopbackHTTP, any Error>?
  /// Its standard input is what keeps chromedriver running.
  private var shell: Process?

  private static let script = """
    folder=$(mktemp -d)
    mkfifo "$folder/output"
    TMPDIR=$folder chromedriver --port=0 >"$folder/output" 2>&1 </dev/null &
    driver=$!
    sed -un 's/.* on port \\([0-9]*\\)\\.$/\\1/p' <"$folder/output" &
    cat >/dev/null
    kill $driver
    wait
    rm -rf "$folder"
    """

  /// Where chromedriver listens; starts it the first time.
  func endpoint() async throws -> LoopbackHTTP {
    if let start { return try await start.value }
    let (shell, output) = try Self.launch()
    self.shell = shell
    let start = Task { try await Self.port(from: output) }
    self.start = start
    return try await start.value
  }

  private static func launch() throws -> (Process, FileHandle) {
    guard Browser.isInstalled else {
      throw WebDriverError(
        code: "not installed", message: "apt-get install chromium-driver (./test does it)")
    }
    let shell = Process()
    shell.executableURL = URL(filePath: "/bin/sh")
    shell.arguments = ["-c", script]
    let output = Pipe()
    shell.standardInput = Pipe()
    shell.standardOutput = output
    try shell.run()
    return (shell, output.fileHandleForReading)
  }

  /// The first line that the script writes.
  private static func port(from output: FileHandle) async throws -> LoopbackHTTP {
    let line = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
          guard let more = try? output.read(upToCount: 1), !more.isEmpty else { break }
          line += more
        }
        continuation.resume(returning: line)
      }
    }
    let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard let port = UInt16(text) else {
      throw WebDriverError(code: "not started", message: "chromedriver names no port")
    }
    return LoopbackHTTP(port: port)
  }
}

/// What a browser, or the driver between, answered instead of doing what it was asked.
public struct WebDriverError: Error, CustomStringConvertible, Sendable {
  /// One of the error codes of the standard, such as `no such element`.
  public var code: String
  /// Chromium's message.
  public var message: String

  /// The code and the first lines of the message, without Chromium's stack.
  public var description: String {
    let lines = message.split(separator: "\n").prefix { !$0.hasPrefix("Stacktrace") }
    return "\(code): \(lines.joined(separator: "\n"))"
  }
}
