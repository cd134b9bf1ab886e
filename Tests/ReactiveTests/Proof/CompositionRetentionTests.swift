import Dispatch
import FoundationEssentials
import Reactive
import Testing

/// Every way of composing properties, actions and bindings lets go of everything: of its sources
/// at once where it is not to keep them, and of all the rest with its last holder.
@Suite("Compositions let go")
struct CompositionRetentionTests {
  /// A value whose lifetime shows which object keeps it.
  final class Witness: Sendable, Hashable {
    let number: Int
    init(_ number: Int) { self.number = number }
    static func == (a: Witness, b: Witness) -> Bool { a.number == b.number }
    func hash(into hasher: inout Hasher) { hasher.combine(number) }
  }

  typealias Source = MutableProperty<Witness>

  /// A way to compose a property of one or two others.
  struct Composition: Sendable, CustomTestStringConvertible {
    typealias Compose =
      @Sendable (MutableProperty<Witness>, MutableProperty<Witness>) -> any PropertyProtocol
    let testDescription: String
    let compose: Compose
    /// Whether it is one of those that keep what they view.
    let keepsSource: Bool

    init(_ name: String, keepsSource: Bool = false, _ compose: @escaping Compose) {
      testDescription = name
      self.compose = compose
      self.keepsSource = keepsSource
    }

    static let all: [Composition] = operators + several + others
  }

  @Test(
    "a composed property is released with its values, and its sources with it",
    arguments: Composition.all)
  func properties(_ composition: Composition) {
    weak var source: MutableProperty<Witness>?
    weak var other: MutableProperty<Witness>?
    weak var composed: AnyObject?
    weak var value: Witness?
    var kept: (any PropertyProtocol)?
    do {
      let (a, b) = (MutableProperty(Witness(1)), MutableProperty(Witness(2)))
      (source, other) = (a, b)
      let property = composition.compose(a, b)
      (composed, kept) = (property, property)
      let observation = SerialDisposable()
      observation.inner = observe(property)
      let last = Witness(3)
      value = last
      a.value = last
      b.value = Witness(4)
      observation.dispose()
    }
    #expect((source != nil) == composition.keepsSource)
    #expect(other == nil)
    #expect(composed != nil)
    kept = nil
    #expect(composed == nil)
    #expect(source == nil)
    #expect(value == nil)
    withExtendedLifetime(kept) {}
  }

  @Test("a composed property is released although its sources stay", arguments: Composition.all)
  func leaving(_ composition: Composition) {
    let (a, b) = (MutableProperty(Witness(1)), MutableProperty(Witness(2)))
    weak var composed: AnyObject?
    do {
      let property = composition.compose(a, b)
      composed = property
      observe(property)?.dispose()
    }
    #expect(composed == nil)
    // What follows a source would keep its value until the next.
    weak var value: Witness?
    do {
      let last = Witness(3)
      value = last
      a.value = last
      b.value = last
    }
    a.value = Witness(4)
    b.value = Witness(5)
    #expect(value == nil)
  }

  private func observe<P: PropertyProtocol>(_ property: P) -> (any Disposable)? {
    let (first, second) = (property.signal.observeValues { _ in }, property.producer.start())
    return CompositeDisposable([first, second])
  }

  // MARK: Bindings

  @Test("a binding keeps neither its source nor its target")
  func binding() {
    weak var source: Source?
    weak var target: Source?
    do {
      let (a, b) = (MutableProperty(Witness(1)), MutableProperty(Witness(2)))
      (source, target) = (a, b)
      b <~ a
      b <~ a.signal
      b <~ a.producer.map { $0 }
      a.value = Witness(3)
      #expect(b.value.number == 3)
    }
    #expect(source == nil && target == nil)
  }

  @Test("a link keeps neither side, and ends with either", arguments: [true, false])
  func link(leftGoesFirst: Bool) {
    var left: Source? = MutableProperty(Witness(1))
    var right: Source? = MutableProperty(Witness(2))
    weak let (weakLeft, weakRight) = (left, right)
    if let left, let right { left <~> right }
    left?.value = Witness(3)
    if leftGoesFirst { left = nil } else { right = nil }
    #expect((leftGoesFirst ? weakLeft : weakRight) == nil)
    #expect((leftGoesFirst ? weakRight : weakLeft)?.value.number == 3)
    (left, right) = (nil, nil)
    #expect(weakLeft == nil && weakRight == nil)
  }

  @Test("a validating property is released with its inner property and what it depends on")
  func validating() {
    weak var inner: Source?
    weak var other: Source?
    weak var first: AnyObject?
    weak var second: AnyObject?
    do {
      let (a, b) = (MutableProperty(Witness(1)), MutableProperty(Witness(2)))
      (inner, other) = (a, b)
      let one = ValidatingProperty<Witness, TestError>(a, with: b) { value, other in
        value.number < other.number ? .valid : .invalid(.one)
      }
      let two = ValidatingProperty<Witness, TestError>(Witness(0), with: one) { _, _ in .valid }
      (first, second) = (one, two)
      one.value = Witness(9)
      b.value = Witness(10)
      two.value = Witness(3)
      #expect(!one.result.value.isInvalid)
    }
    #expect(inner == nil && other == nil)
    #expect(first == nil && second == nil)
  }

