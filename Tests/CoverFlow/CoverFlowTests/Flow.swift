import Essentials
import Testing

@testable import CoverFlow

/// A flow with its list of keys and what a view would show, in virtual time.
struct Flow {
  var machine: CoverFlowMachine
  /// The list as the view model has it.
  var keys: [Int]
  /// The key that each slot's element shows.
  var shown: [Int?]
  var now = Instant.zero
  /// All actions of frames and events so far.
  var actions: [CoverFlowAction] = []
  /// The positions of all frames, with their times in seconds.
  var frames: [(time: Double, position: Double)] = []
  private var nextKey: Int

  /// At rest, with the first cover at the front, or another.
  init(count: Int, slots: Int = 21, at index: Int = 0, width: Double = 1280, height: Double = 484) {
    machine = CoverFlowMachine(count: count, slotCount: slots)
    keys = Array(0..<count)
    nextKey = count
    shown = Array(repeating: nil, count: machine.pool.slotCount)
    send(.resize(width: width, height: height, coverAspect: 1))
    if index > 0 { send(.jump(to: index)) }
    frame()
    advance(seconds: 0.4)
    actions.removeAll()
    frames.removeAll()
  }

  var frontKey: Int? { machine.front.map { keys[$0] } }

  mutating func send(_ event: CoverFlowEvent) {
    let before = actions.count
    machine.handle(event, now: now, into: &actions)
    perform(from: before)
  }

  mutating func frame() {
    let before = actions.count
    machine.frame(now: now, into: &actions)
    perform(from: before)
    frames.append((Double(now.nanoseconds) / 1e9, machine.position))
  }

  /// What a view does: fills elements with the items that they are assigned.
  private mutating func perform(from start: Int) {
    for action in actions[start...] {
      switch action {
      case .assign(let slot, let index): shown[slot] = keys[index]
      case .vacate(let slot): shown[slot] = nil
      default: break
      }
    }
  }

  /// Passes time without a frame.
  mutating func wait(milliseconds: Double) {
    now = now + .microseconds(Int64(milliseconds * 1000))
  }

  /// Draws frames for a while.
  mutating func advance(seconds: Double, perSecond rate: Double = 60) {
    for _ in 0..<Int((seconds * rate).rounded()) {
      wait(milliseconds: 1000 / rate)
      frame()
    }
  }

  /// Draws frames until nothing moves; the time that took, in seconds.
  @discardableResult
  mutating func settle(perSecond rate: Double = 60, limit: Double = 10) -> Double {
    let start = now
    while machine.mode != .rest || machine.needsFrame {
      guard (now - start).seconds < limit else {
        Issue.record("still in mode \(machine.mode) after \(limit) s")
        break
      }
      wait(milliseconds: 1000 / rate)
      frame()
    }
    return (now - start).seconds
  }

  // MARK: Fingers

  /// Moves a finger by `points` at a constant speed, in points per second, with a position each 4
  /// ms and a frame each 16 ms; leaves it down.
  mutating func drag(by points: Double, speed: Double, from x: Double = 0) {
    send(.pointerDown(x: x, y: 0, at: now))
    move(from: x, by: points, speed: speed)
  }

  mutating func move(from x: Double, by points: Double, speed: Double) {
    let steps = max(1, Int((abs(points) / speed / 0.004).rounded()))
    for step in 1...steps {
      wait(milliseconds: 4)
      send(.pointerMove(x: x + points * Double(step) / Double(steps), at: now))
      if step.isMultiple(of: 4) { frame() }
    }
  }

  mutating func lift(x: Double = 0, y: Double = 0) {
    send(.pointerUp(x: x, y: y, at: now))
  }

  mutating func tap(x: Double, y: Double = 0) {
    send(.pointerDown(x: x, y: y, at: now))
    wait(milliseconds: 40)
    lift(x: x, y: y)
  }

  // MARK: The list

  mutating func insert(at index: Int) {
    keys.insert(nextKey, at: index)
    nextKey += 1
    change(.insert(at: index))
  }

  mutating func remove(at index: Int) {
    keys.remove(at: index)
    change(.remove(at: index))
  }

  mutating func move(from: Int, to: Int) {
    keys.insert(keys.remove(at: from), at: to)
    change(.move(from: from, to: to))
  }

  mutating func reset(to newKeys: [Int]) {
    keys = newKeys
    let indices = shown.map { key in key.flatMap { newKeys.firstIndex(of: $0) } }
    change(.reset(count: newKeys.count, indices: indices))
  }

  private mutating func change(_ change: CoverFlowChange) {
    let isApplied = machine.apply(change, now: now)
    #expect(isApplied)
  }

  /// Whether every slot's element shows the item that the slot has, and all are there that should be.
  var isShownRight: Bool {
    zip(shown, machine.pool.indices).allSatisfy { key, index in key == index.map { keys[$0] } }
  }
}

extension Flow {
  /// Whether positions only go one way, by more than rounding, and never pass the last one by more than a
  /// thousandth of a cover.
  static func isMonotone(_ positions: [Double], overshoot: Double = 0.001) -> Bool {
    guard let first = positions.first, let last = positions.last else { return true }
    let direction = last >= first ? 1.0 : -1
    var furthest = first
    for position in positions {
      if (position - furthest) * direction < -1e-9 { return false }
      if (position - last) * direction > overshoot { return false }
      furthest = position
    }
    return true
  }
}
