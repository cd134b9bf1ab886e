import Essentials
import Foundation
import FuzzTargets
import Testing

@Suite("Fuzzers")
struct FuzzReplayTests {
  /// An input that crashed a fuzz target, or made it hang, when it was found.
  struct Crash: CustomTestStringConvertible, Sendable {
    var target: String
    var file: URL

    var testDescription: String { "\(target)/\(file.lastPathComponent)" }
  }

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fuzz/crashes")

  /// Empty if the folder cannot be read; `everyCrashIsReplayed` fails then.
  private static let crashes: [Crash] = {
    let files = FileManager.default
    let targets = (try? files.contentsOfDirectory(atPath: folder.path)) ?? []
    return targets.sorted().flatMap { target in
      let inputs = folder.appending(path: target)
      let names = (try? files.contentsOfDirectory(atPath: inputs.path)) ?? []
      return names.sorted().map { Crash(target: target, file: inputs.appending(path: $0)) }
    }
  }()

  @Test("the inputs that crashed are found, and each belongs to a fuzz target")
  func everyCrashIsReplayed() throws {
    let targets = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
    #expect(!targets.isEmpty, "\(Self.folder.path) is empty")
    for target in targets {
      #expect(FuzzTarget.all.contains { $0.name == target }, "there is no fuzz target \(target)")
      #expect(Self.crashes.contains { $0.target == target }, "\(target) has no input")
    }
  }

  @Test("every input that ever crashed a decoder is taken without harm", arguments: crashes)
  func replay(_ crash: Crash) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == crash.target })
    let input = try Data(contentsOf: crash.file)
    #expect(!input.isEmpty)
    target.run(Array(input))
  }

  @Test("noise of every length is taken without harm", arguments: FuzzTarget.all.map(\.name))
  func noise(_ name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    var generator = SeededGenerator(seed: 2)
    for count in 0..<400 {
      target.run((0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
    }
  }
}
