// Table: written by scripts/generate-reactive-arities.

extension PropertyProtocol {
  /// The values of three properties.
  ///
  /// Every change of one of them is a change of the result.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func combineLatest<A, B, C>(
    _ a: A, _ b: B, _ c: C
  ) -> Property<(Value, B.Value, C.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.combineLatest(
        a, b, c))
  }

  /// The values of four properties.
  ///
  /// Every change of one of them is a change of the result.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func combineLatest<A, B, C, D>(
    _ a: A, _ b: B, _ c: C, _ d: D
  ) -> Property<(Value, B.Value, C.Value, D.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.combineLatest(
        a, b, c, d))
  }

  /// The values of five properties.
  ///
  /// Every change of one of them is a change of the result.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func combineLatest<A, B, C, D, E>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> Property<(Value, B.Value, C.Value, D.Value, E.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    E: PropertyProtocol, A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.combineLatest(
        a, b, c, d, e))
  }

  /// The values of six properties.
  ///
  /// Every change of one of them is a change of the result.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func combineLatest<A, B, C, D, E, F>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) -> Property<(Value, B.Value, C.Value, D.Value, E.Value, F.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    E: PropertyProtocol, F: PropertyProtocol, A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.combineLatest(
        a, b, c, d, e, f))
  }

  /// The values of seven properties.
  ///
  /// Every change of one of them is a change of the result.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func combineLatest<A, B, C, D, E, F, G>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G
  ) -> Property<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    E: PropertyProtocol, F: PropertyProtocol, G: PropertyProtocol, A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.combineLatest(
        a, b, c, d, e, f, g))
  }

  /// The values of eight properties.
  ///
  /// Every change of one of them is a change of the result.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func combineLatest<A, B, C, D, E, F, G, H>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H
  ) -> Property<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    E: PropertyProtocol, F: PropertyProtocol, G: PropertyProtocol, H: PropertyProtocol,
    A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.combineLatest(
        a, b, c, d, e, f, g, h))
  }

  /// The values of nine properties.
  ///
  /// Every change of one of them is a change of the result.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func combineLatest<A, B, C, D, E, F, G, H, I>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I
  ) -> Property<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    E: PropertyProtocol, F: PropertyProtocol, G: PropertyProtocol, H: PropertyProtocol,
    I: PropertyProtocol, A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.combineLatest(
        a, b, c, d, e, f, g, h, i))
  }

  /// The values of ten properties.
  ///
  /// Every change of one of them is a change of the result.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func combineLatest<A, B, C, D, E, F, G, H, I, J>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I, _ j: J
  ) -> Property<
    (Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value, J.Value)
  >
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    E: PropertyProtocol, F: PropertyProtocol, G: PropertyProtocol, H: PropertyProtocol,
    I: PropertyProtocol, J: PropertyProtocol, A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.combineLatest(
        a, b, c, d, e, f, g, h, i, j))
  }

  /// The values of three properties, n-th with n-th.
  ///
  /// The result changes when all have.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func zip<A, B, C>(
    _ a: A, _ b: B, _ c: C
  ) -> Property<(Value, B.Value, C.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.zip(
        a, b, c))
  }

  /// The values of four properties, n-th with n-th.
  ///
  /// The result changes when all have.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func zip<A, B, C, D>(
    _ a: A, _ b: B, _ c: C, _ d: D
  ) -> Property<(Value, B.Value, C.Value, D.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.zip(
        a, b, c, d))
  }

  /// The values of five properties, n-th with n-th.
  ///
  /// The result changes when all have.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func zip<A, B, C, D, E>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> Property<(Value, B.Value, C.Value, D.Value, E.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    E: PropertyProtocol, A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.zip(
        a, b, c, d, e))
  }

  /// The values of six properties, n-th with n-th.
  ///
  /// The result changes when all have.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func zip<A, B, C, D, E, F>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) -> Property<(Value, B.Value, C.Value, D.Value, E.Value, F.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    E: PropertyProtocol, F: PropertyProtocol, A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.zip(
        a, b, c, d, e, f))
  }

  /// The values of seven properties, n-th with n-th.
  ///
  /// The result changes when all have.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func zip<A, B, C, D, E, F, G>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G
  ) -> Property<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    E: PropertyProtocol, F: PropertyProtocol, G: PropertyProtocol, A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.zip(
        a, b, c, d, e, f, g))
  }

  /// The values of eight properties, n-th with n-th.
  ///
  /// The result changes when all have.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func zip<A, B, C, D, E, F, G, H>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H
  ) -> Property<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    E: PropertyProtocol, F: PropertyProtocol, G: PropertyProtocol, H: PropertyProtocol,
    A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.zip(
        a, b, c, d, e, f, g, h))
  }

  /// The values of nine properties, n-th with n-th.
  ///
  /// The result changes when all have.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func zip<A, B, C, D, E, F, G, H, I>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I
  ) -> Property<(Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value)>
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    E: PropertyProtocol, F: PropertyProtocol, G: PropertyProtocol, H: PropertyProtocol,
    I: PropertyProtocol, A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.zip(
        a, b, c, d, e, f, g, h, i))
  }

  /// The values of ten properties, n-th with n-th.
  ///
  /// The result changes when all have.
  ///
  /// - Returns: A property of tuples, which retains none of them.
  @inlinable
  public static func zip<A, B, C, D, E, F, G, H, I, J>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I, _ j: J
  ) -> Property<
    (Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value, J.Value)
  >
  where
    A: PropertyProtocol, B: PropertyProtocol, C: PropertyProtocol, D: PropertyProtocol,
    E: PropertyProtocol, F: PropertyProtocol, G: PropertyProtocol, H: PropertyProtocol,
    I: PropertyProtocol, J: PropertyProtocol, A.Value == Value
  {
    Property(
      unsafeProducer: SignalProducer<Value, Never>.zip(
        a, b, c, d, e, f, g, h, i, j))
  }
}
