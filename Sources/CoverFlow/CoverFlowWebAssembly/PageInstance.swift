import CoverFlow
import Essentials

/// One cover flow of a page: numbers in, numbers out, as `Exports.swift` names them.
///
/// No function traps, whatever it is given. Times are milliseconds of the page's clock.
struct PageInstance {
  private var machine: CoverFlowMachine
  private var images: CoverImageCache<UInt32>
  private var actions: [CoverFlowAction] = []
  /// The image that each slot shows, or waits for; 0 for none.
  private var slotImages: [UInt32]
  /// The indices of a reset, as they were passed one by one.
  private var keptIndices: [Int?] = []
  /// The last ticket that was given out.
  private var ticket = CoverImageCache<UInt32>.Ticket(place: 0, attempt: 0)
  /// The last valid time.
  private var now = Instant.zero
  let actionBuffer: Buffer<Int32>
  let frameBuffer: Buffer<Double>

  /// As many actions as fit at once; the others wait for the next call.
  static let actionsMax = 128
  static let actionFields = 4
  static let frameFields = 6
  static let imagesMax = 512

  /// Makes a flow with the given numbers of items, elements for covers and images.
  init(count: Double, slotCount: Double, imageCapacity: Double) {
    machine = CoverFlowMachine(count: Self.integer(count), slotCount: Self.integer(slotCount))
    let slots = machine.pool.slotCount
    // Room for every element's image, and for those that are on their way.
    let capacity = max(2 * slots, min(Self.imagesMax, Self.integer(imageCapacity)))
    images = CoverImageCache(capacity: capacity)
    slotImages = Array(repeating: 0, count: slots)
    actionBuffer = Buffer(count: Self.actionsMax * Self.actionFields)
    frameBuffer = Buffer(count: slots * Self.frameFields)
  }

  /// Gives back what it holds; it is not to be used any more.
  func deallocate() {
    actionBuffer.deallocate()
    frameBuffer.deallocate()
  }

  /// The number of elements.
  var slotCount: Int { machine.pool.slotCount }

  // MARK: Numbers

  /// A whole number out of any; 0 for what isn't a number.
  private static func integer(_ value: Double) -> Int {
    guard value == value else { return 0 }
    return Int(max(-2_147_483_648, min(2_147_483_647, value)))
  }

  /// An instant out of the page's milliseconds; the last one for what isn't a time.
  private func instant(_ milliseconds: Double) -> Instant {
    guard abs(milliseconds) <= 9e12 else { return now }
    return Instant(nanoseconds: Int64(milliseconds * 1e6))
  }

  // MARK: Events and changes

  mutating func event(
    kind: Int32, a: Double, b: Double, c: Double, time: Double, now milliseconds: Double
  ) -> Bool {
    now = instant(milliseconds)
    let at = instant(time)
    let event: CoverFlowEvent
    switch kind {
    case 0: event = .resize(width: a, height: b, coverAspect: c)
    case 1: event = .pointerDown(x: a, y: b, at: at)
    case 2: event = .pointerMove(x: a, at: at)
    case 3: event = .pointerUp(x: a, y: b, at: at)
    case 4: event = .pointerCancel
    case 5: event = .wheel(covers: a)
    case 6: event = .step(Self.integer(a))
    case 7: event = .page(Self.integer(a))
    case 8: event = .go(to: Self.integer(a))
    case 9: event = .jump(to: Self.integer(a))
    case 10: event = .fling(velocity: a)
    case 11: event = .select
    case 12: event = .flip
    case 13: event = .flipBack
    case 14: event = .reduceMotion(a != 0)
    default: return false
    }
    machine.handle(event, now: now, into: &actions)
    return true
  }

  mutating func change(kind: Int32, a: Double, b: Double, now milliseconds: Double) -> Bool {
    now = instant(milliseconds)
    switch kind {
    case 0: return machine.apply(.insert(at: Self.integer(a)), now: now)
    case 1: return machine.apply(.remove(at: Self.integer(a)), now: now)
    case 2: return machine.apply(.move(from: Self.integer(a), to: Self.integer(b)), now: now)
    default: return false
    }
  }

  mutating func keep(index: Double) {
    guard keptIndices.count < slotCount else { return }
    let index = Self.integer(index)
    keptIndices.append(index < 0 ? nil : index)
  }

