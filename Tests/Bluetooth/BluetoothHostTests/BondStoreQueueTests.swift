import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import EventLoop
import Foundation
import Glibc
import Logging
import SimulatedRadio
import StateFiles
import Synchronization
import Testing

@testable import BluetoothHost

@Suite("Bonds of a running host", .timeLimit(.minutes(5)))
struct BondStoreQueueTests {
  init() { SimulatedRadio.install() }

  private func identity(_ number: UInt64) -> HostIdentity {
    HostIdentity(
      address: DeviceAddress(bits: 0xD000_0000_0000 + number, kind: .random),
      resolvingKey: Bonds.key(Int(number)))
  }

  private func host(
    _ store: BondStore, log: RecordingLog = RecordingLog()
  ) throws -> BluetoothHost {
    let selection = RadioSelection(.simulated(.init(isPopulated: false)))
    return BluetoothHost(
      selection, configuration: HostConfiguration(), random: .random(), loop: RealTimeLoop(),
      security: .real(bonds: store), logger: log.logger,
      makeTransport: selection.radio.transportFactory(on: .shared))
  }

  /// Waits until the host's machine has `count` bonds.
  private func bonds(_ count: Int, of host: BluetoothHost) async throws {
    while await host.snapshot().bondCount != count {
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  @Test("bonds that another process removes, stores or replaces are noticed, in any folder")
  func otherProcess() async throws {
    for hasFolder in [true, false] {
      let folder = try BondTestFolder()
      let path = folder.path + (hasFolder ? "/bonds" : "/not/yet/bonds")
      let other = BondStore(path: path)
      if hasFolder { try other.store(Bonds.secure) }
      let host = try host(BondStore(path: path))
      try await TestClient(host).state(.poweredOn)
      try await bonds(hasFolder ? 1 : 0, of: host)
      try other.store(Bonds.legacy)
      try await bonds(hasFolder ? 2 : 1, of: host)
      #expect(try other.remove(Bonds.legacy.identity))
      try await bonds(hasFolder ? 1 : 0, of: host)
      // A file that makes no sense changes nothing.
      try Data("nonsense".utf8).write(to: URL(filePath: path))
      // It may be read while it is being written.
      while host.bondFailure?.kind != .refused { try await Task.sleep(for: .milliseconds(1)) }
      try await bonds(hasFolder ? 1 : 0, of: host)
      await host.close()
    }
  }

  @Test("a lock that another process holds blocks neither the host nor, once released, the bond")
  func locked() async throws {
    let folder = try BondTestFolder()
    let path = folder.path + "/bonds"
    let store = BondStore(path: path)
    try store.store(Bonds.legacy)
    let lock = open(path + ".lock", O_RDWR)
    #expect(lock >= 0 && flock(lock, LOCK_EX) == 0)
    let reports = Mutex<[String]>([])
    let queue = BondStoreQueue(store, times: .ample) { report in
      if case .failed(let error) = report { reports.withLock { $0.append(error.reason) } }
    }
    queue.change(.store(Bonds.secure, nil))
    var configured = Bonds.secure
    configured.clientConfiguration = ClientConfiguration(
      databaseHash: Bonds.key(8).bytes, isAware: true, features: 1, descriptors: [9: 2])
    queue.change(.update(configured))
    // Nothing was written yet, and this thread goes on.
    #expect(try store.load() == [Bonds.legacy])
    close(lock)
    await withCheckedContinuation { continuation in queue.finish { continuation.resume() } }
    #expect(try store.load() == [Bonds.legacy, configured])
    #expect(reports.withLock { $0.isEmpty } && queue.changeCount == 2)
  }

  /// Holds up a system call of a bond store until a test lets it go on.
  private final class Barrier: Sendable {
    private struct State: Sendable {
      var name: String?
      var reached: (@Sendable () -> Void)?
    }
    private let state = Mutex(State())
    private let opening = DispatchSemaphore(value: 0)

    /// Acts, and returns when the next call of this name waits for ``open()``.
    func reach(_ name: String, after action: () throws -> Void) async throws {
      let (calls, continuation) = AsyncStream.makeStream(of: Void.self)
      state.withLock {
        $0.name = name
        $0.reached = { continuation.finish() }
      }
      try action()
      for await _ in calls {}
    }

    func open() { opening.signal() }

    func willCall(_ name: String) -> Int32 {
      let reached = state.withLock { state -> (@Sendable () -> Void)? in
        guard state.name == name else { return nil }
        state.name = nil
        return state.reached
      }
      guard let reached else { return 0 }
      reached()
      opening.wait()
      return 0
    }
  }

  @Test("what was read before a bond was removed does not bring it back")
  func staleReading() async throws {
    let folder = try BondTestFolder()
    let path = folder.path + "/bonds"
    let other = BondStore(path: path)
    try other.store(Bonds.secure)
    let barrier = Barrier()
    let probe = StateFileProbe(willCall: { barrier.willCall($0) })
    let host = try host(BondStore(path: path, probe: probe))
    let client = TestClient(host)
    try await client.state(.poweredOn)
    // The shared loop has begun to watch the file by then.
    await withCheckedContinuation { next in EpollLoop.shared.execute { next.resume() } }
    try await barrier.reach("read") { try other.store(Bonds.legacy) }
    _ = try await client.ask { .removeBond(Bonds.secure.identity, $0) }
    // The reading has both bonds. After it the queue begins to remove the one from the file.
    try await barrier.reach("open folder") { barrier.open() }
    #expect(await host.snapshot().bondCount == 0)
    barrier.open()
    try await bonds(1, of: host)
    #expect(try other.load() == [Bonds.legacy])
    await host.close()
  }

  @Test("changes of one peer's bond become one, in whatever order they come")
  func merged() async throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    let queue = BondStoreQueue(store, times: .ample) { _ in }
    var random = SeededGenerator(seed: 3)
    var expected: [DeviceAddress: Bond] = [:]
    for _ in 0..<2_000 {
      var bond = Bonds.numbered(Int.random(in: 0..<20, using: &random))
      bond.clientConfiguration = ClientConfiguration(
        databaseHash: Bonds.key(8).bytes, isAware: true, features: 1,
        descriptors: [9: UInt16.random(in: 1...3, using: &random)])
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        queue.change(.store(bond, nil))
        expected[bond.identity] = bond
      case 1:
        queue.change(.update(bond))
        if expected[bond.identity] != nil { expected[bond.identity] = bond }
      default:
        queue.change(.remove(bond))
        expected[bond.identity] = nil
      }
    }
    await withCheckedContinuation { continuation in queue.finish { continuation.resume() } }
    let stored = try store.load()
    #expect(Dictionary(uniqueKeysWithValues: stored.map { ($0.identity, $0) }) == expected)
  }

