#if Messaging
  import Essentials
  import Foundation
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Rooms under faults")
  struct RoomRunTests {
    /// `AMBIT_FIRST_SEED` is the first one.
    private static let seeds: Range<UInt64> = {
      let environment = ProcessInfo.processInfo.environment
      let first = environment["AMBIT_FIRST_SEED"].flatMap { UInt64($0) } ?? 1
      return first..<first + (environment["AMBIT_OPTIMIZED_MACHINES"] == nil ? 24 : 400)
    }()

    /// Its room ejects this account three times, each time before the same message.
    private static let ejections: UInt64 = 1_859

    @Test(
      "Each message of a room reaches the app once and in the room's order, whatever breaks",
      arguments: 0..<4 as Range<UInt64>)
    func runs(part: UInt64) throws {
      var counts = RoomFaults.Counts()
      for seed in Array(Self.seeds) + [Self.ejections] where seed % 4 == part {
        var faults = RoomFaults(run: try RoomRun(seed: seed), seed: seed)
        faults.perform()
        counts.add(faults.counts)
        let findings = faults.findings()
        #expect(findings.isEmpty, "seed \(seed): \(findings.prefix(5).joined(separator: "; "))")
      }
      let least = Self.seeds.count / 4
      #expect(counts.killed > least && counts.ended > least && counts.resumed > least)
      #expect(counts.ejected > least && counts.lost > least && counts.own > 10 * least)
    }
  }

  /// A run with faults, and its check against the room's archive.
  struct RoomFaults {
    struct Counts {
      var killed = 0
      var ended = 0
      var resumed = 0
      var ejected = 0
      var lost = 0
      var own = 0

      mutating func add(_ other: Counts) {
        killed += other.killed
        ended += other.ended
        resumed += other.resumed
        ejected += other.ejected
        lost += other.lost
        own += other.own
      }
    }

    var run: RoomRun
    var random: SeededGenerator
    var counts = Counts()
    private var spoken = 0

    init(run: RoomRun, seed: UInt64) {
      self.run = run
      random = SeededGenerator(seed: seed)
    }

    private mutating func chance(_ count: UInt64) -> Bool { random.next() % count == 0 }

    mutating func perform() {
      run.connect()
      run.join()
      for _ in 0..<300 { act() }
      heal()
    }

    private mutating func act() {
      switch random.next() % 16 {
      case 0...2: speak()
      case 3...5: send()
      case 6...11: for _ in 0..<random.next() % 6 { _ = run.step() }
      case 12: run.wait(.seconds(Int64(random.next() % 40)))
      default: fault()
      }
      if !run.isOnline, chance(2) { run.connect() }
    }

    private mutating func speak() {
      spoken += 1
      // Programs use identifiers twice.
      run.say("b\(spoken)", id: "m\(spoken % 3)")
    }

    private mutating func send() {
      counts.own += 1
      run.send("a\(counts.own)")
    }

    private mutating func fault() {
      switch random.next() % 6 {
      case 0:
        counts.ended += 1
        run.endSession(handling: Int(random.next() % 4))
      case 1:
        // The stream resends what the server has not handled.
        counts.resumed += 1
        run.disconnect()
        run.connect(isResumed: true)
      case 2:
        counts.killed += 1
        run.endSession(handling: Int(random.next() % 4))
        run.kill()
      case 3:
        // The process that follows resumes the session. What it has not stored by position is lost.
        counts.killed += 1
        run.up = Array(run.up.prefix(Int(random.next() % 3)))
        run.kill()
        run.connect(isResumed: true)
      case 4:
        counts.ejected += 1
        run.service.nickname = nil
      default:
        counts.lost += 1
        run.service.losesNext = true
      }
    }

    private mutating func heal() {
      run.service.losesNext = false
      if !run.isOnline { run.connect() }
      run.settle()
      run.wait(.seconds(4_000))
      run.settle()
    }

    func findings() -> [String] {
      var found: [String] = []
      if run.state != .joined { found.append("the room is \(String(describing: run.state))") }
      let archive = run.service.archive
      let own = archive.filter { $0.nickname == RoomRun.nickname }.map(\.body)
      let expected = (1...max(1, counts.own)).map { "a\($0)" }.prefix(counts.own)
      if own.count != counts.own { found.append("\(counts.own) were sent, \(own.count) arrived") }
      if Set(own).count != own.count { found.append("a message was sent twice") }
      if own != Array(expected) { found.append("messages arrived in another order") }
      if run.fates.count != counts.own || run.fates.values.contains(where: { $0 != .received }) {
        found.append("fates: \(run.fates.count) of \(counts.own)")
      }
      let places = Dictionary(
        archive.enumerated().map { ($1.body, $0) }, uniquingKeysWith: { first, _ in first })
      let bodies = run.bodies
      if Set(bodies).count != bodies.count { found.append("doubled") }
      if bodies.count != archive.count {
        found.append("\(bodies.count) of \(archive.count) were delivered")
      }
      var last = -1
      for message in run.messages {
        guard let place = places[message.content.body] else {
          found.append("invented")
          continue
        }
        if message.isOwn != (message.content.body.first == "a") { found.append("wrong sender") }
        // The history of a new room comes after live messages if its archive is silent for too long.
        guard message.arrival != .late, message.arrival != .history else { continue }
        if place < last { found.append("\(message.content.body) out of order") }
        last = place
      }
      return found
    }
  }
#endif
