import Reactive

/// A view as UI frameworks have them, with reactive members from outside.
class Label: ReactiveExtensionsProvider {
  var text: String?
  var isHidden = false
  let (lifetime, token) = Lifetime.make()
}

extension Reactive where Base: Label {
  var text: BindingTarget<String?> {
    return BindingTarget(lifetime: base.lifetime) { [weak base] in base?.text = $0 }
  }

  var isHidden: BindingTarget<Bool> {
    return BindingTarget(lifetime: base.lifetime, object: base, keyPath: \.isHidden)
  }
}
