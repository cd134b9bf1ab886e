public import BluetoothMachines
public import BluetoothWire
import EventLoop
import Glibc
import Synchronization

/// The bonds of this user, in a file that only this user may read
/// (docs/decisions/0100-bonds-are-a-text-file.md).
///
/// A change replaces the file as a whole, so that a process that is killed loses at most the bond that
/// it is storing. Processes and threads may change one store at the same time: each change begins with
/// what the file has by then. All functions wait for the disk; from any thread.
public final class BondStore: Sendable {
  /// Files that were damaged are kept beside the store, so many at most.
  static let damagedFileCountMax = 9
  /// How often the lock is tried, and the time between: 2 s, where a change takes milliseconds.
  private static let lockTryCount = 400
  private static let lockTryNanoseconds = 5_000_000

  /// The store's file.
  public let path: String
  private let probe: BondStoreProbe
  /// The lock of the process that uses the random static address of this store; nil: not this one.
  private let addressLock = Mutex<Int32?>(nil)

  private var name: String { String(path[path.index(after: slash)...]) }
  private var slash: String.Index { path.lastIndex(of: "/") ?? path.startIndex }
  private var folderPath: String { BondFolder.parent(of: path) }
  private var lockName: String { name + ".lock" }
  private var addressLockName: String { name + ".address.lock" }
  private var newName: String { ".\(name).ambit-new" }

  /// A store in a file, which is made, with the folders it is in, when the first bond is stored.
  public convenience init(path: String) { self.init(path: path, probe: BondStoreProbe()) }

  init(path: String, probe: BondStoreProbe) {
    self.path = path.contains("/") ? path : "./" + path
    self.probe = probe
  }

  deinit {
    addressLock.withLock { if let file = $0 { _ = Glibc.close(file) } }
  }

  // MARK: What callers do

  /// Reads the bonds; none where there is no file.
  public func load() throws(BondStoreError) -> [Bond] { try loadFile().bonds }

  /// Reads who this host was to its peers. Of random static addresses only the one that no other process
  /// uses, because two hosts must not have one address.
  ///
  /// - Returns: Also why the random one can't be used, where that is for another reason: on a disk that is
  ///   not writable nothing tells whether another process has it.
  func loadIdentities() throws(BondStoreError) -> ([HostIdentity], BondStoreError?) {
    let identities = try loadFile().identities
    guard identities.contains(where: { $0.address.kind == .random }) else {
      return (identities, nil)
    }
    var isFree = false
    var problem: BondStoreError?
    do throws(BondStoreError) { isFree = try takeAddress() } catch { problem = error }
    return (identities.filter { $0.address.kind == .public || isFree }, problem)
  }

  private func loadFile() throws(BondStoreError) -> BondFile {
    try checkPath()
    let folder: BondFolder
    do throws(SystemError) {
      folder = try BondFolder(path: folderPath, probe: probe)
    } catch {
      if error.number == ENOENT { return BondFile() }
      throw failure(.unreadable, error)
    }
    defer { folder.close() }
    return try read(in: folder) ?? BondFile()
  }

  /// Adds a bond, or puts it in the place of the one that its peer had, unless that protects more.
  ///
  /// - Parameter identity: Who this host is to the peer, where that is to be kept, too. With a random
  ///   static address that is an error while another process uses the one of this store: the bond would
  ///   be of no use to the next run.
  /// - Returns: Where a damaged file was moved that this bond's file replaced; else nil.
  @discardableResult
  public func store(
    _ bond: Bond, identity: HostIdentity? = nil
  ) throws(BondStoreError) -> String? {
    try change(replacingDamaged: true) { (file) throws(BondStoreError) in
      // Nobody takes a peer's place by pairing with a process that doesn't know of its bond.
      if let old = file.predecessor(of: bond), old.isStronger(than: bond) {
        throw BondStoreError(
          .stronger, self.path,
          "the one with \(bond.identity) protects more, and must be removed first")
      }
      guard file.store(bond) else {
        throw BondStoreError(
          .full, self.path, "there are \(BondFile.bondCountMax), and one must be removed first")
      }
      guard let identity else { return true }
      if identity.address.kind == .random, try !self.takeAddress() {
        throw BondStoreError(
          .busy, self.path, "another process uses the random address that goes with them")
      }
      _ = file.store(identity)
      return true
    }.damagedPath
  }

  /// Keeps what peers have configured, and how far signatures were counted, of those whose bonds are there
  /// with the same keys.
  func update(_ bonds: [Bond]) throws(BondStoreError) {
    try change(replacingDamaged: false) { (file) throws(BondStoreError) in
      // All of them, not up to the first.
      bonds.reduce(false) { file.update($1) || $0 }
    }
  }

