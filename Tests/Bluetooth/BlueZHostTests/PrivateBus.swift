#if BlueZ
  import Foundation
  import Glibc
  import Testing

  /// A message bus of a test's own: dbus-daemon in a folder that ends with it.
  final class PrivateBus {
    let address: String
    private let folder: URL
    private var process: pid_t = 0

    private static let program = "/usr/bin/dbus-daemon"
    /// Whether this machine has dbus-daemon.
    static let isAvailable = access(program, X_OK) == 0

    /// - Parameter rules: Rules of the bus's policy after those that allow everything.
    init(rules: String = "") throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "bus-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let configuration = """
        <busconfig>
          <type>session</type>
          <listen>unix:path=\(folder.path)/socket</listen>
          <auth>EXTERNAL</auth>
          <limit name="max_replies_per_connection">1000</limit>
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
            \(rules)
          </policy>
        </busconfig>
        """
      let file = folder.appending(path: "bus.conf")
      try configuration.write(to: file, atomically: true, encoding: .utf8)
      let output = Pipe()
      process = try Self.start(
        ["--config-file=\(file.path)", "--nofork", "--nopidfile", "--print-address=1"],
        output: output.fileHandleForWriting.fileDescriptor)
      try output.fileHandleForWriting.close()
      var line = Data()
      while line.last != UInt8(ascii: "\n") {
        let read = output.fileHandleForReading.availableData
        try #require(!read.isEmpty, "dbus-daemon ended")
        line += read
      }
      address = String(decoding: line.dropLast(), as: UTF8.self)
    }

    /// Starts dbus-daemon. Foundation's Process would wait for its end in a loop.
    private static func start(_ arguments: [String], output: Int32) throws -> pid_t {
      var actions = posix_spawn_file_actions_t()
      unsafe posix_spawn_file_actions_init(&actions)
      defer { unsafe posix_spawn_file_actions_destroy(&actions) }
      unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
      var words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
      defer { unsafe words.forEach { unsafe free($0) } }
      var process: pid_t = 0
      let status = unsafe posix_spawn(&process, program, &actions, nil, &words, environ)
      try #require(status == 0, "dbus-daemon does not start")
      return process
    }

    deinit { end() }

    /// Ends dbus-daemon, by a signal that it can't have inherited as blocked.
    func end() {
      guard process > 0 else { return }
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
      process = 0
      try? FileManager.default.removeItem(at: folder)
    }
  }
#endif
