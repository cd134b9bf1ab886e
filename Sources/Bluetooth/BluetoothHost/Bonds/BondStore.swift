public import BluetoothMachines
public import BluetoothWire
import EventLoop
import StateFiles
import Synchronization

/// The bonds of this user, in a file that only this user may read
/// (docs/decisions/0100-bonds-are-a-text-file.md).
///
/// A change replaces the file as a whole, so that a process that is killed loses at most the bond
/// that it is storing. Processes and threads may change one store at the same time: each change
/// begins by reading the file. All functions block until the disk operation is done, and may be
/// called from any thread.
public final class BondStore: Sendable {
  /// The store's file.
  public var path: String { file.path }
  private let file: StateFile
  /// The lock of the process that uses the random static address of this store; nil: not this one.
  private let addressLock = Mutex<StateFileLock?>(nil)

  /// Creates a store in a file. The file and its folders are created when the first bond is stored.
  public convenience init(path: String) { self.init(path: path, probe: StateFileProbe()) }

  init(path: String, probe: StateFileProbe) {
    file = StateFile(
      path: path, byteCountMax: BondFile.byteCountMax, probe: probe, forget: overwrite)
  }

  // MARK: What callers do

  /// Reads the bonds; empty if the file doesn't exist.
  public func load() throws(BondStoreError) -> [Bond] { try loadFile().bonds }

  /// Reads this host's identities. Of random static addresses only the one that no other process
  /// uses, because two hosts must not have the same address.
  ///
  /// - Returns: Also the error if the random one can't be used for another reason: on a disk that
  ///   is not writable, it is unknown whether another process uses it.
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

  func loadFile() throws(BondStoreError) -> BondFile {
    try attempt { () throws(StateFileError) in try file.read(BondFile.init(decoding:)) }
      ?? BondFile()
  }

  /// Adds a bond, or replaces the one of the same peer, unless that one is more secure.
  ///
  /// - Parameter identity: This host's identity towards the peer, to be stored with the bond; nil
  ///   to store none. An identity with a random static address is an error while another process
  ///   uses the one of this store, because the next run could not use the bond.
  /// - Returns: The path to which a damaged file was moved before it was replaced; else nil.
  @discardableResult
  public func store(
    _ bond: Bond, identity: HostIdentity? = nil
  ) throws(BondStoreError) -> String? {
    try store(bond, identity: identity, over: .any)
  }

