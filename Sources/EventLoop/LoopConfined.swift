/// Carries a value that is not `Sendable`, and that is used on one loop only, through `Sendable`
/// closures.
package struct LoopConfined<Value>: @unchecked Sendable {
  // Sendable because `value` may be read on the loop only, which debug builds check.
  private let confined: Value
  private let loop: EpollLoop

  /// Confines a value to a loop. May be called on any thread that doesn't use the value afterwards.
  package init(_ value: Value, to loop: EpollLoop) {
    confined = value
    self.loop = loop
  }

  /// The value. Only on the loop.
  package var value: Value {
    assert(loop.isCurrent, "a value that is confined to a loop was used on another thread")
    return confined
  }
}
