import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Foundation
import StateFiles
import Synchronization
import Testing

@testable import BluetoothHost

@Suite("Bond stores")
struct BondStoreTests {
  @Test("a random static address is used by one at a time; the next run has it again")
  func staticAddress() throws {
    let folder = try BondTestFolder()
    let path = folder.path + "/bonds"
    let identity = HostIdentity(
      address: DeviceAddress(bits: 0xD000_0000_0001, kind: .random), resolvingKey: Bonds.key(1))
    var first: BondStore? = BondStore(path: path)
    #expect(try first?.loadIdentities().0 == [])
    try first?.store(Bonds.secure, identity: identity)
    let second = BondStore(path: path)
    #expect(try first?.loadIdentities().0 == [identity])
    #expect(try second.loadIdentities().0.isEmpty)
    // With another identity, this peer's bond could not be found again.
    let other = HostIdentity(
      address: DeviceAddress(bits: 0xD000_0000_0002, kind: .random), resolvingKey: Bonds.key(2))
    let refusal = #expect(throws: BondStoreError.self) {
      try second.store(Bonds.legacy, identity: other)
    }
    #expect(refusal?.kind == .addressInUse)
    #expect(try first?.loadIdentities().0 == [identity])
    #expect(try second.load() == [Bonds.secure])
    let own = HostIdentity(
      address: DeviceAddress(bits: 1, kind: .public), resolvingKey: Bonds.key(3))
    try second.store(Bonds.legacy, identity: own)
    #expect(try second.loadIdentities().0 == [own], "a controller has one host anyway")
    first = nil
    #expect(try second.loadIdentities().0 == [identity, own])
    #expect(try BondStore(path: path).loadIdentities().0 == [own])
  }

  @Test("configurations of peers are kept with their bonds, and don't restore a removed one")
  func configurations() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    try store.store(Bonds.secure)
    var changed = Bonds.secure
    changed.clientConfiguration = ClientConfiguration(
      databaseHash: Bonds.key(8).bytes, isAware: true, features: 1, descriptors: [9: 2])
    var gone = Bonds.legacy
    gone.clientConfiguration = changed.clientConfiguration
    try store.update([gone, changed])
    #expect(try store.load() == [changed])
    // Paired anew, by another process.
    var other = changed
    other.centralKey = LongTermKey(Bonds.key(9))
    other.clientConfiguration = nil
    try store.update([other])
    #expect(try store.load() == [changed])
  }

  @Test("a store without a file has no bonds, and reading makes none")
  func missing() throws {
    let folder = try BondTestFolder()
    #expect(try BondStore(path: folder.path + "/bonds").load() == [])
    #expect(try BondStore(path: folder.path + "/a/b/bonds").load() == [])
    #expect(try !BondStore(path: folder.path + "/bonds").remove(Bonds.secure.identity))
    #expect(try folder.names == [])
  }

  @Test("bonds that one store keeps are read, replaced and removed by another")
  func changes() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    #expect(try store.store(Bonds.legacy) == nil)
    try store.store(Bonds.secure)
    #expect(try BondStore(path: store.path).load() == [Bonds.legacy, Bonds.secure])
    var changed = Bonds.legacy
    changed.peripheralKey = nil
    try BondStore(path: store.path).store(changed)
    #expect(try store.load() == [changed, Bonds.secure])
    #expect(try store.remove(changed.identity))
    #expect(try !store.remove(changed.identity))
    #expect(try BondStore(path: store.path).load() == [Bonds.secure])
    #expect(try folder.names == ["bonds", "bonds.lock"])
  }

  @Test("no bond takes the place of one that protects more")
  func stronger() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    try store.store(Bonds.secure)
    var weaker = Bonds.secure
    weaker.isAuthenticated = false
    do {
      try store.store(weaker)
      Issue.record("it was stored")
    } catch {
      #expect(error.kind == .stronger)
      for secret in Bonds.secrets(weaker) { #expect(!error.description.contains(secret)) }
    }
    #expect(try store.load() == [Bonds.secure])
    #expect(try store.remove(weaker.identity))
    try store.store(weaker)
    #expect(try store.load() == [weaker])
  }

  @Test("only its owner may read the file, and the folders that were made for it")
  func permissions() async {
    // In a process of its own, since the mask is that of all threads.
    await #expect(processExitsWith: .success) {
      let folder = try BondTestFolder()
      umask(0)
      try BondStore(path: folder.path + "/state/ambit/bonds").store(Bonds.secure)
      for (name, permissions) in [
        ("state", 0o700), ("state/ambit", 0o700), ("state/ambit/bonds", 0o600),
        ("state/ambit/bonds.lock", 0o600),
      ] {
        let found = try folder.permissions(name)
        try #require(found == permissions, "\(name)")
      }
    }
  }

  @Test("a file that is not this user's store is refused and left as it is")
  func refused() throws {
    let valid = BondFile.sealed([])
    let cases: [(name: String, bytes: [UInt8], permissions: Int, reason: String)] = [
      ("letter", Array("Dear Ann,\n".utf8), 0o600, "the file is something else"),
      ("later", Array("ambit bonds 2\nx\n".utf8), 0o600, "a later version of Ambit wrote them"),
      ("group", valid, 0o640, "other users may use the file; chmod 600 keeps them out"),
      ("world", valid, 0o604, "other users may use the file; chmod 600 keeps them out"),
      (
        "huge", [UInt8](repeating: 97, count: BondFile.byteCountMax + 1), 0o600,
        "the file is too large"
      ),
    ]
    for (name, bytes, permissions, reason) in cases {
      let folder = try BondTestFolder()
      try folder.write(bytes, name, permissions: permissions)
      try Self.expectRefusal(folder.path + "/" + name, reason)
      #expect(try folder.names == [name])
      #expect(try folder.read(name) == bytes)
      #expect(try folder.permissions(name) == permissions)
    }
  }

  @Test("a path that is no file is refused: folders, links, pipes, and invalid paths")
  func noFile() throws {
    let folder = try BondTestFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path + "/folder", withIntermediateDirectories: false)
    try folder.write(BondFile.sealed([]), "target")
    for (name, target) in [("link", "target"), ("dangling", "nowhere")] {
      try FileManager.default.createSymbolicLink(
        atPath: folder.path + "/" + name, withDestinationPath: target)
      try Self.expectRefusal(folder.path + "/" + name, "the file is a symbolic link")
    }
    #expect(mkfifo(folder.path + "/pipe", 0o600) == 0)
    try Self.expectRefusal(folder.path + "/folder", "it is a folder")
    try Self.expectRefusal(folder.path + "/pipe", "it is not a regular file")
    for name in ["", ".", "..", "a\u{0}b"] {
      try Self.expectRefusal(folder.path + "/" + name, "the path names no file")
    }
    #expect(try folder.names == ["dangling", "folder", "link", "pipe", "target"])
    try Self.expectRefusal("", "the path names no file")
  }

  @Test(
    "another user's file is refused", .enabled(if: geteuid() == 0, "only root can give one away"))
  func otherUser() throws {
    let folder = try BondTestFolder()
    try folder.write(BondFile.sealed([]))
    #expect(chown(folder.path + "/bonds", 1, 1) == 0)
    try Self.expectRefusal(folder.path + "/bonds", "the file belongs to another user")
    #expect(try folder.names == ["bonds"])
  }

  @Test("nothing is written where all users may replace files")
  func openFolder() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    #expect(chmod(folder.path, 0o777) == 0)
    #expect(
      throws: BondStoreError(.refused, store.path, "all users may replace files of its folder")
    ) { try store.store(Bonds.secure) }
    #expect(try folder.names == [])
    #expect(chmod(folder.path, 0o1777) == 0)
    try store.store(Bonds.secure)
  }

  private static func expectRefusal(_ path: String, _ reason: String) throws {
    let store = BondStore(path: path)
    let expected = BondStoreError(.refused, store.path, reason)
    #expect(throws: expected) { try store.load() }
    #expect(throws: expected) { try store.store(Bonds.secure) }
    #expect(throws: expected) { try store.remove(Bonds.secure.identity) }
  }

  @Test("a damaged file is reported, and kept beside the one that replaces it")
  func damaged() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    for number in 1...9 {
      try store.store(Bonds.legacy)
      let bytes = try Array(folder.read().dropLast(number))
      try folder.write(bytes)
      for _ in 0..<2 {
        let error = #expect(throws: BondStoreError.self) { try store.load() }
        #expect(error?.kind == .damaged)
        let other = #expect(throws: BondStoreError.self) {
          try store.remove(Bonds.legacy.identity)
        }
        #expect(other == error)
      }
      #expect(try folder.read() == bytes)
      let moved = folder.path + "/bonds.damaged-\(number)"
      #expect(try store.store(Bonds.secure) == moved)
      #expect(try store.load() == [Bonds.secure])
      #expect(try folder.read("bonds.damaged-\(number)") == bytes)
      #expect(try folder.permissions("bonds.damaged-\(number)") == 0o600)
    }
    try folder.write([])
    let error = #expect(throws: BondStoreError.self) { try store.store(Bonds.secure) }
    #expect(error?.kind == .damaged)
    #expect(error?.reason.contains("9 damaged files") == true)
    #expect(try folder.read() == [])
    #expect(try folder.names.count == 11)
  }

  @Test("a full store is reported, and keeps its bonds")
  func full() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    var file = BondFile()
    for number in 0..<BondFile.bondCountMax { _ = file.store(Bonds.numbered(number)) }
    #expect(file.bonds.count == BondFile.bondCountMax)
    try folder.write(file.bytes)
    let error = #expect(throws: BondStoreError.self) { try store.store(Bonds.secure) }
    #expect(error?.kind == .full)
    #expect(try store.load() == file.bonds)
    try store.store(Bonds.numbered(3))
    #expect(try store.remove(Bonds.numbered(3).identity))
    try store.store(Bonds.secure)
    #expect(try store.load().count == BondFile.bondCountMax)
  }

  @Test("a bond that could not be read again is not written")
  func invalid() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    try store.store(Bonds.legacy)
    var bond = Bonds.secure
    bond.keyByteCount = 17
    let error = #expect(throws: BondStoreError.self) { try store.store(bond) }
    #expect(error?.kind == .unwritable)
    #expect(try store.load() == [Bonds.legacy])
  }

  @Test("a failure is a sentence with the path, and without keys")
  func sentences() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    try store.store(Bonds.legacy)
    var bytes = try folder.read()
    bytes.removeLast(5)
    try folder.write(bytes)
    let error = #expect(throws: BondStoreError.self) { try store.load() }
    #expect(
      error?.description
        == "The bonds in \"\(store.path)\" are damaged: its last line is truncated.")
    var dumped = ""
    dump(store, to: &dumped)
    let printed = "\(String(describing: error)) \(String(reflecting: Bonds.legacy)) \(dumped)"
    for secret in Bonds.secrets(Bonds.legacy) { #expect(!printed.contains(secret)) }
    let nowhere = #expect(throws: BondStoreError.self) {
      try BondStore(path: "/proc/none/bonds").store(Bonds.secure)
    }
    #expect(nowhere?.kind == .unwritable)
    #expect(
      nowhere?.description.hasPrefix("The bonds in \"/proc/none/bonds\" cannot be written: ")
        == true)
  }

  @Test("the environment determines the path of the bonds")
  func defaultPath() throws {
    func path(_ environment: [String: String]) throws(BondStoreError) -> String {
      try BondStore.defaultPath { environment[$0] }
    }
    #expect(
      try path(["AMBIT_BONDS": "/b", "XDG_STATE_HOME": "/s", "HOME": "/h"]) == "/b")
    #expect(try path(["XDG_STATE_HOME": "/s", "HOME": "/h"]) == "/s/ambit/bonds")
    #expect(try path(["XDG_STATE_HOME": "s", "HOME": "/h"]) == "/h/.local/state/ambit/bonds")
    #expect(try path(["HOME": "/h"]) == "/h/.local/state/ambit/bonds")
    let error = #expect(throws: BondStoreError.self) { try path([:]) }
    #expect(
      error?.description
        == "Bonds cannot be stored: HOME is not set; AMBIT_BONDS can name a file.")
  }
}

