import Essentials
import Foundation
import FuzzTargets
import Testing

@Suite("Fuzzers")
struct FuzzReplayTests {
  @Test("every input that ever crashed a decoder is taken without harm")
  func crashes() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Fuzz/crashes")
    for target in FuzzTarget.all {
      let inputs = folder.appending(path: target.name)
      for file in (try? FileManager.default.contentsOfDirectory(atPath: inputs.path)) ?? [] {
        target.run(Array(try Data(contentsOf: inputs.appending(path: file))))
      }
    }
  }

  @Test("noise of every length is taken without harm", arguments: FuzzTarget.all.map(\.name))
  func noise(_ name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    var chance = SeededGenerator(seed: 2)
    for count in 0..<400 {
      target.run((0..<count).map { _ in UInt8(truncatingIfNeeded: chance.next()) })
    }
  }
}
