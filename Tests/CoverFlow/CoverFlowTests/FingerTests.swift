import Essentials
import Testing

@testable import CoverFlow

@Suite("Fingers")
struct FingerTests {
  @Test("a finger that comes down during a glide moves nothing, at any moment of it")
  func touchDown() {
    for milliseconds in stride(from: 0.0, to: 1500, by: 37) {
      var flow = Flow(count: 1_000, at: 500)
      flow.send(.fling(velocity: 30))
      flow.advance(seconds: milliseconds / 1000)
      // Between two frames, the last drawn position counts.
      flow.wait(milliseconds: 9)
      let drawn = flow.machine.position
      flow.send(.pointerDown(x: 12, y: 3, at: flow.now))
      flow.frame()
      #expect(flow.machine.position == drawn && flow.machine.velocity == 0)
      // A finger that trembles doesn't move them, and when it goes on they don't make up for that.
      for (x, distance) in [(17.0, 0.0), (18, 0), (19, -1)] {
        flow.wait(milliseconds: 8)
        flow.send(.pointerMove(x: x, at: flow.now))
        flow.frame()
        #expect(abs(flow.machine.position - drawn - distance / 120) < 1e-9)
      }
    }
  }

  @Test("covers follow the finger by the same way, back and forth")
  func follows() {
    var flow = Flow(count: 100, at: 50)
    flow.drag(by: -10, speed: 500)
    let start = flow.machine.position
    #expect(abs(start - 50 - 4.0 / 120) < 1e-9)
    flow.move(from: -10, by: -240, speed: 800)
    #expect(abs(flow.machine.position - start - 2) < 1e-9)
    flow.move(from: -250, by: 240, speed: 900)
    #expect(abs(flow.machine.position - start) < 1e-9)
  }

  @Test(
    "the glide begins with the velocity of the finger", arguments: [120.0, 400, 1700, 4000])
  func release(_ speed: Double) {
    for direction in [-1.0, 1] {
      var flow = Flow(count: 10_000, at: 5_000)
      flow.drag(by: direction * max(60, speed / 4), speed: speed)
      let finger = flow.machine.velocity
      #expect(abs(finger * 120 / speed + direction) < 0.01)
      flow.wait(milliseconds: 6)
      flow.lift()
      #expect(abs(flow.machine.velocity / finger - 1) < 0.01)
      let before = flow.machine.position
      flow.advance(seconds: 1.0 / 60)
      #expect(abs((flow.machine.position - before) * 60 / finger - 1) < 0.2)
      flow.frames.removeAll()
      flow.settle()
      #expect(Flow.isMonotone([before] + flow.frames.map(\.position)))
    }
  }

  @Test("a page that hears late of the release has the velocity of the last places all the same")
  func lateRelease() {
    var flow = Flow(count: 1_000, at: 500)
    flow.drag(by: -300, speed: 900)
    let liftedAt = flow.now + .milliseconds(8)
    flow.wait(milliseconds: 900)
    flow.send(.pointerUp(x: -300, y: 0, at: liftedAt))
    #expect(abs(flow.machine.velocity - 7.5) < 0.1)
  }

  @Test(
    "a finger that rested before it was lifted leaves the covers where they are, but for the rest")
  func restingFinger() {
    var flow = Flow(count: 1_000, at: 500)
    flow.drag(by: -310, speed: 2_000)
    let place = flow.machine.position
    flow.advance(seconds: 0.3)
    flow.lift()
    #expect(flow.machine.velocity == 0)
    flow.settle()
    #expect(flow.machine.position == place.rounded())
  }

  @Test("covers follow less and less beyond the ends, and come back without turning round")
  func overscroll() {
    for (index, direction) in [(0, 1.0), (9, -1)] {
      var flow = Flow(count: 10, at: index)
      flow.drag(by: direction * 2_000, speed: 3_000)
      let beyond = abs(flow.machine.position - Double(index))
      #expect(beyond > 0.4 && beyond < 0.5)
      flow.frames.removeAll()
      flow.lift()
      flow.settle()
      #expect(flow.machine.position == Double(index))
      #expect(Flow.isMonotone(flow.frames.map(\.position)))
    }
  }

