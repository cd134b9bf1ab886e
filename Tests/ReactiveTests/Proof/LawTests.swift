import Reactive
import Testing

/// Equations that hold of all streams, tried on random ones. A failure names the seed.
@Suite("Algebraic laws")
struct LawTests {
  typealias Stream = SignalProducer<Int, TestError>

  /// A random finite stream, and functions on its values.
  private struct Chance {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    mutating func next(below bound: Int) -> Int {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }

    mutating func values() -> [Int] {
      (0..<next(below: 8)).map { _ in next(below: 5) }
    }

    mutating func stream() -> Stream {
      let values = Stream(values())
      return switch next(below: 4) {
      case 0: values.concat(error: .one)
      case 1:
        values.concat(SignalProducer { observer, _ in observer.sendInterrupted() })
      default: values
      }
    }

    mutating func function() -> @Sendable (Int) -> Int {
      let (factor, shift) = (next(below: 7), next(below: 7))
      return { ($0 * factor + shift) % 11 }
    }

    mutating func predicate() -> @Sendable (Int) -> Bool {
      let (modulus, remainder) = (next(below: 3) + 1, next(below: 3))
      return { $0 % modulus == remainder % modulus }
    }

    mutating func kleisli() -> @Sendable (Int) -> Stream {
      let count = next(below: 3)
      let fails = next(below: 4) == 0
      return { value in
        let values = Stream((0..<count).map { value + $0 })
        return fails && value == 2 ? values.concat(error: .two) : values
      }
    }
  }

  private func check(
    _ law: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ sides: (inout Chance) -> ([String], [String])
  ) {
    for seed in 0..<100 as Range<UInt64> {
      var chance = Chance(seed: seed &* 0x1234_5678_9ABC_DEF1)
      let (left, right) = sides(&chance)
      if left != right {
        Issue.record(
          "\(law), seed \(seed): \(left) is not \(right)", sourceLocation: sourceLocation)
      }
    }
  }

  @Test("map fuses, and commutes with filter")
  func mapping() {
    check("map f, map g = map g∘f") { chance in
      let (s, f, g) = (chance.stream(), chance.function(), chance.function())
      return (s.map(f).map(g).recorded, s.map { g(f($0)) }.recorded)
    }
    check("map f, filter p = filter p∘f, map f") { chance in
      let (s, f, p) = (chance.stream(), chance.function(), chance.predicate())
      return (s.map(f).filter(p).recorded, s.filter { p(f($0)) }.map(f).recorded)
    }
    check("filter p, filter q = filter q, filter p") { chance in
      let (s, p, q) = (chance.stream(), chance.predicate(), chance.predicate())
      return (s.filter(p).filter(q).recorded, s.filter(q).filter(p).recorded)
    }
    check("filter p = compactMap") { chance in
      let (s, p) = (chance.stream(), chance.predicate())
      return (s.filter(p).recorded, s.compactMap { p($0) ? $0 : nil }.recorded)
    }
  }

  @Test("flatMap is a monad", arguments: [FlattenStrategy.merge, .concat])
  func monad(_ strategy: FlattenStrategy) {
    check("value x, flatMap f = f x") { chance in
      let (x, f) = (chance.next(below: 5), chance.kleisli())
      return (Stream(value: x).flatMap(strategy, f).recorded, f(x).recorded)
    }
    check("flatMap value = id but for the kind of end") { chance in
      let s = Stream(chance.values())
      return (s.flatMap(strategy) { Stream(value: $0) }.recorded, s.recorded)
    }
    check("flatMap is associative") { chance in
      let (s, f, g) = (chance.stream(), chance.kleisli(), chance.kleisli())
      return (
        s.flatMap(strategy, f).flatMap(strategy, g).recorded,
        s.flatMap(strategy) { f($0).flatMap(strategy, g) }.recorded
      )
    }
    check("map f = flatMap value∘f") { chance in
      let (s, f) = (chance.stream(), chance.function())
      return (s.map(f).recorded, s.flatMap(strategy) { Stream(value: f($0)) }.recorded)
    }
  }