  /// A queue on this store, its reports, and a wait until it has done everything.
  ///
  /// - Parameter failsFirst: Whether the first attempt fails. The last one follows it, then.
  private func perform(
    _ store: BondStore, _ changes: [BondStoreQueue.Change], reads: Bool = false,
    failsFirst: Bool = false
  ) async -> [BondStoreQueue.Report] {
    let reports = Mutex<[BondStoreQueue.Report]>([])
    let (failures, failed) = AsyncStream.makeStream(of: Void.self)
    let queue = BondStoreQueue(store, times: .ample) { report in
      reports.withLock { $0.append(report) }
      failed.finish()
    }
    for change in changes { queue.change(change) }
    if reads { queue.read() }
    if failsFirst { for await _ in failures {} }
    await withCheckedContinuation { continuation in queue.finish { continuation.resume() } }
    return reports.withLock { $0 }
  }

  @Test("a bond whose removal can't be written isn't there any more as long as the host runs")
  func unremoved() async throws {
    let folder = try BondTestFolder()
    let path = folder.path + "/bonds"
    for number in 0..<2 { try BondStore(path: path).store(Bonds.numbered(number)) }
    let store = BondStore(
      path: path, probe: StateFileProbe(willCall: { $0 == "rename" ? ENOSPC : 0 }))
    let reports = await perform(store, [.remove(Bonds.numbered(0))], reads: true)
    guard case .read(let bonds, _)? = reports.last else {
      Issue.record("\(reports)")
      return
    }
    #expect(reports.count == 2 && bonds == [Bonds.numbered(1)])
    #expect(try BondStore(path: path).load().count == 2)
  }

  @Test(
    "a bond that replaces a stronger forgotten one is stored, also if the removal failed",
    arguments: [false, true])
  func weakerAfterRemoval(_ removalFails: Bool) async throws {
    let folder = try BondTestFolder()
    let path = folder.path + "/bonds"
    let strong = Bonds.numbered(0)
    try BondStore(path: path).store(strong)
    var weak = Bonds.numbered(0)
    weak.isAuthenticated = false
    let renames = Mutex(0)
    let probe = StateFileProbe(willCall: { name in
      guard name == "rename" else { return 0 }
      let count = renames.withLock { count in
        count += 1
        return count
      }
      return removalFails && count == 1 ? ENOSPC : 0
    })
    let reports = await perform(
      BondStore(path: path, probe: probe), [.remove(strong), .store(weak, nil)],
      failsFirst: removalFails)
    // That it failed, and that it didn't at last.
    #expect(reports.count == (removalFails ? 2 : 0))
    #expect(try BondStore(path: path).load() == [weak])
  }

