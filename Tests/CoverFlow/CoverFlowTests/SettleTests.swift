import Essentials
import Testing

@testable import CoverFlow

@Suite("Settling")
struct SettleTests {
  @Test("one step takes at most 0.65 s", arguments: [60.0, 144, 30])
  func oneStep(_ rate: Double) {
    var flow = Flow(count: 100, at: 50)
    flow.send(.step(1))
    #expect(flow.settle(perSecond: rate) <= 0.65)
    #expect(flow.machine.position == 51)
  }

  @Test("the key End moves over 10,000 covers in at most 3.2 s")
  func end() {
    var flow = Flow(count: 10_000)
    flow.send(.go(to: .max))
    let time = flow.settle()
    #expect(time <= 3.2 && time > 1, "\(time) s")
    #expect(flow.machine.position == 9_999)
    #expect(Flow.isMonotone(flow.frames.map(\.position)))
  }

  @Test(
    "a flick of 40 covers a second takes at most 3.3 s, and goes some way", arguments: [40.0, -40])
  func flick(_ velocity: Double) {
    var flow = Flow(count: 10_000, at: 5_000)
    flow.send(.fling(velocity: velocity))
    #expect(flow.settle() <= 3.3)
    #expect(abs(flow.machine.position - 5_000 - velocity * 0.325) <= 1)
  }

  @Test("covers with any position and velocity never turn round, never pass, and end on a cover")
  func monotone() {
    var random = SeededGenerator(seed: 2)
    for program in 0..<2_000 {
      let numbers = (0..<4).map { _ in random.unit() }
      // Every other program is slow, in each share.
      guard ProgramTests.isInShare(program / 2) else { continue }
      var flow = Flow(count: 1 + Int(numbers[0] * 60), at: 0)
      let place = numbers[1] * flow.machine.positionMax
      let velocity = (numbers[2] - 0.5) * (program.isMultiple(of: 2) ? 200 : 4)
      flow.machine.position = place
      flow.machine.release(velocity: velocity, from: place, now: flow.now)
      let rate = 20 + numbers[3] * 200
      flow.settle(perSecond: rate)
      let positions = [place] + flow.frames.map(\.position)
      #expect(Flow.isMonotone(positions), "program \(program): \(place) with \(velocity)")
      let last = flow.machine.position
      #expect(last == last.rounded() && last >= 0 && last <= flow.machine.positionMax)
      // In the direction of travel.
      if abs(velocity) >= 0.12 {
        #expect((last - place) * velocity >= 0, "program \(program): \(place) with \(velocity)")
      } else {
        #expect(abs(last - place) <= 0.5)
      }
    }
  }

  @Test(
    "settling begins with the finger's velocity", arguments: [0.5, 1, 2, 5, 14.1, 34.6, -36.1, 120])
  func firstVelocity(_ velocity: Double) throws {
    var flow = Flow(count: 10_000, at: 5_000)
    flow.send(.fling(velocity: velocity))
    #expect(abs(flow.machine.velocity / velocity - 1) < 1e-9)
    let before = flow.machine.position
    flow.advance(seconds: 1.0 / 60)
    let first = (flow.machine.position - before) * 60
    #expect(abs(first / velocity - 1) < 0.2, "\(velocity) became \(first)")
  }

  @Test("settling is the same whatever the frame rate, also when frames are missed")
  func frameRate() {
    func position(after times: [Double]) -> [Double] {
      var flow = Flow(count: 1_000, at: 500)
      flow.send(.fling(velocity: 25))
      let start = flow.now
      return times.map { time in
        flow.now = start + .microseconds(Int64(time * 1e6))
        flow.frame()
        return flow.machine.position
      }
    }
    let dense = position(after: (1...90).map { Double($0) / 100 })
    let sparse = position(after: [0.05, 0.3, 0.31, 0.9])
    for (time, place) in zip([5, 30, 31, 90], sparse) {
      #expect(abs(dense[time - 1] - place) < 1e-9)
    }
  }

  @Test("a fast flick only ever slows down")
  func slowsDown() {
    for velocity in [8.0, 14, 25, 40, 100] {
      var flow = Flow(count: 10_000, at: 5_000)
      flow.send(.fling(velocity: velocity))
      var last = velocity
      for _ in 0..<400 where flow.machine.mode == .settle {
        flow.wait(milliseconds: 8)
        flow.frame()
        #expect(flow.machine.velocity <= last * (1 + 1e-9) + 1e-9, "a flick of \(velocity)")
        last = flow.machine.velocity
      }
    }
  }

  @Test("settling stops at an end, with any velocity", arguments: [1e9, 400, 3, 0.2])
  func ends(_ velocity: Double) {
    for (index, sign) in [(0, -1.0), (9, 1)] {
      var flow = Flow(count: 10, at: index)
      flow.send(.fling(velocity: velocity * sign))
      flow.settle()
      #expect(flow.machine.position == Double(index))
      #expect(Flow.isMonotone(flow.frames.map(\.position)))
    }
  }

  @Test("a new target keeps the velocity: a key that is held down moves the covers smoothly")
  func retarget() {
    var flow = Flow(count: 1_000, at: 100)
    flow.send(.step(1))
    flow.advance(seconds: 0.1)
    let before = flow.machine.velocity
    flow.send(.step(1))
    #expect(abs(flow.machine.velocity - before) < 1e-6 && before > 3)
    flow.settle()
    #expect(flow.machine.position == 102)
  }

  @Test("a motion without frames for a minute has ended")
  func hiddenPage() {
    var flow = Flow(count: 10_000)
    flow.send(.go(to: 9_000))
    flow.advance(seconds: 0.1)
    flow.wait(milliseconds: 60_000)
    flow.frame()
    #expect(flow.machine.position == 9_000 && flow.machine.mode == .rest)
  }

  @Test("settling goes on when the clock is set back, and at once")
  func clockSetBack() {
    var flow = Flow(count: 100)
    flow.now = .zero + .seconds(100_000)
    flow.send(.step(1))
    flow.advance(seconds: 0.1)
    let place = flow.machine.position
    flow.now = .zero
    flow.frame()
    #expect(flow.machine.position == place)
    flow.settle()
    #expect(flow.machine.position == 1)
    flow.advance(seconds: 0.4)
    #expect(flow.actions.contains(.announce(index: 1)))
  }
}
