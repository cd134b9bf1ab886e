import Foundation
import Reactive
import Testing

/// Programs of random operators, run in virtual time and disposed of at random instants, against
/// ``ProgramModel``. `AMBIT_PROGRAMS` sets their number; with `AMBIT_SHARE`, a number below 4, every fourth
/// of them runs: `./test` runs a quarter for each commit.
@Suite("Random programs", .ownThread, .timeLimit(.minutes(10)))
struct ProgramTests {
  struct Generator: RandomNumberGenerator {
    var state: UInt64

    init(seed: Int) { state = UInt64(truncatingIfNeeded: seed) }

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }

  private static let count =
    ProcessInfo.processInfo.environment["AMBIT_PROGRAMS"].flatMap(Int.init) ?? 100_000
  private static let parts = 8
  private static let share =
    ProcessInfo.processInfo.environment["AMBIT_SHARE"].flatMap(Int.init)

  /// The model's trace; nil if the program is ambiguous.
  private func expected(_ program: Program, disposedAt disposal: Int?) -> Trace? {
    var model = ProgramModel()
    let trace = model.trace(of: program)
    if model.isAmbiguous { return nil }
    return disposal.map { trace.disposed(at: $0) } ?? trace
  }

  private func actual(_ program: Program, disposedAt disposal: Int?) -> Trace {
    let (scheduler, log) = (TestScheduler(), Log<Trace.Entry>())
    let start = scheduler.currentDate
    let run = program.producer(on: scheduler).start { event in
      let seconds = scheduler.currentDate.timeIntervalSince(start)
      let what: Trace.Event =
        switch event {
        case .value(let value): .value(value)
        case .failed: .end(.failed)
        case .completed: .end(.completed)
        case .interrupted: .end(.interrupted)
        }
      log.append(.init(time: Int(seconds * Program.ticksPerSecond), event: what))
    }
    if let disposal {
      scheduler.advance(by: Double(disposal) / Program.ticksPerSecond)
      run.dispose()
    }
    scheduler.advance(by: 1_000.0)
    return Trace(entries: log.entries)
  }

  private func differs(_ program: Program, disposedAt disposal: Int?) -> Bool {
    guard let expected = expected(program, disposedAt: disposal) else { return false }
    return actual(program, disposedAt: disposal) != expected
  }

  /// The smallest part that differs, too.
  private func shrunk(_ program: Program, disposedAt disposal: Int?) -> Program {
    for part in program.parts where differs(part, disposedAt: disposal) {
      return shrunk(part, disposedAt: disposal)
    }
    return program
  }

  @Test("random programs of operators do what the model predicts", arguments: 0..<parts)
  func agree(_ part: Int) {
    var (compared, tried, failures) = (0, 0, 0)
    for seed in stride(from: part, to: Self.count, by: Self.parts) {
      if let share = Self.share, seed / Self.parts % 4 != share { continue }
      tried += 1
      var numbers = Generator(seed: seed)
      let program = Program.random(depth: 4, using: &numbers)
      let disposal =
        Int.random(in: 0..<3, using: &numbers) == 0
        ? Int.random(in: 0...6_000, using: &numbers) : nil
      guard let expected = expected(program, disposedAt: disposal) else { continue }
      compared += 1
      guard actual(program, disposedAt: disposal) != expected else { continue }
      failures += 1
      let smallest = shrunk(program, disposedAt: disposal)
      Issue.record(
        """
        seed \(seed), disposed of at \(disposal.map(String.init) ?? "no time"): \(smallest)
        expected \(self.expected(smallest, disposedAt: disposal) ?? Trace())
        actual \(actual(smallest, disposedAt: disposal))
        """)
      if failures == 3 { return }
    }
    // Few programs are ambiguous.
    #expect(compared > tried * 9 / 10)
  }
}
