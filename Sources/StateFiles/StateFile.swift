import EventLoop
import Glibc

/// A file of this user's state, which only this user may read
/// (docs/decisions/0100-bonds-are-a-text-file.md).
///
/// A change replaces the file as a whole, so that a process that is killed loses at most the change
/// that it is making. Processes and threads may change one file at the same time: each change
/// begins by reading the file. All functions block until the disk operation is done, and may be
/// called from any thread.
package struct StateFile: Sendable {
  /// The maximum number of damaged files that are kept beside a file.
  package static let damagedFileCountMax = 9
  /// How often the lock is tried, and the time between: 2 s, where a change takes milliseconds.
  private static let lockTryCount = 400
  private static let lockTryNanoseconds = 5_000_000

  /// Decodes content from a file's bytes.
  package typealias Decoding<Content> = ([UInt8]) throws(StateFileDecodingError) -> Content

  /// The path of the file, with a folder.
  package let path: String
  private let byteCountMax: Int
  private let probe: StateFileProbe
  private let forget: @Sendable (inout [UInt8]) -> Void

  private var name: String { String(path[path.index(after: slash)...]) }
  private var slash: String.Index { path.lastIndex(of: "/") ?? path.startIndex }
  private var folderPath: String { StateFolder.parent(of: path) }
  private var lockName: String { name + ".lock" }
  private var newName: String { ".\(name).ambit-new" }

  /// Creates a reference to a file. The file and its folders are created with the first change.
  ///
  /// - Parameters:
  ///   - byteCountMax: The maximum size of the file.
  ///   - forget: Overwrites bytes that were read or written, if they are secret.
  package init(
    path: String, byteCountMax: Int, probe: StateFileProbe = StateFileProbe(),
    forget: @escaping @Sendable (inout [UInt8]) -> Void = { _ in }
  ) {
    self.path = path.contains("/") ? path : "./" + path
    self.byteCountMax = byteCountMax
    self.probe = probe
    self.forget = forget
  }

  /// Reads the file's content; nil if the file doesn't exist.
  package func read<Content>(
    _ decode: Decoding<Content>
  ) throws(StateFileError) -> Content? {
    try checkPath()
    let folder: StateFolder
    do throws(SystemError) {
      folder = try StateFolder(path: folderPath, probe: probe)
    } catch {
      if error.number == ENOENT { return nil }
      throw StateFileError(.unreadable, error.text)
    }
    defer { folder.close() }
    return try read(in: folder, decode)
  }

  /// Changes the file's content, under the lock.
  ///
  /// - Parameters:
  ///   - replacingDamaged: Whether a damaged file is replaced, and kept under another name;
  ///     otherwise it is an error.
  ///   - body: Returns the new file for the current content, which is nil if the file doesn't exist
  ///     or is damaged. Returns nil to change nothing.
  /// - Returns: Whether the file was changed, and the path to which a damaged file was moved.
  @discardableResult
  package func change<Content>(
    replacingDamaged: Bool, _ decode: Decoding<Content>, _ body: (Content?) -> [UInt8]?
  ) throws(StateFileError) -> (isChanged: Bool, damagedPath: String?) {
    try checkPath()
    let folder = try openForWriting()
    defer { folder.close() }
    // Check first, so that no lock file is made beside a file that isn't ours.
    _ = try readable(in: folder, replacingDamaged: replacingDamaged, decode)
    let lock = try lock(in: folder)
    defer { Glibc.close(lock) }
    let found = try readable(in: folder, replacingDamaged: replacingDamaged, decode)
    guard var bytes = body(found.content) else { return (false, nil) }
    defer { forget(&bytes) }
    try write(bytes, in: folder)
    return try replace(in: folder, isDamaged: found.isDamaged)
  }

  /// Locks a file beside this one until the returned object is released. Nil if it is already
  /// locked.
  package func takeLock(_ purpose: String) throws(StateFileError) -> StateFileLock? {
    try checkPath()
    let folder = try openForWriting()
    defer { folder.close() }
    let file = try attempt(.unwritable) { () throws(SystemError) in
      try folder.open("\(name).\(purpose).lock", O_RDWR | O_CREAT)
    }
    do throws(SystemError) {
      try folder.lock(file)
      // Removed with an unused file since it was opened, so that another process may hold a new one.
      guard try folder.information(file).st_ino == folder.number(of: "\(name).\(purpose).lock")
      else {
        Glibc.close(file)
        return nil
      }
    } catch {
      Glibc.close(file)
      guard error.number == EWOULDBLOCK else { throw StateFileError(.unwritable, error.text) }
      return nil
    }
    return StateFileLock(descriptor: file)
  }

  private func checkPath() throws(StateFileError) {
    guard !path.utf8.contains(0), !["", ".", ".."].contains(name) else {
      throw StateFileError(.refused, "the path names no file")
    }
  }

  /// Performs an operation in the folder; converts the system's error to a file's error.
  private func attempt<Result>(
    _ kind: StateFileError.Kind, _ body: () throws(SystemError) -> Result
  ) throws(StateFileError) -> Result {
    do throws(SystemError) { return try body() } catch { throw StateFileError(kind, error.text) }
  }
}

