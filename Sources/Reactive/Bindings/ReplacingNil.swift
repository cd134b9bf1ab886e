extension BindingTargetProvider {
  /// The target, for sources that may send nil, which is replaced with `replacement`.
  public func replacingNil(with replacement: Value) -> BindingTarget<Value?> {
    let target = bindingTarget
    let action = target.take
    let replacement = UncheckedTransfer(replacement)
    return BindingTarget(lifetime: target.lifetime) { action($0 ?? replacement.value) }
  }
}
