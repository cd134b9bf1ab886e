public import Essentials

/// The state machine of a cover flow. Its inputs are fingers, keys and changes of the list; its
/// outputs are the item and the placement of each element.
///
/// The position is a number of covers: 2.5 is half-way between the third and the fourth. It is
/// never rounded during a motion. A machine reads no clock: time is a parameter, an `Instant` made
/// from milliseconds or the unit of the caller's clock. It stores only the number of items: changes
/// of the list are passed as indices, and the item at the front stays there. The time of a call
/// doesn't depend on the number of items.
///
/// The caller must draw a frame with `frame(now:into:)` while `needsFrame` is true, and once at
/// `nextWake`.
public struct CoverFlowMachine: Sendable {
  /// The cause of the covers' motion.
  public enum Mode: UInt8, Hashable, Sendable {
    /// No motion.
    case rest = 0
    /// A finger.
    case drag = 1
    /// A spring, towards a whole cover.
    case settle = 2
    /// A trackpad, which the covers follow.
    case scroll = 3
  }

  /// Counts of events since the beginning.
  public struct Counters: Hashable, Sendable {
    /// Frames that were drawn.
    public var frames: UInt32 = 0
    /// Assignments of slots to items.
    public var assignments: UInt32 = 0
    /// Requests for images.
    public var loads: UInt32 = 0
    /// Invalid events and changes: a value that isn't a number, an index that doesn't exist.
    public var ignored: UInt32 = 0
  }

  /// The maximum number of items: indices are exact in `Double` and fit in 32 bits.
  public static let countMax = 1_000_000_000

  /// The number of items.
  public internal(set) var count: Int
  /// The shape of the flow on its stage.
  public internal(set) var layout: CoverFlowLayout
  /// The assignment of items to slots.
  public internal(set) var pool: CoverPool
  /// The counts of events since the beginning.
  public internal(set) var counters = Counters()
  /// The position of the middle among the covers, as last drawn or as set by the finger.
  public internal(set) var position = 0.0
  /// The item at which the motion ends. While a finger or a wheel moves the covers, the item at
  /// which it began.
  public internal(set) var target = 0
  /// The item nearest to the middle, as last reported; nil if there are no items.
  public internal(set) var front: Int?

  /// Whether the item that was reported as the nearest is gone.
  var isFrontDue = false
  var motion = Motion.rest
  var flip: CoverFlip?
  /// The item that comes to the front when the finger is lifted.
  var goAfterDrag: Int?
  /// The item that is to be turned over once it is at the front.
  var flipOnArrival = false
  /// Whether it is to be reported that a cover is turned back.
  var isFlipBackDue = false
  var lastTap: Tap?
  var lastWheelAt: Instant?
  var clock = MonotonicClock()
  var reducesMotion = false
  /// Whether `settle` is to be reported, and then announced.
  var settling = Settling.reported
  /// Whether each slot's image was asked for.
  var isLoadWanted: [Bool]
  /// Whether something has to be drawn though nothing moves.
  var isDirty = true

  enum Motion: Sendable {
    case rest
    case drag(DragMotion)
    case settle(SettleMotion)
    case scroll(ScrollMotion)
  }

  enum Settling: Sendable {
    /// The next frame at rest reports, and announces a moment later if people moved the covers.
    case due(isAnnounced: Bool)
    case announceAt(Instant)
    case reported
  }

  struct Tap: Sendable {
    var at: Instant
    var x: Double
    var y: Double
    var index: Int
  }

  /// Creates a flow of `count` items, with the first one at the front.
  ///
  /// - Parameters:
  ///   - count: The number of items.
  ///   - slotCount: The number of elements for covers, within 3 ... 101; odd, so that both sides
  ///     have the same number.
  public init(count: Int, slotCount: Int = 21) {
    let slots = max(3, min(101, slotCount)) | 1
    self.count = max(0, min(Self.countMax, count))
    pool = CoverPool(slotCount: slots)
    isLoadWanted = Array(repeating: false, count: slots)
    layout = CoverFlowLayout(width: 1280, height: 480, sideCovers: slots / 2)
    settling = .due(isAnnounced: false)
  }

