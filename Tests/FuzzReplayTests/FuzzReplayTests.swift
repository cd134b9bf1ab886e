import Essentials
import Foundation
import FuzzTargets
import Testing

@Suite("Fuzzers")
struct FuzzReplayTests {
  /// An input that crashed a fuzz target, or made it hang, when it was found; or a seed of the corpus.
  struct Input: CustomTestStringConvertible, Sendable {
    var target: String
    var file: URL

    var testDescription: String { "\(target)/\(file.lastPathComponent)" }
  }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fuzz")

  private static let crashes = inputs(in: "crashes")
  private static let seeds = inputs(in: "seeds")

  /// Empty if the folder cannot be read; `everyInputIsReplayed` fails then.
  private static func inputs(in folder: String) -> [Input] {
    let files = FileManager.default
    let folder = root.appending(path: folder)
    let targets = (try? files.contentsOfDirectory(atPath: folder.path)) ?? []
    return targets.sorted().flatMap { target in
      let inputs = folder.appending(path: target)
      let names = (try? files.contentsOfDirectory(atPath: inputs.path)) ?? []
      return names.sorted().map { Input(target: target, file: inputs.appending(path: $0)) }
    }
  }

  @Test(
    "the inputs that crashed, and the seeds, are found, and each belongs to a fuzz target",
    arguments: [("crashes", crashes), ("seeds", seeds)])
  func everyInputIsReplayed(_ folder: String, _ inputs: [Input]) throws {
    let path = Self.root.appending(path: folder).path
    let targets = try FileManager.default.contentsOfDirectory(atPath: path)
    #expect(!targets.isEmpty, "\(path) is empty")
    for target in targets {
      #expect(FuzzTarget.all.contains { $0.name == target }, "there is no fuzz target \(target)")
      #expect(inputs.contains { $0.target == target }, "\(target) has no input")
    }
  }

  @Test("every input that ever crashed a decoder is taken without harm", arguments: crashes)
  func replay(_ crash: Input) throws { try Self.run(crash) }

  @Test("every seed is taken without harm, and so is each with a changed byte", arguments: seeds)
  func replaySeed(_ seed: Input) throws {
    try Self.run(seed)
    let target = try #require(FuzzTarget.all.first { $0.name == seed.target })
    let bytes = Array(try Data(contentsOf: seed.file))
    var generator = SeededGenerator(seed: 3)
    for index in bytes.indices {
      var changed = bytes
      changed[index] = UInt8(truncatingIfNeeded: generator.next())
      target.run(changed)
    }
  }

  private static func run(_ input: Input) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == input.target })
    let bytes = try Data(contentsOf: input.file)
    #expect(!bytes.isEmpty)
    target.run(Array(bytes))
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
