// The operators that join one stream with another: `a.merge(with: b)`, `a.combineLatest(with: b)`,
// `a.zip(with: b)`. They are values that can be called. As methods they would stand beside the
// static `Signal.merge(a, b)` …, and Swift 6 would consider both as candidates: to decide whether
// the unapplied method may be called from any thread it asks whether the values are `Sendable`,
// before it looks at the arguments that would rule the method out.

/// What `stream.merge(with: other)` calls.
@frozen
public struct MergeOperator<Stream> {
  @usableFromInline let stream: Stream

  @inlinable
  init(_ stream: Stream) {
    self.stream = stream
  }
}

/// What `stream.combineLatest(with: other)` calls.
@frozen
public struct CombineLatestOperator<Stream> {
  @usableFromInline let stream: Stream

  @inlinable
  init(_ stream: Stream) {
    self.stream = stream
  }
}

/// What `stream.zip(with: other)` calls.
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
  /// `merge(with:)`: the values of both signals; completes when both have ended without failing.
  @inlinable
  public var merge: MergeOperator<Signal<Value, Error>> { MergeOperator(self) }

  /// `combineLatest(with:)`: the latest values of both signals whenever one of them sends, once
  /// each has.
  @inlinable
  public var combineLatest: CombineLatestOperator<Signal<Value, Error>> {
    CombineLatestOperator(self)
  }

  /// `zip(with:)`: the first values of both signals, then the second values, and so on.
  @inlinable
  public var zip: ZipOperator<Signal<Value, Error>> { ZipOperator(self) }
}

extension MergeOperator {
  /// Passes the values of both signals; completes when both have ended without failing.
  @inlinable
  public func callAsFunction<Value, Error>(
    with other: Signal<Value, Error>
  ) -> Signal<Value, Error> where Stream == Signal<Value, Error> {
    Signal.merge([stream, other])
  }
}

extension CombineLatestOperator {
  /// Emits the latest values of both signals whenever one of them sends, once each has.
  @inlinable
  public func callAsFunction<Value, U, Error>(
    with other: Signal<U, Error>
  ) -> Signal<(Value, U), Error> where Stream == Signal<Value, Error> {
    Signal.combineLatest(stream, other)
  }
}

extension ZipOperator {
  /// Emits the first values of both signals, then the second values, and so on.
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
  /// The values of both.
  @inlinable
  public func callAsFunction<P: PropertyProtocol>(
    with other: P
  ) -> Property<(Stream.Value, P.Value)> {
    Stream.combineLatest(stream, other)
  }
}

extension ZipOperator where Stream: PropertyProtocol {
  /// The values of both, the n-th of one with the n-th of the other.
  @inlinable
  public func callAsFunction<P: PropertyProtocol>(
    with other: P
  ) -> Property<(Stream.Value, P.Value)> {
    Stream.zip(stream, other)
  }
}
