package import EventLoop
package import Glibc

/// Lets tests observe and fail the system calls of a state file.
package struct StateFileProbe: Sendable {
  /// Called with the name of each system call before it is made. A result other than 0 is the error
  /// with which the call fails instead.
  package var willCall: @Sendable (_ name: String) -> Int32
  /// The maximum number of bytes of one write.
  package var writeByteCountMax: Int

  /// - Parameters:
  ///   - willCall: See ``willCall``.
  ///   - writeByteCountMax: See ``writeByteCountMax``.
  package init(
    willCall: @escaping @Sendable (_ name: String) -> Int32 = { _ in 0 },
    writeByteCountMax: Int = .max
  ) {
    self.willCall = willCall
    self.writeByteCountMax = writeByteCountMax
  }
}

/// The folder of a state file, with one method for each system call. The code that opens it must
/// close it.
package struct StateFolder {
  private let descriptor: Int32
  private let probe: StateFileProbe

  package init(path: String, probe: StateFileProbe) throws(SystemError) {
    self.probe = probe
    descriptor = try Self.call("open folder", probe) {
      unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
  }

  package func close() { Glibc.close(descriptor) }

  /// Creates a folder with its parent folders, for this user only, if it doesn't exist.
  package static func make(_ path: String, probe: StateFileProbe) throws(SystemError) {
    let parent = Self.parent(of: path)
    var isNew = false
    do throws(SystemError) {
      isNew = try makeOne(path, probe)
    } catch {
      guard error.number == ENOENT, parent != path else { throw error }
      try make(parent, probe: probe)
      isNew = try makeOne(path, probe)
    }
    guard isNew else { return }
    let folder = try StateFolder(path: parent, probe: probe)
    defer { folder.close() }
    try folder.sync()
  }

  /// Creates a folder. Returns false if it exists: another process may have made it just before.
  private static func makeOne(
    _ path: String, _ probe: StateFileProbe
  ) throws(SystemError) -> Bool {
    do throws(SystemError) {
      try call("mkdir", probe) { unsafe mkdir(path, 0o700) }
    } catch {
      guard error.number == EEXIST else { throw error }
      return false
    }
    return true
  }

  /// The folder that contains a file.
  package static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The status of the folder itself.
  package func information() throws(SystemError) -> stat { try Self.information(descriptor, probe) }

  /// The status of an open file.
  package func information(_ file: Int32) throws(SystemError) -> stat {
    try Self.information(file, probe)
  }

  private static func information(
    _ file: Int32, _ probe: StateFileProbe
  ) throws(SystemError) -> stat {
    var information = stat()
    try call("fstat", probe) { unsafe fstat(file, &information) }
    return information
  }

  /// The inode number of a file by its name; nil if it doesn't exist.
  package func number(of name: String) throws(SystemError) -> ino_t? {
    var information = stat()
    do throws(SystemError) {
      try call("fstatat") { unsafe fstatat(descriptor, name, &information, AT_SYMLINK_NOFOLLOW) }
    } catch {
      if error.number == ENOENT { return nil }
      throw error
    }
    return information.st_ino
  }

  /// When a file was last changed, in seconds since 1970; nil if it doesn't exist.
  package func changeTime(of name: String) throws(SystemError) -> Int? {
    var information = stat()
    do throws(SystemError) {
      try call("fstatat") { unsafe fstatat(descriptor, name, &information, AT_SYMLINK_NOFOLLOW) }
    } catch {
      if error.number == ENOENT { return nil }
      throw error
    }
    return information.st_mtim.tv_sec
  }

  /// The names of the folder's files.
  package func names() throws(SystemError) -> [String] {
    // A description of its own, because reading moves the position of the folder.
    let copy = try call("open") {
      unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    guard let stream = unsafe fdopendir(copy) else {
      let error = SystemError.current
      Glibc.close(copy)
      throw error
    }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      names.append(name)
    }
    return names
  }

  /// Opens a file that isn't a symbolic link. Doesn't block if it is a pipe.
  package func open(_ name: String, _ flags: Int32) throws(SystemError) -> Int32 {
    try call("open") {
      unsafe openat(
        descriptor, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o600)
    }
  }

  /// Reads up to `byteCountMax` bytes of a file; empty at its end.
  package func read(_ file: Int32, byteCountMax: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: byteCountMax)
    let count = try call("read") {
      unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe Glibc.read(file, buffer.baseAddress, buffer.count)
      }
    }
    bytes.removeSubrange(count...)
    return bytes
  }

  /// Writes all bytes.
  package func write(_ bytes: [UInt8], to file: Int32) throws(SystemError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = rest.prefix(probe.writeByteCountMax)
      rest.removeFirst(
        try call("write") {
          unsafe part.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
        })
    }
  }

  /// Restricts a file's permissions to this user, independent of the process's mask.
  package func makePrivate(_ file: Int32) throws(SystemError) {
    try call("fchmod") { fchmod(file, 0o600) }
  }

  /// Waits until a file's content is on the disk.
  package func sync(_ file: Int32) throws(SystemError) { try call("fsync") { fsync(file) } }

  /// Waits until the folder's directory entries are on the disk.
  package func sync() throws(SystemError) { try call("fsync folder") { fsync(descriptor) } }

  /// Locks a file, if no other process or thread has locked it.
  package func lock(_ file: Int32) throws(SystemError) {
    try call("flock") { flock(file, LOCK_EX | LOCK_NB) }
  }

  /// Renames a file, replacing one with the new name.
  package func rename(_ name: String, to other: String) throws(SystemError) {
    try call("rename") { unsafe renameat(descriptor, name, descriptor, other) }
  }

  /// Adds a hard link to a file, under an unused name.
  package func link(_ name: String, to other: String) throws(SystemError) {
    try call("link") { unsafe linkat(descriptor, name, descriptor, other, 0) }
  }

  /// Removes a file, if it exists.
  package func remove(_ name: String) throws(SystemError) {
    do throws(SystemError) {
      try call("unlink") { unsafe unlinkat(descriptor, name, 0) }
    } catch {
      if error.number != ENOENT { throw error }
    }
  }

  // MARK: Calls

  @discardableResult
  private func call<Result: BinaryInteger>(
    _ name: String, _ body: () -> Result
  ) throws(SystemError) -> Result {
    try Self.call(name, probe, body)
  }

  /// Makes a system call, again where a signal interrupts it.
  @discardableResult
  private static func call<Result: BinaryInteger>(
    _ name: String, _ probe: StateFileProbe, _ body: () -> Result
  ) throws(SystemError) -> Result {
    let injected = probe.willCall(name)
    guard injected == 0 else { throw SystemError(number: injected) }
    while true {
      let result = body()
      if result >= 0 { return result }
      let error = SystemError.current
      if error.number != EINTR { throw error }
    }
  }
}
