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
  /// Collects all values into an array, which is sent at completion.
  ///
  /// Without a value, the array is empty. A failure or an interruption is passed on, and drops what
  /// has been collected. The number of values that are kept is not limited.
  ///
  /// - Returns: A signal that sends one array and completes.
  public func collect() -> Signal<[Value], Error> {
    through(Collect(.after { _ in false }))
  }

  /// Collects every `count` values into an array.
  ///
  /// At completion, the remaining values, fewer than `count`, are sent; without any value, an empty
  /// array. A failure or an interruption is passed on, and drops the collected values.
  ///
  /// - Parameter count: The number of values in an array; traps if it isn't positive.
  /// - Returns: A signal that sends arrays of `count` values, and the remaining values.
  public func collect(count: Int) -> Signal<[Value], Error> {
    let rule = Collect<Value, Error>.count(count)
    return through(Collect(rule))
  }

  /// Collects values into an array until `shouldEmit` returns true for the array with the new
  /// value.
  ///
  /// The remaining values are sent at completion; without any value, an empty array. A failure or
  /// an interruption is passed on, and drops the collected values.
  ///
  /// ```swift
  /// numbers.collect { $0.reduce(0, +) == 8 }  // 1, 3, 4, 7, 1 become [1, 3, 4], [7, 1]
  /// ```
  ///
  /// - Parameter shouldEmit: Called after every value with the collected values, including that
  ///   value, on the thread that sends the value, one call at a time. If it returns true, the array
  ///   is sent and the next is begun.
  /// - Returns: A signal that sends the arrays.
  @available(swift 6)
  public func collect(
    _ shouldEmit: @escaping @Sendable (_ values: [Value]) -> Bool
  ) -> Signal<[Value], Error> {
    through(Collect(.after(shouldEmit)))
  }

  /// Collects values into an array until `shouldEmit` returns true for the array and the new value,
  /// which is not in it yet; that value begins the next array.
  ///
  /// The remaining values are sent at completion; without any value, an empty array. A failure or
  /// an interruption is passed on, and drops the collected values.
  ///
  /// ```swift
  /// numbers.collect { _, latest in latest == 7 }  // 1, 1, 7, 7 become [1, 1], [7], [7]
  /// ```
  ///
  /// - Parameter shouldEmit: Called before every value with the collected values and that value, on
  ///   the thread that sends the value, one call at a time. If it returns true, the array is sent,
  ///   and the value is the first of the next.
  /// - Returns: A signal that sends the arrays.
  @available(swift 6)
  public func collect(
    _ shouldEmit: @escaping @Sendable (_ collected: [Value], _ latest: Value) -> Bool
  ) -> Signal<[Value], Error> {
    through(Collect(.before(shouldEmit)))
  }
}
