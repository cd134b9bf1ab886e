import Essentials
import Foundation
import Testing

@testable import CoverFlow

/// Random programs of everything that can happen; after each event all invariants are checked.
///
/// A failure prints its seed: AMBIT_SEED=N runs that one alone, AMBIT_PROGRAMS=N sets the number. With
/// AMBIT_SHARE=N, a number below 4, every fourth runs: `./test` runs a quarter of them for each commit.
@Suite("Random programs of events")
struct ProgramTests {
  private static let environment = ProcessInfo.processInfo.environment
  static let seeds: [UInt64] = {
    if let seed = environment["AMBIT_SEED"].flatMap(UInt64.init) { return [seed] }
    let count = environment["AMBIT_PROGRAMS"].flatMap(UInt64.init) ?? 60
    return (1...max(1, count)).filter { isInShare(Int($0)) }
  }()

  static func isInShare(_ number: Int) -> Bool {
    environment["AMBIT_SHARE"].flatMap(Int.init).map { number % 4 == $0 } ?? true
  }

  @Test("random programs keep every invariant, show the right items, and end at rest on a cover")
  func programs() {
    for seed in Self.seeds {
      var program = Program(seed: seed)
      for _ in 0..<300 {
        program.step()
        let found = program.flow.machine.violations()
        guard found.isEmpty, program.problems.isEmpty else {
          Issue.record("seed \(seed): \(found.map(\.description)) \(program.problems)")
          return
        }
      }
      program.flow.send(.pointerCancel)
      program.flow.settle()
      let position = program.flow.machine.position
      #expect(position == position.rounded(), "seed \(seed)")
      #expect(program.flow.isShownRight, "seed \(seed)")
    }
  }

  @Test("random programs show no image on a wrong cover, however late it comes")
  func images() {
    for seed in Self.seeds {
      var view = ImageView(seed: seed)
      for _ in 0..<200 {
        view.step()
        guard view.wrong.isEmpty else {
          Issue.record("seed \(seed): \(view.wrong)")
          return
        }
      }
      view.finishAll()
      #expect(view.missing.isEmpty, "seed \(seed): \(view.missing)")
    }
  }
}

/// One random program.
private struct Program {
  var flow: Flow
  var problems: [String] = []
  private var random: SeededGenerator
  private var x = 0.0
  /// Where and when the last release was: from then on the covers go one way only.
  private var released: (from: Double, to: Int)?

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    let counts = [0, 1, 2, 5, 21, 300, 100_000]
    let slots = [3, 17, 19, 21, 101]
    flow = Flow(
      count: counts[Int(random.unit() * 7)], slots: slots[Int(random.unit() * 5)],
      width: 300 + random.unit() * 2_000)
  }

  private static let hostile: [Double] = [
    .nan, .infinity, -.infinity, 1e308, -1e308, 1e-308, -0.0, 9.3e18, 0,
  ]

  private mutating func number(_ range: ClosedRange<Double>) -> Double {
    if random.unit() < 0.05 { return Self.hostile[Int(random.unit() * 9)] }
    return range.lowerBound + random.unit() * (range.upperBound - range.lowerBound)
  }

  private mutating func index() -> Int {
    let extremes = [Int.min, .max, -1, 0, flow.keys.count]
    if random.unit() < 0.1 { return extremes[Int(random.unit() * 5)] }
    return Int(random.unit() * Double(max(1, flow.keys.count)))
  }

  private mutating func time() -> Instant {
    switch random.unit() {
    case ..<0.03: return .zero
    case ..<0.06: return .distantFuture
    case ..<0.09: return Instant(nanoseconds: .min)
    default: return flow.now + .microseconds(Int64(random.unit() * 20_000) - 15_000)
    }
  }

  mutating func step() {
    switch Int(random.unit() * 10) {
    case 0, 1, 2: frames()
    case 3: change()
    case 4, 5: finger()
    case 6: clock()
    default: event()
    }
  }

  private mutating func frames() {
    for _ in 0..<Int(1 + random.unit() * 20) {
      let before = flow.machine.position
      flow.wait(milliseconds: random.unit() * 40)
      flow.frame()
      guard let released else { continue }
      let goal = Double(released.to)
      let (was, now) = (abs(goal - before), abs(goal - flow.machine.position))
      if now > was + 1e-9 || (goal - before) * (goal - flow.machine.position) < -1e-6 {
        problems.append("turned round or passed: \(before) to \(flow.machine.position) of \(goal)")
      }
    }
    if !flow.isShownRight { problems.append("a slot shows another item") }
    if flow.machine.mode == .rest { released = nil }
  }

  private mutating func finger() {
    released = nil
    switch Int(random.unit() * 6) {
    case 0:
      x = number(-600...600)
      flow.send(.pointerDown(x: x, y: number(-200...200), at: time()))
    case 1, 2, 3:
      x += number(-60...60)
      flow.send(.pointerMove(x: x, at: time()))
      if !x.isFinite { x = 0 }
    case 4:
      let wasDragging = flow.machine.mode == .drag
      flow.send(.pointerUp(x: x, y: number(-200...200), at: time()))
      if wasDragging, flow.machine.mode == .settle {
        released = (flow.machine.position, flow.machine.target)
      }
    default: flow.send(.pointerCancel)
    }
  }

  private mutating func event() {
    released = nil
    let events: [CoverFlowEvent] = [
      .step(random.unit() < 0.5 ? 1 : -1), .step(index()), .page(index()), .go(to: index()),
      .jump(to: index()), .fling(velocity: number(-80...80)), .wheel(covers: number(-2...2)),
      .select, .flip, .flipBack, .reduceMotion(random.unit() < 0.2),
      .resize(
        width: number(100...3_000), height: number(100...2_000), coverAspect: number(0.2...3)),
    ]
    flow.send(events[Int(random.unit() * Double(events.count))])
  }

  private mutating func clock() {
    released = nil
    switch random.unit() {
    case ..<0.2: flow.now = .zero
    case ..<0.4: flow.wait(milliseconds: 1e8)
    default: flow.wait(milliseconds: random.unit() * 400)
    }
  }

  private mutating func change() {
    released = nil
    let count = flow.keys.count
    let place = Int(random.unit() * Double(count))
    switch random.unit() {
    case ..<0.35: flow.insert(at: Int(random.unit() * Double(count + 1)))
    case ..<0.6: if count > 0 { flow.remove(at: place) }
    case ..<0.8: if count > 0 { flow.move(from: Int(random.unit() * Double(count)), to: place) }
    case ..<0.9: if count < 500 { flow.reset(to: flow.keys.filter { _ in random.unit() < 0.7 }) }
    default:
      flow.machine.apply(.insert(at: .min + place), now: time())
      flow.machine.apply(.remove(at: count + place), now: time())
    }
  }
}