/// Makes a change again as long as others hold the lock for longer than it waits, which a busy disk brings about.
private func patiently(_ change: () throws(BondStoreError) -> Void) throws(BondStoreError) {
  while true {
    do throws(BondStoreError) { return try change() } catch {
      guard error.kind == .busy else { throw error }
    }
  }
}

@Suite("Bond stores that several use at a time", .timeLimit(.minutes(5)))
struct SharedBondStoreTests {
  @Test("threads lose none of one another's bonds, and readers see whole files")
  func threads() async throws {
    let folder = try BondTestFolder()
    let path = folder.path + "/bonds"
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in 0..<4 {
        group.addTask {
          let store = BondStore(path: path)
          for number in 0..<10 {
            let bond = Bonds.numbered(thread * 10 + number)
            try patiently { () throws(BondStoreError) in try store.store(bond) }
            let numbers = try Set(store.load().map(\.identity))
            #expect(numbers.contains(bond.identity))
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try Set(BondStore(path: path).load()) == Set((0..<40).map(Bonds.numbered)))
  }

  @Test("processes lose none of one another's bonds")
  func processes() async throws {
    let folder = try BondTestFolder()
    let path = folder.path + "/bonds"
    let stays = Bonds.numbered(1_000)
    try BondStore(path: path).store(stays)
    async let first: Void = Self.storeInProcess(path, from: 0)
    async let second: Void = Self.storeInProcess(path, from: 20)
    async let third: Void = Self.storeInProcess(path, from: 40)
    _ = await (first, second, third)
    // Each stores 20 and removes every second of them.
    let expected = (0..<60).filter { $0 % 2 == 1 }.map(Bonds.numbered) + [stays]
    #expect(try Set(BondStore(path: path).load()) == Set(expected))
  }

  private static func storeInProcess(_ path: String, from start: Int) async {
    await #expect(processExitsWith: .success) { [path = path as String, start = start as Int] in
      let store = BondStore(path: path)
      for number in start..<(start + 20) {
        let bond = Bonds.numbered(number)
        try patiently { () throws(BondStoreError) in try store.store(bond) }
        guard number % 2 == 0 else { continue }
        try patiently { () throws(BondStoreError) in try store.remove(bond.identity) }
      }
    }
  }

  @Test("a process that holds the lock makes others give up after a while, and lose nothing")
  func held() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    try store.store(Bonds.legacy)
    let lock = open(folder.path + "/bonds.lock", O_RDWR)
    defer { close(lock) }
    #expect(flock(lock, LOCK_EX) == 0)
    let error = #expect(throws: BondStoreError.self) { try store.store(Bonds.secure) }
    #expect(error?.kind == .busy)
    #expect(error?.reason == "another process holds the lock \"bonds.lock\"")
    #expect(try store.load() == [Bonds.legacy])
  }
}

