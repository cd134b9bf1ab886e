import AppMachines
import AppSessions
import Essentials
import EventLoop
import Foundation
import Glibc
import Testing

@testable import AppManagerHost

/// A manager of apps in a folder of its own, on a simulated radio.
final class TestManager: ManagerCommands {
  let folder: String
  let radio: LockRadio
  let server: AppManagerServer
  let store: AppStoreMemory

  /// Shorter times than a phone's, so that a test doesn't wait.
  static var limits: AppLimits {
    var limits = AppLimits()
    limits.endingTime = .milliseconds(300)
    limits.crashPause = .milliseconds(100)
    // They end a process that hangs. On a busy machine, one that doesn't may take some seconds.
    limits.launchTime = .seconds(120)
    limits.enteringBackgroundTime = .seconds(120)
    return limits
  }

  var path: String { server.path }

  private init(
    folder: String, radio: LockRadio, server: AppManagerServer, store: AppStoreMemory
  ) {
    self.folder = folder
    self.radio = radio
    self.server = server
    self.store = store
  }

  static func start(
    freezer: AppFreezer = .signals, limits: AppLimits = TestManager.limits,
    socketTimes: HeldSocketTimes = HeldSocketTimes(), descriptors: DescriptorStore = .none,
    alerts: AppAlertStyle = .terminal, memory: MemoryFiles = .none
  ) async throws -> TestManager {
    let folder = try makeFolder()
    let radio = try await LockRadio(in: folder)
    let store = AppStoreMemory()
    let server = try await AppManagerServer.start(
      at: folder + "/run/apps", radio.host, store: store, freezer: freezer, limits: limits,
      socketTimes: socketTimes, descriptors: descriptors, alerts: alerts, memory: memory)
    return TestManager(folder: folder, radio: radio, server: server, store: store)
  }

  /// Starts the next manager after one that was closed, on the same radio.
  static func start(
    after last: TestManager, freezer: AppFreezer = .signals,
    limits: AppLimits = TestManager.limits, descriptors: DescriptorStore = .none
  ) async throws -> TestManager {
    let server = try await AppManagerServer.start(
      at: last.path, last.radio.host, store: last.store, freezer: freezer, limits: limits,
      descriptors: descriptors, memory: .none)
    return TestManager(folder: last.folder, radio: last.radio, server: server, store: last.store)
  }

  static func makeFolder() throws -> String {
    let folder = "/tmp/ambit-apps-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return folder
  }

  func close() async {
    await server.close()
    await radio.close()
    try? FileManager.default.removeItem(atPath: folder)
  }

  // MARK: Apps

  /// Makes the folder of an app, whose executable is a script of the shell.
  func makeApp(
    _ identifier: String, script: String = "exec sleep 1000", modes: [String] = []
  ) throws -> String {
    try Self.makeApp(identifier, in: folder, script: script, modes: modes)
  }

  static func makeApp(
    _ identifier: String, in folder: String, script: String, modes: [String] = []
  ) throws -> String {
    let place = folder + "/" + identifier
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    try "#!/bin/sh\n\(script)\n".write(
      toFile: place + "/program", atomically: true, encoding: .utf8)
    chmod(place + "/program", 0o755)
    try writePlist(
      [
        "CFBundleIdentifier": identifier, "CFBundleExecutable": "program",
        "UIBackgroundModes": modes,
      ], in: place)
    return place
  }

  static func writePlist(_ plist: [String: Any], in folder: String) throws {
    let data = try PropertyListSerialization.data(
      fromPropertyList: plist, format: .xml, options: 0)
    try data.write(to: URL(filePath: folder + "/Info.plist"))
  }

  /// The folder of the door lock, with the program of this build.
  func makeDoorLock() throws -> String { try Self.makeDoorLock(in: folder) }

  static func makeDoorLock(in folder: String) throws -> String {
    try makeApp(
      "com.example.lock", at: folder + "/DoorLock", program: "door-lock",
      modes: ["bluetooth-central"])
  }