  @Test("the operators take and skip are two parts of one")
  func takeAndSkip() {
    check("take n ++ skip n = id") { chance in
      let (s, n) = (Stream(chance.values()), chance.next(below: 9))
      return (s.take(first: n).concat(s.skip(first: n)).recorded, s.recorded)
    }
    check("take(while: p) ++ skip(while: p) = id") { chance in
      let (s, p) = (Stream(chance.values()), chance.predicate())
      return (s.take(while: p).concat(s.skip(while: p)).recorded, s.recorded)
    }
    check("take m, take n = take min(m, n)") { chance in
      let (s, m, n) = (Stream(chance.values()), chance.next(below: 9), chance.next(below: 9))
      return (s.take(first: m).take(first: n).recorded, s.take(first: min(m, n)).recorded)
    }
    check("skip m, skip n = skip m + n") { chance in
      let (s, m, n) = (chance.stream(), chance.next(below: 5), chance.next(below: 5))
      return (s.skip(first: m).skip(first: n).recorded, s.skip(first: m + n).recorded)
    }
  }

  @Test("a materialized stream can be dematerialized")
  func materialize() {
    check("materialize, dematerialize = id") { chance in
      let s = chance.stream()
      return (s.materialize().dematerialize().recorded, s.recorded)
    }
    check("materializeResults, dematerializeResults = id") { chance in
      let s = chance.stream()
      return (s.materializeResults().dematerializeResults().recorded, s.recorded)
    }
  }

  @Test("concat is a monoid, and merge of synchronous streams is concat")
  func concat() {
    check("concat is associative") { chance in
      let (a, b, c) = (chance.stream(), chance.stream(), chance.stream())
      return (a.concat(b).concat(c).recorded, a.concat(b.concat(c)).recorded)
    }
    check("empty is neutral") { chance in
      let s = Stream(chance.values())
      return (Stream.empty.concat(s).recorded, s.concat(.empty).recorded)
    }
    check("merge commutes up to order") { chance in
      let (a, b) = (Stream(chance.values()), Stream(chance.values()))
      return (a.merge(with: b).recorded.sorted(), b.merge(with: a).recorded.sorted())
    }
  }

  @Test("folds agree with one another")
  func folds() {
    check("reduce = scan, take(last: 1)") { chance in
      let (s, f) = (Stream(chance.values() + [1]), chance.function())
      return (
        s.reduce(1) { f($0 + $1) }.recorded, s.scan(1) { f($0 + $1) }.take(last: 1).recorded
      )
    }
    check("collect, flatten = id on completion") { chance in
      let s = Stream(chance.values())
      return (s.collect().flatten().recorded, s.recorded)
    }
    check("skipRepeats is idempotent") { chance in
      let s = chance.stream()
      return (s.skipRepeats().skipRepeats().recorded, s.skipRepeats().recorded)
    }
  }

  /// Sends values of two streams in a random interleaving.
  private func interleave(
    _ chance: inout Chance,
    _ join: (Signal<Int, TestError>, Signal<Int, TestError>) -> Signal<String, TestError>,
    _ mirrored: (Signal<Int, TestError>, Signal<Int, TestError>) -> Signal<String, TestError>
  ) -> ([String], [String]) {
    let (a, inA) = Signal<Int, TestError>.pipe()
    let (b, inB) = Signal<Int, TestError>.pipe()
    let (left, right) = (Log<String>(), Log<String>())
    join(a, b).record(in: left)
    mirrored(b, a).record(in: right)
    for _ in 0..<12 {
      let input = chance.next(below: 2) == 0 ? inA : inB
      switch chance.next(below: 10) {
      case 0: input.sendCompleted()
      case 1: input.send(error: .one)
      default: input.send(value: chance.next(below: 9))
      }
    }
    return (left.entries, right.entries)
  }

  @Test("zip, combineLatest and merge are symmetric")
  func symmetry() {
    check("zip(a, b) = swap zip(b, a)") { chance in
      interleave(
        &chance, { $0.zip(with: $1).map { "\($0) \($1)" } },
        { $0.zip(with: $1).map { "\($1) \($0)" } })
    }
    check("combineLatest(a, b) = swap combineLatest(b, a)") { chance in
      interleave(
        &chance, { $0.combineLatest(with: $1).map { "\($0) \($1)" } },
        { $0.combineLatest(with: $1).map { "\($1) \($0)" } })
    }
    check("merge(a, b) = merge(b, a)") { chance in
      interleave(
        &chance, { $0.merge(with: $1).map { "\($0)" } }, { $0.merge(with: $1).map { "\($0)" } })
    }
  }
}
