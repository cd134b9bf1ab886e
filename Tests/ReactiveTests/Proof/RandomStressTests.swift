import Dispatch
import Foundation
import Reactive
import Synchronization
import Testing

/// Random chains of operators whose sources send, end, fail and are let go of at random, while runs
/// come and are disposed of, all on several threads. For the thread sanitizer; without it, nothing may
/// be delivered twice at once or after the end, and nothing may stay alive.
///
/// `AMBIT_STRESS` sets the number of seeds, `AMBIT_STRESS_SEED` selects a single one.
@Suite("Under stress, at random", .ownThread, .timeLimit(.minutes(5)))
struct RandomStressTests {
  /// A value whose end is counted.
  final class Witness: Sendable {
    let number: Int
    private let census: Census

    init(_ number: Int, _ census: Census) {
      (self.number, self.census) = (number, census)
      census.add(1)
    }

    deinit { census.add(-1) }
  }

  /// How many witnesses there are.
  final class Census: Sendable {
    private let count = Synchronization.Atomic(0)
    var alive: Int { count.load(ordering: .sequentiallyConsistent) }
    func add(_ change: Int) { count.wrappingAdd(change, ordering: .relaxed) }
  }

  typealias Stream = SignalProducer<Witness, TestError>
  typealias Numbers = ProgramTests.Generator

  /// A signal whose input can be let go of.
  private final class Pipe: Sendable {
    let output: Signal<Witness, TestError>
    private let storage: LockedValue<Signal<Witness, TestError>.Observer?>

    init() {
      let (output, input) = Signal<Witness, TestError>.pipe()
      self.output = output
      storage = LockedValue(input)
    }

    var input: Signal<Witness, TestError>.Observer? { storage.value }
    func dropInput() { storage.value = nil }
  }

  /// What a seed is about.
  private final class World: Sendable {
    let census = Census()
    let queues = [QueueScheduler(name: "one"), QueueScheduler(name: "two")]
    let pipes = (0..<3).map { _ in Pipe() }
    let property: MutableProperty<Witness>

    init() {
      property = MutableProperty(Witness(0, census))
    }

    func witness(_ numbers: inout Numbers) -> Witness {
      Witness(Int.random(in: 0..<10, using: &numbers), census)
    }
  }

  /// One run, which records its events without a lock: serial delivery is its only protection.
  private final class Run: @unchecked Sendable {
    // Unchecked: the test is of that.
    private var isInside = false
    private var endCount = 0
    private(set) var problem: String?
    private(set) var valueCount = 0

    func note(_ event: Signal<Witness, TestError>.Event) {
      if isInside { problem = "two events at once" }
      isInside = true
      if endCount > 0 { problem = "\(event) after the end" }
      if event.isTerminating { endCount += 1 } else { valueCount += 1 }
      isInside = false
    }
  }

  // MARK: Chains

  private static func chain(_ depth: Int, _ world: World, _ numbers: inout Numbers) -> Stream {
    guard depth > 0 else { return source(world, &numbers) }
    let inner = chain(depth - 1, world, &numbers)
    switch Int.random(in: 0..<4, using: &numbers) {
    case 0: return one(inner, &numbers)
    case 1: return timed(inner, world, &numbers)
    case 2: return joined(inner, chain(depth - 1, world, &numbers), &numbers)
    default: return flattened(inner, chain(depth - 1, world, &numbers), world, &numbers)
    }
  }

  private static func source(_ world: World, _ numbers: inout Numbers) -> Stream {
    switch Int.random(in: 0..<5, using: &numbers) {
    case 0: return world.property.producer.promoteError(TestError.self).take(first: 20)
    case 1: return Stream((0..<5).map { Witness($0, world.census) })
    case 2:
      let queue = world.queues[0]
      return world.pipes[0].output.producer.start(on: queue)
    default: return Stream(world.pipes[Int.random(in: 0..<3, using: &numbers)].output)
    }
  }

  private static func one(_ stream: Stream, _ numbers: inout Numbers) -> Stream {
    let count = Int.random(in: 1...5, using: &numbers)
    switch Int.random(in: 0..<8, using: &numbers) {
    case 0: return stream.filter { $0.number > 2 }
    case 1: return stream.skipRepeats { $0.number == $1.number }
    case 2: return stream.take(first: count)
    case 3: return stream.take(last: count)
    case 4: return stream.collect(count: count).compactMap(\.last)
    case 5: return stream.combinePrevious().map { $0.1 }
    case 6: return stream.materialize().dematerialize()
    default: return stream.replayLazily(upTo: count)
    }
  }

  private static func timed(_ stream: Stream, _ world: World, _ numbers: inout Numbers) -> Stream {
    let queue = world.queues[Int.random(in: 0..<2, using: &numbers)]
    let seconds = Double(Int.random(in: 0...2, using: &numbers)) / 1_000
    switch Int.random(in: 0..<6, using: &numbers) {
    case 0: return stream.observe(on: queue)
    case 1: return stream.delay(seconds, on: queue)
    case 2: return stream.throttle(seconds, on: queue)
    case 3: return stream.debounce(seconds, on: queue)
    case 4: return stream.timeout(after: seconds * 5, raising: .two, on: queue)
    default: return stream.lazyMap(on: queue) { $0 }
    }
  }

