extension Signal where Value: OptionalProtocol {
  /// Replaces nil with `replacement`.
  public func replaceNil(with replacement: Value.Wrapped) -> Signal<Value.Wrapped, Error> {
    let replacement = UncheckedTransfer(replacement)
    return map { $0.optional ?? replacement.value }
  }
}
