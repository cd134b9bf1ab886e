infix operator <~> : BindingPrecedence

extension MutableProperty {
  /// Links two properties, so that each follows the changes of the other. The left one gets the
  /// right one's value now.
  ///
  /// The link retains neither; it ends when one of them is released.
  ///
  /// - Returns: A disposable that ends the link.
  @discardableResult
  public static func <~> (
    left: MutableProperty<Value>, right: MutableProperty<Value>
  ) -> any Disposable {
    left.link(to: right, reading: { $0 }, writing: { $0 })
  }

  /// Links this property to one that represents the same value differently. This one gets the
  /// other's value now.
  ///
  /// A change is translated once and not back again: after a user has typed `" 7"` here, the other
  /// property is 7 and this one stays `" 7"`. If both are changed at the same time, one of the
  /// changes wins on both sides.
  ///
  /// - Parameters:
  ///   - other: The property with the other representation.
  ///   - read: Makes the value for this property from the other's.
  ///   - write: Makes the value for the other property from this one's.
  /// - Returns: A disposable that ends the link.
  @available(swift 6)
  @discardableResult
  public func link<Other>(
    to other: MutableProperty<Other>, reading read: @escaping @Sendable (Other) -> Value,
    writing write: @escaping @Sendable (Value) -> Other
  ) -> any Disposable {
    let link = Link(self, other, read: read, write: write)
    let parts = CompositeDisposable()
    parts += signal.observeValues { _ in link.leftDidChange() }
    parts += other.signal.observeValues { _ in link.rightDidChange() }
    parts += { link.end() }
    link.rightDidChange()
    parts += lifetime.observeEnded { parts.dispose() }
    parts += other.lifetime.observeEnded { parts.dispose() }
    return parts
  }
}

/// Keeps two properties equal.
///
/// A change notification only triggers a copy; the copied value is the present one. The gate
/// serialises all copies, so that the two end up equal, whichever threads set them. // Sendable:
/// its state is used only inside the gate, the properties are safe to use from any thread.
private final class Link<Left, Right>: @unchecked Sendable {
  private weak let left: MutableProperty<Left>?
  private weak let right: MutableProperty<Right>?
  private let read: (Right) -> Left
  private let write: (Left) -> Right

  private let gate = Gate()
  // Changes that were made here and are not delivered yet.
  private var ownOfLeft = 0
  private var ownOfRight = 0
  private var hasEnded = false

  init(
    _ left: MutableProperty<Left>, _ right: MutableProperty<Right>,
    read: @escaping (Right) -> Left, write: @escaping (Left) -> Right
  ) {
    self.left = left
    self.right = right
    self.read = read
    self.write = write
  }

  func leftDidChange() {
    gate.submit { [self] in
      guard ownOfLeft == 0 else {
        ownOfLeft -= 1
        return
      }
      guard !hasEnded, let left, let right else { return }
      ownOfRight += 1
      right.value = write(left.value)
    }
  }

  func rightDidChange() {
    gate.submit { [self] in
      guard ownOfRight == 0 else {
        ownOfRight -= 1
        return
      }
      guard !hasEnded, let left, let right else { return }
      ownOfLeft += 1
      left.value = read(right.value)
    }
  }

  func end() {
    gate.submit { self.hasEnded = true }
  }
}
