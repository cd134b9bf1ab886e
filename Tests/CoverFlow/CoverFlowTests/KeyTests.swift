import Essentials
import Testing

@testable import CoverFlow

@Suite("Keys and wheels")
struct KeyTests {
  @Test("a key held at 30 Hz moves a cover each time, and doesn't queue")
  func keyRepeat() {
    var flow = Flow(count: 10_000, at: 100)
    var slowest = Double.infinity
    for press in 0..<90 {
      flow.send(.step(1))
      flow.advance(seconds: 1.0 / 30)
      if press > 6 { slowest = min(slowest, flow.machine.velocity) }
    }
    // In full motion it never slows down between two covers, let alone stops.
    #expect(slowest > 25 && flow.machine.velocity < 35, "\(slowest)")
    #expect(190 - flow.machine.position < 5, "too far behind the key")
    #expect(flow.settle() < 0.8)
    #expect(flow.machine.position == 190)
    #expect(Flow.isMonotone(flow.frames.map(\.position)))
  }

  @Test("a page that draws four frames a second counts every press all the same")
  func slowPage() {
    var flow = Flow(count: 10_000, at: 100)
    for press in 0..<60 {
      flow.send(.step(1))
      flow.wait(milliseconds: 33)
      if press.isMultiple(of: 8) { flow.frame() }
    }
    flow.settle(perSecond: 4)
    #expect(flow.machine.position == 160)
  }

  @Test("pages, Home and End reach the ends and stay there")
  func pages() {
    var flow = Flow(count: 25)
    flow.send(.page(1))
    flow.settle()
    #expect(flow.machine.position == 8)
    for event in [.page(1), .page(1), .step(1), .step(.max), .page(.max)] as [CoverFlowEvent] {
      flow.send(event)
      flow.settle()
    }
    #expect(flow.machine.position == 24)
    for event in [.go(to: 0), .step(-1), .step(.min), .page(.min), .go(to: -7)] as [CoverFlowEvent]
    {
      flow.send(event)
      flow.settle()
    }
    #expect(flow.machine.position == 0)
  }

  @Test("a move the other way while moving turns round once, and ends at the requested cover")
  func turnRound() {
    var flow = Flow(count: 100, at: 50)
    flow.send(.step(4))
    flow.advance(seconds: 0.15)
    flow.send(.go(to: 49))
    flow.frames.removeAll()
    flow.settle()
    #expect(flow.machine.position == 49)
    let positions = flow.frames.map(\.position)
    let furthest = positions.indices.max { positions[$0] < positions[$1] } ?? 0
    #expect(Flow.isMonotone(Array(positions[furthest...])))
  }

  @Test(
    "a notch of a wheel is a cover, whichever unit the browser reports", arguments: [0.83, 1, 1.2])
  func notches(_ covers: Double) {
    for direction in [1.0, -1] {
      var flow = Flow(count: 100, at: 50)
      for notch in 1...4 {
        flow.send(.wheel(covers: covers * direction))
        flow.settle()
        #expect(flow.machine.position == 50 + Double(notch) * direction)
      }
      #expect(Flow.isMonotone(flow.frames.map(\.position)))
    }
  }

  @Test("notches that come fast add up, and the covers never turn round")
  func fastNotches() {
    var flow = Flow(count: 100, at: 50)
    for _ in 0..<6 {
      flow.send(.wheel(covers: 1))
      flow.advance(seconds: 0.05)
    }
    flow.settle()
    #expect(flow.machine.position == 56)
    #expect(Flow.isMonotone(flow.frames.map(\.position)))
  }

  @Test("a trackpad is followed, and settles in its direction once it is quiet")
  func trackpad() {
    var flow = Flow(count: 1_000, at: 500)
    var asked = 500.0
    for event in 0..<60 {
      let covers = 0.3 * (1 - Double(event) / 60)
      asked += covers
      flow.send(.wheel(covers: covers))
      flow.advance(seconds: 1.0 / 60)
      #expect(abs(flow.machine.position - asked) < 2.5)
    }
    #expect(flow.machine.mode == .scroll)
    while flow.machine.mode == .scroll { flow.advance(seconds: 1.0 / 60) }
    flow.frames.removeAll()
    flow.settle()
    #expect(abs(flow.machine.position - asked) <= 1 && flow.machine.position >= asked - 0.26)
    #expect(Flow.isMonotone(flow.frames.map(\.position)))
  }

  @Test("a wheel stops at the ends, whatever its deltas", arguments: [1e300, 50, 3])
  func wheelAtTheEnds(_ covers: Double) {
    var flow = Flow(count: 3, at: 1)
    flow.send(.wheel(covers: covers))
    flow.settle()
    #expect(flow.machine.position == 2)
    flow.send(.wheel(covers: -covers))
    flow.settle()
    #expect(flow.machine.position == 0)
  }

  @Test("a notch during a flick makes it a cover longer")
  func notchDuringFlick() {
    var flow = Flow(count: 1_000, at: 500)
    flow.send(.fling(velocity: 30))
    let target = flow.machine.target
    flow.advance(seconds: 0.1)
    flow.send(.wheel(covers: 1))
    flow.settle()
    #expect(flow.machine.position == Double(target + 1))
    #expect(Flow.isMonotone(flow.frames.map(\.position)))
  }

  @Test("a trackpad during a flick takes over with the flick's velocity")
  func trackpadDuringFlick() {
    var flow = Flow(count: 1_000, at: 500)
    flow.send(.fling(velocity: 30))
    flow.advance(seconds: 0.1)
    let place = flow.machine.position
    let velocity = flow.machine.velocity
    flow.send(.wheel(covers: 0.4))
    #expect(abs(flow.machine.velocity - velocity) < 1e-6)
    flow.frames.removeAll()
    flow.settle()
    #expect(flow.machine.position >= place && flow.machine.position <= place + 3)
    #expect(Flow.isMonotone([place] + flow.frames.map(\.position)))
  }
}