  /// The cause of the covers' motion.
  public var mode: Mode {
    switch motion {
    case .rest: .rest
    case .drag: .drag
    case .settle: .settle
    case .scroll: .scroll
    }
  }

  /// The speed of the covers in covers per second; while a finger drags, its speed.
  public var velocity: Double {
    switch motion {
    case .rest: 0
    case .drag(let drag): velocity(of: drag)
    case .settle(let settle): settle.state(at: clock.now).velocity
    case .scroll(let scroll): scroll.spring.state(at: clock.now).velocity
    }
  }

  /// Whether a motion is running, or a frame must be drawn.
  public var needsFrame: Bool {
    if isDirty || flip?.isMoving == true { return true }
    if case .due = settling { return true }
    switch motion {
    case .rest, .drag: return false
    case .settle, .scroll: return true
    }
  }

  /// The item that shows its back or is turning; nil without one.
  public var turnedIndex: Int? { flip?.index }
  /// Whether that item shows its back, or is turning to it.
  public var isFlipped: Bool { flip?.isFlipped ?? false }

  /// The time of the next frame that is due without a motion, on the clock of the last call; nil
  /// without one.
  public var nextWake: Instant? {
    guard case .announceAt(let time) = settling else { return nil }
    return clock.callersTime(time)
  }

  /// The item nearest to the middle; 0 where there are none.
  var nearest: Int { Self.index(Self.whole(position), max: count - 1) }

  /// The greatest position at which a cover is in the middle.
  var positionMax: Double { Double(max(0, count - 1)) }

  /// The nearest whole number. The standard library's needs the C library.
  static func whole(_ value: Double) -> Double { (value + 0.5).rounded(.down) }

  /// A whole number as an index; 0 for what isn't a number.
  static func index(_ value: Double, max greatest: Int) -> Int {
    guard value > 0 else { return 0 }
    return value < Double(greatest) ? Int(value) : Swift.max(0, greatest)
  }

  /// Handles an event.
  ///
  /// - Parameters:
  ///   - event: The event. An invalid event is counted and has no other effect.
  ///   - now: The time; not that of the event, which may be earlier.
  ///   - actions: The list to which actions are appended.
  public mutating func handle(
    _ event: CoverFlowEvent, now: Instant, into actions: inout [CoverFlowAction]
  ) {
    defer { assertInvariants() }
    let now = clock.read(now)
    switch event {
    case .resize(let width, let height, let coverAspect):
      guard width.isFinite, height.isFinite, coverAspect.isFinite else { return ignore() }
      layout = CoverFlowLayout(
        width: width, height: height, coverAspect: coverAspect, sideCovers: pool.slotCount / 2)
    case .pointerDown(let x, let y, let time): pointerDown(x: x, y: y, at: time)
    case .pointerMove(let x, let time): pointerMove(x: x, at: time, into: &actions)
    case .pointerUp(let x, let y, let time):
      pointerUp(x: x, y: y, at: time, now: now, into: &actions)
    case .pointerCancel: pointerCancel(now: now, into: &actions)
    case .wheel(let covers): wheel(covers: covers, now: now, into: &actions)
    case .step(let covers): step(by: covers, now: now, into: &actions)
    case .page(let pages):
      let covers = pages.multipliedReportingOverflow(by: layout.coversPerPage)
      step(by: covers.overflow ? pages : covers.partialValue, now: now, into: &actions)
    case .go(let index): go(to: index, now: now, into: &actions)
    case .jump(let index): jump(to: index, into: &actions)
    case .fling(let velocity): fling(velocity: velocity, now: now, into: &actions)
    case .select:
      guard count > 0, !isDragging else { return ignore() }
      actions.append(.select(index: target))
    case .flip: toggleFlip(now: now, into: &actions)
    case .flipBack: flipBack(now: now, into: &actions)
    case .reduceMotion(let isReduced):
      reducesMotion = isReduced
      if isReduced, case .settle = motion { jump(to: target, into: &actions) }
    }
    isDirty = true
  }

  mutating func ignore() {
    counters.ignored &+= 1
  }

  var isDragging: Bool {
    if case .drag = motion { return true }
    return false
  }
}
