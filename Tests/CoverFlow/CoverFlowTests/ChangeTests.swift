import Essentials
import Testing

@testable import CoverFlow

@Suite("Changes of the list")
struct ChangeTests {
  @Test("the cover at the front stays there when items arrive, leave and change places")
  func anchoredAtRest() {
    var flow = Flow(count: 100, at: 50)
    let key = flow.frontKey
    flow.insert(at: 0)
    flow.insert(at: 51)
    flow.insert(at: 52)
    flow.remove(at: 3)
    flow.remove(at: 60)
    flow.move(from: 10, to: 90)
    flow.move(from: 90, to: 2)
    flow.frame()
    #expect(flow.frontKey == key && flow.machine.mode == .rest && flow.isShownRight)
    // The item itself is moved: the flow goes with it.
    flow.move(from: flow.machine.target, to: 0)
    flow.frame()
    #expect(flow.frontKey == key && flow.machine.position == 0 && flow.isShownRight)
    #expect(!flow.actions.contains { if case .front = $0 { true } else { false } })
  }

  @Test("elements stay with their items: one item that arrives fills one element")
  func elementsStay() {
    var flow = Flow(count: 100, at: 50)
    let before = flow.shown
    flow.insert(at: 40)
    flow.frame()
    #expect(zip(before, flow.shown).filter { $0 != $1 }.count <= 1)
    #expect(flow.isShownRight)
  }

  @Test("nothing jumps while covers glide, and the glide ends with the item that it was going to")
  func anchoredWhileGliding() {
    var flow = Flow(count: 1_000, at: 500)
    flow.send(.fling(velocity: 30))
    let goal = flow.keys[flow.machine.target]
    for _ in 0..<20 {
      flow.advance(seconds: 0.03)
      let key = flow.keys[flow.machine.nearest]
      let offset = flow.machine.position - Double(flow.machine.nearest)
      let velocity = flow.machine.velocity
      flow.insert(at: 3)
      flow.insert(at: flow.machine.target)
      flow.remove(at: 900)
      #expect(flow.keys[flow.machine.nearest] == key)
      #expect(abs(flow.machine.position - Double(flow.machine.nearest) - offset) < 1e-9)
      #expect(abs(flow.machine.velocity - velocity) < 1e-6)
    }
    flow.settle()
    #expect(flow.frontKey == goal)
  }

