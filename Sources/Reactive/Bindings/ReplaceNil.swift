extension Signal where Value: OptionalProtocol {
  /// Replaces nil with `replacement`.
  public func replaceNil(with replacement: Value.Wrapped) -> Signal<Value.Wrapped, Error> {
    let replacement = UncheckedTransfer(replacement)
    return map { $0.optional ?? replacement.value }
  }
}

extension SignalProducer where Value: OptionalProtocol {
  /// Replaces nil with `replacement`.
  public func replaceNil(
    with replacement: Value.Wrapped
  ) -> SignalProducer<Value.Wrapped, Error> {
    let replacement = UncheckedTransfer(replacement)
    return map { $0.optional ?? replacement.value }
  }
}

extension BindingTargetProvider {
  /// The target, for sources that may send nil: it takes `replacement` then.
  public func replacingNil(with replacement: Value) -> BindingTarget<Value?> {
    let target = bindingTarget
    let action = target.take
    let replacement = UncheckedTransfer(replacement)
    return BindingTarget(lifetime: target.lifetime) { action($0 ?? replacement.value) }
  }
}
