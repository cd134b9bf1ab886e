import Essentials
import Testing

@testable import CoverFlow

@Suite("Elements for covers")
struct CoverTests {
  @Test("there are as many elements after 10,000 covers as before", arguments: [17, 21])
  func constant(_ slots: Int) {
    var flow = Flow(count: 10_000, slots: slots)
    flow.send(.go(to: .max))
    flow.settle()
    flow.send(.page(-3))
    flow.settle()
    #expect(flow.machine.pool.slotCount == slots && flow.shown.count == slots)
    #expect(flow.shown.allSatisfy { $0 != nil } && flow.isShownRight)
    #expect(!flow.actions.contains { if case .vacate = $0 { true } else { false } })
  }

  @Test("a cover that stays near the front keeps its element")
  func identity() {
    var flow = Flow(count: 1_000, at: 500)
    let before = flow.shown
    flow.send(.step(3))
    flow.settle()
    let kept = zip(before, flow.shown).filter { $0 == $1 }.count
    #expect(kept == 18)
    #expect(flow.machine.counters.assignments == 21 + 3)
  }

  @Test("every cover within reach has an element at every frame", arguments: [3, 17, 21, 101])
  func withinReach(_ slots: Int) {
    var flow = Flow(count: 1_000, slots: slots, at: 500)
    flow.send(.fling(velocity: -60))
    while flow.machine.mode != .rest {
      flow.advance(seconds: 1.0 / 60)
      let front = flow.machine.position
      for index in Int(front - 20)...Int(front + 20)
      where flow.machine.layout.isVisible(distance: Double(index) - front) {
        #expect(flow.machine.pool.slot(of: index) != nil)
      }
    }
  }

  @Test("the order is that of distances from the middle at every position, whatever is selected")
  func order() {
    var flow = Flow(count: 1_000, at: 500)
    flow.send(.go(to: 504))
    var changes = 0
    var last: [Int] = []
    for _ in 0..<400 {
      flow.advance(seconds: 0.002, perSecond: 500)
      let frames = (0..<21).compactMap { flow.machine.frame(ofSlot: $0) }
      let byRank = frames.sorted { $0.rank < $1.rank }.map(\.index)
      let distances = byRank.map { abs(Double($0) - flow.machine.position) }
      for (nearer, farther) in zip(distances, distances.dropFirst()) {
        #expect(nearer <= farther)
      }
      #expect(Set(frames.map(\.rank)).count == 21)
      if byRank != last { changes += 1 }
      last = byRank
    }
    #expect(changes > 4)
  }

  @Test("covers that fly past in a flick get no images; those where it ends do, in time")
  func loads() {
    var flow = Flow(count: 10_000)
    flow.send(.go(to: 9_000))
    flow.settle()
    var loaded: [Int] = []
    for case .load(_, let index) in flow.actions { loaded.append(index) }
    #expect(Set(loaded).isSuperset(of: 8_992...9_008))
    let skipped = loaded.filter { $0 < 8_980 }
    #expect(skipped.count < 25, "\(skipped.count) of 9,000")
    #expect(Set(loaded).count == loaded.count)
  }

  @Test("covers that are seen slowly all get their images, once")
  func loadsWhenSlow() {
    var flow = Flow(count: 1_000)
    for _ in 0..<30 {
      flow.send(.step(1))
      flow.settle()
    }
    var loaded: [Int] = []
    for case .load(_, let index) in flow.actions { loaded.append(index) }
    #expect(Set(loaded).isSuperset(of: 11...38) && Set(loaded).count == loaded.count)
  }

  @Test("lists shorter than the pool leave elements empty", arguments: [0, 1, 2, 20])
  func shortLists(_ count: Int) {
    let flow = Flow(count: count)
    #expect(flow.shown.compactMap { $0 }.sorted() == Array(0..<count) && flow.isShownRight)
    #expect(flow.machine.front == (count > 0 ? 0 : nil))
  }
}

