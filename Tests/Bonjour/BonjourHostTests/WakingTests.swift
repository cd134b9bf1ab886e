import Essentials
import Glibc
import EventLoop
import Synchronization
import Testing

@testable import BonjourHost

@Suite("Noticing that the machine slept", .timeLimit(.minutes(5)))
struct WakingTests {
  /// A reading some seconds after the machine was switched on, of which it slept `asleep`.
  private static func reading(_ sinceBoot: Double, asleep: Double) -> SleepWatch.Reading {
    SleepWatch.Reading(
      sinceBoot: Instant(nanoseconds: Int64(sinceBoot * 1e9)),
      awake: Instant(nanoseconds: Int64((sinceBoot - asleep) * 1e9)))
  }

  @Test("time alone is no sleep, and a sleep is reported once with its length")
  func sleeps() {
    var watch = SleepWatch(Self.reading(100, asleep: 7))
    #expect(watch.slept(Self.reading(50_000, asleep: 7)) == nil)
    #expect(watch.slept(Self.reading(50_100, asleep: 67)) == .seconds(60))
    #expect(watch.slept(Self.reading(50_100, asleep: 67)) == nil)
    #expect(watch.slept(Self.reading(90_000, asleep: 69)) == .seconds(2))
  }

  @Test("many short sleeps are reported once they add up to a relevant length")
  func shortSleeps() {
    var watch = SleepWatch(Self.reading(0, asleep: 0))
    let told = (1...10).map { watch.slept(Self.reading(Double($0), asleep: Double($0) * 0.3)) }
    #expect(told.compactMap { $0 }.count == 2)
  }

  @Test("a delay between the readings of the two clocks neither looks like a sleep nor hides one")
  func heldUp() {
    var watch = SleepWatch(Self.reading(100, asleep: 5))
    #expect(watch.slept(Self.reading(200, asleep: -20)) == nil)
    #expect(watch.slept(Self.reading(300, asleep: 5)) == nil)
    #expect(watch.slept(Self.reading(400, asleep: 8)) == .seconds(3))
  }

  @Test("the clocks of this machine can be read, and show no recent sleep")
  func realClocks() {
    let first = SleepWatch.Reading.current
    #expect(first.awake.nanoseconds > 0)
    var watch = SleepWatch(first)
    #expect(watch.slept(.current) == nil)
  }

  @Test("pauses grow up to the longest, and begin anew after success")
  func pauses() {
    var pauses = RetryPauses(from: .seconds(1), to: .seconds(10))
    let spans = (0..<6).map { _ in pauses.failed() }
    #expect(spans.map(\.pause) == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
    #expect(spans.map(\.isFirst) == [true, false, false, false, false, false])
    pauses.succeeded()
    #expect(pauses.failed() == (.seconds(1), true))
    for _ in 0..<100 { #expect(pauses.failed().pause <= .seconds(10)) }
  }

  @Test("a monitor that gets no timer logs why once, and watches as soon as there is one")
  func shortage() async throws {
    let loop = EpollLoop.shared
    let (troubles, continuation) = AsyncStream.makeStream(of: SystemError.self)
    let monitor = try await loop.make {
      var attempts = 0
      let monitor = WakeMonitor(
        on: loop, pauses: RetryPauses(from: .milliseconds(1), to: .milliseconds(2)),
        openTimer: { () throws(SystemError) in
          attempts += 1
          guard attempts > 3 else { throw SystemError(number: EMFILE) }
          continuation.finish()
          return try WakeMonitor.openSystemTimer()
        }, onTrouble: { continuation.yield($0) },
        onWake: { Issue.record("It did not sleep.") })
      monitor.start()
      return monitor
    }
    var told: [Int32] = []
    for await trouble in troubles { told.append(trouble.number) }
    #expect(told == [EMFILE])
    while try await !loop.run({ monitor.value.isWatching }) {}
    try await loop.run { monitor.value.stop() }
  }

  @Test("the monitor doesn't try again on a system without such timers")
  func impossible() async throws {
    let loop = EpollLoop.shared
    let attemptCount = Mutex(0)
    let (troubles, continuation) = AsyncStream.makeStream(of: Int32.self)
    let monitor = try await loop.make {
      let monitor = WakeMonitor(
        on: loop, pauses: RetryPauses(from: .microseconds(1), to: .microseconds(1)),
        openTimer: { () throws(SystemError) in
          attemptCount.withLock { $0 += 1 }
          throw SystemError(number: EINVAL)
        }, onTrouble: { continuation.yield($0.number) }, onWake: {})
      monitor.start()
      return monitor
    }
    // Rings after what would be tried again.
    await withCheckedContinuation { later in
      loop.execute { loop.schedule(in: .milliseconds(1)) { later.resume() } }
    }
    try await loop.run { monitor.value.stop() }
    continuation.finish()
    let told = await troubles.reduce(into: []) { $0.append($1) }
    #expect(told == [EINVAL] && attemptCount.withLock { $0 } == 1)
    #expect(SystemError(number: ENFILE).isShortage && !SystemError(number: EINVAL).isShortage)
  }

  @Test("a monitor that watches a machine that is awake reports nothing, and can be stopped")
  func monitor() async throws {
    let loop = EpollLoop.shared
    let monitor = try await loop.make {
      let monitor = WakeMonitor(on: loop) { Issue.record("It did not sleep.") }
      monitor.start()
      return monitor
    }
    try await loop.run { #expect(monitor.value.isWatching) }
    try await loop.run { monitor.value.stop() }
    try await loop.run { #expect(!monitor.value.isWatching) }
  }
}
