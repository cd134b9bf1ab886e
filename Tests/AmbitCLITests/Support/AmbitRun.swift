import Foundation
import Synchronization
import Testing

/// One run of the built `ambit`, as a process of its own.
final class AmbitRun: Sendable {
  /// What a run left behind.
  struct End {
    /// As shells count it: 128 and the number of the signal that ended it.
    var status: Int32 { rawStatus % 1_000 + (isSignalled ? 128 : 0) }
    /// Whether a signal ended it, not the program itself.
    var isSignalled: Bool { rawStatus >= AmbitRun.signalBase }
    var output: [String]
    var complaints: [String]

    fileprivate var rawStatus: Int32

    fileprivate init(rawStatus: Int32, output: [String] = [], complaints: [String] = []) {
      self.rawStatus = rawStatus
      self.output = output
      self.complaints = complaints
    }
  }

  /// Added to the number of a signal that ended a run.
  fileprivate static let signalBase: Int32 = 1_000

  /// Ctrl-C works in the runs, also where a shell started these tests in the background.
  private static let restoresInterrupts: Void = { signal(SIGINT, SIG_DFL) }()

  /// The lines of one of the run's streams.
  final class Lines: Sendable {
    private let all = Mutex<[String]>([])
    private let stream: AsyncStream<String>

    /// With `separator`, what ends a line: what a screen is drawn with has no line feeds.
    init(_ handle: FileHandle, separator: String = "\n") {
      let (stream, continuation) = AsyncStream.makeStream(of: String.self)
      self.stream = stream
      Thread.detachNewThread { [self] in
        var rest = Data()
        let separator = Data(separator.utf8)
        while true {
          let data = handle.availableData
          if data.isEmpty { break }
          rest += data
          while let end = rest.range(of: separator) {
            add(rest[..<end.lowerBound], to: continuation)
            rest = Data(rest[end.upperBound...])
          }
        }
        // Foundation keeps processes, and with them their pipes: of a thousand runs, too many descriptors.
        try? handle.close()
        if !rest.isEmpty { add(rest, to: continuation) }
        continuation.finish()
      }
    }

    private func add(_ line: Data, to continuation: AsyncStream<String>.Continuation) {
      let text = String(decoding: line, as: UTF8.self)
      all.withLock { $0.append(text) }
      continuation.yield(text)
    }

    /// The next line that contains a text; nil if the stream ended without.
    func next(containing text: String) async -> String? {
      for await line in stream where line.contains(text) { return line }
      return nil
    }

    /// Every line, once the stream has ended.
    func untilEnd() async -> [String] {
      for await _ in stream {}
      return all.withLock(\.self)
    }
  }

  let output: Lines
  let complaints: Lines
  private let process: Process
  private let input: FileHandle
  private let status: Task<Int32, Never>

