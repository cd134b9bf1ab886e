extension Lifetime {
  /// A signal that completes when the lifetime ends.
  public var ended: Signal<Never, Never> {
    Signal { observer, lifetime in
      lifetime += observeEnded { observer.sendCompleted() }
    }
  }
}