/// A lock that is held until this object is released, or the process ends.
package final class StateFileLock: Sendable {
  private let descriptor: Int32
  fileprivate init(descriptor: Int32) { self.descriptor = descriptor }
  deinit { Glibc.close(descriptor) }
}

// MARK: - Reading

extension StateFile {
  private func read<Content>(
    in folder: StateFolder, _ decode: Decoding<Content>
  ) throws(StateFileError) -> Content? {
    guard let file = try open(in: folder) else { return nil }
    defer { Glibc.close(file) }
    let information = try attempt(.unreadable) { () throws(SystemError) in
      try folder.information(file)
    }
    if let reason = refusal(information) { throw StateFileError(.refused, reason) }
    var bytes = try contents(of: file, in: folder)
    defer { forget(&bytes) }
    do throws(StateFileDecodingError) {
      return try decode(bytes)
    } catch {
      switch error {
      case .foreign: throw StateFileError(.refused, "the file is something else")
      case .laterForm: throw StateFileError(.refused, "a later version of Ambit wrote them")
      case .damaged(let reason): throw StateFileError(.damaged, reason)
      }
    }
  }

  private func open(in folder: StateFolder) throws(StateFileError) -> Int32? {
    do throws(SystemError) {
      return try folder.open(name, O_RDONLY)
    } catch {
      switch error.number {
      case ENOENT: return nil
      case ELOOP: throw StateFileError(.refused, "the file is a symbolic link")
      // A socket.
      case ENXIO: throw StateFileError(.refused, "it is not a regular file")
      default: throw StateFileError(.unreadable, error.text)
      }
    }
  }

  /// Why a file is not trusted; nil where it is.
  private func refusal(_ information: stat) -> String? {
    if information.st_mode & S_IFMT == S_IFDIR { return "it is a folder" }
    if information.st_mode & S_IFMT != S_IFREG { return "it is not a regular file" }
    if information.st_uid != geteuid() { return "the file belongs to another user" }
    if information.st_mode & 0o077 != 0 {
      return "other users may use the file; chmod 600 keeps them out"
    }
    if information.st_size > byteCountMax { return "the file is too large" }
    return nil
  }

  private func contents(of file: Int32, in folder: StateFolder) throws(StateFileError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count <= byteCountMax {
      let part = try attempt(.unreadable) { () throws(SystemError) in
        try folder.read(file, byteCountMax: 64 * 1_024)
      }
      if part.isEmpty { return bytes }
      bytes += part
    }
    throw StateFileError(.refused, "the file is too large")
  }

  private func readable<Content>(
    in folder: StateFolder, replacingDamaged: Bool, _ decode: Decoding<Content>
  ) throws(StateFileError) -> (content: Content?, isDamaged: Bool) {
    do throws(StateFileError) {
      return (try read(in: folder, decode), false)
    } catch {
      guard replacingDamaged, error.kind == .damaged else { throw error }
      return (nil, true)
    }
  }
}

// MARK: - Writing

extension StateFile {
  private func openForWriting() throws(StateFileError) -> StateFolder {
    let folder: StateFolder
    do throws(SystemError) {
      folder = try StateFolder(path: folderPath, probe: probe)
    } catch {
      guard error.number == ENOENT else { throw StateFileError(.unwritable, error.text) }
      folder = try attempt(.unwritable) { () throws(SystemError) in
        try StateFolder.make(folderPath, probe: probe)
        return try StateFolder(path: folderPath, probe: probe)
      }
    }
    do throws(StateFileError) {
      let mode = try attempt(.unwritable) { () throws(SystemError) in
        try folder.information().st_mode
      }
      // Writable for all and not sticky, as /tmp is.
      guard mode & 0o002 == 0 || mode & 0o1000 != 0 else {
        throw StateFileError(.refused, "all users may replace files of its folder")
      }
      return folder
    } catch {
      folder.close()
      throw error
    }
  }

