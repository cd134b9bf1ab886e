import Essentials
import Testing

@testable import CoverFlow

/// Faults that well-known implementations of cover flow have or had, each as a test.
@Suite("Known faults of other implementations")
struct KnownFaultTests {
  @Test("FlowCover: touching a gliding view rounds its position, and the next move jumps back")
  func roundedOnTouchDown() {
    var flow = Flow(count: 1_000, at: 500)
    flow.send(.fling(velocity: 22))
    flow.advance(seconds: 0.25)
    flow.drag(by: -30, speed: 600)
    let positions = flow.frames.suffix(4).map(\.position)
    for (a, b) in zip(positions, positions.dropFirst()) { #expect(abs(b - a) < 0.5) }
    #expect(positions[0] != positions[0].rounded())
  }

  @Test("FlowCover: the speed is measured over a remainder of a window, and becomes huge")
  func speedOfARemainder() {
    var flow = Flow(count: 1_000, at: 500)
    // A drag whose last places come 0.2 s after it began, and close together.
    flow.drag(by: -160, speed: 800)
    flow.wait(milliseconds: 1)
    flow.send(.pointerMove(x: -162, at: flow.now))
    #expect(abs(flow.machine.velocity - 800 / 120) < 1)
  }

  @Test("OpenFlow: the cover that is selected comes to the front before it is in the middle")
  func orderBySelection() {
    var flow = Flow(count: 100, at: 50)
    flow.send(.step(1))
    var isSecond = false
    while flow.machine.position < 50.5 {
      if let slot = flow.machine.pool.slot(of: 51) {
        isSecond = flow.machine.frame(ofSlot: slot)?.rank == 1
        #expect(flow.machine.frame(ofSlot: slot)?.rank != 0)
      }
      flow.advance(seconds: 0.008, perSecond: 125)
    }
    let slot = flow.machine.pool.slot(of: 51)
    #expect(isSecond && slot.flatMap { flow.machine.frame(ofSlot: $0) }?.rank == 0)
  }

  @Test("Tapku: the order is brought up to date only after the motion has ended")
  func orderAfterTheEnd() {
    var flow = Flow(count: 1_000, at: 500)
    flow.send(.fling(velocity: 40))
    while flow.machine.mode == .settle {
      flow.advance(seconds: 1.0 / 60)
      let slot = flow.machine.pool.slot(of: flow.machine.nearest)
      #expect(slot.flatMap { flow.machine.frame(ofSlot: $0) }?.rank == 0)
    }
  }

  @Test("Tapku, OpenFlow: an animation restarts at each index, and the covers stop at each")
  func stopsAtEachIndex() {
    var flow = Flow(count: 1_000, at: 500)
    flow.send(.fling(velocity: 20))
    var slowest = Double.infinity
    while flow.machine.position < 505 {
      flow.advance(seconds: 1.0 / 120, perSecond: 120)
      slowest = min(slowest, flow.machine.velocity)
    }
    #expect(slowest > 5)
  }

  @Test("iCarousel: a cover's turn and depth change direction abruptly")
  func abruptLayout() {
    let layout = CoverFlowLayout(width: 1280, height: 484)
    func depthSlope(_ distance: Double) -> Double {
      (layout.placement(distance: distance + 1e-5).z - layout.placement(distance: distance).z)
        / 1e-5
    }
    #expect(abs(depthSlope(-1e-5)) < 0.1 && abs(depthSlope(1e-5)) < 0.1)
    #expect(abs(depthSlope(0.999)) < 2 && depthSlope(1.001) == 0)
  }

  @Test("iCarousel: a flick is rounded against its direction, or goes in several movements")
  func flickInPieces() {
    var flow = Flow(count: 1_000, at: 500)
    flow.drag(by: -40, speed: 300)
    flow.lift()
    let before = flow.machine.position
    #expect(flow.machine.target > 500)
    flow.frames.removeAll()
    flow.settle()
    #expect(Flow.isMonotone([before] + flow.frames.map(\.position)))
    #expect(flow.actions.filter { if case .settle = $0 { true } else { false } }.count == 1)
  }

  @Test("Swiper: covers turn on and on with their distance, instead of up to an angle")
  func unboundedAngle() {
    let layout = CoverFlowLayout(width: 1280, height: 484)
    for distance in [1.0, 2, 9, 1e6] {
      #expect(layout.placement(distance: distance).angleDegrees == -70)
    }
  }

  @Test("coverflowjs: the two covers that change places in the order overlap")
  func overlapOfSwappingCovers() {
    let layout = CoverFlowLayout(width: 1280, height: 484)
    let left = layout.projection(of: layout.placement(distance: -0.5))
    let right = layout.projection(of: layout.placement(distance: 0.5))
    #expect(left.right.x <= right.left.x)
  }

  @Test("OpenFlow: images are never given back")
  func imagesForEver() {
    var cache = CoverImageCache<Int>(capacity: 64)
    for key in 0..<10_000 {
      if case .load(let ticket) = cache.request(key, isInUse: { _ in false }) {
        _ = cache.finish(ticket, isLoaded: true)
      }
    }
    #expect(cache.count == 64)
  }
}
