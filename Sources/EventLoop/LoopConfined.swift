/// Carries a value that is used on one loop only through closures that must be `Sendable`.
package struct LoopConfined<Value>: @unchecked Sendable {
  // Sendable because `value` may be read on the loop only, which debug builds check.
  private let confined: Value
  private let loop: EpollLoop

  /// Confines a value to a loop; may be called on any thread that gives the value away.
  package init(_ value: Value, to loop: EpollLoop) {
    confined = value
    self.loop = loop
  }

  /// The value. On the loop only.
  package var value: Value {
    assert(loop.isCurrent, "a value that is confined to a loop was used on another thread")
    return confined
  }
}