  mutating func reset(count: Double, now milliseconds: Double) -> Bool {
    now = instant(milliseconds)
    defer { keptIndices.removeAll(keepingCapacity: true) }
    return machine.apply(
      .reset(count: Self.integer(count), indices: keptIndices), now: now)
  }

  // MARK: Frames

  mutating func frame(now milliseconds: Double) {
    now = instant(milliseconds)
    machine.frame(now: now, into: &actions)
    for slot in 0..<slotCount {
      let base = slot * Self.frameFields
      guard let frame = machine.frame(ofSlot: slot) else {
        frameBuffer[base] = -1
        continue
      }
      frameBuffer[base] = Double(frame.index)
      frameBuffer[base + 1] = frame.placement.x
      frameBuffer[base + 2] = frame.placement.z
      frameBuffer[base + 3] = frame.placement.angleDegrees
      frameBuffer[base + 4] = Double(frame.rank)
      frameBuffer[base + 5] = (frame.isVisible ? 1 : 0) + (frame.showsBack ? 2 : 0)
    }
  }

  mutating func takeActions() -> Int {
    let count = min(actions.count, Self.actionsMax)
    for place in 0..<count { write(actions[place], at: place * Self.actionFields) }
    actions.removeFirst(count)
    return count
  }

  private func write(_ action: CoverFlowAction, at base: Int) {
    var fields: (kind: Int32, slot: Int, index: Int, flag: Bool) = (0, -1, -1, false)
    switch action {
    case .assign(let slot, let index): fields = (0, slot, index, false)
    case .vacate(let slot): fields = (1, slot, -1, false)
    case .load(let slot, let index): fields = (2, slot, index, false)
    case .front(let index): fields = (3, -1, index ?? -1, false)
    case .settle(let index): fields = (4, -1, index, false)
    case .announce(let index): fields = (5, -1, index, false)
    case .select(let index): fields = (6, -1, index, false)
    case .flip(let index, let isFlipped): fields = (7, -1, index, isFlipped)
    }
    actionBuffer[base] = fields.kind
    actionBuffer[base + 1] = Int32(fields.slot)
    actionBuffer[base + 2] = Int32(fields.index)
    actionBuffer[base + 3] = fields.flag ? 1 : 0
  }

  // MARK: Questions

  func query(kind: Int32) -> Double {
    switch kind {
    case 0: return Double(machine.count)
    case 1: return machine.position
    case 2: return machine.velocity
    case 3: return Double(machine.mode.rawValue)
    case 4: return Double(machine.target)
    case 5: return machine.needsFrame ? 1 : 0
    case 6: return machine.nextWake.map { Double($0.nanoseconds) / 1e6 } ?? .nan
    case 7: return machine.layout.coverWidth
    case 8: return machine.layout.coverHeight
    case 9: return machine.layout.eyeDistance
    case 10: return Double(machine.turnedIndex ?? -1)
    case 11: return Double(machine.counters.frames)
    case 12: return Double(machine.counters.assignments)
    case 13: return Double(machine.counters.loads)
    case 14: return Double(machine.counters.ignored)
    case 15: return machine.layout.pointsPerCover
    case 16: return Double(images.count)
    case 17: return Double(images.capacity)
    case 18: return machine.isFlipped ? 1 : 0
    default: return .nan
    }
  }

  func hitTest(x: Double, y: Double) -> Int { machine.hitTest(x: x, y: y) ?? -1 }

  // MARK: Images

  mutating func useImage(slot: Int32, key: UInt32) {
    guard slotImages.indices.contains(Int(slot)) else { return }
    slotImages[Int(slot)] = key
  }

  mutating func requestImage(key: UInt32) -> Int {
    let used = slotImages
    switch images.request(key, isInUse: { used.contains($0) }) {
    case .ready(let place): return place
    case .loading: return -1
    case .failed: return -2
    case .full: return -3
    case .load(let new):
      ticket = new
      return -4
    }
  }

  var ticketPlace: Int { ticket.place }
  var ticketAttempt: UInt32 { ticket.attempt }

  mutating func finishImage(place: Int32, attempt: UInt32, isLoaded: Bool) -> UInt32 {
    let ticket = CoverImageCache<UInt32>.Ticket(place: Int(place), attempt: attempt)
    switch images.finish(ticket, isLoaded: isLoaded) {
    case .show(let key): return key
    case .discard: return 0
    }
  }

  mutating func removeImage(key: UInt32) -> Int { images.remove(key) ?? -1 }
}