  /// The folder of the app that records a heart rate, with the program of this build.
  func makePulseLog() throws -> String {
    try Self.makeApp(
      "com.example.pulse", at: folder + "/PulseLog", program: "pulse-log",
      modes: ["bluetooth-central"])
  }

  /// The folder of an app that does what `orders` has.
  func makeServicesApp(
    _ identifier: String = TestManager.services, orders: String, modes: [String] = [],
    tasks: [String] = []
  ) throws -> String {
    let place = try Self.makeApp(
      identifier, at: folder + "/" + identifier, program: "app-services", modes: modes,
      tasks: tasks)
    try orders.write(toFile: place + "/orders", atomically: true, encoding: .utf8)
    return place
  }

  static let services = "com.example.services"

  private static func makeApp(
    _ identifier: String, at place: String, program: String, modes: [String], tasks: [String] = []
  ) throws -> String {
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    let executable = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: program).resolvingSymlinksInPath()
    try FileManager.default.createSymbolicLink(
      atPath: place + "/" + program, withDestinationPath: executable.path)
    try writePlist(
      [
        "CFBundleIdentifier": identifier, "CFBundleExecutable": program,
        "UIBackgroundModes": modes, "BGTaskSchedulerPermittedIdentifiers": tasks,
        "NSLocationAlwaysAndWhenInUseUsageDescription": "Greets visitors.",
        "NSLocationWhenInUseUsageDescription": "Greets visitors.",
      ], in: place)
    return place
  }
}

/// A manager to which commands are given.
protocol ManagerCommands: Sendable {
  var path: String { get }
}

extension ManagerCommands {
  @discardableResult
  func perform(_ command: AppManagerCommand) async throws -> AppCommandReply {
    for try await reply in AppCommandClient.replies(to: command, at: path) { return reply }
    throw CancellationError()
  }

  func app(_ identifier: String) async throws -> AppManagerStatus.App {
    guard case .status(let status) = try await perform(.status),
      let app = status.apps.first(where: { $0.identifier == identifier })
    else { throw CancellationError() }
    return app
  }

  func lines(of identifier: String) async throws -> [String] {
    guard case .log(let lines) = try await perform(.log(identifier)) else { return [] }
    return lines
  }

  /// Waits until an app is in a state for which `condition` is true.
  @discardableResult
  func until(
    _ identifier: String, _ condition: (AppManagerStatus.App) -> Bool
  ) async throws -> AppManagerStatus.App {
    while true {
      let app = try await app(identifier)
      if condition(app) { return app }
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}

extension ManagerCommands {
  /// Waits until all that the next manager takes over is on the disk.
  func untilWritten() async throws {
    while true {
      if case .status(let status) = try await perform(.status), status.isWritten ?? false { return }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Waits until the manager has reported a sentence for which `condition` is true.
  func untilReport(_ condition: (String) -> Bool) async throws {
    while true {
      if case .status(let status) = try await perform(.status),
        status.reports.contains(where: condition)
      {
        return
      }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Waits until an app has written lines for which `condition` is true.
  @discardableResult
  func untilLines(
    of identifier: String, _ condition: ([String]) -> Bool
  ) async throws -> [String] {
    while true {
      let lines = try await lines(of: identifier)
      if condition(lines) { return lines }
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}

/// The state of a process in /proc/PID/stat: R, S, T and others.
func processState(_ processID: Int32) -> Character? {
  guard let text = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8),
    let end = text.lastIndex(of: ")")
  else { return nil }
  return text[text.index(end, offsetBy: 2)...].first
}

/// Control groups that this process may make, in the unified hierarchy.
enum TestGroup {
  static let isAvailable: Bool = {
    guard let group = make("trial") else { return false }
    rmdir(group)
    return true
  }()

  /// Makes a group; nil where that isn't permitted.
  static func make(_ name: String) -> String? {
    for folder in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
      let group = "\(folder)/ambit-test-\(getpid())-\(name)"
      guard mkdir(group, 0o700) == 0 else { continue }
      if access(group + "/cgroup.freeze", W_OK) == 0 { return group }
      rmdir(group)
    }
    return nil
  }
}
