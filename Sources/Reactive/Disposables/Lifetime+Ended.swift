extension Lifetime {
  /// Completes at the end.
  public var ended: Signal<Never, Never> {
    Signal { observer, lifetime in
      lifetime += observeEnded { observer.sendCompleted() }
    }
  }
}
