import Reactive
import Testing

@Suite("ValidatingProperty", .ownThread)
struct ValidatingPropertyTests {
  private struct Refusal: Error, Equatable {}
  private typealias Validated = ValidatingProperty<Int, Refusal>

  private static let judge: @Sendable (Int) -> Validated.Decision = { value in
    switch value {
    case ..<0: .invalid(Refusal())
    case 100...: .coerced(99, Refusal())
    default: .valid
    }
  }

  private func text(_ result: Validated.Result) -> String {
    switch result {
    case .valid(let value): "valid \(value)"
    case .coerced(let replacement, let proposed, _): "coerced \(proposed) to \(replacement)"
    case .invalid(let value, _): "invalid \(value)"
    }
  }

  @Test("a validating property takes valid, replaces coercible and leaves out invalid values")
  func judging() {
    let inner = MutableProperty(1)
    let property = Validated(inner, Self.judge)
    let values = Log<Int>()
    property.signal.observeValues { values.append($0) }
    #expect(text(property.result.value) == "valid 1")
    property.value = 5
    #expect(text(property.result.value) == "valid 5")
    property.value = -1
    #expect(text(property.result.value) == "invalid -1")
    #expect(property.result.value.isInvalid && property.result.value.error == Refusal())
    #expect(property.value == 5 && inner.value == 5)
    property.value = 500
    #expect(text(property.result.value) == "coerced 500 to 99")
    #expect(property.value == 99 && values.entries == [5, 99])
  }

  @Test("a validating property judges values set on the inner property, and leaves them there")
  func innerChanges() {
    let inner = MutableProperty(1)
    let property = Validated(inner, Self.judge)
    inner.value = -5
    #expect(text(property.result.value) == "invalid -5")
    #expect(property.value == -5)
    inner.value = 7
    #expect(text(property.result.value) == "valid 7")
  }

  /// A value set, and where, during a callback of the inner property: it is delivered afterwards.
  enum Setting: Sendable { case inner(Int), outer(Int) }

  @Test(
    "the result is of the last value set, wherever and whenever it is delivered",
    arguments: [
      ([Setting.inner(7), .outer(500)], "coerced 500 to 99", 99),
      ([.inner(7), .outer(8)], "valid 8", 8),
      ([.inner(7), .outer(-1)], "invalid -1", 7),
      ([.outer(500), .inner(7)], "valid 7", 7),
      ([.outer(-1), .inner(-2)], "invalid -2", -2),
      ([.inner(7), .outer(500), .inner(-3), .outer(-4), .inner(600)], "coerced 600 to 99", 600),
    ])
  func order(_ settings: [Setting], _ result: String, _ value: Int) {
    let inner = MutableProperty(1)
    let property = Validated(inner, Self.judge)
    inner.signal.take(first: 1).observeValues { _ in
      for setting in settings {
        switch setting {
        case .inner(let value): inner.value = value
        case .outer(let value): property.value = value
        }
      }
    }
    inner.value = 2
    #expect(text(property.result.value) == result)
    #expect(property.value == value)
  }

  @Test("the result is of the value that is there when several threads have set it")
  func setting() {
    for round in 0..<500 {
      let inner = MutableProperty(1)
      let property = Validated(inner, Self.judge)
      race({ property.value = 500 }, { inner.value = round }, { property.value = 3 })
      #expect(property.result.value.value ?? -1 == min(inner.value, 99))
    }
  }

  @Test("a validating property sends each result once")
  func results() {
    let property = Validated(1, Self.judge)
    let log = Log<String>()
    property.result.producer.startWithValues { log.append(text($0)) }
    property.value = 2
    property.value = 200
    #expect(log.entries == ["valid 1", "valid 2", "coerced 200 to 99"])
  }

  @Test("a validating property is validated again when its dependency changes")
  func dependency() {
    let limit = MutableProperty(10)
    let property = ValidatingProperty<Int, Refusal>(1, with: limit) { value, limit in
      value <= limit ? .valid : .invalid(Refusal())
    }
    property.value = 20
    #expect(property.result.value.isInvalid && property.value == 1)
    limit.value = 30
    #expect(!property.result.value.isInvalid && property.value == 20)
  }

  @Test(
    "a validating property is validated again when its dependency is set, even to an invalid value")
  func validatedDependency() {
    let first = Validated(1, Self.judge)
    let second = ValidatingProperty<Int, Refusal>(1, with: first) { value, other in
      value == other ? .valid : .invalid(Refusal())
    }
    second.value = -3
    #expect(second.result.value.isInvalid)
    first.value = -3
    #expect(first.result.value.isInvalid)
    #expect(!second.result.value.isInvalid && second.value == -3)
  }

  @Test("a validating property is released although it observes another")
  func release() {
    let other = MutableProperty(1)
    var property: ValidatingProperty<Int, Refusal>? = .init(1, with: other) { _, _ in .valid }
    weak let released = property
    property = nil
    #expect(released == nil)
    other.value = 2
  }
}
