// The operators that join one stream with another: `a.merge(with: b)`, `a.combineLatest(with: b)`,
// `a.zip(with: b)`. They are values that can be called. As methods they would be overloads of the
// static `Signal.merge(a, b)` …, and Swift 6 would consider both as candidates: to decide whether
// the unapplied method may be called from any thread it checks whether the values are `Sendable`,
// before it looks at the arguments that would rule the method out.

/// The callable value behind `stream.merge(with: other)`.
@frozen
public struct MergeOperator<Stream> {
  @usableFromInline let stream: Stream

  @inlinable
  init(_ stream: Stream) {
    self.stream = stream
  }
}

/// The callable value behind `stream.combineLatest(with: other)`.
@frozen
public struct CombineLatestOperator<Stream> {
  @usableFromInline let stream: Stream

  @inlinable
  init(_ stream: Stream) {
    self.stream = stream
  }
}

/// The callable value behind `stream.zip(with: other)`.
@frozen
public struct ZipOperator<Stream> {
  @usableFromInline let stream: Stream

  @inlinable
  init(_ stream: Stream) {
    self.stream = stream
  }
}

// MARK: Signals

extension Signal {
  /// `merge(with:)`: the values of both signals, as they come.
  ///
  /// See ``MergeOperator``.
  @inlinable
  public var merge: MergeOperator<Signal<Value, Error>> { MergeOperator(self) }

  /// `combineLatest(with:)`: the latest values of both signals whenever one of them sends.
  ///
  /// See ``CombineLatestOperator``.
  @inlinable
  public var combineLatest: CombineLatestOperator<Signal<Value, Error>> {
    CombineLatestOperator(self)
  }

  /// `zip(with:)`: the first values of both signals, then the second values, and so on.
  ///
  /// See ``ZipOperator``.
  @inlinable
  public var zip: ZipOperator<Signal<Value, Error>> { ZipOperator(self) }
}

extension MergeOperator {
  /// Passes the values of both signals as they come.
  ///
  /// It completes when both have ended without failing, and fails with either. The interruption of
  /// one counts as its completion.
  ///
  /// - Parameter other: The other signal.
  /// - Returns: A signal that sends the values of both, on the thread of the one that sends.
  @inlinable
  public func callAsFunction<Value, Error>(
    with other: Signal<Value, Error>
  ) -> Signal<Value, Error> where Stream == Signal<Value, Error> {
    Signal.merge([stream, other])
  }
}

extension CombineLatestOperator {
  /// Sends the latest values of both signals whenever one of them sends.
  ///
  /// Nothing is sent before each has sent a value. It completes when both have, fails with either
  /// and is interrupted with either.
  ///
  /// - Parameter other: The other signal.
  /// - Returns: A signal that sends pairs, on the thread of the one that sends.
  @inlinable
  public func callAsFunction<Value, U, Error>(
    with other: Signal<U, Error>
  ) -> Signal<(Value, U), Error> where Stream == Signal<Value, Error> {
    Signal.combineLatest(stream, other)
  }
}

extension ZipOperator {
  /// Sends the first values of both signals, then the second values, and so on.
  ///
  /// A value is buffered until the other has sent the value to pair it with; the buffer is not
  /// limited. It completes when one has completed and has no buffered values left, fails with
  /// either and is interrupted with either.
  ///
  /// - Parameter other: The other signal.
  /// - Returns: A signal that sends pairs, on the thread of the one that sends.
  @inlinable
  public func callAsFunction<Value, U, Error>(
    with other: Signal<U, Error>
  ) -> Signal<(Value, U), Error> where Stream == Signal<Value, Error> {
    Signal.zip(stream, other)
  }
}

// MARK: Properties

extension PropertyProtocol {
  /// `combineLatest(with:)`: the values of both properties.
  @inlinable
  public var combineLatest: CombineLatestOperator<Self> { CombineLatestOperator(self) }

  /// `zip(with:)`: the values of both properties, the n-th of one with the n-th of the other.
  @inlinable
  public var zip: ZipOperator<Self> { ZipOperator(self) }
}

extension CombineLatestOperator where Stream: PropertyProtocol {
  /// The values of both properties.
  ///
  /// Every change of one of them is a change of the result. The property composed of both retains
  /// neither of them: it follows them while they are there.
  ///
  /// - Parameter other: The other property.
  /// - Returns: A property of pairs.
  @inlinable
  public func callAsFunction<P: PropertyProtocol>(
    with other: P
  ) -> Property<(Stream.Value, P.Value)> {
    Stream.combineLatest(stream, other)
  }
}

extension ZipOperator where Stream: PropertyProtocol {
  /// The values of both properties, the n-th of one with the n-th of the other.
  ///
  /// The result changes when both have. The property composed of both retains neither of them: it
  /// follows them while they are there.
  ///
  /// - Parameter other: The other property.
  /// - Returns: A property of pairs.
  @inlinable
  public func callAsFunction<P: PropertyProtocol>(
    with other: P
  ) -> Property<(Stream.Value, P.Value)> {
    Stream.zip(stream, other)
  }
}
