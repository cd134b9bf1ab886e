final class Collect<Value, Error: Swift.Error>: ValueStage<Value, [Value], Error> {
  enum Rule {
    /// Asked with the value added.
    case after(([Value]) -> Bool)
    /// Asked before the value is added.
    case before(([Value], Value) -> Bool)
  }

  private let rule: Rule
  private var values: [Value] = []
  private var hasCollected = false

  init(_ rule: Rule) {
    self.rule = rule
  }

  override func receive(_ value: Value) {
    hasCollected = true
    switch rule {
    case .after(let shouldEmit):
      values.append(value)
      if shouldEmit(values) { flush() }
    case .before(let shouldEmit):
      if shouldEmit(values, value) { flush() }
      values.append(value)
    }
  }

  private func flush() {
    let collected = values
    values = []
    emit(collected)
  }

  override func terminate(_ termination: Termination<Error>) {
    // What never had a value is one empty collection.
    if case .completed = termination, !values.isEmpty || !hasCollected { flush() }
    finish(termination)
  }

  static func count(_ count: Int) -> Rule {
    precondition(count > 0, "collect(count:) needs a positive number of values, got \(count)")
    return .after { $0.count == count }
  }
}

extension Signal {
  /// Collects all values into an array, emitted at completion.
  public func collect() -> Signal<[Value], Error> {
    through(Collect(.after { _ in false }))
  }

  /// Collects every `count` values into an array; what remains is emitted at completion.
  public func collect(count: Int) -> Signal<[Value], Error> {
    let rule = Collect<Value, Error>.count(count)
    return through(Collect(rule))
  }

  /// Collects values into an array until `shouldEmit`, asked with the new value in it, says so.
  @available(swift 6)
  public func collect(
    _ shouldEmit: @escaping @Sendable (_ values: [Value]) -> Bool
  ) -> Signal<[Value], Error> {
    through(Collect(.after(shouldEmit)))
  }

  /// Collects values into an array until `shouldEmit`, asked before the new value is in it, says
  /// so; that value begins the next.
  @available(swift 6)
  public func collect(
    _ shouldEmit: @escaping @Sendable (_ collected: [Value], _ latest: Value) -> Bool
  ) -> Signal<[Value], Error> {
    through(Collect(.before(shouldEmit)))
  }
}
