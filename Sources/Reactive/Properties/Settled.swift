extension PropertyProtocol {
  /// The value, delivered once per change of `source`, however many paths lead from one to the other.
  ///
  /// A property composed of several that derive from the same source is updated once for each of
  /// them: in between, it mixes new and old values.
  ///
  /// ```swift
  /// let net = order.map { $0.net }
  /// let tax = order.map { $0.tax }
  /// let gross = net.combineLatest(with: tax).map { $0 + $1 }.settled(after: order)
  /// ```
  ///
  /// `gross` sends the sum after both have been updated. A change that `source` did not cause is
  /// delivered at once. Retains neither this property nor `source`.
  ///
  /// - Parameter source: What the parts have in common. It must have been there before they were
  ///   composed, as it has if they are made of it.
  /// - Returns: A property that changes once for each change of `source`.
  public func settled<Source: PropertyProtocol>(after source: Source) -> Property<Value> {
    let values = producer.core.lifted { $0.settled(after: source.signal) }
    return Property(unsafeProducer: SignalProducer(core: values))
  }
}

extension Signal where Error == Never {
  fileprivate func settled<Other>(after source: Signal<Other, Never>) -> Signal<Value, Never> {
    let gate = source.core.heldGate?.takeUnretainedValue()
    // Whether a change of the source is under way is only known to the thread that comes with it.
    let marked = through(Map { (value: $0, mayChange: gate?.isHeldHere == true) })
    return .joining { junction in
      var waiting: Value?
      var hasBegun = false
      func settle() {
        if let value = waiting.take() { junction.emit(value) }
      }
      junction.observe(
        marked,
        value: { value, mayChange in
          guard mayChange, hasBegun, let gate else {
            hasBegun = true
            waiting = nil
            return junction.emit(value)
          }
          let isFirst = waiting == nil
          waiting = value
          // If the source has notified its last observer already, this delivers the waiting value.
          if isFirst { gate.submit { junction.root.inTurn(()) { settle() } } }
        },
        end: { termination in
          settle()
          junction.finish(termination)
        })
      // Observes after all that this is composed of, and so is notified after them.
      junction.observe(source, value: { _ in settle() }, end: { _ in })
    }
  }
}
