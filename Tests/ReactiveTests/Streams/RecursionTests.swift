import Reactive
import Testing

/// A hundred thousand producers, each a part of the one before, on a thread with an ordinary stack.
@Suite("Recursion of producers", .ownThread, .timeLimit(.minutes(5)))
struct RecursionTests {
  private typealias Numeric = SignalProducer<Int, TestError>
  private static let depth = 100_000

  /// Starts the next level when it is started.
  private static func deferred(_ make: @escaping @Sendable () -> Numeric) -> Numeric {
    Numeric { () -> Int in 0 }.flatMap(.concat) { _ in make() }
  }

  private static func flatMapping(_ strategy: FlattenStrategy, _ left: Int) -> Numeric {
    guard left > 0 else { return Numeric(value: 7) }
    return Numeric(value: left).flatMap(strategy) { flatMapping(strategy, $0 - 1) }
  }

  private static func catching(_ left: Int) -> Numeric {
    guard left > 0 else { return Numeric(value: 7) }
    return Numeric(error: .one).flatMapError { _ in catching(left - 1) }
  }

  private static func concatenating(_ left: Int) -> Numeric {
    guard left > 0 else { return .empty }
    return Numeric(value: left).concat(deferred { concatenating(left - 1) })
  }

  private static func following(_ left: Int) -> Numeric {
    guard left > 0 else { return Numeric(value: 7) }
    return Numeric(value: left).then(deferred { following(left - 1) })
  }

  private static func mixing(_ left: Int) -> Numeric {
    guard left > 0 else { return Numeric(value: 7) }
    return switch left % 4 {
    case 0: Numeric(value: left).flatMap(.latest) { _ in mixing(left - 1) }
    case 1: Numeric(error: .two).flatMapError { _ in mixing(left - 1) }
    case 2: Numeric.empty.concat(deferred { mixing(left - 1) })
    default: Numeric.empty.then(deferred { mixing(left - 1) })
    }
  }

  /// An operator around the next level.
  enum Wrapper: CaseIterable, Sendable {
    case then, concat, prefix, flatMap, flatMapErrorOfValue, flatMapErrorOfFailure
    case retry, mixed, mixedWithFlatMap
  }

  private static func wrapping(_ wrapper: Wrapper, _ left: Int) -> Numeric {
    guard left > 0 else {
      return wrapper == .flatMapErrorOfFailure ? Numeric(error: .two) : Numeric(value: 7)
    }
    let next = Numeric(value: left).flatMap(.concat) { wrapping(wrapper, $0 - 1) }
    return wrap(next, with: wrapper, left)
  }

  private static func wrap(_ next: Numeric, with wrapper: Wrapper, _ level: Int) -> Numeric {
    switch wrapper {
    case .then: next.then(Numeric(value: 7))
    case .concat: next.concat(.empty)
    case .prefix: next.prefix(.empty)
    case .flatMap: next.flatMap(.concat) { Numeric(value: $0) }
    case .flatMapErrorOfValue, .flatMapErrorOfFailure: next.flatMapError { Numeric(error: $0) }
    case .retry: next.retry(upTo: 1)
    case .mixed:
      wrap(next, with: [.then, .concat, .prefix, .flatMapErrorOfValue][level % 4], level)
    case .mixedWithFlatMap:
      wrap(next, with: [.flatMap, .then, .flatMapErrorOfValue][level % 3], level)
    }
  }

  private static func asynchronous(_ left: Int) -> SignalProducer<Int, Never> {
    guard left > 0 else { return SignalProducer(value: 7) }
    return SignalProducer(awaiting: { left - 1 }).flatMap(.concat) { asynchronous($0) }
  }

  private func expectOnly(_ values: [Int], of producer: Numeric) {
    var (taken, isCompleted) = ([Int](), false)
    nonisolated(unsafe) let (note, end) = ({ taken.append($0) }, { isCompleted = true })
    producer.start(.init(value: { note($0) }, completed: { end() }))
    #expect(taken == values)
    #expect(isCompleted)
  }

  private func failure(of producer: Numeric) -> TestError? {
    let log = Log<TestError>()
    producer.start(.init(failed: { log.append($0) }))
    return log.entries.first
  }

  @Test(
    "flatMap of one value recurs without using the stack",
    arguments: [FlattenStrategy.concat, .merge, .latest, .race, .throttle])
  func flatMap(_ strategy: FlattenStrategy) {
    expectOnly([7], of: Self.flatMapping(strategy, Self.depth))
  }

  @Test("flatMapError recurs without using the stack")
  func flatMapError() {
    expectOnly([7], of: Self.catching(Self.depth))
  }

  @Test("concat recurs without using the stack")
  func concat() {
    expectOnly((1...Self.depth).reversed(), of: Self.concatenating(Self.depth))
  }

  @Test("a recursion through then uses no stack")
  func then() {
    expectOnly([7], of: Self.following(Self.depth))
  }