  /// Removes a peer's bonds with all identities of this host.
  ///
  /// - Parameter address: The peer's identity address, or the one that clients know it by.
  /// - Returns: False where there are none.
  @discardableResult
  public func remove(_ address: DeviceAddress) throws(BondStoreError) -> Bool {
    try remove { $0.remove(address) }
  }

  /// Removes one bond, whatever its keys are by now.
  ///
  /// - Returns: False where there is none.
  @discardableResult
  public func remove(_ bond: Bond) throws(BondStoreError) -> Bool {
    try remove { $0.remove(bond) }
  }

  private func remove(
    _ body: (inout BondFile) -> Bool
  ) throws(BondStoreError) -> Bool {
    // What cannot be read may have the bond: nothing is replaced then.
    var file = try loadFile()
    guard body(&file) else { return false }
    return try change(replacingDamaged: false) { (file) throws(BondStoreError) in body(&file) }
      .isChanged
  }

  /// Takes the random static address of this store for the life of this object; false where another
  /// process, or another store of this one, has it.
  private func takeAddress() throws(BondStoreError) -> Bool {
    try addressLock.withLock { (lock) throws(BondStoreError) in
      if lock != nil { return true }
      let folder = try openForWriting()
      defer { folder.close() }
      let file = try attempt(.unwritable) { () throws(SystemError) in
        try folder.open(addressLockName, O_RDWR | O_CREAT)
      }
      do throws(SystemError) {
        try folder.lock(file)
      } catch {
        Glibc.close(file)
        guard error.number == EWOULDBLOCK else { throw failure(.unwritable, error) }
        return false
      }
      lock = file
      return true
    }
  }

  private func checkPath() throws(BondStoreError) {
    guard !path.utf8.contains(0), !["", ".", ".."].contains(name) else {
      throw BondStoreError(.refused, path, "the path names no file")
    }
  }
}

// MARK: - Reading

extension BondStore {
  /// What the file has; nil where there is none.
  private func read(in folder: BondFolder) throws(BondStoreError) -> BondFile? {
    guard let file = try open(in: folder) else { return nil }
    defer { Glibc.close(file) }
    let information = try attempt(.unreadable) { () throws(SystemError) in
      try folder.information(file)
    }
    if let reason = Self.refusal(information) { throw BondStoreError(.refused, path, reason) }
    var bytes = try contents(of: file, in: folder)
    defer { overwrite(&bytes) }
    do throws(BondFileError) {
      return try BondFile(decoding: bytes)
    } catch {
      switch error {
      case .foreign: throw BondStoreError(.refused, path, "the file is something else")
      case .laterForm: throw BondStoreError(.refused, path, "a later version of Ambit wrote them")
      case .damaged(let reason): throw BondStoreError(.damaged, path, reason)
      }
    }
  }

  private func open(in folder: BondFolder) throws(BondStoreError) -> Int32? {
    do throws(SystemError) {
      return try folder.open(name, O_RDONLY)
    } catch {
      switch error.number {
      case ENOENT: return nil
      case ELOOP: throw BondStoreError(.refused, path, "the file is a symbolic link")
      // A socket.
      case ENXIO: throw BondStoreError(.refused, path, "it is no file")
      default: throw failure(.unreadable, error)
      }
    }
  }

  /// Why a file is not trusted; nil where it is.
  private static func refusal(_ information: stat) -> String? {
    if information.st_mode & S_IFMT == S_IFDIR { return "it is a folder" }
    if information.st_mode & S_IFMT != S_IFREG { return "it is no file" }
    if information.st_uid != geteuid() { return "the file belongs to another user" }
    if information.st_mode & 0o077 != 0 {
      return "other users may use the file; chmod 600 keeps them out"
    }
    if information.st_size > BondFile.byteCountMax { return "the file is too large" }
    return nil
  }

  private func contents(of file: Int32, in folder: BondFolder) throws(BondStoreError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count <= BondFile.byteCountMax {
      let part = try attempt(.unreadable) { () throws(SystemError) in
        try folder.read(file, byteCountMax: 64 * 1_024)
      }
      if part.isEmpty { return bytes }
      bytes += part
    }
    throw BondStoreError(.refused, path, "the file is too large")
  }

  /// Does something in the folder; what the system says against it becomes a store's error.
  private func attempt<Result>(
    _ kind: BondStoreError.Kind, _ body: () throws(SystemError) -> Result
  ) throws(BondStoreError) -> Result {
    do throws(SystemError) { return try body() } catch { throw failure(kind, error) }
  }

  private func failure(_ kind: BondStoreError.Kind, _ error: SystemError) -> BondStoreError {
    BondStoreError(kind, path, error.text)
  }
}

// MARK: - Writing

