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

  /// Operators that keep values of the first source, and how many they may have running.
  static let keepers: [(name: String, running: Int, make: @Sendable (Numeric) -> Numeric)] = [
    ("concat", 1, { $0.flatMap(.concat) { later($0) } }),
    ("concurrent", 2, { $0.flatMap(.concurrent(limit: 2)) { later($0) } }),
    ("flatten", 1, { $0.map { later($0) }.flatten(.concat) }),
    ("nested", 2, { $0.flatMap(.concat) { later($0) }.flatMap(.concat) { later($0) } }),
    ("behind a hop", 1, { $0.observe(on: QueueScheduler()).flatMap(.concat) { later($0) } }),
    (
      "inside merge", 1,
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
    ("zip of flattened", 2, { $0.flatMap(.concat) { later($0) }.zip(with: slow()).map(\.0) }),
    ("flattened zip", 2, { $0.zip(with: slow()).map(\.0).flatMap(.concat) { later($0) } }),
  ]

  @Test(
    "an operator that keeps values draws as many as it may have running, and loses none",
    arguments: keepers.indices, [1, 4])
  func keeps(_ index: Int, _ limit: Int) async {
    let keeper = Self.keepers[index]
    let drawn = Counter()
    var iterator = keeper.make(Self.numbers(drawn))
      .values(buffering: .backpressure(limit)).makeAsyncIterator()
    for taken in 1...40 {
      await letSourcesRun()
      // Besides those that are kept, one has been made and waits.
      #expect(drawn.value <= taken - 1 + limit + keeper.running + 1, "\(keeper.name)")
      let value = await iterator.next()
      #expect(keeper.running > 1 ? value != nil : value == taken, "\(keeper.name)")
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