  @Test("a recursion through several operators doesn't use the stack")
  func mixed() {
    expectOnly([7], of: Self.mixing(Self.depth))
  }

  @Test(
    "a recursion in front of an operator uses no stack", arguments: Wrapper.allCases)
  func inFront(_ wrapper: Wrapper) {
    let producer = Self.wrapping(wrapper, Self.depth)
    guard wrapper == .flatMapErrorOfFailure else { return expectOnly([7], of: producer) }
    #expect(failure(of: producer) == .two)
  }

  @Test("a recursion in front of an operator is disposed of without using the stack")
  func disposalInFront() {
    let isOver = Counter()
    @Sendable func next(_ left: Int) -> Numeric {
      guard left > 0 else {
        return Numeric { _, lifetime in lifetime.observeEnded { isOver.increment() } }
      }
      return Numeric(value: left).flatMap(.concat) { next($0 - 1) }.then(Numeric(value: 7))
        .flatMapError { Numeric(error: $0) }.concat(.empty)
    }
    next(Self.depth).start().dispose()
    #expect(isOver.value == 1)
  }

  @Test("a recursion of awaited values doesn't use the stack")
  func awaited() async {
    #expect(await Self.asynchronous(20_000).lastValue() == 7)
  }

  @Test("a hundred thousand operators, one after the other, use no stack")
  func operators() {
    var (then, flatMap) = (Numeric(value: 7), Numeric(value: 7))
    var (recovering, failing) = (Numeric(value: 7), Numeric(error: .two))
    for _ in 1...Self.depth {
      then = then.then(Numeric(value: 7))
      flatMap = flatMap.flatMap(.latest) { Numeric(value: $0) }
      recovering = recovering.flatMapError { Numeric(error: $0) }
      failing = failing.flatMapError { Numeric(error: $0) }
    }
    expectOnly([7], of: then)
    expectOnly([7], of: flatMap)
    expectOnly([7], of: recovering)
    #expect(failure(of: failing) == .two)
  }

  @Test("what follows several values is flattened by the strategy")
  func severalValues() {
    func values(_ strategy: FlattenStrategy) -> [Int] {
      let source = Numeric(value: 1).concat(value: 2).flatMapError { Numeric(error: $0) }
      let log = Log<Int>()
      source.flatMap(strategy) { Numeric([$0, 10 * $0]) }.concat(value: 3)
        .flatMap(strategy) { Numeric(value: -$0) }
        .start(.init(value: { log.append($0) }))
      return log.entries
    }
    for strategy in [FlattenStrategy.merge, .concat, .latest, .throttle] {
      #expect(values(strategy) == [-1, -10, -2, -20, -3])
    }
    #expect(values(.race) == [-1])
  }

  @Test("a producer of as many parts is started, and released, without using the stack")
  func parts() {
    var (left, right, following) = (Numeric.empty, Numeric.empty, Numeric(value: 7))
    for value in 1...Self.depth {
      left = left.concat(value: value)
      right = right.prefix(value: value)
      following = Numeric(value: value).then(following)
    }
    expectOnly(Array(1...Self.depth), of: left)
    expectOnly((1...Self.depth).reversed(), of: right)
    expectOnly([7], of: following)
  }

  @Test("a recursion without end ends with the run")
  func endless() {
    let count = Counter()
    @Sendable func next() -> Numeric {
      count.increment()
      return Numeric(value: 1).concat(Self.deferred { next() })
    }
    let log = Log<String>()
    next().take(first: 1_000).start(.init(completed: { log.append("completed") }))
    #expect(log.entries == ["completed"])
    #expect(count.value == 1_000)
  }

  @Test("an interruption of what flatMap began with is one, of what it made completion")
  func interruptions() {
    func end(_ producer: Numeric) -> String {
      let log = Log<String>()
      producer.start(
        .init(
          completed: { log.append("completed") }, interrupted: { log.append("interrupted") }))
      return log.entries.joined(separator: ", ")
    }
    let interrupted = Numeric { observer, _ in observer.sendInterrupted() }
    let one = Numeric(value: 1)
    #expect(end(one.flatMap(.concat) { _ in interrupted }) == "completed")
    #expect(end(one.flatMap(.race) { _ in interrupted }) == "interrupted")
    #expect(end(one.flatMap(.concat) { _ in one.then(interrupted) }) == "completed")
    #expect(end(one.then(interrupted)) == "interrupted")
    #expect(end(interrupted.then(one)) == "interrupted")
    #expect(end(one.then(one.flatMap(.concat) { _ in interrupted })) == "completed")
    #expect(end(interrupted.concat(one)) == "completed")
    #expect(end(one.concat(interrupted)) == "completed")
    #expect(end(one.concat(one).concat(one.then(interrupted))) == "completed")
    #expect(end(one.flatMap(.race) { _ in one.concat(interrupted) }) == "completed")
  }
}
