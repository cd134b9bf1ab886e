import AppMachines
import AppSessions
import Essentials
import Foundation
import StateFiles
import Synchronization
import Testing

@testable import AppManagerHost

/// A store on a disk that may be full.
private final class FullStore: AppStore {
  let memory = AppStoreMemory()
  private let isFull = Atomic(false)

  func read() -> AppStoreContents { memory.read() }
  func setFull(_ new: Bool) { isFull.store(new, ordering: .sequentiallyConsistent) }
  func write(_ contents: AppStoreContents) throws(StateFileError) {
    guard !isFull.load(ordering: .sequentiallyConsistent) else {
      throw StateFileError(.unwritable, "no space left on device")
    }
    memory.write(contents)
  }
}

private struct FullStoreManager: ManagerCommands {
  let path: String
}

@Suite struct StoreBoundTests {
  private static func contents(_ sizes: [String: Int]) -> AppStoreContents {
    let names = sizes.keys.sorted()
    return AppStoreContents(
      apps: names.map {
        InstalledAppRecord(identifier: $0, folder: "/\($0)", description: AppDescription())
      },
      managers: names.map {
        PreservedManagerRecord(app: $0, manager: "central:m", holdings: [1, 2, 3])
      },
      details: names.flatMap { name in
        [
          AppDetailRecord(
            app: name, kind: .services, contents: [UInt8](repeating: 7, count: sizes[name] ?? 0)),
          AppDetailRecord(app: name, kind: .forceQuit, contents: []),
        ]
      })
  }

  @Test func `An app that keeps too much doesn't stop the writing of the others' state`() {
    let all = Self.contents(["a": 100, "b": 5_000, "c": 700, "d": 5_001])
    let (some, leftOut) = all.fitting(byteCountMax: 1_000)
    #expect(leftOut == ["d", "b"])
    #expect(some.apps == all.apps)
    #expect(some.managers.map(\.app) == ["a", "c"])
    #expect(some.details.filter { $0.kind == "services" }.map(\.app) == ["a", "c"])
    #expect(some.details.count { $0.kind == "forceQuit" } == 4)
  }

  @Test(.timeLimit(.minutes(5)))
  func `A state that a full disk has refused is reported, and written when there is room`()
    async throws
  {
    let folder = try TestManager.makeFolder()
    let radio = try await LockRadio(in: folder)
    let store = FullStore()
    let server = try await AppManagerServer.start(
      at: folder + "/run/apps", radio.host, store: store, storeRetry: .milliseconds(20),
      freezer: .signals, memory: .none)
    let manager = FullStoreManager(path: server.path)
    let app = try TestManager.makeApp("com.example.a", in: folder, script: "exit 0")
    try await manager.perform(.install(folder: app))
    try await manager.untilWritten()
    store.setFull(true)
    let other = try TestManager.makeApp("com.example.b", in: folder, script: "exit 0")
    guard case .failed(.notSaved, _) = try await manager.perform(.install(folder: other)) else {
      Issue.record("an app was installed that the next manager would not have")
      return
    }
    try await manager.perform(.forceQuit("com.example.a"))
    try await manager.untilReport { $0.hasPrefix("the state of apps can't be written") }
    guard case .status(let status) = try await manager.perform(.status) else {
      Issue.record("the manager has no state")
      return
    }
    #expect(status.isWritten == false)
    #expect(store.read().details.isEmpty)
    store.setFull(false)
    try await manager.untilWritten()
    #expect(store.read().details.map(\.kind) == ["forceQuit"])
    #expect(store.read().apps.map(\.identifier) == ["com.example.a"])
    await server.close()
    await radio.close()
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `A state that fits is written as it is`() {
    let all = Self.contents(["a": 100, "b": 500])
    let (same, leftOut) = all.fitting(byteCountMax: 606)
    #expect(same == all && leftOut.isEmpty)
  }
}