  @Test("a store that can't be written is a typed error, reported once; the bonds stay in use")
  func readOnly() async throws {
    let folder = try BondTestFolder()
    let path = folder.path + "/bonds"
    try BondStore(path: path).store(Bonds.secure, identity: identity(1))
    let isReadOnly = Mutex(true)
    let probe = StateFileProbe(willCall: { name in
      // As on a disk that is mounted read-only: reading works.
      isReadOnly.withLock { $0 } && ["flock", "rename", "write"].contains(name) ? EROFS : 0
    })
    let log = RecordingLog()
    let store = BondStore(path: path, probe: probe)
    let (identities, problem) = try store.loadIdentities()
    #expect(identities.isEmpty && problem?.kind == .unwritable)
    let host = try host(store, log: log)
    let client = TestClient(host)
    try await client.state(.poweredOn)
    #expect(host.bondFailure?.kind == .unwritable)
    for number in 0..<5 {
      client.send(.removeBond(Bonds.secure.identity, RequestToken(rawValue: UInt64(number))))
    }
    await host.close()
    let errors = log.entries.filter { $0.level == .error }
    #expect(errors.count == 2 && errors.first?.message.contains("cannot be written") == true)
    #expect(errors.last?.message == "1 change of bonds could not be written.")
  }

  @Test("a bond that can't be changed is an error also when the host closes at once after it")
  func closing() async throws {
    let folder = try BondTestFolder()
    let path = folder.path + "/bonds"
    try BondStore(path: path).store(Bonds.secure)
    let probe = StateFileProbe(willCall: { $0 == "rename" ? ENOSPC : 0 })
    let log = RecordingLog()
    let host = try host(BondStore(path: path, probe: probe), log: log)
    let client = TestClient(host)
    try await client.state(.poweredOn)
    #expect(host.bondFailure == nil)
    client.send(.removeBond(Bonds.secure.identity, RequestToken(rawValue: 1)))
    await host.close()
    #expect(host.bondFailure?.kind == .unwritable)
    let errors = log.entries.filter { $0.level == .error }.map(\.message)
    #expect(errors.count == 2 && errors.last == "1 change of bonds could not be written.")
    #expect(host.unwrittenBondCount == 1)
  }

  @Test("each kind of failure is logged once, though the kinds alternate")
  func kindsOfFailures() async throws {
    let folder = try BondTestFolder()
    let path = folder.path + "/bonds"
    for number in 0..<6 { try BondStore(path: path).store(Bonds.numbered(number)) }
    let failsNext = Mutex("")
    let probe = StateFileProbe(willCall: { name in
      failsNext.withLock { next in
        guard name == next else { return 0 }
        next = name == "read" ? "rename" : "read"
        return EIO
      }
    })
    let log = RecordingLog()
    let host = try host(BondStore(path: path, probe: probe), log: log)
    let client = TestClient(host)
    try await client.state(.poweredOn)
    failsNext.withLock { $0 = "rename" }
    for number in 0..<6 {
      let peer = Bonds.numbered(number).identity
      client.send(.removeBond(peer, RequestToken(rawValue: UInt64(number))))
    }
    // The last attempt comes after a first.
    while host.bondFailure == nil { try await Task.sleep(for: .milliseconds(1)) }
    await host.close()
    #expect(host.bondFailure?.kind == .unwritable)
    let errors = log.entries.filter { $0.level == .error }.map(\.message)
    #expect(errors.filter { $0.contains("tried again") }.count == 2, "\(errors)")
    #expect(try BondStore(path: path).load().count == 6)
  }

  @Test("a file that is refused when the host starts is an error with a type, and logged")
  func refused() async throws {
    let folder = try BondTestFolder()
    let path = folder.path + "/bonds"
    try Data("nonsense".utf8).write(to: URL(filePath: path))
    #expect(chmod(path, 0o600) == 0)
    let log = RecordingLog()
    let host = try host(BondStore(path: path), log: log)
    try await TestClient(host).state(.poweredOn)
    #expect(host.bondFailure?.kind == .refused)
    await host.close()
    let errors = log.entries.filter { $0.level == .error }
    #expect(errors.count == 1 && errors.first?.message.contains("Pairing is disabled") == true)
  }

  @Test("signatures that were counted once are never counted back")
  func signatures() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    var bond = Bonds.secure
    bond.peerSigning = SigningKey(Bonds.key(11), nextCounter: 5)
    bond.localSigning = SigningKey(Bonds.key(12), nextCounter: 1 << 32)
    try store.store(bond)
    #expect(try store.load() == [bond])
    for counter in [9, 7, 0] as [UInt64] {
      bond.peerSigning?.nextCounter = counter
      try store.update([bond])
      #expect(try store.load().first?.peerSigning?.nextCounter == 9)
    }
    bond.peerSigning = SigningKey(Bonds.key(13), nextCounter: 100)
    try store.update([bond])
    #expect(try store.load().first?.peerSigning == SigningKey(Bonds.key(11), nextCounter: 9))
  }
}
