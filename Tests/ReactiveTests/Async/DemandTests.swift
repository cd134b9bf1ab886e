import Foundation
import Reactive
import Testing

/// Values that an operator keeps are in a demand of its own: it keeps few, and the stream that it
/// waits for goes on.
@Suite("Backpressure of operators that keep values", .timeLimit(.minutes(5)))
struct DemandTests {
  typealias Numeric = SignalProducer<Int, Never>

  /// Without end, counting what is drawn.
  private static func numbers(_ drawn: Counter) -> Numeric {
    Numeric(sending: { input in
      while !Task.isCancelled {
        drawn.increment()
        await input.send(drawn.value)
      }
    })
  }

  /// One value, later.
  private static func later(_ value: Int) -> Numeric {
    Numeric(awaiting: {
      for _ in 0..<20 { await Task.yield() }
      return value
    })
  }

  /// Gives sources every chance to run ahead.
  private func letSourcesRun() async {
    for _ in 0..<200 { await Task.yield() }
  }

  private static let slow: @Sendable () -> Numeric = { later(0).repeat(1_000) }

  /// Operators that keep values of the first source, and how many they may keep or have running.
  static let keepers: [(name: String, kept: Int, make: @Sendable (Numeric) -> Numeric)] = [
    ("concat", 2, { $0.flatMap(.concat) { later($0) } }),
    ("concurrent", 3, { $0.flatMap(.concurrent(limit: 2)) { later($0) } }),
    ("flatten", 2, { $0.map { later($0) }.flatten(.concat) }),
    ("nested", 4, { $0.flatMap(.concat) { later($0) }.flatMap(.concat) { later($0) } }),
    ("behind a hop", 2, { $0.observe(on: QueueScheduler()).flatMap(.concat) { later($0) } }),
    (
      "inside merge", 2,
      { source in
        Numeric(value: 0).flatMap(.merge) { _ in source.flatMap(.concat) { later($0) } }
      }
    ),
    ("singles", 0, { $0.flatMap(.concat) { Numeric(value: $0) } }),
    ("zip", 1, { $0.zip(with: slow()).map(\.0) }),
    ("zip, second", 1, { slow().zip(with: $0).map(\.1) }),
    ("zip of three", 1, { Numeric.zip($0, slow(), Numeric(0...1_000)).map(\.0) }),
    ("zip of a sequence", 1, { Numeric.zip([$0, slow()]).map { $0[0] } }),
    (
      "zip behind a hop", 2,
      {
        $0.observe(on: QueueScheduler()).zip(with: slow()).map(\.0)
      }
    ),
    ("zip of flattened", 3, { $0.flatMap(.concat) { later($0) }.zip(with: slow()).map(\.0) }),
    ("flattened zip", 3, { $0.zip(with: slow()).map(\.0).flatMap(.concat) { later($0) } }),
  ]

  @Test(
    "an operator that keeps values draws no more than it has room for, and loses none",
    arguments: keepers.indices, [1, 4])
  func keeps(_ index: Int, _ limit: Int) async {
    let keeper = Self.keepers[index]
    let drawn = Counter()
    var iterator = keeper.make(Self.numbers(drawn))
      .values(buffering: .backpressure(limit)).makeAsyncIterator()
    for taken in 1...40 {
      await letSourcesRun()
      // Besides those that are kept, one has been made and waits.
      #expect(drawn.value <= taken - 1 + limit + keeper.kept + 1, "\(keeper.name)")
      let value = await iterator.next()
      #expect(keeper.kept > 1 ? value != nil : value == taken, "\(keeper.name)")
    }
  }

  @Test("a zip whose sources both wait goes on as the pairs are taken")
  func bothWait() async {
    let (first, second) = (Counter(), Counter())
    var iterator = Self.numbers(first).zip(with: Self.numbers(second))
      .values(buffering: .backpressure(2)).makeAsyncIterator()
    for taken in 1...100 {
      let pair = await iterator.next()
      #expect(pair?.0 == taken)
      #expect(pair?.1 == taken)
      #expect(abs(first.value - second.value) <= 5)
    }
  }

