public import Essentials

/// The frame of one slot's cover.
public struct CoverFrame: Hashable, Sendable {
  /// The index of the item.
  public var index: Int
  /// The placement of the cover.
  public var placement: CoverPlacement
  /// The drawing order: the rank by distance from the middle; 0 is drawn over all others.
  public var rank: Int
  /// Whether the cover is visible.
  public var isVisible: Bool
  /// Whether its back is visible instead of its front.
  public var showsBack: Bool
}

extension CoverFlowMachine {
  /// Faster than this no images are asked for but those where the motion ends, in covers per second.
  private static let loadSpeedMax = 8.0
  /// So long after settling the cover is announced.
  private static let announceDelay = TimeSpan.milliseconds(300)

  /// Advances all motions to a time, for a frame that is drawn now.
  ///
  /// - Parameters:
  ///   - now: The time of the frame.
  ///   - actions: The list to which actions are appended; those for covers that need another item
  ///     come first.
  public mutating func frame(now: Instant, into actions: inout [CoverFlowAction]) {
    let now = clock.read(now)
    counters.frames &+= 1
    isDirty = false
    advanceMotion(to: now)
    showCovers(into: &actions)
    reportFront(into: &actions)
    if flip != nil {
      flip?.advance(to: now)
      if flip?.isOver == true { flip = nil }
    }
    reportFlip(into: &actions)
    reportSettling(now: now, into: &actions)
    askForImages(into: &actions)
    assertInvariants()
  }

  /// The frame of a slot's cover; nil if the slot is empty.
  public func frame(ofSlot slot: Int) -> CoverFrame? {
    guard pool.indices.indices.contains(slot), let index = pool.indices[slot] else { return nil }
    let distance = Double(index) - position
    return CoverFrame(
      index: index, placement: placement(of: index), rank: rank(of: index),
      isVisible: layout.isVisible(distance: distance),
      showsBack: flip.map { $0.index == index && $0.part > 0.5 } ?? false)
  }

  /// The placement of an item's cover, including its rotation while it is flipped.
  func placement(of index: Int) -> CoverPlacement {
    var placement = layout.placement(distance: Double(index) - position)
    guard let flip, flip.index == index else { return placement }
    // Past the middle of the turn its back is drawn, which is upright when it has turned all the way.
    placement.angleDegrees += 180 * flip.part - (flip.part > 0.5 ? 180 : 0)
    placement.z += layout.lift(flipped: flip.part)
    return placement
  }

  /// The rank of an item among all by distance from the middle, never by the selection.
  func rank(of index: Int) -> Int {
    let middle = nearest
    let steps = abs(index - middle)
    guard steps > 0 else { return 0 }
    let isOnNearerSide = (index > middle) == (position > Double(middle))
    return isOnNearerSide ? 2 * steps - 1 : 2 * steps
  }

  /// The item whose cover is visible at a point: the one nearest to the middle if there are
  /// several.
  ///
  /// - Parameters:
  ///   - x: In points, to the right of the middle of the stage.
  ///   - y: In points, below the middle of the covers.
  /// - Returns: The index of the item; nil if there is no cover.
  public func hitTest(x: Double, y: Double) -> Int? {
    guard count > 0 else { return nil }
    var best: (rank: Int, index: Int)?
    for case let index? in pool.indices where index < count {
      let rank = rank(of: index)
      guard rank < best?.rank ?? .max, layout.isVisible(distance: Double(index) - position)
      else { continue }
      var placement = layout.placement(distance: Double(index) - position)
      if let flip, flip.index == index { placement.z += layout.lift(flipped: flip.part) }
      if layout.contains(x: x, y: y, placement: placement) { best = (rank, index) }
    }
    return best?.index
  }

  private mutating func showCovers(into actions: inout [CoverFlowAction]) {
    var assigned: UInt32 = 0
    let window = pool.window(front: nearest, count: count)
    pool.show(
      window,
      assigned: { slot, index in
        actions.append(.assign(slot: slot, index: index))
        isLoadWanted[slot] = false
        assigned &+= 1
      },
      vacated: { slot in
        actions.append(.vacate(slot: slot))
        isLoadWanted[slot] = false
      })
    counters.assignments &+= assigned
  }

  private mutating func reportFront(into actions: inout [CoverFlowAction]) {
    let now = count > 0 ? nearest : nil
    guard now != front || isFrontDue else { return }
    (front, isFrontDue) = (now, false)
    actions.append(.front(index: now))
  }

  private mutating func reportSettling(now: Instant, into actions: inout [CoverFlowAction]) {
    switch settling {
    case .reported: return
    case .due(let isAnnounced):
      guard case .rest = motion else { return }
      settling = .reported
      guard count > 0 else { return }
      actions.append(.settle(index: target))
      if isAnnounced { settling = .announceAt(now + Self.announceDelay) }
      if flipOnArrival {
        flipOnArrival = false
        toggleFlip(now: now, into: &actions)
      }
    case .announceAt(let time):
      guard now >= time else { return }
      settling = .reported
      if count > 0 { actions.append(.announce(index: target)) }
    }
  }

  /// Requests the images of covers that are visible at low speed, or will be at the end of the
  /// present motion; not of those passed at speed.
  private mutating func askForImages(into actions: inout [CoverFlowAction]) {
    let velocity = velocity
    var end = position
    switch motion {
    case .rest: break
    case .drag: end += velocity * Stiffness.projection
    case .settle: end = Double(target)
    case .scroll(let scroll): end = scroll.goal
    }
    let isSlow = abs(velocity) <= Self.loadSpeedMax
    for slot in pool.indices.indices where !isLoadWanted[slot] {
      guard let index = pool.indices[slot] else { continue }
      let isSeen = isSlow && layout.isVisible(distance: Double(index) - position)
      guard isSeen || layout.isVisible(distance: Double(index) - end) else { continue }
      isLoadWanted[slot] = true
      counters.loads &+= 1
      actions.append(.load(slot: slot, index: index))
    }
  }
}
