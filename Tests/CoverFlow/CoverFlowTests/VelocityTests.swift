import Essentials
import Testing

@testable import CoverFlow

@Suite("Velocity of a finger")
struct VelocityTests {
  private func tracker(_ places: [(milliseconds: Double, x: Double)]) -> VelocityTracker {
    var tracker = VelocityTracker()
    for place in places {
      tracker.add(x: place.x, at: Instant(nanoseconds: Int64(place.milliseconds * 1e6)))
    }
    return tracker
  }

  @Test("the velocity is the slope of the finger's positions")
  func slope() {
    let moving = tracker((0...20).map { (Double($0) * 5, Double($0) * 7) })
    #expect(abs(moving.velocity - 1400) < 1e-6)
  }

  @Test("the velocity is that of the last 100 ms: earlier positions don't count")
  func window() {
    let slow = (0...40).map { (Double($0) * 10, Double($0)) }
    let fast = (1...10).map { (400 + Double($0) * 10, 40 + Double($0) * 20) }
    #expect(abs(tracker(slow + fast).velocity - 2000) < 1e-6)
  }

  @Test("the velocity averages over noise, though the last two positions alone would mislead")
  func noise() {
    var random = SeededGenerator(seed: 5)
    let noisy = (0...25).map { (Double($0) * 4, Double($0) * 4 + random.unit() * 3) }
    #expect(abs(tracker(noisy).velocity - 1000) < 100)
  }

  @Test("the velocity is 0 without positions, with one, and with positions at one time")
  func unknown() {
    #expect(tracker([]).velocity == 0)
    #expect(tracker([(5, 3)]).velocity == 0)
    #expect(tracker([(5, 3), (5, 900), (5, 5000)]).velocity == 0)
  }

  @Test("the velocity is not made huge by two positions within a millisecond")
  func shortRemainder() {
    #expect(tracker([(100, 0), (100.5, 30)]).velocity == 0)
    #expect(tracker([(0, 0), (99.5, 100), (100, 130)]).velocity < 2000)
  }

  @Test("the velocity survives a clock that is a little out of order, and one that is set back")
  func clocks() {
    let disorder = tracker([(0, 0), (10, 10), (20, 20), (18, 22), (30, 30), (40, 40)])
    #expect(abs(disorder.velocity - 1000) < 150)
    let setBack = tracker([(900_000, 0), (900_010, 10), (0, 20), (10, 30), (20, 40)])
    #expect(abs(setBack.velocity - 1000) < 1e-6)
  }

  @Test("the velocity ignores positions that are not finite")
  func hostile() {
    let broken = tracker([(0, 0), (10, .nan), (20, 20), (30, .infinity), (40, 40)])
    #expect(abs(broken.velocity - 1000) < 1e-6)
  }

  @Test("the velocity of a mouse that reports 8,000 times a second is measured over what fits")
  func manyReports() {
    let fast = tracker((0...8000).map { (Double($0) / 8, Double($0) / 8) })
    #expect(abs(fast.velocity - 1000) < 1e-3)
  }
}