  @Test("covers that are caught beyond an end don't jump")
  func caughtBeyondTheEnd() {
    var flow = Flow(count: 10)
    flow.drag(by: 900, speed: 3_000)
    flow.lift()
    flow.advance(seconds: 0.07)
    let place = flow.machine.position
    #expect(place < -0.01)
    flow.send(.pointerDown(x: 0, y: 0, at: flow.now))
    for x in [5.0, 6.001] {
      flow.wait(milliseconds: 8)
      flow.send(.pointerMove(x: x, at: flow.now))
    }
    #expect(abs(flow.machine.position - place) < 1e-4)
  }

  @Test("a finger that is taken away, to scroll the page, lets the covers settle")
  func cancel() {
    var flow = Flow(count: 10, at: 5)
    flow.drag(by: -70, speed: 500)
    flow.send(.pointerCancel)
    flow.settle()
    #expect(flow.machine.position == 5 || flow.machine.position == 6)
    flow.send(.pointerMove(x: 400, at: flow.now))
    flow.lift()
    #expect(flow.machine.mode == .rest && flow.machine.counters.ignored == 2)
  }

  @Test("a second finger changes nothing")
  func secondFinger() {
    var flow = Flow(count: 10, at: 5)
    flow.drag(by: -100, speed: 500)
    let place = flow.machine.position
    flow.send(.pointerDown(x: 300, y: 20, at: flow.now))
    #expect(flow.machine.position == place && flow.machine.mode == .drag)
  }

  @Test("a cover that the program brings to the front waits for the finger")
  func goWhileDragging() {
    for isMoved in [true, false] {
      var flow = Flow(count: 20, at: 5)
      if isMoved {
        flow.drag(by: -100, speed: 500)
      } else {
        flow.send(.pointerDown(x: 300, y: 0, at: flow.now))
      }
      let place = flow.machine.position
      flow.send(.go(to: 14))
      flow.frame()
      #expect(flow.machine.position == place && flow.machine.mode == .drag)
      // An insertion before the cover changes its index.
      flow.insert(at: 0)
      flow.lift(x: 300)
      flow.settle()
      #expect(flow.machine.position == 15)
      #expect(
        flow.actions.last == .announce(index: 15) || flow.actions.contains(.settle(index: 15)))
    }
    var flow = Flow(count: 20, at: 5)
    flow.drag(by: -100, speed: 500)
    flow.send(.go(to: 14))
    flow.send(.pointerCancel)
    flow.settle()
    #expect(flow.machine.position == 14)
    // The next finger is another one.
    flow.drag(by: -10, speed: 500)
    flow.wait(milliseconds: 500)
    flow.lift()
    flow.settle()
    #expect(flow.machine.position == 14)
  }

  @Test("keys and wheel wait for the finger")
  func othersWhileDragging() {
    var flow = Flow(count: 10, at: 5)
    flow.drag(by: -100, speed: 500)
    let place = flow.machine.position
    for event in [.step(1), .wheel(covers: 2), .flip, .select, .page(1)] as [CoverFlowEvent] {
      flow.send(event)
    }
    flow.frame()
    #expect(flow.machine.position == place && flow.machine.mode == .drag)
  }
}

@Suite("Taps")
struct TapTests {
  /// The middle of a cover as the viewer sees it.
  private func place(of distance: Double, in flow: Flow) -> Double {
    let layout = flow.machine.layout
    let seen = layout.projection(of: layout.placement(distance: distance))
    // The part that no nearer cover hides: at the outer edge.
    return distance < 0 ? seen.left.x + 8 : distance > 0 ? seen.right.x - 8 : 0
  }

  @Test("a tap on a cover at a side brings it to the front", arguments: [-5, -2, -1, 1, 3, 7])
  func side(_ distance: Int) {
    var flow = Flow(count: 100, at: 50)
    flow.tap(x: place(of: Double(distance), in: flow))
    flow.settle()
    #expect(flow.machine.position == Double(50 + distance))
    #expect(!flow.actions.contains { if case .select = $0 { true } else { false } })
  }

