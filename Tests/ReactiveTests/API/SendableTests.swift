import Foundation
import Testing

/// Which values may cross from one isolation to another, and that `Sendable` types don't hinder
/// code that isn't concurrent. See docs/decisions/0012 and 0083.
@Suite("Sendable", .ownThread)
struct SendableTests {
  /// Everything that is as `Sendable` as its values are, and the value it is sent with.
  private static let handles = [
    "Signal<V, Never>", "Signal<V, Never>.Observer", "Signal<V, Never>.Event",
    "SignalProducer<V, Never>", "Property<V>", "MutableProperty<V>",
    "ValidatingProperty<V, Never>", "Action<V, Int, Never>", "Action<Int, V, Never>",
    "BindingTarget<V>", "Bag<V>", "Atomic<V>", "Group<Int, V, Never>", "AsyncInput<V, Never>",
  ]

  /// A client that sends each handle to another actor, each in the line of its index from 1.
  private static func sending(handlesOf value: String) -> String {
    let functions = handles.enumerated().map { index, handle in
      "@MainActor func send\(index)(_ h: \(handle)) async { await Other<\(handle)>().take(h) }\n"
    }
    return functions.joined() + """
      import Reactive
      final class Mutable { var count = 0 }
      typealias V = \(value)
      actor Other<Handle> { func take(_ handle: Handle) {} }
      """
  }

  @Test("an object with values that aren't Sendable can't be sent")
  func rejected() throws {
    let diagnostics = try Compiler.diagnostics(
      of: Self.sending(handlesOf: "Mutable"), in: .swift6)
    for (index, handle) in Self.handles.enumerated() {
      let own = diagnostics.filter { $0.hasPrefix("\(index + 1):") }
      let isRefused = own.count == 1 && Compiler.says("risks causing data races", in: own[0])
      #expect(isRefused, "\(handle): \(own)")
    }
    #expect(diagnostics.count == Self.handles.count)
  }

  @Test("an object with Sendable values can be sent")
  func accepted() throws {
    #expect(try Compiler.diagnostics(of: Self.sending(handlesOf: "Int"), in: .swift6) == [])
  }

