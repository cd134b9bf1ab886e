public import Essentials

extension CoverFlowMachine {
  /// Applies a change of the list. The item at the front stays there, even while the covers move.
  /// If it is removed, the next one takes its place, or else the last one.
  ///
  /// - Returns: False if an index doesn't exist or the list would be too long. Then nothing has
  ///   changed, and the caller's list differs from this one.
  @discardableResult
  public mutating func apply(_ change: CoverFlowChange, now: Instant) -> Bool {
    _ = clock.read(now)
    let last = count - 1
    switch change {
    case .insert(let index):
      guard 0...count ~= index, count < Self.countMax else { return refuse() }
      renumber(count: count + 1, replacement: 0) { $0 >= index ? $0 + 1 : $0 }
    case .remove(let index):
      guard index >= 0, index <= last else { return refuse() }
      renumber(count: last, replacement: min(index, last - 1)) {
        $0 == index ? nil : $0 > index ? $0 - 1 : $0
      }
    case .move(let from, let to):
      guard from >= 0, from <= last, to >= 0, to <= last else { return refuse() }
      renumber(count: count, replacement: to) { index in
        if index == from { return to }
        if from < index, index <= to { return index - 1 }
        return to <= index && index < from ? index + 1 : index
      }
    case .reset(let count, let indices):
      guard 0...Self.countMax ~= count else { return refuse() }
      reset(count: count, indices: indices)
    }
    isDirty = true
    assertInvariants()
    return true
  }

  private mutating func refuse() -> Bool {
    ignore()
    return false
  }

  /// Everything is different but the items in slots that have new indices.
  private mutating func reset(count newCount: Int, indices: [Int?]) {
    var kept: [(old: Int, new: Int)] = []
    for (old, new) in zip(pool.indices, indices) {
      guard let old, let new, 0..<newCount ~= new, !kept.contains(where: { $0.new == new })
      else { continue }
      kept.append((old, new))
    }
    // If the item at the front is gone: the nearest one that is left, of two the one at the right.
    let middle = nearest
    var replacement = min(middle, newCount - 1)
    var least = Int.max
    for each in kept {
      let distance = 2 * abs(each.old - middle) + (each.old < middle ? 1 : 0)
      if distance < least { (least, replacement) = (distance, each.new) }
    }
    let isTargetKnown = pool.slot(of: target) != nil
    // A target that is far away: as many covers to go as before.
    let far = max(0, min(newCount - 1, replacement + target - middle))
    renumber(count: newCount, replacement: replacement) { [target] index in
      if let found = kept.first(where: { $0.old == index }) { return found.new }
      return index == target && !isTargetKnown ? far : nil
    }
  }

  /// Gives everything that has an index its new one.
  ///
  /// - Parameter replacement: What takes the place of an item that is gone.
  private mutating func renumber(
    count newCount: Int, replacement: Int, _ newIndex: (Int) -> Int?
  ) {
    let middle = nearest
    let wasEmpty = count == 0
    count = newCount
    pool.renumber(newIndex)
    if let index = front {
      front = newIndex(index)
      if front == nil { isFrontDue = true }
    }
    if let tap = lastTap { lastTap?.index = newIndex(tap.index) ?? -1 }
    goAfterDrag = goAfterDrag.flatMap { newIndex($0) }
    if let index = flip?.index {
      if let moved = newIndex(index) {
        flip?.index = moved
      } else {
        (flip, isFlipBackDue) = (nil, false)
      }
    }
    if wasEmpty || newCount == 0 { return begin() }
    anchor(
      shift: (newIndex(middle) ?? replacement) - middle,
      target: newIndex(target) ?? replacement, isLost: newIndex(target) == nil)
  }

  /// The list is empty, or was.
  private mutating func begin() {
    position = 0
    target = 0
    flip = nil
    lastTap = nil
    flipOnArrival = false
    if case .drag(var drag) = motion {
      drag.hold(position: 0, max: positionMax)
      motion = .drag(drag)
    } else {
      motion = .rest
    }
    settling = .due(isAnnounced: false)
  }

  /// Moves everything by the number of indices that the item in the middle has moved.
  private mutating func anchor(shift: Int, target newTarget: Int, isLost: Bool) {
    assert(0..<count ~= newTarget, "the target is beyond the covers")
    let targetShift = Double(newTarget - target - shift)
    position += Double(shift)
    target = newTarget
    switch motion {
    case .rest:
      if isLost { settling = .due(isAnnounced: true) }
      position = Double(target)
    case .drag(var drag):
      drag.hold(position: position, max: positionMax)
      motion = .drag(drag)
    case .settle(var spring):
      if targetShift != 0 { spring.moveTarget(by: targetShift, now: clock.now) }
      motion = .settle(spring)
    case .scroll(var scroll):
      let moved = scroll.goal + Double(shift)
      scroll.goal = max(0, min(positionMax, moved))
      if scroll.goal != moved {
        scroll.spring.moveTarget(by: scroll.goal - moved, now: clock.now)
      }
      motion = .scroll(scroll)
    }
  }
}