  @Test("a tap on the cover at the front selects it, and moves nothing")
  func front() {
    var flow = Flow(count: 100, at: 50)
    flow.tap(x: 60, y: -80)
    #expect(flow.actions == [.select(index: 50)])
    #expect(flow.settle() < 0.1 && flow.machine.position == 50)
  }

  @Test("a tap beside the covers does nothing")
  func beside() {
    var flow = Flow(count: 100, at: 50)
    flow.tap(x: 60, y: 220)
    #expect(flow.actions == [] && flow.machine.mode == .rest)
    var single = Flow(count: 1)
    single.tap(x: 400)
    #expect(single.actions == [] && single.machine.position == 0)
  }

  @Test("a tap during a flick stops it, and means no cover")
  func stops() {
    var flow = Flow(count: 1_000, at: 500)
    flow.send(.fling(velocity: 30))
    flow.advance(seconds: 0.2)
    let place = flow.machine.position
    flow.tap(x: 300)
    flow.settle()
    #expect(abs(flow.machine.position - place) <= 0.5)
  }

  @Test("two taps turn the cover at the front over, and two more turn it back")
  func doubleTap() {
    var flow = Flow(count: 100, at: 50)
    for isFlipped in [true, false] {
      flow.actions.removeAll()
      flow.tap(x: 10)
      flow.wait(milliseconds: 120)
      flow.tap(x: 14)
      #expect(
        flow.actions == [.select(index: 50), .flip(index: 50, isFlipped: isFlipped)])
      flow.settle()
      flow.wait(milliseconds: 400)
    }
  }

  @Test("two taps on a cover at a side bring it to the front and turn it over")
  func doubleTapAtTheSide() {
    var flow = Flow(count: 100, at: 50)
    let x = place(of: 2, in: flow)
    flow.tap(x: x)
    flow.advance(seconds: 0.12)
    flow.tap(x: x)
    flow.settle()
    #expect(flow.machine.position == 52)
    #expect(flow.actions.contains(.flip(index: 52, isFlipped: true)))
  }

  @Test("two taps that are slow, or apart, are two taps", arguments: [(500.0, 0.0), (100, 60)])
  func notDouble(_ milliseconds: Double, _ distance: Double) {
    var flow = Flow(count: 100, at: 50)
    flow.tap(x: 10)
    flow.wait(milliseconds: milliseconds)
    flow.tap(x: 10 + distance)
    #expect(flow.actions == [.select(index: 50), .select(index: 50)])
  }

  @Test("the cover that was tapped first is gone when the second tap comes: nothing is turned over")
  func tappedCoverIsRemoved() {
    var flow = Flow(count: 100, at: 50)
    flow.tap(x: 10)
    flow.remove(at: 50)
    flow.wait(milliseconds: 100)
    flow.tap(x: 10)
    #expect(!flow.actions.contains(.flip(index: 50, isFlipped: true)))
  }

  @Test(
    "a tap hits the topmost cover: at each point the one nearest to the middle")
  func hitTest() {
    for step in 0..<400 {
      var flow = Flow(count: 100, at: 50)
      flow.machine.position = 48 + Double(step) / 100
      flow.machine.motion = .drag(
        DragMotion(
          x: 0, at: flow.now, position: flow.machine.position, positionMax: 99,
          interruptedDistance: nil))
      flow.frame()
      let frames = (0..<21).compactMap { flow.machine.frame(ofSlot: $0) }
      for x in stride(from: -620.0, through: 620, by: 31) {
        let under = frames.filter {
          $0.isVisible && flow.machine.layout.contains(x: x, y: 20, placement: $0.placement)
        }
        let nearest = under.min {
          abs(Double($0.index) - flow.machine.position)
            < abs(Double($1.index) - flow.machine.position)
        }
        #expect(flow.machine.hitTest(x: x, y: 20) == nearest?.index)
      }
    }
  }
}