@Suite("Bond stores when things go wrong half-way", .timeLimit(.minutes(5)))
struct InterruptedBondStoreTests {
  /// The change of a store that a test interrupts.
  enum Change: String, CaseIterable, Codable {
    /// The first bond, in a folder that has to be made.
    case first
    /// One more bond.
    case another
    /// A bond is removed.
    case removal
    /// A bond that replaces a damaged file.
    case damaged
    /// Two bonds of another store are imported.
    case imported

    func prepare(_ folder: borrowing BondTestFolder) throws {
      let store = BondStore(path: path(folder.path))
      guard self != .first else { return }
      try store.store(Bonds.legacy)
      try store.store(Bonds.secure)
      if self == .damaged { try folder.write(Array(folder.read().dropLast(1))) }
    }

    func path(_ folder: String) -> String { folder + (self == .first ? "/a/b/bonds" : "/bonds") }

    func run(_ folder: String, _ probe: StateFileProbe) throws {
      let store = BondStore(path: path(folder), probe: probe)
      switch self {
      case .removal: try store.remove(Bonds.secure.identity)
      case .imported:
        var other = BondFile()
        for number in 1...2 { _ = other.store(Bonds.numbered(number)) }
        _ = try store.importBonds(of: other)
      case .first, .another, .damaged: try store.store(Bonds.numbered(1))
      }
    }

