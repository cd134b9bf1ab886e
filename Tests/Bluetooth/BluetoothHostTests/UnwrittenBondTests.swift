import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import EventLoop
import Foundation
import Glibc
import SimulatedRadio
import StateFiles
import Synchronization
import Testing

@testable import BluetoothHost

/// Bonds that can't be written at first.
@Suite("Bonds that can't be written yet", .timeLimit(.minutes(5)))
struct UnwrittenBondTests {
  /// A disk that refuses calls of a name until it is mended.
  private final class Disk: Sendable {
    private let refused: Mutex<Set<String>>
    let error: Int32

    init(refusing names: Set<String>, with error: Int32 = ENOSPC) {
      refused = Mutex(names)
      self.error = error
    }

    func mend() { refused.withLock { $0 = [] } }
    var probe: StateFileProbe {
      StateFileProbe(willCall: { name in
        self.refused.withLock { $0.contains(name) } ? self.error : 0
      })
    }
  }

  private let folder: BondTestFolder
  private let path: String

  init() throws {
    folder = try BondTestFolder()
    path = folder.path + "/bonds"
  }

  private static var soon: StateWriter.Times {
    var times = StateWriter.Times.ample
    times.firstPause = .milliseconds(1)
    times.longestPause = .milliseconds(4)
    return times
  }

  private static var never: StateWriter.Times {
    var times = StateWriter.Times.ample
    times.firstPause = .seconds(3_600)
    times.longestPause = .seconds(3_600)
    return times
  }

  private typealias Reports = AsyncStream<BondStoreQueue.Report>

  /// A queue, and its reports.
  private func queue(_ disk: Disk, _ times: StateWriter.Times) -> (BondStoreQueue, Reports) {
    let (reports, post) = Reports.makeStream()
    let queue = BondStoreQueue(BondStore(path: path, probe: disk.probe), times: times) {
      post.yield($0)
    }
    return (queue, reports)
  }

  private func next(_ reports: Reports) async -> BondStoreQueue.Report? {
    for await report in reports { return report }
    return nil
  }

  private func finish(_ queue: BondStoreQueue) async {
    await withCheckedContinuation { next in queue.finish { next.resume() } }
  }

  private var stored: [Bond] { get throws { try BondStore(path: path).load() } }

  @Test(
    "thirty bonds of a full disk are written in their order once there is room",
    arguments: ["fchmod", "write", "fsync", "rename", "flock", "fsync folder"])
  func fullDisk(_ call: String) async throws {
    try BondStore(path: path).store(Bonds.numbered(100))
    let disk = Disk(refusing: [call])
    let (queue, reports) = queue(disk, Self.soon)
    for number in 0..<30 { queue.change(.store(Bonds.numbered(number), nil)) }
    queue.change(.remove(Bonds.numbered(100)))
    guard case .failed(let error)? = await next(reports) else {
      Issue.record("no failure was reported")
      return
    }
    #expect(error.kind == .unwritable && queue.unwrittenCount > 0)
    disk.mend()
    guard case .recovered? = await next(reports) else {
      Issue.record("no recovery was reported")
      return
    }
    await finish(queue)
    #expect(try stored == (0..<30).map { Bonds.numbered($0) })
    #expect(queue.unwrittenCount == 0)
  }

  @Test("a lock that is held for longer than an attempt delays bonds and removals, and loses none")
  func lockedForLong() async throws {
    try BondStore(path: path).store(Bonds.legacy)
    let lock = open(path + ".lock", O_RDWR)
    #expect(lock >= 0 && flock(lock, LOCK_EX) == 0)
    let (queue, reports) = queue(Disk(refusing: []), Self.soon)
    queue.change(.store(Bonds.secure, nil))
    queue.change(.remove(Bonds.legacy))
    guard case .failed(let error)? = await next(reports) else {
      Issue.record("no failure was reported")
      return
    }
    #expect(error.kind == .busy)
    #expect(try stored == [Bonds.legacy])
    close(lock)
    guard case .recovered? = await next(reports) else {
      Issue.record("no recovery was reported")
      return
    }
    #expect(try stored == [Bonds.secure])
  }

