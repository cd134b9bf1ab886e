import Reactive
import Testing

@Suite("Bindings")
struct BindingTests {
  private final class Label: @unchecked Sendable {
    // Used by one test, on one thread.
    var text = ""
    let lifetime: Lifetime
    private let token: Lifetime.Token
    init() { (lifetime, token) = Lifetime.make() }
  }

  @Test("a property takes the values of a property, a signal and a producer")
  func properties() {
    let target = MutableProperty(0)
    let source = MutableProperty(1)
    let (signal, input) = Signal<Int, Never>.pipe()
    let binding = target <~ source
    #expect(target.value == 1)
    source.value = 2
    #expect(target.value == 2)
    binding?.dispose()
    source.value = 3
    #expect(target.value == 2)
    target <~ signal
    input.send(value: 4)
    #expect(target.value == 4)
    target <~ SignalProducer([5, 6])
    #expect(target.value == 6)
  }

  @Test("an optional target takes bare values, and nil as a target takes nothing")
  func optionals() {
    let target = MutableProperty<Int?>(nil)
    target <~ MutableProperty(1)
    #expect(target.value == 1)
    let nobody: MutableProperty<Int>? = nil
    nobody <~ MutableProperty(1)
    let somebody: MutableProperty<Int>? = MutableProperty(0)
    somebody <~ MutableProperty(1)
    #expect(somebody?.value == 1)
  }

  @Test("a binding ends with its target, which it does not keep, and leaves its source")
  func lifetime() {
    let ended = Counter()
    let (output, input) = Signal<Int, Never>.pipe()
    let source = SignalProducer<Int, Never> { observer, lifetime in
      lifetime += output.observe(observer)
      lifetime.observeEnded { ended.increment() }
    }
    var target: MutableProperty<Int>? = MutableProperty(0)
    weak let released = target
    if let target { target <~ source }
    input.send(value: 1)
    #expect(released?.value == 1 && ended.value == 0)
    target = nil
    #expect(released == nil && ended.value == 1)
  }

  @Test("a target sets a property of an object, on a scheduler, while it lives")
  func keyPath() {
    let scheduler = TestScheduler()
    var label: Label? = Label()
    let source = MutableProperty("a")
    if let label {
      let target = BindingTarget(
        on: scheduler, lifetime: label.lifetime, object: label, keyPath: \.text)
      target <~ source
      #expect(label.text == "")
      scheduler.advance()
      #expect(label.text == "a")
    }
    source.value = "b"
    weak let released = label
    label = nil
    #expect(released == nil)
    scheduler.advance()
  }

  @Test("an observer takes the values of a source")
  func observer() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<Int>()
    signal.observeValues { log.append($0) }
    input <~ SignalProducer([1, 2])
    #expect(log.entries == [1, 2])
  }

  @Test("two properties bound to each other agree, without end")
  func bothWays() {
    let first = MutableProperty(1)
    let second = MutableProperty(2)
    first <~ second.producer.skipRepeats().filter { $0 != first.value }
    second <~ first.producer.skipRepeats().filter { $0 != second.value }
    #expect(first.value == 2 && second.value == 2)
    second.value = 3
    #expect(first.value == 3)
    first.value = 4
    #expect(second.value == 4)
  }

  @Test("reactive members hang on instances and types")
  func reactive() {
    let label = ExtendedLabel()
    label.reactive.text <~ SignalProducer(value: "bound")
    #expect(label.text == "bound")
    #expect(ExtendedLabel.reactive.kind == "label")
  }
}

private final class ExtendedLabel: ReactiveExtensionsProvider {
  nonisolated(unsafe) var text = ""
  let lifetime: Lifetime
  private let token: Lifetime.Token
  init() { (lifetime, token) = Lifetime.make() }
}

extension Reactive where Base: ExtendedLabel {
  fileprivate var text: BindingTarget<String> {
    BindingTarget(lifetime: base.lifetime, object: base, keyPath: \.text)
  }
  fileprivate static var kind: String { "label" }
}
