import Foundation
import Testing

@testable import AppMachines

/// Seeded runs of apps that do anything. `AMBIT_SEEDS` sets their number, `AMBIT_FIRST_SEED` the first seed; with
/// `AMBIT_SHARE`, a number below 4, every fourth of them runs: `./test` runs a quarter for each commit.
@Suite("Random apps")
struct RandomAppTests {
  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  /// With optimized machines (`./test`), the larger number takes the same time.
  private static let seeds: Range<UInt64> = {
    let usual: UInt64 = number("AMBIT_OPTIMIZED_MACHINES") == nil ? 1_000 : 10_000
    let first = number("AMBIT_FIRST_SEED") ?? 1
    return first..<first + (number("AMBIT_SEEDS") ?? usual)
  }()

  private static let partCount: UInt64 = 8

  private static func isInShare(_ seed: UInt64) -> Bool {
    number("AMBIT_SHARE").map { seed / partCount % 4 == $0 } ?? true
  }

  @Test(
    "events reach one process, once, in order, after its state, and no app runs that may not",
    arguments: 0..<partCount)
  func runs(part: UInt64) {
    var failedSeeds: [UInt64] = []
    var (runCount, deliveredCount, restoredCount, launchCount) = (0, 0, 0, 0)
    var (restartCount, adoptedCount) = (0, 0)
    for seed in Self.seeds where seed % Self.partCount == part && Self.isInShare(seed) {
      var run = AppRun(seed: seed)
      run.perform()
      runCount += 1
      deliveredCount += run.checker.deliveredCount
      restoredCount += run.checker.restoredCount
      launchCount += run.checker.launchCount
      restartCount += run.restartCount
      adoptedCount += run.adoptedCount
      let violations = run.checker.violations + run.machine.violations()
      guard !violations.isEmpty else { continue }
      failedSeeds.append(seed)
      if failedSeeds.count <= 20 {
        Issue.record("seed \(seed): \(violations.prefix(6).joined(separator: "; "))")
      }
    }
    #expect(failedSeeds.isEmpty, "seeds \(failedSeeds.prefix(100)), \(failedSeeds.count) in all")
    #expect(deliveredCount >= runCount * 10, "hardly anything was delivered")
    #expect(launchCount >= runCount * 3, "hardly any app was launched")
    #expect(restartCount >= runCount / 10, "the system was hardly ever killed")
    #expect(adoptedCount >= restartCount / 4, "hardly any process was taken over")
    #expect(restoredCount >= runCount / 10, "hardly any state was restored")
  }

  @Test("the same seed is the same run", arguments: 1...10 as ClosedRange<UInt64>)
  func determinism(seed: UInt64) {
    let transcripts = (0..<2).map { _ in
      var run = AppRun(seed: seed, keepsTranscript: true)
      run.perform()
      return run.transcript
    }
    #expect(transcripts[0] == transcripts[1] && transcripts[0].count > 100)
  }

  @Test("A seed gives one run in all processes, whose hashes differ")
  func oneRun() async throws {
    var outputs: Set<[UInt8]> = []
    for _ in 0..<3 {
      let end = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        for seed: UInt64 in 1...24 {
          var run = AppRun(seed: seed, keepsTranscript: true)
          run.perform()
          // A set is written in any order.
          for line in run.transcript { print(String(line.sorted())) }
        }
      }
      outputs.insert(try #require(end).standardOutputContent)
    }
    #expect(outputs.count == 1)
    #expect(outputs.allSatisfy { $0.count > 10_000 })
  }
}