  private static func joined(_ a: Stream, _ b: Stream, _ numbers: inout Numbers) -> Stream {
    switch Int.random(in: 0..<7, using: &numbers) {
    case 0: return a.merge(with: b)
    case 1: return a.zip(with: b).map { $0.0 }
    case 2: return a.combineLatest(with: b).map { $0.1 }
    case 3: return a.concat(b)
    case 4: return a.then(b)
    case 5: return a.take(untilReplacement: b)
    default: return a.flatMapError { _ in b }.retry(upTo: 1)
    }
  }

  private static func flattened(
    _ outer: Stream, _ inner: Stream, _ world: World, _ numbers: inout Numbers
  ) -> Stream {
    let strategies: [FlattenStrategy] = [
      .merge, .concat, .latest, .race, .throttle, .concurrent(limit: 2),
    ]
    let strategy = strategies[Int.random(in: 0..<strategies.count, using: &numbers)]
    return outer.take(first: 4).flatMap(strategy) { value in
      inner.prefix(value: value)
    }
  }

  // MARK: Threads

  private static func send(_ world: World, _ seed: Int) {
    var numbers = Numbers(seed: seed)
    for _ in 0..<40 {
      let pipe = world.pipes[Int.random(in: 0..<3, using: &numbers)]
      let input = pipe.input
      switch Int.random(in: 0..<60, using: &numbers) {
      case 0: input?.sendCompleted()
      case 1: input?.send(error: .one)
      case 2: input?.sendInterrupted()
      case 3: pipe.dropInput()
      case 4..<14: world.property.value = world.witness(&numbers)
      default: input?.send(value: world.witness(&numbers))
      }
    }
  }

  /// Starts runs and ends each in one of the ways that there are, or leaves it to the last.
  private static func observe(
    _ stream: Stream, _ seed: Int, _ runs: Log<Run>, _ all: CompositeDisposable,
    _ others: DispatchGroup
  ) {
    var numbers = Numbers(seed: seed)
    let serial = SerialDisposable()
    for _ in 0..<6 {
      let run = Run()
      runs.append(run)
      let (lifetime, token) = Lifetime.make()
      let disposable = stream.take(during: lifetime).start { run.note($0) }
      switch Int.random(in: 0..<5, using: &numbers) {
      case 0: disposable.dispose()
      case 1: token.dispose()
      case 2: serial.inner = disposable
      case 3: detach(in: others) { disposable.dispose() }
      default: break
      }
      all.add(disposable)
      all.add { token.dispose() }
    }
    serial.dispose()
  }

  private static let seeds: Range<Int> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["AMBIT_STRESS_SEED"].flatMap(Int.init) { return seed..<seed + 1 }
    return 0..<(environment["AMBIT_STRESS"].flatMap(Int.init) ?? 300)
  }()

  /// Waits for what has been scheduled. A block on the queue might come before.
  private static func flush(_ queue: QueueScheduler) {
    let done = DispatchSemaphore(value: 0)
    queue.schedule { done.signal() }
    done.wait()
    // The batch lets go of what it has performed.
    queue.queue.sync {}
  }

  /// The problems of one seed.
  private static func problems(_ seed: Int, _ valueCount: inout Int) -> [String] {
    let world = World()
    let runs = Log<Run>()
    let others = DispatchGroup()
    do {
      var numbers = Numbers(seed: seed)
      let stream = chain(3, world, &numbers)
      let all = CompositeDisposable()
      race(
        { send(world, seed * 4 + 1) }, { send(world, seed * 4 + 2) },
        { observe(stream, seed * 4 + 3, runs, all, others) },
        { observe(stream, seed * 4 + 4, runs, all, others) })
      all.dispose()
    }
    for pipe in world.pipes { pipe.dropInput() }
    others.wait()
    // Until nothing moves on the queues any more. The property holds the only witness that is left.
    for _ in 0..<200_000 where world.census.alive != 1 {
      for queue in world.queues { flush(queue) }
    }
    for queue in world.queues + world.queues { flush(queue) }
    let alive = world.census.alive - 1
    valueCount += runs.entries.reduce(0) { $0 + $1.valueCount }
    return runs.entries.compactMap { $0.problem } + (alive > 0 ? ["\(alive) alive"] : [])
  }

  @Test("nothing is delivered twice at once or after the end, and nothing stays alive")
  func seeds() {
    var valueCount = 0
    for seed in Self.seeds {
      let problems = Self.problems(seed, &valueCount)
      #expect(problems.isEmpty, "AMBIT_STRESS_SEED=\(seed): \(problems)")
    }
    // Most seeds have something to deliver.
    #expect(Self.seeds.count < 100 || valueCount > Self.seeds.count, "\(valueCount) values")
  }
}
