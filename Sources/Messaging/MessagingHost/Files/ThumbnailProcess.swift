#if Messaging
  internal import EventLoop
  internal import Essentials
  internal import Glibc

  /// Makes small pictures in a process of its own, so that a malicious file can't reach this one
  /// (docs/decisions/0161-thumbnails-are-made-by-gdk-pixbuf.md).
  enum ThumbnailProcess {
    /// The largest file of which one is made.
    static let byteCountMax: Int64 = 64 << 20
    static let pixelCountMax = 128_000_000
    /// Of address space, in bytes.
    private static let memoryMax = 2 << 30
    private static let outputByteCountMax = 1 << 20

    /// A PNG file; nil where the program isn't installed, or can't make it in time. Blocks until then.
    ///
    /// - Parameters:
    ///   - descriptor: The open picture.
    ///   - side: The longer side of the small picture in pixels.
    ///   - program: The path of the program, or its name in `PATH`.
    ///   - timeMax: The time after which the process is killed.
    static func thumbnail(
      of descriptor: CInt, side: Int, program: String = "gdk-pixbuf-thumbnailer",
      timeMax: TimeSpan = .seconds(5)
    ) -> [UInt8]? {
      lseek(descriptor, 0, SEEK_SET)
      var ends: [CInt] = [-1, -1]
      guard pipe(&ends) == 0 else { return nil }
      // A process that another thread starts in between has the pipe for longer: then the time limit ends the reading.
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      defer { close(ends[0]) }
      let words = [
        "prlimit", "--as=\(memoryMax)", "--cpu=\(timeMax.nanoseconds / 1_000_000_000 + 1)",
        "--core=0", "--", program, "-s", "\(side)", "/dev/stdin", "/dev/stdout",
      ]
      let process = spawn(words, input: descriptor, output: ends[1])
      close(ends[1])
      guard let process else { return nil }
      let end = Instant.now + timeMax
      let bytes = read(ends[0], until: end)
      // One that has not ended in time, or has written too much. Until it is waited for its number is not used again.
      if bytes == nil { kill(process, SIGKILL) }
      return status(of: process, until: end) == 0 ? bytes : nil
    }

    /// The status of a process, which is killed at a time: one may close its output and go on. Nil after an error.
    private static func status(of process: pid_t, until end: Instant) -> CInt? {
      var status: CInt = 0
      while true {
        let found = waitpid(process, &status, WNOHANG)
        if found == process { return status }
        if found < 0, errno != EINTR { return nil }
        if Instant.now >= end { kill(process, SIGKILL) }
        usleep(1_000)
      }
    }

    private static func spawn(_ words: [String], input: CInt, output: CInt) -> pid_t? {
      var files = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&files)
      defer { posix_spawn_file_actions_destroy(&files) }
      posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO)
      posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO)
      unsafe posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
      var attributes = posix_spawnattr_t()
      posix_spawnattr_init(&attributes)
      defer { posix_spawnattr_destroy(&attributes) }
      // A program that ignores SIGPIPE would write into a closed pipe without an end.
      var (all, none) = (sigset_t(), sigset_t())
      sigfillset(&all)
      sigemptyset(&none)
      posix_spawnattr_setsigdefault(&attributes, &all)
      posix_spawnattr_setsigmask(&attributes, &none)
      posix_spawnattr_setflags(
        &attributes, Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK))
      // Nothing of this program's environment: it may have secrets.
      let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/bin:/bin"
      let variables = ["PATH=\(path)", "LC_ALL=C"]
      var arguments = words.map { unsafe strdup($0) } + [nil]
      var environment = variables.map { unsafe strdup($0) } + [nil]
      defer { unsafe (arguments + environment).forEach { unsafe free($0) } }
      var process: pid_t = 0
      let number = unsafe posix_spawnp(
        &process, words[0], &files, &attributes, &arguments, &environment)
      return number == 0 ? process : nil
    }

    /// All that comes until the end; nil if that is too much or too late.
    private static func read(_ descriptor: CInt, until end: Instant) -> [UInt8]? {
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 16_384)
      while bytes.count <= outputByteCountMax {
        let left = (end - Instant.now).nanoseconds / 1_000_000
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard left > 0 else { return nil }
        let ready = poll(&entry, 1, CInt(clamping: left))
        if ready < 0, errno == EINTR { continue }
        guard ready > 0 else { return nil }
        let count = buffer.withUnsafeMutableBytes {
          unsafe Glibc.read(descriptor, $0.baseAddress, $0.count)
        }
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { return nil }
        if count == 0 { return bytes }
        bytes += buffer[..<count]
      }
      return nil
    }
  }
#endif