  /// Opens and takes the lock, which ends when it is closed. Its file stays: removing it would take
  /// the lock away from processes that wait for it.
  private func lock(in folder: StateFolder) throws(StateFileError) -> Int32 {
    let lock = try attempt(.unwritable) { () throws(SystemError) in
      try folder.open(lockName, O_RDWR | O_CREAT)
    }
    for _ in 0..<Self.lockTryCount {
      do throws(SystemError) {
        try folder.lock(lock)
        return lock
      } catch {
        guard error.number == EWOULDBLOCK else {
          Glibc.close(lock)
          throw StateFileError(.unwritable, error.text)
        }
        var pause = timespec(tv_sec: 0, tv_nsec: Self.lockTryNanoseconds)
        unsafe nanosleep(&pause, nil)
      }
    }
    Glibc.close(lock)
    throw StateFileError(.busy, "another process holds the lock \"\(lockName)\"")
  }

  /// Writes a new file beside this one.
  private func write(_ bytes: [UInt8], in folder: StateFolder) throws(StateFileError) {
    // What a process left that was killed.
    try attempt(.unwritable) { () throws(SystemError) in try folder.remove(newName) }
    let new = try attempt(.unwritable) { () throws(SystemError) in
      try folder.open(newName, O_WRONLY | O_CREAT | O_EXCL)
    }
    defer { Glibc.close(new) }
    do throws(SystemError) {
      try folder.makePrivate(new)
      try folder.write(bytes, to: new)
      try folder.sync(new)
    } catch {
      try? folder.remove(newName)
      throw StateFileError(.unwritable, error.text)
    }
  }

  /// Puts the new file in this one's place; a damaged one gets another name first, so that it has a name
  /// at every moment.
  private func replace(
    in folder: StateFolder, isDamaged: Bool
  ) throws(StateFileError) -> (isChanged: Bool, damagedPath: String?) {
    do throws(StateFileError) {
      let damagedName = try isDamaged ? keepDamaged(in: folder) : nil
      try attempt(.unwritable) { () throws(SystemError) in
        try folder.rename(newName, to: name)
        try folder.sync()
      }
      return (true, damagedName.map { folderPath + "/" + $0 })
    } catch {
      try? folder.remove(newName)
      throw error
    }
  }

  /// Gives the damaged file the first free name; nil if another process has moved it meanwhile.
  private func keepDamaged(in folder: StateFolder) throws(StateFileError) -> String? {
    let damaged = try attempt(.unwritable) { () throws(SystemError) in try folder.number(of: name) }
    guard let damaged else { return nil }
    for number in 1...Self.damagedFileCountMax {
      let other = "\(name).damaged-\(number)"
      let found = try attempt(.unwritable) { () throws(SystemError) in try folder.number(of: other)
      }
      // A process that was killed got as far as this.
      if found == damaged { return other }
      guard found == nil else { continue }
      try attempt(.unwritable) { () throws(SystemError) in try folder.link(name, to: other) }
      return other
    }
    throw StateFileError(
      .damaged,
      "\(Self.damagedFileCountMax) damaged files exist beside it already; remove one")
  }
}

// MARK: - Where it is

extension StateFile {
  /// The path of a state file of this user: in `XDG_STATE_HOME`, or `~/.local/state`. Nil if
  /// neither that nor `HOME` is set.
  package static func path(of file: String, _ environment: (String) -> String?) -> String? {
    // A relative one is to be ignored (XDG Base Directory Specification).
    if let state = environment("XDG_STATE_HOME"), state.hasPrefix("/") {
      return "\(state)/ambit/\(file)"
    }
    guard let home = environment("HOME"), home.hasPrefix("/") else { return nil }
    return "\(home)/.local/state/ambit/\(file)"
  }

  /// The name of this program's executable file, even if it was replaced since; nil if the system
  /// doesn't report it.
  package static func programName() -> String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/exe", &bytes, bytes.count)
    guard count > 0 else { return nil }
    let path = String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard let name = path.split(separator: "/").last else { return nil }
    let gone = " (deleted)"
    return String(name.hasSuffix(gone) ? name.dropLast(gone.count) : name)
  }
}
