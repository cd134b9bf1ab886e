import EventLoop
import Glibc

/// Writes files with private data of nearby devices: captures, traces, recordings, pictures of positions.
package enum CaptureFile {
  /// Opens a file for writing, for this user only; an existing file is emptied. A named pipe is refused
  /// where no program reads it, because opening it would wait for one without end.
  ///
  /// - Returns: A descriptor that the caller closes.
  package static func open(_ path: String) throws(CaptureError) -> Int32 {
    if let number = descriptor(named: path) {
      return try check(fcntl(number, F_DUPFD_CLOEXEC, 0), path)
    }
    let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
    let file = unsafe Glibc.open(path, flags, 0o600)
    if file < 0, errno == ELOOP {
      throw CaptureError(path: path, reason: "it is a symbolic link")
    }
    if file < 0, errno == ENXIO, isPipe(path) {
      throw CaptureError(path: path, reason: "no program reads this pipe; start its reader first")
    }
    _ = try check(file, path)
    do throws(CaptureError) {
      // A reader that is slower than the writer is waited for.
      _ = try check(fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK), path)
      try prepare(file, path)
    } catch {
      close(file)
      throw error
    }
    return file
  }

  private static func isPipe(_ path: String) -> Bool {
    var information = stat()
    return unsafe lstat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFIFO
  }

  /// Writes a whole file, for this user only. It takes the place of one that is there at the end, so that
  /// a failure leaves that as it was; what is no regular file is written to.
  package static func replace(_ path: String, with bytes: [UInt8]) throws(CaptureError) {
    guard try isReplaceable(path) else {
      let file = try open(path)
      defer { close(file) }
      return try write(bytes, to: file, path: path)
    }
    // Not longer than the path's own name may be.
    let new = folder(of: path) + ".ambit-\(UInt32.random(in: .min ... .max))"
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let file = try check(unsafe Glibc.open(new, flags, 0o600), path)
    do throws(CaptureError) {
      defer { close(file) }
      try write(bytes, to: file, path: path)
      _ = try check(fsync(file), path)
      _ = try check(unsafe rename(new, path), path)
    } catch {
      _ = unsafe unlink(new)
      throw error
    }
  }

  /// Checks that `replace` may write a file, as far as that is clear before there is anything to write.
  package static func checkReplaceable(_ path: String) throws(CaptureError) {
    _ = try isReplaceable(path)
  }

  /// Whether a new file takes the path's place; false if what is there is written to.
  private static func isReplaceable(_ path: String) throws(CaptureError) -> Bool {
    if let number = descriptor(named: path) {
      _ = try check(fcntl(number, F_GETFD), path)
      return false
    }
    var information = stat()
    if unsafe lstat(path, &information) == 0 {
      let reason: String? =
        switch information.st_mode & S_IFMT {
        case S_IFLNK: "it is a symbolic link"
        case S_IFDIR: "it is a folder"
        case S_IFREG where information.st_uid != geteuid(): "the file belongs to another user"
        default: nil
        }
      if let reason { throw CaptureError(path: path, reason: reason) }
      _ = try check(unsafe access(path, W_OK), path)
      guard information.st_mode & S_IFMT == S_IFREG else { return false }
    } else if errno != ENOENT {
      throw CaptureError(path: path, reason: SystemError.current.text)
    }
    guard !path.isEmpty, !path.hasSuffix("/") else {
      throw CaptureError(path: path, reason: "it names no file")
    }
    guard unsafe access(folder(of: path), W_OK | X_OK) == 0 else {
      throw CaptureError(path: path, reason: "its folder: \(SystemError.current.text)")
    }
    return true
  }

  /// The folder of a path, with the slash at its end.
  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
  }

  /// Writes all bytes, in one piece where the system takes them so.
  package static func write(
    _ bytes: [UInt8], to file: Int32, path: String
  ) throws(CaptureError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw CaptureError(path: path, reason: SystemError.current.text) }
      rest.removeFirst(count)
    }
  }

  /// The open descriptor that a path names, such as `/dev/stdout`: it is a symbolic link to what
  /// the user has chosen.
  private static func descriptor(named path: String) -> Int32? {
    switch path {
    case "/dev/stdout": return STDOUT_FILENO
    case "/dev/stderr": return STDERR_FILENO
    default: break
    }
    for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(folder) {
      return Int32(path.dropFirst(folder.count)).flatMap { $0 >= 0 ? $0 : nil }
    }
    return nil
  }

  /// Keeps other users out of a regular file, and empties it. Devices and pipes stay as they are.
  private static func prepare(_ file: Int32, _ path: String) throws(CaptureError) {
    var information = stat()
    _ = try check(unsafe fstat(file, &information), path)
    guard information.st_mode & S_IFMT == S_IFREG else { return }
    guard information.st_uid == geteuid() else {
      throw CaptureError(path: path, reason: "the file belongs to another user")
    }
    _ = try check(fchmod(file, 0o600), path)
    _ = try check(ftruncate(file, 0), path)
  }

  private static func check(_ result: Int32, _ path: String) throws(CaptureError) -> Int32 {
    guard result >= 0 else { throw CaptureError(path: path, reason: SystemError.current.text) }
    return result
  }
}
