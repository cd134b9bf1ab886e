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

  @Test("is the slope of its places")
  func slope() {
    let moving = tracker((0...20).map { (Double($0) * 5, Double($0) * 7) })
    #expect(abs(moving.velocity - 1400) < 1e-6)
  }

  @Test("is that of the last 100 ms: what was before doesn't count")
  func window() {
    let slow = (0...40).map { (Double($0) * 10, Double($0)) }
    let fast = (1...10).map { (400 + Double($0) * 10, 40 + Double($0) * 20) }
    #expect(abs(tracker(slow + fast).velocity - 2000) < 1e-6)
  }

  @Test("averages over noise, where the last two places would say anything")
  func noise() {
    var random = SeededGenerator(seed: 5)
    let noisy = (0...25).map { (Double($0) * 4, Double($0) * 4 + random.unit() * 3) }
    #expect(abs(tracker(noisy).velocity - 1000) < 100)
  }

  @Test("is unknown, and so 0, without places, with one, and with places at one time")
  func unknown() {
    #expect(tracker([]).velocity == 0)
    #expect(tracker([(5, 3)]).velocity == 0)
    #expect(tracker([(5, 3), (5, 900), (5, 5000)]).velocity == 0)
  }

  @Test("is not made huge by two places within a millisecond")
  func shortRemainder() {
    #expect(tracker([(100, 0), (100.5, 30)]).velocity == 0)
    #expect(tracker([(0, 0), (99.5, 100), (100, 130)]).velocity < 2000)
  }

  @Test("survives a clock that is a little out of order, and one that is set back")
  func clocks() {
    let disorder = tracker([(0, 0), (10, 10), (20, 20), (18, 22), (30, 30), (40, 40)])
    #expect(abs(disorder.velocity - 1000) < 150)
    let setBack = tracker([(900_000, 0), (900_010, 10), (0, 20), (10, 30), (20, 40)])
    #expect(abs(setBack.velocity - 1000) < 1e-6)
  }

  @Test("ignores places that are no numbers")
  func hostile() {
    let broken = tracker([(0, 0), (10, .nan), (20, 20), (30, .infinity), (40, 40)])
    #expect(abs(broken.velocity - 1000) < 1e-6)
  }

  @Test("of a mouse that reports 8,000 times a second is measured over what fits")
  func manyReports() {
    let fast = tracker((0...8000).map { (Double($0) / 8, Double($0) / 8) })
    #expect(abs(fast.velocity - 1000) < 1e-3)
  }
}
