// Table: written by scripts/generate-reactive-arities.

extension Signal {
  /// Sends the latest values of three signals whenever one sends.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<B, C>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>
  ) -> Signal<(Value, B, C), Error> {
    let inputA = LatestValue<Value>()
    let inputB = LatestValue<B>()
    let inputC = LatestValue<C>()
    let joint = LatestCombiner<(Value, B, C), Error>(of: 3) {
      (inputA.value, inputB.value, inputC.value)
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    return joint.signal
  }

  /// Sends the latest values of four signals whenever one sends.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<B, C, D>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>
  ) -> Signal<(Value, B, C, D), Error> {
    let inputA = LatestValue<Value>()
    let inputB = LatestValue<B>()
    let inputC = LatestValue<C>()
    let inputD = LatestValue<D>()
    let joint = LatestCombiner<(Value, B, C, D), Error>(of: 4) {
      (inputA.value, inputB.value, inputC.value, inputD.value)
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    return joint.signal
  }

  /// Sends the latest values of five signals whenever one sends.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<B, C, D, E>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>
  ) -> Signal<(Value, B, C, D, E), Error> {
    let inputA = LatestValue<Value>()
    let inputB = LatestValue<B>()
    let inputC = LatestValue<C>()
    let inputD = LatestValue<D>()
    let inputE = LatestValue<E>()
    let joint = LatestCombiner<(Value, B, C, D, E), Error>(of: 5) {
      (inputA.value, inputB.value, inputC.value, inputD.value, inputE.value)
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    joint.observe(e, inputE)
    return joint.signal
  }

  /// Sends the latest values of six signals whenever one sends.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<B, C, D, E, F>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>
  ) -> Signal<(Value, B, C, D, E, F), Error> {
    let inputA = LatestValue<Value>()
    let inputB = LatestValue<B>()
    let inputC = LatestValue<C>()
    let inputD = LatestValue<D>()
    let inputE = LatestValue<E>()
    let inputF = LatestValue<F>()
    let joint = LatestCombiner<(Value, B, C, D, E, F), Error>(of: 6) {
      (inputA.value, inputB.value, inputC.value, inputD.value, inputE.value, inputF.value)
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    joint.observe(e, inputE)
    joint.observe(f, inputF)
    return joint.signal
  }

  /// Sends the latest values of seven signals whenever one sends.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<B, C, D, E, F, G>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>
  ) -> Signal<(Value, B, C, D, E, F, G), Error> {
    let inputA = LatestValue<Value>()
    let inputB = LatestValue<B>()
    let inputC = LatestValue<C>()
    let inputD = LatestValue<D>()
    let inputE = LatestValue<E>()
    let inputF = LatestValue<F>()
    let inputG = LatestValue<G>()
    let joint = LatestCombiner<(Value, B, C, D, E, F, G), Error>(of: 7) {
      (
        inputA.value, inputB.value, inputC.value, inputD.value, inputE.value, inputF.value,
        inputG.value
      )
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    joint.observe(e, inputE)
    joint.observe(f, inputF)
    joint.observe(g, inputG)
    return joint.signal
  }

  /// Sends the latest values of eight signals whenever one sends.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<B, C, D, E, F, G, H>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>,
    _ h: Signal<H, Error>
  ) -> Signal<(Value, B, C, D, E, F, G, H), Error> {
    let inputA = LatestValue<Value>()
    let inputB = LatestValue<B>()
    let inputC = LatestValue<C>()
    let inputD = LatestValue<D>()
    let inputE = LatestValue<E>()
    let inputF = LatestValue<F>()
    let inputG = LatestValue<G>()
    let inputH = LatestValue<H>()
    let joint = LatestCombiner<(Value, B, C, D, E, F, G, H), Error>(of: 8) {
      (
        inputA.value, inputB.value, inputC.value, inputD.value, inputE.value, inputF.value,
        inputG.value, inputH.value
      )
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    joint.observe(e, inputE)
    joint.observe(f, inputF)
    joint.observe(g, inputG)
    joint.observe(h, inputH)
    return joint.signal
  }

  /// Sends the latest values of nine signals whenever one sends.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<B, C, D, E, F, G, H, I>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>,
    _ h: Signal<H, Error>, _ i: Signal<I, Error>
  ) -> Signal<(Value, B, C, D, E, F, G, H, I), Error> {
    let inputA = LatestValue<Value>()
    let inputB = LatestValue<B>()
    let inputC = LatestValue<C>()
    let inputD = LatestValue<D>()
    let inputE = LatestValue<E>()
    let inputF = LatestValue<F>()
    let inputG = LatestValue<G>()
    let inputH = LatestValue<H>()
    let inputI = LatestValue<I>()
    let joint = LatestCombiner<(Value, B, C, D, E, F, G, H, I), Error>(of: 9) {
      (
        inputA.value, inputB.value, inputC.value, inputD.value, inputE.value, inputF.value,
        inputG.value, inputH.value, inputI.value
      )
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    joint.observe(e, inputE)
    joint.observe(f, inputF)
    joint.observe(g, inputG)
    joint.observe(h, inputH)
    joint.observe(i, inputI)
    return joint.signal
  }

  /// Sends the latest values of ten signals whenever one sends.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<B, C, D, E, F, G, H, I, J>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>,
    _ h: Signal<H, Error>, _ i: Signal<I, Error>, _ j: Signal<J, Error>
  ) -> Signal<(Value, B, C, D, E, F, G, H, I, J), Error> {
    let inputA = LatestValue<Value>()
    let inputB = LatestValue<B>()
    let inputC = LatestValue<C>()
    let inputD = LatestValue<D>()
    let inputE = LatestValue<E>()
    let inputF = LatestValue<F>()
    let inputG = LatestValue<G>()
    let inputH = LatestValue<H>()
    let inputI = LatestValue<I>()
    let inputJ = LatestValue<J>()
    let joint = LatestCombiner<(Value, B, C, D, E, F, G, H, I, J), Error>(of: 10) {
      (
        inputA.value, inputB.value, inputC.value, inputD.value, inputE.value, inputF.value,
        inputG.value, inputH.value, inputI.value, inputJ.value
      )
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    joint.observe(e, inputE)
    joint.observe(f, inputF)
    joint.observe(g, inputG)
    joint.observe(h, inputH)
    joint.observe(i, inputI)
    joint.observe(j, inputJ)
    return joint.signal
  }

  /// Sends the first values of three signals, their second values, and so on.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<B, C>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>
  ) -> Signal<(Value, B, C), Error> {
    let inputA = ZippedValues<Value>()
    let inputB = ZippedValues<B>()
    let inputC = ZippedValues<C>()
    let joint = Zipper<(Value, B, C), Error>(of: 3) {
      (inputA.removeFirst(), inputB.removeFirst(), inputC.removeFirst())
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    return joint.signal
  }

  /// Sends the first values of four signals, their second values, and so on.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<B, C, D>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>
  ) -> Signal<(Value, B, C, D), Error> {
    let inputA = ZippedValues<Value>()
    let inputB = ZippedValues<B>()
    let inputC = ZippedValues<C>()
    let inputD = ZippedValues<D>()
    let joint = Zipper<(Value, B, C, D), Error>(of: 4) {
      (inputA.removeFirst(), inputB.removeFirst(), inputC.removeFirst(), inputD.removeFirst())
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    return joint.signal
  }

  /// Sends the first values of five signals, their second values, and so on.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<B, C, D, E>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>
  ) -> Signal<(Value, B, C, D, E), Error> {
    let inputA = ZippedValues<Value>()
    let inputB = ZippedValues<B>()
    let inputC = ZippedValues<C>()
    let inputD = ZippedValues<D>()
    let inputE = ZippedValues<E>()
    let joint = Zipper<(Value, B, C, D, E), Error>(of: 5) {
      (
        inputA.removeFirst(), inputB.removeFirst(), inputC.removeFirst(), inputD.removeFirst(),
        inputE.removeFirst()
      )
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    joint.observe(e, inputE)
    return joint.signal
  }

  /// Sends the first values of six signals, their second values, and so on.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<B, C, D, E, F>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>
  ) -> Signal<(Value, B, C, D, E, F), Error> {
    let inputA = ZippedValues<Value>()
    let inputB = ZippedValues<B>()
    let inputC = ZippedValues<C>()
    let inputD = ZippedValues<D>()
    let inputE = ZippedValues<E>()
    let inputF = ZippedValues<F>()
    let joint = Zipper<(Value, B, C, D, E, F), Error>(of: 6) {
      (
        inputA.removeFirst(), inputB.removeFirst(), inputC.removeFirst(), inputD.removeFirst(),
        inputE.removeFirst(), inputF.removeFirst()
      )
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    joint.observe(e, inputE)
    joint.observe(f, inputF)
    return joint.signal
  }

  /// Sends the first values of seven signals, their second values, and so on.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<B, C, D, E, F, G>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>
  ) -> Signal<(Value, B, C, D, E, F, G), Error> {
    let inputA = ZippedValues<Value>()
    let inputB = ZippedValues<B>()
    let inputC = ZippedValues<C>()
    let inputD = ZippedValues<D>()
    let inputE = ZippedValues<E>()
    let inputF = ZippedValues<F>()
    let inputG = ZippedValues<G>()
    let joint = Zipper<(Value, B, C, D, E, F, G), Error>(of: 7) {
      (
        inputA.removeFirst(), inputB.removeFirst(), inputC.removeFirst(), inputD.removeFirst(),
        inputE.removeFirst(), inputF.removeFirst(), inputG.removeFirst()
      )
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    joint.observe(e, inputE)
    joint.observe(f, inputF)
    joint.observe(g, inputG)
    return joint.signal
  }

  /// Sends the first values of eight signals, their second values, and so on.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<B, C, D, E, F, G, H>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>,
    _ h: Signal<H, Error>
  ) -> Signal<(Value, B, C, D, E, F, G, H), Error> {
    let inputA = ZippedValues<Value>()
    let inputB = ZippedValues<B>()
    let inputC = ZippedValues<C>()
    let inputD = ZippedValues<D>()
    let inputE = ZippedValues<E>()
    let inputF = ZippedValues<F>()
    let inputG = ZippedValues<G>()
    let inputH = ZippedValues<H>()
    let joint = Zipper<(Value, B, C, D, E, F, G, H), Error>(of: 8) {
      (
        inputA.removeFirst(), inputB.removeFirst(), inputC.removeFirst(), inputD.removeFirst(),
        inputE.removeFirst(), inputF.removeFirst(), inputG.removeFirst(), inputH.removeFirst()
      )
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    joint.observe(e, inputE)
    joint.observe(f, inputF)
    joint.observe(g, inputG)
    joint.observe(h, inputH)
    return joint.signal
  }

  /// Sends the first values of nine signals, their second values, and so on.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<B, C, D, E, F, G, H, I>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>,
    _ h: Signal<H, Error>, _ i: Signal<I, Error>
  ) -> Signal<(Value, B, C, D, E, F, G, H, I), Error> {
    let inputA = ZippedValues<Value>()
    let inputB = ZippedValues<B>()
    let inputC = ZippedValues<C>()
    let inputD = ZippedValues<D>()
    let inputE = ZippedValues<E>()
    let inputF = ZippedValues<F>()
    let inputG = ZippedValues<G>()
    let inputH = ZippedValues<H>()
    let inputI = ZippedValues<I>()
    let joint = Zipper<(Value, B, C, D, E, F, G, H, I), Error>(of: 9) {
      (
        inputA.removeFirst(), inputB.removeFirst(), inputC.removeFirst(), inputD.removeFirst(),
        inputE.removeFirst(), inputF.removeFirst(), inputG.removeFirst(), inputH.removeFirst(),
        inputI.removeFirst()
      )
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    joint.observe(e, inputE)
    joint.observe(f, inputF)
    joint.observe(g, inputG)
    joint.observe(h, inputH)
    joint.observe(i, inputI)
    return joint.signal
  }

  /// Sends the first values of ten signals, their second values, and so on.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A signal that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<B, C, D, E, F, G, H, I, J>(
    _ a: Signal<Value, Error>, _ b: Signal<B, Error>, _ c: Signal<C, Error>,
    _ d: Signal<D, Error>, _ e: Signal<E, Error>, _ f: Signal<F, Error>, _ g: Signal<G, Error>,
    _ h: Signal<H, Error>, _ i: Signal<I, Error>, _ j: Signal<J, Error>
  ) -> Signal<(Value, B, C, D, E, F, G, H, I, J), Error> {
    let inputA = ZippedValues<Value>()
    let inputB = ZippedValues<B>()
    let inputC = ZippedValues<C>()
    let inputD = ZippedValues<D>()
    let inputE = ZippedValues<E>()
    let inputF = ZippedValues<F>()
    let inputG = ZippedValues<G>()
    let inputH = ZippedValues<H>()
    let inputI = ZippedValues<I>()
    let inputJ = ZippedValues<J>()
    let joint = Zipper<(Value, B, C, D, E, F, G, H, I, J), Error>(of: 10) {
      (
        inputA.removeFirst(), inputB.removeFirst(), inputC.removeFirst(), inputD.removeFirst(),
        inputE.removeFirst(), inputF.removeFirst(), inputG.removeFirst(), inputH.removeFirst(),
        inputI.removeFirst(), inputJ.removeFirst()
      )
    }
    joint.observe(a, inputA)
    joint.observe(b, inputB)
    joint.observe(c, inputC)
    joint.observe(d, inputD)
    joint.observe(e, inputE)
    joint.observe(f, inputF)
    joint.observe(g, inputG)
    joint.observe(h, inputH)
    joint.observe(i, inputI)
    joint.observe(j, inputJ)
    return joint.signal
  }
}
