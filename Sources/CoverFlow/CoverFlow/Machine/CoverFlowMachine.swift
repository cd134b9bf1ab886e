public import Essentials

/// Cover flow as a value: fingers, keys and changes of the list come in, and out comes which element shows
/// which item, and where it stands.
///
/// The position is a number of covers: 2.5 is half-way between the third and the fourth. It is never rounded
/// while something moves. A machine reads no clock: time is a parameter, in milliseconds or whatever the
/// caller's clock has, made an `Instant`. It holds nothing of items but their number: changes of the list are
/// told as indices, and the item at the front stays there. A call takes a time that doesn't depend on the
/// number of items.
///
/// The caller draws a frame, `frame(now:into:)`, as long as `needsFrame`, and once at `nextWake`.
public struct CoverFlowMachine: Sendable {
  /// What moves the covers.
  public enum Mode: UInt8, Hashable, Sendable {
    /// Nothing.
    case rest = 0
    /// A finger.
    case drag = 1
    /// A spring, to a whole cover.
    case settle = 2
    /// A trackpad, which is followed.
    case scroll = 3
  }

  /// What was counted since the beginning.
  public struct Counters: Hashable, Sendable {
    /// Frames that were drawn.
    public var frames: UInt32 = 0
    /// Slots that were given another item.
    public var assignments: UInt32 = 0
    /// Images that were asked for.
    public var loads: UInt32 = 0
    /// Events and changes that made no sense: a number that is none, an index that doesn't exist.
    public var ignored: UInt32 = 0
  }

  /// More items than any list has; indices are exact in `Double` and fit 32 bits.
  public static let countMax = 1_000_000_000

  /// The number of items.
  public internal(set) var count: Int
  /// The shape of the flow on its stage.
  public internal(set) var layout: CoverFlowLayout
  /// Which slot shows which item.
  public internal(set) var pool: CoverPool
  /// What was counted.
  public internal(set) var counters = Counters()
  /// The place of the middle among the covers, as it was drawn last or as the finger says.
  public internal(set) var position = 0.0
  /// The item where the motion ends; while a finger or a wheel moves the covers, where it began.
  public internal(set) var target = 0
  /// The item that is nearest to the middle, as it was last reported; nil where there are none.
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

  /// A flow of so many items, with the first one at the front.
  ///
  /// - Parameters:
  ///   - count: The number of items.
  ///   - slotCount: The number of elements for covers, within 3 ... 101; odd, so that as many are on each side.
  public init(count: Int, slotCount: Int = 21) {
    let slots = max(3, min(101, slotCount)) | 1
    self.count = max(0, min(Self.countMax, count))
    pool = CoverPool(slotCount: slots)
    isLoadWanted = Array(repeating: false, count: slots)
    layout = CoverFlowLayout(width: 1280, height: 480, sideCovers: slots / 2)
    settling = .due(isAnnounced: false)
  }

  /// What moves the covers.
  public var mode: Mode {
    switch motion {
    case .rest: .rest
    case .drag: .drag
    case .settle: .settle
    case .scroll: .scroll
    }
  }

  /// How fast the covers move, in covers per second; while a finger drags, how fast it moves.
  public var velocity: Double {
    switch motion {
    case .rest: 0
    case .drag(let drag): velocity(of: drag)
    case .settle(let settle): settle.state(at: clock.now).velocity
    case .scroll(let scroll): scroll.spring.state(at: clock.now).velocity
    }
  }

  /// Whether something moves or has to be drawn.
  public var needsFrame: Bool {
    if isDirty || flip?.isMoving == true { return true }
    if case .due = settling { return true }
    switch motion {
    case .rest, .drag: return false
    case .settle, .scroll: return true
    }
  }

  /// The item that is turned to its back, or on its way there or from there; nil if none is.
  public var turnedIndex: Int? { flip?.index }
  /// Whether that item shows its back, or is on its way there.
  public var isFlipped: Bool { flip?.isFlipped ?? false }

  /// When a frame is due though nothing moves, on the clock of the last call; nil if none is.
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

  /// Takes an event.
  ///
  /// - Parameters:
  ///   - event: What happened. An event that makes no sense is counted and has no other effect.
  ///   - now: The time; not that of the event, which may be earlier.
  ///   - actions: Where actions are appended.
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