    var before: [Bond]? {
      switch self {
      case .first: []
      case .another, .removal, .imported: [Bonds.legacy, Bonds.secure]
      case .damaged: nil
      }
    }

    var after: [Bond] {
      switch self {
      case .first, .damaged: [Bonds.numbered(1)]
      case .another: [Bonds.legacy, Bonds.secure, Bonds.numbered(1)]
      case .removal: [Bonds.legacy]
      case .imported: [Bonds.legacy, Bonds.secure, Bonds.numbered(1), Bonds.numbered(2)]
      }
    }
  }

  /// The names of the system calls of a change that succeeds.
  private static func calls(_ change: Change) throws -> [String] {
    let folder = try BondTestFolder()
    try change.prepare(folder)
    let calls = Calls()
    try change.run(folder.path, calls.probe(failing: nil, with: 0))
    return calls.names.withLock(\.self)
  }

  /// Counts calls, and lets one of them fail or end the process.
  private final class Calls: Sendable {
    let names = Mutex<[String]>([])

    func probe(failing failingIndex: Int?, with error: Int32) -> StateFileProbe {
      StateFileProbe(
        willCall: { name in
          let index = self.names.withLock { names in
            names.append(name)
            return names.count - 1
          }
          guard index == failingIndex else { return 0 }
          if error == 0 { kill(getpid(), SIGKILL) }
          return error
        }, writeByteCountMax: 100)
    }
  }