  @Test("a finger holds its cover when others come and go")
  func anchoredWhileDragging() {
    var flow = Flow(count: 100, at: 50)
    flow.drag(by: -155, speed: 700)
    let key = flow.keys[flow.machine.nearest]
    let offset = flow.machine.position - Double(flow.machine.nearest)
    flow.insert(at: 0)
    flow.remove(at: 70)
    flow.move(from: 4, to: 80)
    flow.frame()
    #expect(flow.frontKey == key)
    #expect(abs(flow.machine.position - Double(flow.machine.nearest) - offset) < 1e-9)
    flow.move(from: -155, by: -120, speed: 500)
    #expect(
      abs(flow.machine.position - Double(flow.keys.firstIndex(of: key) ?? 0) - offset - 1) < 1e-9)
  }

  @Test("the front that is removed gives way to the next one, and the last to the one before")
  func frontIsRemoved() {
    var flow = Flow(count: 5, at: 2)
    flow.remove(at: 2)
    flow.settle()
    flow.advance(seconds: 0.4)
    #expect(flow.frontKey == 3 && flow.machine.position == 2)
    #expect(flow.actions.suffix(3).contains(.announce(index: 2)))
    flow.remove(at: 3)
    flow.remove(at: 2)
    flow.settle()
    #expect(flow.frontKey == 1 && flow.isShownRight)
  }

  @Test("all items are removed under the finger, and others come", arguments: [0, 1, 5])
  func emptied(_ arriving: Int) {
    var flow = Flow(count: 30, at: 20)
    flow.drag(by: -200, speed: 500)
    while !flow.keys.isEmpty {
      flow.remove(at: flow.keys.count / 2)
      flow.frame()
    }
    #expect(flow.machine.front == nil && flow.shown.allSatisfy { $0 == nil })
    flow.move(from: -200, by: -100, speed: 500)
    for _ in 0..<arriving { flow.insert(at: flow.keys.count) }
    flow.move(from: -300, by: -100, speed: 500)
    flow.lift()
    flow.settle()
    #expect(flow.isShownRight && flow.machine.position <= Double(max(0, arriving - 1)))
    #expect(flow.actions.contains(.front(index: nil)))
  }

  @Test("a list that is new altogether keeps the front if it is still there, wherever it is now")
  func resetKeepsFront() {
    var flow = Flow(count: 100, at: 50)
    flow.reset(to: Array((0..<100).reversed()))
    flow.frame()
    #expect(flow.frontKey == 50 && flow.machine.position == 49 && flow.isShownRight)
    flow.reset(to: [7, 50, 9_000])
    flow.frame()
    #expect(flow.frontKey == 50 && flow.machine.position == 1 && flow.isShownRight)
  }

  @Test("if the front is gone, the nearest cover that is left takes its place")
  func resetLosesFront() {
    var flow = Flow(count: 100, at: 50)
    flow.reset(to: [44, 48, 53, 90])
    flow.settle()
    #expect(flow.frontKey == 48)
    flow.reset(to: [1_000, 1_001])
    flow.settle()
    #expect(flow.frontKey == 1_001 && flow.isShownRight)
    flow.reset(to: [])
    flow.settle()
    #expect(flow.frontKey == nil)
    flow.reset(to: [5, 6])
    flow.settle()
    #expect(flow.frontKey == 5 && flow.isShownRight)
  }

  @Test("a reset during a long glide goes on")
  func resetWhileGliding() {
    var flow = Flow(count: 10_000)
    flow.send(.go(to: 9_999))
    flow.advance(seconds: 0.5)
    flow.reset(to: Array(0..<2_000).filter { !$0.isMultiple(of: 7) })
    flow.frames.removeAll()
    flow.settle()
    #expect(flow.machine.position == Double(flow.keys.count - 1) && flow.isShownRight)
  }

  @Test("indices that don't exist change nothing and are counted")
  func hostileChanges() {
    var flow = Flow(count: 3, at: 1)
    let changes: [CoverFlowChange] = [
      .insert(at: -1), .insert(at: 4), .insert(at: .max), .remove(at: -1), .remove(at: 3),
      .move(from: 0, to: 3), .move(from: -1, to: 0), .move(from: .max, to: .min),
      .reset(count: -1, indices: []), .reset(count: .max, indices: []),
    ]
    for change in changes {
      let isApplied = flow.machine.apply(change, now: flow.now)
      #expect(!isApplied)
    }
    #expect(flow.machine.count == 3 && flow.machine.position == 1)
    #expect(flow.machine.counters.ignored == UInt32(changes.count))
    // Indices of a reset that don't exist, or twice the same: those covers are gone.
    flow.machine.apply(
      .reset(count: 2, indices: Array(repeating: 1, count: 50) + [nil, 9, -4, .max]), now: flow.now)
    #expect(flow.machine.violations().isEmpty)
  }

  @Test("a million items cost no more than a hundred")
  func million() {
    var flow = Flow(count: 100)
    flow.machine.apply(.reset(count: 1_000_000, indices: [0]), now: flow.now)
    flow.keys = Array(0..<1_000_000)
    flow.send(.go(to: .max))
    flow.settle(limit: 4)
    #expect(flow.machine.position == 999_999)
    flow.change(burst: 10_000)
    #expect(flow.machine.count == 1_010_000)
  }
}

extension Flow {
  /// Many insertions at the front of the list, without keys.
  mutating func change(burst: Int) {
    for _ in 0..<burst { machine.apply(.insert(at: 0), now: now) }
  }
}