@Suite("Turning covers over")
struct FlipTests {
  @Test("a flip shows the back from half-way on, upright at the end")
  func turns() throws {
    var flow = Flow(count: 10, at: 5)
    flow.send(.flip)
    let slot = try #require(flow.machine.pool.slot(of: 5))
    var wasBack = false
    var lastAngle = 0.0
    while flow.machine.needsFrame {
      flow.advance(seconds: 1.0 / 60)
      let frame = try #require(flow.machine.frame(ofSlot: slot))
      if !frame.showsBack { #expect(!wasBack) }
      let angle = frame.placement.angleDegrees + (frame.showsBack ? 180 : 0)
      #expect(angle >= lastAngle && abs(frame.placement.angleDegrees) <= 90)
      (wasBack, lastAngle) = (frame.showsBack, angle)
    }
    let frame = try #require(flow.machine.frame(ofSlot: slot))
    #expect(frame.showsBack && frame.placement.angleDegrees == 0 && frame.placement.z > 0)
    #expect(flow.actions == [.flip(index: 5, isFlipped: true)])
  }

  @Test("a flip that is reversed half-way goes on from there")
  func interrupted() {
    var flow = Flow(count: 10, at: 5)
    flow.send(.flip)
    flow.advance(seconds: 0.1)
    let part = flow.machine.flip?.part ?? 0
    flow.send(.flip)
    flow.advance(seconds: 1.0 / 120, perSecond: 120)
    #expect(abs((flow.machine.flip?.part ?? 0) - part) < 0.1 && part > 0.2)
    flow.settle()
    #expect(flow.machine.flip == nil)
    #expect(flow.actions == [.flip(index: 5, isFlipped: true), .flip(index: 5, isFlipped: false)])
  }

  @Test(
    "a cover that leaves the front is turned back",
    arguments: [
      .step(1), .go(to: 9), .jump(to: 0), .fling(velocity: 9), .wheel(covers: 1), .flipBack,
    ]
      as [CoverFlowEvent])
  func leaves(_ event: CoverFlowEvent) {
    var flow = Flow(count: 10, at: 5)
    flow.send(.flip)
    flow.settle()
    flow.send(event)
    flow.settle()
    #expect(flow.machine.flip == nil)
    #expect(flow.actions.filter { $0 == .flip(index: 5, isFlipped: false) }.count == 1)
  }

  @Test("a finger that drags turns the cover back; one that only taps doesn't")
  func fingers() {
    var flow = Flow(count: 10, at: 5)
    flow.send(.flip)
    flow.settle()
    flow.tap(x: 0)
    flow.settle()
    #expect(flow.machine.flip?.isFlipped == true)
    flow.drag(by: 40, speed: 400)
    #expect(flow.machine.flip?.isFlipped == false)
  }

  @Test("a flip requested on the way happens on arrival; one requested twice doesn't")
  func onArrival() {
    for (presses, isFlipped) in [(1, true), (2, false)] {
      var flow = Flow(count: 10, at: 5)
      flow.send(.step(2))
      flow.advance(seconds: 0.1)
      for _ in 0..<presses { flow.send(.flip) }
      flow.settle()
      #expect(flow.actions.contains(.flip(index: 7, isFlipped: true)) == isFlipped)
    }
  }

  @Test("a flip keeps its item when others come and go, and ends with it")
  func changes() {
    var flow = Flow(count: 10, at: 5)
    flow.send(.flip)
    flow.settle()
    flow.insert(at: 0)
    flow.frame()
    #expect(flow.machine.flip?.index == 6 && flow.machine.flip?.isFlipped == true)
    flow.remove(at: 6)
    flow.frame()
    #expect(flow.machine.flip == nil)
  }
}

@Suite("Settling is reported")
struct ReportTests {
  private func reports(_ flow: Flow) -> [CoverFlowAction] {
    flow.actions.filter {
      switch $0 {
      case .settle, .announce: true
      default: false
      }
    }
  }

  @Test("the front is announced once, 300 ms after the covers came to rest")
  func announcement() throws {
    var flow = Flow(count: 1_000)
    for _ in 0..<20 {
      flow.send(.step(1))
      flow.advance(seconds: 0.05)
    }
    flow.settle()
    #expect(reports(flow) == [.settle(index: 20)])
    let wake = try #require(flow.machine.nextWake)
    #expect((wake - flow.now).seconds > 0.28 && (wake - flow.now).seconds <= 0.3)
    flow.now = wake
    flow.frame()
    #expect(reports(flow) == [.settle(index: 20), .announce(index: 20)])
    #expect(flow.machine.nextWake == nil)
    flow.advance(seconds: 2)
    #expect(reports(flow).count == 2)
  }

  @Test("a motion that begins meanwhile takes the announcement's place")
  func overtaken() {
    var flow = Flow(count: 1_000)
    flow.send(.step(1))
    flow.settle()
    flow.advance(seconds: 0.1)
    flow.send(.step(1))
    flow.settle()
    flow.advance(seconds: 0.5)
    #expect(reports(flow) == [.settle(index: 1), .settle(index: 2), .announce(index: 2)])
  }

  @Test("the first cover is reported, and not announced")
  func first() {
    var machine = CoverFlowMachine(count: 5)
    var actions: [CoverFlowAction] = []
    machine.frame(now: .zero, into: &actions)
    #expect(actions.contains(.settle(index: 0)) && actions.contains(.front(index: 0)))
    #expect(machine.nextWake == nil && !machine.needsFrame)
  }

  @Test("nothing moves, nothing is drawn")
  func idle() {
    let flow = Flow(count: 100, at: 4)
    #expect(!flow.machine.needsFrame && flow.machine.nextWake == nil)
  }

  @Test(
    "with reduced motion every move is one frame",
    arguments: [.step(1), .go(to: 900), .fling(velocity: 30), .page(2)] as [CoverFlowEvent])
  func reducedMotion(_ event: CoverFlowEvent) {
    var flow = Flow(count: 1_000, at: 100)
    flow.send(.reduceMotion(true))
    flow.frame()
    flow.actions.removeAll()
    flow.send(event)
    flow.frame()
    #expect(flow.machine.mode == .rest && !flow.machine.needsFrame)
    #expect(flow.machine.position != 100)
    #expect(reports(flow).count == 1)
  }

  @Test("with reduced motion fingers, wheels and turns jump from cover to cover, too")
  func reducedMotionEverywhere() {
    var flow = Flow(count: 1_000, at: 100)
    flow.send(.reduceMotion(true))
    flow.drag(by: -333, speed: 700)
    flow.lift()
    flow.frame()
    flow.send(.wheel(covers: 2.4))
    flow.settle()
    flow.send(.flip)
    flow.frame()
    #expect(flow.machine.flip?.part == 1 && !flow.machine.needsFrame)
    flow.send(.flip)
    flow.frame()
    #expect(flow.machine.flip == nil)
    #expect(flow.frames.allSatisfy { $0.position == $0.position.rounded() })
  }

  @Test("motion that is reduced while something moves ends it")
  func reducedMeanwhile() {
    var flow = Flow(count: 1_000, at: 100)
    flow.send(.go(to: 500))
    flow.advance(seconds: 0.2)
    flow.send(.reduceMotion(true))
    flow.frame()
    #expect(flow.machine.position == 500 && flow.machine.mode == .rest)
  }
}