  /// Adds or replaces a bond, as ``store(_:identity:)``, unless another process has replaced or
  /// removed the predecessor.
  func store(
    _ bond: Bond, identity: HostIdentity?, over predecessor: Predecessor
  ) throws(BondStoreError) -> String? {
    try change(replacingDamaged: true) { (file) throws(BondStoreError) in
      try self.check(file, for: bond, predecessor)
      // No peer is impersonated by pairing with a process that doesn't know the peer's bond.
      if let old = file.predecessor(of: bond), old.isStronger(than: bond) {
        throw BondStoreError(
          .stronger, self.path,
          "the existing bond with \(bond.identity) is stronger; remove it first")
      }
      guard file.store(bond) else {
        throw BondStoreError(
          .full, self.path, "it has \(BondFile.bondCountMax) bonds; remove one first")
      }
      guard let identity else { return true }
      if identity.address.kind == .random, try !self.takeAddress() {
        throw BondStoreError(
          .addressInUse, self.path, "another process uses the random address that goes with them")
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
  /// - Parameter address: The peer's identity address, or the address that clients know.
  /// - Returns: False if there are none.
  @discardableResult
  public func remove(_ address: DeviceAddress) throws(BondStoreError) -> Bool {
    try remove { $0.remove(address) }
  }

  /// Removes one bond, even if its keys have changed.
  ///
  /// - Returns: False if it doesn't exist.
  @discardableResult
  public func remove(_ bond: Bond) throws(BondStoreError) -> Bool {
    try remove { $0.remove(bond) }
  }

  /// Removes one bond, unless another process has replaced it. A bond that is gone already, by an
  /// attempt that failed behind the rename or by another process, is no error.
  func remove(_ bond: Bond, over predecessor: Predecessor) throws(BondStoreError) {
    let found = try loadFile()
    guard found.predecessor(of: bond) != nil else { return }
    try check(found, for: bond, predecessor)
    try change(replacingDamaged: false) { (file) throws(BondStoreError) in
      guard file.predecessor(of: bond) != nil else { return false }
      try self.check(file, for: bond, predecessor)
      return file.remove(bond)
    }
  }

  /// The bond of a change's peer that a change may replace or remove.
  enum Predecessor: Sendable {
    case any
    /// The one with these keys; nil: none.
    case known(Bond?)
  }

  private func check(
    _ file: BondFile, for bond: Bond, _ predecessor: Predecessor
  ) throws(BondStoreError) {
    guard case .known(let known) = predecessor else { return }
    let found = file.predecessor(of: bond)
    // It may be there although the write failed: behind the rename, for example.
    if found?.hasSameKeys(as: known) ?? (known == nil) || found?.hasSameKeys(as: bond) == true {
      return
    }
    throw BondStoreError(
      .replaced, path,
      "another process has replaced or removed the bond with \(bond.identity) in the meantime")
  }

  private func remove(
    _ body: (inout BondFile) -> Bool
  ) throws(BondStoreError) -> Bool {
    // An unreadable file may contain the bond: it is not replaced then.
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
      lock = try attempt { () throws(StateFileError) in try file.takeLock("address") }
      return lock != nil
    }
  }

  /// Does something with the file; its error becomes a store's.
  private func attempt<Result>(
    _ body: () throws(StateFileError) -> Result
  ) throws(BondStoreError) -> Result {
    do throws(StateFileError) {
      return try body()
    } catch {
      throw BondStoreError(BondStoreError.Kind(error.kind), path, error.reason)
    }
  }

  /// Changes what the file has, under the lock.
  ///
  /// - Parameters:
  ///   - replacingDamaged: Whether a damaged file is moved; else it is an error.
  ///   - body: Makes the change. False where there is nothing to change.
  @discardableResult
  func change(
    replacingDamaged: Bool, _ body: (inout BondFile) throws(BondStoreError) -> Bool
  ) throws(BondStoreError) -> (isChanged: Bool, damagedPath: String?) {
    var refusal: BondStoreError?
    let result = try attempt { () throws(StateFileError) in
      try file.change(replacingDamaged: replacingDamaged, BondFile.init(decoding:)) { found in
        var new = found ?? BondFile()
        do throws(BondStoreError) {
          return try body(&new) ? try bytes(of: new) : nil
        } catch {
          refusal = error
          return nil
        }
      }
    }
    if let refusal { throw refusal }
    return result
  }

  private func bytes(of file: BondFile) throws(BondStoreError) -> [UInt8] {
    let bytes = file.bytes
    guard let again = try? BondFile(decoding: bytes), again.bonds == file.bonds,
      again.identities == file.identities
    else {
      throw BondStoreError(.unwritable, path, "a bond cannot be encoded")
    }
    return bytes
  }
}

extension BondStoreError.Kind {
  fileprivate init(_ kind: StateFileError.Kind) {
    switch kind {
    case .refused: self = .refused
    case .damaged: self = .damaged
    case .unreadable: self = .unreadable
    case .unwritable: self = .unwritable
    case .busy: self = .busy
    }
  }
}

// MARK: - Where it is

extension BondStore {
  /// The value of `AMBIT_BONDS`, or else `ambit/bonds` in `XDG_STATE_HOME`, by default
  /// `~/.local/state`.
  ///
  /// - Throws: If none of these variables and `HOME` is set.
  public static func defaultPath() throws(BondStoreError) -> String {
    try defaultPath { ProcessEnvironment.value($0) }
  }

  static func defaultPath(_ environment: (String) -> String?) throws(BondStoreError) -> String {
    if let path = environment("AMBIT_BONDS") { return path }
    guard let path = StateFile.path(of: "bonds", environment) else {
      throw BondStoreError(.noPath, "", "HOME is not set; AMBIT_BONDS can name a file")
    }
    return path
  }
}
