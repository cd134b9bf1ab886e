extension BindingTargetProvider {
  /// The target, for sources that may send nil: it takes `replacement` then.
  public func replacingNil(with replacement: Value) -> BindingTarget<Value?> {
    let target = bindingTarget
    let action = target.take
    let replacement = UncheckedTransfer(replacement)
    return BindingTarget(lifetime: target.lifetime) { action($0 ?? replacement.value) }
  }
}
