import Essentials

extension CoverFlowMachine {
  /// No stage is larger, in points.
  private static let coordinateMax = 1e7
  /// Two taps within this time and distance, in points, are a double-tap.
  private static let doubleTapTime = TimeSpan.milliseconds(300)
  private static let doubleTapDistance = 24.0
  /// With more covers to go a tap stops the motion, and means no cover.
  private static let stoppingDistance = 1.5
  /// As close to the middle a cover is at the front.
  private static let frontDistance = 0.25

  private static func isPlace(_ coordinate: Double) -> Bool {
    coordinate.isFinite && abs(coordinate) <= coordinateMax
  }

  mutating func pointerDown(x: Double, y: Double, at time: Instant) {
    guard Self.isPlace(x), Self.isPlace(y), !isDragging else { return ignore() }
    var interruptedDistance: Double?
    switch motion {
    case .rest, .drag: break
    case .settle, .scroll: interruptedDistance = abs(Double(target) - position)
    }
    goAfterDrag = nil
    // The position stays as it was drawn, to the last digit.
    motion = .drag(
      DragMotion(
        x: x, at: time, position: position, positionMax: positionMax,
        interruptedDistance: interruptedDistance))
  }

  mutating func pointerMove(
    x: Double, at time: Instant, into actions: inout [CoverFlowAction]
  ) {
    guard case .drag(var drag) = motion, Self.isPlace(x) else { return ignore() }
    let begins = drag.move(
      to: x, at: time, pointsPerCover: layout.pointsPerCover, positionMax: positionMax)
    motion = .drag(drag)
    guard drag.hasMoved else { return }
    if begins {
      lastTap = nil
      flipOnArrival = false
      settling = .due(isAnnounced: true)
      turnBack(now: clock.now)
      reportFlip(into: &actions)
    }
    position = drag.position(max: positionMax)
    if reducesMotion { position = Double(nearest) }
  }

  mutating func pointerUp(
    x: Double, y: Double, at time: Instant, now: Instant, into actions: inout [CoverFlowAction]
  ) {
    guard case .drag(let drag) = motion else { return ignore() }
    if let index = goAfterDrag {
      letGo(drag, now: now)
      return go(to: index, now: now, into: &actions)
    }
    guard drag.hasMoved else {
      return tap(x: x, y: y, drag: drag, now: now, into: &actions)
    }
    let isStill = drag.tracker.lastMoveAt.map { time - $0 > VelocityTracker.stillness } ?? true
    release(velocity: isStill ? 0 : velocity(of: drag), from: position, now: now)
  }

  mutating func pointerCancel(now: Instant, into actions: inout [CoverFlowAction]) {
    guard case .drag(let drag) = motion else { return ignore() }
    letGo(drag, now: now)
    if let index = goAfterDrag { go(to: index, now: now, into: &actions) }
  }

  /// How fast a finger moves the covers, in covers per second.
  func velocity(of drag: DragMotion) -> Double {
    guard drag.hasMoved else { return 0 }
    let velocity = -drag.tracker.velocity / layout.pointsPerCover
    return max(-Self.speedMax, min(Self.speedMax, velocity))
  }

  /// A finger is lifted that wanted nothing: what it stopped goes on to the nearest cover.
  private mutating func letGo(_ drag: DragMotion, now: Instant) {
    if !drag.hasMoved, drag.interruptedDistance == nil {
      motion = .rest
      return
    }
    release(velocity: 0, from: position, now: now)
  }

  private mutating func tap(
    x: Double, y: Double, drag: DragMotion, now: Instant, into actions: inout [CoverFlowAction]
  ) {
    let previous = lastTap
    lastTap = nil
    if let previous, now - previous.at <= Self.doubleTapTime, previous.index < count,
      abs(x - previous.x) <= Self.doubleTapDistance, abs(y - previous.y) <= Self.doubleTapDistance
    {
      // The second of two taps means what the first did, though that cover may have moved away.
      return doubleTap(previous.index, drag: drag, now: now, into: &actions)
    }
    if let distance = drag.interruptedDistance, distance > Self.stoppingDistance {
      return letGo(drag, now: now)
    }
    guard let index = hitTest(x: x, y: y) else { return letGo(drag, now: now) }
    lastTap = Tap(at: now, x: x, y: y, index: index)
    bringToFront(index, drag: drag, now: now, into: &actions)
    if abs(Double(index) - position) < Self.frontDistance { actions.append(.select(index: index)) }
  }

  private mutating func doubleTap(
    _ index: Int, drag: DragMotion, now: Instant, into actions: inout [CoverFlowAction]
  ) {
    bringToFront(index, drag: drag, now: now, into: &actions)
    if case .rest = motion {
      toggleFlip(now: now, into: &actions)
    } else {
      flipOnArrival = true
    }
  }

  private mutating func bringToFront(
    _ index: Int, drag: DragMotion, now: Instant, into actions: inout [CoverFlowAction]
  ) {
    let isAtRest = drag.interruptedDistance == nil && index == target
    motion = .rest
    if isAtRest { return }
    // As nothing moves now, this is a motion from rest.
    settle(
      on: index, from: position, velocity: 0,
      stiffness: .move(distance: abs(position - Double(index))), now: now)
    reportFlip(into: &actions)
  }

  // MARK: Turning over

  mutating func toggleFlip(now: Instant, into actions: inout [CoverFlowAction]) {
    guard count > 0, !isDragging else { return ignore() }
    guard case .rest = motion else {
      // A cover that is still moving to the front is flipped on arrival.
      if case .settle = motion { flipOnArrival.toggle() } else { ignore() }
      return
    }
    if var current = flip, current.index == target {
      current.turn(toBack: !current.isFlipped, now: now)
      flip = current
    } else {
      flip = CoverFlip(index: target, now: now)
    }
    if reducesMotion { flip?.finish() }
    actions.append(.flip(index: target, isFlipped: flip?.isFlipped ?? false))
  }

  mutating func flipBack(now: Instant, into actions: inout [CoverFlowAction]) {
    flipOnArrival = false
    turnBack(now: now)
    reportFlip(into: &actions)
  }

  /// Turns a cover back that is turned over; `reportFlip` reports it.
  mutating func turnBack(now: Instant) {
    guard var current = flip, current.isFlipped else { return }
    current.turn(toBack: false, now: now)
    if reducesMotion { current.finish() }
    flip = current
    isFlipBackDue = true
  }

  mutating func reportFlip(into actions: inout [CoverFlowAction]) {
    guard isFlipBackDue else { return }
    isFlipBackDue = false
    if let flip { actions.append(.flip(index: flip.index, isFlipped: false)) }
  }

  /// Drops a turned cover without a motion.
  mutating func endFlip(into actions: inout [CoverFlowAction]) {
    if let flip, flip.isFlipped { actions.append(.flip(index: flip.index, isFlipped: false)) }
    flip = nil
  }
}