  @Test("values that go from scheduler to scheduler are asked to be Sendable")
  func hops() throws {
    let hops = [
      "observe(on: scheduler)", "delay(1, on: scheduler)", "debounce(1, on: scheduler)",
      "throttle(1, on: scheduler)", "throttle(while: Property(value: true), on: scheduler)",
      "collect(every: .seconds(1), on: scheduler)",
    ]
    let uses = hops.map { "_ = signal.\($0)\n" } + hops.map { "_ = signal.producer.\($0)\n" }
    let source = { (value: String) in
      "func use(_ signal: Signal<\(value), Never>, _ scheduler: TestScheduler) {\n" + uses.joined()
        + "}\nimport Reactive\nfinal class Mutable { var count = 0 }"
    }
    #expect(try Compiler.diagnostics(of: source("Int"), in: .swift6) == [])
    #expect(try Compiler.diagnostics(of: source("Mutable"), in: .swift5) == [])
    let diagnostics = try Compiler.diagnostics(of: source("Mutable"), in: .swift6)
    #expect(diagnostics.allSatisfy { $0.contains("warning: ") })
    #expect(diagnostics.allSatisfy { Compiler.says("type 'Mutable' does not conform", in: $0) })
    #expect(
      Set(diagnostics.map { $0.prefix { $0 != ":" } })
        == Set((2...uses.count + 1).map { "\($0)" }))
  }

  @Test("an action's input is required to be Sendable: its producer may go anywhere")
  func appliedInputs() throws {
    let source = { (value: String) in
      """
      func use(_ action: Action<\(value), Int, Never>, _ input: \(value)) {
        action.apply(input).start()
        action <~ SignalProducer(value: input)
      }
      import Reactive
      final class Mutable { var count = 0 }
      """
    }
    #expect(try Compiler.diagnostics(of: source("Int"), in: .swift6) == [])
    #expect(try Compiler.diagnostics(of: source("Mutable"), in: .swift5) == [])
    let diagnostics = try Compiler.diagnostics(of: source("Mutable"), in: .swift6)
    #expect(diagnostics.count == 1)
    #expect(diagnostics.allSatisfy { $0.hasPrefix("2:") && $0.contains("warning: ") })
  }

  @Test("a binding target of Sendable values may be sent, its action alone may not")
  func targetActions() throws {
    let source = { (sent: String, value: String) in
      """
      import Reactive
      final class Mutable { var count = 0 }
      actor Other<Handle> { func take(_ handle: Handle) {} }
      @MainActor func send(_ target: BindingTarget<\(value)>) async {
        await Other().take(\(sent))
      }
      """
    }
    #expect(try Compiler.diagnostics(of: source("target", "Int"), in: .swift6) == [])
    for sent in ["target", "target.action"] {
      let diagnostics = try Compiler.diagnostics(of: source(sent, "Mutable"), in: .swift6)
      let diagnostic = try #require(diagnostics.first)
      #expect(diagnostics.count == 1)
      #expect(Compiler.says("risks causing data races", in: diagnostic))
    }
  }

  @Test("a closure that events are delivered to on the main actor is isolated to it by its type")
  func mainActor() throws {
    let source = { (scheduler: String) in
      """
      import Reactive
      @MainActor final class Screen {
        var text = ""
        func show(_ texts: Signal<String, Never>, _ loads: SignalProducer<Int, any Error>) {
          texts.observeValues\(scheduler) { self.text = $0 }
          texts.observe\(scheduler) { if $0.isTerminating { self.text = "" } }
          texts.producer.startWithValues\(scheduler) { self.text = $0 }
          loads.startWithResult\(scheduler) { if case .failure = $0 { self.text = "failed" } }
          loads.startWithFailed\(scheduler) { self.text = "\\($0)" }
          loads.startWithCompleted\(scheduler) { self.text = "done" }
        }
      }
      """
    }
    #expect(try Compiler.diagnostics(of: source("(on: UIScheduler())"), in: .swift6) == [])
    let diagnostics = try Compiler.diagnostics(of: source(""), in: .swift6)
    let errors = diagnostics.filter { $0.contains(" error: ") }
    #expect(Set(errors.map { $0.prefix { $0 != ":" } }) == ["5", "6", "7", "8", "9", "10"])
  }

  /// Statements in a class on the main actor, or with a variable, and the diagnostics that a
  /// compiler must give.
  private static let races = [
    "texts.observeValues { self.text = $0 }",
    "texts.observe { _ in self.text = \"\" }",
    "texts.observe(Signal<String, Never>.Observer(value: { self.text = $0 }))",
    "texts.producer.startWithValues { self.text = $0 }",
    "texts.producer.startWithCompleted { self.text = \"\" }",
    "_ = texts.map { $0 + self.text }",
    "_ = texts.producer.filter { $0 == self.text }",
    "_ = texts.scan(\"\") { $0 + $1 + self.text }",
    "_ = texts.on(value: { self.text = $0 })",
    "_ = texts.flatMap(.latest) { SignalProducer<String, Never>(value: $0 + self.text) }",
    "_ = Action<String, String, Never> { SignalProducer(value: $0 + self.text) }",
    "_ = SignalProducer<String, Never> { input, _ in input.send(value: self.text) }",
    "_ = BindingTarget<String>(lifetime: lifetime) { self.text = $0 }",
    "lifetime.observeEnded { self.text = \"\" }",
    "_ = AnyDisposable { self.text = \"\" }",
    "texts.observeValues { _ in count += 1 }",
    "_ = texts.producer.map { _ in count += 1 }",
    "_ = texts.on(completed: { count = 0 })",
    "texts.observeValues { _ in self.mutable.count += 1 }",
    "_ = texts.map(function)",
    "_ = SignalProducer<Screen, Never>(value: self).map(\\.text)",
    "_ = MutableProperty(self).map(\\.text)",
    "_ = BindingTarget(lifetime: lifetime, object: self, keyPath: \\.text)",
  ]

  private static func racing(_ lines: [String]) -> String {
    lines.map {
      "@MainActor extension Screen { func run() { var count = 0; \($0); print(count) } }\n"
    }
    .enumerated().map { $1.replacing("run()", with: "run\($0)()") }.joined() + """
      import Reactive
      final class Mutable { var count = 0 }
      @MainActor final class Screen {
        let (texts, input) = Signal<String, Never>.pipe()
        let (lifetime, token) = Lifetime.make()
        let mutable = Mutable()
        var text = ""
        var function: (String) -> Int = { $0.count }
      }
      """
  }

  @Test("a race is an error in the Swift 6 language mode, and a warning at most in Swift 5's")
  func races() throws {
    let source = Self.racing(Self.races)
    let errors = try Compiler.diagnostics(of: source, in: .swift6)
      .filter { $0.contains(" error: ") }
    for (index, race) in Self.races.enumerated() {
      #expect(errors.contains { $0.hasPrefix("\(index + 1):") }, "compiles: \(race)")
    }
    let lenient = try Compiler.diagnostics(of: source, in: .swift5)
    #expect(lenient.filter { $0.contains(" error: ") } == [])
  }

  @Test("a closure that uses no other isolated state may be written on the main actor")
  func harmless() throws {
    let source = Self.racing([
      "texts.observeValues { print($0) }", "_ = texts.map(\\.count)", "_ = texts.map { $0.count }",
      "texts.producer.filter { !$0.isEmpty }.startWithValues { print($0) }",
      "texts.observeValues(on: UIScheduler()) { self.text = $0 }",
      "BindingTarget(on: UIScheduler(), lifetime: lifetime) { self.text = $0 } <~ texts",
      "BindingTarget(on: UIScheduler(), lifetime: lifetime, object: self, keyPath: \\.text) <~ texts",
      "_ = BindingTarget(lifetime: lifetime, object: mutable, keyPath: \\.count)",
      "_ = MutableProperty(mutable).map(\\.count)",
      "texts.observeValues { [input] in if $0 == \"again\" { input.send(value: \"\") } }",
    ])
    let diagnostics = try Compiler.diagnostics(of: source, in: .swift6)
    #expect(diagnostics.filter { !$0.contains("'count' was never mutated") } == [])
  }

  @Test("an operator that takes closures has a counterpart for the Swift 5 language mode")
  func counterparts() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Sources/Reactive").standardizedFileURL
    let files = try #require(FileManager.default.enumerator(atPath: sources.path))
      .compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }
    var (strict, lenient) = (0, 0)
    for file in files {
      let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
      strict += text.components(separatedBy: "@available(swift 6)").count - 1
      lenient += text.components(separatedBy: "@available(swift, obsoleted: 6)").count - 1
    }
    // Otherwise scripts/generate-reactive-swift5 is to be run.
    #expect(strict > 100)
    #expect(strict == lenient)
  }

  private static func operators(where clause: String) -> String {
    """
    extension SignalProducer\(clause) {
      func restarted() -> SignalProducer<Value, Error> {
        SignalProducer { observer, lifetime in lifetime += self.start(observer) }
      }
    }
    extension Signal\(clause) {
      func passed() -> Signal<Value, Error> {
        Signal { observer, lifetime in lifetime += self.observe { observer.send($0) } }
      }
    }
    import Reactive
    """
  }

  @Test("operators of one's own, over any values, compile in the Swift 5 language mode")
  func ownOperators() throws {
    let source = Self.operators(where: "")
    #expect(try Compiler.diagnostics(of: source, in: .swift5) == [])
    let diagnostics = try Compiler.diagnostics(of: source, in: .swift6)
    for line in [3, 8] {
      #expect(diagnostics.contains { $0.hasPrefix("\(line): error: ") })
    }
  }

  @Test(
    "operators of one's own, over values that are Sendable, compile",
    arguments: Compiler.LanguageMode.allCases)
  func ownSendableOperators(_ mode: Compiler.LanguageMode) throws {
    let source = Self.operators(where: " where Value: Sendable")
    #expect(try Compiler.diagnostics(of: source, in: mode) == [])
  }

  @Test(
    "schedulers take any values, and Swift 6 warns of those sent",
    arguments: Compiler.LanguageMode.allCases)
  func sentValues(_ mode: Compiler.LanguageMode) throws {
    let source = """
      import Reactive
      final class Mutable { var count = 0 }
      extension SignalProducer {
        func later(on scheduler: any DateScheduler) -> SignalProducer<Value, Error> {
          observe(on: scheduler).delay(1, on: scheduler).start(on: scheduler)
        }
      }
      func bind(_ signal: Signal<Mutable, Never>, to property: MutableProperty<Mutable>) {
        property <~ signal.observe(on: UIScheduler())
      }
      """
    let diagnostics = try Compiler.diagnostics(of: source, in: mode)
    #expect(diagnostics.filter { !$0.contains("warning: ") } == [])
    #expect(diagnostics.isEmpty == (mode == .swift5))
  }

  @Test("values that aren't Sendable are at home in one isolation")
  func oneIsolation() throws {
    let source = """
      import Reactive
      final class Mutable { var count = 0 }
      @MainActor final class Screen {
        let (output, input) = Signal<Mutable, Never>.pipe()
        let shown = MutableProperty(Mutable())
        func run() {
          output.map { $0.count }.skipRepeats().observeValues { print($0) }
          shown <~ output.merge(with: .empty)
          Signal.merge(output, output).combineLatest(with: output)
            .observeValues { $0.count += $1.count }
          SignalProducer.zip(shown.producer, output.producer)
            .startWithValues { print($0.count, $1) }
          input.send(value: Mutable())
        }
      }
      """
    #expect(try Compiler.diagnostics(of: source, in: .swift6) == [])
  }

  @Test(
    "static operators find out what they are of from their arguments",
    arguments: Compiler.LanguageMode.allCases)
  func statics(_ mode: Compiler.LanguageMode) throws {
    let source = """
      import Reactive
      final class Mutable { var count = 0 }
      enum Failure: Error { case one }
      func signals(_ a: Signal<Int, Failure>, _ b: Signal<Mutable, Failure>) {
        _ = Signal.merge(a, a.map { $0 + 1 }, a).map { $0 * 2 }
        _ = Signal.merge([b, b]).map { $0.count }
        _ = Signal.combineLatest(a, b).map { $0 + $1.count }.map { "\\($0)" }
        _ = Signal.combineLatest(a, a, b, a).map { $0 + $1 + $2.count + $3 }
        _ = Signal.zip([a, a]).map { $0.reduce(0, +) }
        _ = a.merge(with: .empty).zip(with: b).map { $0 + $1.count }.combineLatest(with: a)
      }
      func producers(_ a: SignalProducer<Int, Failure>, _ b: SignalProducer<Mutable, Failure>) {
        _ = SignalProducer.merge(a, a).map { $0 * 2 }
        _ = SignalProducer.merge([a, .empty, SignalProducer(value: 1)])
        _ = SignalProducer.combineLatest(b, a).map { $0.count + $1 }
        _ = SignalProducer.zip(a, b, a).map { $0 + $1.count + $2 }
        _ = a.merge(with: .empty).zip(with: b).combineLatest(with: a).map { $0.0 + $0.1.count + $1 }
        _ = [a, a].reduce(SignalProducer<Int, Failure>.empty) { $0.merge(with: $1) }
        _ = a.flatMap(.latest) { n in SignalProducer.combineLatest(a, a).map { $0 + $1 + n } }
      }
      func properties(_ a: Property<Int>, _ b: MutableProperty<Mutable>) {
        _ = Property.combineLatest(a, b).map { $0 + $1.count }
        _ = Property.combineLatest(a.map { $0 * 2 }, a, b).map { $0 + $1 + $2.count }
        _ = MutableProperty.zip(b, a).map { $0.count + $1 }
        _ = a.combineLatest(with: b).map { $0 + $1.count }.zip(with: b).map { $0 + $1.count }
      }
      """
    #expect(try Compiler.diagnostics(of: source, in: mode) == [])
  }

  @Test(
    "long chains are checked in reasonable time", arguments: Compiler.LanguageMode.allCases)
  func longChains(_ mode: Compiler.LanguageMode) throws {
    let source = """
      import Reactive
      func chain(_ numbers: SignalProducer<Int, Never>) {
        numbers.map { $0 + 1 }.map { $0 * 2 }.map { $0 - 3 }.filter { $0 % 2 == 0 }
          .reduce(0) { $0 + $1 }.startWithValues { print($0) }
        numbers.combineLatest(with: numbers).map { $0 + $1 }.zip(with: numbers).map { $0 * $1 }
          .merge(with: numbers).map { "\\($0)" }.filter { !$0.isEmpty }.collect()
          .startWithValues { print($0.count) }
      }
      """
    #expect(try Compiler.diagnostics(of: source, in: mode) == [])
  }
}
