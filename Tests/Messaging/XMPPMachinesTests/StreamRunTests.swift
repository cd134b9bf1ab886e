#if Messaging
  import Essentials
  import Foundation
  import Testing

  @testable import XMPPMachines

  /// Seeded runs with faults. `AMBIT_SEEDS` sets their number, `AMBIT_FIRST_SEED` the first seed.
  @Suite("Streams with faults")
  struct StreamRunTests {
    private static func number(_ name: String) -> UInt64? {
      ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    private static let seeds: Range<UInt64> = {
      let usual: UInt64 = number("AMBIT_OPTIMIZED_MACHINES") == nil ? 400 : 2_000
      let first = number("AMBIT_FIRST_SEED") ?? 1
      return first..<first + (number("AMBIT_SEEDS") ?? usual)
    }()

    private static let partCount: UInt64 = 4

    @Test(
      "each row reaches the server once and in order, and each stanza of the server is committed once and in order",
      arguments: 0..<partCount)
    func runs(part: UInt64) {
      var failedSeeds: [UInt64] = []
      var (runCount, resumedCount, beganCount, crashedCount, resentCount) = (0, 0, 0, 0, 0)
      var (usedTokenCount, refusedTokenCount) = (0, 0)
      for seed in Self.seeds where seed % Self.partCount == part {
        var run = StreamRun(seed: seed, allowsResumption: seed % 7 != 0)
        run.perform()
        runCount += 1
        resumedCount += run.counts.resumed
        beganCount += run.counts.began
        crashedCount += run.counts.crashed
        resentCount += run.counts.resent
        usedTokenCount += run.server.tokenCounts.used
        refusedTokenCount += run.server.tokenCounts.refused
        guard !run.violations.isEmpty else { continue }
        failedSeeds.append(seed)
        if failedSeeds.count <= 5 {
          Issue.record("seed \(seed): \(run.violations.prefix(4).joined(separator: "; "))")
        }
      }
      #expect(failedSeeds.isEmpty, "seeds \(failedSeeds.prefix(100)), \(failedSeeds.count) in all")
      #expect(resumedCount > runCount / 2, "hardly any session was resumed")
      #expect(beganCount > runCount, "hardly any session was lost")
      #expect(crashedCount > runCount / 2, "hardly any process was killed")
      #expect(resentCount > runCount / 4, "hardly anything was sent again")
      #expect(usedTokenCount > runCount, "hardly any token was used")
      #expect(refusedTokenCount > runCount / 20, "hardly any token was refused")
    }

    @Test(
      "without stream management pings acknowledge, and each row reaches the server once and in order"
    )
    func unmanaged() {
      for seed in Self.seeds.prefix(200) {
        var run = StreamRun(seed: seed, isManaged: false)
        run.perform()
        #expect(run.violations.isEmpty, "seed \(seed)")
      }
    }
  }
#endif
