import Essentials
import Foundation
import Testing

@Suite("Two pages and a server on a bad network")
struct ConvergenceTests {
  /// AMBIT_SEEDS for more of them.
  private static let seedCount =
    ProcessInfo.processInfo.environment["AMBIT_SEEDS"].flatMap { UInt64($0) } ?? 150

  private static func run(_ change: (inout ConvergenceWorld.Options) -> Void) {
    var total = (snapshots: 0, patches: 0, duplicates: 0, messages: 0)
    for seed in 0..<seedCount {
      var options = ConvergenceWorld.Options(seed: seed)
      change(&options)
      var world = ConvergenceWorld(options)
      let failures = world.run()
      #expect(failures == [], "seed \(seed)")
      guard failures.isEmpty else { return }
      let summary = world.summary
      total.snapshots += summary.snapshots
      total.patches += summary.patches
      total.duplicates += summary.duplicates
      total.messages += summary.messages
    }
    #expect(total.snapshots > 2 * Int(seedCount), "\(total)")
    #expect(total.patches > 20 * Int(seedCount), "\(total)")
    #expect(total.duplicates > Int(seedCount), "\(total)")
  }

  @Test("each page ends equal to its own view model, with all that was typed")
  func separate() { Self.run { _ in } }

  @Test("pages that share a view model end equal to it")
  func shared() { Self.run { $0.isShared = true } }

  @Test("text typed before a restart is typed again into the new server")
  func restarts() { Self.run { $0.restarts = true } }

  @Test("pages that share a view model end equal to it after the server is started anew")
  func sharedRestarts() {
    Self.run {
      $0.isShared = true
      $0.restarts = true
    }
  }

  @Test("A seed gives one run in all processes, whose hashes differ")
  func oneRun() async throws {
    var outputs: Set<[UInt8]> = []
    for _ in 0..<3 {
      let end = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        for seed: UInt64 in 0..<40 {
          var options = ConvergenceWorld.Options(seed: seed)
          options.restarts = seed.isMultiple(of: 2)
          var world = ConvergenceWorld(options)
          print(world.run(), world.summary, world.nextDraw())
        }
      }
      outputs.insert(try #require(end).standardOutputContent)
    }
    #expect(outputs.count == 1)
    #expect(outputs.allSatisfy { $0.count > 1_000 })
  }

  @Test("pages converge on a network that loses half of all messages and cuts each fifth stream")
  func worst() {
    Self.run {
      $0.lossProbability = 0.4
      $0.lostAnswerProbability = 0.3
      $0.breakProbability = 0.2
    }
  }
}