  // MARK: Actions

  @Test("an action is released with its state, its properties and its executions")
  func action() {
    let scheduler = TestScheduler()
    weak var state: Source?
    weak var released: Action<Witness, Witness, TestError>?
    weak var input: Witness?
    weak var isExecuting: Property<Bool>?
    let ended = Counter()
    do {
      let source = MutableProperty(Witness(1))
      let action = Action<Witness, Witness, TestError>(
        state: source, enabledIf: { $0.number > 0 }
      ) { state, input in
        SignalProducer([state, input]).delay(1, on: scheduler)
      }
      (state, released, isExecuting) = (source, action, action.isExecuting)
      action.executions.flatMap(.merge) { $0.flatMapError { _ in .empty } }.observeValues { _ in }
      action.events.observeCompleted { ended.increment() }
      action.isEnabled.producer.startWithCompleted { ended.increment() }
      let witness = Witness(2)
      input = witness
      action.apply(witness).start()
      action.apply(witness).start()
    }
    // The execution keeps it.
    #expect(released != nil)
    scheduler.advance(by: .seconds(1))
    #expect(released == nil && state == nil && isExecuting == nil && input == nil)
    #expect(ended.value == 2)
  }

  @Test("the properties composed for an action are released with the last that is held")
  func actionProperties() {
    var isEnabled: Property<Bool>?
    weak var released: AnyObject?
    weak var state: AnyObject?
    do {
      let source = MutableProperty(true)
      let action = Action<Int, Int, Never>(enabledIf: source) { SignalProducer(value: $0) }
      (released, state, isEnabled) = (action, source, action.isEnabled.negate())
      action.isEnabled.signal.observeValues { _ in }
    }
    #expect(released == nil && state == nil)
    #expect(isEnabled?.value == false)
  }

  @Test("an action that is bound is kept by neither the source nor the binding")
  func boundAction() {
    let (signal, input) = Signal<Int, Never>.pipe()
    weak var released: AnyObject?
    do {
      let action = Action<Int, Int, Never> { SignalProducer(value: $0) }
      released = action
      action <~ signal
      input.send(value: 1)
    }
    #expect(released == nil)
    input.send(value: 2)
  }
}

extension CompositionRetentionTests.Composition {
  typealias Witness = CompositionRetentionTests.Witness

  fileprivate static let operators: [Self] = [
    .init("map") { a, _ in a.map { Witness($0.number) } },
    .init("map(value:)") { a, _ in a.map(value: 1) },
    .init("map(keyPath)") { a, _ in a.map(\.number) },
    .init("filter") { a, _ in a.filter(initial: Witness(0)) { $0.number > 0 } },
    .init("combinePrevious") { a, _ in a.combinePrevious(Witness(0)) },
    .init("skipRepeats") { a, _ in a.skipRepeats() },
    .init("skipRepeats(_:)") { a, _ in a.skipRepeats { $0 === $1 } },
    .init("uniqueValues") { a, _ in a.uniqueValues() },
    .init("negate") { a, _ in a.map { $0.number > 0 }.negate() },
    .init("settled") { a, b in a.combineLatest(with: b).map { $0.0 }.settled(after: a) },
  ]

  fileprivate static let several: [Self] = [
    .init("combineLatest") { a, b in a.combineLatest(with: b) },
    .init("combineLatest of three") { a, b in Property.combineLatest(a, b, a) },
    .init("combineLatest of many") { a, b in
      MutableProperty<Witness>.combineLatest([a, b, a], emptySentinel: [])
    },
    .init("zip") { a, b in a.zip(with: b) },
    .init("zip of many") { a, b in MutableProperty<Witness>.zip([a, b], emptySentinel: []) },
    .init("and, or") { a, b in
      a.map { $0.number > 0 }.and(b.map { $0.number > 0 }).or(a.map { $0.number > 1 })
    },
    .init("all") { a, b in Property<Bool>.all([a.map { $0.number > 0 }, b.map { $0.number > 0 }]) },
    .init("flatMap(.latest)") { a, _ in a.flatMap(.latest) { Property(value: $0) } },
    .init("flatMap(.latest), of mutable ones") { a, _ in
      a.flatMap(.latest) { MutableProperty($0) }
    },
    .init("flatMap(.merge)") { a, _ in a.flatMap(.merge) { MutableProperty($0) } },
    .init("flatMap(.concat)") { a, _ in a.flatMap(.concat) { MutableProperty($0) } },
    .init("flatten") { a, _ in a.map { Property(value: $0) }.flatten(.latest) },
  ]

  fileprivate static let others: [Self] = [
    .init("view") { a, _ in Property(a) },
    .init("capturing view", keepsSource: true) { a, _ in Property(capturing: a) },
    .init("initial, then a producer") { a, _ in
      Property(initial: Witness(0), then: a.producer.skip(first: 1))
    },
    .init("initial, then a signal") { a, _ in Property(initial: Witness(0), then: a.signal) },
    .init("optional initial, then values") { a, _ in
      Property<Witness?>(initial: nil, then: a.producer)
    },
    .init("a chain") { a, b in
      a.map { $0 }.combineLatest(with: b.skipRepeats()).map { $0.0 }.flatMap(.latest) {
        Property(value: $0)
      }.map { $0.number }
    },
  ]
}
