import AppMachines
import AppSessions
import EventLoop
import Foundation
import Glibc
import StateFiles
import Testing

@testable import AppManagerHost

/// Processes that outlive their manager.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct AdoptionTests {
  private static let lock = "com.example.lock"
  private static let standby = "com.example.standby"

  /// A manager with the door lock, connected and in the foreground.
  private func startLock(freezer: AppFreezer = .signals) async throws -> TestManager {
    let manager = try await TestManager.start(freezer: freezer)
    try await manager.perform(.install(folder: manager.makeDoorLock()))
    try await manager.perform(.open(Self.lock, attaches: false))
    try await manager.until(Self.lock) { $0.connectionCount == 1 }
    return manager
  }

  @Test
  func `A frozen process stays frozen over a restart of the manager, and opens its door once`()
    async throws
  {
    let first = try await startLock()
    try await first.perform(.background(Self.lock))
    first.radio.moveOutOfRange()
    let app = try await first.until(Self.lock) {
      $0.state == .suspended && $0.pendingConnectionCount == 1
    }
    let process = try #require(app.processID)
    await first.server.close(leavesApps: true)
    #expect(ProcessTable.isStopped(process))

    let second = try await TestManager.start(after: first)
    let taken = try await second.app(Self.lock)
    #expect(taken.state == .suspended && taken.processID == process)
    #expect(taken.pendingConnectionCount == 1)
    #expect(ProcessTable.isStopped(process))
    second.radio.moveIntoRange()
    var openings = second.radio.openings.makeAsyncIterator()
    #expect(await openings.next() == 1)
    let woken = try await second.until(Self.lock) { $0.state == .suspended }
    #expect(woken.processID == process && woken.counts.launchCount == 0)
    #expect(woken.counts.unacknowledgedCount == 0 && woken.counts.crashCount == 0)
    try await second.perform(.forceQuit(Self.lock))
    try await second.until(Self.lock) { $0.state == .notRunning }
    #expect(processState(process) == nil)
    await second.close()
  }

  @Test(
    .enabled(if: TestGroup.isAvailable, "no control group can be made here"),
    arguments: [true, false])
  func `A process that a manager with another freezer has suspended stays so, and is woken`(
    _ beginsWithGroup: Bool
  ) async throws {
    let group = try #require(TestGroup.make("adoption-\(beginsWithGroup)"))
    defer { rmdir(group) }
    let freezers = [AppFreezer.controlGroups(folder: group), .signals]
    let first = try await startLock(freezer: freezers[beginsWithGroup ? 0 : 1])
    try await first.perform(.background(Self.lock))
    first.radio.moveOutOfRange()
    let app = try await first.until(Self.lock) {
      $0.state == .suspended && $0.pendingConnectionCount == 1
    }
    let process = try #require(app.processID)
    await first.server.close(leavesApps: true)

    let second = try await TestManager.start(
      after: first, freezer: freezers[beginsWithGroup ? 1 : 0])
    let taken = try await second.app(Self.lock)
    #expect(taken.state == .suspended && taken.processID == process)
    second.radio.moveIntoRange()
    var openings = second.radio.openings.makeAsyncIterator()
    #expect(await openings.next() == 1)
    let woken = try await second.until(Self.lock) { $0.state == .suspended }
    #expect(woken.processID == process && woken.counts.launchCount == 0)
    try await second.perform(.forceQuit(Self.lock))
    try await second.until(Self.lock) { $0.state == .notRunning }
    #expect(processState(process) == nil)
    await second.close()
  }

  @Test func `A process in the foreground goes on with the next manager`() async throws {
    let first = try await startLock()
    let process = try #require(try await first.app(Self.lock).processID)
    await first.server.close(leavesApps: true)

    let second = try await TestManager.start(after: first)
    try await second.until(Self.lock) { $0.state == .active && $0.processID == process }
    // It connects again by itself: its radio was gone for a moment.
    try await second.until(Self.lock) { $0.connectionCount == 1 }
    try await second.perform(.background(Self.lock))
    try await second.untilLines(of: Self.lock) { $0.contains("in the background") }
    let app = try await second.until(Self.lock) { $0.state == .suspended }
    #expect(app.processID == process && app.counts.launchCount == 0)
    await second.close()
    #expect(processState(process) == nil)
  }

  @Test(arguments: [false, true])
  func `Held sockets go on with the processes that have them`(_ isFrozen: Bool) async throws {
    let first = try await TestManager.start()
    let server = try TestServer()
    try await first.perform(.install(folder: first.makeStandby(port: server.port)))
    try await first.perform(.open(Self.standby, attaches: false))
    let connection = try await server.accept()
    try await first.until(Self.standby) { $0.heldSockets?.count == 1 }
    if isFrozen {
      try await first.perform(.background(Self.standby))
      try await first.until(Self.standby) { $0.state == .suspended }
    }
    let process = try #require(try await first.app(Self.standby).processID)
    await first.server.close(leavesApps: true)

    let second = try await TestManager.start(after: first)
    // Without a service manager, a frozen process is woken to hand its socket over again.
    let state: AppLifeState = isFrozen ? .suspended : .active
    try await second.until(Self.standby) { $0.heldSockets?.count == 1 && $0.state == state }
    connection.send("still there\n")
    try await second.untilLines(of: Self.standby) { $0.contains("message: still there") }
    let app = try await second.until(Self.standby) { $0.state == state }
    #expect(app.processID == process && app.counts.launchCount == 0)
    #expect(app.counts.reasonCounts[.socket] == (isFrozen ? 1 : nil))
    await second.close()
  }

  @Test(arguments: [false, true])
  func `An app that was ended connects again with the next manager, to which its socket is lost`(
    _ isStopped: Bool
  ) async throws {
    let first = try await TestManager.start()
    let server = try TestServer()
    try await first.perform(.install(folder: first.makeStandby(port: server.port)))
    try await first.perform(.open(Self.standby, attaches: false))
    let earlier = try await server.accept()
    defer { withExtendedLifetime(earlier) {} }
    try await first.until(Self.standby) { $0.heldSockets?.count == 1 }
    try await first.perform(.background(Self.standby))
    try await first.until(Self.standby) { $0.state == .suspended }
    try await first.perform(.terminate(Self.standby))
    try await first.until(Self.standby) { $0.state == .notRunning }
    try await first.untilWritten()
    await first.server.close(leavesApps: !isStopped)

    let second = try await TestManager.start(after: first)
    let connection = try await server.accept()
    try await second.until(Self.standby) {
      $0.heldSockets?.count == 1 && $0.state == .suspended
    }
    connection.send("hello\n")
    try await second.untilLines(of: Self.standby) { $0.contains("message: hello") }
    let app = try await second.until(Self.standby) { $0.state == .suspended }
    #expect(app.counts.launchCount == 1 && app.counts.reasonCounts == [.voip: 1, .socket: 1])
    // The person has ended it: the next manager doesn't launch it.
    try await second.perform(.forceQuit(Self.standby))
    try await second.untilWritten()
    await second.server.close(leavesApps: true)
    let third = try await TestManager.start(after: second)
    #expect(try await third.app(Self.standby).state == .notRunning)
    await third.close()
  }

  @Test
  func `An app that wants no connection is launched by three managers for the one that it had`()
    async throws
  {
    var manager = try await TestManager.start()
    try await manager.perform(
      .install(folder: manager.makeServicesApp(orders: "", modes: ["voip"])))
    try await manager.untilWritten()
    await manager.server.close()
    var contents = manager.store.read()
    contents.details.append(
      AppDetailRecord(app: TestManager.services, kind: .heldSocket, contents: []))
    manager.store.write(contents)
    for number in 1...3 {
      manager = try await TestManager.start(after: manager)
      let app = try await manager.until(TestManager.services) {
        $0.counts.launchCount == 1 && $0.state == .suspended
      }
      #expect(app.counts.reasonCounts == [.voip: 1])
      if number == 3 {
        try await manager.untilReport { $0.contains("wants no connection any more") }
      }
      try await manager.untilWritten()
      await manager.server.close()
      let notes = manager.store.read().details.filter { $0.kind == "heldSocket" }
      #expect(notes.map { Array($0.contents) } == (number < 3 ? [[UInt8(number)]] : []))
    }
    manager = try await TestManager.start(after: manager)
    #expect(try await manager.app(TestManager.services).state == .notRunning)
    await manager.close()
  }

  @Test func `A held socket that the service manager keeps wakes a process that stays frozen`()
    async throws
  {
    let folder = try TestManager.makeFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let service = try TestServiceManager(at: folder + "/notify")
    let first = try await TestManager.start(
      descriptors: DescriptorStore(notifySocket: service.path))
    let server = try TestServer()
    try await first.perform(.install(folder: first.makeStandby(port: server.port)))
    try await first.perform(.open(Self.standby, attaches: false))
    let connection = try await server.accept()
    #expect(try await service.receive() == "held-1")
    try await first.perform(.background(Self.standby))
    let suspended = try await first.until(Self.standby) { $0.state == .suspended }
    let process = try #require(suspended.processID)
    await first.server.close(leavesApps: true)

    let second = try await TestManager.start(
      after: first,
      descriptors: DescriptorStore(notifySocket: service.path, inherited: service.take()))
    let taken = try await second.app(Self.standby)
    #expect(taken.state == .suspended && taken.heldSockets?.count == 1)
    #expect(ProcessTable.isStopped(process))
    connection.send("hello\n")
    try await second.untilLines(of: Self.standby) { $0.contains("message: hello") }
    let app = try await second.until(Self.standby) { $0.state == .suspended }
    #expect(app.processID == process && app.counts.launchCount == 0)
    await second.close()
  }

  @Test func `An app that writes without a manager is not ended by it, and its lines are kept`()
    async throws
  {
    let first = try await TestManager.start()
    let id = "com.example.writer"
    // It is no app of the library: it writes, whoever reads.
    let folder = try first.makeApp(
      id,
      script: "echo begun\nwhile [ ! -e go ]; do sleep 0.01; done\necho written\nexec sleep 1000"
    )
    try await first.perform(.install(folder: folder))
    try await first.perform(.open(id, attaches: false))
    try await first.untilLines(of: id) { $0 == ["begun"] }
    let process = try #require(try await first.app(id).processID)
    await first.server.close(leavesApps: true)
    try "".write(toFile: folder + "/go", atomically: true, encoding: .utf8)
    while try String(contentsOfFile: "/proc/\(process)/comm", encoding: .utf8) != "sleep\n"
      || !(try String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8))
        .contains("1000")
    { try await Task.sleep(for: .milliseconds(5)) }

    let second = try await TestManager.start(after: first)
    try await second.untilLines(of: id) { $0 == ["written"] }
    #expect(try await second.app(id).processID == process)
    await second.close()
  }

  @Test func `A process whose app's folder has vanished is ended, and so is one of another boot`()
    async throws
  {
    let first = try await startLock()
    let process = try #require(try await first.app(Self.lock).processID)
    await first.server.close(leavesApps: true)
    let plist = first.folder + "/DoorLock/Info.plist"
    try FileManager.default.moveItem(atPath: plist, toPath: plist + "-away")
    let second = try await TestManager.start(after: first)
    try await second.untilReport { $0.contains("can't be taken over") }
    #expect(try await second.app(Self.lock).state == .notRunning)
    #expect(processState(process) == nil || processState(process) == "Z")
    await second.close()
  }

  @Test(arguments: [".processes.json", ".sockets.json"])
  func `Processes go on, frozen as they are, while a list of the last manager can't be read`(
    _ list: String
  ) async throws {
    let first = try await startLock()
    try await first.perform(.background(Self.lock))
    first.radio.moveOutOfRange()
    let app = try await first.until(Self.lock) {
      $0.state == .suspended && $0.pendingConnectionCount == 1
    }
    let process = try #require(app.processID)
    await first.server.close(leavesApps: true)
    let file =
      list == ".processes.json"
      ? first.path + list : AppManagerPlace.sockets(beside: first.path) + ".json"
    let isThere = FileManager.default.fileExists(atPath: file)
    if isThere { try FileManager.default.moveItem(atPath: file, toPath: file + "-away") }
    try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
    for _ in 1...2 {
      // The service manager starts it again.
      let refusal = await #expect(throws: AppManagerServerError.self) {
        try await TestManager.start(after: first)
      }
      #expect(refusal?.sentence.contains("can't be read: it is a folder") == true)
      #expect(ProcessTable.isStopped(process))
    }
    try FileManager.default.removeItem(atPath: file)
    if isThere { try FileManager.default.moveItem(atPath: file + "-away", toPath: file) }
    let second = try await TestManager.start(after: first)
    let taken = try await second.app(Self.lock)
    #expect(taken.state == .suspended && taken.processID == process)
    await second.close()
  }

  @Test func `A process goes on whose app's folder can't be read for now`() async throws {
    let first = try await startLock()
    let process = try #require(try await first.app(Self.lock).processID)
    try await first.untilWritten()
    await first.server.close(leavesApps: true)
    let plist = first.folder + "/DoorLock/Info.plist"
    try FileManager.default.moveItem(atPath: plist, toPath: plist + "-away")
    // It is there, and no file that can be read.
    try FileManager.default.createDirectory(atPath: plist, withIntermediateDirectories: false)
    let second = try await TestManager.start(after: first)
    try await second.untilReport { $0.contains("goes on as it was") }
    try await second.until(Self.lock) { $0.state == .active && $0.processID == process }
    try await second.until(Self.lock) { $0.connectionCount == 1 }
    await second.close()
  }

  // Not in a process of its own: a manager of another test, which ends later, could take its end.
  @Test func `Without descriptors, no process counts as one that has ended`() throws {
    let record = AppProcessRecord(
      app: "com.example.lock", id: AppProcessID(rawValue: 1), processID: getpid(),
      startTime: try #require(ProcessTable.entry(of: getpid())).startTime, mark: "mark",
      isInForeground: false, mustResume: false)
    // It is another process's mark.
    #expect(try !record.isLeft())
    #expect(try record.openProcess() == nil)
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limits = rlimit()
    try #require(unsafe getrlimit(resource, &limits) == 0)
    var usual = limits
    limits.rlim_cur = 0
    try #require(unsafe setrlimit(resource, &limits) == 0)
    let isLeft = Result { try record.isLeft() }
    let process = Result { try record.openProcess() }
    try #require(unsafe setrlimit(resource, &usual) == 0)
    #expect(throws: SystemError(number: EMFILE)) { try isLeft.get() }
    #expect(throws: SystemError(number: EMFILE)) { try process.get() }
  }

  @Test(arguments: ["boot", "startTime", "version"])
  func `A record of another boot, process or version is none`(_ kind: String) async throws {
    let first = try await startLock()
    let path = first.path
    await first.server.close(leavesApps: true)
    let file = AppProcessFile(beside: path)
    #expect(try file.readRunning().count == 1)
    let place = path + ".processes.json"
    var text = try String(contentsOfFile: place, encoding: .utf8)
    switch kind {
    case "boot": text = text.replacing("\"boot\":\"", with: "\"boot\":\"0")
    case "startTime": text = text.replacing("\"startTime\":", with: "\"startTime\":1")
    default: text = text.replacing("\"version\":1", with: "\"version\":2")
    }
    try text.write(toFile: place, atomically: false, encoding: .utf8)
    #expect(try file.readRunning().isEmpty)
    try "{".write(toFile: place, atomically: false, encoding: .utf8)
    let damage = #expect(throws: StateFileError.self) { try file.readRunning() }
    #expect(damage?.kind == .damaged)
    let last = try LastManager(at: path)
    #expect(last.processes.isEmpty)
    #expect(last.reports.contains { $0.contains("list of processes") && $0.contains("damaged") })
    // Of this manager, which runs on, nothing is a leftover; so it ends here.
    for child in ProcessTable.children() {
      if ProcessTable.hasEnvironment("AMBIT_APPS=\(path)", child) { kill(child, SIGKILL) }
    }
    await first.radio.close()
    try FileManager.default.removeItem(atPath: first.folder)
  }
}
