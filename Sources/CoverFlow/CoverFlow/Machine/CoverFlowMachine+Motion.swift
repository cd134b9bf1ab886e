import Essentials

extension CoverFlowMachine {
  /// Slower than this a finger has stopped, in covers per second.
  private static let speedMin = 0.12
  /// No finger is faster, in covers per second.
  static let speedMax = 400.0
  /// A wheel's event is worth no more covers.
  private static let wheelMax = 50.0
  /// From here on an event is a notch of a wheel; trackpads report many smaller movements.
  private static let notchMin = 0.6
  /// After so long a wheel begins anew.
  private static let wheelPause = TimeSpan.milliseconds(400)

  /// Place and velocity at a time.
  private func state(at now: Instant) -> (position: Double, velocity: Double) {
    switch motion {
    case .rest, .drag: return (position, 0)
    case .settle(let spring):
      return (Double(target) + current(spring, now).offset, velocity(spring, now))
    case .scroll(let scroll):
      return (scroll.goal + current(scroll.spring, now).offset, velocity(scroll.spring, now))
    }
  }

  private func current(
    _ spring: SettleMotion, _ now: Instant
  ) -> (offset: Double, velocity: Double) {
    var spring = spring
    spring.advance(to: now)
    return spring.state(at: now)
  }

  private func velocity(_ spring: SettleMotion, _ now: Instant) -> Double {
    current(spring, now).velocity
  }

  /// Begins to settle on a cover.
  mutating func settle(
    on index: Int, from place: Double, velocity: Double, stiffness: Stiffness, now: Instant
  ) {
    assert(count > 0, "no cover can come to the front")
    target = max(0, min(count - 1, index))
    settling = .due(isAnnounced: true)
    if let flip, flip.index != target { turnBack(now: now) }
    if reducesMotion {
      position = Double(target)
      motion = .rest
      return
    }
    motion = .settle(
      SettleMotion(
        offset: place - Double(target), velocity: velocity, stiffness: stiffness, now: now))
  }

  mutating func go(to index: Int, now: Instant, into actions: inout [CoverFlowAction]) {
    guard count > 0 else { return ignore() }
    let index = max(0, min(count - 1, index))
    // The finger has the covers; they go there when it lets go.
    guard !isDragging else {
      goAfterDrag = index
      return
    }
    flipOnArrival = false
    if case .rest = motion, index == target { return }
    let (place, velocity) = state(at: now)
    settle(
      on: index, from: place, velocity: velocity,
      stiffness: .move(distance: abs(place - Double(index))), now: now)
    reportFlip(into: &actions)
  }

  mutating func step(by covers: Int, now: Instant, into actions: inout [CoverFlowAction]) {
    guard count > 0, !isDragging else { return ignore() }
    var base = target
    if case .scroll(let scroll) = motion { base = Self.index(scroll.target, max: count - 1) }
    let sum = base.addingReportingOverflow(covers)
    go(to: sum.overflow ? (covers > 0 ? .max : 0) : sum.partialValue, now: now, into: &actions)
  }

  mutating func jump(to index: Int, into actions: inout [CoverFlowAction]) {
    guard count > 0 else { return ignore() }
    target = max(0, min(count - 1, index))
    position = Double(target)
    motion = .rest
    settling = .due(isAnnounced: true)
    flipOnArrival = false
    if let flip, flip.index != target { endFlip(into: &actions) }
  }

  mutating func fling(
    velocity: Double, now: Instant, into actions: inout [CoverFlowAction]
  ) {
    guard velocity.isFinite, count > 0 else { return ignore() }
    flipOnArrival = false
    release(velocity: velocity, from: state(at: now).position, now: now)
    reportFlip(into: &actions)
  }

  /// The covers glide on with a velocity, and settle in the direction of travel.
  mutating func release(velocity: Double, from place: Double, now: Instant) {
    guard count > 0 else {
      (motion, position) = (.rest, 0)
      return
    }
    var speed = max(-Self.speedMax, min(Self.speedMax, velocity))
    let projected = place + speed * Stiffness.projection
    var goal = Self.whole(place)
    if abs(speed) >= Self.speedMin { goal = projected.rounded(speed > 0 ? .up : .down) }
    let index = Self.index(goal, max: count - 1)
    // Away from the target: slow, or out over an end. It would have to turn round.
    if (Double(index) - place) * speed <= 0 { speed = 0 }
    settle(
      on: index, from: place, velocity: speed, stiffness: .release(speed: abs(speed)), now: now)
  }

  mutating func wheel(
    covers: Double, now: Instant, into actions: inout [CoverFlowAction]
  ) {
    guard covers.isFinite, count > 0, !isDragging else { return ignore() }
    guard covers != 0 else { return }
    let bounded = max(-Self.wheelMax, min(Self.wheelMax, covers))
    let isGoingOn = lastWheelAt.map { now - $0 < Self.wheelPause } ?? false
    lastWheelAt = now
    if abs(bounded) >= Self.notchMin {
      // A notch, or several: whole covers, as keys.
      let count = max(1, Self.whole(abs(bounded)))
      return step(by: Int(bounded > 0 ? count : -count), now: now, into: &actions)
    }
    let (place, velocity) = state(at: now)
    var base = place
    switch motion {
    case .settle where isGoingOn: base = Double(target)
    case .scroll(let scroll): base = scroll.goal
    case .rest, .settle, .drag: break
    }
    let goal = max(0, min(positionMax, base + bounded))
    flipOnArrival = false
    turnBack(now: now)
    reportFlip(into: &actions)
    settling = .due(isAnnounced: true)
    motion = .scroll(
      ScrollMotion(
        goal: goal,
        spring: SettleMotion(
          offset: place - goal, velocity: velocity, stiffness: .scroll, now: now),
        movedAt: now, direction: covers > 0 ? 1 : -1))
  }

  /// Brings the position up to a time.
  mutating func advanceMotion(to now: Instant) {
    let bounds = min(0, position)...max(positionMax, position)
    switch motion {
    case .rest, .drag: return
    case .settle(var spring):
      spring.advance(to: now)
      motion = spring.hasEnded ? .rest : .settle(spring)
      position = Double(target) + (spring.hasEnded ? 0 : spring.state(at: now).offset)
    case .scroll(var scroll):
      scroll.spring.advance(to: now)
      let (offset, velocity) = scroll.spring.state(at: now)
      position = reducesMotion ? Self.whole(scroll.goal) : scroll.goal + offset
      motion = .scroll(scroll)
      if now - scroll.movedAt >= ScrollMotion.quiet {
        endScroll(scroll, velocity: velocity, now: now)
      }
    }
    position = max(bounds.lowerBound, min(bounds.upperBound, position))
  }

  private mutating func endScroll(_ scroll: ScrollMotion, velocity: Double, now: Instant) {
    let index = Self.index(scroll.target, max: count - 1)
    let way = Double(index) - position
    settle(
      on: index, from: position, velocity: way * velocity > 0 ? velocity : 0,
      stiffness: .move(distance: abs(way)), now: now)
  }
}