  @Test("a source behind a zip that filters most values isn't kept from the next that passes")
  func filtered() async {
    let drawn = Counter()
    var iterator = Self.numbers(drawn).filter { $0 % 100 == 0 }.zip(with: Numeric(1...1_000))
      .values(buffering: .backpressure(1)).makeAsyncIterator()
    for taken in 1...5 { #expect(await iterator.next()?.0 == taken * 100) }
  }

  @Test("streams that end without a value make room for the next")
  func emptyInner() async {
    let drawn = Counter()
    var iterator = Self.numbers(drawn)
      .flatMap(.concat) { $0 % 10 == 0 ? Self.later($0) : .empty }
      .values(buffering: .backpressure(1)).makeAsyncIterator()
    for taken in 1...10 { #expect(await iterator.next() == taken * 10) }
  }

  /// Of an operator whose running streams end only when their source goes on.
  private func take(_ count: Int, of producer: Numeric) async -> [Int] {
    var taken: [Int] = []
    for await value in producer.take(first: count).values(buffering: .backpressure(4)) {
      taken.append(value)
    }
    return taken
  }

  @Test("groups that run end only with their source, and don't keep it from going on")
  func groups() async {
    let parities = Self.numbers(Counter()).group { $0 % 2 }
      .flatMap(.concurrent(limit: 2)) { $0.signal.producer }
    #expect(await take(20, of: parities).sorted() == Array(1...20))
    let single = Self.numbers(Counter()).group { _ in 0 }.flatMap(.concat) { $0.signal.producer }
    #expect(await take(20, of: single) == Array(1...20))
  }

  @Test("a stream that its source's next value ends doesn't keep that from coming")
  func endedByTheNext() async {
    let (moved, move) = Signal<(), Never>.pipe()
    let work = Self.numbers(Counter()).on(value: { _ in move.send(value: ()) })
      .flatMap(.concat) { Numeric(value: $0).concat(.never).take(until: moved) }
    #expect(await take(20, of: work) == Array(1...20))
  }

  @Test("a value that waited at the gate when its stream was interrupted takes no room afterwards")
  func interruptedAtTheGate() async {
    let (first, one) = Signal<Int, Never>.pipe()
    let (second, two) = Signal<Int, Never>.pipe()
    let (stop, stopInput) = Signal<(), Never>.pipe()
    let part = SignalProducer<Numeric, Never>([first.producer, second.producer])
      .flatten(.merge)
      .map { value in
        stopInput.send(value: ())
        two.send(value: 2)
        return value
      }
      .take(until: stop)
    var iterator = part.concat(Self.numbers(Counter()))
      .values(buffering: .backpressure(1)).makeAsyncIterator()
    one.send(value: 1)
    for taken in 1...5 { #expect(await iterator.next() == taken) }
  }

  @Test("a run that is started while a value is delivered doesn't wait for the consumer of that")
  func runsInside() async {
    let done = Expectation()
    let producer = Self.numbers(Counter()).on(value: { value in
      guard value == 1 else { return }
      Self.numbers(Counter()).take(first: 100).startWithCompleted { done.fulfill() }
    })
    let iterator = producer.values(buffering: .backpressure(1)).makeAsyncIterator()
    await done.wait()
    withExtendedLifetime(iterator) {}
  }

  /// Counts what is taken out of it.
  private struct Drawn: AsyncSequence, Sendable {
    typealias Failure = Never
    let drawn: Counter

    struct Iterator: AsyncIteratorProtocol {
      typealias Failure = Never
      let drawn: Counter

      mutating func next() async -> Int? { await next(isolation: nil) }

      mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
        drawn.increment()
        return drawn.value
      }
    }

    func makeAsyncIterator() -> Iterator { Iterator(drawn: drawn) }
  }

  @Test("a part of a run that ends draws nothing more from a sequence that waits for room")
  func endOfPart() async {
    let drawn = Counter()
    let (other, input) = Signal<Int, Never>.pipe()
    let (stop, stopInput) = Signal<(), Never>.pipe()
    let part = Numeric.merge(other.producer, Numeric(Drawn(drawn: drawn)))
      .flatMap(.concat) { value -> Numeric in
        guard value == 0 else { return .never }
        // Ends the part while a value is delivered: the sequence can be cancelled only afterwards.
        stopInput.send(value: ())
        let before = drawn.value
        for _ in 0..<20_000 where drawn.value == before { sched_yield() }
        return .never
      }
      .take(until: stop)
    var iterator = part.concat(Numeric(value: -1))
      .values(buffering: .backpressure(4)).makeAsyncIterator()
    // One stream runs, and one is in line.
    while drawn.value < 2 { await Task.yield() }
    await letSourcesRun()
    input.send(value: 0)
    #expect(await iterator.next() == -1)
    #expect(drawn.value == 2)
  }

  @Test("a trigger comes although there is no room for values")
  func trigger() async {
    let (isFull, hasCompleted) = (Expectation(), Expectation())
    let trigger = SignalProducer<(), Never>(awaiting: { await isFull.wait() })
    let numbers = Numeric([1, 2]).concat(.never).on(value: { value in
      if value == 2 { isFull.fulfill() }
    })
    let triggered = numbers.take(until: trigger).on(completed: { hasCompleted.fulfill() })
    let iterator = triggered.values(buffering: .backpressure(1)).makeAsyncIterator()
    await hasCompleted.wait()
    withExtendedLifetime(iterator) {}
  }

  @Test("values that wait while another thread delivers take room", arguments: [1, 4])
  func inbox(_ limit: Int) async {
    let (first, second, isHeldUp) = (Counter(), Counter(), Atomic(true))
    let held = Self.numbers(first).map { -$0 }
    let other = Self.numbers(second)
    // The first value of one is under way until the other has stopped.
    var iterator = Numeric.merge(held, other)
      .on(value: { value in
        guard value < 0, isHeldUp.swap(false) else { return }
        var before = -1
        while second.value != before {
          before = second.value
          for _ in 0..<2_000 { sched_yield() }
        }
      })
      .values(buffering: .backpressure(limit)).makeAsyncIterator()
    var isFirstTaken = false
    while !isFirstTaken, let value = await iterator.next() { isFirstTaken = value < 0 }
    #expect(second.value <= 4 * limit + 8)
  }

  @Test(
    "a run that is left while an operator keeps values ends its sources", arguments: keepers.indices
  )
  func leaves(_ index: Int) async {
    let ended = Expectation()
    let source = Numeric(sending: { input in
      var next = 0
      while !Task.isCancelled {
        next += 1
        await input.send(next)
      }
      ended.fulfill()
    })
    do {
      var iterator = Self.keepers[index].make(source)
        .values(buffering: .backpressure(2)).makeAsyncIterator()
      _ = await iterator.next()
    }
    await ended.wait()
  }
}
