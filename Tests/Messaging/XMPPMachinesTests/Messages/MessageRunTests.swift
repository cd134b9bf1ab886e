#if Messaging
  import Essentials
  import Foundation
  import Testing

  @testable import XMPPMachines
  import XMPPWire

  /// Seeded runs of devices, a server and a network with faults. `AMBIT_SEEDS` sets their number,
  /// `AMBIT_FIRST_SEED` the first seed; with `AMBIT_SHARE`, a number below 4, every fourth of them
  /// runs: `./test` runs a quarter for each commit.
  @Suite("Messages under faults")
  struct MessageRunTests {
    private static func number(_ name: String) -> UInt64? {
      ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    private static let seeds: Range<UInt64> = {
      let usual: UInt64 = number("AMBIT_OPTIMIZED_MACHINES") == nil ? 400 : 10_000
      let first = number("AMBIT_FIRST_SEED") ?? 1
      return first..<first + (number("AMBIT_SEEDS") ?? usual)
    }()

    private static let partCount: UInt64 = 8

    private static func isInShare(_ seed: UInt64) -> Bool {
      number("AMBIT_SHARE").map { seed / partCount % 4 == $0 } ?? true
    }

    @Test(
      "each message reaches the app of each device once and in order, whatever breaks",
      arguments: 0..<partCount)
    func runs(part: UInt64) {
      var failedSeeds: [UInt64] = []
      var (runCount, messageCount, killedCount, resumedCount, copyCount) = (0, 0, 0, 0, 0)
      for seed in Self.seeds where seed % Self.partCount == part && Self.isInShare(seed) {
        var run = MessageRun(seed: seed)
        run.perform()
        runCount += 1
        messageCount += run.world.accepted.count
        killedCount += run.world.killedCount
        resumedCount += run.world.resumedCount
        copyCount += run.world.reports["restoredCopy"] ?? 0
        let findings = run.findings()
        guard !findings.isEmpty else { continue }
        failedSeeds.append(seed)
        if failedSeeds.count <= 5 {
          Issue.record("seed \(seed): \(findings.prefix(6).joined(separator: "; "))")
        }
      }
      #expect(failedSeeds.isEmpty, "seeds \(failedSeeds.prefix(100)), \(failedSeeds.count) in all")
      #expect(messageCount >= runCount * 10, "hardly anything was sent")
      #expect(killedCount >= runCount / 2, "hardly a process was killed")
      #expect(resumedCount >= runCount / 2, "hardly a session was resumed")
      #expect(runCount < 100 || copyCount > 0, "no copy of a store was noticed")
    }

    @Test("A seed gives one run in all processes, whose hashes differ")
    func oneRun() async throws {
      var outputs: Set<[UInt8]> = []
      for _ in 0..<3 {
        let end = await #expect(
          processExitsWith: .success, observing: [\.standardOutputContent]
        ) {
          for seed: UInt64 in 1...24 {
            var run = MessageRun(seed: seed)
            run.perform()
            print(run.summary())
          }
        }
        outputs.insert(try #require(end).standardOutputContent)
      }
      #expect(outputs.count == 1)
      #expect(outputs.allSatisfy { $0.count > 1_000 })
    }
  }

  /// One run, and its check against what the apps have sent.
  struct MessageRun {
    var world: MessageWorld
    let faults: Set<MessageWorld.Fault>
    private let accounts = ["a@x", "b@x", "b@x"]

    init(seed: UInt64) {
      var random = SeededGenerator(seed: seed)
      var faults: Set<MessageWorld.Fault> = []
      for fault in MessageWorld.Fault.allCases where random.below(2) == 0 { faults.insert(fault) }
      // A copy knows nothing of the receipts that were sent since, and the server may have lost it.
      if faults.contains(.restoreCopy) { faults.remove(.loseConfirmed) }
      if faults.isEmpty { faults = [.cut] }
      self.faults = faults
      var limits = MessageLimits()
      limits.windowCountMax = 2 + random.below(20)
      limits.overlapCount = 3 + random.below(10)
      limits.pageCount = 4 + random.below(30)
      world = MessageWorld(
        seed: random.next(), accounts: accounts, faults: faults, limits: limits)
    }

    mutating func perform() {
      // Each account shows that it knows order, before anything breaks.
      for device in accounts.indices {
        let peer = accounts[device] == "a@x" ? "b@x" : "a@x"
        world.at(.seconds(4), .appSends(device: device, peer: peer))
      }
      world.at(.seconds(10), .fault)
      for _ in 0..<20 + world.random.below(60) {
        let device = world.random.below(accounts.count)
        let peer = accounts[device] == "a@x" ? "b@x" : "a@x"
        let time = 10_000 + world.random.below(110_000)
        for burst in 0...world.random.below(4) {
          world.at(.milliseconds(Int64(time + burst)), .appSends(device: device, peer: peer))
        }
      }
      world.run(until: world.faultEnd + .seconds(400))
      // Without faults: what the server has lost is noticed by the message after it.
      for device in accounts.indices {
        let peer = accounts[device] == "a@x" ? "b@x" : "a@x"
        world.at(.seconds(1), .appSends(device: device, peer: peer))
      }
      world.run(until: world.faultEnd + .seconds(4_000))
    }

    /// What differs where a run has taken another way.
    mutating func summary() -> String {
      let texts = world.devices.map { device in
        device.store.rowOfSequence.sorted { $0.key < $1.key }
          .map { device.store.incoming[$0.value]?.content.body ?? "" }
      }
      return "\(world.number) \(world.lastConnection) \(world.random.next()) \(texts)"
    }

    func findings() -> [String] {
      var found = world.findings
      for device in world.devices {
        found += device.store.violations.map { "device \(device.index): \($0)" }
        found += device.machine?.violations().map { "device \(device.index): \($0)" } ?? ["dead"]
        found += check(device)
      }
      return found
    }

    private func check(_ device: TestDevice) -> [String] {
      var found: [String] = []
      let store = device.store
      let rows = store.rowOfSequence.sorted { $0.key < $1.key }
        .compactMap { store.incoming[$0.value] }
      if device.taken != store.rowOfSequence.keys.sorted() {
        found.append(
          "device \(device.index): the app has taken \(device.taken.count) of \(rows.count)")
      }
      let held = store.incoming.values.count { $0.sequence == nil }
      if held > 0 { found.append("device \(device.index): \(held) are held back") }
      var places: [String: [Int]] = [:]
      for (place, row) in rows.enumerated() {
        switch row.kind {
        case .message, .sentElsewhere: places[row.content.body, default: []].append(place)
        case .gap, .archiveGap, .historyStart: found.append("device \(device.index): \(row.kind)")
        }
        if row.arrival != .inOrder, row.arrival != .history, !faults.contains(.restoreCopy) {
          found.append("device \(device.index): \(row.content.body) is \(row.arrival)")
        }
      }
      for (text, places) in places where places.count > 1 {
        found.append("device \(device.index): \(text) \(places.count) times")
      }
      var last: [String: Int] = [:]
      for message in world.accepted where message.device != device.index {
        let isOwn = world.devices[message.device].account == device.account
        guard isOwn || message.peer == device.account else { continue }
        guard let place = places[message.text]?.first else {
          if message.isOptional || isOwn && faults.contains(.loseConfirmed) { continue }
          found.append("device \(device.index): \(message.text) is lost")
          continue
        }
        let lane = "\(message.device) \(message.peer)"
        if !isOwn, place < last[lane] ?? 0, !faults.contains(.restoreCopy) {
          found.append("device \(device.index): \(message.text) is out of order")
        }
        last[lane] = place
      }
      return found
    }
  }
#endif
