import AllocationCounter
import Glibc
import InstructionCounter

/// What an event cost, the median of several runs.
struct Cost {
  var nanoseconds: Double
  /// Of the measuring thread.
  var allocations: Double
  /// Nil where the machine doesn't let them be counted.
  var instructions: Double?
}

/// The kind of time that is reported.
enum Time {
  /// That of all threads together on their cores. Other programs don't change it much.
  case processor
  /// That on the wall, where it is threads together that are measured.
  case wall

  var seconds: Double {
    var time = timespec()
    clock_gettime(self == .wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// Counts the instructions of the program, where that can be done.
enum Instructions {
  // Opened before there are other threads.
  private static let counter = instruction_counter_open()

  static var areCounted: Bool { counter >= 0 }
  static var count: Double? {
    areCounted ? Double(instruction_counter_read(counter)) : nil
  }
}

/// Runs `body` once to warm up and then `runs` times.
func measure(
  events: Int, time: Time, runs: Int, body: @Sendable (Int) async -> Void
) async -> Cost {
  await body(events)
  var costs: [Cost] = []
  for _ in 0..<runs {
    let (allocations, instructions) = (allocation_count(), Instructions.count)
    let start = time.seconds
    await body(events)
    let seconds = time.seconds - start
    let each = { (total: Double) in total / Double(events) }
    // A task may go on on another thread, whose count is another.
    let allocated = Int64(bitPattern: allocation_count() &- allocations)
    costs.append(
      Cost(
        nanoseconds: each(seconds * 1e9), allocations: each(Double(allocated)),
        instructions: instructions.flatMap { before in
          Instructions.count.map { each($0 - before) }
        }))
  }
  func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
  let instructions = costs.compactMap(\.instructions)
  return Cost(
    nanoseconds: median(costs.map(\.nanoseconds)), allocations: median(costs.map(\.allocations)),
    instructions: instructions.isEmpty ? nil : median(instructions))
}

/// The same again, but the compiler can't see through: a chain of closures stays one.
@inline(never)
@_optimize(none)
func opaque<Value>(_ value: Value) -> Value { value }

/// What the observers add up, so that no work can be left out.
final class Sum: @unchecked Sendable {
  // Every stream delivers serially, and one stream is measured at a time.
  private var total = 0

  @inline(never)
  func add(_ value: Int) { total &+= value }
}

let sum = Sum()
