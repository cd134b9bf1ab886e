import AppMachines
import Testing

@testable import AppManagerHost

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

  @Test func `A state that fits is written as it is`() {
    let all = Self.contents(["a": 100, "b": 500])
    let (same, leftOut) = all.fitting(byteCountMax: 606)
    #expect(same == all && leftOut.isEmpty)
  }
}