  /// Starts `ambit`; with `shell`, in a shell that first does something else; with `onTerminal`, on
  /// a terminal of its own (script(1)), where the written text is typed; with `jobScript`, there
  /// as the job `$ambit` of a shell that does these commands.
  init(
    _ arguments: [String], environment: [String: String] = [:], shell: String? = nil,
    onTerminal: Bool = false, jobScript: String? = nil, drawsScreen: Bool = true,
    writingTo file: FileHandle? = nil
  ) throws {
    let process = Process()
    var environment = environment
    if onTerminal {
      process.executableURL = URL(fileURLWithPath: "/usr/bin/script")
      let command = ([Self.executable.path] + arguments).map { "'\($0)'" }
        .joined(separator: " ")
      environment["AMBIT_JOB"] = jobScript?.replacing("$ambit", with: command)
      let shown = jobScript == nil ? command : "bash --norc -mc \"$AMBIT_JOB\""
      process.arguments = ["-qefc", "stty rows 30 cols 100; exec " + shown, "/dev/null"]
    } else if let shell {
      process.executableURL = URL(fileURLWithPath: "/bin/bash")
      process.arguments = ["-c", shell + "; exec \"$0\" \"$@\"", Self.executable.path] + arguments
    } else {
      process.executableURL = Self.executable
      process.arguments = arguments
    }
    var inherited = ProcessInfo.processInfo.environment
    let names = [
      "AMBIT_RADIO", "AMBIT_HUB", "AMBIT_ADDRESS", "AMBIT_CAPTURE", "AMBIT_BONDS", "AMBIT_PAIRING",
      // Of a service manager that started the tests.
      "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS",
      "LISTEN_FDNAMES",
    ]
    for name in names { inherited[name] = nil }
    // Named, so that no run reports that its devices are simulated.
    inherited["AMBIT_RADIO"] = "sim"
    // The hub of the developer's machine is not for tests.
    inherited["AMBIT_HUB"] = "off"
    _ = Self.restoresInterrupts
    process.environment = inherited.merging(environment) { $1 }
    let (input, output, complaints) = (Pipe(), Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = file ?? output
    process.standardError = complaints
    let (ends, continuation) = AsyncStream.makeStream(of: Int32.self)
    process.terminationHandler = { process in
      let status = process.terminationStatus
      continuation.yield(process.terminationReason == .exit ? status : Self.signalBase + status)
      continuation.finish()
    }
    status = Task {
      for await status in ends { return status }
      return -1
    }
    try process.run()
    if file != nil { try? output.fileHandleForWriting.close() }
    self.process = process
    self.input = input.fileHandleForWriting
    // Each row of a screen ends by erasing the rest of its line.
    self.output = Lines(
      output.fileHandleForReading,
      separator: onTerminal && drawsScreen ? "\u{1B}[K" : "\n")
    self.complaints = Lines(complaints.fileHandleForReading)
  }

  deinit {
    if process.isRunning { process.terminate() }
    closeInput()
  }

  /// Runs a command to its end.
  static func end(
    _ arguments: String..., environment: [String: String] = [:], shell: String? = nil
  ) async throws -> End {
    let run = try AmbitRun(arguments, environment: environment, shell: shell)
    run.closeInput()
    return await run.end()
  }

  /// Runs a command to its end, again and again until it has a result: a busy machine may keep the programs
  /// that are to answer it from that in time. The test's time limit ends the attempts.
  static func end(_ arguments: [String], until isResult: (End) -> Bool) async throws -> End {
    while true {
      let run = try AmbitRun(arguments)
      run.closeInput()
      let end = await run.end()
      if isResult(end) { return end }
      try Task.checkCancellation()
    }
  }

  /// Interrupts a command that goes on, after a line that contains a text.
  ///
  /// - Parameters:
  ///   - text: A part of the line.
  ///   - count: How many such lines there have to be.
  /// - Returns: The end, with the status of an interrupt if all is well.
  func end(after text: String, count: Int = 1) async -> End {
    for _ in 0..<count {
      #expect(await output.next(containing: text) != nil, "\(text)")
    }
    interrupt()
    return await end()
  }

  /// Waits until the run has ended.
  func end() async -> End {
    let status = await status.value
    return await End(
      rawStatus: status, output: output.untilEnd(), complaints: complaints.untilEnd())
  }

  /// Waits until the process has ended; its children may have its output still.
  func exitStatus() async -> Int32 { await processEnd().status }

  /// The end of the process, without what it wrote.
  func processEnd() async -> End { End(rawStatus: await status.value) }

  /// The identifier of the process.
  var processID: Int32 { process.processIdentifier }

  func write(_ text: String) throws { try input.write(contentsOf: Data(text.utf8)) }

  func closeInput() { try? input.close() }

  /// Ctrl-C.
  func interrupt() { process.interrupt() }

  /// SIGTERM.
  func terminate() { process.terminate() }

  /// Any signal.
  func send(_ number: Int32) { _ = kill(process.processIdentifier, number) }

  /// The `ambit` that was built together with these tests.
  private static let executable = URL(fileURLWithPath: "/proc/self/exe")
    .resolvingSymlinksInPath().deletingLastPathComponent().appendingPathComponent("ambit")
}

/// A simulated radio served by an `ambit` of its own, which goes with this.
final class ServedRadio: Sendable {
  /// What `--radio` takes to join it.
  let name: String
  private let server: AmbitRun

  init(_ air: String) async throws {
    server = try AmbitRun(["radio", "serve", "tcp:localhost:0", "--radio", air])
    let line = try #require(await server.output.next(containing: "Serving "))
    name = String(line.dropFirst("Serving ".count))
  }

  /// Takes the radio away from everybody.
  func vanish() async -> AmbitRun.End {
    server.interrupt()
    return await server.end()
  }
}

/// A hub served by an `ambit` of its own, which goes with this.
final class ServedHub: Sendable {
  let path: String
  let server: AmbitRun

  /// The environment of commands that use the hub.
  var environment: [String: String] { Self.environment(path) }

  /// The environment of commands that use a hub at a path, in which no radio is named.
  static func environment(_ path: String) -> [String: String] {
    ["AMBIT_RADIO": "", "AMBIT_HUB": path]
  }

  init(_ radio: String, at path: String, _ options: String...) async throws {
    self.path = path
    server = try AmbitRun(
      ["hub", "--no-network", "--radio", radio, "--socket", path, "--json"] + options)
    #expect(await server.output.next(containing: "\"serving\"") != nil)
  }

  /// Ends the hub at once, without a word to its programs.
  func kill() async {
    server.send(SIGKILL)
    _ = await server.processEnd()
  }
}

/// A folder for the files of one test.
struct TestFolder: ~Copyable {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory
      .appendingPathComponent("ambit-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Returns when a file that another process writes has more than `size` bytes. The test's time
  /// limit ends the wait.
  static func waitForFile(_ path: String, of size: UInt64) async throws {
    while true {
      let attributes = try? FileManager.default.attributesOfItem(atPath: path)
      if let found = attributes?[.size] as? UInt64, found > size { return }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Writes a file and tells its path.
  func file(_ name: String, _ text: String) throws -> String {
    let file = path + "/" + name
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    return file
  }
}