extension BondStore {
  /// Changes what the file has, under the lock.
  ///
  /// - Parameters:
  ///   - replacingDamaged: Whether a damaged file is moved; else it is an error.
  ///   - body: Makes the change. False where there is nothing to change.
  @discardableResult
  private func change(
    replacingDamaged: Bool, _ body: (inout BondFile) throws(BondStoreError) -> Bool
  ) throws(BondStoreError) -> (isChanged: Bool, damagedPath: String?) {
    try checkPath()
    let folder = try openForWriting()
    defer { folder.close() }
    // Before a lock is made beside somebody's file.
    _ = try readable(in: folder, replacingDamaged: replacingDamaged)
    let lock = try lock(in: folder)
    defer { Glibc.close(lock) }
    let found = try readable(in: folder, replacingDamaged: replacingDamaged)
    var file = found ?? BondFile()
    guard try body(&file) else { return (false, nil) }
    try write(file, in: folder)
    return try replace(in: folder, isDamaged: found == nil)
  }

  /// What the file has; nil where it is damaged and may be replaced.
  private func readable(
    in folder: BondFolder, replacingDamaged: Bool
  ) throws(BondStoreError) -> BondFile? {
    do throws(BondStoreError) {
      return try read(in: folder) ?? BondFile()
    } catch {
      guard replacingDamaged, error.kind == .damaged else { throw error }
      return nil
    }
  }

  private func openForWriting() throws(BondStoreError) -> BondFolder {
    let folder: BondFolder
    do throws(SystemError) {
      folder = try BondFolder(path: folderPath, probe: probe)
    } catch {
      guard error.number == ENOENT else { throw failure(.unwritable, error) }
      folder = try attempt(.unwritable) { () throws(SystemError) in
        try BondFolder.make(folderPath, probe: probe)
        return try BondFolder(path: folderPath, probe: probe)
      }
    }
    do throws(BondStoreError) {
      let mode = try attempt(.unwritable) { () throws(SystemError) in
        try folder.information().st_mode
      }
      // Writable for all and not sticky, as /tmp is.
      guard mode & 0o002 == 0 || mode & 0o1000 != 0 else {
        throw BondStoreError(.refused, path, "all users may replace files of its folder")
      }
      return folder
    } catch {
      folder.close()
      throw error
    }
  }

  /// Opens and takes the lock, which ends when it is closed. Its file stays: who removed it would take it
  /// from those who wait for it.
  private func lock(in folder: BondFolder) throws(BondStoreError) -> Int32 {
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
          throw failure(.unwritable, error)
        }
        var pause = timespec(tv_sec: 0, tv_nsec: Self.lockTryNanoseconds)
        unsafe nanosleep(&pause, nil)
      }
    }
    Glibc.close(lock)
    throw BondStoreError(.busy, path, "another process does not let go of \"\(lockName)\"")
  }

  /// Writes a new file beside the store's.
  private func write(_ file: BondFile, in folder: BondFolder) throws(BondStoreError) {
    var bytes = file.bytes
    defer { overwrite(&bytes) }
    guard let again = try? BondFile(decoding: bytes), again.bonds == file.bonds,
      again.identities == file.identities
    else {
      throw BondStoreError(.unwritable, path, "a bond has no form that could be read again")
    }
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
      throw failure(.unwritable, error)
    }
  }

  /// Puts the new file in the store's place; a damaged one gets another name first, so that it has a name
  /// at every moment.
  private func replace(
    in folder: BondFolder, isDamaged: Bool
  ) throws(BondStoreError) -> (isChanged: Bool, damagedPath: String?) {
    do throws(BondStoreError) {
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

  /// Gives the damaged file the first name that is free; nil where somebody took it away meanwhile.
  private func keepDamaged(in folder: BondFolder) throws(BondStoreError) -> String? {
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
    throw BondStoreError(
      .damaged, path,
      "there are \(Self.damagedFileCountMax) damaged files beside it already; one must be removed")
  }
}

// MARK: - Where it is

extension BondStore {
  /// The file that `AMBIT_BONDS` names, else `ambit/bonds` among this user's state files: in
  /// `XDG_STATE_HOME`, or `~/.local/state`.
  ///
  /// - Throws: Where neither these nor `HOME` are set.
  public static func defaultPath() throws(BondStoreError) -> String {
    try defaultPath { BluetoothHost.environment($0) }
  }

  static func defaultPath(_ environment: (String) -> String?) throws(BondStoreError) -> String {
    if let path = environment("AMBIT_BONDS") { return path }
    // A relative one is to be ignored (XDG Base Directory Specification).
    if let state = environment("XDG_STATE_HOME"), state.hasPrefix("/") {
      return state + "/ambit/bonds"
    }
    guard let home = environment("HOME"), home.hasPrefix("/") else {
      throw BondStoreError(.noPath, "", "HOME is not set; AMBIT_BONDS can name a file")
    }
    return home + "/.local/state/ambit/bonds"
  }
}
