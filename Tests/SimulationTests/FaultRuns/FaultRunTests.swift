import Foundation
import Testing

@Suite("Seeded runs with faults")
struct FaultRunTests {
  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  /// `AMBIT_SEEDS` sets the number of runs, `AMBIT_FIRST_SEED` the first seed. With optimized
  /// machines (`./test`), the larger number takes the same time.
  private static let seeds: Range<UInt64> = {
    let usual: UInt64 = number("AMBIT_OPTIMIZED_MACHINES") == nil ? 200 : 2_400
    let first = number("AMBIT_FIRST_SEED") ?? 1
    return first..<first + (number("AMBIT_SEEDS") ?? usual)
  }()

  /// How many parts the seeds are run in, side by side.
  private static let partCount: UInt64 = 8

  /// Whether a run is one of those of `AMBIT_SHARE`, a number below 4, by which `./test` runs a quarter of
  /// them for each commit. Without it, all are.
  private static func isInShare(_ seed: UInt64) -> Bool {
    number("AMBIT_SHARE").map { seed / partCount % 4 == $0 } ?? true
  }

  @Test(
    "nothing hangs, traps, leaks or lies to its client, whatever goes wrong",
    arguments: 0..<partCount)
  func runs(part: UInt64) {
    var successCount = 0
    var runCount = 0
    var failedSeeds: [UInt64] = []
    for seed in Self.seeds where seed % Self.partCount == part && Self.isInShare(seed) {
      let run = FaultRun(seed: seed)
      let violations = run.perform()
      runCount += 1
      successCount += run.successCount
      guard !violations.isEmpty else { continue }
      failedSeeds.append(seed)
      if failedSeeds.count <= 20 {
        Issue.record("seed \(seed): \(violations.prefix(6).joined(separator: "; "))")
      }
    }
    #expect(failedSeeds.isEmpty, "seeds \(failedSeeds.prefix(100)), \(failedSeeds.count) in all")
    #expect(successCount >= runCount * 10, "hardly anything was done")
  }

  /// 1177: a link was established that no client wanted. 1569, 2206: a controller with a false
  /// report of the end of a link refused every later attempt to connect. 3074: a controller that
  /// had lost its settings received nothing. 3935: a controller denied a link that it had. 7482: a
  /// controller counted its buffers otherwise. 9093: notifications overtook indications. 10092: a
  /// link outlived the requests of all clients.
  @Test(
    "seeds that once failed pass",
    arguments: [1177, 1569, 2206, 3074, 3935, 7482, 9093, 10092] as [UInt64])
  func regressions(seed: UInt64) {
    let run = FaultRun(seed: seed)
    // Its hosts have weak references to it.
    let violations = withExtendedLifetime(run) { run.perform() }
    #expect(violations.isEmpty, "seed \(seed): \(violations)")
  }

  @Test("the same seed is the same run, event for event", arguments: 1...10 as ClosedRange<UInt64>)
  func determinism(seed: UInt64) {
    let runs = [0, 1].map { _ in FaultRun(seed: seed, keepsTranscript: true) }
    for run in runs { _ = run.perform() }
    #expect(runs[0].transcripts == runs[1].transcripts, "seed \(seed)")
    #expect(runs[0].transcripts.contains { ($0?.eventCount ?? 0) > 20 }, "seed \(seed)")
  }

  @Test("A seed gives one run in all processes, whose hashes differ")
  func oneRun() async throws {
    var outputs: Set<[UInt8]> = []
    for _ in 0..<3 {
      let end = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        for seed: UInt64 in 1...24 {
          let run = FaultRun(seed: seed, keepsTranscript: true)
          _ = run.perform()
          for transcript in run.transcripts {
            print(transcript?.eventCount ?? 0, transcript?.fingerprint ?? 0)
          }
        }
      }
      outputs.insert(try #require(end).standardOutputContent)
    }
    #expect(outputs.count == 1)
    #expect(outputs.allSatisfy { $0.count > 1_000 })
  }
}
