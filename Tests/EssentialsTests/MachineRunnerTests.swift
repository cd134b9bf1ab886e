import Essentials
import Testing

@Suite("A runner of a machine, and a timer of deadlines")
struct MachineRunnerTests {
  /// Returns each number at the time that is given with it.
  private struct Alarms: Machine {
    typealias Event = (number: Int, time: Instant)
    enum Action: Equatable {
      case noted(Int)
      case rang(Int)
    }
    var waiting: [Event] = []

    var nextWake: Instant? { waiting.map(\.time).min() }

    mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
      waiting.append(event)
      actions.append(.noted(event.number))
    }

    mutating func wake(now: Instant, into actions: inout [Action]) {
      #expect(waiting.contains { $0.time <= now }, "woken before its time")
      actions += waiting.filter { $0.time <= now }.map { .rang($0.number) }
      waiting.removeAll { $0.time <= now }
    }
  }

  /// Records the times that are set; nil for a cancellation.
  private final class RecordedTimer: LoopTimer {
    var times: [Instant?] = []
    func set(_ time: Instant) { times.append(time) }
    func cancel() { times.append(nil) }
  }

  private static func at(_ seconds: Int64) -> Instant { .zero + .seconds(seconds) }

  @Test("actions are taken once, in their order, and those of a later event follow")
  func actions() {
    var runner = MachineRunner(Alarms())
    runner.handle((1, Self.at(5)), now: .zero)
    runner.handle((2, Self.at(6)), now: .zero)
    let first = runner.takeActions()
    #expect(first == [.noted(1), .noted(2)])
    #expect(runner.takeActions().isEmpty)
    runner.handle((3, Self.at(7)), now: .zero)
    runner.reuse(first)
    #expect(runner.takeActions() == [.noted(3)], "the storage replaced an action")
    runner.reuse(first)
    #expect(runner.takeActions().isEmpty, "an action is performed twice")
  }

  @Test("a machine is woken when its time has come, and not when the timer fired earlier")
  func waking() {
    var runner = MachineRunner(Alarms())
    runner.handle((1, Self.at(5)), now: .zero)
    _ = runner.takeActions()
    runner.wake(now: Self.at(4))
    #expect(runner.takeActions().isEmpty)
    runner.wake(now: Self.at(5))
    #expect(runner.takeActions() == [.rang(1)])
    runner.wake(now: Self.at(6))
    #expect(runner.takeActions().isEmpty)
  }

  @Test("a runner creates one timer, and sets it for a later time even if the machine is overdue")
  func overdue() {
    let timer = RecordedTimer()
    var timerCount = 0
    func make() -> any LoopTimer {
      timerCount += 1
      return timer
    }
    var runner = MachineRunner(Alarms())
    runner.setTimer(now: .zero, make())
    #expect(timerCount == 0)
    runner.handle((1, Self.at(5)), now: .zero)
    runner.setTimer(now: Self.at(8), make())
    #expect(timer.times == [Self.at(8) + .microseconds(1)])
    runner.wake(now: Self.at(9))
    runner.handle((2, Self.at(20)), now: Self.at(9))
    runner.setTimer(now: Self.at(9), make())
    #expect(timer.times.last == Self.at(20))
    runner.cancelTimer()
    #expect(timer.times.last == .some(nil))
    #expect(timerCount == 1)
  }

  @Test("a timer is set for an earlier time at once, and for a later one when it has fired")
  func deadlines() {
    let recorded = RecordedTimer()
    var timer = DeadlineTimer(recorded)
    timer.set(Self.at(5))
    timer.set(Self.at(7))
    timer.set(Self.at(5))
    timer.set(nil)
    #expect(recorded.times == [Self.at(5)])
    timer.set(Self.at(3))
    #expect(recorded.times == [Self.at(5), Self.at(3)])
    timer.fired()
    timer.set(Self.at(7))
    #expect(recorded.times == [Self.at(5), Self.at(3), Self.at(7)])
    timer.cancel()
    timer.set(Self.at(9))
    #expect(recorded.times == [Self.at(5), Self.at(3), Self.at(7), nil, Self.at(9)])
  }
}
