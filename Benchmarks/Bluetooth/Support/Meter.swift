import AllocationCounter
import Glibc

/// What some work cost.
struct Cost {
  var operations = 0
  var cpuSeconds = 0.0
  var wallSeconds = 0.0
  var allocations: UInt64 = 0

  /// Operations in a second of one core. Other programs on the machine do not change it much.
  var perCPUSecond: Double { Double(operations) / cpuSeconds }
  var nanosecondsEach: Double { cpuSeconds * 1e9 / Double(operations) }
  var allocationsEach: Double { Double(allocations) / Double(operations) }
}

enum Clock {
  static func wallSeconds() -> Double { seconds(CLOCK_MONOTONIC) }

  /// What this thread has used of its core.
  static func cpuSeconds() -> Double { seconds(CLOCK_THREAD_CPUTIME_ID) }

  private static func seconds(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// Repeats batches of work on this thread until they have used `budget` seconds of processor time.
///
/// The first batch warms up and does not count. A batch returns its number of operations.
func measure(cpuSeconds budget: Double, batch: () -> Int) -> Cost {
  _ = batch()
  var cost = Cost()
  let (cpu, wall, count) = (Clock.cpuSeconds(), Clock.wallSeconds(), allocation_count())
  repeat {
    cost.operations += batch()
    cost.cpuSeconds = Clock.cpuSeconds() - cpu
  } while cost.cpuSeconds < budget
  cost.wallSeconds = Clock.wallSeconds() - wall
  cost.allocations = allocation_count() - count
  return cost
}

enum Memory {
  /// Bytes of the heap that this thread holds.
  static var heapBytes: Int { Int(allocated_bytes()) }
}
