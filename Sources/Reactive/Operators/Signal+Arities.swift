// Table: written by scripts/generate-reactive-arities.

extension Signal {
  /// Emits the latest values of three signals whenever one sends.
  public static func combineLatest<B, C>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>
  ) -> Signal<(Value, B, C), Error> {
    Signal<(Value, B, C), Error>.combiningLatest(a, b, c)
  }

  /// Emits the latest values of four signals whenever one sends.
  public static func combineLatest<B, C, D>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>
  ) -> Signal<(Value, B, C, D), Error> {
    Signal<(Value, B, C, D), Error>.combiningLatest(a, b, c, d)
  }

  /// Emits the latest values of five signals whenever one sends.
  public static func combineLatest<B, C, D, E>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>
  ) -> Signal<(Value, B, C, D, E), Error> {
    Signal<(Value, B, C, D, E), Error>.combiningLatest(a, b, c, d, e)
  }

  /// Emits the latest values of six signals whenever one sends.
  public static func combineLatest<B, C, D, E, F>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>
  ) -> Signal<(Value, B, C, D, E, F), Error> {
    Signal<(Value, B, C, D, E, F), Error>.combiningLatest(a, b, c, d, e, f)
  }

  /// Emits the latest values of seven signals whenever one sends.
  public static func combineLatest<B, C, D, E, F, G>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>
  ) -> Signal<(Value, B, C, D, E, F, G), Error> {
    Signal<(Value, B, C, D, E, F, G), Error>.combiningLatest(a, b, c, d, e, f, g)
  }

  /// Emits the latest values of eight signals whenever one sends.
  public static func combineLatest<B, C, D, E, F, G, H>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>,
    _ h: Signal<H, Error>
  ) -> Signal<(Value, B, C, D, E, F, G, H), Error> {
    Signal<(Value, B, C, D, E, F, G, H), Error>.combiningLatest(a, b, c, d, e, f, g, h)
  }

  /// Emits the latest values of nine signals whenever one sends.
  public static func combineLatest<B, C, D, E, F, G, H, I>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>,
    _ h: Signal<H, Error>, _ i: Signal<I, Error>
  ) -> Signal<(Value, B, C, D, E, F, G, H, I), Error> {
    Signal<(Value, B, C, D, E, F, G, H, I), Error>.combiningLatest(a, b, c, d, e, f, g, h, i)
  }

  /// Emits the latest values of ten signals whenever one sends.
  public static func combineLatest<B, C, D, E, F, G, H, I, J>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>,
    _ h: Signal<H, Error>, _ i: Signal<I, Error>, _ j: Signal<J, Error>
  ) -> Signal<(Value, B, C, D, E, F, G, H, I, J), Error> {
    Signal<(Value, B, C, D, E, F, G, H, I, J), Error>.combiningLatest(a, b, c, d, e, f, g, h, i, j)
  }

  /// Emits the first values of three signals, their second values, and so on.
  public static func zip<B, C>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>
  ) -> Signal<(Value, B, C), Error> {
    Signal<(Value, B, C), Error>.zipping(a, b, c)
  }

  /// Emits the first values of four signals, their second values, and so on.
  public static func zip<B, C, D>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>
  ) -> Signal<(Value, B, C, D), Error> {
    Signal<(Value, B, C, D), Error>.zipping(a, b, c, d)
  }

  /// Emits the first values of five signals, their second values, and so on.
  public static func zip<B, C, D, E>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>
  ) -> Signal<(Value, B, C, D, E), Error> {
    Signal<(Value, B, C, D, E), Error>.zipping(a, b, c, d, e)
  }

  /// Emits the first values of six signals, their second values, and so on.
  public static func zip<B, C, D, E, F>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>
  ) -> Signal<(Value, B, C, D, E, F), Error> {
    Signal<(Value, B, C, D, E, F), Error>.zipping(a, b, c, d, e, f)
  }

  /// Emits the first values of seven signals, their second values, and so on.
  public static func zip<B, C, D, E, F, G>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>
  ) -> Signal<(Value, B, C, D, E, F, G), Error> {
    Signal<(Value, B, C, D, E, F, G), Error>.zipping(a, b, c, d, e, f, g)
  }

  /// Emits the first values of eight signals, their second values, and so on.
  public static func zip<B, C, D, E, F, G, H>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>,
    _ h: Signal<H, Error>
  ) -> Signal<(Value, B, C, D, E, F, G, H), Error> {
    Signal<(Value, B, C, D, E, F, G, H), Error>.zipping(a, b, c, d, e, f, g, h)
  }

  /// Emits the first values of nine signals, their second values, and so on.
  public static func zip<B, C, D, E, F, G, H, I>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>,
    _ h: Signal<H, Error>, _ i: Signal<I, Error>
  ) -> Signal<(Value, B, C, D, E, F, G, H, I), Error> {
    Signal<(Value, B, C, D, E, F, G, H, I), Error>.zipping(a, b, c, d, e, f, g, h, i)
  }

  /// Emits the first values of ten signals, their second values, and so on.
  public static func zip<B, C, D, E, F, G, H, I, J>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>,
    _ h: Signal<H, Error>, _ i: Signal<I, Error>, _ j: Signal<J, Error>
  ) -> Signal<(Value, B, C, D, E, F, G, H, I, J), Error> {
    Signal<(Value, B, C, D, E, F, G, H, I, J), Error>.zipping(a, b, c, d, e, f, g, h, i, j)
  }
}
