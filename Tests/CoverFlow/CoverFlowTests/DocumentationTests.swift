import CoverFlow
import Essentials
import Testing

@Suite("The documentation of cover flow")
struct DocumentationTests {
  @Test("the documentation shows all that a view has to do for a step")
  func listing() {
    var now = Instant.zero
    func nextFrame() -> Instant {
      now = now + .milliseconds(16)
      return now
    }
    var settled: [Int] = []
    func perform(_ action: CoverFlowAction) {
      if case .settle(let index) = action { settled.append(index) }
    }
    var frontIndex: Int?
    func draw(_ frame: CoverFrame?) {
      if let frame, frame.rank == 0, frame.placement.x == 0 { frontIndex = frame.index }
    }

    var machine = CoverFlowMachine(count: 10_000)
    var actions: [CoverFlowAction] = []
    machine.handle(.step(1), now: now, into: &actions)
    while machine.needsFrame {
      machine.frame(now: nextFrame(), into: &actions)
      for action in actions { perform(action) }
      actions.removeAll()
      for slot in 0..<machine.pool.slotCount { draw(machine.frame(ofSlot: slot)) }
    }

    #expect(settled == [1] && frontIndex == 1)
  }
}