  @Test("the system calls are those that a change needs to be on the disk")
  func order() throws {
    let calls = try Self.calls(.another)
    let writes = calls.filter { $0 == "write" }.count
    #expect(writes > 3)
    let lock = try #require(calls.firstIndex(of: "flock"))
    // The folder, the file, and the file's content before it was locked.
    #expect(
      calls[..<lock] == [
        "open folder", "fstat", "open", "fstat", "read", "read", "open",
      ])
    #expect(
      calls[lock...].filter { $0 != "write" } == [
        "flock", "open", "fstat", "read", "read", "unlink", "open", "fchmod", "fsync", "rename",
        "fsync folder",
      ])
    #expect(try Self.calls(.damaged).contains("link"))
    #expect(try Self.calls(.first).filter { $0 == "mkdir" }.count == 3)
  }

  @Test("a process that is killed before any of its system calls loses nothing that was there")
  func killed() async throws {
    for change in Change.allCases {
      let calls = try Self.calls(change)
      for index in calls.indices {
        let folder = try BondTestFolder()
        try change.prepare(folder)
        let path = folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [change = change as Change, path = path as String, index = index as Int] in
          try change.run(path, Calls().probe(failing: index, with: 0))
        }
        try Self.check(change, folder, "killed before \(calls[index])")
      }
    }
  }

  @Test(
    "a system call that fails is an error, and nothing is lost",
    arguments: [ENOSPC, EIO, EACCES, EROFS, EDQUOT])
  func failing(_ error: Int32) throws {
    for change in Change.allCases {
      let calls = try Self.calls(change)
      for index in calls.indices {
        let folder = try BondTestFolder()
        try change.prepare(folder)
        let thrown = #expect(throws: BondStoreError.self, "\(change): \(calls[index])") {
          try change.run(folder.path, Calls().probe(failing: index, with: error))
        }
        #expect(thrown?.path == change.path(folder.path))
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        #expect(!names.contains { $0.hasSuffix(".ambit-new") }, "\(change): \(calls[index])")
        try Self.check(change, folder, "\(calls[index]) failed")
      }
    }
  }

  /// The store has what it had, or what it was to have; and takes the change that was interrupted.
  private static func check(
    _ change: Change, _ folder: borrowing BondTestFolder, _ what: String
  ) throws {
    let store = BondStore(path: change.path(folder.path))
    do {
      let bonds = try store.load()
      #expect(bonds == change.before || bonds == change.after, "\(change), \(what)")
    } catch {
      #expect(change == .damaged && error.kind == .damaged, "\(change), \(what): \(error)")
    }
    try change.run(folder.path, StateFileProbe())
    #expect(try store.load() == change.after, "\(change), \(what)")
    guard change != .first else { return }
    let damaged = change == .damaged ? ["bonds.damaged-1"] : []
    #expect(try folder.names == (["bonds", "bonds.lock"] + damaged).sorted(), "\(change), \(what)")
  }
}
