import Essentials
import HostEssentials
import Testing

@testable import BonjourHost

@Suite("Noticing that the machine slept", .timeLimit(.minutes(1)))
struct WakingTests {
  /// So many seconds after the machine was switched on, of which it slept some.
  private static func reading(_ sinceBoot: Double, asleep: Double) -> SleepWatch.Reading {
    SleepWatch.Reading(
      sinceBoot: Instant(nanoseconds: Int64(sinceBoot * 1e9)),
      awake: Instant(nanoseconds: Int64((sinceBoot - asleep) * 1e9)))
  }

  @Test("time alone is no sleep, and a sleep is told once with its length")
  func sleeps() {
    var watch = SleepWatch(Self.reading(100, asleep: 7))
    #expect(watch.slept(Self.reading(50_000, asleep: 7)) == nil)
    #expect(watch.slept(Self.reading(50_100, asleep: 67)) == .seconds(60))
    #expect(watch.slept(Self.reading(50_100, asleep: 67)) == nil)
    #expect(watch.slept(Self.reading(90_000, asleep: 69)) == .seconds(2))
  }

  @Test("many short sleeps are one when they add up to what could be missed")
  func shortSleeps() {
    var watch = SleepWatch(Self.reading(0, asleep: 0))
    let told = (1...10).map { watch.slept(Self.reading(Double($0), asleep: Double($0) * 0.3)) }
    #expect(told.compactMap { $0 }.count == 2)
  }

  @Test("being held up between the two clocks is no sleep, and hides none")
  func heldUp() {
    var watch = SleepWatch(Self.reading(100, asleep: 5))
    #expect(watch.slept(Self.reading(200, asleep: -20)) == nil)
    #expect(watch.slept(Self.reading(300, asleep: 5)) == nil)
    #expect(watch.slept(Self.reading(400, asleep: 8)) == .seconds(3))
  }

  @Test("the clocks of this machine can be read, and say that it did not sleep just now")
  func realClocks() {
    let first = SleepWatch.Reading.current
    #expect(first.awake.nanoseconds > 0)
    var watch = SleepWatch(first)
    #expect(watch.slept(.current) == nil)
  }

  @Test("a monitor that watches a machine that is awake tells nothing, and can be stopped")
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