  @Test("the end tries once more, and does not wait for the pause")
  func lastAttempt() async throws {
    let disk = Disk(refusing: ["rename"])
    let (queue, reports) = queue(disk, Self.never)
    queue.change(.store(Bonds.secure, nil))
    _ = await next(reports)
    queue.change(.store(Bonds.legacy, nil))
    disk.mend()
    await finish(queue)
    #expect(try stored == [Bonds.secure, Bonds.legacy])
  }

  @Test("a process that exits at once writes its last bond before it ends")
  func exiting() async throws {
    await #expect(processExitsWith: .success) { [path = path as String] in
      let queue = BondStoreQueue(BondStore(path: path), times: .ample) { _ in }
      queue.change(.store(Bonds.secure, nil))
      exit(0)
    }
    #expect(try stored == [Bonds.secure])
  }

  @Test("the end is not later than its time, even if the disk never answers")
  func frozenDisk() async throws {
    let opening = DispatchSemaphore(value: 0)
    var times = Self.never
    times.end = .milliseconds(20)
    let store = BondStore(
      path: path,
      probe: StateFileProbe(willCall: { name in
        if name == "fsync" { opening.wait() }
        return 0
      }))
    let queue = BondStoreQueue(store, times: times) { _ in }
    queue.change(.store(Bonds.secure, nil))
    queue.change(.store(Bonds.legacy, nil))
    await finish(queue)
    #expect(try stored == [])
    // The one at which the disk doesn't answer counts, too.
    #expect(queue.unwrittenCount == 2 && queue.unwrittenNewBondCount == 2)
    opening.signal()
    opening.signal()
    await finish(queue)
  }

  @Test("a bond that another process stored meanwhile is not replaced by an older one")
  func newerBond() async throws {
    var old = Bonds.secure
    old.centralKey = LongTermKey(Bonds.key(77))
    let disk = Disk(refusing: ["rename"])
    let (queue, reports) = queue(disk, Self.never)
    queue.change(.store(old, nil))
    _ = await next(reports)
    try BondStore(path: path).store(Bonds.secure)
    disk.mend()
    await finish(queue)
    guard case .failed(let error)? = await next(reports) else {
      Issue.record("it was not reported")
      return
    }
    #expect(error.kind == .replaced)
    #expect(try stored == [Bonds.secure])
    #expect(queue.unwrittenCount == 0)
  }

  @Test("a bond that another process forgot meanwhile does not come back")
  func forgotten() async throws {
    try BondStore(path: path).store(Bonds.secure)
    var new = Bonds.secure
    new.centralKey = LongTermKey(Bonds.key(77))
    let disk = Disk(refusing: ["rename"])
    let (queue, reports) = queue(disk, Self.never)
    queue.change(.store(new, nil))
    _ = await next(reports)
    try BondStore(path: path).remove(Bonds.secure)
    disk.mend()
    await finish(queue)
    #expect(try stored == [])
  }

  @Test("a removal that failed does not remove the bond that another process stored meanwhile")
  func removalOfNewer() async throws {
    var old = Bonds.secure
    old.centralKey = LongTermKey(Bonds.key(77))
    try BondStore(path: path).store(old)
    let disk = Disk(refusing: ["rename"])
    let (queue, reports) = queue(disk, Self.never)
    queue.change(.remove(old))
    _ = await next(reports)
    try BondStore(path: path).store(Bonds.secure)
    disk.mend()
    await finish(queue)
    #expect(try stored == [Bonds.secure])
  }

  @Test("a removal that happened although it failed, or by another process, is no conflict")
  func removedAlready() async throws {
    for call in ["fsync folder", "rename"] {
      try BondStore(path: path).store(Bonds.secure)
      let disk = Disk(refusing: [call])
      let (queue, reports) = queue(disk, Self.never)
      queue.change(.remove(Bonds.secure))
      guard case .failed(let error)? = await next(reports) else {
        Issue.record("no failure was reported")
        return
      }
      #expect(error.kind == .unwritable)
      #expect(try stored == (call == "rename" ? [Bonds.secure] : []))
      try BondStore(path: path).remove(Bonds.secure)
      disk.mend()
      await finish(queue)
      guard case .recovered? = await next(reports) else {
        Issue.record("no recovery was reported after \(call)")
        return
      }
      #expect(try stored == [] && queue.unwrittenCount == 0)
    }
  }

  @Test("a bond whose address another process uses delays no later change")
  func addressInUse() async throws {
    let addresses = (1...2).map { number in
      HostIdentity(
        address: DeviceAddress(bits: 0xD000_0000_0000 + UInt64(number), kind: .random),
        resolvingKey: Bonds.key(number))
    }
    var other: BondStore? = BondStore(path: path)
    try other?.store(Bonds.secure, identity: addresses[0])
    let (queue, reports) = queue(Disk(refusing: []), Self.never)
    queue.change(.store(Bonds.legacy, addresses[1]))
    guard case .failed(let error)? = await next(reports) else {
      Issue.record("no failure was reported")
      return
    }
    #expect(error.kind == .addressInUse)
    queue.change(.remove(Bonds.secure))
    queue.read()
    guard case .read? = await next(reports) else {
      Issue.record("the bonds were not read")
      return
    }
    try await unwritten(1, of: queue)
    #expect(try stored == [])
    other = nil
    await finish(queue)
    #expect(try stored == [Bonds.legacy])
  }

  /// Waits until this number of changes is not written. A reading may come before the last one is.
  private func unwritten(_ count: Int, of queue: BondStoreQueue) async throws {
    while queue.unwrittenCount != count { try await Task.sleep(for: .milliseconds(1)) }
  }

  @Test("a bond that finds the file full delays no later change, and is stored once there is room")
  func fullFile() async throws {
    var file = BondFile()
    for number in 0..<BondFile.bondCountMax { _ = file.store(Bonds.numbered(number)) }
    try folder.write(file.bytes)
    let (queue, reports) = queue(Disk(refusing: []), Self.never)
    queue.change(.store(Bonds.secure, nil))
    guard case .failed(let error)? = await next(reports) else {
      Issue.record("no failure was reported")
      return
    }
    #expect(error.kind == .full)
    queue.change(.remove(Bonds.numbered(3)))
    queue.read()
    guard case .read? = await next(reports) else {
      Issue.record("the bonds were not read")
      return
    }
    try await unwritten(1, of: queue)
    #expect(try !stored.contains(Bonds.numbered(3)))
    await finish(queue)
    #expect(try stored.last == Bonds.secure)
  }

  @Test(
    "a bond of a new pairing replaces a damaged file, also if the damage was read before",
    arguments: [false, true])
  func damagedFile(_ isRead: Bool) async throws {
    try BondStore(path: path).store(Bonds.secure)
    let (queue, reports) = queue(Disk(refusing: []), Self.never)
    queue.read()
    guard case .read? = await next(reports) else {
      Issue.record("the bonds were not read")
      return
    }
    try folder.write(Array(folder.read().dropLast(1)))
    if isRead {
      queue.read()
      guard case .failed(let error)? = await next(reports) else {
        Issue.record("no failure was reported")
        return
      }
      #expect(error.kind == .damaged)
    }
    var new = Bonds.secure
    new.centralKey = LongTermKey(Bonds.key(77))
    queue.change(.store(new, nil))
    guard case .damagedFileKept? = await next(reports) else {
      Issue.record("the damaged file was not kept")
      return
    }
    await finish(queue)
    #expect(try stored == [new] && queue.unwrittenCount == 0)
  }

  @Test("bonds that can't be read are read again until that succeeds")
  func failedReading() async throws {
    try BondStore(path: path).store(Bonds.secure)
    let disk = Disk(refusing: ["read"], with: EIO)
    let (queue, reports) = queue(disk, Self.soon)
    queue.read()
    guard case .failed(let error)? = await next(reports) else {
      Issue.record("no failure was reported")
      return
    }
    #expect(error.kind == .unreadable)
    disk.mend()
    guard case .read(let bonds, _)? = await next(reports) else {
      Issue.record("the bonds were not read again")
      return
    }
    #expect(bonds == [Bonds.secure])
    guard case .recovered? = await next(reports) else {
      Issue.record("no recovery was reported")
      return
    }
  }

  @Test(
    "bonds that a starting host can't read are loaded with its identities when they can be read")
  func failedLoading() async throws {
    let identity = HostIdentity(
      address: DeviceAddress(bits: 0x0011_2233_4455, kind: .public), resolvingKey: Bonds.key(9))
    try BondStore(path: path).store(Bonds.secure, identity: identity)
    let disk = Disk(refusing: ["read"], with: EMFILE)
    let (queue, reports) = queue(disk, Self.soon)
    queue.load()
    guard case .failed(let error)? = await next(reports) else {
      Issue.record("no failure was reported")
      return
    }
    #expect(error.kind == .unreadable)
    disk.mend()
    guard case .loaded(let bonds, let identities, nil)? = await next(reports) else {
      Issue.record("the bonds were not loaded")
      return
    }
    #expect(bonds == [Bonds.secure] && identities == [identity])
    guard case .recovered? = await next(reports) else {
      Issue.record("no recovery was reported")
      return
    }
    // Later, they are bonds that may have changed.
    queue.read()
    guard case .read? = await next(reports) else {
      Issue.record("the bonds were not read")
      return
    }
  }

  @Test(
    "a host whose file of bonds can't be used at first says so, and uses it once it can, with a restart of the radio"
  )
  func lateBonds() async throws {
    SimulatedRadio.install()
    try BondStore(path: path).store(Bonds.secure)
    let good = try folder.read()
    try folder.write(Array("Dear Ann,\n".utf8))
    let log = RecordingLog()
    let host = try BluetoothHost(
      radio: .simulated(.init(isPopulated: false)), bondsIn: path, logger: log.logger)
    let client = TestClient(host)
    try await client.state(.poweredOn)
    #expect(host.bondFailure?.kind == .refused)
    #expect(await host.snapshot().bondCount == 0)
    try folder.write(good)
    try await client.state(.poweredOff)
    try await client.state(.poweredOn)
    #expect(host.bondFailure == nil)
    #expect(await host.snapshot().bondCount == 1)
    let sentences = log.entries.map(\.message)
    #expect(sentences.contains { $0.contains("the file is read again until then") })
    #expect(sentences.contains { $0.contains("pairing is enabled") })
    await host.close()
  }

  @Test(
    "a host that is started without descriptors loads its bonds, and notices what other programs change, once it has some"
  )
  func noDescriptors() async {
    // A process of its own, whose limit it sets.
    await #expect(processExitsWith: .success) {
      SimulatedRadio.install()
      let folder = try BondTestFolder()
      let path = folder.path + "/bonds"
      try BondStore(path: path).store(Bonds.secure)
      // The loop has its own descriptors before.
      await withCheckedContinuation { done in EpollLoop.shared.execute { done.resume() } }
      var limits = rlimit(rlim_cur: 256, rlim_max: 256)
      try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      var files: [Int32] = []
      while case let file = dup(0), file >= 0 { files.append(file) }
      let log = RecordingLog()
      let host = try BluetoothHost(
        radio: .simulated(.init(isPopulated: false)), bondsIn: path, logger: log.logger)
      let client = TestClient(host)
      try await client.state(.poweredOn)
      await withCheckedContinuation { done in EpollLoop.shared.execute { done.resume() } }
      #expect(host.bondFailure?.kind == .unreadable)
      #expect(
        log.entries.contains { $0.message.contains("are not noticed until the system gives") })
      for file in files { close(file) }
      try await client.state(.poweredOff)
      try await client.state(.poweredOn)
      #expect(host.bondFailure == nil)
      // Which is noticed a second later at the latest, by the watch.
      try BondStore(path: path).store(Bonds.numbered(1))
      while await host.snapshot().bondCount != 2 { try await Task.sleep(for: .milliseconds(20)) }
      await host.close()
    }
  }

  @Test("bonds that can't be written take no more room than the file has, twice")
  func bounded() {
    var changes = BondChanges()
    let count = BondChanges.countMax + 50
    for number in 0..<count { changes.append(BondChange(.store(Bonds.numbered(number), nil))) }
    #expect(changes.count == BondChanges.countMax)
    #expect(changes.droppedCount == 50)
    #expect(changes.all.first?.bond == Bonds.numbered(50))
    #expect(changes.all.last?.bond == Bonds.numbered(count - 1))
  }
}
