// Table: written by scripts/generate-reactive-arities.

extension SignalProducer {
  /// Starts three producers and sends their latest values whenever one sends.
  ///
  /// Every run starts them in order.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<A, B, C>(
    _ a: A, _ b: B, _ c: C
  ) -> SignalProducer<(Value, B.Value, C.Value), Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    A.Value == Value, A.Error == Error, B.Error == Error, C.Error == Error
  {
    SignalProducer<(Value, B.Value, C.Value), Error>(
      joining:
        a.producer, b.producer, c.producer
    ) { Signal<Value, Error>.combineLatest($0, $1, $2) }
  }

  /// Starts four producers and sends their latest values whenever one sends.
  ///
  /// Every run starts them in order.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<A, B, C, D>(
    _ a: A, _ b: B, _ c: C, _ d: D
  ) -> SignalProducer<(Value, B.Value, C.Value, D.Value), Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, A.Value == Value, A.Error == Error, B.Error == Error,
    C.Error == Error, D.Error == Error
  {
    SignalProducer<(Value, B.Value, C.Value, D.Value), Error>(
      joining:
        a.producer, b.producer, c.producer, d.producer
    ) { Signal<Value, Error>.combineLatest($0, $1, $2, $3) }
  }

  /// Starts five producers and sends their latest values whenever one sends.
  ///
  /// Every run starts them in order.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<A, B, C, D, E>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value), Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, A.Value == Value,
    A.Error == Error, B.Error == Error, C.Error == Error, D.Error == Error, E.Error == Error
  {
    SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value), Error>(
      joining:
        a.producer, b.producer, c.producer, d.producer, e.producer
    ) { Signal<Value, Error>.combineLatest($0, $1, $2, $3, $4) }
  }

  /// Starts six producers and sends their latest values whenever one sends.
  ///
  /// Every run starts them in order.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<A, B, C, D, E, F>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) -> SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value, F.Value), Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    A.Value == Value, A.Error == Error, B.Error == Error, C.Error == Error, D.Error == Error,
    E.Error == Error, F.Error == Error
  {
    SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value, F.Value), Error>(
      joining:
        a.producer, b.producer, c.producer, d.producer, e.producer, f.producer
    ) { Signal<Value, Error>.combineLatest($0, $1, $2, $3, $4, $5) }
  }

  /// Starts seven producers and sends their latest values whenever one sends.
  ///
  /// Every run starts them in order.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<A, B, C, D, E, F, G>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G
  ) -> SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value), Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    G: SignalProducerConvertible, A.Value == Value, A.Error == Error, B.Error == Error,
    C.Error == Error, D.Error == Error, E.Error == Error, F.Error == Error, G.Error == Error
  {
    SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value), Error>(
      joining:
        a.producer, b.producer, c.producer, d.producer, e.producer, f.producer, g.producer
    ) { Signal<Value, Error>.combineLatest($0, $1, $2, $3, $4, $5, $6) }
  }

  /// Starts eight producers and sends their latest values whenever one sends.
  ///
  /// Every run starts them in order.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<A, B, C, D, E, F, G, H>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H
  ) -> SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value), Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    G: SignalProducerConvertible, H: SignalProducerConvertible, A.Value == Value,
    A.Error == Error, B.Error == Error, C.Error == Error, D.Error == Error, E.Error == Error,
    F.Error == Error, G.Error == Error, H.Error == Error
  {
    SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value), Error>(
      joining:
        a.producer, b.producer, c.producer, d.producer, e.producer, f.producer, g.producer,
      h.producer
    ) { Signal<Value, Error>.combineLatest($0, $1, $2, $3, $4, $5, $6, $7) }
  }

  /// Starts nine producers and sends their latest values whenever one sends.
  ///
  /// Every run starts them in order.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<A, B, C, D, E, F, G, H, I>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I
  ) -> SignalProducer<
    (Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value), Error
  >
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    G: SignalProducerConvertible, H: SignalProducerConvertible, I: SignalProducerConvertible,
    A.Value == Value, A.Error == Error, B.Error == Error, C.Error == Error, D.Error == Error,
    E.Error == Error, F.Error == Error, G.Error == Error, H.Error == Error, I.Error == Error
  {
    SignalProducer<
      (Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value), Error
    >(
      joining:
        a.producer, b.producer, c.producer, d.producer, e.producer, f.producer, g.producer,
      h.producer, i.producer
    ) { Signal<Value, Error>.combineLatest($0, $1, $2, $3, $4, $5, $6, $7, $8) }
  }

  /// Starts ten producers and sends their latest values whenever one sends.
  ///
  /// Every run starts them in order.
  ///
  /// Nothing is sent before each has sent a value. It completes when all have, fails with any and
  /// is interrupted with any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func combineLatest<A, B, C, D, E, F, G, H, I, J>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I, _ j: J
  ) -> SignalProducer<
    (Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value, J.Value), Error
  >
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    G: SignalProducerConvertible, H: SignalProducerConvertible, I: SignalProducerConvertible,
    J: SignalProducerConvertible, A.Value == Value, A.Error == Error, B.Error == Error,
    C.Error == Error, D.Error == Error, E.Error == Error, F.Error == Error, G.Error == Error,
    H.Error == Error, I.Error == Error, J.Error == Error
  {
    SignalProducer<
      (Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value, J.Value),
      Error
    >(
      joining:
        a.producer, b.producer, c.producer, d.producer, e.producer, f.producer, g.producer,
      h.producer, i.producer, j.producer
    ) { Signal<Value, Error>.combineLatest($0, $1, $2, $3, $4, $5, $6, $7, $8, $9) }
  }

  /// Starts three producers and sends their first values, their second values, and so on.
  ///
  /// Every run starts them in order.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<A, B, C>(
    _ a: A, _ b: B, _ c: C
  ) -> SignalProducer<(Value, B.Value, C.Value), Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    A.Value == Value, A.Error == Error, B.Error == Error, C.Error == Error
  {
    SignalProducer<(Value, B.Value, C.Value), Error>(
      zipping:
        a.producer, b.producer, c.producer
    ) { Signal<Value, Error>.zip($0, $1, $2) }
  }

  /// Starts four producers and sends their first values, their second values, and so on.
  ///
  /// Every run starts them in order.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<A, B, C, D>(
    _ a: A, _ b: B, _ c: C, _ d: D
  ) -> SignalProducer<(Value, B.Value, C.Value, D.Value), Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, A.Value == Value, A.Error == Error, B.Error == Error,
    C.Error == Error, D.Error == Error
  {
    SignalProducer<(Value, B.Value, C.Value, D.Value), Error>(
      zipping:
        a.producer, b.producer, c.producer, d.producer
    ) { Signal<Value, Error>.zip($0, $1, $2, $3) }
  }

  /// Starts five producers and sends their first values, their second values, and so on.
  ///
  /// Every run starts them in order.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<A, B, C, D, E>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value), Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, A.Value == Value,
    A.Error == Error, B.Error == Error, C.Error == Error, D.Error == Error, E.Error == Error
  {
    SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value), Error>(
      zipping:
        a.producer, b.producer, c.producer, d.producer, e.producer
    ) { Signal<Value, Error>.zip($0, $1, $2, $3, $4) }
  }

  /// Starts six producers and sends their first values, their second values, and so on.
  ///
  /// Every run starts them in order.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<A, B, C, D, E, F>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) -> SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value, F.Value), Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    A.Value == Value, A.Error == Error, B.Error == Error, C.Error == Error, D.Error == Error,
    E.Error == Error, F.Error == Error
  {
    SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value, F.Value), Error>(
      zipping:
        a.producer, b.producer, c.producer, d.producer, e.producer, f.producer
    ) { Signal<Value, Error>.zip($0, $1, $2, $3, $4, $5) }
  }

  /// Starts seven producers and sends their first values, their second values, and so on.
  ///
  /// Every run starts them in order.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<A, B, C, D, E, F, G>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G
  ) -> SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value), Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    G: SignalProducerConvertible, A.Value == Value, A.Error == Error, B.Error == Error,
    C.Error == Error, D.Error == Error, E.Error == Error, F.Error == Error, G.Error == Error
  {
    SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value), Error>(
      zipping:
        a.producer, b.producer, c.producer, d.producer, e.producer, f.producer, g.producer
    ) { Signal<Value, Error>.zip($0, $1, $2, $3, $4, $5, $6) }
  }

  /// Starts eight producers and sends their first values, their second values, and so on.
  ///
  /// Every run starts them in order.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<A, B, C, D, E, F, G, H>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H
  ) -> SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value), Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    G: SignalProducerConvertible, H: SignalProducerConvertible, A.Value == Value,
    A.Error == Error, B.Error == Error, C.Error == Error, D.Error == Error, E.Error == Error,
    F.Error == Error, G.Error == Error, H.Error == Error
  {
    SignalProducer<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value), Error>(
      zipping:
        a.producer, b.producer, c.producer, d.producer, e.producer, f.producer, g.producer,
      h.producer
    ) { Signal<Value, Error>.zip($0, $1, $2, $3, $4, $5, $6, $7) }
  }

  /// Starts nine producers and sends their first values, their second values, and so on.
  ///
  /// Every run starts them in order.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<A, B, C, D, E, F, G, H, I>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I
  ) -> SignalProducer<
    (Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value), Error
  >
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    G: SignalProducerConvertible, H: SignalProducerConvertible, I: SignalProducerConvertible,
    A.Value == Value, A.Error == Error, B.Error == Error, C.Error == Error, D.Error == Error,
    E.Error == Error, F.Error == Error, G.Error == Error, H.Error == Error, I.Error == Error
  {
    SignalProducer<
      (Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value), Error
    >(
      zipping:
        a.producer, b.producer, c.producer, d.producer, e.producer, f.producer, g.producer,
      h.producer, i.producer
    ) { Signal<Value, Error>.zip($0, $1, $2, $3, $4, $5, $6, $7, $8) }
  }

  /// Starts ten producers and sends their first values, their second values, and so on.
  ///
  /// Every run starts them in order.
  ///
  /// A value is buffered until all others have sent theirs; the buffer is not limited. It completes
  /// when one has completed and has no buffered values left, fails with any and is interrupted with
  /// any.
  ///
  /// - Returns: A producer that sends tuples, on the thread of the one that sends.
  @inlinable
  public static func zip<A, B, C, D, E, F, G, H, I, J>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I, _ j: J
  ) -> SignalProducer<
    (Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value, J.Value), Error
  >
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    G: SignalProducerConvertible, H: SignalProducerConvertible, I: SignalProducerConvertible,
    J: SignalProducerConvertible, A.Value == Value, A.Error == Error, B.Error == Error,
    C.Error == Error, D.Error == Error, E.Error == Error, F.Error == Error, G.Error == Error,
    H.Error == Error, I.Error == Error, J.Error == Error
  {
    SignalProducer<
      (Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value, J.Value),
      Error
    >(
      zipping:
        a.producer, b.producer, c.producer, d.producer, e.producer, f.producer, g.producer,
      h.producer, i.producer, j.producer
    ) { Signal<Value, Error>.zip($0, $1, $2, $3, $4, $5, $6, $7, $8, $9) }
  }

  /// Starts three producers and passes the values of all.
  ///
  /// Every run starts them in order. It completes when all have ended without failing, and fails
  /// with any. The interruption of one counts as its completion.
  ///
  /// - Returns: A producer that sends the values of all, on the thread of the one that sends.
  public static func merge<A, B, C>(
    _ a: A, _ b: B, _ c: C
  ) -> SignalProducer<Value, Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    A.Value == Value, A.Error == Error, B.Error == Error, C.Error == Error, B.Value == Value,
    C.Value == Value
  {
    merge([
      a.producer, b.producer, c.producer,
    ])
  }

  /// Starts four producers and passes the values of all.
  ///
  /// Every run starts them in order. It completes when all have ended without failing, and fails
  /// with any. The interruption of one counts as its completion.
  ///
  /// - Returns: A producer that sends the values of all, on the thread of the one that sends.
  public static func merge<A, B, C, D>(
    _ a: A, _ b: B, _ c: C, _ d: D
  ) -> SignalProducer<Value, Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, A.Value == Value, A.Error == Error, B.Error == Error,
    C.Error == Error, D.Error == Error, B.Value == Value, C.Value == Value, D.Value == Value
  {
    merge([
      a.producer, b.producer, c.producer, d.producer,
    ])
  }

  /// Starts five producers and passes the values of all.
  ///
  /// Every run starts them in order. It completes when all have ended without failing, and fails
  /// with any. The interruption of one counts as its completion.
  ///
  /// - Returns: A producer that sends the values of all, on the thread of the one that sends.
  public static func merge<A, B, C, D, E>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> SignalProducer<Value, Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, A.Value == Value,
    A.Error == Error, B.Error == Error, C.Error == Error, D.Error == Error, E.Error == Error,
    B.Value == Value, C.Value == Value, D.Value == Value, E.Value == Value
  {
    merge([
      a.producer, b.producer, c.producer, d.producer, e.producer,
    ])
  }

  /// Starts six producers and passes the values of all.
  ///
  /// Every run starts them in order. It completes when all have ended without failing, and fails
  /// with any. The interruption of one counts as its completion.
  ///
  /// - Returns: A producer that sends the values of all, on the thread of the one that sends.
  public static func merge<A, B, C, D, E, F>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) -> SignalProducer<Value, Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    A.Value == Value, A.Error == Error, B.Error == Error, C.Error == Error, D.Error == Error,
    E.Error == Error, F.Error == Error, B.Value == Value, C.Value == Value, D.Value == Value,
    E.Value == Value, F.Value == Value
  {
    merge([
      a.producer, b.producer, c.producer, d.producer, e.producer, f.producer,
    ])
  }

  /// Starts seven producers and passes the values of all.
  ///
  /// Every run starts them in order. It completes when all have ended without failing, and fails
  /// with any. The interruption of one counts as its completion.
  ///
  /// - Returns: A producer that sends the values of all, on the thread of the one that sends.
  public static func merge<A, B, C, D, E, F, G>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G
  ) -> SignalProducer<Value, Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    G: SignalProducerConvertible, A.Value == Value, A.Error == Error, B.Error == Error,
    C.Error == Error, D.Error == Error, E.Error == Error, F.Error == Error, G.Error == Error,
    B.Value == Value, C.Value == Value, D.Value == Value, E.Value == Value, F.Value == Value,
    G.Value == Value
  {
    merge([
      a.producer, b.producer, c.producer, d.producer, e.producer, f.producer, g.producer,
    ])
  }

  /// Starts eight producers and passes the values of all.
  ///
  /// Every run starts them in order. It completes when all have ended without failing, and fails
  /// with any. The interruption of one counts as its completion.
  ///
  /// - Returns: A producer that sends the values of all, on the thread of the one that sends.
  public static func merge<A, B, C, D, E, F, G, H>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H
  ) -> SignalProducer<Value, Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    G: SignalProducerConvertible, H: SignalProducerConvertible, A.Value == Value,
    A.Error == Error, B.Error == Error, C.Error == Error, D.Error == Error, E.Error == Error,
    F.Error == Error, G.Error == Error, H.Error == Error, B.Value == Value, C.Value == Value,
    D.Value == Value, E.Value == Value, F.Value == Value, G.Value == Value, H.Value == Value
  {
    merge([
      a.producer, b.producer, c.producer, d.producer, e.producer, f.producer, g.producer,
      h.producer,
    ])
  }

  /// Starts nine producers and passes the values of all.
  ///
  /// Every run starts them in order. It completes when all have ended without failing, and fails
  /// with any. The interruption of one counts as its completion.
  ///
  /// - Returns: A producer that sends the values of all, on the thread of the one that sends.
  public static func merge<A, B, C, D, E, F, G, H, I>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I
  ) -> SignalProducer<Value, Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    G: SignalProducerConvertible, H: SignalProducerConvertible, I: SignalProducerConvertible,
    A.Value == Value, A.Error == Error, B.Error == Error, C.Error == Error, D.Error == Error,
    E.Error == Error, F.Error == Error, G.Error == Error, H.Error == Error, I.Error == Error,
    B.Value == Value, C.Value == Value, D.Value == Value, E.Value == Value, F.Value == Value,
    G.Value == Value, H.Value == Value, I.Value == Value
  {
    merge([
      a.producer, b.producer, c.producer, d.producer, e.producer, f.producer, g.producer,
      h.producer, i.producer,
    ])
  }

  /// Starts ten producers and passes the values of all.
  ///
  /// Every run starts them in order. It completes when all have ended without failing, and fails
  /// with any. The interruption of one counts as its completion.
  ///
  /// - Returns: A producer that sends the values of all, on the thread of the one that sends.
  public static func merge<A, B, C, D, E, F, G, H, I, J>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I, _ j: J
  ) -> SignalProducer<Value, Error>
  where
    A: SignalProducerConvertible, B: SignalProducerConvertible, C: SignalProducerConvertible,
    D: SignalProducerConvertible, E: SignalProducerConvertible, F: SignalProducerConvertible,
    G: SignalProducerConvertible, H: SignalProducerConvertible, I: SignalProducerConvertible,
    J: SignalProducerConvertible, A.Value == Value, A.Error == Error, B.Error == Error,
    C.Error == Error, D.Error == Error, E.Error == Error, F.Error == Error, G.Error == Error,
    H.Error == Error, I.Error == Error, J.Error == Error, B.Value == Value, C.Value == Value,
    D.Value == Value, E.Value == Value, F.Value == Value, G.Value == Value, H.Value == Value,
    I.Value == Value, J.Value == Value
  {
    merge([
      a.producer, b.producer, c.producer, d.producer, e.producer, f.producer, g.producer,
      h.producer, i.producer, j.producer,
    ])
  }
}
