#if Messaging
  import AmbitCLI
  import Foundation
  import Glibc

  /// Reads passwords, which are neither shown nor logged.
  enum PasswordInput {
    /// The longest password, in bytes.
    private static let byteCountMax = 1_024
    /// The time in milliseconds between two looks for a signal.
    private static let pollTime: CInt = 100

    /// Reads the first line of a file descriptor, or a line at the terminal.
    ///
    /// - Parameter descriptor: Nil for the terminal, or for standard input if it is another file.
    static func read(
      from descriptor: Int32?, for address: String
    ) throws(CommandFailure) -> String {
      let isTerminal = descriptor == nil && isatty(STDIN_FILENO) == 1
      var settings = termios()
      let isHidden = isTerminal && tcgetattr(STDIN_FILENO, &settings) == 0
      if isHidden {
        Output(isJSON: false).note("Password of \(address):")
        var hidden = settings
        hidden.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
      }
      defer { if isHidden { tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) } }
      let bytes = try line(of: descriptor ?? STDIN_FILENO)
      guard let password = String(validating: bytes, as: UTF8.self), !password.isEmpty else {
        throw CommandFailure(.badData, "there is no password, or it is not UTF-8")
      }
      return password
    }

    private static func line(of descriptor: Int32) throws(CommandFailure) -> [UInt8] {
      var bytes: [UInt8] = []
      // Byte by byte: what follows the line is for others.
      while bytes.count <= byteCountMax {
        // A read that waits can't be cancelled: Ctrl-C would leave the terminal without an echo.
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while Glibc.poll(&poll, 1, pollTime) <= 0 {
          guard !Task.isCancelled else {
            throw CommandFailure(.noInput, "the password was not entered")
          }
        }
        var byte: UInt8 = 0
        let count = Glibc.read(descriptor, &byte, 1)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else {
          throw CommandFailure(
            .noInput, "the password can't be read: \(String(cString: strerror(errno)))")
        }
        if count == 0 || byte == UInt8(ascii: "\n") {
          return bytes.last == UInt8(ascii: "\r") ? Array(bytes.dropLast()) : bytes
        }
        bytes.append(byte)
      }
      throw CommandFailure(.badData, "a password has at most \(byteCountMax) bytes")
    }
  }
#endif