/// What a view does with images that load slowly, arrive in any order, or not at all.
private struct ImageView {
  private var flow: Flow
  private var random: SeededGenerator
  private var cache = CoverImageCache<Int>(capacity: 42)
  /// The key whose image is in each place of the cache.
  private var images: [Int?] = Array(repeating: nil, count: 42)
  /// The key whose image each slot shows.
  private var pictures: [Int?]
  private var loading: [(key: Int, ticket: CoverImageCache<Int>.Ticket)] = []
  private var done = 0
  var wrong: [String] = []

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    flow = Flow(count: 2_000)
    pictures = Array(repeating: nil, count: 21)
    for (slot, index) in flow.machine.pool.indices.enumerated() {
      if let index { request(slot: slot, index: index) }
    }
  }

  mutating func step() {
    switch Int(random.unit() * 8) {
    case 0: flow.send(.fling(velocity: (random.unit() - 0.5) * 100))
    case 1: flow.send(.step(Int(random.unit() * 9) - 4))
    case 2: flow.remove(at: Int(random.unit() * Double(flow.keys.count)))
    case 3: flow.insert(at: Int(random.unit() * Double(flow.keys.count)))
    case 4: if let key = flow.frontKey { update(key) }
    default: break
    }
    for _ in 0..<Int(random.unit() * 6) {
      flow.wait(milliseconds: 16)
      flow.frame()
      act()
    }
    while !loading.isEmpty, random.unit() < 0.7 {
      arrive(Int(random.unit() * Double(loading.count)))
    }
    check()
  }

  mutating func finishAll() {
    flow.settle()
    act()
    while !loading.isEmpty { arrive(0) }
    check()
  }

  /// Covers that are seen and have no image, though all have been loaded.
  var missing: [Int] {
    flow.shown.indices.filter { slot in
      flow.machine.frame(ofSlot: slot)?.isVisible == true && pictures[slot] == nil
    }
  }

  private mutating func act() {
    for action in flow.actions[done...] {
      switch action {
      case .assign(let slot, _), .vacate(let slot): pictures[slot] = nil
      case .load(let slot, let index): request(slot: slot, index: index)
      default: break
      }
    }
    done = flow.actions.count
  }

  private mutating func request(slot: Int, index: Int) {
    let key = flow.keys[index]
    let shown = flow.shown
    switch cache.request(key, isInUse: { shown.contains($0) }) {
    case .ready(let place): pictures[slot] = images[place]
    case .load(let ticket):
      images[ticket.place] = nil
      loading.append((key, ticket))
    case .loading, .failed: break
    case .full: wrong.append("no room for an image that is seen")
    }
  }

  private mutating func update(_ key: Int) {
    cache.remove(key)
    guard let slot = flow.shown.firstIndex(of: key), let index = flow.machine.pool.indices[slot]
    else { return }
    pictures[slot] = nil
    request(slot: slot, index: index)
  }

  private mutating func arrive(_ which: Int) {
    let (key, ticket) = loading.remove(at: which)
    guard case .show(let owner) = cache.finish(ticket, isLoaded: true) else { return }
    images[ticket.place] = key
    if let slot = flow.shown.firstIndex(of: owner) { pictures[slot] = images[ticket.place] }
  }

  private mutating func check() {
    for (slot, picture) in pictures.enumerated() {
      if let picture, picture != flow.shown[slot] {
        wrong.append("slot \(slot) shows \(picture) for \(flow.shown[slot] ?? -1)")
      }
    }
  }
}
